"""The sheets Tax and After tax by month: depreciation by year, book value, disposal, and every option after tax."""

from dataclasses import dataclass

from clusterwright.outputs.workbook.tax.books import (
    Books,
    engine_books,
    write_books,
    write_calendar,
    write_shares,
    years_of,
)
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    figure,
    largest,
    product_sum,
    rounded_up,
    span,
    total,
    total_where,
    when,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import CAPITAL, RUNNING, Flows, Rows, Workbook, label_of

_FIRST = 4
_SCHEDULE = ("year after the purchase", "written off, USD", "book value after it, USD", "tax it saves, USD")
_OPTIONS = (
    "where and how",
    "before tax, USD",
    "present value before tax, USD",
    "tax on running costs, USD",
    "tax on writing off and sale, USD",
    "after tax, USD",
    "present value after tax, USD",
    "most cash out, USD",
)


#: Columns by month: of every option, and after the first of them those of one that buys.
_PAID = ("running costs, USD", "cash after tax, USD", "so far, USD")
_CAPITAL = (
    "bought, USD",
    "sold, USD",
    "written off, USD",
    "book value of what leaves, USD",
    "tax of the capital, USD",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxed:
    """One option after tax, as cells by month row; `figures` are sums over the horizon.

    Attributes:
        running: costs; bought, sold: capital, empty where nothing is; written: written off; left: what the books still
            show for what leaves; capital_tax: what writing off and sales do to the tax; after: all after tax.
    """

    key: str
    label: str
    running: Rows
    bought: Rows
    sold: Rows
    written: Rows
    left: Rows
    capital_tax: Rows
    after: Rows
    figures: dict[str, Figure]

    @property
    def buys(self) -> bool:
        """Whether anything is bought."""
        return bool(self.bought)


def write_tax(work: Workbook) -> dict[str, Taxed]:
    """Write the sheets Tax, Books by month and After tax by month; return every option after tax, by key."""
    page, by_month = work.page("Tax"), work.page("After tax by month")
    options = list(work.flows.values())
    assets = list(dict.fromkeys(asset for option in options for asset in option.assets))
    page.title(
        "Every option after tax, and what is written off",
        "Tax on running costs falls due with them; that of a year's depreciation at its end, counted from the "
        "purchase; that of a sale with the sale.",
    )
    page.widths(34, rest=19, columns=len(_OPTIONS))
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, _OPTIONS)
    by_month.title(
        "After tax by month",
        "Tax = - rate x (running costs + written off + book value of what leaves - sale); paid is positive.",
    )
    by_month.widths(9, rest=18, columns=1)
    by_month.sheet.freeze_panes(_FIRST, 1)
    by_month.sheet.repeat_columns(0)
    by_month.sheet.fit_to_pages(0, 1)
    by_month.head(_FIRST - 1, ("month",), texts=0)
    for row, month in enumerate(work.months):
        by_month.put(_FIRST + row, 0, month, "number")
    schedule = _FIRST + len(options) + 2
    shares = write_shares(work, schedule + years_of(work) + 10, assets) if assets else {}
    if assets:
        write_calendar(work)
    found: dict[str, Taxed] = {}
    column = 1
    for place, option in enumerate(options):
        books = (
            write_books(work, option.key, option.assets, shares) if option.assets else engine_books(work, option.key)
        )
        taxed = _one(work, column, option, books)
        _result(page, _FIRST + place, taxed)
        found[option.key] = taxed
        column += len(_PAID) + (len(_CAPITAL) if taxed.buys else 0)
    if work.owned is not None:
        _schedule(work, page, schedule, found.get(f"{work.owned.key}/bridged", found[work.owned.key]))
    return found


