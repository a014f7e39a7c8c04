"""The sheet Stages: what is in each month where the work grows or equipment is replaced.

The rules of `tco/terms/stages.py` a second time: whole nodes are added at the start of each year whose work no longer
fits; what reaches the age of refresh is sold and bought again at the price of that day; at the end everything is sold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.resale import Resale, reference_age
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    figure,
    largest,
    product_sum,
    rounded_up,
    smallest,
    span,
    total_where,
    when,
)
from clusterwright.outputs.workbook.writing.shared import Rows, Workbook, is_given
from clusterwright.tco.terms.stages import CONSTANT

_FIRST = 9
#: The sheet of an owned base that keeps its size, a part of mixes.
BASE_STAGES = "Stages of a base"
_YEAR = 12
_ROUNDING = 1e-9
_TITLES: Mapping[str, str] = {
    "work": "work, of the first year's",
    "held": "capacity at the end of the month",
    "lot": "capacity bought",
    "price": "price of equipment, of the first's",
    "bought": "bought, of the first purchase's price",
    "leaves": "leaves in month",
    "worth": "sold then, of the price times the resale at the end",
    "added": "capacity added",
    "removed": "capacity taken out",
    "removed_bought": "its purchase price",
    "sold": "sold, of the price times that resale",
    "books": "equipment in use, of the first price",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stages:
    """Factors by month row and name, all relative to the first purchase and the first year."""

    factors: Mapping[str, Rows]


def staged(work: Workbook) -> bool:
    """Return whether the work of a plan grows or its equipment is replaced."""
    return work.plan.economics.growth != CONSTANT


def mean_work(work: Workbook) -> float:
    """Return the mean of the work over the horizon, of the first year's, as the engine counts it."""
    return work.plan.economics.growth_factor


def write_stages(work: Workbook, resale: Resale, owner: tuple[Figure, Figure], *, sheet: str = "Stages") -> Stages:
    """Write the sheet of the owner, or of the work alone where nothing is owned.

    Args:
        work: the workbook.
        resale: share of the price by age.
        owner: share of the first year's hours at work, and nodes of the first purchase.
        sheet: `BASE_STAGES` for a cluster that keeps its size.
    """
    page, names = work.page(sheet), work.names
    page.title(
        "Growth and refresh: what stands in each month",
        "Whole nodes are added at the start of a year whose work no longer fits; what reaches the age of refresh is "
        "sold and bought again.",
    )
    page.widths(26, rest=15, columns=1 + len(_TITLES))
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.repeat_columns(0)
    horizon, refresh = names["horizon_months"], names["refresh_months"]
    busy, nodes = owner
    reference = reference_age(names, resale, given=is_given(work, "resale_fraction"))
    facts = (
        ("mean work over the horizon", figure(0.0)),
        ("busy share of the first year", busy),
        ("nodes of the first purchase", nodes),
        ("age that resale is told of, months", reference),
        ("resale at that age", resale(reference)),
    )
    cells = [page.put(row, 1, value, "number") for row, (_, value) in enumerate(facts[1:], start=3)]
    for row, (title, _) in enumerate(facts, start=2):
        page.text(row, 0, title)
    busy, nodes, _, at_end = cells
    page.head(_FIRST - 1, ("month", *_TITLES.values()), texts=0)
    found: dict[str, list[Figure]] = {name: [] for name in _TITLES}

    def leaving(row: int, name: str) -> Figure:
        if not row:
            return figure(0.0)
        gone = total_where(span(found[name]), span(found["leaves"]), work.months[row])
        return when(work.lengths[row].above(0.0), gone, 0.0)

    for row, month in enumerate(work.months):
        at = _FIRST + row
        page.put(at, 0, month, "number")
        goes_on = horizon.above(month)
        removed = leaving(row, "lot")
        adds = sheet != BASE_STAGES or not row
        added = _added(work, row, (busy, nodes), found["held"]) if adds else figure(0.0)
        figures = {
            "work": _work(work, max(0, row - 1)),
            "added": added,
            "removed": removed,
            "removed_bought": leaving(row, "bought"),
            "sold": leaving(row, "worth"),
        }
        columns = {name: 1 + place for place, name in enumerate(_TITLES)}
        put = {name: page.put(at, columns[name], usd, "number") for name, usd in figures.items()}
        put["held"] = page.put(at, columns["held"], found["held"][-1] + put["added"] if row else put["added"], "number")
        put["lot"] = page.put(at, columns["lot"], put["added"] + when(goes_on, put["removed"], 0.0), "number")
        put["price"] = page.put(
            at, columns["price"], (1.0 + names["purchase_price_change_per_year"]) ** (month / 12.0), "number"
        )
        put["bought"] = page.put(at, columns["bought"], put["lot"] * put["price"], "number")
        put["leaves"] = page.put(
            at, columns["leaves"], when(refresh.above(0.0), smallest(month + refresh, horizon), horizon), "number"
        )
        age = put["leaves"] - month
        worth = when(at_end.above(_ROUNDING), put["bought"] * resale(age) / at_end, put["bought"])
        put["worth"] = page.put(at, columns["worth"], worth, "number")
        books = put["bought"] - put["removed_bought"]
        put["books"] = page.put(at, columns["books"], found["books"][-1] + books if row else books, "number")
        for name, cell in put.items():
            found[name].append(cell)
    mean = product_sum(span(found["work"]), span(work.lengths)) / horizon
    page.put(2, 1, mean, "number")
    if sheet != BASE_STAGES:
        work.book.define_name("mean_work", f"='{page.name}'!$B$3")
    none = figure(0.0)
    return Stages(
        factors={name: tuple(cells) for name, cells in found.items()}
        | {"capacity": (none, *found["held"][:-1]), "equipment": (none, *found["books"][:-1])}
    )


def _work(work: Workbook, month: int) -> Figure:
    """Return the work of the year in which a month begins, over the first year's."""
    return (1.0 + work.names["growth_fraction_per_year"]) ** float(month // _YEAR)


def _added(work: Workbook, row: int, owner: tuple[Figure, Figure], held: list[Figure]) -> Figure:
    """Return the capacity that is added at the end of a month: whole nodes, and only where a year's work needs them."""
    if not row:
        return figure(1.0)
    if row % _YEAR:
        return figure(0.0)
    busy, nodes = owner
    needed = rounded_up(_work(work, row) * busy * nodes - _ROUNDING) / nodes
    goes_on = work.names["horizon_months"].above(work.months[row])
    return when(goes_on, largest(0.0, needed - held[-1]), 0.0)
