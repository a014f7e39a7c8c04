"""Rent by month, and the sheet Contracts by month of what a contract pays or a cloud charges beside the bill.

The rules of `tco/sql/rent_flow.sql`, `commitment_year.sql`, `surcharge_flow.sql` and `support_flow.sql` a second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.outputs.sheets.bill import Bill
from clusterwright.outputs.sheets.contracts import Terms
from clusterwright.outputs.sheets.formula import (
    Figure,
    added,
    both,
    figure,
    item,
    largest,
    product_sum,
    remainder,
    rounded_up,
    smallest,
    span,
    stepped,
    total,
    when,
    whole,
)
from clusterwright.outputs.sheets.shared import Class, Rows, Workbook, bill_label, label_of
from clusterwright.outputs.sheets.stages import Stages
from clusterwright.tco.records import CandidateCost

_FIRST = 4
_YEAR = 12
#: What stands by month on the sheet; only what an option has is written.
_NODES, _USED, _COMMITTED, _CREDITED, _STANDING_NODES, _STANDING = _RENT = (
    "GPU nodes by use, USD", "other by use, USD", "committed nodes, USD", "credited at the end, USD",
    "standing compute, USD", "other standing, USD",
)  # fmt: skip
_CHARGES, _SPENT, _SUPPORT, _SHORT = (
    "charges, USD", "rent and charges, USD", "plan of support, of these", "commitment not spent, USD",
)  # fmt: skip
#: GPU nodes and what else is of the category compute: what a loss of work is a share of.
_COMPUTE = (_NODES, _COMMITTED, _STANDING_NODES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rents:
    """What rented options are counted with: the bill, how the work grows, and how some are paid, by key."""

    bill: Bill
    stages: Stages | None
    terms: Mapping[str, Terms]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rented:
    """A rented option's cash by month: formulas by class; `following` as in `Flows`."""

    flows: Mapping[Class, Rows]
    following: Figure | None = None


