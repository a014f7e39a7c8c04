"""Every way to do a plan's work: each target and hardware under each term and contract, and priced providers."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.catalog.clouds.price_only import PriceOnlyProduct, price_only_products
from clusterwright.errors import InputError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.plan.alternatives.contracted import (
    alternative_of,
    contract_key,
    contracted,
    cost_candidate,
    paid_as,
    with_extras,
)
from clusterwright.plan.booking import without_booking
from clusterwright.plan.candidates.consider import SizedAlternative
from clusterwright.plan.candidates.hardware import chosen_by_usd, rented_shares
from clusterwright.plan.engine import Engine
from clusterwright.plan.owned.cost import housed
from clusterwright.plan.record import Alternative, Option, WorkUnit
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import COMMITTED_TERMS, TERMS, PriceRequest
from clusterwright.tco.terms.records import Candidate, CandidateCost, Economics, Parameter
from clusterwright.units import duration_text, percent

#: Separator in a key between a target and hardware that is not the target's first choice.
HARDWARE = ":"
#: Other hardware of a target that is compared: the cheapest this many.
_MOST_OTHERS = 8
#: Why a price alone is no way to do the work.
_NO_CAPACITY = "no capacity of a blueprint is paid so: nothing plans it"
#: Terms that price-only providers are compared under.
_OPEN_TERMS = ("on_demand", "spot")


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSize:
    """A size of one target's hardware in the place that it has in the plan: what its ways under all terms share.

    Attributes:
        key: target, other hardware after a colon.
        sized: with its bill under the term that it is planned for.
        chosen: whether it is the target's choice, not other hardware.
        band: ends of the calendar days as shares of them, low and high.
        goodput: productive share of calendar time, 0 to 1; kept_goodput, spot_goodput: on nodes that are kept, and that
            the cloud takes back; None for owned nodes.
        reason: why it is no answer, empty where it can be.
        set_values: overrides of the blueprint that make it the plan's option.
    """

    key: str
    sized: SizedAlternative
    chosen: bool
    band: tuple[float, float]
    goodput: float
    kept_goodput: float | None
    spot_goodput: float | None
    reason: str
    set_values: tuple[str, ...]

    @property
    def target(self) -> str:
        """Where it is."""
        return self.sized.candidate.target

    @property
    def term(self) -> str | None:
        """Term that it is planned for; None for what is owned."""
        return self.sized.candidate.term

    @property
    def owned(self) -> bool:
        """Whether it is bought."""
        return self.sized.candidate.owned


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the ways of a plan are made with.

    Attributes:
        section: `tco` of the blueprint: places, contracts, charges, providers.
        economics: what money is counted with.
        book: documented prices; of a provider without any, nothing is known.
        day: whose prices hold.
        unit: of the work.
    """

    section: TcoSection
    economics: Economics
    book: PriceBook
    day: dt.date
    unit: WorkUnit


def offers(
    sizes: Sequence[PlannedSize], others: Sequence[PlannedSize], refused: Mapping[str, str], asked: Asked
) -> tuple[Alternative, ...]:
    """Return every way to do a plan's work, not yet counted.

    Args:
        sizes: of the plan's options, with the other hardware of their targets.
        others: of the clouds' other capacities and commitments.
        refused: why there is no size, by the key of a capacity that cannot be had.
        asked: contracts and prices.

    Raises:
        InputError: a contract is with a cloud that is no target, or has no price; with its place in the blueprint.
    """
    horizon = asked.economics.horizon_months
    places = housed(asked.section, asked.book, as_of=asked.day, horizon_months=horizon)
    by_term = {(size.target, size.term) for size in others}
    found: list[Alternative] = []
    for size in sizes:
        if size.owned:
            found += _owned(size, places if size.chosen else {})
            continue
        found += [
            _rented(size, f"{size.key}/{term}", term, refused.get(f"{size.target}/{term}", _NO_CAPACITY), asked.unit)
            for term in TERMS
            if term != "purchase" and (size.target, term) not in by_term
        ]
    found += [_rented(size, f"{size.key}/{size.term}", size.term or "", "", asked.unit) for size in others]
    elsewhere = list(_price_only(sizes, asked))
    found += elsewhere
    found += _by_contract(sizes, others, elsewhere, asked)
    return tuple(with_extras(way, asked.section.cloud, asked.day) for way in found)


