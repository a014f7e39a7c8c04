"""Reads inputs whose shape a rule cannot be sure of: what is missing or not known yet gives nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rule import UNKNOWN

Inputs = Mapping[str, Any]


def objects(inputs: Inputs, key: str) -> list[Inputs]:
    """The objects of a list, or the one object that stands in its place."""
    value: object = inputs.get(key)
    if isinstance(value, Mapping):
        return [cast("Inputs", value)]
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [cast("Inputs", one) for one in cast("Sequence[object]", value) if isinstance(one, Mapping)]


def first(inputs: Inputs, key: str) -> Inputs:
    """The one object of an input, or an empty one."""
    found = objects(inputs, key)
    return found[0] if found else {}


def texts(inputs: Inputs, key: str) -> list[str]:
    """The texts of a list, or the one text that stands in its place."""
    value: object = inputs.get(key)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        return []
    return [one for one in cast("Sequence[object]", value) if isinstance(one, str)]


def is_on(value: object) -> bool:
    """Whether a flag is set: the provider has some as booleans and some as text."""
    return value in (True, "true", UNKNOWN)


def is_off(value: object) -> bool:
    """Whether a flag is not set, or set to no; a value that is not known yet is not."""
    return value in (None, False, "false", "")
