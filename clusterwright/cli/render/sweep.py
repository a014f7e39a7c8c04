"""A sweep as text for a terminal: of each scenario three answers and a table, then what was not sized and why."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import inf

from clusterwright.cli.render.text_table import Column, prose, table
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.sweep.records import NotSized, Scenario, Sweep, SweptPoint
from clusterwright.units import SECONDS_PER_DAY, days_text, percent

#: Points that are rented, and those that are bought, whose share of owning is no cash.
_COLUMNS = (
    Column("Node type", "left"),
    Column("where", "left", drop=2),
    Column("nodes", drop=0),
    Column("GPUs", drop=0),
    Column("days (low–high)", drop=0),
    Column("MFU", drop=5),
    Column("layout", "left", drop=4),
)
_RENTED = (Column("this run", drop=0),)
_BOUGHT = (Column("to buy", drop=0), Column("share of a run", drop=1))


def sweep_text(sweep: Sweep, *, money: MoneyFormat, every: bool) -> str:
    """Return the sweep for a terminal: three answers, then the points they come from.

    Args:
        sweep: to be shown.
        every: show every point; else of each node type the smallest cluster that meets the goal, and those that no
            other node type beats in days and cost.
        money: how amounts are written.
    """
    blocks = []
    for scenario, as_of in zip(sweep.scenarios, sweep.as_of, strict=True):
        points = [point for point in sweep.points if _belongs(point, scenario)]
        missing = [entry for entry in sweep.not_sized if _belongs(entry, scenario)]
        lines = [
            *prose(_heading(scenario)),
            *_answers(points, money),
            "",
            *_body(points, as_of, every=every, money=money),
        ]
        blocks.append("\n".join([*lines, *_missing(missing)]))
    return "\n\n".join([*blocks, *money.note[1:]])


def _belongs(entry: SweptPoint | NotSized, scenario: Scenario) -> bool:
    return (entry.blueprint, entry.varied) == (scenario.name, scenario.varied)


def _heading(scenario: Scenario) -> str:
    goals = scenario.blueprint.goals
    goal = ""
    if goals.finish_within is not None:
        within = days_text(goals.finish_within / SECONDS_PER_DAY)
        goal = f" · within {within} at {percent(goals.confidence)} confidence"
    return f"{scenario.label} · {scenario.model.name}{goal}"


def _by_node_type(points: Iterable[SweptPoint]) -> Iterable[list[SweptPoint]]:
    return (list(group) for _, group in groupby(points, key=lambda point: (point.target, point.node_type)))


def _answers(points: Sequence[SweptPoint], money: MoneyFormat) -> list[str]:
    """Return the cheapest rented, the fastest and the smallest cluster of those that meet the goal."""
    good = [point for point in points if point.meets_goal is not False]
    if not good:
        return ["", *prose("No size of any node type meets the goal.", indent=2)] if points else []
    priced = [point for point in good if point.run_usd is not None and point.capex_usd is None and point.region]
    answers = [
        ("Cheapest to rent", min(priced, key=lambda point: (point.compared_usd or 0.0, point.gpus), default=None)),
        ("Fastest", min(good, key=lambda point: (point.calendar_days, point.gpus))),
        ("Fewest GPUs", min(good, key=lambda point: (point.gpus, point.calendar_days))),
    ]
    width = max(len(title) for title, _ in answers)
    lines = [""]
    for title, point in answers:
        said = "no rented point has a known price" if point is None else _answer(point, money)
        lines += prose(f"{title:<{width}}  {said}", indent=2, hanging=width + 4)
    return lines


def _answer(point: SweptPoint, money: MoneyFormat) -> str:
    cost = f", {money.text(point.run_usd)}" if point.capex_usd is None and point.region else ""
    cost = f", {money.text(point.capex_usd)} to buy" if point.capex_usd is not None else cost
    return (
        f"{point.nodes:,} × {point.node_type} ({point.gpus:,} GPUs) {point.region or 'on premises'}: "
        f"{point.calendar_days:,.1f} days{cost}"
    )


def _told(points: Sequence[SweptPoint]) -> list[SweptPoint]:
    """Return of a node type the smallest cluster that meets the goal and what nothing else beats; none if none does."""
    good = [point for point in points if point.meets_goal is not False]
    return [point for index, point in enumerate(good) if index == 0 or point.unbeaten]


def _body(points: Sequence[SweptPoint], as_of: str, *, money: MoneyFormat, every: bool) -> list[str]:
    if not points:
        return ["  no node type could be sized"]
    groups = list(_by_node_type(points))
    shown = list(points) if every else [point for group in groups for point in _told(group)]
    if not every:
        shown.sort(key=_cost)
    rented, bought = ([point for point in shown if bool(point.region) is wanted] for wanted in (True, False))
    lines = []
    if rented:
        lines += [table(_columns(_RENTED, money), [_row(point, money) for point in rented]), ""]
    if bought:
        lines += [table(_columns(_BOUGHT, money), [_row(point, money) for point in bought]), ""]
    said = [f"{len(shown):,} of {len(points):,} points; prices on demand as of {as_of}"]
    if len(shown) < len(points):
        said[0] += "; --all shows every point"
    if not every and (late := [group[0].node_type for group in groups if not _told(group)]):
        said.append(f"at no size within the goal: {', '.join(late)}")
    if any(point.unbeaten for point in shown):
        said.append("◀ no other point is as fast for less; rented and bought ones apart")
    if any(point.run_usd is None for point in shown):
        said.append("unknown: a price is not documented, or a size was not designed; --json says which")
    if any(point.capex_usd is not None for point in bought):
        said.append("share of a run: of the cost of owning over the horizon, at the stated utilisation; no cash")
    return [*lines, *(line for note in said for line in prose(note, indent=2))]


def _cost(point: SweptPoint) -> tuple[float, int]:
    """Return the cash that decides the order: of the run where it is rented, else of the purchase."""
    usd = point.compared_usd if point.region else point.capex_usd
    return (inf if usd is None else usd, point.gpus)


def _columns(amounts: Sequence[Column], money: MoneyFormat) -> tuple[Column, ...]:
    by_hour = Column(f"{money.code}/GPU-h", drop=3)
    return (*_COLUMNS, *amounts, by_hour, Column("priced", drop=6), Column("", "left", drop=0))


def _row(point: SweptPoint, money: MoneyFormat) -> list[str]:
    layout = point.layout
    notes = ["◀"] if point.unbeaten else []
    if point.meets_goal is False:
        notes.append("misses the goal")
    dollars = [money.text(point.run_usd)] if point.region else [money.text(point.capex_usd), money.text(point.run_usd)]
    return [
        point.node_type,
        point.region or "on premises",
        f"{point.nodes:,}",
        f"{point.gpus:,}",
        f"{point.calendar_days:,.1f} ({point.calendar_days_low:,.1f}–{point.calendar_days_high:,.1f})",
        percent(point.mfu),
        f"TP{layout.tp} PP{layout.pp} DP{layout.dp}"
        + (f" CP{layout.cp}" if layout.cp > 1 else "")
        + (f" EP{layout.ep}" if layout.ep > 1 else ""),
        *dollars,
        "unknown" if point.usd_per_gpu_hour is None else f"{money.amount(point.usd_per_gpu_hour):.2f}",
        percent(point.priced_share),
        " ".join(notes),
    ]


def _missing(entries: Sequence[NotSized]) -> list[str]:
    """Return what was not sized, each node type and accelerator named, those with the same reason together."""
    if not entries:
        return []
    reasons: dict[str, list[str]] = {}
    for entry in entries:
        name = entry.node_type or entry.accelerator
        reasons.setdefault(entry.reason.replace(name, "…"), []).append(name)
    lines = ["", "  Not sized"]
    for reason, names in reasons.items():
        said = reason.replace("…", names[0]) if len(names) == 1 else reason
        lines += prose(f"{said}:", indent=4)
        lines += prose(", ".join(names), indent=6)
    return lines
