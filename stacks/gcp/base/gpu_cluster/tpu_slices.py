"""Which slices of TPU chips exist: one slice is one machine of many hosts, joined by the chips' own network."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType

TOPOLOGY = r"[0-9]{1,3}x[0-9]{1,3}x[0-9]{1,3}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TpuFamily:
    """Facts of one generation of TPU.

    Attributes:
        prefix: of the accelerator type, which counts cores.
        small_topologies: chips to topology below one cube of 4x4x4; above, every side is a multiple of 4.
        longest_sides: of the largest topology, in ascending order.
    """

    prefix: str
    cores_per_chip: int
    chips_per_host: int
    max_chips: int
    runtime_version: str
    small_topologies: Mapping[int, str]
    longest_sides: tuple[int, int, int]


# cloud.google.com/tpu/docs/v5p, "Configurations": topologies 2x2x1 to 16x16x24, hosts of 4 chips, v5p-N counts cores,
# the largest job is 96 cubes (6,144 chips). 2x2x4 (v5p-32) is named there among the accelerator types. Numbers of cubes
# without three short sides are long, such as 4x4x28 or 4x4x244 (public lists of slices for Google's own tools); no list
# has a side above 256. The runtime version is from memory: `gcloud compute tpus versions list --zone ZONE` lists what a
# zone has.
FAMILIES: Final[Mapping[str, TpuFamily]] = MappingProxyType(
    {
        "ct5p-hightpu-4t": TpuFamily(
            prefix="v5p",
            cores_per_chip=2,
            chips_per_host=4,
            max_chips=6144,
            runtime_version="v2-alpha-tpuv5",
            small_topologies=MappingProxyType({4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4"}),
            longest_sides=(256, 256, 256),
        )
    }
)
CUBE_SIDE: Final = 4
CUBE_CHIPS: Final = CUBE_SIDE**3


@dataclass(frozen=True, kw_only=True, slots=True)
class TpuSlice:
    """One slice: as many hosts as the configuration's nodeCount, or none at 0."""

    accelerator_type: str
    topology: str
    hosts: int
    chips: int
    runtime_version: str


def topology_for(family: TpuFamily, chips: int) -> str | None:
    """The most cubic topology of a number of chips, or None where no slice has that number.

    >>> topology_for(FAMILIES["ct5p-hightpu-4t"], 64)
    '4x4x4'
    >>> topology_for(FAMILIES["ct5p-hightpu-4t"], 6144)
    '16x16x24'
    """
    if chips < CUBE_CHIPS:
        return family.small_topologies.get(chips)
    shortest, middle, longest = family.longest_sides
    found = [
        (a, b, chips // (a * b))
        for a in range(CUBE_SIDE, shortest + 1, CUBE_SIDE)
        for b in range(a, middle + 1, CUBE_SIDE)
        if chips % (a * b) == 0 and chips // (a * b) % CUBE_SIDE == 0 and b <= chips // (a * b) <= longest
    ]
    # The least surface is the most cubic, and leaves the fewest hops between chips.
    best = min(found, key=lambda sides: sides[0] * sides[1] + sides[1] * sides[2] + sides[0] * sides[2], default=None)
    return None if best is None else "x".join(str(side) for side in best)


def read_tpu_slice(values: Values, node_type: NodeType, node_count: int) -> TpuSlice | None:
    """Read the slice that a number of hosts makes; None for machine types without TPUs and for no hosts."""
    wanted = values.optional_text("tpuTopology", TOPOLOGY, "a topology like 4x4x8")
    version = values.optional_text("tpuRuntimeVersion", r"[a-z0-9.-]+", "a TPU runtime version")
    family = FAMILIES.get(node_type.instance_type)
    if family is None:
        for key, value in (("tpuTopology", wanted), ("tpuRuntimeVersion", version)):
            if value is not None:
                values.fail(key, f"set, but {node_type.instance_type} has no TPUs")
        return None
    if not node_count:
        return None
    chips = node_count * family.chips_per_host
    topology = wanted or topology_for(family, chips)
    if chips > family.max_chips:
        most = family.max_chips // family.chips_per_host
        values.fail(
            "nodeCount",
            f"the largest {family.prefix} slice has {family.max_chips} chips on {most} hosts, got {node_count}",
        )
    elif topology is None:
        values.fail("nodeCount", _no_such_slice(family, node_count))
    elif wanted is not None and _problem_of(family, wanted, chips):
        values.fail("tpuTopology", _problem_of(family, wanted, chips))
    return TpuSlice(
        accelerator_type=f"{family.prefix}-{chips * family.cores_per_chip}",
        topology=topology or "",
        hosts=node_count,
        chips=chips,
        runtime_version=version or family.runtime_version,
    )


def _no_such_slice(family: TpuFamily, hosts: int) -> str:
    most = family.max_chips // family.chips_per_host
    fits = [count for count in range(1, most + 1) if topology_for(family, count * family.chips_per_host)]
    below = max((count for count in fits if count < hosts), default=None)
    above = min((count for count in fits if count > hosts), default=None)
    nearest = " or ".join(str(count) for count in (below, above) if count is not None)
    return (
        f"no {family.prefix} slice has {hosts * family.chips_per_host} chips on {hosts} hosts; the nearest: {nearest}"
    )


def _problem_of(family: TpuFamily, topology: str, chips: int) -> str:
    sides = [int(side) for side in topology.split("x")]
    product = sides[0] * sides[1] * sides[2]
    if product != chips:
        return f"{topology} has {product} chips, and nodeCount asks for {chips}"
    if chips < CUBE_CHIPS:
        known = family.small_topologies.get(chips)
        return "" if topology == known else f"a slice of {chips} chips has the topology {known}"
    if any(side % CUBE_SIDE for side in sides) or sides != sorted(sides):
        return f"sides are multiples of {CUBE_SIDE} in ascending order, got {topology}"
    if any(side > longest for side, longest in zip(sides, family.longest_sides, strict=True)):
        return f"the longest sides are {'x'.join(str(side) for side in family.longest_sides)}, got {topology}"
    return ""
