"""The sheet Bill: every line of every option with its price; lines that options share are linked, not repeated.

Prices of rented nodes are typed on Summary, from where this sheet takes them.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from clusterwright.outputs.workbook.inputs.contracts import Terms
from clusterwright.outputs.workbook.inputs.front import RentedNode, lead_to_bill, write_prices
from clusterwright.outputs.workbook.writing.formula import Figure
from clusterwright.outputs.workbook.writing.shared import Workbook, option_of
from clusterwright.plan.findings.price_evidence import age_days
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.ledger.priced_lines import is_by_term
from clusterwright.tco.terms.records import PricedLine

_COLUMNS = (
    "target",
    "item",
    "category",
    "quantity",
    "unit",
    "charge",
    "paid",
    "USD per unit",
    "USD per period",
    "basis",
    "in force from",
    "age, days",
    "source",
    "how the quantity was found",
)
_AFTER_NUMBERS = (4, 9)
_AGE_DAYS = 11
_NUMBERS = (3, 7, 8)
_QUANTITY, _UNIT_USD, _USD = _NUMBERS
_NAMED = {"bill_target": "A", "bill_category": "C", "bill_charge": "F", "bill_paid": "G", "bill_usd": "I"}
ONE_TIME = "one_time"


@dataclass(frozen=True, kw_only=True, slots=True)
class BillRow:
    """One line as the formulas over the bill choose it; `usd` is per hour, per month or once, None if unknown."""

    label: str
    category: str
    charge: str
    paid: str
    usd: float | None


def paid(line: PricedLine, terms: Terms | None = None) -> str:
    """Return when a line is paid: `once`, `while working`, `always`, `committed` (whether used or not) or `booked`."""
    if line.line.charge == "once":
        return "once"
    if line.term in COMMITTED_TERMS:
        return "committed"
    if terms is not None and terms.months is not None and is_by_term(line.line):
        return "booked"
    return "while working" if line.line.scales_with == "nodes" else "always"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """The bill's lines, and sums over them as formulas."""

    rows: tuple[BillRow, ...]

    def has(self, label: str, *, paid: str, category: str = "") -> bool:
        """Return whether an option rents a line of a kind; arguments as in `usd`."""
        return any(
            row.label == label and row.paid == paid and row.charge != "once" and _is_of(row.category, category)
            for row in self.rows
        )

    def usd(self, label: str, *, charge: str, paid: str = "", category: str = "") -> Figure:
        """Return SUMIFS over the bill: USD per hour, per month or once of an option's lines.

        Args:
            label: of the option on this sheet.
            charge: `hourly`, `monthly` or `once`.
            paid: as the function `paid` gives it; empty for all.
            category: of the lines; `<>` before a name leaves that one out; empty for all.
        """
        criteria = [f'bill_target,"{label}"', f'bill_charge,"{charge}"']
        criteria += [f'bill_paid,"{paid}"'] if paid else []
        criteria += [f'bill_category,"{category}"'] if category else []
        chosen = [
            row.usd or 0.0
            for row in self.rows
            if row.label == label
            and row.charge == charge
            and (not paid or row.paid == paid)
            and _is_of(row.category, category)
        ]
        return Figure(f"SUMIFS(bill_usd,{','.join(criteria)})", sum(chosen))

    def usd_per_month(self, work: Workbook, label: str, *, paid: str, category: str = "") -> Figure:
        """Return what an option's rented lines cost in a month in which they are paid all the time."""
        hourly = self.usd(label, charge="hourly", paid=paid, category=category)
        return hourly * work.names["hours_per_month"] + self.usd(label, charge="monthly", paid=paid, category=category)


def _is_of(category: str, wanted: str) -> bool:
    """Return whether a category is the one wanted, is not the one after `<>`, or any will do."""
    return not wanted or (category != wanted[2:] if wanted[:2] == "<>" else category == wanted)


