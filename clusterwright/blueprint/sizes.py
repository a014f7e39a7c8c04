"""Cluster sizes that a target may have, and what a whole number must divide into: `multiple of 8`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section

_POWER = "power of two"
_MULTIPLE = r"multiple of ([1-9][0-9]{0,5})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Multiple:
    """A rule for whole numbers: multiples of `of`, and only powers of two if `power_of_two`."""

    of: int = 1
    power_of_two: bool = False

    def holds(self, number: int) -> bool:
        """Tell whether a positive number follows the rule.

        >>> Multiple(of=8).holds(24), Multiple(power_of_two=True).holds(24)
        (True, False)
        """
        return number % self.of == 0 and (not self.power_of_two or number & (number - 1) == 0)

    def __str__(self) -> str:
        return _POWER if self.power_of_two else f"multiple of {self.of}"


def read_multiple(value: Any) -> Multiple:  # noqa: ANN401 - YAML holds anything
    """Read `multiple of N` or `power of two`.

    >>> read_multiple("multiple of 8")
    Multiple(of=8, power_of_two=False)

    Raises:
        PydanticCustomError: it is neither.
    """
    if isinstance(value, Multiple):
        return value
    text = " ".join(str(value).split())
    if text == _POWER:
        return Multiple(power_of_two=True)
    match = re.fullmatch(_MULTIPLE, text)
    if match is None:
        raise PydanticCustomError(
            "multiple",
            "{found} is not a rule for whole numbers",
            {"found": repr(value), "help": "write multiple of 8, or power of two"},
        )
    return Multiple(of=int(match[1]))


MustBe = Annotated[
    Multiple,
    BeforeValidator(read_multiple, json_schema_input_type=str),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^({_POWER}|{_MULTIPLE})$", "examples": ["multiple of 8", "power of two"]}
    ),
]


class Sizes(Section):
    """Cluster sizes that a target may have, spare and divided nodes included."""

    #: Fields that name the target's hardware, one kind and several, and what to write as the first.
    hardware: ClassVar[tuple[str, str, str]]

    min_nodes: Annotated[int, Field(gt=0, le=100_000)] | None = Field(None, description="never plan fewer nodes")
    max_nodes: Annotated[int, Field(gt=0, le=100_000)] | None = Field(None, description="never plan more nodes")
    nodes_must_be: MustBe | None = Field(
        None, description="numbers of nodes to look at, for example multiple of 4, or power of two"
    )


def name_once(target: Sizes) -> None:
    """Refuse a target that names its hardware twice or not at all.

    Raises:
        PydanticCustomError: both fields are given, or none.
    """
    wrong = not_named_once(type(target), {name: getattr(target, name) for name in target.hardware[:2]})
    if wrong is not None:
        raise PydanticCustomError("choice", "{said}", {"said": wrong[0], "help": wrong[1]})


def not_named_once(kind: type[Sizes], section: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what is wrong with hardware that a section names twice or not at all, and what to do; None if nothing."""
    one, several, example = kind.hardware
    given = [name for name in (one, several) if section.get(name) is not None]
    if len(given) > 1:
        return f"{one} and {several} are both given", "keep one of them"
    return None if given else (f"{one} is missing", f"for example {one}: {example}, or {several}: any")