def _schedule(work: Workbook, page: Page, top: int, owner: Taxed) -> None:
    """Write the owner's books by year: written off, book value, the tax it saves; and the sale at the end."""
    names, dated = work.names, span(work.years)
    horizon = names["horizon_months"]
    page.text(top, 0, f"Written off: {owner.label}", "bold")
    page.head(top + 1, _SCHEDULE, texts=0)
    end = top + 2 + years_of(work)
    at_end = page.money(end + 2, 1, total_where(span(owner.left), span(work.months), horizon).value)
    book = figure(0.0)
    for year in range(1, years_of(work) + 1):
        row, wanted = top + 1 + year, figure(float(year))
        page.number(row, 0, float(year), "count")
        written = page.put(row, 1, total_where(span(owner.written), dated, wanted))
        bought, left = (total_where(span(cells), dated, wanted) for cells in (owner.bought, owner.left))
        sale = when(rounded_up(horizon / 12.0).equals(wanted), at_end, 0.0)
        book = page.put(row, 2, (book if year > 1 else figure(0.0)) + bought - written - left + sale)
        page.put(row, 3, names["tax_rate"] * written)
    saved = product_sum(span(owner.written), span(work.factors)) * names["tax_rate"]
    sold = -total_where(span(owner.sold), span(work.months), horizon)
    figures = (
        ("purchases, USD", total(span(owner.bought))),
        ("sale at the end, USD", sold),
        ("book value at the sale, USD", total_where(span(owner.left), span(work.months), horizon)),
        ("gain or loss on the sale, USD", page.money(end + 1, 1, sold.value) - at_end),
        ("tax on it, USD", names["tax_rate"] * page.money(end + 3, 1, (sold - at_end).value)),
        ("present value of the tax that writing off saves, USD", saved),
    )
    for row, (title, usd) in enumerate(figures, start=end):
        page.label(row, 0, title)
        page.put(row, 1, usd)


def _one(work: Workbook, column: int, option: Flows, books: Books) -> Taxed:
    """Write one option's months; the owner's capital is in columns of its own."""
    page, rate = work.page("After tax by month"), work.names["tax_rate"]
    buys = bool(option.of("bought") or option.of("sold"))
    titles = (_PAID[0], *(_CAPITAL if buys else ()), *_PAID[1:])
    page.text(_FIRST - 2, column, label_of(option.key), "bold")
    page.widths_at(column, *([18.0] * len(titles)))
    page.head(_FIRST - 1, titles, texts=0, column=column)
    cells: dict[str, list[Figure]] = {title: [] for title in titles}
    for row in range(work.rows):
        here: list[Figure] = [option.in_month(row, RUNNING)]
        if buys:
            here += [cells_of[row] if cells_of else figure(0.0) for cells_of in map(option.of, CAPITAL)]
            here += [books.written[row], books.left[row]]
        at = _FIRST + row
        written = [page.put(at, column + place, usd) for place, usd in enumerate(here)]
        if buys:
            written.append(page.put(at, column + len(written), -(rate * (written[3] + written[4] + written[2]))))
        capital = added([written[1] + written[2] + written[5]]) if buys else figure(0.0)
        capital = added([capital, option.in_month(row, ("financed",))]) if option.of("financed") else capital
        after = page.put(at, column + len(written), (1.0 - rate) * written[0] + capital)
        before = cells[_PAID[-1]]
        so_far = page.put(at, column + len(written) + 1, before[-1] + after if before else after)
        for title, cell in zip(titles, [*written, after, so_far], strict=True):
            cells[title].append(cell)
    kept = {title: tuple(found) for title, found in cells.items()}
    bought, sold, written_off, left, capital_tax = (kept.get(title, ()) for title in _CAPITAL)
    return Taxed(
        key=option.key,
        label=label_of(option.key),
        running=kept[_PAID[0]],
        bought=bought,
        sold=sold,
        written=written_off,
        left=left,
        capital_tax=capital_tax,
        after=kept[_PAID[1]],
        figures=_figures(work, option, kept),
    )


def _figures(work: Workbook, option: Flows, cells: dict[str, Rows]) -> dict[str, Figure]:
    factors = span(work.factors)
    columns = [span(cells[title]) for title in (_PAID[0], *_CAPITAL[:2]) if title in cells]
    columns += option.spans(("financed",))
    effect = _CAPITAL[4]
    after = span(cells[_PAID[1]])
    return {
        "before": added([total(column) for column in columns]),
        "npv_before": added([product_sum(column, factors) for column in columns]),
        "tax_running": -(work.names["tax_rate"] * total(columns[0])),
        "tax_capital": total(span(cells[effect])) if effect in cells else figure(0.0),
        "after": total(after),
        "npv_after": product_sum(after, factors),
        "peak": largest(span(cells[_PAID[2]])),
    }


def _result(page: Page, row: int, taxed: Taxed) -> None:
    page.text(row, 0, taxed.label)
    for column, (name, found) in enumerate(list(taxed.figures.items()), start=1):
        taxed.figures[name] = page.put(row, column, found)
