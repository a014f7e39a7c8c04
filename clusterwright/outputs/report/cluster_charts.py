"""The chart of the sizes that were considered, in the report's section on the cluster."""

from collections import defaultdict

from clusterwright.outputs.drawing.charts import PALETTE, Limit, Mark, Series, logarithmic_axis
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.plan.record import FrontPoint, Option, Plan
from clusterwright.plan.text.words import NAME_OF_TARGET
from clusterwright.units import duration_text

#: Days that differ by less than this factor are too close together on the drawing for a label each.
_NEAR = 1.2


def front_chart(plan: Plan) -> str:
    """Return the high end of calendar days against nodes for the sizes considered, the chosen ones marked.

    Both axes are logarithmic; targets whose sizes and days are the same share one line.
    """
    fronts: dict[tuple[tuple[float, float], ...], list[tuple[int, Option]]] = defaultdict(list)
    for index, option in enumerate(plan.options):
        if len(option.performance.front) > 1:
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
    limits = [] if goal is None else [Limit(y=goal, label=f"goal: {duration_text(goal)}")]
    marks = _chosen(plan)
    nodes = [point for entry in series for point, _ in entry.points] + [mark.x for mark in marks]
    days = [day for entry in series for _, day in entry.points] + [mark.y for mark in marks]
    return line_chart(
        title="Cluster sizes that meet the goal",
        x=logarithmic_axis("nodes", nodes),
        # A goal below every size does not stretch the axis.
        y=logarithmic_axis("calendar days, high end", [*days, max(*days, goal or 0.0)]),
        series=series,
        marks=marks,
        limits=limits,
    )


def _chosen(plan: Plan) -> list[Mark]:
    """Return a mark per chosen cluster; those of one size that end about the same day share the label of the first."""
    groups: list[list[Option]] = []
    for option in plan.options:
        near = next((group for group in groups if _near(group[0], option)), None)
        if near is None:
            groups.append([option])
        else:
            near.append(option)
    label = {
        group[
            0
        ].target: f"{', '.join(NAME_OF_TARGET[option.target] for option in group)}: {group[0].cluster.nodes:,} nodes"
        for group in groups
    }
    return [
        Mark(
            x=float(option.cluster.nodes),
            y=option.performance.calendar_days_high,
            label=label.get(option.target, ""),
            colour=PALETTE[index],
        )
        for index, option in enumerate(plan.options)
    ]


def _near(one: Option, other: Option) -> bool:
    low, high = sorted((one.performance.calendar_days_high, other.performance.calendar_days_high))
    return one.cluster.nodes == other.cluster.nodes and high < _NEAR * low


def _sorted(option: Option) -> list[FrontPoint]:
    return sorted(option.performance.front, key=lambda point: point.nodes)
