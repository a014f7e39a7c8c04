"""The sheet Contracts by month: what a contract pays or a cloud charges beside the bill.

The rules of `tco/sql/rent_flow.sql`, `commitment_year.sql`, `surcharge_flow.sql` and `support_flow.sql` a second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clusterwright.outputs.workbook.inputs.contracts import Terms
from clusterwright.outputs.workbook.inputs.stages import Stages
from clusterwright.outputs.workbook.months.rent_case import Case, Rented
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    beyond,
    both,
    figure,
    largest,
    product_sum,
    span,
    stepped,
    total,
    total_between,
    when,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Class, Rows, Workbook, label_of

_FIRST = 4
_YEAR = 12
#: What is by month on the sheet; only what an option has is written.
_NODES, _USED, _COMMITTED, _CREDITED, _STANDING_NODES, _STANDING = (
    "GPU nodes by use, USD",
    "other by use, USD",
    "committed nodes, USD",
    "credited at the end, USD",
    "standing compute, USD",
    "other standing, USD",
)
_LOTS, _COUNTED = "nodes committed to, of the bill's", "counts for the commitment, USD"
_CHARGES, _SPENT, _SUPPORT, _SHORT = (
    "charges, USD",
    "rent and charges, USD",
    "plan of support, of these",
    "commitment not spent, USD",
)
#: GPU nodes and what else is of the category compute: what a loss of work is a share of.
_COMPUTE = (_NODES, _COMMITTED, _STANDING_NODES)


def write_contract_calendar(work: Workbook, stages: Stages | None) -> None:
    """Write the months of the sheet Contracts by month, and the work done in each."""
    page = work.page("Contracts by month")
    page.title(
        "Contracts by month",
        "What is paid in advance, by the month, at the end, and beside the bill; months as on "
        "Cash by option, which adds lost work and the plan of support to each part.",
    )
    page.widths(9, 11)
    page.sheet.freeze_panes(_FIRST, 2)
    page.sheet.repeat_columns(0)
    page.sheet.fit_to_pages(0, 1)
    page.head(_FIRST - 1, ("month", "work done, months"), texts=0)
    for row, (month, length) in enumerate(zip(work.months, work.lengths, strict=True)):
        page.put(_FIRST + row, 0, month, "number")
        page.put(_FIRST + row, 1, length if stages is None else stages.factors["work"][row] * length, "number")


def under_contract(case: Case) -> Rented:
    """Write the months of an option under a contract, or with charges, right of the others; return its cash."""
    work, terms = case.work, case.terms
    page = work.page("Contracts by month")
    rows, column = range(work.rows), 1 + max(page.wide)
    page.text(_FIRST - 2, column, label_of(case.key), "bold")
    cells: dict[str, Rows] = {}

    def write(title: str, figures: Sequence[Figure], style: str = "usd") -> None:
        at = column + len(cells)
        page.widths_at(at, 17.0)
        page.head(_FIRST - 1, (title,), texts=0, column=at)
        cells[title] = tuple(page.put(_FIRST + row, at, usd, style) for row, usd in enumerate(figures))

    if terms.months is not None and case.usd_per_month("committed", "") is not None:
        page.widths_at(column, 17.0)
        page.head(_FIRST - 1, (_LOTS,), texts=0, column=column)
        case = replace(case, lots=_lots(case, page, column))
        column += 1
    for title, figures in _rent(case).items():
        write(title, figures)
    if terms.charges or terms.once:
        write(_CHARGES, [added(terms.once) if row == 0 else added(terms.charges) * work.lengths[row] for row in rows])
    if terms.support is not None:
        write(
            _SPENT, [added([cells[name][row] for name in cells if name not in (_CREDITED, _COUNTED)]) for row in rows]
        )
        plan = terms.support
        fees = [(largest(plan.least, stepped(usd, plan.starts, plan.steps)), usd) for usd in cells[_SPENT]]
        write(_SUPPORT, [when(usd.above(0.0), fee / usd, 0.0) for fee, usd in fees], "share_2")
    if terms.committed is not None:
        write(_COUNTED, [_counted(case, row) for row in rows])
        write(_SHORT, [_short(case, cells[_COUNTED], row) for row in rows])
    return Rented(flows=_flows(case, cells), following=_following(terms, cells))


def _lots(case: Case, page: Page, column: int) -> Rows:
    """Write the nodes that are committed to in each month: what the work needs beyond the terms that still run."""
    months, length = case.work.months, case.terms.months
    assert length is not None  # noqa: S101 - asked for terms alone
    found: list[Figure] = []
    for row, month in enumerate(months):
        lot = case.nodes_in(row)
        if row:
            running = total_between(span(found), span(months[:row]), month - length)
            lot = when(case.work.names["horizon_months"].above(month), largest(0.0, lot - running), 0.0)
        found.append(page.put(_FIRST + row, column, lot, "number"))
    return tuple(found)


def _rent(case: Case) -> dict[str, list[Figure]]:
    """Return the rent by month, by title; only what the option has."""
    rows, lengths = range(case.work.rows), case.work.lengths
    found: dict[str, list[Figure]] = {}
    for title, category in ((_NODES, "compute"), (_USED, "<>compute")):
        usd = case.usd_per_month("while working", category)
        if usd is not None:
            hours = usd * case.busy
            found[title] = [hours * case.work_in(max(0, row - 1)) * lengths[row] for row in rows]
    booked = case.usd_per_month("booked", "compute")
    if booked is not None:
        found[_NODES] = [_booked(case, booked * case.busy, row) for row in rows]
    committed = case.usd_per_month("committed", "compute")
    if committed is not None:
        found[_COMMITTED] = [_committed(case, committed, row) for row in rows]
        if case.terms.months is not None:
            found[_CREDITED] = [_cut_off(case, committed, row, "credited") for row in rows]
    for title, category in ((_STANDING_NODES, "compute"), (_STANDING, "<>compute")):
        usd = case.usd_per_month("always", category)
        if usd is not None:
            found[title] = [usd * length for length in lengths]
    return found


def _booked(case: Case, usd: Figure, row: int) -> Figure:
    """Return what is paid for hours that are booked: at the start of each term the share in advance, then the rest."""
    ahead, months = case.terms.ahead, case.terms.months
    assert ahead is not None  # noqa: S101 - lines are booked under a contract with a length
    assert months is not None  # noqa: S101
    end, page = case.work.months[row], case.work.page("Contracts by month")
    worked = [page.cell(_FIRST + at, 1, _worked(case, at).value) for at in range(case.work.rows)]
    booked = total_between(span(worked), span(case.work.months), end, end + months)
    return usd * (1.0 - ahead) * worked[row] + when(case.begins(row), usd * ahead * booked, 0.0)


def _worked(case: Case, row: int) -> Figure:
    """Return the work done in a month, in months of the first year's."""
    return case.work_in(max(0, row - 1)) * case.work.lengths[row]


