"""Explanations of goodput, checkpoints and retention: failures, strategy, spares, spot."""

from clusterwright import units
from clusterwright.explain.records import Explanation, Input
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.reliability.goodput import productive_fraction
from clusterwright.units import percent

#: Of the inputs of a cycle.
_ORIGINS = {"interval_s": "explain checkpoint", "write_s": "explain checkpoint: training waits"}
_NUMBERS = "catalog/calibration.csv, or the blueprint's section reliability"


def failure_numbers(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the explanations of goodput, of checkpoints and of what is kept of them."""
    return _goodput(option), _checkpoint(plan, option), _retention(option)


def _goodput(option: TrainingOption) -> Explanation:
    entry = option.performance.failures
    between = entry.mean_time_between_interruptions_s
    frequent = productive_fraction.record(
        write_s=entry.checkpoint_write_s,
        interval_s=entry.checkpoint_interval_s,
        interruption_s=between / entry.recovered_share,
        restart_s=entry.restart_s + entry.checkpoint_lag_s,
    )
    numbers, result = frequent.filled, frequent.result
    if entry.flush_s is not None:
        rare = productive_fraction.record(
            write_s=0.0,
            interval_s=entry.flush_s,
            interruption_s=between / (1 - entry.recovered_share),
            restart_s=entry.restart_s + entry.flush_s,
        )
        numbers, result = f"{numbers} × {rare.filled}", result * rare.result
    if entry.wait_for_node_s:
        numbers += f" / (1 + {entry.wait_for_node_s:.3f} / {between:.2f})"
        result /= 1 + entry.wait_for_node_s / between
    return Explanation(
        number="goodput",
        title="productive share of calendar time",
        value=f"{option.performance.goodput:.4f}",
        equation=(f"{frequent.rule} / (1 + wait / between)", f"{numbers} = {result:.6f}"),
        inputs=(
            *(
                Input(name=term.words, value=frequent.text(argument), source=_ORIGINS[argument])
                for argument, term in frequent.terms.items()
                if argument in _ORIGINS
            ),
            Input(
                name="restart",
                value=f"{entry.restart_s:.2f} + {entry.checkpoint_lag_s:.2f} = {frequent.text('restart_s')}, "
                f"{entry.detection_s:.0f} s of them until it is noticed",
                source=f"time of a restart, {_NUMBERS}, and until a checkpoint can be restored",
            ),
            Input(
                name="between",
                value=f"{frequent.text('interruption_s')} between interruptions",
                source=f"{option.training_nodes:,} nodes × failures of a node + failures of a job, {_NUMBERS}",
            ),
            *_spares(option),
        ),
        sources=(
            frequent.source,
            "rates: Llama 3 (arXiv 2407.21783, 3.3.4); Kokolis et al. (arXiv 2410.21680); MegaScale (arXiv 2402.15627)",
        ),
    )


def _spares(option: TrainingOption) -> tuple[Input, ...]:
    entry, found = option.performance.failures, []
    if entry.flush_s is not None:
        found.append(
            Input(
                name="second factor",
                value=f"{percent(1 - entry.recovered_share)} of the interruptions go back to a copy on storage, one "
                f"every {entry.flush_s / 60:.0f} min",
                source=_NUMBERS,
            )
        )
    if entry.missing_nodes is not None:
        found.append(
            Input(
                name="wait",
                value=f"{entry.wait_for_node_s:.1f} s per interruption; {entry.missing_nodes:.2f} nodes away on "
                f"average, {entry.spare_nodes} spare",
                source="the blueprint's repair time, Poisson; 78 % of interruptions are hardware (Llama 3)",
            )
        )
    if entry.elastic:
        found.append(
            Input(
                name="elastic",
                value="cannot go on with fewer replicas"
                if entry.elastic_nodes is None
                else f"goes on with {entry.elastic_nodes} nodes",
                source="whole replicas that divide the batch and fit into memory",
            )
        )
    if entry.spot_interruptions_per_node_day is not None:
        found.append(
            Input(
                name="spot",
                value=f"{entry.spot_interruptions_per_node_day * 1000:.1f} nodes taken back per 1,000 node-days",
                source=f"assumed unless given; {_NUMBERS}",
            )
        )
    return tuple(found)


def _checkpoint(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    entry = option.performance.failures
    write, interval = entry.checkpoint_write_s, entry.checkpoint_interval_s
    between = entry.mean_time_between_interruptions_s / entry.recovered_share
    per_parameter = entry.checkpoint_bytes / plan.workload.parameters
    rule = (
        "the best interval: interval = between × (1 - exp(-(interval + write) / between)), near √(2 × write × between)"
    )
    numbers = f"{between:.2f} × (1 - exp(-({interval:.3f} + {write:.3f}) / {between:.2f}))"
    # Below the time that one takes to be written there is nothing to be had.
    if interval <= entry.checkpoint_lag_s:
        rule, numbers = (
            "the time in which one is written, since the next has to wait for it",
            f"{entry.checkpoint_lag_s:.2f}",
        )
    return Explanation(
        number="checkpoint",
        title=f"checkpoint size and interval, strategy {entry.strategy}",
        value=(f"{units.text(entry.checkpoint_bytes, units.BYTES)} every {interval / 60:.0f} min"),
        equation=(rule, f"{numbers} = {interval:.2f} s"),
        inputs=(
            Input(
                name="size",
                value=(
                    f"{plan.workload.parameters:,} × {per_parameter:.4g} bytes"
                    f" = {units.text(entry.checkpoint_bytes, units.BYTES)}"
                ),
                source="weights and optimizer state, catalog/calibration.csv",
            ),
            Input(
                name="write",
                value=f"{write:.3f} s",
                source="training waits; clusterwright/sizing/reliability/checkpoints.py",
            ),
            Input(name="lag", value=f"{entry.checkpoint_lag_s:.2f} s", source="until it can be restored; as above"),
            Input(
                name="write bandwidth",
                value=units.text(option.design.storage.write_bytes_per_s, units.BANDWIDTH),
                source="clusterwright/sizing/reliability/checkpoints.py, by strategy",
            ),
            Input(
                name="host memory",
                value=f"{units.text(entry.host_bytes_per_node, units.BYTES)} per node",
                source="copies of checkpoints, clusterwright/sizing/reliability/checkpoints.py",
            ),
            Input(name="between", value=f"{between:.2f} s", source="explain goodput"),
            Input(
                name="interval",
                value=f"{interval:.3f} s",
                source="solves the equation by iteration; clusterwright/sizing/reliability/checkpoints.py",
            ),
        ),
        sources=("Young 1974; Daly 2006, Future Generation Computer Systems 22",),
    )


def _retention(option: TrainingOption) -> Explanation:
    storage, size = option.design.storage, option.performance.failures.checkpoint_bytes
    kept = f"{storage.checkpoint_bytes_kept / 1e9:,.2f}"
    numbers = f"({storage.checkpoints_kept} + {storage.milestones}) × {size / 1e9:,.4f}"
    if option.performance.failures.strategy == "incremental":
        numbers = kept
    return Explanation(
        number="checkpoints_kept",
        title="checkpoints on storage at the end of the run",
        value=units.text(storage.checkpoint_bytes_kept, units.BYTES),
        equation=(
            "(latest + milestones) × size of one; incremental ones are kept in whole chains",
            f"{numbers} = {kept} GB",
        ),
        inputs=(
            Input(name="size of one", value=f"{size / 1e9:,.4f} GB", source="explain checkpoint"),
            Input(name="latest", value=f"{storage.checkpoints_kept}", source=_NUMBERS),
            Input(name="milestones", value=f"{storage.milestones}", source="run time / milestone_every, blueprint"),
        ),
        sources=("clusterwright/sizing/reliability/checkpoints.py: kept_bytes",),
    )
