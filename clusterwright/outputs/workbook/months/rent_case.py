"""What rented options are counted with, and one of them under its terms."""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.bill import Bill
from clusterwright.outputs.workbook.inputs.contracts import Terms
from clusterwright.outputs.workbook.inputs.stages import Stages
from clusterwright.outputs.workbook.writing.formula import Figure, both, figure, largest, remainder, span, total_between
from clusterwright.outputs.workbook.writing.shared import Class, Rows, Workbook


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One option under its terms.

    Attributes:
        work, bill, key: where its lines are, under which name.
        busy: share of the first year's hours at work; terms: how it is paid.
        done: work by month row over the first year's; None where it does not grow.
        lots: nodes of the bill that are committed to in each month row, each for a term.
    """

    work: Workbook
    bill: Bill
    key: str
    busy: Figure
    terms: Terms
    done: Rows | None
    lots: Rows = ()

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

    def work_in(self, month: int) -> Figure:
        """Return the work over the first year's in the month after one, 1 where it does not grow."""
        return figure(1.0) if self.done is None else self.done[min(month + 1, len(self.done) - 1)]

    def nodes_in(self, month: int) -> Figure:
        """Return the nodes of the bill that the work takes, no fewer than all of them."""
        return largest(1.0, self.busy * self.work_in(month))

    def held(self, row: int) -> Figure:
        """Return the committed nodes in a month: those whose term has begun and has not ended."""
        if not self.lots or self.terms.months is None:
            return self.nodes_in(max(0, row - 1))
        before = max(1, row)
        lots, months = span(self.lots[:before]), span(self.work.months[:before])
        return total_between(lots, months, self.work.months[before - 1] - self.terms.months)
