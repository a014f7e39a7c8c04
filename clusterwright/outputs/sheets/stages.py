"""The sheet Stages: what stands in each month where the work grows or equipment is replaced, as the engine found it.

What is bought when, in whole nodes, is a schedule and no arithmetic of dollars: its factors are numbers here, and the
formulas of the cash sheets multiply with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.sheets.formula import Figure
from clusterwright.outputs.sheets.shared import Workbook
from clusterwright.plan import owning
from clusterwright.tco.assumptions import assumptions, resale_curve
from clusterwright.tco.stages import CONSTANT, Pace, stages

_FIRST = 4
_TITLES: Mapping[str, str] = {
    "work": "work, of the first year's", "capacity": "capacity, of the first purchase's",
    "equipment": "equipment in use, of the first purchase's price", "bought": "bought, of the first purchase's price",
    "added": "capacity added", "removed": "capacity taken out", "removed_bought": "its purchase price",
    "sold": "sold, of the price times the resale at the end",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Stages:
    """Factors by month row and name, all relative to the first purchase and the first year."""

    factors: Mapping[str, tuple[Figure, ...]]


def pace_of(work: Workbook) -> Pace:
    """Return how the work of a plan grows and its equipment is replaced."""
    return owning.pace_of(work.plan.tco)


def staged(work: Workbook) -> bool:
    """Return whether the work of a plan grows or its equipment is replaced."""
    return pace_of(work) != CONSTANT


def mean_work(work: Workbook) -> float:
    """Return the mean of the work over the horizon, of the first year's, as the engine counts it."""
    return pace_of(work).mean_work(work.plan.economics.horizon_months)


def write_stages(work: Workbook) -> Stages:
    """Write the sheet of the owner, or of the work alone where nothing is owned."""
    page, economics = work.page("Stages"), work.plan.economics
    page.title(
        "Growth and refresh: what stands in each month",
        "Numbers of the engine for the blueprint's growth, refresh, horizon and utilisation; other inputs are live.",
    )
    page.widths(9, rest=18, columns=1 + len(_TITLES))
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, ("month", *_TITLES.values()), texts=0)
    owned = next((cost for cost in work.found.costs if cost.owned and not cost.mixed), None)
    found, events = stages(
        "", pace_of(work), horizon_months=economics.horizon_months,
        busy_fraction=owned.busy_fraction if owned else 0.0,
        nodes=max(1, owned.nodes if owned else 1), resale=resale_curve(assumptions(), owning.resale_of(work.plan.tco)),
    )  # fmt: skip
    months = [min(float(row), economics.horizon_months) for row in range(work.rows)]
    by_month = {stage.month_end: stage for stage in found}
    dated = {event.month_end: event for event in events}
    cells: dict[str, list[Figure]] = {name: [] for name in _TITLES}
    for row, month in enumerate(months):
        page.number(_FIRST + row, 0, month)
        for column, name in enumerate(_TITLES, start=1):
            source = by_month.get(month) if name in ("work", "capacity", "equipment") else dated.get(month)
            value = float(getattr(source, name)) if source is not None else 0.0
            cells[name].append(page.number(_FIRST + row, column, value))
    return Stages(factors={name: tuple(found) for name, found in cells.items()})
