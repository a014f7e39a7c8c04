"""Hold recorded inputs against the shapes of the installed SDK: every name, type, enumeration and required property."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.checks.preflight.recorder.shapes import (
    AnyOf,
    Anything,
    Entries,
    EnumShape,
    Items,
    Nested,
    ObjectShape,
    Property,
    Scalar,
    Sdk,
    Shape,
    UnknownTypeError,
    described,
)
from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Record, Resource

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {"str": (str,), "bool": (bool,), "int": (int,), "float": (int, float)}
_WORDS = {"str": "text", "bool": "true or false", "int": "a whole number", "float": "a number"}
#: Enumerations of the SDK that are known to lag, with the pattern of what the service takes. Azure's own list of
#: virtual machine sizes ends in 2019 and its page says that any size of the location is valid.
LAGGING_ENUMS: Mapping[str, str] = {"VirtualMachineSizeTypes": r"Standard_[A-Z]+[0-9]+[a-z]*(_[A-Za-z0-9]+)*"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One input that the provider does not have, or would not take."""

    urn: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.urn.rpartition('::')[2]}: {self.path}: {self.message}"


def input_findings(record: Record, sdk: Sdk) -> list[Finding]:
    """Return every input of a record that does not fit the SDK's shapes."""
    made = (one for one in record.resources if one.custom and not one.read_id)
    return [finding for one in made for finding in resource_findings(one, sdk)]


def resource_findings(resource: Resource, sdk: Sdk) -> Iterator[Finding]:
    """Yield the inputs of one resource that do not fit its type."""
    try:
        shape = sdk.inputs(resource.type)
    except UnknownTypeError as error:
        yield Finding(urn=resource.urn, path="", message=str(error))
        return
    inputs = resource.inputs
    if resource.type.startswith("pulumi:providers:"):
        # Whatever is not text goes to a provider as JSON.
        inputs = {key: _decoded(value, shape.properties.get(key)) for key, value in inputs.items()}
    for path, message in _object(inputs, shape, ""):
        yield Finding(urn=resource.urn, path=path, message=message)


def _decoded(value: Any, known: Property | None) -> Any:  # noqa: ANN401 - JSON
    return (
        value if known is None or known.shape == Scalar(kind="str") or not isinstance(value, str) else json.loads(value)
    )


_Problems = Iterator[tuple[str, str]]


def _object(value: Mapping[str, Any], shape: ObjectShape, path: str) -> _Problems:
    for name, item in value.items():
        if name not in shape.properties:
            yield f"{path}{name}", f"is not a property of {shape.name}"
        else:
            yield from _value(item, shape.properties[name].shape, f"{path}{name}")
    for name, known in shape.properties.items():
        if known.required and value.get(name) is None:
            yield f"{path}{name}", f"is required by {shape.name}"


def _value(value: Any, shape: Shape, path: str) -> _Problems:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping) and SECRET in value:
        yield from _value(value[SECRET], shape, path)
    elif (isinstance(value, Mapping) and (UNKNOWN in value or REFERENCE in value)) or isinstance(shape, Anything):
        return
    elif isinstance(shape, AnyOf):
        yield from _any_of(value, shape, path)
    elif isinstance(shape, Scalar):
        yield from _scalar(value, shape, path)
    elif isinstance(shape, Items):
        if not isinstance(value, list):
            yield path, f"needs a list, got {value!r}"
            return
        for index, item in enumerate(value):
            yield from _value(item, shape.item, f"{path}[{index}]")
    elif isinstance(shape, Entries):
        if not isinstance(value, Mapping):
            yield path, f"needs a map, got {value!r}"
            return
        for key, item in value.items():
            yield from _value(item, shape.item, f"{path}.{key}")
    else:
        yield from _nested(value, shape, path)


def _scalar(value: Any, shape: Scalar, path: str) -> _Problems:  # noqa: ANN401
    # bool is a kind of int in Python; the provider tells them apart.
    if not isinstance(value, _PYTHON_TYPES[shape.kind]) or (isinstance(value, bool) and shape.kind != "bool"):
        yield path, f"needs {_WORDS[shape.kind]}, got {value!r}"


def _nested(value: Any, shape: Nested, path: str) -> _Problems:  # noqa: ANN401
    known = described(shape)
    if isinstance(known, EnumShape):
        lag = LAGGING_ENUMS.get(known.name)
        if value not in known.values and not (lag and re.fullmatch(lag, str(value))):
            some = ", ".join(str(one) for one in known.values[:8]) + (", …" if len(known.values) > 8 else "")
            yield path, f"{value!r} is none of {known.name}: {some}"
    elif isinstance(value, Mapping):
        yield from _object(value, known, f"{path}.")
    else:
        yield path, f"needs an object ({known.name}), got {value!r}"


def _any_of(value: Any, shape: AnyOf, path: str) -> _Problems:  # noqa: ANN401
    """Accept what fits one alternative.

    `Union[str, SomeEnum]` is open in the SDK and closed here: the service refuses a value that nobody lists, minutes
    into `up`. Where the SDK's list lags behind the service, `LAGGING_ENUMS` says what the service takes.
    """
    enums = [one for one in shape.options if isinstance(one, Nested) and isinstance(described(one), EnumShape)]
    options = enums or list(shape.options)
    attempts = [list(_value(value, option, path)) for option in options]
    if all(attempts):
        yield from attempts[0]
