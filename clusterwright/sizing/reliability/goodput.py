"""From training time to calendar time: failures, checkpoints, restarts.

Sources: Young 1974, "A first order approximation to the optimum checkpoint interval"; Daly 2006, "A higher order
estimate of the optimum checkpoint interval for restart dumps"; Llama 3 (arXiv 2407.21783, section 3.3.4); Kokolis et
al. 2025, "Revisiting reliability in large-scale machine learning research clusters" (arXiv 2410.21680).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Values
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.records.run import Goodput
from clusterwright.sizing.reliability import checkpoints
from clusterwright.sizing.reliability.checkpoints import Level
from clusterwright.units import SECONDS_PER_DAY

#: Newton's steps from Daly's estimate to the optimum; the third no longer changes a double.
_NEWTON_STEPS = 6


def interruption_interval_s(*, nodes: Values, failures_per_node_day: float, failures_per_job_day: float) -> Values:
    """Return the mean time between interruptions of a job, in seconds: `86400 / (nodes r + floor)`.

    The floor stands for what does not grow with size: a job of 1,024 A100 was measured to fail every 7.9 h where its
    cluster's rate per node alone gives 28.8 h (Kokolis et al. 2025).
    """
    return SECONDS_PER_DAY / (nodes * failures_per_node_day + failures_per_job_day)


def young_interval_s(*, write_s: Values, interruption_s: Values) -> Values:
    """Return Young's optimum checkpoint interval in seconds: `sqrt(2 delta M)`."""
    return np.sqrt(2 * write_s * interruption_s)


def daly_interval_s(*, write_s: Values, interruption_s: Values) -> Values:
    """Return Daly's optimum interval of training between checkpoints in seconds.

    `sqrt(2 delta M) (1 + sqrt(delta/(2M))/3 + (delta/(2M))/9) - delta` for `delta < 2M`, else `M` (Daly 2006, eq. 37).
    """
    ratio = write_s / (2 * interruption_s)
    short = young_interval_s(write_s=write_s, interruption_s=interruption_s)
    interval = short * (1 + np.sqrt(ratio) / 3 + ratio / 9) - write_s
    return np.where(np.asarray(ratio) < 1, interval, interruption_s)


def best_interval_s(*, write_s: Values, interruption_s: Values) -> Values:
    """Return the interval that maximises `productive_fraction`, in seconds; 0 where writing costs nothing.

    The maximum lies where `u = 1 - exp(-(u + d))` with `u = tau/M` and `d = delta/M`, which Young and Daly approximate;
    Newton's method starts from Daly's estimate.
    """
    ratio = np.asarray(write_s / interruption_s, dtype=np.float64)
    guess = np.asarray(daly_interval_s(write_s=write_s, interruption_s=interruption_s)) / interruption_s
    # At u = d = 0 the slope is zero: the root is known there and not looked for.
    share = np.where(ratio > 0, np.maximum(guess, 1e-12), 1.0)
    for _ in range(_NEWTON_STEPS):
        reached = -np.expm1(-(share + ratio))
        share = share - np.where(ratio > 0, (share - reached) / reached, 0.0)
    return np.where(ratio > 0, share * interruption_s, 0.0)


@formula(
    "({steps} × {step_s} / {productive} + {startup_s}) / 86,400",
    source="clusterwright docs reliability",
    steps=Term("steps", ",.1f"),
    step_s=Term("step time", ".5f", "s"),
    productive=Term("goodput", ".6f"),
    startup_s=Term("start-up", ".3f", "s"),
)
def run_days(*, steps: float, step_s: Values, productive: Values, startup_s: Values) -> Values:
    """Return calendar days of a run; infinite where failures come so often that goodput underflows to 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return (np.asarray(steps * step_s / np.asarray(productive)) + startup_s) / SECONDS_PER_DAY


@formula(
    "{interval_s} / {interruption_s} × exp(-(({interval_s} + {write_s}) + {restart_s}) / {interruption_s})"
    " / (1 - exp(-({interval_s} + {write_s}) / {interruption_s}))",
    source="Daly 2006, complete model: a cycle of work and write has to pass undisturbed, and so has a restart",
    interval_s=Term("interval", ".3f", "s"),
    write_s=Term("write", ".3f", "s"),
    restart_s=Term("restart", ".2f", "s"),
    interruption_s=Term("between", ".2f", "s"),
)
def productive_fraction(*, write_s: Values, interval_s: Values, interruption_s: Values, restart_s: Values) -> Values:
    """Return the share of calendar time that makes progress, for interruptions that are independent of each other.

    `(tau/M) / (exp(R/M) (exp((tau + delta)/M) - 1))`: a cycle of work and write has to pass without an interruption,
    and a restart too (Daly 2006, the complete model). Where all is short against `M` this is the first-order
    `1 - delta/tau - (tau/2 + R)/M`.
    """
    share, cycle = interval_s / interruption_s, (interval_s + write_s) / interruption_s
    # exp(-c) / (1 - exp(-c)) is 1 / (exp(c) - 1) without its overflow.
    return share * np.exp(-(cycle + restart_s / interruption_s)) / -np.expm1(-cycle)


def first_order_fraction(*, write_s: Values, interval_s: Values, interruption_s: Values, restart_s: Values) -> Values:
    """Return the expected effective training time ratio of Kokolis et al. 2025, without the time in a queue.

    `(1 - (u0 + dt/2)/M) / (1 + w/dt)`: published figures follow it, and it is what others compare with.
    """
    return (1 - (restart_s + interval_s / 2) / interruption_s) / (1 + write_s / interval_s)


def level_interval_s(level: Level, *, interruption_s: Values) -> Values:
    """Return the interval of one level: the user's, else the best one that the writing keeps up with, in seconds."""
    if level.fixed_interval_s is not None:
        return np.maximum(level.fixed_interval_s, interruption_s * 0.0)
    best = best_interval_s(write_s=level.blocking_s, interruption_s=interruption_s / level.share)
    return np.maximum(best, level.shortest_interval_s)