def _committed(case: Case, usd: Figure, row: int) -> Figure:
    """Return what is paid for committed nodes: at the start of each term the share in advance, then the rest."""
    ahead, months, length = case.terms.ahead, case.terms.months, case.work.lengths[row]
    if ahead is None or months is None:
        return usd * case.held(row) * length
    monthly = usd * (1.0 - ahead) * case.held(row) * length
    return monthly + usd * ahead * months * case.lots[row] + _cut_off(case, usd, row, "paid")


def _cut_off(case: Case, usd: Figure, row: int, rest: str) -> Figure:
    """Return what the end of the horizon cuts off running terms: credited to later work, or the rest that is owed."""
    ahead, months, horizon = case.terms.ahead, case.terms.months, case.work.names["horizon_months"]
    if not row or ahead is None or months is None or case.terms.rest is None:
        return figure(0.0)
    left = beyond(span(case.work.months), horizon - months, span(case.lots))
    share = -ahead if rest == "credited" else 1.0 - ahead
    return when(both(case.last(row), case.terms.rest.says(rest)), usd * share * left, 0.0)


def _counted(case: Case, row: int) -> Figure:
    """Return the spend that counts for a commitment, by the month it is for."""
    parts = [*case.terms.charges]
    working = case.busy * case.work_in(max(0, row - 1))
    for paid, factor in (
        ("while working", working),
        ("booked", working),
        ("committed", case.held(row)),
        ("always", figure(1.0)),
    ):
        usd = case.usd_per_month(paid, "")
        parts += [] if usd is None else [usd * factor]
    return added(parts) * case.work.lengths[row]


def _short(case: Case, counted: Rows, row: int) -> Figure:
    """Return what a year's spend falls short of what is committed, at the year's end."""
    least = case.terms.committed
    if not row or least is None:
        return figure(0.0)
    first = (row - 1) // _YEAR * _YEAR
    due = case.last(row) if row % _YEAR else case.work.lengths[row].above(0.0)
    months = case.work.months[row] - float(first)
    return when(due, largest(0.0, least / float(_YEAR) * months - total(span(counted[first + 1 : row + 1]))), 0.0)


def _flows(case: Case, cells: Mapping[str, Rows]) -> dict[Class, Rows]:
    """Return the cash by class: each row with its share of lost work and of the plan of support."""

    def factor(title: str, row: int) -> Figure:
        shares = [figure(1.0)]
        if case.terms.lost is not None and title in (*_COMPUTE, _CREDITED):
            shares.append(case.terms.lost)
        if _SUPPORT in cells and title not in (_CREDITED, _SHORT):
            shares.append(cells[_SUPPORT][row])
        return added(shares)

    classes: dict[Class, tuple[str, ...]] = {
        "used": (_NODES, _USED),
        "committed": (_COMMITTED, _CREDITED),
        "standing": (_STANDING_NODES, _STANDING),
        "kept": (_CHARGES, _SHORT),
    }
    return {
        kind: tuple(
            added([cells[title][row] * factor(title, row) for title in titles if title in cells])
            for row in range(case.work.rows)
        )
        for kind, titles in classes.items()
        if any(title in cells for title in titles)
    }


def _following(terms: Terms, cells: Mapping[str, Rows]) -> Figure:
    """Return the USD of the horizon that follow the price of GPU nodes: they, lost work, their share of the support."""
    compute = added([total(span(cells[title])) for title in _COMPUTE if title in cells])
    found = added([total(span(cells[title])) for title in (*_COMPUTE, _CREDITED) if title in cells])
    if terms.lost is not None:
        found *= 1.0 + terms.lost
    if _SUPPORT in cells:
        spent = span(cells[_SPENT])
        found += product_sum(span(cells[_SUPPORT]), spent) * compute / total(spent)
    return found
