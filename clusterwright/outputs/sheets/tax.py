"""The sheets Tax and After tax by month: depreciation by year, book value, disposal, and every option after tax."""

from dataclasses import dataclass

from clusterwright.outputs.sheets.by_option import sums
from clusterwright.outputs.sheets.formula import (
    Figure,
    Span,
    added,
    both,
    figure,
    largest,
    looked_up,
    product_sum,
    span,
    total,
    total_where,
    when,
)
from clusterwright.outputs.sheets.inputs import methods
from clusterwright.outputs.sheets.page import Page
from clusterwright.outputs.sheets.shared import Flows, Workbook, label_of
from clusterwright.tco.finance import depreciation_fractions

_FIRST = 4
_SCHEDULE = (
    "year after the purchase", "falls due, month", "share of the method", "share with the bonus", "written off, USD",
    "book value after it, USD", "tax it saves, USD", "present value of it, USD",
)  # fmt: skip
_OPTIONS = (
    "where and how", "before tax, USD", "present value before tax, USD", "tax on running costs, USD",
    "tax on writing off and sale, USD", "after tax, USD", "present value after tax, USD", "most cash out, USD",
)  # fmt: skip


#: An option's key, its cash, and its running costs by month.
_Option = tuple[str, Flows, tuple[Figure, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Books:
    """What the owner writes off, as cells; `shield_worth` is the present value of the tax saved.

    Attributes:
        due, written, years, shield: by year; purchase, sale, left, tax_of_disposal: sums.
    """

    due: Span
    written: Span
    years: tuple[Figure, ...]
    shield: Span
    shield_worth: Figure
    purchase: Figure
    sale: Figure
    left: Figure
    tax_of_disposal: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxed:
    """One option after tax, as cells; `running`, `capital` by month row, `opex` and `depreciation` over the horizon."""

    key: str
    label: str
    owned: bool
    running: tuple[Figure, ...]
    after: tuple[Figure, ...]
    figures: dict[str, Figure]


def write_tax(work: Workbook) -> tuple[Books | None, dict[str, Taxed]]:
    """Write both sheets; return the owner's books and every option after tax, by key."""
    page, by_month = work.page("Tax"), work.page("After tax by month")
    page.title(
        "Depreciation, and every option after tax",
        "Tax on running costs falls due with them; that of a year's depreciation at its end, counted from the "
        "purchase; that of the sale at the end of the horizon.",
    )
    page.widths(34, rest=19, columns=max(len(_OPTIONS), 1 + len(methods())))
    books = _books(work, page) if work.owned else None
    start = _FIRST + (_years() + 7 if books else 0)
    page.head(start, _OPTIONS)
    by_month.title(
        "After tax by month", "Running costs before tax, cash after tax and its running sum; paid is positive."
    )
    by_month.widths(9, rest=18, columns=1 + 3 * (len(work.flows) + 1))
    by_month.sheet.freeze_panes(_FIRST, 1)
    by_month.sheet.repeat_columns(0)
    by_month.sheet.fit_to_pages(0, 1)
    by_month.head(_FIRST - 1, ("month",), texts=0)
    for row, month in enumerate(work.months):
        by_month.put(_FIRST + row, 0, month, "number")
    found: dict[str, Taxed] = {}
    for place, option in enumerate(_running(work)):
        key, flows, _ = option
        owner = books if flows.bought or flows.sold else None
        taxed = _one(work, by_month, 1 + 3 * place, option, owner)
        _result(page, start + 1 + place, taxed)
        found[key] = taxed
    _tables(work, page, start + len(found) + 3)
    return books, found


def _years() -> int:
    return max(len(depreciation_fractions(method)) for method in methods())


def _books(work: Workbook, page: Page) -> Books:
    owned = work.owned
    assert owned is not None  # noqa: S101 - the caller has looked
    parts = sums(owned)
    names = work.names
    page.text(_FIRST - 2, 0, f"Written off: {owned.label}", "bold")
    page.head(_FIRST - 1, _SCHEDULE, texts=0)
    purchase = parts["bought"]
    at = _FIRST + _years()
    labels = ("purchase, USD", "sale, USD", "book value at the sale, USD", "gain or loss on the sale, USD",
              "tax on it, USD")  # fmt: skip
    bought = page.cell(at + 1, 1, purchase.value)
    header, rows = _table_spans(work, page)
    due, written, shields, worth, book = [], [], [], [], bought
    for place in range(_years()):
        row = _FIRST + place
        year = page.number(row, 0, float(place + 1), "count")
        month = page.put(row, 1, year * 12.0, "count")
        share = page.put(row, 2, looked_up(rows[place], header, names["depreciation_method"]), "share_2")
        with_bonus = share * (1.0 - names["bonus_depreciation"])
        with_bonus = page.put(row, 3, with_bonus + names["bonus_depreciation"] if place == 0 else with_bonus, "share_2")
        usd = page.put(row, 4, when(month.at_most(names["horizon_months"]), bought * with_bonus, 0.0))
        book = page.put(row, 5, book - usd)
        shields.append(page.put(row, 6, names["tax_rate"] * usd))
        factor = (1.0 + names["discount_rate"]) ** (-month / 12.0)
        worth.append(page.put(row, 7, shields[-1] * factor))
        due.append(month)
        written.append(usd)
    for place, label in enumerate(labels, start=1):
        page.text(at + place, 0, label)
    page.put(at + 1, 1, purchase)
    sale = page.put(at + 2, 1, -parts["sold"])
    left = page.put(at + 3, 1, bought - total(span(written)))
    gain = page.put(at + 4, 1, sale - left)
    tax = page.put(at + 5, 1, names["tax_rate"] * gain)
    return Books(
        due=span(due), written=span(written), years=tuple(written), shield=span(shields),
        shield_worth=total(span(worth)), purchase=bought, sale=sale,
        left=left, tax_of_disposal=tax,
    )  # fmt: skip


def _tables_row(work: Workbook) -> int:
    options = len(work.flows) + (1 if work.found.taxed.delivery_months else 0)
    return _FIRST + _years() + 7 + options + 3


def _table_spans(work: Workbook, page: Page) -> tuple[Span, list[Span]]:
    """Return the methods' names and the shares of every year, as they stand below the options."""
    top = _tables_row(work)
    columns = range(1, 1 + len(methods()))
    header = span([page.cell(top + 1, column, name) for column, name in zip(columns, methods(), strict=True)])
    tables = [depreciation_fractions(method) for method in methods()]
    rows = [
        span(
            [
                page.cell(top + 2 + year, column, table[year] if year < len(table) else 0.0)
                for column, table in zip(columns, tables, strict=True)
            ]
        )
        for year in range(_years())
    ]
    return header, rows


def _tables(work: Workbook, page: Page, top: int) -> None:
    if work.owned is None:
        return
    page.text(top, 0, "Shares by method and year (before the bonus)", "bold")
    page.text(top + 1, 0, "year", "head")
    for column, method in enumerate(methods(), start=1):
        page.text(top + 1, column, method, "right")
        table = depreciation_fractions(method)
        for year in range(_years()):
            page.number(top + 2 + year, column, table[year] if year < len(table) else 0.0, "share_input")
    for year in range(_years()):
        page.number(top + 2 + year, 0, float(year + 1), "count")
    page.text(
        top + 3 + _years(),
        0,
        "MACRS: half-year convention, IRS Publication 946 table A-1; tco/depreciation.csv",
        "note",
    )


def _running(work: Workbook) -> list[_Option]:
    """Return every option with its running costs by month; with a delivery, the owner rented until then too."""
    found = [(flows.key, flows, tuple(flows.running(row) for row in range(work.rows))) for flows in work.flows.values()]
    taxed = work.found.taxed
    owned, bridge = work.owned, work.flows.get(taxed.bridged_by)
    if not taxed.delivery_months or owned is None or bridge is None:
        return found
    until = work.names["delivery_months"]
    mixed = tuple(
        when(month.at_most(until), bridge.running(row), owned.running(row)) for row, month in enumerate(work.months)
    )
    return [*found, (f"{owned.key}/bridged", owned, mixed)]


def _one(work: Workbook, page: Page, column: int, option: _Option, books: Books | None) -> Taxed:
    names = work.names
    key, flows, running = option
    page.text(_FIRST - 2, column, label_of(key), "bold")
    titles = ("running costs, USD", "cash after tax, USD", "so far, USD")
    page.head(_FIRST - 1, titles, texts=0, column=column)
    after: list[Figure] = []
    so_far: list[Figure] = []
    paid: list[Figure] = []
    for row, month in enumerate(work.months):
        at = _FIRST + row
        paid.append(page.put(at, column, running[row]))
        parts = [(1.0 - names["tax_rate"]) * paid[row]]
        if books is not None:
            parts += [cells[row] for cells in (flows.bought, flows.sold) if cells]
            dated = work.lengths[row].above(0.0)
            parts.append(when(dated, -total_where(books.shield, books.due, month), 0.0))
            last = both(month.equals(names["horizon_months"]), dated)
            parts.append(when(last, books.tax_of_disposal, 0.0))
        after.append(page.put(at, column + 1, added(parts)))
        so_far.append(page.put(at, column + 2, so_far[-1] + after[row] if so_far else after[row]))
    factors = span(work.factors)
    capital = sums(flows)["bought"] + sums(flows)["sold"] if books else figure(0.0)
    opex = total(span(paid))
    saved = total(books.shield) - books.tax_of_disposal if books else figure(0.0)
    worth = product_sum(span(paid), factors) + (_capital_worth(flows, work) if books else 0.0)
    return Taxed(
        key=key,
        label=label_of(key),
        owned=books is not None,
        running=tuple(paid),
        after=tuple(after),
        figures={
            "before": opex + capital,
            "npv_before": worth,
            "tax_running": -(names["tax_rate"] * opex),
            "tax_capital": -saved if books else figure(0.0),
            "after": total(span(after)),
            "npv_after": product_sum(span(after), factors),
            "peak": largest(span(so_far)),
        },
    )


def _capital_worth(flows: Flows, work: Workbook) -> Figure:
    columns = [cells for cells in (flows.bought, flows.sold) if cells]
    return added([product_sum(span(cells), span(work.factors)) for cells in columns])


def _result(page: Page, row: int, taxed: Taxed) -> None:
    page.text(row, 0, taxed.label)
    for column, (name, found) in enumerate(list(taxed.figures.items()), start=1):
        taxed.figures[name] = page.put(row, column, found)
