"""The sheets Returns: what owning brings against each rented option, as an investment, in live formulas."""

import math
from collections.abc import Callable
from itertools import pairwise

from clusterwright.finance.returns import Return
from clusterwright.finance.words import owning_text
from clusterwright.outputs.workbook.inputs.bill import Bill
from clusterwright.outputs.workbook.inputs.stages import staged
from clusterwright.outputs.workbook.months.by_option import sums
from clusterwright.outputs.workbook.writing.annuity import rate_of_return
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    Span,
    figure,
    item,
    numbers,
    product_sum,
    smallest,
    span,
    when,
    whole,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import RUNNING, Flows, Workbook, bill_label
from clusterwright.plan.text.words import capital


def last_below(cells: Span, limit: float) -> Figure:
    """Return the place, counted from one, of the last cell below a limit; 0 if there is none."""
    return _last(cells, f"<{figure(limit).text}", lambda usd: usd < limit)


def last_above(cells: Span, limit: float) -> Figure:
    """Return the place, counted from one, of the last cell above a limit; 0 if there is none."""
    return _last(cells, f">{figure(limit).text}", lambda usd: usd > limit)


def sign_changes(cells: Span) -> Figure:
    """Return how often cells side by side differ in sign."""
    first, _, last = cells.text.partition(":")
    sheet, _, start = first.rpartition("!")
    earlier = f"{first}:{_moved(last, -1)}"
    later = f"{sheet}!{_moved(start, 1)}:{last}"
    usd = numbers(cells)
    found = sum(one * two < 0 for one, two in pairwise(usd))
    return Figure(f"SUMPRODUCT(--({earlier}*{later}<0))", float(found))


def _moved(cell: str, rows: int) -> str:
    """Return an absolute cell such as `$B$7` some rows further down."""
    letters, row = cell.rsplit("$", 1)
    return f"{letters}${int(row) + rows}"


def _last(cells: Span, test: str, chosen: Callable[[float], bool]) -> Figure:
    place = max((number for number, usd in enumerate(numbers(cells), start=1) if chosen(usd)), default=0)
    first = cells.text.partition(":")[0]
    text = f"SUMPRODUCT(MAX(({cells.text}{test})*(ROW({cells.text})-ROW({first})+1)))"
    return Figure(text, float(place))


_FIRST = 4
_COLUMNS = (
    "owning against",
    "present value saved, USD",
    "internal rate of return a year",
    "changes of sign",
    "money back, month",
    "money back discounted, month",
    "breakeven, month (resale left out)",
    "breakeven utilisation",
    "breakeven node price, of the price counted",
    "price counted, USD per GPU-hour",
    "breakeven price, USD per GPU-hour",
    "reason where there is none",
)
_BY_MONTH = (
    "saved, USD",
    "saved so far, USD",
    "saved so far, discounted, USD",
    "owner paid more, resale left out, USD",
)
_ROUNDING_USD = 5e-5
_GUESS = 0.01


def write_returns(work: Workbook, bill: Bill) -> dict[str, dict[str, Figure]]:
    """Write both sheets; return the figures of each rented option, by key and name."""
    page, by_month = work.page("Returns"), work.page("Returns by month")
    page.title(
        f"{capital(owning_text(work.found))} as an investment: what is not paid in rent",
        "Internal rate: per year, compounded monthly. Breakeven utilisation: above it owning costs less (0: at any).",
    )
    page.widths(34, rest=17, columns=len(_COLUMNS) - 1)
    page.sheet.set_column(len(_COLUMNS) - 1, len(_COLUMNS) - 1, 32)
    page.sheet.freeze_panes(_FIRST, 1)
    own = work.owned
    if own is None or not work.rented:
        page.text(_FIRST, 0, "Nothing is owned, or nothing rented, in this plan: there is nothing to compare.", "note")
        return {}
    page.head(_FIRST - 1, _COLUMNS)
    by_month.title("What owning saves by month", "Paid by renting less paid by owning; months as on Cash by option.")
    by_month.widths(9, rest=17, columns=1 + len(_BY_MONTH) * len(work.rented))
    by_month.sheet.freeze_panes(_FIRST, 1)
    by_month.sheet.repeat_columns(0)
    by_month.sheet.fit_to_pages(0, 1)
    by_month.head(_FIRST - 1, ("month",), texts=0)
    for row, month in enumerate(work.months):
        by_month.put(_FIRST + row, 0, month, "number")
    known = {entry.rented_key: entry for entry in work.found.returns if entry.owned_key == own.key}
    found = {}
    for place, flows in enumerate(work.rented):
        spans = _by_month(work, by_month, own, flows, 1 + place * len(_BY_MONTH))
        found[flows.key] = _figures(work, bill, (own, flows), spans, known.get(flows.key))
        row = _FIRST + place
        page.text(row, 0, flows.label)
        for column, (name, style) in enumerate(_STYLES.items(), start=1):
            found[flows.key][name] = page.put(row, column, found[flows.key][name], style)
        entry = known.get(flows.key)
        page.text(row, len(_COLUMNS) - 1, entry.reason if entry else "")
    return found


_STYLES = {
    "npv": "usd",
    "irr": "share_2",
    "changes": "count",
    "payback": "month",
    "discounted_payback": "month",
    "breakeven_months": "month",
    "utilisation": "share_2",
    "price_share": "share_2",
    "price": "unit_usd",
    "breakeven_price": "unit_usd",
}


