"""What differs between old and new inputs of a resource, path by path, and which of it needs a new resource."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_TABLE = Path(__file__).with_name("replacements.yaml")


@cache
def _table() -> Mapping[str, list[str]]:
    table: dict[str, list[str]] = yaml.safe_load(_TABLE.read_text())
    return table


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Yield path and kind of each difference; the kind is `ADD`, `DELETE` or `UPDATE`."""
    if isinstance(old, dict) and isinstance(new, dict) and not (_is_mark(old) or _is_mark(new)):
        for key in sorted(old.keys() | new.keys()):
            inner = key if not path else f'{path}["{key}"]' if re.search(r"[^A-Za-z0-9_]", key) else f"{path}.{key}"
            if key not in new:
                yield inner, "DELETE"
            elif key not in old:
                yield inner, "ADD"
            else:
                yield from differences(old[key], new[key], inner)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            inner = f"{path}[{index}]"
            if index >= len(new):
                yield inner, "DELETE"
            elif index >= len(old):
                yield inner, "ADD"
            else:
                yield from differences(old[index], new[index], inner)
    elif old != new:
        yield path, "UPDATE"


def replaces(type_: str, path: str, inputs: Mapping[str, Any], name_input: str | None) -> bool:
    """Tell whether a change at a path of the inputs needs a new resource.

    Args:
        type_: of the resource.
        path: of the change.
        inputs: the new ones.
        name_input: the input that holds the resource's own name, if there is one.
    """
    plain = re.sub(r"\[\d+\]", "", path)
    if plain == name_input or (type_.startswith("kubernetes:") and plain in ("metadata.name", "metadata.namespace")):
        return True
    for entry in _table().get(type_, []):
        forcing, _, condition = entry.partition(" if ")
        if condition and not inputs.get(condition):
            continue
        if plain == forcing or plain.startswith((f"{forcing}.", f"{forcing}[")) or forcing.startswith(f"{plain}."):
            return True
    return False


def _is_mark(value: Mapping[str, Any]) -> bool:
    return bool(value.keys() & {"$secret", "$unknown", "$resource", "$asset", "$archive"})
