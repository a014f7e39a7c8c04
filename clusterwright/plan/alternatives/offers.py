"""Every way to do a plan's work: each target and hardware under each term and contract, and priced providers."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.catalog.clouds.price_only import PriceOnlyProduct, price_only_products
from clusterwright.errors import InputError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.plan.alternatives.contracted import Offer, contract_key, contracted, with_extras
from clusterwright.plan.booking import Booked, without_booking
from clusterwright.plan.owned.cost import housed
from clusterwright.plan.record import Hardware, Option, OtherOption, Plan, WorkUnit
from clusterwright.plan.text.words import days_text
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import COMMITTED_TERMS, TERMS, PriceRequest
from clusterwright.tco.terms.records import Candidate, Parameter
from clusterwright.units import percent

#: Separator in a key between a target and hardware that is not the target's first choice.
HARDWARE = ":"
#: Other hardware of a target that is compared: the cheapest this many.
_MOST_OTHERS = 8
#: Why a price alone is no way to do the work.
_NO_CAPACITY = "no capacity of a blueprint is paid so: nothing plans it"
#: Terms that price-only providers are compared under.
_OPEN_TERMS = ("on_demand", "spot")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sized:
    """A size of one target's hardware: what an option and its alternatives have in common."""

    key: str
    target: str
    instance: str
    accelerator: str
    gpus_per_node: int
    bill: Bill
    nodes: int
    gpus: int
    calendar_days: float
    run_time_low: float
    run_time_high: float
    goodput: float
    kept_goodput: float | None
    spot_goodput: float | None
    term: str | None
    chosen: bool
    reason: str
    booked: Booked | None
    set_values: tuple[str, ...]

    @property
    def owned(self) -> bool:
        return self.bill.it_power_w is not None


def offers(plan: Plan, book: PriceBook) -> tuple[Offer, ...]:
    """Return every way to do a plan's work, of which those without a known price have no cost.

    Args:
        plan: its options, the hardware that it left out, and contracts, charges and providers in `tco`.
        book: documented prices; of a provider without any, nothing is known.

    Raises:
        InputError: a contract is with a cloud that is no target, or has no price; with its place in the blueprint.
    """
    day = dt.date.fromisoformat(plan.as_of)
    places = housed(plan.tco, book, as_of=day, horizon_months=plan.economics.horizon_months)
    sizes, unit = list(_sizes(plan)), plan.workload.unit
    others_sized = [size for other in plan.other_options for size in _of_other(plan, other)]
    by_term = {(size.target, size.term) for size in others_sized}
    refused = {other.key: other.held for other in plan.other_options if other.option is None}
    found: list[Offer] = []
    for size in sizes:
        if size.owned:
            found += _owned(size, places if size.chosen else {})
            continue
        found += [
            _rented(size, f"{size.key}/{term}", term, refused.get(f"{size.target}/{term}", _NO_CAPACITY), unit)
            for term in TERMS
            if term != "purchase" and (size.target, term) not in by_term and _had(size, term)
        ]
    found += [_rented(size, f"{size.key}/{size.term}", size.term or "", "", unit) for size in others_sized]
    others = list(_price_only(plan, sizes, book, day))
    found += others
    found += _by_contract(plan, sizes, others_sized, others)
    return tuple(with_extras(offer, plan.tco.cloud, day) for offer in found)


def _sizes(plan: Plan) -> Iterator[_Sized]:
    for option in plan.options:
        yield from _sizes_of(plan, option, held="", set_values=())


def _of_other(plan: Plan, other: OtherOption) -> Iterator[_Sized]:
    if other.option is not None:
        yield from _sizes_of(plan, other.option, held=other.held, set_values=other.set_values)


def _sizes_of(plan: Plan, option: Option, *, held: str, set_values: tuple[str, ...]) -> Iterator[_Sized]:
    yield _Sized(
        key=option.target,
        target=option.target,
        instance=option.instance,
        accelerator=option.accelerator,
        gpus_per_node=option.gpus_per_node,
        bill=option.bill,
        nodes=option.nodes,
        gpus=option.gpus,
        calendar_days=option.calendar_days,
        run_time_low=option.calendar_days_low / option.calendar_days,
        run_time_high=option.calendar_days_high / option.calendar_days,
        goodput=option.goodput,
        kept_goodput=option.kept_goodput,
        spot_goodput=option.spot_goodput,
        term=option.term,
        chosen=True,
        reason=held or not_met(plan, option),
        booked=option.booked,
        set_values=set_values,
    )
    yield from _alternatives(option, held=held, set_values=set_values)


