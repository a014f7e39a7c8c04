"""The chart of a sweep: calendar days against accelerators, one line per scenario and accelerator."""

from collections.abc import Sequence

from clusterwright.errors import InputError
from clusterwright.outputs.drawing.charts import PALETTE, Axis, Limit, Series, labelled, logarithmic_ticks
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.sweep.records import Sweep, SweptPoint
from clusterwright.units import SECONDS_PER_DAY

#: More lines than this cannot be distinguished.
MOST_LINES = 60
_ROOM_PER_LINE = 17.5
_ROOM_AROUND = 80.0
_LEAST_HEIGHT = 360.0


def sweep_chart(sweep: Sweep) -> str:
    """Return an SVG with both axes logarithmic.

    The node types with the same accelerator share a line: the fewest days that any of them reaches with this many
    accelerators. Nothing is left out; a sweep with too many lines is refused.

    Raises:
        InputError: there is no point, or more lines than a chart can hold.
    """
    lines = _lines(sweep)
    if not lines:
        raise InputError("there is nothing to draw: no node type could be sized")
    if len(lines) > MOST_LINES:
        raise InputError(
            f"a chart of {len(lines)} lines cannot be read", help="choose some with --accelerators or --instances"
        )
    gpus = [gpu for entry in lines for gpu, _ in entry.points]
    days = [day for entry in lines for _, day in entry.points]
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
        series=lines,
        limits=limits,
        height=max(_LEAST_HEIGHT, _ROOM_AROUND + _ROOM_PER_LINE * len(lines)),
    )


def _lines(sweep: Sweep) -> list[Series]:
    """Return a line per scenario and accelerator; a colour means an accelerator and a pattern a scenario.

    Where there is only one of the one or of the other, every line has a colour and a pattern of its own.
    """
    scenarios = list(dict.fromkeys((point.blueprint, point.varied) for point in sweep.points))
    chips = list(dict.fromkeys(point.accelerator for point in sweep.points))
    one_name = len({name for name, _ in scenarios}) == 1
    both = len(scenarios) > 1 and len(chips) > 1
    groups: dict[tuple[int, int], list[SweptPoint]] = {}
    for point in sweep.points:
        place = scenarios.index((point.blueprint, point.varied)), chips.index(point.accelerator)
        groups.setdefault(place, []).append(point)
    lines = []
    for order, ((scenario, chip), points) in enumerate(sorted(groups.items(), key=lambda entry: entry[0][::-1])):
        name = scenario_name(*scenarios[scenario], one_name=one_name) if len(scenarios) > 1 else ""
        lines.append(
            Series(
                name=", ".join(part for part in (chips[chip], name) if part),
                points=tuple(_fastest(points)),
                colour=PALETTE[(chip if both else order) % len(PALETTE)],
                dash=scenario if both else None,
            )
        )
    return lines


def scenario_name(blueprint: str, varied: tuple[tuple[str, str], ...], *, one_name: bool) -> str:
    """Return what tells a scenario from the others: `global_batch 768`, with the blueprint's name if there are more."""
    values = [f"{path.rpartition('.')[2].replace('_', ' ')} {value}" for path, value in varied]
    return ", ".join([*([] if one_name else [blueprint]), *values])


def _fastest(points: Sequence[SweptPoint]) -> list[tuple[float, float]]:
    """Return (accelerators, days) of the points that none with as many or fewer accelerators beats."""
    kept: list[tuple[float, float]] = []
    for gpus, days in sorted((float(point.gpus), point.calendar_days) for point in points):
        if not kept or days < kept[-1][1]:
            kept.append((gpus, days))
    return kept
