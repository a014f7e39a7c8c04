"""Charts of sweeps, a line per scenario and accelerator: days of runs against accelerators, rates of services."""

from collections.abc import Sequence

from clusterwright.errors import InputError
from clusterwright.outputs.drawing.charts import PALETTE, Limit, Series, logarithmic_axis
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.sweep.records import Sweep, SweptPoint
from clusterwright.sweep.services import SweptService
from clusterwright.units import SECONDS_PER_DAY

#: More lines than this cannot be distinguished.
_MOST_LINES = 60
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
    goals = {entry.blueprint.goals.finish_within for entry in sweep.scenarios} - {None}
    limits = [
        Limit(y=seconds / SECONDS_PER_DAY, label=f"goal: {seconds / SECONDS_PER_DAY:,.0f} days")
        for seconds in sorted(goal for goal in goals if goal is not None)
    ]
    names = ", ".join(dict.fromkeys(entry.name for entry in sweep.scenarios))
    return swept_chart(
        _lines(sweep),
        title=f"{names}: calendar days against accelerators",
        x="accelerators",
        y="calendar days",
        limits=limits,
    )


def swept_chart(lines: Sequence[Series], *, title: str, x: str, y: str, limits: Sequence[Limit] = ()) -> str:
    """Return an SVG of the lines of a sweep with both axes logarithmic, as high as its legend needs.

    Args:
        lines: a line per scenario and accelerator.
        title: of the chart.
        x: title of the axis along.
        y: title of the upright axis, which has the limits on it.
        limits: goals that are drawn across.

    Raises:
        InputError: there is no line, or more than a chart can hold.
    """
    if not lines:
        raise InputError("there is nothing to draw: no node type could be sized")
    check_count(len(lines))
    points = [point for line in lines for point in line.points]
    return line_chart(
        title=title,
        x=logarithmic_axis(x, [along for along, _ in points]),
        y=logarithmic_axis(y, [*(up for _, up in points), *(limit.y for limit in limits)]),
        series=lines,
        limits=limits,
        height=max(_LEAST_HEIGHT, _ROOM_AROUND + _ROOM_PER_LINE * len(lines)),
    )


def check_count(lines: int) -> None:
    """Refuse a chart of more lines than can be distinguished.

    Raises:
        InputError: there are more.
    """
    if lines > _MOST_LINES:
        raise InputError(
            f"a chart of {lines} lines cannot be read", help="choose some with --accelerators or --instances"
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


def service_chart(points: Sequence[SweptService]) -> str:
    """Return an SVG with both axes logarithmic: a line per scenario and accelerator.

    Node types with the same accelerator share a line: what no layout or load on any of them beats. A node type whose
    front has one rate alone is a line of one point.

    Raises:
        InputError: there is no point, more lines than a chart can hold, or answers of one pass over the input, which
            have no tokens per second.
    """
    if any(point.tokens_per_s_per_user is None for point in points):
        raise InputError(
            "there is nothing to draw: one pass over the input answers, at no rate of tokens", help="leave out --chart"
        )
    names = ", ".join(dict.fromkeys(point.blueprint for point in points))
    return swept_chart(
        _rate_lines(points),
        title=f"{names}: output tokens per second of an accelerator against those of a user",
        x="output tokens/s a user sees",
        y="output tokens/s of an accelerator",
    )


def _rate_lines(points: Sequence[SweptService]) -> list[Series]:
    scenarios = list(dict.fromkeys((point.blueprint, point.varied) for point in points))
    one_name = len({name for name, _ in scenarios}) == 1
    groups: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for point in points:
        rates = [(rate.tokens_per_s_per_user, rate.tokens_per_s_per_gpu) for rate in point.rate_front]
        here = groups.setdefault((point.accelerator, scenarios.index((point.blueprint, point.varied))), [])
        here += rates or [(point.tokens_per_s_per_user or 0.0, point.tokens_per_s_per_gpu or 0.0)]
    lines = []
    for order, ((chip, scenario), rates) in enumerate(sorted(groups.items())):
        name = scenario_name(*scenarios[scenario], one_name=one_name) if len(scenarios) > 1 else ""
        lines.append(
            Series(
                name=", ".join(part for part in (chip, name) if part),
                points=tuple(unbeaten(rates)),
                colour=PALETTE[order % len(PALETTE)],
            )
        )
    return lines


def unbeaten(rates: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the rates that no other beats for the user and for the accelerator, slowest for the user first.

    >>> unbeaten([(10.0, 100.0), (20.0, 50.0), (15.0, 40.0)])
    [(10.0, 100.0), (20.0, 50.0)]
    """
    kept: list[tuple[float, float]] = []
    for user, gpu in sorted(rates, reverse=True):
        if not kept or gpu > kept[-1][1]:
            kept.append((user, gpu))
    return kept[::-1]
