"""One way to do a plan's work, as a contract pays it and with what the provider charges beside the bill."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterwright.blueprint.sections.contracts import CloudContract, CloudExtras
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.ledger.priced_lines import is_by_term
from clusterwright.tco.renting.metered import SERVICES, metered_charge, support_plan, support_share
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Surcharge
from clusterwright.tco.terms.records import Candidate, CandidateCost


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """One way to do the work.

    Attributes:
        candidate: as cost takes it.
        goodput: productive share of calendar time.
        instance: hardware that it is; accelerator: catalogue id.
        note: what is assumed of it, empty where nothing is.
        reason: why it is not ranked, empty where it is.
        band: ends of `calendar_days`, low and high; None where they are unknown.
        set_values: overrides that make it the plan's option.
    """

    candidate: Candidate
    goodput: float
    instance: str
    accelerator: str
    note: str = ""
    reason: str = ""
    band: tuple[float, float] | None = None
    set_values: tuple[str, ...] = ()


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


def contracted(offer: Offer, contract: CloudContract, key: str, place: int) -> Offer:
    """Return an option as a contract pays it; who writes a contract down can have what it is for.

    Args:
        offer: at list price.
        contract: of the blueprint.
        key: of the result.
        place: of the contract in the blueprint, from 0.
    """
    candidate = offer.candidate
    nodes = candidate.bill.lines[0]
    gpus_per_unit = 1 if nodes.unit == "GPU" else candidate.gpus / nodes.quantity
    return replace(
        offer,
        set_values=(),
        candidate=replace(
            candidate,
            key=key,
            competes=not offer.reason,
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
        ),
    )


def with_extras(offer: Offer, extras: CloudExtras, day: dt.date) -> Offer:
    """Return an offer with what its provider charges beside the bill; its note names what has no price."""
    candidate, unknown = charged(offer.candidate, extras, day)
    missing = f"no price of {', '.join(unknown)}" if unknown else ""
    return replace(offer, candidate=candidate, note="; ".join(filter(None, (offer.note, missing))))


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