def planned_sizes(
    blueprint: Blueprint,
    engine: Engine,
    best: Sequence[SizedAlternative],
    costs: Mapping[str, CandidateCost],
    *,
    reason: str,
    held: str = "",
    set_values: tuple[str, ...] = (),
) -> Iterator[PlannedSize]:
    """Yield the size that is chosen for a target, and its other hardware that meets the goals, the cheapest first.

    Args:
        blueprint: that it is planned for.
        engine: of the workload.
        best: size of each hardware, the chosen one first.
        costs: of the sizes that were billed, by key.
        reason: why the chosen one is no answer, empty where it can be.
        held: why no hardware of the target is.
        set_values: overrides that make the chosen one the plan's option.
    """
    chosen, *rest = best
    usable = [entry for entry in rest if entry.meets_goal and chosen_by_usd(costs[entry.key])]
    point = chosen.point
    band = (point.calendar_days_low / point.calendar_days, point.calendar_days_high / point.calendar_days)
    for entry in (chosen, *usable[:_MOST_OTHERS]):
        kept, spot = rented_shares(blueprint, entry, engine)
        target, name = entry.resolved.target, entry.point.node.id
        first = entry is chosen
        yield PlannedSize(
            key=target if first else f"{target}{HARDWARE}{name}",
            sized=entry,
            chosen=first,
            # Other hardware has the band of the chosen one.
            band=band,
            goodput=engine.useful_share(entry.point),
            kept_goodput=kept,
            spot_goodput=spot,
            reason=held or reason if first else held,
            set_values=set_values if first else _hardware_set(target, entry, set_values),
        )


def not_met(option: Option, goal_days: float | None, ended: str = "") -> str:
    """Return which goal or limit an option does not meet, empty where it meets them all.

    Args:
        option: of the plan, or another capacity.
        goal_days: time that the work is to end in; None for none.
        ended: what the rule says that the capacity ends before the work; empty where it lasts.
    """
    if ended:
        return ended
    if not option.performance.meets_goal and option.performance.outlook:
        return option.performance.outlook
    if not option.performance.meets_goal:
        return "misses the goal" if goal_days is None else f"misses the goal of {duration_text(goal_days)}"
    if option.design.facility is not None and option.design.facility.findings:
        return option.design.facility.findings[0].message
    return ""


