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
from clusterwright.outputs.sheets.method_shares import method_share_spans, write_method_shares, years
from clusterwright.outputs.sheets.page import Page
from clusterwright.outputs.sheets.shared import RUNNING, Workbook, label_of
from clusterwright.outputs.sheets.stages import staged

_FIRST = 4
_SCHEDULE = (
    "year after the purchase", "falls due, month", "share of the method", "share with the bonus", "written off, USD",
    "book value after it, USD", "tax it saves, USD", "present value of it, USD",
)  # fmt: skip
_OPTIONS = (
    "where and how", "before tax, USD", "present value before tax, USD", "tax on running costs, USD",
    "tax on writing off and sale, USD", "after tax, USD", "present value after tax, USD", "most cash out, USD",
)  # fmt: skip


#: Columns by month: of every option, and after the first of them those of one that buys.
_PAID = ("running costs, USD", "cash after tax, USD", "so far, USD")
_CAPITAL = (
    "bought, USD", "sold, USD", "written off, USD", "book value of what leaves, USD", "tax of the capital, USD",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxed:
    """One option after tax, as cells by month row; `figures` are sums over the horizon.

    Attributes:
        running: costs; bought, sold: capital, empty where nothing is; written: written off; left: what the books still
            show for what leaves; capital_tax: what writing off and sales do to the tax; after: all after tax.
    """

    key: str
    label: str
    running: tuple[Figure, ...]
    bought: tuple[Figure, ...]
    sold: tuple[Figure, ...]
    written: tuple[Figure, ...]
    left: tuple[Figure, ...]
    capital_tax: tuple[Figure, ...]
    after: tuple[Figure, ...]
    figures: dict[str, Figure]

    @property
    def buys(self) -> bool:
        """Whether anything is bought."""
        return bool(self.bought)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Schedule:
    """The owner's purchase written off by one method: due month and USD of every year, and what is left at the end."""

    due: Span
    written: Span
    left: Figure


def write_tax(work: Workbook) -> dict[str, Taxed]:
    """Write both sheets; return every option after tax, by key."""
    page, by_month = work.page("Tax"), work.page("After tax by month")
    page.title(
        "Depreciation, and every option after tax",
        "Tax on running costs falls due with them; that of a year's depreciation at its end, counted from the "
        "purchase; that of the sale at the end of the horizon.",
    )
    page.widths(34, rest=19, columns=max(len(_OPTIONS), 1 + len(methods())))
    start = _FIRST + (years() + 7 if work.owned else 0)
    page.head(start, _OPTIONS)
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
    found: dict[str, Taxed] = {}
    schedule = _schedule(work, page) if work.owned else None
    column = 1
    for place, option in enumerate(_options(work)):
        own = work.owned is not None and option.key in (work.owned.key, f"{work.owned.key}/bridged")
        taxed = _one(work, column, option, schedule if own else None)
        _result(page, start + 1 + place, taxed)
        found[option.key] = taxed
        column += len(_PAID) + (len(_CAPITAL) if taxed.buys else 0)
    if work.owned is not None:
        write_method_shares(page, start + len(found) + 3)
    return found


def single(work: Workbook) -> bool:
    """Return whether everything is bought once, paid at once, and written off by the one method of the sheet Inputs."""
    section = work.plan.tco
    return not (
        staged(work)
        or section.depreciation_of
        or section.owner.building_usd_per_kw is not None
        or (section.deposit < 1 and work.found.taxed.delivery_months)
    )


def _schedule(work: Workbook, page: Page) -> _Schedule | None:
    """Write the owner's schedule by year; where there is no single one, say where the numbers come from."""
    owned = work.owned
    assert owned is not None  # noqa: S101 - the caller has looked
    page.text(_FIRST - 2, 0, f"Written off: {owned.label}", "bold")
    if not single(work):
        page.text(
            _FIRST - 1, 0,
            "Several lots or methods: what is written off by month is the engine's, on After tax by month, and follows "
            "the tax rate alone.",
            "note",
        )  # fmt: skip
        return None
    page.head(_FIRST - 1, _SCHEDULE, texts=0)
    names, parts = work.names, sums(owned)
    at = _FIRST + years()
    bought = page.cell(at + 1, 1, parts["bought"].value)
    header, rows = method_share_spans(page, _tables_row(work))
    due, written, book = [], [], bought
    for place in range(years()):
        row = _FIRST + place
        year = page.number(row, 0, float(place + 1), "count")
        month = page.put(row, 1, year * 12.0, "count")
        share = page.put(row, 2, looked_up(rows[place], header, names["depreciation_method"]), "share_2")
        with_bonus = share * (1.0 - names["bonus_depreciation"])
        with_bonus = page.put(row, 3, with_bonus + names["bonus_depreciation"] if place == 0 else with_bonus, "share_2")
        usd = page.put(row, 4, when(month.at_most(names["horizon_months"]), bought * with_bonus, 0.0))
        book = page.put(row, 5, book - usd)
        saved = page.put(row, 6, names["tax_rate"] * usd)
        page.put(row, 7, saved * (1.0 + names["discount_rate"]) ** (-month / 12.0))
        due.append(month)
        written.append(usd)
    labels = ("purchase, USD", "sale, USD", "book value at the sale, USD", "gain or loss on the sale, USD",
              "tax on it, USD")  # fmt: skip
    for place, label in enumerate(labels, start=1):
        page.text(at + place, 0, label)
    page.put(at + 1, 1, parts["bought"])
    sale = page.put(at + 2, 1, -parts["sold"])
    left = page.put(at + 3, 1, bought - total(span(written)))
    gain = page.put(at + 4, 1, sale - left)
    page.put(at + 5, 1, names["tax_rate"] * gain)
    return _Schedule(due=span(due), written=span(written), left=left)


def _tables_row(work: Workbook) -> int:
    return _FIRST + years() + 7 + len(work.flows) + 3


@dataclass(frozen=True, kw_only=True, slots=True)
class _Option:
    """An option before tax, by month row."""

    key: str
    running: tuple[Figure, ...]
    bought: tuple[Figure, ...]
    sold: tuple[Figure, ...]


def _options(work: Workbook) -> list[_Option]:
    rows = range(work.rows)
    return [
        _Option(
            key=flows.key,
            running=tuple(flows.in_month(row, RUNNING) for row in rows),
            bought=flows.of("bought"),
            sold=flows.of("sold"),
        )
        for flows in work.flows.values()
    ]


def _one(work: Workbook, column: int, option: _Option, schedule: _Schedule | None) -> Taxed:
    """Write one option's months; the owner's capital stands in columns of its own."""
    page, rate = work.page("After tax by month"), work.names["tax_rate"]
    buys = bool(option.bought or option.sold)
    titles = (_PAID[0], *(_CAPITAL if buys else ()), *_PAID[1:])
    page.text(_FIRST - 2, column, label_of(option.key), "bold")
    page.widths_at(column, *([18.0] * len(titles)))
    page.head(_FIRST - 1, titles, texts=0, column=column)
    cells: dict[str, list[Figure]] = {title: [] for title in titles}
    for row in range(work.rows):
        here: list[Figure] = [option.running[row]]
        if buys:
            here += [cells_of[row] if cells_of else figure(0.0) for cells_of in (option.bought, option.sold)]
            here += _books(work, option.key, row, schedule)
        at = _FIRST + row
        written = [page.put(at, column + place, usd) for place, usd in enumerate(here)]
        if buys:
            written.append(page.put(at, column + len(written), -(rate * (written[3] + written[4] + written[2]))))
        capital = added([written[1] + written[2] + written[5]]) if buys else figure(0.0)
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
        figures=_figures(work, kept),
    )


def _books(work: Workbook, key: str, row: int, schedule: _Schedule | None) -> list[Figure]:
    """Return what is written off in a month, and what the books still show for what leaves in it."""
    month, dated = work.months[row], work.lengths[row].above(0.0)
    if schedule is not None:
        last = both(month.equals(work.names["horizon_months"]), dated)
        written = when(dated, total_where(schedule.written, schedule.due, month), 0.0)
        return [written, when(last, schedule.left, 0.0)]
    found = [entry for entry in work.found.taxed.months if entry.key == key and entry.month == month.value]
    return [figure(sum(entry.written_off_usd for entry in found)), figure(sum(entry.left_usd for entry in found))]


def _figures(work: Workbook, cells: dict[str, tuple[Figure, ...]]) -> dict[str, Figure]:
    factors = span(work.factors)
    columns = [span(cells[title]) for title in (_PAID[0], *_CAPITAL[:2]) if title in cells]
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
