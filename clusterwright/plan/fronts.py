"""The front of one node type as the blueprint bounds it: sizes with their spares, limits of placements and blocks."""

from dataclasses import dataclass, replace

from clusterwright.blueprint.hardware import ResolvedTarget
from clusterwright.blueprint.multiples import Multiple
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sizes import Sizes
from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.reliability import with_reliability
from clusterwright.sizing.calibration import load_calibration
from clusterwright.sizing.constraints import THIS_TARGET
from clusterwright.sizing.layouts import node_limit
from clusterwright.sizing.records import Front, SizedPoint, TrainingJob
from clusterwright.sizing.search import search

#: Capacity that is placed by an object of ours; a reservation or a block brings its own placement.
_OWN_PLACEMENT = ("on-demand", "spot")
#: Instances in one block (Amazon EC2 User Guide, "Capacity Blocks for ML").
CAPACITY_BLOCK_NODES = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeBounds:
    """Cluster sizes to look at, spare nodes included; None where nothing bounds them.

    Attributes:
        least, most: numbers of nodes; must_be: what they divide into.
    """

    least: int | None = None
    most: int | None = None
    must_be: Multiple | None = None


def bounds_of(asked: Sizes | None, *, most: int | None) -> NodeBounds:
    """Return the sizes that a target allows, up to a number of nodes that already counts its own limit."""
    if asked is None:
        return NodeBounds(most=most)
    return NodeBounds(least=asked.min_nodes, most=most, must_be=asked.nodes_must_be)


def front_of_target(blueprint: Blueprint, job: TrainingJob, target: ResolvedTarget) -> tuple[SizedPoint, ...]:
    """Return the sizes of a target's hardware that no size beats.

    Raises:
        RuleError: as `front_of`; findings are placed in the target's section.
    """
    asked = getattr(blueprint.targets, target.target)
    most, _ = most_nodes(blueprint, target)
    spot = target.system is None and asked.capacity == "spot"
    try:
        return front_of(blueprint, job, target.node, bounds=bounds_of(asked, most=most), spot=spot).points
    except RuleError as error:
        raise RuleError(tuple(_in_target(finding, target.target) for finding in error.findings)) from None


def _in_target(finding: Finding, target: str) -> Finding:
    path = tuple(target if part == THIS_TARGET else part for part in finding.path)
    return replace(finding, path=path, help=finding.help.replace(f"targets.{THIS_TARGET}", f"targets.{target}"))


def front_of(blueprint: Blueprint, job: TrainingJob, node: NodeType, *, bounds: NodeBounds, spot: bool) -> Front:
    """Return the sizes of a node type that no size beats, with the spare nodes in their counts: they are paid for too.

    Args:
        blueprint: for failures, checkpoints and spares.
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
    calibration = with_reliability(load_calibration(), blueprint, model=job.model, node=node, spot=spot)
    bounded = replace(
        job,
        min_nodes=None if bounds.least is None else max(1, bounds.least - spare),
        max_nodes=limit,
        nodes_must_be=bounds.must_be,
        spare_nodes=spare,
    )
    found = search(job=bounded, node=node, calibration=calibration)
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

    A limit is set by the blueprint (`max_nodes`), by the placement that keeps rented nodes close, or by the capacity
    block that they come from.
    """
    asked = getattr(blueprint.targets, target.target)
    limits: list[tuple[int, str]] = []
    if asked.max_nodes is not None:
        limits.append((asked.max_nodes, f"targets.{target.target}.max_nodes"))
    if target.instance is not None and target.instance.placement_max_nodes and asked.capacity in _OWN_PLACEMENT:
        kind = (target.instance.placement_kind or "placement").replace("-", " ")
        limits.append((target.instance.placement_max_nodes, f"one {kind} of {target.instance.id}"))
    if target.instance is not None and asked.capacity == "capacity-block":
        limits.append((CAPACITY_BLOCK_NODES, "one capacity block"))
    return min(limits, default=(None, ""))
