"""Every way to do a plan's work: each target and hardware under each term and contract, and priced providers."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.catalog.price_only import PriceOnlyProduct, price_only_products
from clusterwright.errors import InputError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.plan.contracted import Offer, contract_key, contracted, with_extras
from clusterwright.plan.owning import housed
from clusterwright.plan.record import Option, Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import TERMS, PriceRequest
from clusterwright.tco.records import Candidate
from clusterwright.tco.values import Parameter
from clusterwright.units import percent

#: Stands in a key between a target and hardware that is not the target's first choice.
HARDWARE = ":"
#: Other hardware of a target that is compared: the cheapest so many.
_MOST_OTHERS = 8
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
    sizes = list(_sizes(plan))
    found: list[Offer] = []
    for size in sizes:
        if size.owned:
            found += _owned(size, places if size.chosen else {})
            continue
        found += [
            _rented(size, f"{size.key}/{term}", term) for term in TERMS if term != "purchase" and _had(size, term)
        ]
    others = list(_price_only(plan, sizes, book, day))
    found += others
    found += _by_contract(plan, sizes, others)
    return tuple(with_extras(offer, plan.tco.cloud, day) for offer in found)


def _sizes(plan: Plan) -> Iterator[_Sized]:
    for option in plan.options:
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
        )
        yield from _alternatives(option)


def _alternatives(option: Option) -> Iterator[_Sized]:
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
        )


def _had(size: _Sized, term: str) -> bool:
    """Tell whether a size can be had under a term; of plans of older versions the time on spot nodes is unknown."""
    return term != "spot" or term == size.term or size.spot_goodput is not None


def _goodput(size: _Sized, term: str) -> float:
    known = size.spot_goodput if term == "spot" else size.kept_goodput
    return size.goodput if known is None else known


def _candidate(size: _Sized, key: str, term: str | None) -> Candidate:
    useful = size.goodput if term is None else _goodput(size, term)
    return Candidate(
        key=key,
        target=size.target,
        bill=size.bill,
        nodes=size.nodes,
        gpus=size.gpus,
        calendar_days=size.calendar_days * (size.goodput / useful),
        run_time_low=size.run_time_low,
        run_time_high=size.run_time_high,
        term=term,
    )


def _offer(size: _Sized, candidate: Candidate, note: str = "") -> Offer:
    return Offer(
        candidate=candidate,
        goodput=size.goodput if candidate.term is None else _goodput(size, candidate.term),
        instance=size.instance,
        accelerator=size.accelerator,
        note=note,
    )


def _owned(size: _Sized, places: Mapping[str, tuple[Parameter, ...]]) -> list[Offer]:
    """Return a size that is bought, in each of the places where it may stand."""
    plain = _candidate(size, size.key, None)
    return [_offer(size, replace(plain, key=f"{size.key}/{name}", given=given)) for name, given in places.items()] or [
        _offer(size, plain)
    ]


def _rented(size: _Sized, key: str, term: str) -> Offer:
    """Return a size under a term. Spot nodes that nobody asked for are ranked, but nobody can count on them."""
    offer = _offer(size, _candidate(size, key, term))
    if term != "spot" or size.term == "spot":
        return offer
    longer = offer.candidate.calendar_days / size.calendar_days - 1.0
    return replace(
        offer,
        candidate=replace(offer.candidate, competes=False),
        note=f"nodes may be taken back: a run takes {percent(longer, digits=1)} longer; not assured for the whole"
        " horizon",
    )


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
        competes=asked and term != "spot",
    )
    where = "built to order" if near.owned else f"on {near.target} {near.instance}"
    spot = "; nodes may be taken back" if term == "spot" else ""
    return replace(
        _offer(near, candidate, f"GPUs alone: no storage, network or controller; as long as {where}{spot}"),
        instance=product.sku.partition("/")[2],
    )


def _by_contract(plan: Plan, sizes: Sequence[_Sized], others: Sequence[Offer]) -> Iterator[Offer]:
    known = {offer.candidate.key for offer in others}
    for place, contract in enumerate(plan.tco.contracts):
        path = ("tco", "contracts", place)
        bases = [
            (_rented(size, size.key, contract.price_term), size.chosen)
            for size in sizes
            if size.target == contract.target and not size.owned
        ]
        bases += [
            (replace(offer, candidate=replace(offer.candidate, key=offer.candidate.key.partition("/")[0])), True)
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
