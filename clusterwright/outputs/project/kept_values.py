"""What an owner has set in a layer's configuration, kept when the project is written again.

A file of values has three versions: as written the last time, as it is now, and as it would be written now. A value
that its owner changed, added or removed since the first is kept; every other one is as the plan says. Where the first
is not known, every difference counts as the owner's.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from clusterwright.errors import InputError
from clusterwright.outputs.folder import Merged

_ABSENT = object()
_MOST_SHOWN = 60


def keep_values(name: str, base: bytes | None, current: bytes, new: bytes) -> Merged:
    """Return the new configuration with its owner's values in it, and a line for each of them.

    Args:
        name: of the file, for messages.
        base: as written the last time; None where that is not known.
        current: as it is now.
        new: as it would be written now.

    Raises:
        InputError: the file as it is now is no YAML mapping.
    """
    theirs = _mapping(name, current)
    before = None if base is None else _mapping(name, base)
    yaml = YAML()
    yaml.width = 160
    ours = yaml.load(new.decode())
    lines = list(_merge("", before, theirs, ours))
    stream = io.StringIO()
    yaml.dump(ours, stream)
    return Merged(content=stream.getvalue().encode(), kept=tuple(lines))


def _mapping(name: str, content: bytes) -> Mapping[str, Any]:
    try:
        found = YAML(typ="safe").load(content.decode())
    except (YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        where = str(error).strip().splitlines()[-1].strip() if str(error).strip() else type(error).__name__
        raise InputError(
            f"{name} is no YAML, so that its values cannot be kept: {where}",
            help="correct it, or move it elsewhere to have it written again",
        ) from None
    if not isinstance(found, Mapping):
        raise InputError(
            f"{name} holds no keys with values, so that none can be kept",
            help="correct it, or move it elsewhere to have it written again",
        )
    return cast("Mapping[str, Any]", found)


def _merge(path: str, base: Mapping[str, Any] | None, theirs: Mapping[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    """Put the owner's values into `ours`; yield what was kept and what the plan says instead."""
    for key in dict.fromkeys((*ours, *theirs)):
        mine, new = theirs.get(key, _ABSENT), ours.get(key, _ABSENT)
        old = _ABSENT if base is None else base.get(key, _ABSENT)
        if mine == new or (base is not None and mine == old):
            continue
        shown = f"{path}{key}".removeprefix("config.")
        if isinstance(mine, Mapping) and isinstance(new, dict):
            inner = old if isinstance(old, Mapping) else None if base is None else {}
            yield from _merge(f"{path}{key}.", inner, mine, new)
        elif mine is _ABSENT:
            # Without the last version, a key that is only new cannot be distinguished from one that was removed.
            if base is not None and old is not _ABSENT:
                del ours[key]
                yield f"{shown} stays removed (the plan has {_shown(new)})"
        elif new is _ABSENT and old is not _ABSENT:
            yield f"{shown} {_shown(mine)} is gone: the project has no such key any more"
        else:
            ours[key] = mine
            yield f"{shown} {_shown(mine)} is kept" + ("" if new is _ABSENT else f" (the plan has {_shown(new)})")


def _shown(value: Any) -> str:  # noqa: ANN401 - configuration values
    if isinstance(value, Mapping) and "secure" in value:
        return "[secret]"
    shown = str(value).encode("unicode_escape").decode()
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
