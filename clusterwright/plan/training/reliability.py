"""What the blueprint says of failures and checkpoints, joined with the calibrated numbers, for one target."""

from dataclasses import replace

from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.catalog.records import Model, NodeType
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingPoint
from clusterwright.sizing.records.reliability import Reliability, ReliabilityNumbers
from clusterwright.sizing.reliability.goodput import goodput
from clusterwright.sizing.training.optimizer.optimizers import OPTIMIZERS, checkpoint_bytes_per_parameter
from clusterwright.tco.terms.records import Parameter
from clusterwright.workload.transformer import parameters

_PER_1000_NODE_DAYS = 1000.0


def reliability_of(
    blueprint: Blueprint, calibration: Calibration, *, model: Model, node: NodeType, spot: bool
) -> Reliability:
    """Return failures and checkpoints of one target of the blueprint.

    Args:
        blueprint: its section `reliability`.
        calibration: with the numbers that the blueprint leaves out.
        model: sizes the checkpoint.
        node: whose accelerators copy it.
        spot: the target's nodes come from the spot market.
    """
    numbers = calibration.reliability().numbers
    return reliability_with(
        blueprint,
        calibration,
        model=model,
        node=node,
        spot=spot,
        bytes_per_parameter=_checkpoint_bytes(blueprint, model, numbers=numbers),
    )


def reliability_with(
    blueprint: Blueprint,
    calibration: Calibration,
    *,
    model: Model,
    node: NodeType,
    spot: bool,
    bytes_per_parameter: float,
) -> Reliability:
    """Return the same for checkpoints of a given number of bytes for each parameter of the model."""
    asked, given = blueprint.reliability, calibration.reliability()
    checkpoint = asked.checkpoint
    replaced = {
        "failures_per_node_day": _per_node_day(asked.interruptions_per_1000_node_days),
        "spot_interruptions_per_node_day": _per_node_day(asked.spot_interruptions_per_1000_node_days),
        "detection_s": asked.detection,
        "restart_s": asked.restart,
        "checkpoint_write_s": checkpoint.write_within,
        "checkpoints_kept": checkpoint.keep,
        "flush_s": checkpoint.flush_every,
    }
    numbers = replace(given.numbers, **{name: value for name, value in replaced.items() if value is not None})
    numbers = replace(numbers, checkpoint_bytes_per_parameter=bytes_per_parameter)
    return Reliability(
        numbers=numbers,
        strategy=checkpoint.strategy,
        checkpoint_bytes=parameters(model) * numbers.checkpoint_bytes_per_parameter,
        gpus_per_node=node.gpus,
        changed_fraction=checkpoint.changed,
        milestone_every_s=checkpoint.milestone_every,
        spare_nodes=asked.spare_nodes,
        elastic=asked.elastic,
        repair_s=asked.repair,
        spot=spot,
    )


def goodputs_by_capacity(
    blueprint: Blueprint, calibration: Calibration, *, model: Model, point: TrainingPoint
) -> tuple[float, float]:
    """Return the goodput of a rented size on nodes that are kept, and on ones that the cloud takes back.

    Calendar time is training time over goodput, so that the same size takes `kept / spot` times as long on spot nodes:
    lost work, restarts and the checkpoints that are worth their time at that rate.

    Args:
        blueprint: its section `reliability`.
        calibration: with the numbers that the blueprint leaves out.
        model: sizes the checkpoint.
        point: the size, as it was planned for either capacity.
    """

    def of(*, spot: bool) -> float:
        reliability = reliability_of(blueprint, calibration, model=model, node=point.node, spot=spot)
        return goodput(
            reliability.with_restart(point.data.restart_s),
            nodes=point.work_nodes - point.goodput.spare_nodes,
            parameters=float(parameters(model)),
            elastic_nodes=point.goodput.elastic_nodes,
        ).fraction

    return of(spot=False), of(spot=True)


def _checkpoint_bytes(blueprint: Blueprint, model: Model, *, numbers: ReliabilityNumbers) -> float:
    """Return bytes of a checkpoint per parameter: as published with fp32 Adam, changed by what the optimizer keeps."""
    published = numbers.checkpoint_bytes_per_parameter
    train = train_of(blueprint)
    shape = shape_of(model, sequence_length=train.sequence_length)
    optimizer = OPTIMIZERS[train.optimizer]
    return checkpoint_bytes_per_parameter(optimizer, shape, with_adam=published)


def _per_node_day(per_1000_node_days: float | None) -> float | None:
    return None if per_1000_node_days is None else per_1000_node_days / _PER_1000_NODE_DAYS


def spot_assumption(blueprint: Blueprint, calibration: Calibration) -> Parameter:
    """Return the rate at which spot nodes are taken back, as an entry of the plan's list of assumptions."""
    asked = blueprint.reliability.spot_interruptions_per_1000_node_days
    value = calibration.reliability().numbers.spot_interruptions_per_node_day * _PER_1000_NODE_DAYS
    given = asked is not None
    used = value if asked is None else asked
    return Parameter(
        key="spot_interruptions_per_1000_node_days",
        value=used,
        low=used if given else 0.0,
        high=used if given else 10 * used,
        unit="1/1000 node-days",
        basis="given" if given else "assumed",
        reason="the rate at which a cloud takes nodes back is not published beyond classes such as more than 20 % of "
        "the instances in a month; it changes from day to day",
        source="blueprint" if given else "Amazon EC2 Spot Instance Advisor, worst class, from memory",
    )
