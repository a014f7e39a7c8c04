"""Mistakes made by rule: each resource of a run that is right, wrong in one place, of every kind that applies there."""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.checks.preflight.recorder.shapes import (
    AnyOf,
    Entries,
    EnumShape,
    Items,
    Nested,
    ObjectShape,
    Scalar,
    Sdk,
    Shape,
    UnknownTypeError,
    described,
)
from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Record, Resource, Run

from .inputs import LAGGING_ENUMS

Path = tuple[str | int, ...]
#: What a machine boots with has tests of its own.
_BOOT = ("userData", "userDataBase64", "customData", "user-data", "source", "content", "code")
#: What only people read: a change of it is no mistake.
FOR_PEOPLE = (
    "description",
    "displayName",
    "friendlyName",
    "Name",
    "policyId",
    "sid",
    "comment",
    "shortName",
    "groupShortName",
    "alarmDescription",
    "documentation",
)
_ADDRESSES = re.compile(r"[0-9.]+/[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One mistake.

    Attributes:
        kind: of mistake, in words.
        what: the resource and the place in it.
        layer: that holds the resource.
        resource: as it is with the mistake; None if it is left out.
        original: as it is without.
    """

    kind: str
    what: str
    layer: str
    resource: Resource | None
    original: Resource

    def planted_in(self, run: Run) -> Run:
        """Return a run with the mistake in it."""
        record = run.layers[self.layer]
        kept = (self.resource if one is self.original else one for one in record.resources)
        changed = replace(record, resources=tuple(one for one in kept if one is not None))
        return Run(layers={**run.layers, self.layer: changed})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    path: Path
    value: Any
    shape: Shape
    required: bool

    @property
    def name(self) -> str:
        """The property, also for an element of a list."""
        return next(str(step) for step in reversed(self.path) if isinstance(step, str))


def mutants(run: Run, sdk: Sdk) -> Iterator[Mutant]:
    """Yield every mistake that can be made by rule in a run that is right."""
    known = _ids(run)
    for layer, record in run.layers.items():
        for one in record.resources:
            if one.custom and not one.read_id:
                yield from _of_resource(one, layer, record, sdk, known)


def _of_resource(
    one: Resource, layer: str, record: Record, sdk: Sdk, known: Mapping[str, tuple[str, str]]
) -> Iterator[Mutant]:
    def mutant(kind: str, path: Path, resource: Resource | None) -> Mutant:
        shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return Mutant(kind=kind, what=f"{one.type} {one.name}{shown}", layer=layer, resource=resource, original=one)

    def with_value(kind: str, path: Path, value: Any) -> Mutant:  # noqa: ANN401 - JSON
        return mutant(kind, path, replace(one, inputs=_put(one.inputs, path, value)))

    try:
        shape = sdk.inputs(one.type)
    except UnknownTypeError:
        return
    if one.type.startswith("pulumi:providers:"):
        yield from (
            with_value("the provider's own tags or region left out", (key,), _GONE)
            for key in one.inputs
            if key in ("defaultTags", "defaultLabels", "region", "project", "location")
        )
        return
    yield mutant("a resource left out", (), None)
    yield mutant("protection the other way round", (), replace(one, protect=not one.protect))
    yield mutant("no component around it", (), replace(one, parent=_stack_of(record)))
    yield mutant("a default provider", (), replace(one, provider=""))
    yield with_value("an unknown property", ("planted",), "x")
    for place in _places(one.inputs, shape, ()):
        for kind, value in _mistakes(place, known):
            yield with_value(kind, place.path, value)


class _Gone:
    """Marks what is taken away."""


_GONE = _Gone()


def _mistakes(place: _Place, known: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    value, in_list = place.value, isinstance(place.path[-1], int)
    if not in_list and place.required:
        yield "a required property left out", _GONE
    elif not in_list and place.name not in FOR_PEOPLE and value not in (None, {}, []):
        yield "an optional property left out", _GONE
    if isinstance(value, list) and len(value) > 0:
        yield "an element of a list left out", value[:-1]
        yield "an element of a list twice", [*value, value[-1]]
    if isinstance(value, Mapping) and not _is_mark(value) and isinstance(_described(place.shape), ObjectShape):
        yield "an unknown property", {**value, "planted": "x"}
    if isinstance(value, bool):
        yield "a truth value the other way round", not value
    elif isinstance(value, int | float):
        yield from _wrong_numbers(value)
    elif isinstance(value, str) and place.name not in (*_BOOT, *FOR_PEOPLE):
        yield from _wrong_texts(value, place, known)
    if isinstance(value, str | bool | int | float) and not _takes_anything(place.shape):
        yield "a value of the wrong type", ["wrong"]


def _wrong_numbers(value: float) -> Iterator[tuple[str, Any]]:
    if value != 0:
        yield "a number that is 0", 0
    yield "a negative number", -1
    yield "a number ten times too large, and odd", value * 10 + 1


def _wrong_texts(value: str, place: _Place, known: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    if value in known:
        kind, name = known[value]
        same = next((key for key, (k, n) in known.items() if k == kind and n != name and _alike(key, value)), None)
        other = next((key for key, (k, _) in known.items() if k != kind and _alike(key, value)), None)
        if same is not None:
            yield "a reference to another thing of the same kind", same
        if other is not None:
            yield "a reference to a thing of another kind", other
    elif isinstance(_described(place.shape), EnumShape):
        yield "a word that nobody lists", f"{value[:-1]}_"
    elif _ADDRESSES.fullmatch(value):
        if value != "0.0.0.0/0":
            yield "an address range open to everybody", "0.0.0.0/0"
            net = ipaddress.ip_network(value, strict=False)
            yield "an address range too small", f"{net.network_address}/30"
    elif _NUMBER.fullmatch(value):
        yield from ((kind, str(int(number))) for kind, number in _wrong_numbers(float(value)))
    elif value in ("true", "false", "TRUE", "FALSE"):
        yield (
            "a truth value the other way round",
            {"true": "false", "false": "true", "TRUE": "FALSE", "FALSE": "TRUE"}[value],
        )
    elif value.startswith("{") and (widened := _widened(value)) is not None:
        yield "a policy that allows everything", widened
    elif value:
        yield "a misspelt word", f"{value[:-1]}_"


def _widened(text: str) -> str | None:
    try:
        document = json.loads(text)
    except ValueError:
        return None
    statements = document.get("Statement") if isinstance(document, dict) else None
    if not isinstance(statements, list) or not statements or "Resource" not in statements[0]:
        return None
    widest = {**statements[0], "Action": "*", "Resource": "*"}
    widest.pop("Condition", None)
    return json.dumps({**document, "Statement": [widest, *statements[1:]]})


def _places(value: Any, shape: Shape | ObjectShape, path: Path, *, required: bool = False) -> Iterator[_Place]:  # noqa: ANN401
    """Yield every place inside a value, the value itself among it unless it is the whole resource."""
    if path and not _is_mark(value) and isinstance(shape, Shape):
        yield _Place(path=path, value=value, shape=shape, required=required)
    known = shape if isinstance(shape, ObjectShape) else _described(shape)
    if _is_mark(value):
        return
    if isinstance(value, Mapping) and isinstance(known, ObjectShape):
        for key, item in value.items():
            if key in known.properties:
                inner = known.properties[key]
                yield from _places(item, inner.shape, (*path, key), required=inner.required)
    elif isinstance(value, Mapping) and isinstance(shape, Entries):
        for key, item in value.items():
            yield from _places(item, shape.item, (*path, key))
    elif isinstance(value, list) and isinstance(shape, Items):
        # The first and the last say what a list of many says.
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from _places(value[index], shape.item, (*path, index))


def _described(shape: Shape) -> ObjectShape | EnumShape | None:
    if isinstance(shape, Nested):
        found = described(shape)
        return None if isinstance(found, EnumShape) and found.name in LAGGING_ENUMS else found
    if isinstance(shape, AnyOf):
        found_all = [_described(one) for one in shape.options]
        return next((one for one in found_all if one is not None), None)
    return None


def _takes_anything(shape: Shape) -> bool:
    return not isinstance(shape, Scalar | Nested | AnyOf)


def _is_mark(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, Mapping) and any(
        key in value for key in (SECRET, UNKNOWN, REFERENCE, "$asset", "$archive")
    )


def _put(value: Any, path: Path, new: Any) -> Any:  # noqa: ANN401
    """Return a copy of a value with something else in one place."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_put(item, rest, new) if index == step else item for index, item in enumerate(value)]
    changed = dict(value)
    changed[step] = _put(changed.get(step), rest, new)
    if changed[step] is _GONE:
        del changed[step]
    return changed


def _stack_of(record: Record) -> str:
    return next((one.urn for one in record.resources if one.type == "pulumi:pulumi:Stack"), "")


def _ids(run: Run) -> dict[str, tuple[str, str]]:
    """Return what the stand-in cloud calls each resource: every id, address or number to type and name."""
    found: dict[str, tuple[str, str]] = {}
    for record in run.layers.values():
        for one in record.cloud_resources:
            for key in one.identities:
                found.setdefault(key, (one.type, one.name))
    return found


def _alike(one: str, other: str) -> bool:
    """Tell whether two references are of one form: both ARNs, both paths, or both plain ids."""
    return (one.partition(":")[0] == "arn", one.startswith("/")) == (
        other.partition(":")[0] == "arn",
        other.startswith("/"),
    )
