"""Inputs and results of the cost engine, in USD: a cost is positive, income (resale) negative, None is unknown."""

import datetime as dt
from dataclasses import dataclass, field

from clusterwright.facility.bill import Bill, BillLine
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Surcharge
from clusterwright.tco.terms.resale import ResaleCurve
from clusterwright.tco.terms.stages import CONSTANT, GrowthSchedule

#: Origin of a price: a dated document, the blueprint, `tco/assumptions.csv`, or none.
BASES = ("documented", "given", "assumed", "unknown")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """An economic value as the engine used it, for the list of assumptions in reports.

    Attributes:
        key: name of the parameter.
        value: base value, in `unit`.
        low, high: values that make the cost lowest and highest, in `unit`.
        basis: one of `BASES`.
        reason, source, date: justification of the value, its source and the date of the source.
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
    """Economic inputs of a comparison.

    Attributes:
        horizon_months: period over which owning and renting are compared, in months.
        utilisation: share of the horizon that the cluster works, above 0 to 1.
        discount_rate: rate for present values, per year.
        as_of: day of the prices; None takes the newest day on which a shipped price was seen.
        power_price_usd_per_kwh: price of energy; None takes the assumption of that name.
        pue: facility energy over IT energy; None takes the assumption of that name.
        term: payment term of rented compute nodes, one of `pricing.records.TERMS`; everything else is paid at list
            price.
        hours_per_month: 730 by default (8,760 a year).
        runs: number of runs of the blueprint in the horizon, growth included; None derives it from the utilisation and
            the reference days.
        reference_days: calendar days of one run from which the number of runs in the horizon is derived; None takes
            the longest among the owned candidates, or among all candidates if none is owned.
        reference_target: target of that run; empty if unknown.
        overrides: values that replace rows of `tco/assumptions.csv`, as (key, value).
        quotes: vendors' prices of purchased parts, which take precedence over every other price.
        given: parameters of the cash flow with their band and source, which replace or complement the assumptions.
        growth: growth of the work, and replacement of the purchased equipment.
        resale: resale value by age, which replaces the assumptions.
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
    reference_target: str = ""
    overrides: tuple[tuple[str, float], ...] = ()
    quotes: tuple[QuotedPrice, ...] = ()
    given: tuple[Parameter, ...] = ()
    growth: GrowthSchedule = CONSTANT
    resale: ResaleCurve | None = None

    @property
    def growth_factor(self) -> float:
        """Mean work of a month of the horizon over that of its first year."""
        return self.growth.mean_work(self.horizon_months)


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A cluster of one size on one target, as an alternative to be costed.

    Attributes:
        key: name of the candidate, unique in one call, for example `aws/128`.
        target: `aws`, `azure`, `gcp` or `onprem`.
        bill: complete bill of the cluster. A bill with an IT load (`it_power_w`) is owned, any other rented.
        nodes, gpus: size of the cluster.
        calendar_days: time of one run of the blueprint on this cluster.
        run_time_low, run_time_high: ends of the band of calendar days as multiples of them, at most and at least 1.
        utilisation: share of the horizon that the cluster works; None takes the utilisation of the economics.
        term: payment term of the compute nodes; None takes the term of the economics.
        overrides: parameters of the cash flow for this candidate alone, as (key, value).
        given: the same with their band and source; they take precedence over `overrides`.
        surcharges: running costs that are shares of other costs.
        contract: contract for the compute nodes; None for monthly payment at list price.
        charges: amounts that are not on the bill.
        support: the provider's support plan, or None.
        rates: negotiated prices that replace list prices, as (sku, USD per unit and charge period).
        competes: whether the candidate may be called the cheapest. It may not if its bill holds only the items with a
            known price, or if its capacity is not assured for the horizon.
        expands: whether nodes are added when the work outgrows the cluster; otherwise the cluster does what it can.
        listed: whether the candidate is an option of its own rather than only a part of mixes.
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
        """Whether costs go beyond the hours of a run: a purchase, a commitment or an upfront payment."""
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
    """An estimate for a value without a document: low, base and high, with the reason.

    Attributes:
        key: a sku or the name of a parameter.
        low, base, high: the estimate and its range, in `unit`.
        charge: charge period of a sku as in `BillLine.charge`; empty for parameters.
        cost_rises_with: `value` if a higher value costs more, `inverse` if it costs less.
        reason, source, date: justification of the estimate, its source and the date of the source.
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
        term: payment term of the price.
        unit_usd, unit_usd_low, unit_usd_high: USD per unit and charge period of the line (hour, month, once). Low and
            high equal the price unless it is assumed, or a purchase price of low confidence. None if unknown.
        basis: one of `BASES`.
        price_date: day from which the price is in force, or the date of the assumption.
        last_seen: last day on which the source showed the price; None unless it is documented.
        source: title of the document and location in it, or the source of the assumption.
        confidence: `high`, `medium` or `low`; empty if unknown.
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
    """A bill line without a price, and the reason."""

    sku: str
    item: str
    region: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryCost:
    """Cost of one category in USD, and the part of it with a documented price or one given in the blueprint."""

    category: str
    usd: float
    priced_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateCost:
    """What one candidate costs. Definitions: `docs/explain/money.md`.

    Attributes:
        key, target, owned, nodes, gpus, calendar_days: as in the candidate.
        term: payment term of the compute nodes, `purchase` if owned.
        run_usd: cost of one run. Rented: payments for the duration of the run. Owned or committed: the run's share of
            the horizon's cost after resale, by the hours it takes of all hours worked at the stated utilisation.
        horizon_usd: cost of the work of the horizon (`runs_in_horizon` runs) after resale; also None where an owned
            cluster cannot do that work within the horizon.
        capex_usd: cash paid for purchases at the start; 0 for rented targets.
        npv_usd: present value of the horizon's cash flow; a cost is positive.
        *_low, *_high: the same with every assumption at its low end and the shortest run time of the band, and with
            every assumption at its high end and the longest run time.
        usd_per_gpu_hour: `run_usd` over GPUs times calendar hours of the run.
        runs_in_horizon: number of runs of this blueprint in the horizon, equal for all candidates of one call.
        busy_fraction: share of the horizon that these runs take on this cluster.
        priced_share, horizon_priced_share, capex_priced_share: share (0 to 1) of the absolute USD in `run_usd`,
            `horizon_usd` and `capex_usd` with a documented price or one given in the blueprint; None where the total is
            None.
        missing: lines without a price; the totals are None if there are any.
        lines: all bill lines with their prices.
        run_breakdown, horizon_breakdown: cost by category, largest first; empty if the total is None.
        mixed: whether the work is split over several candidates.
        competes: as in the candidate.
        shared: whether `run_usd` is a share of payments for the whole horizon (purchases, commitments, upfront
            payments) rather than cash paid for one run.
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
        """Cash paid for one run; None where a run only bears a share of the horizon's payments."""
        return None if self.shared else self.run_usd

    @property
    def run_share_usd(self) -> float | None:
        """Share of the horizon's cost that one run bears; None where a run is paid in cash."""
        return self.run_usd if self.shared else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakeven:
    """Breakeven of owning against renting over the horizon. The months ignore resale, the utilisation includes it.

    Attributes:
        owned_key, rented_key: keys of the two candidates.
        months: month in which the owner's cumulative cash falls to the renter's and stays below; None if that does not
            happen within the horizon.
        months_low, months_high: the same with every assumption at its low end, and at its high end.
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
    """Cumulative cash of a candidate up to the end of a month (month 0 is the purchase), before resale, in USD.

    `usd_low` and `usd_high` take every assumption at its low end, and at its high end.
    """

    key: str
    month: float
    usd: float
    usd_low: float
    usd_high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentYear:
    """Cash of one year of the horizon and its present value at the discount rate; year 0 is the start."""

    horizon_year: int
    usd: float
    present_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BasisAmount:
    """What an option pays and receives over the horizon at the prices of one origin (base values of all assumptions).

    Attributes:
        key, part_key: as in `CashFlowRow`.
        basis, source, price_date: origin of the price, as in `PricedLine`.
        usd: amounts without their sign.
    """

    key: str
    part_key: str
    basis: str
    source: str
    price_date: str
    usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CashFlowRow:
    """One dated, tagged amount of the horizon's cash flow (base values of all assumptions).

    Attributes:
        key: the option.
        part_key: candidate that the amount comes from: a part of a mix, otherwise the same as `key`.
        month: 0 is the purchase; 1 is paid at the end of the first month; the last month may be a partial one.
        category: category of the bill line, or `installation`, `spares`, `support`, `staff`, `facility`, `energy`,
            `resale`.
        item: name of the bill line or cost.
        capex_or_opex, fixed_or_variable: classification; variable amounts are proportional to the hours worked.
        usd: amount, positive if paid and negative if received.
        basis, source, price_date, confidence: origin of the price, as in `PricedLine`.
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