def not_met(plan: Plan, option: Option) -> str:
    """Return which goal or limit an option does not meet, empty where it meets them all."""
    ended = next((entry.message for entry in plan.findings if entry.id == "CAP004" and option.target in entry.path), "")
    if ended and option is plan.option(option.target):
        return ended
    if not option.meets_goal and option.outlook:
        return option.outlook
    if not option.meets_goal:
        goal = plan.goals.finish_within_days
        return "misses the goal" if goal is None else f"misses the goal of {days_text(goal)}"
    if option.facility is not None and option.facility.findings:
        return option.facility.findings[0].message
    return ""


def _alternatives(option: Option, *, held: str, set_values: tuple[str, ...]) -> Iterator[_Sized]:
    """Yield the other hardware of a target that meets the goal, the cheapest first."""
    usable = [entry for entry in option.considered if entry.bill is not None and entry.meets_goal and entry.usd]
    for entry in usable[:_MOST_OTHERS]:
        assert entry.bill is not None  # noqa: S101 - filtered
        assert entry.nodes is not None  # noqa: S101 - goes with the bill
        yield _Sized(
            key=f"{option.target}{HARDWARE}{entry.name}",
            target=option.target,
            instance=entry.name,
            accelerator=entry.accelerator,
            gpus_per_node=entry.gpus_per_node or 1,
            bill=entry.bill,
            nodes=entry.nodes,
            gpus=entry.gpus or 0,
            calendar_days=entry.calendar_days or 0.0,
            run_time_low=option.calendar_days_low / option.calendar_days,
            run_time_high=option.calendar_days_high / option.calendar_days,
            goodput=entry.goodput or 0.0,
            kept_goodput=entry.kept_goodput,
            spot_goodput=entry.spot_goodput,
            term=option.term,
            chosen=False,
            reason=held,
            booked=entry.booked,
            set_values=_hardware_set(option, entry, set_values),
        )


