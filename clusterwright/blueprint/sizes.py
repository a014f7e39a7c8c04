"""Cluster sizes that a target may have, and the rule that it names its hardware once."""

from typing import Annotated

from pydantic import Field
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.multiples import MustBe


class Sizes(Section):
    """Cluster sizes that a target may have, spare nodes included."""

    min_nodes: Annotated[int, Field(gt=0, le=100_000)] | None = Field(None, description="never plan fewer nodes")
    max_nodes: Annotated[int, Field(gt=0, le=100_000)] | None = Field(None, description="never plan more nodes")
    nodes_must_be: MustBe | None = Field(
        None, description="numbers of nodes to look at, for example multiple of 4, or power of two"
    )


def name_once(target: Sizes, one: str, several: str, example: str) -> None:
    """Refuse a target that names its hardware twice or not at all.

    Args:
        target: the section.
        one: field that names one.
        several: field that names several.
        example: what to write.

    Raises:
        PydanticCustomError: both fields are given, or none.
    """
    given = [name for name in (one, several) if getattr(target, name) is not None]
    if not given:
        raise PydanticCustomError(
            "choice", "{one} is missing", {"one": one, "help": f"for example {example}, or {several}: any"}
        )
    if len(given) > 1:
        raise PydanticCustomError(
            "choice",
            "{one} and {several} are both given",
            {"one": one, "several": several, "help": "keep one of them"},
        )