def rent_of(work: Workbook, rents: Rents, cost: CandidateCost, busy: Figure) -> Rented:
    """Return what a rented option costs by month.

    Args:
        work: the workbook.
        rents: what it is counted with.
        cost: the option.
        busy: share of the first year's hours at work.
    """
    case = Case(
        work=work, bill=rents.bill, key=bill_label(work, cost), busy=busy, terms=rents.terms.get(cost.key, Terms()),
        done=rents.stages.factors["work"] if rents.stages else None,
    )  # fmt: skip
    if cost.key in rents.terms:
        return _under_contract(case)
    found: dict[Class, Rows] = {}
    rows, lengths = range(work.rows), work.lengths
    usd = case.usd_per_month("while working", "")
    if usd is not None:
        found["used"] = tuple(usd * busy * case.work_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("committed", "")
    if usd is not None:
        found["committed"] = tuple(usd * case.nodes_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("always", "")
    if usd is not None:
        found["standing"] = tuple(usd * length for length in lengths)
    return Rented(flows=found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One option under its terms.

    Attributes:
        work, bill, key: where its lines are, under which name.
        busy: share of the first year's hours at work; terms: how it is paid.
        done: work by month row over the first year's; None where it does not grow.
    """

    work: Workbook
    bill: Bill
    key: str
    busy: Figure
    terms: Terms
    done: Rows | None

    def usd_per_month(self, paid: str, category: str) -> Figure | None:
        """Return what lines cost in a month in which they are paid all the time, None where there are none."""
        if not self.bill.has(self.key, paid=paid, category=category):
            return None
        return self.bill.usd_per_month(self.work, self.key, paid=paid, category=category)

    def last(self, row: int) -> Figure:
        """Return whether a row is the last of the horizon."""
        return both(self.work.months[row].equals(self.work.names["horizon_months"]), self.work.lengths[row].above(0.0))

    def begins(self, row: int) -> Figure:
        """Return whether a term begins at the end of a row's month."""
        assert self.terms.months is not None  # noqa: S101 - asked for terms alone
        end = self.work.months[row]
        return both(self.work.names["horizon_months"].above(end), remainder(end, self.terms.months).equals(0.0))

    def work_in(self, month: Figure | int) -> Figure:
        """Return the work over the first year's in the month after one, 1 where it does not grow."""
        if self.done is None:
            return figure(1.0)
        if isinstance(month, int):
            return self.done[min(month + 1, len(self.done) - 1)]
        return item(span(self.done), month + 2.0)

    def nodes_in(self, month: Figure | int) -> Figure:
        """Return the committed nodes over those of the bill: more where the work takes more than all their hours."""
        return largest(1.0, self.busy * self.work_in(month))


def write_contract_calendar(work: Workbook) -> None:
    """Write the months of the sheet Contracts by month."""
    page = work.page("Contracts by month")
    page.title(
        "Contracts by month", "What is paid in advance, by the month, at the end, and beside the bill; months as on "
        "Cash by option, which adds lost work and the plan of support to each part."
    )  # fmt: skip
    page.widths(9)
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.repeat_columns(0)
    page.sheet.fit_to_pages(0, 1)
    page.head(_FIRST - 1, ("month",), texts=0)
    for row, month in enumerate(work.months):
        page.put(_FIRST + row, 0, month, "number")


def _under_contract(case: Case) -> Rented:
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

    for title, figures in _rent(case).items():
        write(title, figures)
    if terms.charges or terms.once:
        write(_CHARGES, [added(terms.once) if row == 0 else added(terms.charges) * work.lengths[row] for row in rows])
    if terms.support is not None:
        write(_SPENT, [added([cells[name][row] for name in cells if name != _CREDITED]) for row in rows])
        plan = terms.support
        fees = [(largest(plan.least, stepped(usd, plan.starts, plan.steps)), usd) for usd in cells[_SPENT]]
        write(_SUPPORT, [when(usd.above(0.0), fee / usd, 0.0) for fee, usd in fees], "share_2")
    if terms.committed is not None:
        write(_SHORT, [_short(case, row) for row in rows])
    return Rented(flows=_flows(case, cells), following=_following(terms, cells))


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
    term = smallest(months, case.work.names["horizon_months"] - case.work.months[row])
    at_start = when(case.begins(row), usd * ahead * term * case.work_in(row), 0.0)
    return usd * (1.0 - ahead) * case.work_in(max(0, row - 1)) * case.work.lengths[row] + at_start


def _committed(case: Case, usd: Figure, row: int) -> Figure:
    """Return what is paid for committed nodes: at the start of each term the share in advance, then the rest."""
    ahead, months = case.terms.ahead, case.terms.months
    held, length = case.nodes_in(max(0, row - 1)), case.work.lengths[row]
    if ahead is None or months is None:
        return usd * held * length
    agreed = case.nodes_in(whole(figure(max(0.0, row - 1.0)) / months) * months)
    at_start = when(case.begins(row), usd * ahead * months * case.nodes_in(row), 0.0)
    return usd * (held - ahead * agreed) * length + at_start + _cut_off(case, usd, row, "paid")


def _cut_off(case: Case, usd: Figure, row: int, rest: str) -> Figure:
    """Return what the end of the horizon cuts off the last term: credited to later work, or the rest that is owed."""
    ahead, months, horizon = case.terms.ahead, case.terms.months, case.work.names["horizon_months"]
    if not row or ahead is None or months is None or case.terms.rest is None:
        return figure(0.0)
    terms = rounded_up(horizon / months)
    left = (terms * months - horizon) * case.nodes_in((terms - 1.0) * months)
    share = -ahead if rest == "credited" else 1.0 - ahead
    return when(both(case.last(row), case.terms.rest.says(rest)), usd * share * left, 0.0)


def _short(case: Case, row: int) -> Figure:
    """Return what a year's spend, by the time it is for, falls short of what is committed; at the year's end."""
    end, least = case.work.months[row], case.terms.committed
    if not row or least is None:
        return figure(0.0)
    before = row - 1
    parts = [*case.terms.charges]
    for paid, factor in (
        ("while working", case.busy * case.work_in(before)), ("booked", case.busy * case.work_in(before)),
        ("committed", case.nodes_in(before)), ("always", figure(1.0)),
    ):  # fmt: skip
        usd = case.usd_per_month(paid, "")
        parts += [] if usd is None else [usd * factor]
    due = case.last(row) if row % _YEAR else case.work.lengths[row].above(0.0)
    months = end - float(before // _YEAR * _YEAR)
    return when(due, months * largest(0.0, least / float(_YEAR) - added(parts)), 0.0)


def _flows(case: Case, cells: Mapping[str, Rows]) -> dict[Class, Rows]:
    """Return the cash by class: each row with its share of lost work and of the plan of support."""

    def factor(title: str, row: int) -> Figure:
        shares = [figure(1.0)]
        if case.terms.lost is not None and title in _COMPUTE:
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
    found = compute if terms.lost is None else compute * (1.0 + terms.lost)
    if _CREDITED in cells:
        found += total(span(cells[_CREDITED]))
    if _SUPPORT in cells:
        spent = span(cells[_SPENT])
        found += product_sum(span(cells[_SUPPORT]), spent) * compute / total(spent)
    return found
