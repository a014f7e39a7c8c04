"""The charts of the cluster in the report: memory, step time, and the sizes that were considered."""

from collections import defaultdict

from clusterwright.outputs.drawing.bar_chart import bar_chart
from clusterwright.outputs.drawing.charts import (
    GREY,
    PALETTE,
    Axis,
    Bar,
    Limit,
    Mark,
    Segment,
    Series,
    labelled,
    logarithmic_ticks,
)
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.plan.record import FrontPoint, TrainingOption, TrainingPlan
from clusterwright.plan.text.words import NAME_OF_TARGET, days_text

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

#: Days that differ by less than this factor are too close together on the drawing for a label each.
_NEAR = 1.2


def memory_chart(plan: TrainingPlan) -> str:
    """Return a stacked bar of the fullest GPU's memory per target, with the capacity as a line; GB are 1e9 bytes."""
    bars = []
    for option in plan.options:
        memory = option.memory_bytes_per_gpu
        segments = tuple(
            Segment(name=term, size=size / 1e9, text=f"{size / 1e9:.2f} GB", colour=colour, inside=f"{size / 1e9:.1f}")
            for term, colour in _MEMORY_COLOURS.items()
            if (size := getattr(memory, term)) > 0
        )
        bars.append(
            Bar(
                label=NAME_OF_TARGET[option.target],
                segments=segments,
                text=f"{memory.total / 1e9:.1f} of {option.hbm_bytes_per_gpu / 1e9:.1f} GB",
                limit=option.hbm_bytes_per_gpu / 1e9,
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
                if (seconds := getattr(option.step, field)) > 0
            ),
            text=f"{option.step.total_s:.2f} s",
        )
        for option in plan.options
    ]
    return bar_chart(title="Where the time of a step goes", bars=bars, unit="seconds per optimizer step")


def front_chart(plan: TrainingPlan) -> str:
    """Return the high end of calendar days against nodes for the sizes considered, the chosen ones marked.

    Both axes are logarithmic; targets whose sizes and days are the same share one line.
    """
    fronts: dict[tuple[tuple[float, float], ...], list[tuple[int, TrainingOption]]] = defaultdict(list)
    for index, option in enumerate(plan.options):
        if len(option.front) > 1:
            line = tuple((float(point.nodes), point.calendar_days_high) for point in _sorted(option))
            fronts[line].append((index, option))
    if not fronts:
        return ""
    series = [
        Series(
            name=", ".join(NAME_OF_TARGET[option.target] for _, option in options),
            colour=PALETTE[options[0][0]],
            points=line,
        )
        for line, options in fronts.items()
    ]
    goal = plan.goals.finish_within_days
    limits = [] if goal is None else [Limit(y=goal, label=f"goal: {days_text(goal)}")]
    marks = _chosen(plan)
    nodes = [point for entry in series for point, _ in entry.points] + [mark.x for mark in marks]
    days = [day for entry in series for _, day in entry.points] + [mark.y for mark in marks]
    x_ticks = logarithmic_ticks(min(nodes), max(nodes))
    y_ticks = logarithmic_ticks(min(days), max([*days, goal or 0.0]))
    return line_chart(
        title="Cluster sizes that meet the goal",
        x=Axis(title="nodes", ticks=labelled(x_ticks), low=x_ticks[0], high=x_ticks[-1], logarithmic=True),
        y=Axis(
            title="calendar days, high end",
            ticks=labelled(y_ticks),
            low=y_ticks[0],
            high=y_ticks[-1],
            logarithmic=True,
        ),
        series=series,
        marks=marks,
        limits=limits,
    )


def _chosen(plan: TrainingPlan) -> list[Mark]:
    """Return a mark per chosen cluster; those of one size that end about the same day share the label of the first."""
    groups: list[list[TrainingOption]] = []
    for option in plan.options:
        near = next((group for group in groups if _near(group[0], option)), None)
        if near is None:
            groups.append([option])
        else:
            near.append(option)
    label = {
        group[0].target: f"{', '.join(NAME_OF_TARGET[option.target] for option in group)}: {group[0].nodes:,} nodes"
        for group in groups
    }
    return [
        Mark(
            x=float(option.nodes),
            y=option.calendar_days_high,
            label=label.get(option.target, ""),
            colour=PALETTE[index],
        )
        for index, option in enumerate(plan.options)
    ]


def _near(one: TrainingOption, other: TrainingOption) -> bool:
    low, high = sorted((one.calendar_days_high, other.calendar_days_high))
    return one.nodes == other.nodes and high < _NEAR * low


def _sorted(option: TrainingOption) -> list[FrontPoint]:
    return sorted(option.front, key=lambda point: point.nodes)
