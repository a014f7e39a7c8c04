"""A record as text that a person reads: one paragraph per resource, sorted by URN."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Record, Resource

#: Bootstrap scripts in a machine's user-data; they have tests of their own and would drown everything else.
_PACKED = ("userData", "userDataBase64", "customData", "user-data")
_FOLDED = 12


def page(record: Record) -> str:
    """Return the whole record; equal records give equal pages."""
    return "\n\n".join("\n".join(_paragraph(one)) for one in record.resources) + "\n"


def _paragraph(resource: Resource) -> Iterator[str]:
    yield f"{resource.type} {resource.name}"
    flags = [
        f"in {resource.parent.rpartition('::')[2]}" if resource.parent else "the stack",
        *([f"by {resource.provider.split('::')[-2]}"] if resource.provider else []),
        *(["protected"] if resource.protect else []),
        *(["deleted before replaced"] if resource.delete_before_replace else []),
        *([f"ignores {', '.join(resource.ignore_changes)}"] if resource.ignore_changes else []),
        *([f"replaced by {', '.join(resource.replace_on_changes)}"] if resource.replace_on_changes else []),
        *([f"{len(resource.dependencies)} dependencies"] if resource.dependencies else []),
    ]
    yield "  " + " · ".join(flags)
    for name in sorted(resource.inputs):
        yield f"  {name}: {_text(resource.inputs[name], name)}"


def _text(value: Any, name: str) -> str:  # noqa: ANN401 - JSON
    return json.dumps(_folded(value, name), ensure_ascii=False, sort_keys=True)


def _folded(value: Any, name: str) -> Any:  # noqa: ANN401
    if name in _PACKED and isinstance(value, str):
        return "«bootstrap»"
    if isinstance(value, Mapping):
        if UNKNOWN in value:
            return "«known after up»"
        if SECRET in value:
            return "«secret»"
        if REFERENCE in value:
            return f"«{value[REFERENCE]}»"
        return {key: _folded(item, key) for key, item in value.items()}
    if isinstance(value, list):
        shown = [_folded(item, name) for item in value]
        return shown if len(shown) <= _FOLDED else [*shown[:3], f"… {len(shown) - 4} more …", shown[-1]]
    return value