def fraction_for_nodes(
    reliability: Reliability, *, nodes: Values, running_share: Values = 0.0, added_restart_s: Values = 0.0
) -> Values:
    """Return the productive share of calendar time for cluster sizes.

    Each level of checkpoints serves its share of the interruptions, and the losses multiply; work done since the last
    checkpoint that can be restored is lost, and so is the time until a missing node is back.

    Args:
        reliability: rates, times, strategy, spares.
        nodes: that train.
        running_share: see `checkpoints.waiting_ratio`.
        added_restart_s: by which each restart takes longer.
    """
    counts = np.asarray(nodes)
    scalar = np.ndim(running_share) == 0 and np.ndim(added_restart_s) == 0
    if counts.ndim == 1 and scalar and counts.size and counts.min() >= 1:
        # A search asks for far more layouts than there are cluster sizes.
        index = counts.astype(np.intp)
        present = np.bincount(index) > 0
        if np.array_equal(index, counts):
            sizes = np.flatnonzero(present)
            table = _fraction(
                reliability,
                nodes=sizes.astype(np.float64),
                running_share=running_share,
                added_restart_s=added_restart_s,
            )
            return np.asarray(np.asarray(table)[(np.cumsum(present) - 1)[index]])
    return _fraction(reliability, nodes=nodes, running_share=running_share, added_restart_s=added_restart_s)


def _fraction(reliability: Reliability, *, nodes: Values, running_share: Values, added_restart_s: Values) -> Values:
    interruption = _interruption_s(reliability, nodes=nodes)
    fraction: Values = np.asarray(nodes, dtype=np.float64) * 0.0 + 1.0
    for level in checkpoints.levels(reliability, nodes=nodes):
        mean = interruption / level.share
        fraction = fraction * productive_fraction(
            write_s=level.blocking_s,
            interval_s=level_interval_s(level, interruption_s=interruption),
            interruption_s=mean,
            restart_s=reliability.recovery_s + level.lag_s + added_restart_s,
        )
    return fraction / (1 + checkpoints.waiting_ratio(reliability, nodes=nodes, running_share=running_share))


def _interruption_s(reliability: Reliability, *, nodes: Values) -> Values:
    return interruption_interval_s(
        nodes=nodes,
        failures_per_node_day=reliability.interruptions_per_node_day,
        failures_per_job_day=reliability.numbers.failures_per_job_day,
    )


def goodput(reliability: Reliability, *, nodes: int, parameters: float, elastic_nodes: int | None = None) -> Goodput:
    """Return the goodput of one cluster size with the figures behind it; the arguments are those of `goodputs`."""
    return goodputs(reliability, nodes=[nodes], parameters=parameters, elastic_nodes=[elastic_nodes])[0]


def goodputs(
    reliability: Reliability, *, nodes: Sequence[int], parameters: float, elastic_nodes: Sequence[int | None]
) -> tuple[Goodput, ...]:
    """Return the goodput of cluster sizes with the figures behind it.

    Args:
        reliability: rates, times, strategy, spares.
        nodes: that train.
        parameters: of the model; the checkpoint is this times its bytes per parameter.
        elastic_nodes: that an elastic job goes on with when one is missing, None if it stops; one for each of `nodes`.
    """
    numbers = reliability.numbers
    sized = replace(reliability, checkpoint_bytes=parameters * numbers.checkpoint_bytes_per_parameter)
    # The search does not know the model's size where no blueprint gave it; then both leave it out.
    timed = sized if reliability.checkpoint_bytes else reliability
    fewer = [count if reliability.elastic else None for count in elastic_nodes]
    count = np.array(nodes, dtype=np.float64)
    running = np.array([0 if kept is None else kept for kept in fewer]) / count
    interruption = _interruption_s(timed, nodes=count)
    frequent, *rare = checkpoints.levels(timed, nodes=count)
    repairing = timed.repair_s is not None
    columns = {
        "fraction": fraction_for_nodes(timed, nodes=count, running_share=running),
        "mean_time_between_interruptions_s": interruption,
        "checkpoint_write_s": frequent.blocking_s,
        "checkpoint_interval_s": level_interval_s(frequent, interruption_s=interruption),
        "checkpoint_lag_s": frequent.lag_s,
        "host_bytes_per_node": checkpoints.host_bytes_per_node(timed, nodes=count),
        "wait_for_node_s": checkpoints.waiting_ratio(timed, nodes=count, running_share=running) * interruption,
        "missing_nodes": checkpoints.missing_nodes(timed, nodes=count),
    }
    table = {name: np.broadcast_to(column, count.shape).tolist() for name, column in columns.items()}
    table["missing_nodes"] = table["missing_nodes"] if repairing else [None] * len(fewer)
    return tuple(
        Goodput(
            **dict(zip(table, values, strict=True)),
            checkpoint_bytes=sized.checkpoint_bytes,
            restart_s=reliability.recovery_s,
            strategy=reliability.strategy,
            recovered_share=frequent.share,
            flush_s=rare[0].fixed_interval_s if rare else None,
            detection_s=numbers.detection_s,
            spare_nodes=reliability.spare_nodes,
            elastic=reliability.elastic,
            elastic_nodes=kept,
            spot_interruptions_per_node_day=numbers.spot_interruptions_per_node_day if reliability.spot else None,
        )
        for kept, *values in zip(fewer, *table.values(), strict=True)
    )
