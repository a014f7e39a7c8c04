"""What may be written for a key of the blueprint, and its default, in words of a reader."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from clusterwright import units
from clusterwright.blueprint.quantities import QuantitySchema

Node = Mapping[str, Any]
#: What a pattern of the schema is, in words.
_QUANTITIES = {
    units.pattern(kind): {"fraction": "share", "amount of money": "money"}.get(kind.name, kind.name)
    for kind in vars(units).values()
    if isinstance(kind, units.Kind)
}
#: Units in which a default is written, the largest that divides it first.
_WRITTEN = {
    units.DURATION.name: ("years", "days", "h", "min", "s", "ms"),
    units.POWER.name: ("MW", "kW", "W"),
    units.BYTES.name: ("TB", "GB", "MB", "kB", "B"),
    units.MASS.name: ("kg",),
    units.LENGTH.name: ("m",),
}
_PLAIN_WORDS = {"years": ("year", "years"), "days": ("day", "days")}


def alternatives(node: Node, definitions: Mapping[str, Node]) -> list[Node]:
    """Return what a value may be, each without further choices; a section stays a reference to its definition."""
    found = [part for key in ("anyOf", "oneOf") for part in node.get(key, ())]
    if found:
        return [inner for part in found for inner in alternatives(part, definitions)]
    target = definitions.get(reference_of(node), {})
    if "properties" not in target and target.keys() & {"anyOf", "oneOf", "enum"}:
        return alternatives(target, definitions)
    return [node]


def reference_of(node: Node) -> str:
    """Return the name of the definition that a node refers to, or nothing."""
    return str(node.get("$ref", "")).rpartition("/")[2]


def kind_text(node: Node, definitions: Mapping[str, Node]) -> str:
    """Return what may be written, such as `duration`, `number or share`, or the words to choose from."""
    kinds = (_one_kind(part, definitions) for part in alternatives(node, definitions))
    return " or ".join(dict.fromkeys(kind for kind in kinds if kind))


def _one_kind(part: Node, definitions: Mapping[str, Node]) -> str:
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    if isinstance(part.get("type"), list):
        return "number, or text with its unit"
    if part.get("type") is None:
        return "section" if "$ref" in part else ""
    return _BY_TYPE[part["type"]](part, definitions)


def _list(part: Node, definitions: Mapping[str, Node]) -> str:
    return f"list of {kind_text(part.get('items', {}), definitions) or 'values'}"


def _section(part: Node, definitions: Mapping[str, Node]) -> str:
    inner = part.get("additionalProperties")
    of = kind_text(inner, definitions) if isinstance(inner, Mapping) else ""
    return f"section of names with {of}" if of else "section"


_BY_TYPE: Mapping[str, Callable[[Node, Mapping[str, Node]], str]] = {
    "string": lambda part, _: _QUANTITIES.get(part.get("pattern", ""), "text"),
    "array": _list,
    "object": _section,
    "integer": lambda part, _: f"whole number{_range(part)}",
    "number": lambda part, _: f"number{_range(part)}",
    "boolean": lambda _part, _: "`true` or `false`",
    "null": lambda _part, _: "",
}


def _range(part: Node) -> str:
    above = "above " if "exclusiveMinimum" in part else ""
    low, high = part.get("minimum", part.get("exclusiveMinimum")), part.get("maximum", part.get("exclusiveMaximum"))
    if low is None:
        return "" if high is None else f" up to {high:,.10g}"
    return f", {above or 'from '}{low:g}" if high is None else f", {above}{low:,.10g} to {high:,.10g}"


def default_text(field: FieldInfo) -> str:
    """Return the default of a field as a blueprint writes it; empty where there is none, or a whole section."""
    value = field.get_default(call_default_factory=True)
    if value in (None, "", [], {}, ()) or value is PydanticUndefined or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    kind = next(_quantities(field.annotation, field.metadata), None)
    if kind is not None and isinstance(value, int | float):
        return _quantity_text(float(value), kind)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _quantities(annotation: Any, metadata: list[Any]) -> Iterator[units.Kind]:  # noqa: ANN401 - any annotation
    yield from (entry.kind for entry in metadata if isinstance(entry, QuantitySchema))
    if get_origin(annotation) is Annotated:
        kind, *entries = get_args(annotation)
        yield from _quantities(kind, entries)
    elif get_origin(annotation) in (Union, UnionType):
        for argument in get_args(annotation):
            yield from _quantities(argument, [])


def _quantity_text(value: float, kind: units.Kind) -> str:
    if kind is units.FRACTION:
        return units.percent(value, digits=None)
    if value == 0:
        return "0"
    for unit in _WRITTEN.get(kind.name, ()):
        amount = value / kind.factors[unit]
        if round(amount, 6) == round(amount, 2) and amount >= 1:
            one, many = _PLAIN_WORDS.get(unit, (unit, unit))
            return f"{amount:g} {one if amount == 1 else many}"
    return f"{value:g} {kind.base}".strip()
