"""The columns of an option's cash sheet: what each is counted by and when it is paid, as formulas.

Which costs an owner has is data (`tco/owner_costs.csv`); how they are counted is written here a second time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.bill import ONE_TIME, Bill
from clusterwright.outputs.workbook.inputs.sheet import METHOD
from clusterwright.outputs.workbook.inputs.stages import Stages, staged
from clusterwright.outputs.workbook.writing.formula import Figure, added, both, figure, largest, smallest, when
from clusterwright.outputs.workbook.writing.shared import Asset, Class, Workbook
from clusterwright.plan.record import Option
from clusterwright.tco.terms.owner_costs import OwnerCost, owner_costs

#: What a cost is counted by, in the words of the stages.
_UNITS = {"equipment_usd": "usd", "cluster": "cluster"}
#: Which factor of the stages a cost is multiplied with: by when it is paid and what it is counted by.
_STAGED = {
    ("start", "usd"): "bought",
    ("start", "capacity"): "added",
    ("sale", "usd"): "sold",
    ("sale", "capacity"): "removed",
    ("end", "usd"): "removed_bought",
    ("end", "capacity"): "removed",
    ("close", "usd"): "removed_bought",
    ("close", "capacity"): "removed",
    ("month", "usd"): "equipment",
    ("month", "capacity"): "capacity",
    ("month", "work"): "work",
}


#: What is written off like the rest, and replaced like it.
EQUIPMENT = Asset()
#: Categories of what is kept where equipment is replaced.
_STAYS = ("building", "software", ONE_TIME)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """An amount of one column: what it is, when it is paid, and by what it is counted.

    `due`: order, start, sale, end, close or month. `warranted`: paid by the month, after the warranty.
    """

    usd: Figure
    due: str
    unit: str = "usd"
    warranted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Formula:
    """One column: its parts are added up; `asset`: the class of what it buys."""

    title: str
    kind: Class
    parts: tuple[Part, ...]
    asset: Asset = EQUIPMENT


def columns_of(work: Workbook, option: Option, bill: Bill, facts: Mapping[str, Figure]) -> list[Formula]:
    """Return the option's columns: what is bought, the owner's costs, what is rented.

    Args:
        work: the workbook.
        option: of the plan.
        bill: the bill's lines.
        facts: cells that costs are counted by, by name of the driver, and `busy`.
    """
    cluster = option.cluster
    label = option.target
    charges = {line.line.charge for line in option.money.lines}
    found = []
    if "once" in charges:
        found += _purchases(work, option, bill)
    if cluster.it_power_w is not None:
        found += _owned(work, facts)
    if cluster.it_power_w is None or charges & {"hourly", "monthly"}:
        rents = {
            "while working": Part(
                usd=bill.usd_per_month(work, label, paid="while working") * facts["busy"], due="month", unit="work"
            ),
            "always": Part(usd=bill.usd_per_month(work, label, paid="always"), due="month", unit="cluster"),
            "committed": Part(usd=bill.usd_per_month(work, label, paid="committed"), due="month", unit="committed"),
        }
        standing: Class = "standing" if cluster.it_power_w is None else "kept"
        kinds: dict[str, Class] = {"while working": "used", "always": standing, "committed": "committed"}
        found += [
            Formula(title=f"rent {name}", kind=kinds[name], parts=(part,))
            for name, part in rents.items()
            if bill.has(label, paid=name)
        ]
    return found


def _purchases(work: Workbook, option: Option, bill: Bill) -> list[Formula]:
    """Return what the bill buys: in one column, and in one of its own what is written off or paid otherwise."""
    label = option.target
    rest, found = bill.usd(label, charge="once"), []
    for category in sorted({line.line.category for line in option.money.lines if line.line.charge == "once"}):
        asset = asset_of(work, category)
        if asset != EQUIPMENT or category == ONE_TIME:
            usd = bill.usd(label, charge="once", category=category)
            rest -= usd
            part = Part(usd=usd, due="order" if category == ONE_TIME else "start")
            found.append(Formula(title=f"purchase: {category}", kind="bought", parts=(part,), asset=asset))
    return [Formula(title="purchase", kind="bought", parts=(Part(usd=rest, due="start"),)), *found]


def asset_of(work: Workbook, category: str) -> Asset:
    """Return the class that what is bought in a category belongs to."""
    return Asset(
        category=category if f"{METHOD}_of_{category}" in work.names else "",
        stays=category in _STAYS and staged(work),
    )


def _owned(work: Workbook, facts: Mapping[str, Figure]) -> list[Formula]:
    terms: dict[tuple[str, str], list[OwnerCost]] = {}
    for term in owner_costs():
        if term.driver in facts and all(name in work.names for name in term.parameters):
            terms.setdefault((term.item, term.category), []).append(term)
    return [_owner_column(work, facts, item, group) for (item, _), group in terms.items()]


def _owner_column(work: Workbook, facts: Mapping[str, Figure], item: str, group: list[OwnerCost]) -> Formula:
    parts = []
    for term in group:
        usd = facts[term.driver] * term.multiplier if term.multiplier != 1 else facts[term.driver]
        for name in term.parameters:
            usd *= work.names[name]
        if term.paid == "hour":
            usd *= work.names["hours_per_month"]
        elif term.paid in ("year", "year_after_warranty"):
            usd /= 12.0
        variable = term.fixed_or_variable == "variable"
        parts.append(
            Part(
                usd=usd * facts["busy"] if variable else usd,
                due=term.paid if term.paid in ("start", "sale", "end", "close") else "month",
                unit="work" if variable else _UNITS.get(term.driver, "capacity"),
                warranted=term.paid == "year_after_warranty",
            )
        )
    first = group[0]
    kind: Class = (
        "sold"
        if first.category == "resale"
        else "bought"
        if first.capex_or_opex == "capex"
        else "used"
        if first.fixed_or_variable == "variable"
        else "kept"
    )
    return Formula(title=item, kind=kind, parts=tuple(parts), asset=asset_of(work, first.category))


@dataclass(frozen=True, kw_only=True, slots=True)
class Month:
    """A row: its number, the end of its month, its length, and the option's share of the horizon at work."""

    row: int
    end: Figure
    length: Figure
    busy: Figure


