"""Cluster sizes that a target allows: bounds of the blueprint, limits of halls, placements and blocks."""

from dataclasses import dataclass

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.rules.node_software import divided_nodes
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sizes import Multiple, Sizes
from clusterwright.errors import Finding, RuleError
from clusterwright.units import counted

#: Placements of capacity that leave it to an object of ours to keep the nodes close.
_PLACED = ("own", "workload-policy")
#: Racks without a stated limit are looked at up to this many nodes.
_MOST_RACK_NODES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeBounds:
    """Cluster sizes to look at, nodes beside the work included; None where nothing bounds them.

    Attributes:
        least, most: numbers of nodes; must_be: what they divide into; counts: the only numbers that the hardware comes
            in.
        divided: of these nodes, those with divided or shared GPUs; an engine sizes the work on the others.
    """

    least: int | None = None
    most: int | None = None
    must_be: Multiple | None = None
    counts: tuple[int, ...] | None = None
    divided: int = 0

    @property
    def most_work(self) -> int | None:
        """The most nodes that the work and its spares can have."""
        return None if self.most is None else self.most - self.divided

    def allow(self, nodes: int) -> bool:
        """Return whether the target allows a number of nodes for the work in addition to the divided ones.

        >>> NodeBounds(most=8, must_be=Multiple(of=4), divided=1).allow(7)
        True
        """
        nodes += self.divided
        return (
            (self.least is None or nodes >= self.least)
            and (self.most is None or nodes <= self.most)
            and (self.must_be is None or self.must_be.holds(nodes))
            and (self.counts is None or nodes in self.counts)
        )


def bounds_of(blueprint: Blueprint, target: ResolvedTarget) -> NodeBounds:
    """Return the sizes that a target allows.

    Raises:
        RuleError: the divided nodes leave none for the work (`MIG007`, or `SHR006` where they are shared).
    """
    asked: Sizes = getattr(blueprint.targets, target.target)
    most, limit = most_nodes(blueprint, target)
    bounds = NodeBounds(
        least=asked.min_nodes,
        most=most,
        must_be=asked.nodes_must_be,
        counts=node_counts(target),
        divided=divided_nodes(blueprint, target.node),
    )
    if bounds.most_work is not None and bounds.most_work < 1:
        raise RuleError((_none_left(blueprint, bounds.divided, bounds.divided + bounds.most_work, limit),))
    return bounds


def _none_left(blueprint: Blueprint, divided: int, most: int, limit: str) -> Finding:
    by_mig = blueprint.software.mig is not None
    return Finding(
        id="MIG007" if by_mig else "SHR006",
        path=("software", "mig" if by_mig else "sharing", "nodes"),
        message=f"{counted(divided, 'node')} with {'divided' if by_mig else 'shared'} GPUs of at most {most:,} "
        f"({limit}) leave none for the work",
        help="lower the count, or allow more nodes",
    )


def most_nodes(blueprint: Blueprint, target: ResolvedTarget) -> tuple[int | None, str]:
    """Return the largest cluster that a target may have, and what sets the limit; None and nothing without a limit.

    A limit is set by the blueprint (`max_nodes`), by the hall that owned nodes are in, by the placement that keeps
    rented nodes close, or by the capacity block or request that they come from.
    """
    asked = getattr(blueprint.targets, target.target)
    limits = hardware_limits(target)
    if asked.max_nodes is not None:
        limits.append((asked.max_nodes, f"targets.{target.target}.max_nodes"))
    return min(limits, default=(None, ""))


def hardware_limits(target: ResolvedTarget) -> list[tuple[int, str]]:
    """Return the most nodes that hardware can have, each with what sets the limit."""
    limits: list[tuple[int, str]] = []
    if target.hall_nodes is not None:
        limits.append((target.hall_nodes, target.hall_keys))
    capacity, placement, instance = target.capacity, target.placement, target.instance
    if instance is None:
        return limits
    placed = capacity is None or capacity.placement in _PLACED
    if placement is not None and instance.placement_max_nodes is not None and placed:
        limits.append((instance.placement_max_nodes, f"one {placement.name} of {instance.id}"))
    if capacity is not None and capacity.max_nodes is not None:
        limits.append((capacity.max_nodes, f"one {capacity.name}"))
    return limits


def node_counts(target: ResolvedTarget) -> tuple[int, ...] | None:
    """Return the only numbers of nodes that rented hardware comes in; None where there is no such rule.

    TPUs come in slices. NVLink domains come in whole racks, or in a part of a single one.
    """
    instance, placement = target.instance, target.placement
    if instance is None or placement is None:
        return None
    if target.tpu_slice is not None and placement.max_chips is not None:
        sizes = target.tpu_slice.sizes(placement.max_chips)
        return tuple(chips // instance.gpus for chips in sizes if chips % instance.gpus == 0)
    rack = placement.rack_nodes
    if rack is None:
        return None
    most = instance.placement_max_nodes or _MOST_RACK_NODES
    return (*range(1, rack), *range(rack, most + 1, rack))