def write_bill(work: Workbook, terms: Mapping[str, Terms]) -> Bill:
    """Write the bill: the plan's options, then every other term with its own lines and links to the shared ones.

    Args:
        work: the workbook.
        terms: how options under a contract are paid, by key.
    """
    page = work.page("Bill")
    page.sheet.freeze_panes(1, 2)
    page.sheet.repeat_rows(0)
    for column, title in enumerate(_COLUMNS):
        style = "right" if column in _NUMBERS else "after" if column in _AFTER_NUMBERS else "head"
        page.text(0, column, title, style)
    rows: list[BillRow] = []
    shared: dict[tuple[str, int], tuple[int, PricedLine]] = {}
    bills = [(option.target, option.target, option.money.lines) for option in work.plan.options]
    bills += [(cost.key, cost.target, cost.lines) for cost in work.found.costs if option_of(work.plan, cost) is None]
    front = write_prices(work)
    nodes = {(node.label, node.sku, node.usd): node for node in front}
    prices: dict[RentedNode, Figure] = {}
    for label, target, lines in bills:
        for place, line in enumerate(lines):
            at = len(rows) + 1
            first = shared.setdefault((target, place), (at, line))
            same_as = first[0] if first[1] == line and first[0] != at else 0
            node = nodes.get((label, line.line.sku, line.unit_usd or 0.0))
            price = None
            if node:  # a second line of one kind of node, such as the rest of a capacity block, follows the first
                price = (prices[node], "number") if node in prices else (front[node], "input")
            rows.append(_write(work, at, (label, line), terms.get(label), same_as=same_as, taken=price))
            if node:
                prices.setdefault(node, page.cell(at, _UNIT_USD, node.usd))
    lead_to_bill(work, {node: prices[node] for node in front})
    page.sheet.autofit(520)
    page.sheet.autofilter(0, 0, max(len(rows), 1), len(_COLUMNS) - 1)
    for name, letter in _NAMED.items():
        work.book.define_name(name, f"=Bill!${letter}$2:${letter}${max(len(rows), 1) + 1}")
    return Bill(rows=tuple(rows))


def _write(
    work: Workbook,
    row: int,
    entry: tuple[str, PricedLine],
    terms: Terms | None,
    *,
    same_as: int,
    taken: tuple[Figure, str] | None,
) -> BillRow:
    """Write one line of an option; one that another option has too takes its quantity and price from there.

    Args:
        work: the workbook.
        row: of the line on the sheet.
        entry: the option as this sheet calls it, and its line.
        terms: how the option is paid, None without a contract.
        same_as: row of the same line of another option, 0 if it has none.
        taken: cell that the price of a rented node is taken from, and how it is shown; None for all else.
    """
    page, (label, line) = work.page("Bill"), entry
    when_paid = paid(line, terms)
    found = BillRow(label=label, category=line.line.category, charge=line.line.charge, paid=when_paid, usd=None)
    texts = {
        0: label,
        1: line.line.item,
        2: line.line.category,
        4: line.line.unit,
        5: line.line.charge,
        6: when_paid,
        9: line.basis,
        10: line.price_date,
        13: line.line.note,
        12: line.source + (f": {line.note}" if line.note else ""),
    }
    for column, text in texts.items():
        page.text(row, column, text, "text" if column in _AFTER_NUMBERS else None)
    age = age_days(line, dt.date.fromisoformat(work.plan.as_of))
    if age is not None:
        page.number(row, _AGE_DAYS, age, "number")
    quantity = float(line.line.quantity)
    if same_as:
        count = page.put(row, _QUANTITY, page.cell(same_as, _QUANTITY, quantity), "number")
    else:
        count = page.number(row, _QUANTITY, quantity, "input")
    if line.unit_usd is None:
        for column in (_UNIT_USD, _USD):
            page.text(row, column, "unknown", "text_right")
        return found
    if taken is not None:
        price = page.put(row, _UNIT_USD, *taken)
    elif same_as:
        price = page.put(row, _UNIT_USD, page.cell(same_as, _UNIT_USD, line.unit_usd), "number")
    else:
        price = page.number(row, _UNIT_USD, line.unit_usd, "input")
    off = None if terms is None or line.line.charge == "once" else terms.discount_on(line.line.category)
    usd = page.put(row, _USD, count * price if off is None else count * price * (1.0 - off))
    return replace(found, usd=float(usd.value or 0.0))
