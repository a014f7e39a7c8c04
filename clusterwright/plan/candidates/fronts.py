"""The front of one node type as the blueprint bounds it: sizes with their spares, limits of placements and blocks."""

from dataclasses import dataclass, replace

from clusterwright.blueprint.hardware import ResolvedTarget
from clusterwright.blueprint.multiples import Multiple
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sizes import Sizes
from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.candidates.reliability import reliability_of
from clusterwright.plan.facts import Facts
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.records.job import Front, SizedPoint, TrainingJob
from clusterwright.sizing.training.constraints import THIS_TARGET
from clusterwright.sizing.training.parallel_sizes import node_limit
from clusterwright.sizing.training.search import search

#: Placements of capacity that leave it to an object of ours to keep the nodes close.
_PLACED = ("own", "workload-policy")
#: Racks without a stated limit are looked at up to this many nodes.
_MOST_RACK_NODES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeBounds:
    """Cluster sizes to look at, spare nodes included; None where nothing bounds them.

    Attributes:
        least, most: numbers of nodes; must_be: what they divide into; counts: the only numbers that the hardware comes
            in.
    """

    least: int | None = None
    most: int | None = None
    must_be: Multiple | None = None
    counts: tuple[int, ...] | None = None


def bounds_of(asked: Sizes | None, *, most: int | None, counts: tuple[int, ...] | None = None) -> NodeBounds:
    """Return the sizes that a target allows, up to a number of nodes that already counts its own limit."""
    if asked is None:
        return NodeBounds(most=most, counts=counts)
    return NodeBounds(least=asked.min_nodes, most=most, must_be=asked.nodes_must_be, counts=counts)


def front_of_target(
    blueprint: Blueprint, facts: Facts, job: TrainingJob, target: ResolvedTarget
) -> tuple[SizedPoint, ...]:
    """Return the sizes of a target's hardware that no size beats.

    Raises:
        RuleError: as `front_of`; findings are placed in the target's section.
    """
    asked = getattr(blueprint.targets, target.target)
    most, _ = most_nodes(blueprint, target)
    spot = target.system is None and asked.capacity == "spot"
    try:
        bounds = bounds_of(asked, most=most, counts=node_counts(target))
        return front_of(blueprint, facts.calibration, job, target.node, bounds=bounds, spot=spot).points
    except RuleError as error:
        raise RuleError(tuple(_in_target(finding, target.target) for finding in error.findings)) from None


def _in_target(finding: Finding, target: str) -> Finding:
    path = tuple(target if part == THIS_TARGET else part for part in finding.path)
    return replace(finding, path=path, help=finding.help.replace(f"targets.{THIS_TARGET}", f"targets.{target}"))


def front_of(
    blueprint: Blueprint, calibration: Calibration, job: TrainingJob, node: NodeType, *, bounds: NodeBounds, spot: bool
) -> Front:
    """Return the sizes of a node type that no size beats, with the spare nodes in their counts: they are paid for too.

    Args:
        blueprint: for failures, checkpoints and spares.
        calibration: calibrated constants.
        job: the training run.
        node: the node type.
        bounds: sizes to look at; of these, a size that one with fewer nodes outside of them beats is kept.
        spot: whether the nodes come from the spot market.

    Raises:
        RuleError: the job does not fit, nothing divides as asked, or the spares leave no node that trains (`REL001`).
    """
    spare = blueprint.reliability.spare_nodes
    limit = bounds.most if spare == 0 else node_limit(replace(job, max_nodes=bounds.most), node) - spare
    if limit is not None and limit < 1:
        raise RuleError(
            (
                Finding(
                    id="REL001",
                    path=("reliability", "spare_nodes"),
                    message=f"{spare} spare nodes of at most {limit + spare} leave none that train",
                    help="lower reliability.spare_nodes, or raise max_nodes of the target",
                ),
            )
        )
    reliability = reliability_of(blueprint, calibration, model=job.model, node=node, spot=spot)
    bounded = replace(
        job,
        min_nodes=None if bounds.least is None else max(1, bounds.least - spare),
        max_nodes=limit,
        nodes_must_be=bounds.must_be,
        node_counts=bounds.counts,
        spare_nodes=spare,
    )
    found = search(job=bounded, node=node, calibration=calibration, reliability=reliability)
    if not spare:
        return found
    return replace(
        found,
        points=tuple(
            replace(point, nodes=point.nodes + spare, gpus=point.gpus + spare * node.gpus) for point in found.points
        ),
    )


def most_nodes(blueprint: Blueprint, target: ResolvedTarget) -> tuple[int | None, str]:
    """Return the largest cluster that a target may have, and what sets the limit; None and nothing without a limit.

    A limit is set by the blueprint (`max_nodes`), by the hall that owned nodes stand in, by the placement that keeps
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
