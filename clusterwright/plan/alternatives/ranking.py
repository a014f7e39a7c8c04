"""Every way to do a plan's work, counted in one cash flow and ranked: what can be the answer, and what cannot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusterwright.plan.alternatives.answer_basis import bases
from clusterwright.plan.alternatives.contracted import Offer
from clusterwright.plan.alternatives.hybrids import Mixed, mixed
from clusterwright.plan.alternatives.offers import not_met, offers
from clusterwright.plan.alternatives.recount import economics_of_plan
from clusterwright.plan.basis import Basis
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost

#: Why what is owned is no answer where it comes late: the way that rents until then is one.
_LATE = "it is not there before its delivery"
_REST = "the rest of its work is done in a way that is not ranked"


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedWays:
    """Ways to do a plan's work with what they cost.

    Attributes:
        offers: that are counted; mixes: of them.
        ledger: their cash flow; costs: those that are known, cheapest present value first.
    """

    offers: tuple[Offer, ...]
    mixes: Mixed
    ledger: Ledger
    costs: tuple[CandidateCost, ...]


def counted_ways(plan: Plan, found: Sequence[Offer], book: PriceBook) -> CountedWays:
    """Return what ways to do a plan's work cost, and what the mixes of them do that the blueprint asks for.

    Raises:
        InputError: a mix cannot be made, with its place in the blueprint.
    """
    ledger = _ledger(plan, found, book)
    mixes = mixed(plan.tco, ledger.economics, found, _known(ledger))
    if mixes.mixes:
        ledger = _ledger(plan, found, book, mixes)
    return CountedWays(offers=tuple(found), mixes=mixes, ledger=ledger, costs=tuple(_known(ledger)))


def ranking(plan: Plan, book: PriceBook, *, max_age_s: float) -> tuple[Alternative, ...]:
    """Return every way to do a plan's work with a known cost, those that can be the answer first.

    Each group is by present value. A plan's option of which no cost is known is among those that are not ranked.

    Args:
        plan: with its options.
        book: documented prices.
        max_age_s: age up to which a price is valid.

    Raises:
        InputError: a contract or a mix cannot be counted, with its place in the blueprint.
    """
    counted = counted_ways(plan, offers(plan, book), book)
    by_key = {offer.candidate.key: offer for offer in counted.offers}
    basis = bases(counted.ledger, max_age_s=max_age_s)
    known = [_alternative(plan, cost, by_key.get(cost.key), basis[cost.key]) for cost in counted.costs]
    unknown = [
        _unknown(plan, option)
        for option in plan.options
        if option.npv_usd is None and all(entry.target != option.target for entry in known if entry.ranked)
    ]
    return tuple(sorted([*known, *unknown], key=lambda entry: not entry.ranked))


def _same_work(plan: Plan, set_values: tuple[str, ...]) -> tuple[str, ...]:
    """Return overrides with the number of runs, where another option's days would set another number."""
    reference = plan.option(plan.economics.reference_target)
    changed = {value.split(".")[1] for value in set_values if value.startswith("targets.")}
    rented = reference is not None and reference.facility is None
    if not set_values or plan.economics.runs is not None or not (rented or plan.economics.reference_target in changed):
        return set_values
    runs = plan.options[0].runs_in_horizon
    return (*set_values, "economics.utilisation=null", f"economics.runs={runs!r}")


def _alternative(plan: Plan, cost: CandidateCost, offer: Offer | None, basis: Basis) -> Alternative:
    reason = "" if cost.competes else _LATE if cost.owned and not cost.mixed else _REST
    low, high = (None, None) if offer is None or offer.band is None else offer.band
    return Alternative(
        key=cost.key,
        target=cost.target,
        instance="" if offer is None else offer.instance,
        accelerator="" if offer is None else offer.accelerator,
        term=cost.term,
        owned=cost.owned,
        mixed=cost.mixed,
        nodes=cost.nodes,
        gpus=cost.gpus,
        calendar_days=cost.calendar_days,
        calendar_days_low=low,
        calendar_days_high=high,
        run_usd=cost.run_cash_usd,
        run_usd_low=None if cost.shared else cost.run_usd_low,
        run_usd_high=None if cost.shared else cost.run_usd_high,
        run_share_usd=cost.run_share_usd,
        horizon_usd=cost.horizon_usd,
        horizon_usd_low=cost.horizon_usd_low,
        horizon_usd_high=cost.horizon_usd_high,
        npv_usd=cost.npv_usd,
        npv_usd_low=cost.npv_usd_low,
        npv_usd_high=cost.npv_usd_high,
        capex_usd=cost.capex_usd,
        usd_per_gpu_hour=cost.usd_per_gpu_hour,
        priced_share=cost.priced_share,
        horizon_priced_share=cost.horizon_priced_share,
        ranked=cost.competes,
        reason=reason if offer is None else offer.reason or reason,
        note="" if offer is None else offer.note,
        set_values=() if offer is None else _same_work(plan, offer.set_values),
        basis=basis,
    )


def _unknown(plan: Plan, option: Option) -> Alternative:
    """Return the way that an option is whose cost is unknown: a price is missing, or it cannot do the work."""
    owned = option.facility is not None
    missing = ", ".join(dict.fromkeys(entry.item for entry in option.missing))
    return Alternative(
        key=option.target if owned else f"{option.target}/{option.term}",
        target=option.target,
        instance=option.instance,
        accelerator=option.accelerator,
        term=option.term,
        owned=owned,
        mixed=False,
        nodes=option.nodes,
        gpus=option.gpus,
        calendar_days=option.calendar_days,
        calendar_days_low=option.calendar_days_low,
        calendar_days_high=option.calendar_days_high,
        run_usd=option.run_usd,
        run_usd_low=option.run_usd_low,
        run_usd_high=option.run_usd_high,
        run_share_usd=option.run_share_usd,
        horizon_usd=option.horizon_usd,
        horizon_usd_low=option.horizon_usd_low,
        horizon_usd_high=option.horizon_usd_high,
        npv_usd=option.npv_usd,
        npv_usd_low=option.npv_usd_low,
        npv_usd_high=option.npv_usd_high,
        capex_usd=option.capex_usd,
        usd_per_gpu_hour=option.usd_per_gpu_hour,
        priced_share=option.priced_share,
        horizon_priced_share=option.horizon_priced_share,
        ranked=False,
        reason=not_met(plan, option) or (f"no price of {missing}" if missing else "it cannot do the horizon's work"),
        note="",
        set_values=(),
    )


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
    return Ledger(candidates, economics_of_plan(plan, book), book, mixes.mixes).reconciled()


def _known(ledger: Ledger) -> list[CandidateCost]:
    """Return the costs that are known, cheapest present value first."""
    return sorted(
        (cost for cost in ledger.costs() if cost.npv_usd is not None), key=lambda cost: (cost.npv_usd or 0.0, cost.key)
    )
