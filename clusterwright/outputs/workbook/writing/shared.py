"""What all sheets of the workbook share: the plan, its options with their cash, formats, and named inputs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clusterwright.finance.finances import Finances
from clusterwright.outputs.workbook.writing.formula import Figure, Span, added, product_sum, span, total
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.words import term_text
from clusterwright.tco.terms.records import CandidateCost

#: `used`: running costs by the hour worked; `committed`: of nodes paid whether used or not; `standing`: paid as long as
#: a rented cluster is there; `kept`: all other running costs; `bought`, `sold`: capital; `financed`: what is borrowed
#: (negative) and paid back.
Class = Literal["used", "committed", "standing", "kept", "bought", "sold", "financed"]
Rows = tuple[Figure, ...]
RUNNING: tuple[Class, ...] = ("used", "committed", "standing", "kept")
CAPITAL: tuple[Class, ...] = ("bought", "sold")
ALL: tuple[Class, ...] = (*RUNNING, *CAPITAL, "financed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A class of what is bought, all of which is written off alike.

    Attributes:
        category: of the cash flow with a method of its own, empty for all others.
        stays: whether it is kept where equipment is replaced.
        late: whether it is what is paid at delivery.
    """

    category: str = ""
    stays: bool = False
    late: bool = False

    @property
    def text(self) -> str:
        """How people read it."""
        parts = (self.category or "equipment", "kept" if self.stays else "", "paid at delivery" if self.late else "")
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, kw_only=True, slots=True)
class Flows:
    """One option's cash by month, as cells of the sheet `Cash by option`.

    Attributes:
        key, label: of the option; cost: what the engine found.
        amounts: cells by month row of every class that the option has.
        days, gpus, busy: cells with the days of a run, the GPUs, the share of the horizon at work.
        assets: what is bought by month row, by class.
        following: USD of the horizon that follow the price of rented GPU nodes, where no bill says it.
    """

    key: str
    label: str
    cost: CandidateCost
    amounts: Mapping[Class, Rows]
    days: Figure
    gpus: Figure
    busy: Figure
    assets: Mapping[Asset, Rows] = field(default_factory=dict)
    following: Figure | None = None

    @property
    def buys_all(self) -> bool:
        """Whether all of the cluster is owned; a mix owns a part."""
        return self.cost.owned and not self.cost.mixed

    def of(self, kind: Class) -> Rows:
        """Return the cells of a class by row, empty where the option has none."""
        return self.amounts.get(kind, ())

    def spans(self, kinds: Sequence[Class] = ALL) -> list[Span]:
        """Return the columns of some classes, those that the option has."""
        return [span(self.amounts[kind]) for kind in kinds if kind in self.amounts]

    def sum_of(self, *kinds: Class) -> Figure:
        """Return the sum of some classes over the horizon."""
        return added([total(column) for column in self.spans(kinds)])

    def worth(self, kinds: Sequence[Class], factors: Span) -> Figure:
        """Return the present value of some classes."""
        return added([product_sum(column, factors) for column in self.spans(kinds)])

    def in_month(self, row: int, kinds: Sequence[Class] = ALL) -> Figure:
        """Return what is paid in the month of a row, as a sum of cells; the running costs, capital or both."""
        return added([self.amounts[kind][row] for kind in kinds if kind in self.amounts])


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineCheck:
    """A cell of a view that shows a figure of the engine; None where the engine has none, and the cell a word."""

    text: str
    cell: Figure
    engine: float | None
    within: float


@dataclass(kw_only=True, slots=True)
class Workbook:
    """The workbook while it is written.

    Attributes:
        book: XlsxWriter's workbook; formats: by name.
        plan, found: what is shown; currency: in which the views can show money besides USD.
        names: the named inputs, by name.
        pages: the sheets, by name.
        months: cells with the month's end, by row, month 0 first; lengths: of each month, in months; factors: of
            present value; years: of each row.
        flows: the options' cash, by key, cheapest first.
        not_live: absolute USD of an option that are numbers of the engine, by key.
        checks: cells that are 0 in a sound workbook, with what they hold together.
        engine_checks: cells that show a figure of the engine as long as no input is changed, with what they show.
    """

    book: Any
    formats: Mapping[str, Any]
    plan: Plan
    found: Finances
    currency: Currency | None = None
    names: dict[str, Figure] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    months: tuple[Figure, ...] = ()
    lengths: tuple[Figure, ...] = ()
    factors: tuple[Figure, ...] = ()
    years: tuple[Figure, ...] = ()
    flows: dict[str, Flows] = field(default_factory=dict)
    not_live: dict[str, float] = field(default_factory=dict)
    checks: list[tuple[str, Figure]] = field(default_factory=list)
    engine_checks: list[EngineCheck] = field(default_factory=list)

    def page(self, name: str) -> Page:
        """Return a sheet, made where the order of sheets was laid out."""
        return self.pages[name]

    @property
    def rows(self) -> int:
        """Rows of a sheet by month: month 0 and every month of the horizon."""
        return math.ceil(self.plan.economics.horizon_months) + 1

    @property
    def owned(self) -> Flows | None:
        """The option that is bought whole, None if there is none."""
        return next((flow for flow in self.flows.values() if flow.buys_all), None)

    @property
    def rented(self) -> tuple[Flows, ...]:
        """Every option that is rented and no mix."""
        return tuple(flow for flow in self.flows.values() if not flow.cost.owned and not flow.cost.mixed)


def option_of(plan: Plan, cost: CandidateCost) -> Option | None:
    """Return the plan's option that an option of the comparison is, with its term; None for other terms."""
    option = plan.option(cost.target)
    if option is None or cost.mixed:
        return None
    # A commitment of the comparison is sized for the horizon: under one term it may be another cluster.
    same = cost.key in (option.target, f"{option.target}/{option.money.term}") and cost.nodes == option.cluster.nodes
    return option if same else None


def is_given(work: Workbook, parameter: str) -> bool:
    """Tell whether the blueprint gives a parameter of owning."""
    return any(entry.key == parameter for entry in work.plan.economics.given)


def bill_label(work: Workbook, cost: CandidateCost) -> str:
    """Return how the sheet Bill calls an option: the plan's own by their target, all others by their key."""
    option = option_of(work.plan, cost)
    return option.target if option else cost.key


def label_of(key: str) -> str:
    """Return how people read an option's key."""
    words = term_text(key)
    return words[:1].upper() + words[1:]
