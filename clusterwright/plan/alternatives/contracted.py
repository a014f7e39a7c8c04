"""One way to do a plan's work, as a contract pays it and with what the provider charges beside the bill."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from clusterwright.blueprint.sections.contracts import CloudContract, CloudExtras
from clusterwright.plan.record import Alternative, Cluster, Performance, unknown_money
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.ledger.priced_lines import is_by_term
from clusterwright.tco.renting.metered import SERVICES, metered_charge, support_plan, support_share
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Surcharge
from clusterwright.tco.terms.records import Candidate, CandidateCost


def alternative_of(
    candidate: Candidate,
    *,
    instance: str,
    accelerator: str,
    goodput: float,
    band: tuple[float, float],
    reason: str = "",
    note: str = "",
    set_values: tuple[str, ...] = (),
) -> Alternative:
    """Return one way to do the work before it is counted.

    Args:
        candidate: as cost takes it.
        instance: hardware that it is.
        accelerator: catalogue id.
        goodput: productive share of calendar time, 0 to 1.
        band: ends of the calendar days, low and high.
        reason: why it is not ranked, empty where it is.
        note: what is assumed of it.
        set_values: overrides that make it the plan's option.
    """
    return Alternative(
        key=candidate.key,
        target=candidate.target,
        cluster=Cluster(instance=instance, accelerator=accelerator, nodes=candidate.nodes, gpus=candidate.gpus),
        performance=Performance(
            calendar_days=candidate.calendar_days,
            calendar_days_low=band[0],
            calendar_days_high=band[1],
            goodput=goodput,
        ),
        money=unknown_money(candidate.term or "purchase"),
        owned=candidate.owned,
        ranked=False,
        reason=reason,
        note=note,
        set_values=set_values,
        candidate=candidate,
        mix=None,
    )


def paid_as(way: Alternative, candidate: Candidate, **changes: Any) -> Alternative:  # noqa: ANN401 - of its fields
    """Return the same cluster paid in another way, as a candidate says it, with other changes."""
    money = unknown_money(candidate.term or "purchase")
    return replace(way, key=candidate.key, target=candidate.target, candidate=candidate, money=money, **changes)


def cost_candidate(way: Alternative) -> Candidate:
    """Return a way as cost takes it; mixes have none."""
    assert way.candidate is not None  # noqa: S101 - of what was billed
    return way.candidate


def contract_key(base: str, contract: CloudContract, known: Iterable[str]) -> str:
    """Return a key for an option under a contract that is not among those known."""
    ways: list[str] = [] if contract.payment is None else [contract.payment]
    if contract.discount or contract.rate is not None or contract.commitment_per_year or not ways:
        ways.append("contract")
    plain = key = f"{base}/{contract.term}/{'+'.join(ways)}"
    number = 2
    while key in set(known):
        key, number = f"{plain}_{number}", number + 1
    return key


def contracted(way: Alternative, contract: CloudContract, key: str, place: int) -> Alternative:
    """Return a way as a contract pays it; who writes a contract down can have what it is for.

    Args:
        way: at list price.
        contract: of the blueprint.
        key: of the result.
        place: of the contract in the blueprint, from 0.
    """
    candidate = cost_candidate(way)
    nodes = candidate.bill.lines[0]
    gpus_per_unit = 1 if nodes.unit == "GPU" else candidate.gpus / nodes.quantity
    paid = replace(
        candidate,
        key=key,
        competes=not way.reason,
        term=contract.price_term,
        contract=Contract(
            upfront_fraction=contract.upfront_fraction,
            period_months=contract.period_months,
            rest=contract.rest,
            discount=contract.discount,
            categories=() if contract.discounted == "all" else tuple(contract.discounted),
            committed_usd_per_year=contract.commitment_per_year,
            source=f"blueprint, contract {place + 1}",
        ),
        rates=() if contract.rate is None else ((nodes.sku, contract.rate * gpus_per_unit),),
    )
    return paid_as(way, paid, set_values=())


def with_extras(way: Alternative, extras: CloudExtras, day: dt.date) -> Alternative:
    """Return a way with what its provider charges beside the bill; its note names what has no price."""
    candidate, unknown = charged(cost_candidate(way), extras, day)
    missing = f"no price of {', '.join(unknown)}" if unknown else ""
    return replace(way, candidate=candidate, note="; ".join(filter(None, (way.note, missing))))


def charged(candidate: Candidate, extras: CloudExtras, day: dt.date) -> tuple[Candidate, tuple[str, ...]]:
    """Return a candidate with what its provider charges beside the bill, and the names of what has no price.

    Args:
        candidate: what is owned stays as it is.
        extras: of the blueprint.
        day: of the prices.
    """
    if candidate.owned:
        return candidate, ()
    charges: list[Charge] = []
    unknown: list[str] = []
    for service, name in SERVICES.items():
        amount = getattr(extras, service)
        if amount:
            charge = metered_charge(candidate.target, service, amount, day)
            charges += [] if charge is None else [charge]
            unknown += [name] if charge is None else []
    if extras.setup:
        charges.append(Charge(category="setup", item="Moving in", usd=extras.setup, once=True))
    support: SupportPlan | None = None
    if isinstance(extras.support, str):
        support = support_plan(candidate.target, extras.support)
        unknown += [f"support plan {extras.support}"] if support is None else []
    elif extras.support:
        support = support_share(extras.support)
    surcharges: tuple[Surcharge, ...] = ()
    if extras.goodput_loss:
        surcharges = (
            Surcharge(
                category="goodput_loss",
                item="Work lost beyond the plan's own",
                fraction=extras.goodput_loss,
                of_categories=("compute",),
            ),
        )
    return replace(candidate, charges=tuple(charges), support=support, surcharges=surcharges), tuple(unknown)


def node_usd_per_gpu_hour(ledger: Ledger, cost: CandidateCost) -> float | None:
    """Return what a rented GPU costs in an hour, after its discount, without anything around it."""
    candidate = next((entry for entry in ledger.candidates if entry.key == cost.key), None)
    nodes = [line.usd_per_period for line in cost.lines if is_by_term(line.line)]
    if candidate is None or not nodes or nodes[0] is None:
        return None
    contract = candidate.contract
    off = contract.discount if contract and (not contract.categories or "compute" in contract.categories) else 0.0
    return nodes[0] * (1.0 - off) / cost.gpus