def amount_of(work: Workbook, stages: Stages | None, column: Formula, month: Month) -> Figure:
    """Return what is paid in a month; parts that are paid at the same times are added before they are multiplied."""
    together: dict[tuple[str, str, bool], list[Figure]] = {}
    for part in column.parts:
        together.setdefault((part.due, part.unit, part.warranted), []).append(part.usd)
    return added(
        [
            _due(work, stages, added(amounts), (due, unit, warranted), month)
            for (due, unit, warranted), amounts in together.items()
        ]
    )


def _due(work: Workbook, stages: Stages | None, usd: Figure, kind: tuple[str, str, bool], month: Month) -> Figure:
    due, unit, warranted = kind
    last = both(month.end.equals(work.names["horizon_months"]), month.length.above(0.0))
    if due == "month":
        return usd * _standing(stages, unit, month) * _length(work, warranted, month)
    if due == "order":
        return usd if month.row == 0 else figure(0.0)
    if stages is None:
        if due == "start":
            return usd if month.row == 0 else figure(0.0)
        return when(last, usd, 0.0)
    if due == "close":
        return when(last, usd * stages.factors[_STAGED[due, unit]][month.row], 0.0)
    return usd * stages.factors[_STAGED[due, unit]][month.row]


def _standing(stages: Stages | None, unit: str, month: Month) -> Figure:
    """Return how much of the first purchase is, or of the first year's work is done, in a month."""
    if unit == "committed":
        return largest(1.0, month.busy * stages.factors["work"][month.row] if stages else month.busy)
    if stages is None or unit == "cluster":
        return figure(1.0)
    return stages.factors[_STAGED["month", unit]][month.row]


def _length(work: Workbook, warranted: bool, month: Month) -> Figure:
    """Return how long a month is, or how much of it lies after the warranty."""
    if not warranted or "warranty_months" not in work.names:
        return month.length
    return smallest(month.length, largest(0.0, month.end - work.names["warranty_months"]))
