"""The report's section on a cluster that trains: layout, speed and failures, memory and time of a step."""

from collections.abc import Sequence

from clusterwright.outputs.drawing.bar_chart import bar_chart
from clusterwright.outputs.drawing.charts import GREY, PALETTE, Bar, Segment
from clusterwright.outputs.page_parts import Cell, Chart, Table
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.training import data_text, layout_text, offload_text
from clusterwright.plan.text.words import NAME_OF_TARGET, capital
from clusterwright.plan.training.record import TrainingOption, TrainingPlan, training_plan
from clusterwright.units import percent

_PEAK = "share of the GPUs' peak that the model uses"
_KEPT = "share of the calendar time that training keeps, without failures and checkpoints"
_AXES = (
    "how many GPUs share a layer (tensor), form a pipeline of layers, train copies of the model (data), share experts, "
    "or share a sequence (context)."
)
#: Words of the section, with what they mean.
TERMS = (
    ("MFU, goodput", f"{_PEAK}; {_KEPT}."),
    ("TP, PP, DP, EP, CP", _AXES),
)
_MEMORY_COLOURS = {
    "weights": PALETTE[0],
    "gradients": PALETTE[1],
    "optimizer": PALETTE[2],
    "activations": PALETTE[3],
    "logits": PALETTE[4],
    "communication": PALETTE[5],
    "reserve": GREY,
}
_STEP_NAMES = {
    "compute_s": "compute",
    "tensor_parallel_s": "tensor-parallel traffic",
    "pipeline_bubble_s": "pipeline bubble",
    "pipeline_transfer_s": "pipeline transfers",
    "data_parallel_s": "data-parallel traffic",
    "optimizer_s": "optimizer",
    "offload_s": "offloading",
    "data_loading_s": "waiting for data",
}


def cluster_table(plan: Plan, _: MoneyFormat) -> Table:
    """Return how each target runs the job: layout, speed, failures and what limits it."""
    return Table(
        columns=(
            "Where",
            "Layout",
            "Tokens/s per GPU",
            "MFU",
            "Goodput",
            "Between interruptions",
            "Checkpoint every",
            "Training data",
            "Limited by",
        ),
        rows=tuple(
            (
                Cell(text=capital(NAME_OF_TARGET[option.target])),
                Cell(text=layout_text(option.performance.layout)),
                Cell(text=f"{option.performance.tokens_per_s_per_gpu:,.0f}"),
                Cell(text=percent(option.performance.mfu)),
                Cell(text=percent(option.performance.goodput)),
                Cell(text=f"{option.performance.failures.mean_time_between_interruptions_s / 3600:.1f} h"),
                Cell(text=f"{option.performance.failures.checkpoint_interval_s / 60:.0f} min"),
                Cell(text=data_text(option.performance.data)),
                Cell(text="; ".join(option.performance.limited_by)),
            )
            for option in training_plan(plan).options
        ),
        numeric=frozenset({2, 3, 4, 5, 6}),
    )


def cluster_charts(plan: Plan) -> Sequence[Chart]:
    """Return memory of the fullest GPU and the time of a step, of every target."""
    trains = training_plan(plan)
    return (
        Chart(
            svg=memory_chart(trains),
            caption=(
                "Memory of the fullest GPU by term, GB (1e9 bytes); the upright line is what the GPU has. "
                f"{'; '.join(_held(option) for option in trains.options)}."
            ),
        ),
        Chart(
            svg=step_chart(trains),
            caption="Where the time of one optimizer step goes, seconds; only what is not hidden behind other work.",
        ),
    )


def _held(option: TrainingOption) -> str:
    """Return what tensors and the allocator hold, and what lies outside, in words."""
    allocated, reserved = (
        option.performance.memory_allocated_bytes_per_gpu,
        option.performance.memory_reserved_bytes_per_gpu,
    )
    held = f"{NAME_OF_TARGET[option.target]}: {allocated / 1e9:.1f} allocated, {reserved / 1e9:.1f} reserved"
    away = offload_text(option)
    return f"{held}, {away}" if away else held


def memory_chart(plan: TrainingPlan) -> str:
    """Return a stacked bar of the fullest GPU's memory per target, with the capacity as a line; GB are 1e9 bytes."""
    bars = []
    for option in plan.options:
        memory = option.performance.memory_bytes_per_gpu
        segments = tuple(
            Segment(name=term, size=size / 1e9, text=f"{size / 1e9:.2f} GB", colour=colour, inside=f"{size / 1e9:.1f}")
            for term, colour in _MEMORY_COLOURS.items()
            if (size := getattr(memory, term)) > 0
        )
        bars.append(
            Bar(
                label=NAME_OF_TARGET[option.target],
                segments=segments,
                text=f"{memory.total / 1e9:.1f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.1f} GB",
                limit=option.cluster.hbm_bytes_per_gpu / 1e9,
            )
        )
    return bar_chart(title="Memory of the fullest GPU", bars=bars, unit="GB per GPU", limit_name="capacity")


def step_chart(plan: TrainingPlan) -> str:
    """Return a stacked bar of one optimizer step's time per target, in seconds."""
    bars = [
        Bar(
            label=NAME_OF_TARGET[option.target],
            segments=tuple(
                Segment(name=name, size=seconds, text=f"{seconds:.3f} s", colour=colour, inside=f"{seconds:.2f}")
                for (field, name), colour in zip(_STEP_NAMES.items(), PALETTE, strict=False)
                if (seconds := getattr(option.performance.step, field)) > 0
            ),
            text=f"{option.performance.step.total_s:.2f} s",
        )
        for option in plan.options
    ]
    return bar_chart(title="Where the time of a step goes", bars=bars, unit="seconds per optimizer step")
