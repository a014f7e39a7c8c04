"""What a blueprint may say of nodes to buy and of their compute fabric: kind, switch, topology, planes, growth."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Identifier, Section
from clusterwright.blueprint.quantities import Mass, Power, RackUnits
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, Path, Problem
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError

_TOPOLOGIES = ("rail", "plain")
#: Kind of a fabric by the network of its switches.
_KIND_OF_NETWORK = {"infiniband": "infiniband", "ethernet": "roce"}


def _topology(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    if value in _TOPOLOGIES:
        return value
    raise PydanticCustomError(
        "topology",
        "a {found} topology has no leaf per rail and no levels that the rules here could size",
        {"found": str(value), "help": "ask for rail (a leaf per rail) or plain (a fat-tree)"},
    )


Topology = Annotated[Literal["rail", "plain"], BeforeValidator(_topology)]


class OnPremFabric(Section):
    """The compute fabric to build; what is left out follows from the system."""

    kind: Literal["infiniband", "roce"] | None = Field(
        None, description="roce is Ethernet; that of the switch, else of the system, by default"
    )
    switch: Identifier | None = Field(None, description="a switch of the catalogue, for example sn5600")
    topology: Topology = Field("rail", description="rail: a leaf per rail; plain: all ports of a node on one leaf")
    rail_groups: Literal["all-units", "per-unit"] | None = Field(
        None, description="three levels in which the leaves of a rail share spines, over all units or in each"
    )
    planes: Annotated[int, Field(ge=1, le=8)] = Field(
        1, description="equal fabrics: Ethernet ports are split over them, InfiniBand rails are shared out"
    )
    buy_for_units: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="growth: scalable units whose leaves, spines and their cables are bought now"
    )
    purchase: Literal["full-units", "as-needed"] | None = Field(
        None,
        description="full-units: all leaves and spines of a unit, as reference architectures ask; as-needed: what the "
        "nodes need; by default as needed where one switch holds all nodes, else full units",
    )


class OnPremNode(Section):
    """What is known of one node of the system that is ordered, instead of the catalogue's figure."""

    power: Annotated[Power, Field(gt=0, le=1e6)] | None = Field(
        None, description="most that one node draws, for example 11 kW"
    )
    height: Annotated[RackUnits, Field(gt=0, le=60)] | None = Field(None, description="height, for example 8 U")
    weight: Annotated[Mass, Field(gt=0, le=5000)] | None = Field(None, description="weight, for example 120 kg")


def fabric_kind(problems: list[Problem], path: Path, asked: OnPremFabric, catalogue: Catalogue) -> str | None:
    """Return the kind of network that is asked for, `infiniband` or `roce`; None where the system decides.

    Args:
        problems: gets an unknown switch, one for management, and one that is not of the kind asked for.
        path: of the section in the blueprint.
        asked: the section.
        catalogue: for the switch.
    """
    if asked.switch is None:
        return asked.kind
    try:
        switch = lookup.switch(catalogue, asked.switch)
    except InputError as error:
        problems.append(Problem(path=(*path, "switch"), message=error.message, help=error.help or LOOK_IT_UP))
        return asked.kind
    kind = _KIND_OF_NETWORK.get(switch.network)
    if kind is None or asked.kind not in {None, kind}:
        what = "is an out-of-band switch" if kind is None else f"is for {kind}, the fabric is to be {asked.kind}"
        problems.append(
            Problem(
                path=(*path, "switch"),
                message=f"{switch.name} {what}",
                help="choose one such as qm9700 for infiniband, or sn5600 for roce",
            )
        )
    return kind