def _by_month(work: Workbook, page: Page, own: Flows, flows: Flows, column: int) -> dict[str, Span]:
    page.text(_FIRST - 2, column, flows.label, "bold")
    page.head(_FIRST - 1, _BY_MONTH, texts=0, column=column)
    cells: dict[str, list[Figure]] = {name: [] for name in _BY_MONTH}
    for row in range(work.rows):
        at = _FIRST + row
        saved = page.put(at, column, flows.in_month(row) - own.in_month(row))
        discounted = saved * work.factors[row]
        gap = own.in_month(row, (*RUNNING, "bought")) - flows.in_month(row, (*RUNNING, "bought"))
        if staged(work) and own.of("sold"):
            # Equipment that is replaced is sold for cash that comes before the end.
            gap += when(work.months[row].equals(work.names["horizon_months"]), 0.0, own.of("sold")[row])
        amounts = [saved, discounted, gap]
        cells[_BY_MONTH[0]].append(saved)
        for name, amount, place in zip(_BY_MONTH[1:], amounts, range(1, 4), strict=True):
            before = cells[name]
            cells[name].append(page.put(at, column + place, before[-1] + amount if before else amount))
    return {name: span(found) for name, found in cells.items()}


def _figures(
    work: Workbook, bill: Bill, pair: tuple[Flows, Flows], spans: dict[str, Span], known: Return | None
) -> dict[str, Figure]:
    own, flows = pair
    saved, so_far, discounted, gap = (spans[name] for name in _BY_MONTH)
    months = span(work.months)
    changes = sign_changes(saved)
    nodes = _nodes(work, bill, flows)
    parts, own_parts = sums(flows), sums(own)
    everything = [sum(found.values(), start=figure(0.0)) for found in (own_parts, parts)]
    left = everything[0] - (everything[1] - nodes["horizon"])
    share = when(left.above(-1e-12), left / nodes["horizon"], "none").or_else("none")
    factor = known.breakeven_rent_factor if known else None
    counted = share.value if isinstance(share.value, float) else None
    same = counted == factor or (counted is not None and factor is not None and math.isclose(counted, factor))
    if not same or flows.key in work.not_live or _by_steps(work, flows.key):
        # What no formula counts may follow the price of nodes, as a discount does, or by steps: the engine's number.
        share = Figure('"none"', "none") if factor is None else figure(factor)
    return {
        "npv": product_sum(saved, span(work.factors)),
        "irr": _internal_rate(work, saved, changes, known),
        "changes": changes,
        "payback": _crossing(months, so_far, last_below(so_far, -_ROUNDING_USD), work.rows),
        "discounted_payback": _crossing(months, discounted, last_below(discounted, -_ROUNDING_USD), work.rows),
        "breakeven_months": _crossing(months, gap, last_above(gap, 0.0), work.rows),
        "utilisation": _utilisation(work, own_parts, parts),
        "price_share": share,
        "price": nodes["per_gpu_hour"],
        "breakeven_price": (nodes["per_gpu_hour"] * share).or_else("none"),
    }


def _by_steps(work: Workbook, key: str) -> bool:
    """Tell whether the cost of an option follows the price of its nodes by steps: tiers, a committed spend."""
    candidate = next((entry for entry in work.found.ledger.candidates if entry.key == key), None)
    if candidate is None:
        return False
    support, contract = candidate.support, candidate.contract
    return (support is not None and (len(support.tiers) > 1 or support.minimum_usd > 0)) or (
        contract is not None and contract.committed_usd_per_year > 0
    )


def _internal_rate(work: Workbook, saved: Span, changes: Figure, known: Return | None) -> Figure:
    if known is None or known.irr_per_year is None:
        several = "several, see the reason" if changes.value else "none"
        return when(changes.equals(0.0), "none", several)
    guess = (1.0 + known.irr_per_year) ** (1.0 / 12.0) - 1.0
    yearly = ((1.0 + rate_of_return(saved, round(guess, 4) or _GUESS)) ** 12.0 - 1.0).or_else("none")
    horizon = work.names["horizon_months"]
    return when(whole(horizon).equals(horizon), yearly, "none for a part of a month")


def _crossing(months: Span, usd: Span, last: Figure, rows: int) -> Figure:
    """Return the month after the last one on the wrong side, by a straight line; never if that is the last one."""
    here, there = item(usd, last), item(usd, last + 1.0)
    month = item(months, last)
    line = month + (item(months, last + 1.0) - month) * smallest(1.0, here / (here - there))
    return when(last.equals(0.0), 0.0, when(last.equals(float(rows)), "never", line))


def _utilisation(work: Workbook, own: dict[str, Figure], rented: dict[str, Figure]) -> Figure:
    """Return the share of the horizon above which owning costs less: more that is fixed over less by use."""
    more = (own["bought"] + own["kept"] + own["sold"]) - (rented["bought"] + rented["kept"] + rented["sold"])
    less = (rented["used"] - own["used"]) / work.names["utilisation"]
    share = when(less.above(0.0), more / less, "none").or_else("none")
    always = when(more.at_most(less), 0.0, "none")
    return when(more.at_most(0.0), always, when(less.above(0.0), when((more / less).above(1.0), "none", share), "none"))


def _nodes(work: Workbook, bill: Bill, flows: Flows) -> dict[str, Figure]:
    """Return what follows the price of rented GPU nodes over the horizon, and that price per GPU-hour."""
    label = bill_label(work, flows.cost)
    per_gpu_hour = bill.usd(label, charge="hourly", category="compute") / flows.gpus
    if flows.following is not None:
        return {"horizon": flows.following, "per_gpu_hour": per_gpu_hour}
    by_use = bill.usd_per_month(work, label, paid="while working", category="compute") * flows.busy
    by_use *= work.names.get("mean_work", figure(1.0))
    standing = bill.usd_per_month(work, label, paid="always", category="compute")
    nodes = (by_use + standing) * work.names["horizon_months"] + flows.sum_of("committed")
    return {"horizon": nodes, "per_gpu_hour": per_gpu_hour}
