"""What a blueprint may say of a target's network and power: the schema's sections, and what they mean for its nodes."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Power
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, Path, Problem
from clusterwright.catalog.power_caps import check_cap
from clusterwright.catalog.records import NodeNetwork, NodeType
from clusterwright.errors import ClusterwrightError

#: Generations whose NVLink switches reduce (third NVSwitch and newer; from memory).
_REDUCING_GENERATIONS = ("hopper", "blackwell")

Ratio = Annotated[float, Field(ge=1, le=64, strict=False)]
PowerCap = Annotated[
    Power | None,
    Field(
        gt=0,
        description="limit of one accelerator, for example 500 W; slows it by an amount that is not well known, which "
        "widens the band, and lowers the power on premises",
    ),
]


class Oversubscription(Section):
    """Downlinks over uplinks of each tier of the compute fabric."""

    leaf: Ratio = Field(1.0, description="of a leaf towards the spines, for example 2")
    spine: Ratio = Field(1.0, description="of a spine towards the cores, where there are any")


def _tiers(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    return {"leaf": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


Tiers = Annotated[Oversubscription, BeforeValidator(_tiers, json_schema_input_type=Ratio | Oversubscription)]


class CloudNetwork(Section):
    """How collectives may use a target's network. By default they go as in the published runs that calibrate them."""

    nvlink_sharp: bool = Field(False, description="NVLink switches reduce (NCCL's NVLS); Hopper and newer")
    algorithms: list[Literal["ring", "tree", "leafwise"]] = Field(
        default_factory=list,
        description="ways that collectives may go besides two levels, the fastest of which counts. ring: one ring "
        "through all ranks; tree: all-reduces over trees between nodes; leafwise: among the nodes of a leaf first",
        examples=["[ring, tree]"],
    )


class OnPremNetwork(CloudNetwork):
    """The compute fabric to build, and how collectives may use it."""

    oversubscription: Tiers = Field(
        default_factory=Oversubscription,
        description="downlinks over uplinks of a leaf, for example 2; or leaf and spine apart",
    )
    sharp: bool = Field(False, description="InfiniBand switches reduce (SHARP)")


def node_with_choices(
    problems: list[Problem], path: Path, node: NodeType, *, network: CloudNetwork, power_cap_w: float | None
) -> NodeType:
    """Return a target's node with what the blueprint says of its network and power.

    Args:
        problems: gets those found: a cap out of range, switches that cannot reduce.
        path: of the target in the blueprint.
        node: of the target.
        network: the target's section.
        power_cap_w: of one accelerator.
    """
    if power_cap_w is not None:
        try:
            check_cap(node.accelerator, power_cap_w)
        except ClusterwrightError as error:
            problems.append(
                Problem(
                    path=(*path, "power_cap"),
                    message=error.message,
                    help=error.help or LOOK_IT_UP,
                    exit_code=error.exit_code,
                )
            )
    chip = node.accelerator
    if network.nvlink_sharp and not (chip.scale_up_kind == "nvlink" and chip.generation in _REDUCING_GENERATIONS):
        problems.append(
            Problem(
                path=(*path, "network", "nvlink_sharp"),
                message=f"{chip.name} has no NVLink switches that reduce",
                help="remove nvlink_sharp; it needs Hopper or newer with NVLink",
            )
        )
    leaf = spine = 1.0
    sharp = False
    if isinstance(network, OnPremNetwork):
        leaf, spine = network.oversubscription.leaf, network.oversubscription.spine
        sharp = network.sharp
        if sharp and node.network_kind != "infiniband":
            problems.append(
                Problem(
                    path=(*path, "network", "sharp"),
                    message=f"the fabric of {node.id} is {node.network_kind}; SHARP is of InfiniBand switches",
                    help="remove sharp, or choose a system with InfiniBand ports",
                )
            )
    return replace(
        node,
        power_cap_w=power_cap_w,
        network=NodeNetwork(
            leaf_oversubscription=leaf,
            spine_oversubscription=spine,
            in_network=sharp,
            in_domain=network.nvlink_sharp,
            flat="ring" in network.algorithms,
            leafwise="leafwise" in network.algorithms,
            tree="tree" in network.algorithms,
        ),
    )
