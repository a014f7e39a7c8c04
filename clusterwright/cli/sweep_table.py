"""A sweep as text for a terminal: a table of points for each scenario, then what was not sized and why."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from clusterwright.cli.text_table import table
from clusterwright.plan.money import money
from clusterwright.plan.sweep_records import NotSized, Scenario, Sweep, SweptPoint
from clusterwright.plan.words import days_text
from clusterwright.units import SECONDS_PER_DAY, percent

_COLUMNS = (
    ("Node type", "left"), ("where", "left"), ("nodes", ""), ("GPUs", ""), ("days (low–high)", ""), ("MFU", ""),
    ("layout", "left"), ("this run", ""), ("USD/GPU-h", ""), ("priced", ""), ("", "left"),
)  # fmt: skip


def sweep_text(sweep: Sweep, *, every: bool) -> str:
    """Return the sweep for a terminal.

    Args:
        sweep: to be shown.
        every: show every point; else of each node type the smallest cluster, the smallest that meets the goal, the
            fastest, and those that no other node type beats in days and cost.
    """
    blocks = []
    for scenario, as_of in zip(sweep.scenarios, sweep.as_of, strict=True):
        points = [point for point in sweep.points if _belongs(point, scenario)]
        shown = points if every else [point for group in _by_node_type(points) for point in _told(group)]
        missing = [entry for entry in sweep.not_sized if _belongs(entry, scenario)]
        blocks.append("\n".join([_heading(scenario), "", *_body(points, shown, as_of), *_missing(missing)]))
    return "\n\n".join(blocks)


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


def _told(points: Sequence[SweptPoint]) -> list[SweptPoint]:
    meeting = next((index for index, point in enumerate(points) if point.meets_goal), 0)
    kept = {0, meeting, len(points) - 1}
    return [point for index, point in enumerate(points) if index in kept or point.unbeaten]


def _body(points: Sequence[SweptPoint], shown: Sequence[SweptPoint], as_of: str) -> list[str]:
    if not points:
        return ["  no node type could be sized"]
    lines = [table(_COLUMNS, (_row(point) for point in shown)), ""]
    lines.append(f"  {len(shown):,} of {len(points):,} points; prices on demand as of {as_of}")
    if len(shown) < len(points):
        lines[-1] += "; --all shows every point"
    if any(point.unbeaten for point in shown):
        lines.append("  ◀ no other point is as fast for less; rented and bought ones apart")
    if any(point.run_usd is None for point in shown):
        lines.append("  unknown: a price is not documented, or a size was not designed; --json says which")
    if any(point.capex_usd is not None for point in shown):
        lines.append(
            "  this run, on premises: the share of owning over the horizon that it takes at the stated utilisation"
        )
    return lines


def _row(point: SweptPoint) -> list[str]:
    layout = point.layout
    notes = ["◀"] if point.unbeaten else []
    if point.capex_usd is not None:
        notes.append(f"{money(point.capex_usd)} to buy")
    if point.meets_goal is False:
        notes.append("misses the goal")
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
        money(point.run_usd),
        "unknown" if point.usd_per_gpu_hour is None else f"{point.usd_per_gpu_hour:.2f}",
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
        lines += [f"    {said}:", *_wrapped(names)]
    return lines


def _wrapped(names: Sequence[str], width: int = 112) -> list[str]:
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) + 2 > width:
            lines[-1] += ","
            lines.append("")
        lines[-1] += f", {name}" if lines[-1] else name
    return [f"      {line}" for line in lines]
