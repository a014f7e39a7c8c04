"""Checks recorded inputs against the argument classes of the installed SDK."""

import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import _types as sdk_types
from pulumi.runtime import rpc

from recording import Recording

NAMES = {"Output": pulumi.Output, "T": typing.TypeVar("T")}
SCALARS = {str: str, bool: bool, int: int, float: (int, float)}


def shape_problems(recording: Recording) -> list[str]:
    """List every input whose name or type the SDK does not know."""
    problems: list[str] = []
    for resource in recording.resources:
        if resource.type.startswith("aws:"):
            module = resource.type.split(":")[1].split("/")[0]
            name = resource.type.split(":")[2]
            service = getattr(aws, "lambda_" if module == "lambda" else module)
            # Where a nested type already has the name, the SDK calls the resource's arguments InitArgs.
            arguments = getattr(sys.modules[getattr(service, name).__module__], f"{name}InitArgs", None)
            arguments = arguments or getattr(service, f"{name}Args")
            problems.extend(_object_problems(resource.inputs, arguments, resource.name))
    return problems


def _object_problems(value: Mapping[str, Any], arguments: type, path: str) -> list[str]:
    spelling = {camel: snake for snake, camel in sdk_types.input_type_py_to_pulumi_names(arguments).items()}
    problems: list[str] = []
    for key, item in value.items():
        if key not in spelling:
            problems.append(f"{path}.{key}: {arguments.__name__} has no such property")
            continue
        getter = vars(arguments)[spelling[key]].fget
        expected = typing.get_type_hints(getter, vars(sys.modules[arguments.__module__]), NAMES)["return"]
        problems.extend(_value_problems(item, expected, f"{path}.{key}"))
    return problems


def _value_problems(value: Any, expected: Any, path: str) -> list[str]:
    """Accept a value that fits one of the alternatives of a type; else give the problems of the last one tried."""
    if isinstance(value, dict) and rpc._special_sig_key in value:
        value = value["value"]
    problems = [f"{path}: no type to check against"]
    for kind in _alternatives(expected):
        problems = _kind_problems(value, kind, path)
        if not problems:
            return []
    return problems


def _alternatives(expected: Any) -> list[Any]:
    """Take an input type apart, leaving out None, awaitables and outputs: recorded values are plain."""
    if typing.get_origin(expected) in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(expected) for kind in _alternatives(part)]
    origin = typing.get_origin(expected) or expected
    plain = origin in (Sequence, Mapping) or (
        isinstance(expected, type) and expected is not type(None) and not issubclass(expected, pulumi.Output)
    )
    return [expected] if plain else []


def _kind_problems(value: Any, kind: Any, path: str) -> list[str]:  # noqa: PLR0911 - one per kind
    origin = typing.get_origin(kind)
    if origin is Sequence:
        if not isinstance(value, list):
            return [f"{path}: needs a list, got {value!r}"]
        (item_type,) = typing.get_args(kind)
        return [one for index, item in enumerate(value) for one in _value_problems(item, item_type, f"{path}[{index}]")]
    if origin is Mapping:
        if not isinstance(value, dict):
            return [f"{path}: needs a map, got {value!r}"]
        item_type = typing.get_args(kind)[1]
        return [one for key, item in value.items() for one in _value_problems(item, item_type, f"{path}.{key}")]
    if sdk_types.is_input_type(kind):
        return _object_problems(value, kind, path) if isinstance(value, dict) else [f"{path}: needs an object"]
    scalar = SCALARS.get(kind, str if issubclass(kind, str) else kind)
    # bool is a subclass of int in Python; the provider tells them apart.
    if not isinstance(value, scalar) or (isinstance(value, bool) and scalar is not bool):
        return [f"{path}: needs {kind.__name__}, got {value!r}"]
    return []
