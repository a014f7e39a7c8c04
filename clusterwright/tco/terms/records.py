"""What cost takes in and gives back. Money is USD; a cost is positive, income (resale) negative; None is unknown."""

import datetime as dt
from dataclasses import dataclass, field

from clusterwright.facility.bill import Bill, BillLine
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Surcharge
from clusterwright.tco.terms.resale import ResaleCurve
from clusterwright.tco.terms.stages import CONSTANT, Pace

#: Where a price comes from: a dated document, the blueprint, `tco/assumptions.csv`, or nowhere.
BASES = ("documented", "given", "assumed", "unknown")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """An economic value as the engine used it, for the list of assumptions in reports.

    Attributes:
        key: name; value, low, high in `unit`; basis as in `BASES`.
    """

    key: str
    value: float
    low: float
    high: float
    unit: str
    basis: str
    reason: str
    source: str
    date: str = field(default="")


@dataclass(frozen=True, kw_only=True, slots=True)
class Economics:
    """What money is counted with.

    Attributes:
        horizon_months: length of the view over which owning and renting are compared, in months.
        utilisation: share of the horizon that the cluster works, above 0 to 1.
        discount_rate: per year, for present values.
        as_of: day whose prices hold; None is the newest day on which a shipped price was seen.
        power_price_usd_per_kwh: None takes the assumption `power_price_usd_per_kwh`.
        pue: facility over IT energy; None takes the assumption `pue`.
        term: how rented compute nodes are paid, one of `pricing.records.TERMS`; everything else is paid at list price.
        hours_per_month: 730 by default (8,760 a year).
        runs: of the blueprint in the horizon, growth included; None counts them from utilisation and reference days.
        reference_days: calendar days of one run that the number of runs in the horizon is counted with; None takes the
            longest among the owned candidates, or among all if none is owned.
        overrides: values that replace rows of `tco/assumptions.csv`, as (key, value).
        quotes: prices of vendors for parts that are bought; they win over every other price.
        given: parameters of the cash flow, with band and source, in the place of assumptions or beside them.
        pace: growth of the work, replacement of what is bought.
        resale: by age, in the place of the assumptions.
    """

    horizon_months: float = 36.0
    utilisation: float = 0.8
    discount_rate: float = 0.08
    as_of: dt.date | None = None
    power_price_usd_per_kwh: float | None = None
    pue: float | None = None
    term: str = "on_demand"
    hours_per_month: float = 730.0
    runs: float | None = None
    reference_days: float | None = None
    overrides: tuple[tuple[str, float], ...] = ()
    quotes: tuple[QuotedPrice, ...] = ()
    given: tuple[Parameter, ...] = ()
    pace: Pace = CONSTANT
    resale: ResaleCurve | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One way to do the work: a cluster of one size on one target.

    Attributes:
        key: names the candidate, unique in one call, for example `aws/128`.
        target: `aws`, `azure`, `gcp`, `onprem`.
        bill: everything the cluster consists of. A bill with an IT load (`it_power_w`) is owned, any other rented.
        nodes, gpus: size of the cluster.
        calendar_days: of one run of the blueprint on it.
        run_time_low, run_time_high: ends of the band of calendar days, as shares of them, at most and at least 1.
        utilisation: share of the horizon that it works; None takes that of the economics.
        term: how its compute nodes are paid; None takes the term of the economics.
        overrides: parameters of the cash flow that hold for this candidate alone, as (key, value).
        given: the same with band and source, which win over overrides.
        surcharges: running costs that are shares of others.
        contract: how its compute nodes are paid; None by the month, at list price.
        charges: amounts beside the bill; support: plan of the provider's support, None for none.
        rates: prices agreed with a provider, as (sku, USD per unit and charge period), in the place of list prices.
        competes: whether it may be called the cheapest: not where the bill holds only what a price is known of, or
            where capacity is not assured for the horizon.
        expands: whether nodes are bought where the work outgrows them; else it does what it can.
        listed: whether it is an option itself, not only a part of mixes.
    """

    key: str
    target: str
    bill: Bill
    nodes: int
    gpus: int
    calendar_days: float
    run_time_low: float = 1.0
    run_time_high: float = 1.0
    utilisation: float | None = None
    term: str | None = None
    overrides: tuple[tuple[str, float], ...] = ()
    given: tuple[Parameter, ...] = ()
    surcharges: tuple[Surcharge, ...] = ()
    contract: Contract | None = None
    charges: tuple[Charge, ...] = ()
    support: SupportPlan | None = None
    rates: tuple[tuple[str, float], ...] = ()
    competes: bool = True
    expands: bool = True
    listed: bool = True

    @property
    def owned(self) -> bool:
        """Whether the cluster is bought and powered by its owner."""
        return self.bill.it_power_w is not None

    @property
    def binds(self) -> bool:
        """Whether more is paid than the hours of a run: a purchase, a commitment, a sum that is paid in advance."""
        contract = self.contract
        return (
            self.owned
            or self.term in COMMITTED_TERMS
            or (
                contract is not None
                and (
                    contract.period_months is not None
                    or contract.committed_usd_per_year > 0
                    or contract.upfront_fraction > 0
                )
            )
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumption:
    """A value that no document gives: low, base and high, with the reason.

    Attributes:
        key: a sku or the name of a parameter.
        cost_rises_with: whether the higher value costs more (`value`) or less (`inverse`).
        charge: for skus as in `BillLine.charge`, else empty.
    """

    key: str
    low: float
    base: float
    high: float
    unit: str
    charge: str
    cost_rises_with: str
    reason: str
    source: str
    date: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PricedLine:
    """A bill line with its price.

    Attributes:
        line: the bill line.
        term: the term that the price was looked up under.
        unit_usd, unit_usd_low, unit_usd_high: USD per unit of the line and per its charge period (hour, month, once);
            low and high equal the price unless it is assumed, or a purchase price of low confidence; None if unknown.
        basis: one of `BASES`.
        price_date: day from which the price is in force, or the date of the assumption.
        last_seen: last day on which the source showed it, None unless documented.
        source: title and place of the document, or of the assumption's source.
        confidence: `high`, `medium`, `low`, or empty if unknown.
        note: reason of an assumption, or why there is no price.
    """

    line: BillLine
    term: str
    unit_usd: float | None
    unit_usd_low: float | None
    unit_usd_high: float | None
    basis: str
    price_date: str
    last_seen: dt.date | None
    source: str
    confidence: str
    note: str

    @property
    def usd_per_period(self) -> float | None:
        """Quantity times unit price: USD per hour, per month or once, as the line is charged."""
        return None if self.unit_usd is None else self.line.quantity * self.unit_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingPrice:
    """A line without a price: what it is and why there is none."""

    sku: str
    item: str
    region: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryCost:
    """USD of one category, and the part of it whose price is documented or given in the blueprint."""

    category: str
    usd: float
    priced_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateCost:
    """What one candidate costs. Definitions: `docs/tco.md`.

    Attributes:
        key, target, owned, nodes, gpus, calendar_days: as in the candidate.
        term: how the compute nodes are paid, `purchase` if owned.
        run_usd: cost of one run. Rented: what is paid while the run lasts. Owned (or committed): the share of the
            horizon's cost, after resale, that the run takes of the hours worked at the stated utilisation.
        horizon_usd: cost of the work of the horizon (`runs_in_horizon` runs), after resale; None also where an owned
            cluster cannot do that work in the horizon.
        capex_usd: cash paid at the start for what is bought; 0 for rented targets.
        npv_usd: present value of the horizon's cash flow, a cost being positive.
        *_low, *_high: with every assumption at its cheap end and a run of the shortest time of its band, or with all at
            the high end and the longest.
        usd_per_gpu_hour: `run_usd` over GPUs times calendar hours of the run.
        runs_in_horizon: runs of this blueprint in the horizon, the same number for all candidates of one call.
        busy_fraction: share of the horizon that these runs take on this cluster.
        priced_share, horizon_priced_share, capex_priced_share: share (0 to 1) of the absolute USD in `run_usd`,
            `horizon_usd`, `capex_usd` whose price is documented or given in the blueprint; None where the total is.
        missing: lines without any price; while there are some, totals are None.
        lines: all bill lines with their prices.
        run_breakdown, horizon_breakdown: by category, largest first; empty while the total is None.
        mixed: whether the work is done on several candidates; competes: as in the candidate.
        shared: whether `run_usd` is a share of what is paid for the whole horizon (bought, committed, paid in
            advance), and no cash that one run takes.
        gpu_hours_per_run: GPUs times calendar hours of a run, over all parts of a mix.
    """

    key: str
    target: str
    owned: bool
    nodes: int
    gpus: int
    calendar_days: float
    term: str
    run_usd: float | None
    run_usd_low: float | None
    run_usd_high: float | None
    horizon_usd: float | None
    horizon_usd_low: float | None
    horizon_usd_high: float | None
    capex_usd: float | None
    capex_usd_low: float | None
    capex_usd_high: float | None
    npv_usd: float | None
    npv_usd_low: float | None
    npv_usd_high: float | None
    usd_per_gpu_hour: float | None
    runs_in_horizon: float
    busy_fraction: float
    priced_share: float | None
    horizon_priced_share: float | None
    capex_priced_share: float | None
    missing: tuple[MissingPrice, ...] = ()
    lines: tuple[PricedLine, ...] = ()
    run_breakdown: tuple[CategoryCost, ...] = ()
    horizon_breakdown: tuple[CategoryCost, ...] = ()
    mixed: bool = False
    competes: bool = True
    shared: bool = False
    gpu_hours_per_run: float = 0.0

    @property
    def run_cash_usd(self) -> float | None:
        """Cash that one run takes; None where there is only a share of what the horizon takes."""
        return None if self.shared else self.run_usd

    @property
    def run_share_usd(self) -> float | None:
        """Share of the horizon's cost that one run takes; None where a run is paid in cash."""
        return self.run_usd if self.shared else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakeven:
    """Where owning becomes cheaper than renting, on the horizon view. Resale is left out of months, not of utilisation.

    Attributes:
        owned_key, rented_key: the two candidates.
        months: when the owner's cumulative cash falls to the renter's and stays below; None if not within the horizon.
        months_low, months_high: with every assumption at its cheap, or at its high end.
        utilisation: share of the horizon (0 to 1) above which owning costs less; None if there is none up to 1.
        reason: why a value is None, else empty.
    """

    owned_key: str
    rented_key: str
    months: float | None
    months_low: float | None
    months_high: float | None
    utilisation: float | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CumulativePoint:
    """Cash spent by a candidate up to the end of a month (month 0 is the purchase), before resale, in USD.

    `usd_low` and `usd_high` take every assumption at its cheap, or at its high end.
    """

    key: str
    month: float
    usd: float
    usd_low: float
    usd_high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentYear:
    """Cash of one year of the horizon and its present value at the discount rate; year 0 is paid at the start."""

    horizon_year: int
    usd: float
    present_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CashFlowRow:
    """One dated, tagged amount of the horizon's cash flow (base values of all assumptions).

    Attributes:
        part_key: the candidate that it comes from: of a mix one of its parts, else the same as `key`.
        month: 0 is the purchase; 1 is paid at the end of the first month; the last may be a part of one.
        category: of the bill line, or `installation`, `spares`, `support`, `staff`, `facility`, `energy`, `resale`.
        capex_or_opex, fixed_or_variable: variable amounts are proportional to the hours worked.
        usd: positive is paid, negative received.
    """

    key: str
    part_key: str
    month: float
    category: str
    item: str
    capex_or_opex: str
    fixed_or_variable: str
    usd: float
    basis: str
    source: str
    price_date: str
    confidence: str
