"""The numbers of a training plan as words, the same wherever they are shown."""

from clusterwright import units
from clusterwright.plan.record import Plan
from clusterwright.plan.text.words import probability_text
from clusterwright.plan.training.record import TrainingOption, training_option, training_plan
from clusterwright.sizing.records.job import Layout
from clusterwright.sizing.records.loading import DataFeed

#: Schedules that are reported, by their names in the literature.
SCHEDULE_NAMES = {"zero-bubble": "ZB-H1", "dualpipe": "DualPipe"}


def layout_text(layout: Layout) -> str:
    """Return a layout in the field's shorthand: `TP 8 × PP 4 × DP 13, micro-batch 1, selective recompute`."""
    parts = [f"TP {layout.tp}", f"PP {layout.pp}", f"DP {layout.dp}"]
    parts += [f"{name} {size}" for name, size in (("CP", layout.cp), ("EP", layout.ep)) if size > 1]
    extras = [
        f"micro-batch {layout.micro_batch}",
        f"{'no' if layout.recompute == 'none' else layout.recompute} recompute",
    ]
    if layout.recompute_layers is not None:
        each = "chunk" if layout.vpp > 1 else "stage"
        extras[-1] += f" of {layout.recompute_layers} layer{'s' if layout.recompute_layers > 1 else ''} per {each}"
    if layout.vpp > 1:
        extras.append(f"{layout.vpp} chunks interleaved")
    elif layout.schedule in SCHEDULE_NAMES:
        extras.append(f"schedule {SCHEDULE_NAMES[layout.schedule]}")
    if layout.zero_stage > 0:
        within = f" over groups of {layout.sharding_group}" if layout.sharding_group else ""
        extras.append(f"ZeRO {layout.zero_stage}{within}")
    return f"{' × '.join(parts)}, {', '.join(extras)}"


def choice_text(option: TrainingOption) -> str:
    """Return why the layout is taken where another one is faster, empty where it is the fastest."""
    performance = option.performance
    if performance.faster is None:
        return ""
    slower = units.percent(performance.faster.slower_share, digits=1)
    return f"taken since {performance.faster.reason}: {layout_text(performance.faster.layout)} is faster by {slower}"


def usual_layout_text(plan: Plan) -> str:
    """Return what the answer's layout costs in time where it is not the fastest, empty where it is."""
    faster = training_option(plan.planned(plan.recommended_key) or plan.options[0]).performance.faster
    if faster is None:
        return ""
    slower = units.percent(faster.slower_share, digits=1)
    return f"layout taken since {faster.reason}, for {slower} more days than the fastest: plan --details"


def offload_text(option: TrainingOption) -> str:
    """Return what lies outside the accelerators and what that takes, empty where nothing does."""
    performance = option.performance
    need = performance.offload
    if need is None:
        return ""
    size, where = need.host_bytes_per_node, "host memory"
    of = need.host_memory_bytes_per_node
    if need.nvme_bytes_per_node:
        size, where, of = need.nvme_bytes_per_node, "local drives", need.nvme_capacity_bytes_per_node
    held = "an unknown size" if of is None else f"{of / 1e9:,.0f} GB"
    return (
        f"{', '.join(need.what)} offloaded: {size / 1e9:,.0f} of {held} of {where} per node, "
        f"{performance.step.offload_s:.2f} s of each step"
    )


def data_text(feed: DataFeed) -> str:
    """Return what is read of the training data, and whether training waits for it."""
    where = "local drives" if feed.staged else "shared storage"
    rate = units.text(feed.read_bytes_per_s, units.BANDWIDTH, digits=2)
    waits = f", training waits {feed.stall_s:.2g} s a step" if feed.stall_s > 0 else ""
    return f"{rate} from {where}{waits}"


def software_text(plan: Plan) -> str:
    """Return which software the run is assumed to have where its blueprint names none, else nothing."""
    if training_plan(plan).workload.framework:
        return ""
    return (
        "software assumed, since workload.framework names none: days of the median of measured software, memory as "
        "Megatron-LM keeps it"
    )


def fit_text(option: TrainingOption) -> str:
    """Return how likely a layout is to fit, and what was asked for; empty in plans that do not know it."""
    performance = option.performance
    if performance.fit_probability is None:
        return ""
    fits = f"fits with {probability_text(performance.fit_probability)} probability"
    if performance.memory_confidence is None:
        return fits
    asked, margin = (
        units.percent(performance.memory_confidence),
        units.percent(performance.memory_margin - 1),
    )
    return f"{fits}; {asked} asked for, a margin of {margin}"
