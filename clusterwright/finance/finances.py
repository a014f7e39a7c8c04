"""A plan in the terms of finance: every target and term side by side, returns, and how sure the ranking is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from clusterwright.finance.carbon import Emissions, emissions
from clusterwright.finance.drawn_plan import PricePaths, drawn_plan
from clusterwright.finance.returns import Return, owning_returns
from clusterwright.finance.sensitivities import HeatCell, Swing, sensitivities
from clusterwright.finance.taxed import Taxed, taxed, taxes_of
from clusterwright.finance.unit_costs import UnitCost, unit_costs
from clusterwright.plan.alternatives.hybrids import HYBRID
from clusterwright.plan.alternatives.recount import known, ledger_of
from clusterwright.plan.record import Alternative, Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.chance.distributions import UncertainInput
from clusterwright.tco.chance.drawing import DrawnOption, DrawnRegret
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost, CashFlowRow


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
        mapped_with: the rented one in heat: the cheapest whose price is not held by a commitment, where there is one.
        taxed: every option after tax, delivery and financing.
        unit_costs: of every option, in the order of `costs`; carbon: the same for energy and emissions.
        rows: every option's cash flow, by key; ledger: which counted them.
        ways: behind the options, by key; a mix has none.
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
    mapped_with: str
    taxed: Taxed
    unit_costs: tuple[UnitCost, ...]
    carbon: tuple[Emissions, ...]
    rows: Mapping[str, tuple[CashFlowRow, ...]]
    ledger: Ledger
    ways: Mapping[str, Alternative] = field(default_factory=dict)
    hybrid_returns: tuple[Return, ...] = ()


def finances(plan: Plan, book: PriceBook, *, draws: int, seed: int, everything: bool = False) -> Finances:
    """Return a plan in the terms of finance, on its own bill, prices and as-of day.

    Args:
        plan: with its alternatives and the terms of finance.
        book: documented prices.
        draws: of the uncertain inputs, 1 to a million.
        seed: of the draws.
        everything: also options that are never called the cheapest: spot nodes that nobody asked for, and providers of
            which only GPU prices are known. They change no other figure.

    Raises:
        InputError: draws are out of range, or a grid or target of carbon is unknown.
    """
    shown = _shown(plan, everything=everything)
    ledger = ledger_of(shown, plan.economics, book)
    costs = known(ledger.costs())
    accelerators = {way.key: way.cluster.accelerator for way in shown if way.candidate is not None}
    carbon = emissions(plan, ledger, costs, accelerators)
    chance = drawn_plan(
        plan,
        ledger,
        costs,
        book,
        taxes_of(plan.finance.taxes),
        accelerators=accelerators,
        draws=draws,
        seed=seed,
    )
    keys = {cost.key for cost in costs}
    rented = [cost for cost in costs if not cost.owned]
    owned = [cost for cost in costs if cost.owned]
    pairs = [(mine.mixed, entry) for mine, entry in owning_returns(ledger, owned, rented, chance.drawn.breakevens)]
    competing = [cost for cost in rented if cost.competes] if owned else []
    against = next((cost.key for cost in competing), "")
    mapped_with = next((cost.key for cost in competing if cost.term not in COMMITTED_TERMS), against)
    mine = next((cost.key for cost in owned if not cost.mixed), "") if against else ""
    swings, heat, base = sensitivities(ledger, chance.inputs, mine, against, mapped_with) if mine else ((), (), None)
    rows = {key: tuple(of_key) for key, of_key in groupby(ledger.cash_flow_rows(), key=attrgetter("key"))}
    return Finances(
        costs=tuple(costs),
        returns=tuple(entry for mixed, entry in pairs if not mixed),
        hybrid_returns=tuple(entry for mixed, entry in pairs if mixed),
        draws=draws,
        seed=seed,
        inputs=chance.inputs,
        price_paths=chance.price_paths,
        drawn=tuple(option for option in chance.drawn.options if option.key in keys),
        regrets=tuple(entry for entry in chance.drawn.regrets if {entry.key, entry.right_key} <= keys),
        swings=swings,
        heat=heat,
        base_saving_usd=base,
        owned_key=mine,
        compared_with=against,
        mapped_with=mapped_with,
        taxed=taxed(plan.finance, ledger, costs),
        unit_costs=unit_costs(plan, ledger, costs, shown),
        carbon=carbon,
        rows={cost.key: rows.get(cost.key, ()) for cost in costs},
        ledger=ledger,
        ways={way.key: way for way in shown if way.candidate is not None and way.candidate.listed},
    )


def _shown(plan: Plan, *, everything: bool) -> tuple[Alternative, ...]:
    """Return what is compared: what may be called the cheapest and the mixes that are asked for, or everything."""
    if everything:
        return plan.alternatives
    parts = {part.key for way in plan.alternatives if way.mix and way.target == HYBRID for part in way.mix.parts}
    single = {
        way.key: way
        for way in plan.alternatives
        if way.candidate is not None and (way.candidate.competes or way.key in parts)
    }
    return tuple(
        way
        for way in plan.alternatives
        if way.key in single or (way.mix is not None and all(part.key in single for part in way.mix.parts))
    )
