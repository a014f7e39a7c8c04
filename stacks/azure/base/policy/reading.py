"""Reads inputs of any shape; what is missing or unknown reads as empty."""

from collections.abc import Mapping
from typing import Any, cast


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list."""
    return [mapping(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the strings of a list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
