"""Configuration values as types: `pulumi config set` writes numbers and flags as text."""

from typing import Any


def whole(value: Any) -> int | None:  # noqa: ANN401 - configuration values
    """Return a whole number, None for anything else.

    >>> whole("48"), whole(48.0), whole("many"), whole(True)
    (48, 48, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        return int(text) if text.removeprefix("-").isdecimal() else None
    return None


def flag(value: Any) -> bool | None:  # noqa: ANN401 - configuration values
    """Return a flag, None for anything else.

    >>> flag("true"), flag(False), flag("yes")
    (True, False, None)
    """
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def text(value: Any) -> str:  # noqa: ANN401 - configuration values
    """Return text; an empty one for what is none."""
    return value if isinstance(value, str) else "" if value is None or isinstance(value, dict | list) else str(value)
