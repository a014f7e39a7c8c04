"""What owning brings against renting, as an investment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.plan.alternatives.contracted import node_usd_per_gpu_hour
from clusterwright.tco.chance.drawn_breakevens import DrawnBreakeven, NodePrices
from clusterwright.tco.formulas.returns import internal_rates, payback_month, present_value
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Breakeven, CandidateCost


@dataclass(frozen=True, kw_only=True, slots=True)
class Return:
    """What owning brings against one rented option, as an investment: the money that is not paid in rent.

    Attributes:
        owned_key, rented_key: the two options.
        npv_usd: present value of the savings, resale included.
        irr_per_year: internal rate of return, None if there is none or several; `reason` says why.
        payback_months, discounted_payback_months: when the money is back, resale left out of neither.
        breakeven_months, breakeven_utilisation: as in `tco.terms.records.Breakeven`.
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


def owning_returns(
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
    rates = internal_rates(flows)
    rate = ledger.economics.discount_rate
    listed = node_usd_per_gpu_hour(ledger, theirs)
    return Return(
        owned_key=mine.key,
        rented_key=theirs.key,
        npv_usd=present_value(flows, rate),
        irr_per_year=rates.per_year,
        payback_months=payback_month(flows),
        discounted_payback_months=payback_month(flows, rate),
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
