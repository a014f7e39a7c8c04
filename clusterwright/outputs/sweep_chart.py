"""The chart of a sweep: calendar days against accelerators, one line per scenario and accelerator."""

from collections.abc import Sequence

from clusterwright.errors import InputError
from clusterwright.outputs.charts import PALETTE, Axis, Limit, Series, labelled, logarithmic_ticks
from clusterwright.outputs.line_chart import line_chart
from clusterwright.plan.sweep_records import Sweep, SweptPoint
from clusterwright.units import SECONDS_PER_DAY

#: More lines than this cannot be told apart.
MOST_LINES = 60
_ROOM_PER_LINE = 17.5
_ROOM_AROUND = 80.0
_LEAST_HEIGHT = 360.0


def sweep_chart(sweep: Sweep) -> str:
    """Return an SVG with both axes logarithmic.

    The node types with the same accelerator share a line: the fewest days that any of them reaches with so many
    accelerators. Nothing is left out; a sweep with too many lines is refused.

    Raises:
        InputError: there is no point, or more lines than a chart can hold.
    """
    lines = _lines(sweep.points, name_scenarios=len(sweep.scenarios) > 1)
    if not lines:
        raise InputError("there is nothing to draw: no node type could be sized")
    if len(lines) > MOST_LINES:
        raise InputError(
            f"a chart of {len(lines)} lines cannot be read", help="choose some with --accelerators or --instances"
        )
    gpus = [gpu for points in lines.values() for gpu, _ in points]
    days = [day for points in lines.values() for _, day in points]
    goals = {entry.blueprint.goals.finish_within for entry in sweep.scenarios} - {None}
    limits = [
        Limit(y=seconds / SECONDS_PER_DAY, label=f"goal: {seconds / SECONDS_PER_DAY:,.0f} days")
        for seconds in sorted(goal for goal in goals if goal is not None)
    ]
    x_ticks = logarithmic_ticks(min(gpus), max(gpus))
    every_day = [*days, *(limit.y for limit in limits)]
    y_ticks = logarithmic_ticks(min(every_day), max(every_day))
    names = ", ".join(dict.fromkeys(entry.name for entry in sweep.scenarios))
    return line_chart(
        title=f"{names}: calendar days against accelerators",
        x=Axis(title="accelerators", ticks=labelled(x_ticks), low=x_ticks[0], high=x_ticks[-1], logarithmic=True),
        y=Axis(title="calendar days", ticks=labelled(y_ticks), low=y_ticks[0], high=y_ticks[-1], logarithmic=True),
        series=[
            Series(name=name, points=tuple(points), colour=PALETTE[index % len(PALETTE)])
            for index, (name, points) in enumerate(lines.items())
        ],
        limits=limits,
        height=max(_LEAST_HEIGHT, _ROOM_AROUND + _ROOM_PER_LINE * len(lines)),
    )


def _lines(points: Sequence[SweptPoint], *, name_scenarios: bool) -> dict[str, list[tuple[float, float]]]:
    groups: dict[str, list[SweptPoint]] = {}
    for point in points:
        scenario = ", ".join([point.blueprint, *(f"{path}={value}" for path, value in point.varied)])
        groups.setdefault(f"{point.accelerator}, {scenario}" if name_scenarios else point.accelerator, []).append(point)
    return {name: _fastest(group) for name, group in groups.items()}


def _fastest(points: Sequence[SweptPoint]) -> list[tuple[float, float]]:
    """Return (accelerators, days) of the points that none with as many or fewer accelerators beats."""
    kept: list[tuple[float, float]] = []
    for gpus, days in sorted((float(point.gpus), point.calendar_days) for point in points):
        if not kept or days < kept[-1][1]:
            kept.append((gpus, days))
    return kept