def _hardware_set(option: Option, entry: Hardware, set_values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the overrides that make other hardware of a target the plan's option, in the size that it has here."""
    section = f"targets.{option.target}"
    field = "allowed_systems" if option.target == "onprem" else "allowed_instances"
    values = dict(value.split("=", 1) for value in set_values) | {f"{section}.{field}": f"[{entry.name}]"}
    sizes = (f"{section}.min_nodes", f"{section}.max_nodes")
    values |= {path: str(entry.nodes) for path in sizes if path in values}
    return tuple(f"{path}={value}" for path, value in values.items())


def _had(size: _Sized, term: str) -> bool:
    """Tell whether a size can be had under a term; of plans of older versions the time on spot nodes is unknown."""
    return term != "spot" or term == size.term or size.spot_goodput is not None


def _goodput(size: _Sized, term: str) -> float:
    known = size.spot_goodput if term == "spot" else size.kept_goodput
    return size.goodput if known is None else known


def _candidate(size: _Sized, key: str, term: str | None) -> Candidate:
    useful = size.goodput if term is None else _goodput(size, term)
    whole = size.booked is not None and term == size.term
    return Candidate(
        key=key,
        target=size.target,
        bill=size.bill if term == size.term else without_booking(size.bill, size.booked),
        nodes=size.nodes,
        gpus=size.gpus,
        calendar_days=size.calendar_days * (size.goodput / useful),
        # A booking is paid whole, however long the run takes.
        run_time_low=1.0 if whole else size.run_time_low,
        run_time_high=1.0 if whole else size.run_time_high,
        term=term,
        competes=not size.reason,
    )


def _offer(size: _Sized, candidate: Candidate, note: str = "") -> Offer:
    days = candidate.calendar_days
    return Offer(
        reason=size.reason,
        set_values=size.set_values,
        band=(days * size.run_time_low, days * size.run_time_high),
        candidate=candidate,
        goodput=size.goodput if candidate.term is None else _goodput(size, candidate.term),
        instance=size.instance,
        accelerator=size.accelerator,
        note=note,
    )


def _owned(size: _Sized, places: Mapping[str, tuple[Parameter, ...]]) -> list[Offer]:
    """Return a size that is bought, in each of the places where it may be."""
    plain = _candidate(size, size.key, None)
    return [_offer(size, replace(plain, key=f"{size.key}/{name}", given=given)) for name, given in places.items()] or [
        _offer(size, plain)
    ]


def _rented(size: _Sized, key: str, term: str, unplanned: str, unit: WorkUnit) -> Offer:
    """Return a size under a term; one that it is not planned for is no answer: nobody can count on spot nodes.

    Args:
        size: of the hardware.
        key: of the result.
        term: how it is paid.
        unplanned: why there is no plan for the term.
        unit: of the work.
    """
    offer = _offer(size, _candidate(size, key, term))
    if term == size.term:
        return offer
    if term == "spot":
        longer = offer.candidate.calendar_days / size.calendar_days - 1.0
        lost = "" if unit.always_on else f" {unit.each} takes {percent(longer, digits=1)} longer;"
        unplanned = f"nodes may be taken back:{lost} not assured for the whole horizon"
    return not_ranked(offer, unplanned)


def not_ranked(offer: Offer, reason: str) -> Offer:
    """Return an offer that is no answer, with the reason."""
    return replace(offer, candidate=replace(offer.candidate, competes=False), reason=reason, note=reason, set_values=())


def _price_only(plan: Plan, sizes: Sequence[_Sized], book: PriceBook, day: dt.date) -> Iterator[Offer]:
    """Yield providers of which only GPU prices are known, with the work of the nearest cluster of the same GPUs."""
    wanted = plan.tco.other_providers
    if wanted == "none":
        return
    first = sizes[0].accelerator
    open_offers = []
    for accelerator in dict.fromkeys(size.accelerator for size in sizes):
        # A cloud's cluster is nearer to another provider's than one that is built to order.
        near = min((size for size in sizes if size.accelerator == accelerator), key=lambda size: size.owned)
        for provider, product in _products(accelerator, near.gpus_per_node).items():
            if wanted != "all" and provider not in wanted:
                continue
            target = provider if accelerator == first else f"{provider}{HARDWARE}{product.accelerator}"
            open_offers += [(near, product, target, term) for term in _OPEN_TERMS if _had(near, term)]
    requests = [PriceRequest(sku=product.sku, region="", term=term) for _, product, _, term in open_offers]
    for (near, product, target, term), price in zip(open_offers, book.in_force(requests, day), strict=True):
        if price is not None:
            yield _elsewhere(near, product, f"{target}/{term}", term, price.point.unit, asked=wanted != "all")


def _products(accelerator: str, gpus_per_node: int) -> dict[str, PriceOnlyProduct]:
    """Return what each provider rents with an accelerator: the product of the wanted node, else the largest."""
    found: dict[str, PriceOnlyProduct] = {}
    for product in price_only_products().values():
        if product.accelerator != accelerator:
            continue
        best = found.get(product.provider)
        if best is None or _fit(product, gpus_per_node) > _fit(best, gpus_per_node):
            found[product.provider] = product
    return found


def _fit(product: PriceOnlyProduct, gpus_per_node: int) -> tuple[bool, int]:
    return product.gpus == gpus_per_node, product.gpus


def _elsewhere(near: _Sized, product: PriceOnlyProduct, key: str, term: str, unit: str, *, asked: bool) -> Offer:
    units = -(-near.gpus // product.gpus)
    line = BillLine(
        sku=product.sku,
        item=f"GPUs {product.item}",
        category="compute",
        quantity=units,
        unit=unit,
        charge="hourly",
        scales_with="nodes",
        note=f"{near.gpus:,} GPUs as on {near.target}",
    )
    candidate = replace(
        _candidate(near, key, term),
        target=product.provider,
        bill=Bill(target=product.provider, lines=(line,)),
    )
    where = "built to order" if near.owned else f"on {near.target} {near.instance}"
    spot = "; nodes may be taken back" if term == "spot" else ""
    note = f"GPUs alone: no storage, network or controller; as long as {where}{spot}"
    offer = replace(_offer(near, candidate, note), instance=product.sku.partition("/")[2], set_values=())
    return offer if asked and term != "spot" else not_ranked(offer, near.reason or note)


def _unbooked(size: _Sized) -> _Sized:
    return replace(size, booked=None, bill=without_booking(size.bill, size.booked))


def _by_contract(
    plan: Plan, sizes: Sequence[_Sized], others_sized: Sequence[_Sized], others: Sequence[Offer]
) -> Iterator[Offer]:
    known = {offer.candidate.key for offer in others}
    for place, contract in enumerate(plan.tco.contracts):
        path = ("tco", "contracts", place)
        own = [
            size
            for size in others_sized
            if (size.target, size.term) == (contract.target, contract.price_term) and size.term in COMMITTED_TERMS
        ]
        bases = [
            (
                replace(
                    _rented(_unbooked(size), size.key, contract.price_term, "", plan.workload.unit), reason=size.reason
                ),
                size.chosen,
            )
            for size in own or sizes
            if size.target == contract.target and not size.owned
        ]
        bases += [
            (
                replace(
                    offer, reason="", candidate=replace(offer.candidate, key=offer.candidate.key.partition("/")[0])
                ),
                True,
            )
            for offer in others
            if offer.candidate.target == contract.target
            and offer.candidate.term == ("on_demand" if contract.rate is not None else contract.price_term)
        ]
        if not bases:
            raise InputError(
                f"{contract.target} cannot be compared under term {contract.term}",
                help=f"add targets.{contract.target}, give a rate, or remove the contract",
                path=path,
            )
        for offer, chosen in bases:
            if contract.rate is not None and not chosen:
                continue
            key = contract_key(offer.candidate.key, contract, known)
            known.add(key)
            yield contracted(offer, contract, key, place)