def _hardware_set(target: str, entry: SizedAlternative, set_values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the overrides that make other hardware of a target the plan's option, in the size that it has here."""
    section = f"targets.{target}"
    field = "allowed_systems" if target == "onprem" else "allowed_instances"
    values = dict(value.split("=", 1) for value in set_values) | {f"{section}.{field}": f"[{entry.point.node.id}]"}
    sizes = (f"{section}.min_nodes", f"{section}.max_nodes")
    values |= {path: str(entry.point.nodes) for path in sizes if path in values}
    return tuple(f"{path}={value}" for path, value in values.items())


def _goodput(size: PlannedSize, term: str | None) -> float:
    known = size.spot_goodput if term == "spot" else size.kept_goodput
    return size.goodput if term is None or known is None else known


def _candidate(size: PlannedSize, key: str, term: str | None) -> Candidate:
    planned = size.sized.candidate
    same = term == size.term
    # A booking is paid whole, however long the run takes.
    whole = same and size.sized.booked is not None
    return Candidate(
        key=key,
        target=size.target,
        bill=planned.bill if same else without_booking(planned.bill, size.sized.booked),
        nodes=planned.nodes,
        gpus=planned.gpus,
        calendar_days=planned.calendar_days * (size.goodput / _goodput(size, term)),
        run_time_low=1.0 if whole else size.band[0],
        run_time_high=1.0 if whole else size.band[1],
        term=term,
        competes=not size.reason,
    )


def _offer(size: PlannedSize, candidate: Candidate, note: str = "") -> Alternative:
    days = candidate.calendar_days
    node = size.sized.point.node
    return alternative_of(
        candidate,
        instance=node.id,
        accelerator=node.accelerator.id,
        goodput=_goodput(size, candidate.term),
        band=(days * size.band[0], days * size.band[1]),
        reason=size.reason,
        note=note,
        set_values=size.set_values,
    )


def _owned(size: PlannedSize, places: Mapping[str, tuple[Parameter, ...]]) -> list[Alternative]:
    """Return a size that is bought, in each of the places where it may be."""
    plain = _candidate(size, size.key, None)
    return [_offer(size, replace(plain, key=f"{size.key}/{name}", given=given)) for name, given in places.items()] or [
        _offer(size, plain)
    ]


def _rented(size: PlannedSize, key: str, term: str, unplanned: str, unit: WorkUnit) -> Alternative:
    """Return a size under a term; one that it is not planned for is no answer: nobody can count on spot nodes.

    Args:
        size: of the hardware.
        key: of the result.
        term: how it is paid.
        unplanned: why there is no plan for the term.
        unit: of the work.
    """
    way = _offer(size, _candidate(size, key, term))
    if term == size.term:
        return way
    if term == "spot":
        longer = way.performance.calendar_days / size.sized.candidate.calendar_days - 1.0
        lost = "" if unit.always_on else f" {unit.each} takes {percent(longer, digits=1)} longer;"
        unplanned = f"nodes may be taken back:{lost} not assured for the whole horizon"
    return not_ranked(way, unplanned)


def not_ranked(way: Alternative, reason: str) -> Alternative:
    """Return a way that is no answer, with the reason."""
    candidate = replace(cost_candidate(way), competes=False)
    return replace(way, candidate=candidate, reason=reason, note=reason, set_values=())


def _price_only(sizes: Sequence[PlannedSize], asked: Asked) -> Iterator[Alternative]:
    """Yield providers of which only GPU prices are known, with the work of the nearest cluster of the same GPUs."""
    wanted = asked.section.other_providers
    if wanted == "none":
        return
    accelerators = [size.sized.point.node.accelerator.id for size in sizes]
    first = accelerators[0]
    open_offers = []
    for accelerator in dict.fromkeys(accelerators):
        # A cloud's cluster is nearer to another provider's than one that is built to order.
        alike = (size for size, of in zip(sizes, accelerators, strict=True) if of == accelerator)
        near = min(alike, key=lambda size: size.owned)
        for provider, product in _products(accelerator, near.sized.point.node.gpus).items():
            if wanted != "all" and provider not in wanted:
                continue
            target = provider if accelerator == first else f"{provider}{HARDWARE}{product.accelerator}"
            terms = [term for term in _OPEN_TERMS if term != "spot" or near.spot_goodput is not None]
            open_offers += [(near, product, target, term) for term in terms]
    requests = [PriceRequest(sku=product.sku, region="", term=term) for _, product, _, term in open_offers]
    for (near, product, target, term), price in zip(open_offers, asked.book.in_force(requests, asked.day), strict=True):
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


def _elsewhere(
    near: PlannedSize, product: PriceOnlyProduct, key: str, term: str, unit: str, *, asked: bool
) -> Alternative:
    gpus = near.sized.candidate.gpus
    units = -(-gpus // product.gpus)
    line = BillLine(
        sku=product.sku,
        item=f"GPUs {product.item}",
        category="compute",
        quantity=units,
        unit=unit,
        charge="hourly",
        scales_with="nodes",
        note=f"{gpus:,} GPUs as on {near.target}",
    )
    candidate = replace(
        _candidate(near, key, term),
        target=product.provider,
        bill=Bill(target=product.provider, lines=(line,)),
    )
    where = "built to order" if near.owned else f"on {near.target} {near.sized.point.node.id}"
    spot = "; nodes may be taken back" if term == "spot" else ""
    note = f"GPUs alone, no storage or network; no controller either; as long as {where}{spot}"
    offer = _offer(near, candidate, note)
    way = replace(offer, cluster=replace(offer.cluster, instance=product.sku.partition("/")[2]), set_values=())
    return way if asked and term != "spot" else not_ranked(way, near.reason or note)


def _unbooked(size: PlannedSize) -> PlannedSize:
    candidate = replace(size.sized.candidate, bill=without_booking(size.sized.candidate.bill, size.sized.booked))
    return replace(size, sized=replace(size.sized, candidate=candidate, booked=None))


def _by_contract(
    sizes: Sequence[PlannedSize], others: Sequence[PlannedSize], elsewhere: Sequence[Alternative], asked: Asked
) -> Iterator[Alternative]:
    known = {way.key for way in elsewhere}
    for place, contract in enumerate(asked.section.contracts):
        path = ("tco", "contracts", place)
        own = [
            size
            for size in others
            if (size.target, size.term) == (contract.target, contract.price_term) and size.term in COMMITTED_TERMS
        ]
        bases = [
            (
                replace(_rented(_unbooked(size), size.key, contract.price_term, "", asked.unit), reason=size.reason),
                size.chosen,
            )
            for size in own or sizes
            if size.target == contract.target and not size.owned
        ]
        bases += [
            (paid_as(way, replace(cost_candidate(way), key=way.key.partition("/")[0]), reason=""), True)
            for way in elsewhere
            if way.target == contract.target
            and way.money.term == ("on_demand" if contract.rate is not None else contract.price_term)
        ]
        if not bases:
            raise InputError(
                f"{contract.target} cannot be compared under term {contract.term}",
                help=f"add targets.{contract.target}, give a rate, or remove the contract",
                path=path,
            )
        for way, chosen in bases:
            if contract.rate is not None and not chosen:
                continue
            key = contract_key(way.key, contract, known)
            known.add(key)
            yield contracted(way, contract, key, place)
