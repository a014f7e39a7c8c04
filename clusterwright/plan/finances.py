"""A plan in the terms of finance: every target and term side by side, returns, and how sure the ranking is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from clusterwright.plan.carbon import Emissions, emissions
from clusterwright.plan.contracted import Offer, node_usd_per_gpu_hour
from clusterwright.plan.drawn_plan import PricePaths, drawn_plan, savings
from clusterwright.plan.hybrids import Mixed, mixed
from clusterwright.plan.offers import offers
from clusterwright.plan.record import Plan
from clusterwright.plan.recount import candidates_of, economics_of_plan
from clusterwright.plan.taxed import Taxed, taxed, taxes_of
from clusterwright.pricing.book import PriceBook
from clusterwright.tco import returns
from clusterwright.tco.distributions import UncertainInput
from clusterwright.tco.drawing import DrawnOption, DrawnRegret
from clusterwright.tco.drawn_breakevens import DrawnBreakeven
from clusterwright.tco.engine import Ledger
from clusterwright.tco.finance import capital_recovery_factor
from clusterwright.tco.levelised import Levelisation
from clusterwright.tco.node_price import NodePrices
from clusterwright.tco.records import Breakeven, CandidateCost, CashFlowRow
from clusterwright.tco.uncertainty import grid, one_at_a_time

OWNED = "onprem"
HEAT_FACTORS = (0.4, 0.6, 0.8, 1.0, 1.25)


@dataclass(frozen=True, kw_only=True, slots=True)
class Return:
    """What owning brings against one rented option, as an investment: the money that is not paid in rent.

    Attributes:
        owned_key, rented_key: the two options.
        npv_usd: present value of the savings, resale included.
        irr_per_year: internal rate of return, None if there is none or several; `reason` says why.
        payback_months, discounted_payback_months: when the money is back, resale left out of neither.
        breakeven_months, breakeven_utilisation: as in `tco.records.Breakeven`.
        breakeven_months_p10, breakeven_months_p50, breakeven_months_p90: over the draws; None where that share of them
            does not get there within the horizon.
        probability_never: share of the draws in which owning does not become cheaper within the horizon.
        breakeven_usd_per_gpu_hour: that price of a rented GPU and hour at which both cost the same, None as below.
        breakeven_rent_factor: share of the rented option's price of GPU nodes at which both cost the same, None where
            its other costs alone are above.
    """

    owned_key: str
    rented_key: str
    npv_usd: float
    irr_per_year: float | None
    payback_months: float | None
    discounted_payback_months: float | None
    breakeven_months: float | None
    breakeven_months_p10: float | None
    breakeven_months_p50: float | None
    breakeven_months_p90: float | None
    probability_never: float | None
    breakeven_utilisation: float | None
    breakeven_usd_per_gpu_hour: float | None
    breakeven_rent_factor: float | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Swing:
    """What one uncertain input alone does to the present value that owning saves, at its P10 and P90, in USD."""

    key: str
    saving_usd_low: float
    saving_usd_high: float
    source: str

    @property
    def width_usd(self) -> float:
        """How far the two ends are apart."""
        return abs(self.saving_usd_high - self.saving_usd_low)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatCell:
    """What owning saves in present value at factors on utilisation and on the cloud price."""

    utilisation: float
    cloud_price: float
    saving_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitCost:
    """What work costs on one option, in USD.

    Attributes:
        key: of the option.
        usd_per_million_tokens: trained, of one run.
        usd_per_effective_pflop_hour: of the model FLOPs of one run, which are those that training keeps.
        levelised_usd_per_gpu_hour: of a useful GPU-hour (hours worked x goodput), with the purchases charged as an
            annuity over the horizon.
    """

    key: str
    usd_per_million_tokens: float | None
    usd_per_effective_pflop_hour: float | None
    levelised_usd_per_gpu_hour: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finances:
    """A plan in the terms of finance.

    Attributes:
        costs: of every target and term with a documented price, cheapest present value first.
        returns: of owning against each rented option; empty where nothing is owned.
        draws, seed: of the Latin hypercube; inputs: what was drawn.
        price_paths: where rental prices went in them.
        drawn: every option over all draws; regrets: what each costs where another one was right.
        swings: of owning against the cheapest rented option, widest first; heat: the same over two inputs.
        base_saving_usd: what owning saves in present value at base values, None where nothing is owned or rented.
        owned_key: the option that owns in swings and heat, the cheapest that is bought; compared_with: the rented one.
            Both are empty if there is none.
        taxed: every option after tax, delivery and financing.
        unit_costs: of every option, in the order of `costs`; carbon: the same for energy and emissions.
        rows: every option's cash flow, by key; ledger: which counted them.
        offers: by key of an option; a mix has none. beside: those that are left out because they do not compete.
        hybrid_returns: of owning a part, against each rented option.
    """

    costs: tuple[CandidateCost, ...]
    returns: tuple[Return, ...]
    draws: int
    seed: int
    inputs: tuple[UncertainInput, ...]
    price_paths: PricePaths
    drawn: tuple[DrawnOption, ...]
    regrets: tuple[DrawnRegret, ...]
    swings: tuple[Swing, ...]
    heat: tuple[HeatCell, ...]
    base_saving_usd: float | None
    owned_key: str
    compared_with: str
    taxed: Taxed
    unit_costs: tuple[UnitCost, ...]
    carbon: tuple[Emissions, ...]
    rows: Mapping[str, tuple[CashFlowRow, ...]]
    ledger: Ledger
    offers: Mapping[str, Offer] = field(default_factory=dict)
    beside: tuple[Offer, ...] = ()
    hybrid_returns: tuple[Return, ...] = ()


def finances(plan: Plan, book: PriceBook, *, draws: int, seed: int, everything: bool = False) -> Finances:
    """Return a plan in the terms of finance, on its own bill, prices and as-of day.

    Args:
        plan: with its options, and tax, delivery and financing in `tco`.
        book: documented prices.
        draws: of the uncertain inputs, 1 to a million.
        seed: of the draws.
        everything: also options that are never called the cheapest: spot nodes that nobody asked for, and providers of
            which only GPU prices are known. They change no other figure.

    Raises:
        InputError: draws are out of range, or the section cannot be counted with.
    """
    every = offers(plan, book)
    found = _shown(plan, every, everything=everything)
    ledger = _ledger(plan, found, book)
    costs = _known(ledger)
    mixes = mixed(plan.tco, ledger.economics, found, costs)
    if mixes.mixes:
        ledger = _ledger(plan, found, book, mixes)
        costs = _known(ledger)
    accelerators = {offer.candidate.key: offer.accelerator for offer in found}
    carbon = emissions(plan, ledger, costs, accelerators)
    chance = drawn_plan(
        plan, ledger, costs, book, taxes_of(plan.tco, ledger), accelerators=accelerators, draws=draws, seed=seed
    )
    known = {cost.key for cost in costs}
    rented = [cost for cost in costs if not cost.owned]
    owned = [cost for cost in costs if cost.owned]
    pairs = [(mine.mixed, entry) for mine, entry in _returns(ledger, owned, rented, chance.drawn.breakevens)]
    against = next((cost.key for cost in rented if cost.competes), "") if owned else ""
    mine = next((cost.key for cost in owned if not cost.mixed), "") if against else ""
    swings, heat, base = _sensitivity(ledger, chance.inputs, mine, against) if mine else ((), (), None)
    rows = {key: tuple(of_key) for key, of_key in groupby(ledger.cash_flow_rows(), key=attrgetter("key"))}
    return Finances(
        costs=tuple(costs),
        returns=tuple(entry for mixed, entry in pairs if not mixed),
        hybrid_returns=tuple(entry for mixed, entry in pairs if mixed),
        draws=draws,
        seed=seed,
        inputs=chance.inputs,
        price_paths=chance.price_paths,
        drawn=tuple(option for option in chance.drawn.options if option.key in known),
        regrets=tuple(entry for entry in chance.drawn.regrets if {entry.key, entry.right_key} <= known),
        swings=swings,
        heat=heat,
        base_saving_usd=base,
        owned_key=mine,
        compared_with=against,
        taxed=taxed(plan.tco, ledger, costs),
        unit_costs=_unit_costs(plan, ledger, costs, _goodputs((*found, *mixes.bases), ledger)),
        carbon=carbon,
        rows={cost.key: rows.get(cost.key, ()) for cost in costs},
        ledger=ledger,
        offers={offer.candidate.key: offer for offer in found},
        beside=tuple(offer for offer in every if all(offer is not shown for shown in found)),
    )


def _shown(plan: Plan, found: Sequence[Offer], *, everything: bool) -> tuple[Offer, ...]:
    """Return what is compared: what may be called the cheapest or is named in a mix, or everything."""
    named = {hybrid.burst for hybrid in plan.tco.hybrid}
    return tuple(offer for offer in found if everything or offer.candidate.competes or offer.candidate.key in named)


def _ledger(plan: Plan, found: Sequence[Offer], book: PriceBook, mixes: Mixed | None = None) -> Ledger:
    """Return the cash flow of every way to do the work; as much of it as the plan's own options do.

    Where delivery takes time, what is owned only competes with it.
    """
    mixes = mixes or Mixed()
    late = any(mix.delivery_months for mix in mixes.mixes)
    candidates = [
        replace(offer.candidate, competes=offer.candidate.competes and not (late and offer.candidate.owned))
        for offer in (*found, *mixes.bases)
    ]
    own = candidates_of(plan)
    paced = [entry.calendar_days for entry in own if entry.owned] or [entry.calendar_days for entry in own]
    economics = replace(economics_of_plan(plan, book), reference_days=max(paced))
    return Ledger(candidates, economics, book, mixes.mixes).reconciled()


def _known(ledger: Ledger) -> list[CandidateCost]:
    """Return the costs that are known, cheapest present value first."""
    return sorted(
        (cost for cost in ledger.costs() if cost.npv_usd is not None), key=lambda cost: (cost.npv_usd or 0.0, cost.key)
    )


def _goodputs(found: Sequence[Offer], ledger: Ledger) -> dict[str, float]:
    """Return the productive share of the hours of every option; of a mix by the shares of its work."""
    by_key = {offer.candidate.key: offer.goodput for offer in found}
    return by_key | {
        key: sum(by_key[part] * share for part, share in shares.items()) for key, shares in ledger.work_shares.items()
    }


def _unit_costs(
    plan: Plan, ledger: Ledger, costs: Sequence[CandidateCost], goodputs: Mapping[str, float]
) -> tuple[UnitCost, ...]:
    economics = ledger.economics
    charge = capital_recovery_factor(economics.discount_rate, economics.horizon_months / 12.0)
    levelised = ledger.levelised(
        {
            cost.key: Levelisation(
                fixed_charge_rate=charge,
                useful_gpu_hours_per_year=cost.gpu_hours_per_run
                * cost.runs_in_horizon
                / (economics.horizon_months / 12.0)
                * goodputs[cost.key],
            )
            for cost in costs
        }
    )
    flops = plan.workload.flop_per_token * plan.workload.tokens
    return tuple(
        UnitCost(
            key=cost.key,
            usd_per_million_tokens=None if cost.run_usd is None else cost.run_usd / plan.workload.tokens * 1e6,
            usd_per_effective_pflop_hour=None if cost.run_usd is None else cost.run_usd / (flops / 1e15 / 3600.0),
            levelised_usd_per_gpu_hour=levelised[cost.key].usd_per_useful_gpu_hour if cost.key in levelised else None,
        )
        for cost in costs
    )


def _returns(
    ledger: Ledger,
    owned: Sequence[CandidateCost],
    rented: Sequence[CandidateCost],
    breakevens: Sequence[DrawnBreakeven],
) -> Iterator[tuple[CandidateCost, Return]]:
    """Yield what owning brings, of every owned option against every rented one."""
    prices = NodePrices(ledger)
    pairs = {(pair.owned_key, pair.rented_key): pair for pair in ledger.breakevens()}
    bands = {(pair.owned_key, pair.rented_key): pair for pair in breakevens}
    for mine in owned:
        for theirs in rented:
            pair = (mine.key, theirs.key)
            factor = prices.breakeven(theirs.key, mine.horizon_usd or 0.0)
            yield mine, _return(ledger, mine, theirs, pairs.get(pair), bands.get(pair), factor)


def _return(  # noqa: PLR0917 - one per question
    ledger: Ledger,
    mine: CandidateCost,
    theirs: CandidateCost,
    breakeven: Breakeven | None,
    band: DrawnBreakeven | None,
    factor: float | None,
) -> Return:
    flows = ledger.net_flow(mine.key, theirs.key)
    rates = returns.internal_rates(flows)
    rate = ledger.economics.discount_rate
    listed = node_usd_per_gpu_hour(ledger, theirs)
    return Return(
        owned_key=mine.key,
        rented_key=theirs.key,
        npv_usd=returns.present_value(flows, rate),
        irr_per_year=rates.per_year,
        payback_months=returns.payback_month(flows),
        discounted_payback_months=returns.payback_month(flows, rate),
        breakeven_months=breakeven.months if breakeven else None,
        breakeven_months_p10=band.months_p10 if band else None,
        breakeven_months_p50=band.months_p50 if band else None,
        breakeven_months_p90=band.months_p90 if band else None,
        probability_never=band.probability_never if band else None,
        breakeven_utilisation=breakeven.utilisation if breakeven else None,
        breakeven_usd_per_gpu_hour=None if factor is None or listed is None else factor * listed,
        breakeven_rent_factor=factor,
        reason="; ".join(filter(None, (rates.reason, breakeven.reason if breakeven else ""))),
    )


def _sensitivity(
    ledger: Ledger, inputs: Sequence[UncertainInput], owned_key: str, rented_key: str
) -> tuple[tuple[Swing, ...], tuple[HeatCell, ...], float]:
    saved = savings(ledger, one_at_a_time(inputs), owned_key, rented_key)
    swings = [
        Swing(
            key=entry.key,
            saving_usd_low=saved[1 + 2 * place],
            saving_usd_high=saved[2 + 2 * place],
            source=entry.source,
        )
        for place, entry in enumerate(inputs)
    ]
    highest = 1.0 / ledger.economics.utilisation
    utilisations = [factor for factor in HEAT_FACTORS if factor <= highest + 1e-9]
    factors = grid(inputs, ("utilisation", utilisations), ("cloud_price", HEAT_FACTORS))
    cells = savings(ledger, factors, owned_key, rented_key)
    pairs = [(used, price) for used in utilisations for price in HEAT_FACTORS]
    heat = tuple(
        HeatCell(utilisation=used * ledger.economics.utilisation, cloud_price=price, saving_usd=saving)
        for (used, price), saving in zip(pairs, cells, strict=True)
    )
    return tuple(sorted(swings, key=lambda swing: (-swing.width_usd, swing.key))), heat, saved[0]
