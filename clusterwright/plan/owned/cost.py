"""The owner's side of a blueprint as parameters of the cash flow: given values, tariffs, licences."""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from clusterwright import units
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.blueprint.sections.owner import Band, Owner
from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceInForce
from clusterwright.tco.terms.assumptions import assumptions
from clusterwright.tco.terms.owner_costs import optional_parameters
from clusterwright.tco.terms.records import Assumption, Parameter
from clusterwright.tco.terms.resale import ResaleCurve, ResaleShare
from clusterwright.tco.terms.stages import GrowthSchedule

_MONTH_S = 730 * 3600.0
_YEAR_S = 8760 * 3600.0
_ELECTRICITY = "electricity/"
_IDLE, _LOAD = "idle_power_fraction", "load_power_fraction"
#: What lowers the cost when it rises.
_INCOME = ("resale_fraction", "building_value_fraction")


def growth_of(section: TcoSection) -> GrowthSchedule:
    """Return the growth of the work and the replacement of the equipment."""
    return GrowthSchedule(
        growth_per_year=section.growth,
        refresh_months=None if section.refresh is None else float(max(1, round(section.refresh / _MONTH_S))),
        price_change_per_year=section.purchase_price_change,
    )


def resale_of(section: TcoSection) -> ResaleCurve | None:
    """Return what equipment brings by age; None where the blueprint says nothing of it."""
    owner = section.owner
    if owner.resale_decay is not None:
        every = owner.resale_decay.step_every
        return ResaleCurve(
            decay_per_year=_share(owner.resale_decay.per_year),
            step=owner.resale_decay.step,
            step_months=None if every is None else every / _MONTH_S,
        )
    if owner.resale_by_age:
        return ResaleCurve(points=tuple((point.age / _MONTH_S, _share(point.share)) for point in owner.resale_by_age))
    return None


def _share(band: Band) -> ResaleShare:
    return ResaleShare(
        low=band.base if band.low is None else band.low,
        base=band.base,
        high=band.base if band.high is None else band.high,
    )


def housed(
    section: TcoSection, book: PriceBook, *, as_of: dt.date, horizon_months: float
) -> dict[str, tuple[Parameter, ...]]:
    """Return, by name of each place of `tco.housing`, the parameters that are other ones than those of `tco.owner`.

    Args:
        section: `tco` of the blueprint.
        book: for tariffs and licences.
        as_of: day whose prices hold.
        horizon_months: as in `parameters_of`.

    Raises:
        InputError: a tariff or a licence is unknown on that day.
    """

    def of(owner: Owner) -> dict[str, Parameter]:
        used = section.model_copy(update={"owner": owner})
        found = parameters_of(used, book, as_of=as_of, horizon_months=horizon_months, power_price_given=False)
        return {entry.key: entry for entry in found}

    common = of(section.owner)
    found = {}
    for name, place in section.housing.items():
        try:
            own = of(place.over(section.owner))
        except InputError as error:
            error.path = ("tco", "housing", name, *error.path[2:])
            raise
        found[name] = (
            *(entry for entry in own.values() if common.get(entry.key) != entry),
            *(_given(key, Band(base=0.0), "not counted in this place") for key in _left_out(common, own)),
        )
    return found


def _left_out(common: Collection[str], own: Collection[str]) -> Iterator[str]:
    """Yield what is counted elsewhere and not in a place: it is not given there, or another value takes its place."""
    for key, entry in optional_parameters().items():
        instead = entry.not_with in own and entry.not_with not in common
        if key not in own and (key in common or instead):
            yield key


def parameters_of(
    section: TcoSection, book: PriceBook, *, as_of: dt.date, horizon_months: float, power_price_given: bool
) -> tuple[Parameter, ...]:
    """Return the parameters that a blueprint gives for owning.

    Args:
        section: `tco` of the blueprint.
        book: for tariffs and licences.
        as_of: day whose prices hold.
        horizon_months: a building keeps the value that the straight line over its life leaves after it.
        power_price_given: whether the blueprint says what a kWh costs.

    Raises:
        InputError: a tariff or a licence is unknown on that day, the price of electricity is given twice, or equipment
            draws more while it waits than while it works.
    """
    owner = section.owner
    found = {key: _given(key, band) for key, band in _bands(owner)}
    _check_draw(found)
    if owner.demand_usd_per_kw_month is not None and owner.demand_ratchet_fraction is not None:
        found["demand_power_fraction"] = _demand(owner)
    if owner.warranty:
        found["warranty_months"] = _given("warranty_months", Band(base=owner.warranty / _MONTH_S))
    if owner.wind_down:
        found["wind_down_months"] = _given("wind_down_months", Band(base=owner.wind_down / _MONTH_S))
    if owner.building_usd_per_kw is not None:
        left = max(0.0, 1.0 - horizon_months / 12.0 / (owner.building_life / _YEAR_S))
        found["building_value_fraction"] = _given("building_value_fraction", Band(base=left))
        if owner.colocation_usd_per_kw_month is None:
            found["colocation_usd_per_kw_month"] = _given(
                "colocation_usd_per_kw_month", Band(base=0.0), "the building is one's own"
            )
    if owner.tariff is not None:
        found["power_price_usd_per_kwh"] = _tariff(owner.tariff, book, as_of, power_price_given)
    if owner.ai_enterprise is not None:
        entry = _licence(owner.ai_enterprise, book, as_of)
        found[entry.key] = entry
    return tuple(found.values())


def _bands(owner: Owner) -> Iterator[tuple[str, Band]]:
    for key in type(owner).model_fields:
        value = getattr(owner, key)
        if isinstance(value, Band) and key != "demand_ratchet_fraction":
            yield key, value


def _given(key: str, band: Band, reason: str = "given by the user") -> Parameter:
    low = band.base if band.low is None else band.low
    high = band.base if band.high is None else band.high
    ends = (high, low) if key in _INCOME else (low, high)
    return Parameter(
        key=key,
        value=band.base,
        low=ends[0],
        high=ends[1],
        unit=_unit(key),
        basis="given",
        reason=reason,
        source="blueprint",
    )


def _unit(key: str) -> str:
    optional = optional_parameters()
    if key in optional:
        return optional[key].unit
    return assumptions()[key].unit if key in assumptions() else "share of purchase"


def _check_draw(given: Mapping[str, Parameter]) -> None:
    """Refuse equipment that draws more while it waits than while it works, at any end of the two bands."""
    named = [key for key in (_IDLE, _LOAD) if key in given]
    idle, load = (_ends(given.get(key) or assumptions()[key]) for key in (_IDLE, _LOAD))
    for waiting, working in zip(idle, load, strict=True):
        if named and waiting > working:
            raise InputError(
                f"equipment that waits draws {units.percent(waiting)} of nameplate, "
                f"more than the {units.percent(working)} while it works",
                help=f"give {_IDLE} and {_LOAD}: low, base and high of the first are at most those of the second",
                path=("tco", "owner", named[0]),
            )


def _ends(entry: Parameter | Assumption) -> tuple[float, float, float]:
    return entry.low, entry.base if isinstance(entry, Assumption) else entry.value, entry.high


def _demand(owner: Owner) -> Parameter:
    """Return the share of nameplate that is charged: the month's highest draw, or the ratchet's share if that is more.

    billing demand = max(highest draw of the month, ratchet x highest draw of the year), the year's being nameplate.
    """
    peak = owner.demand_power_fraction or Band(base=1.0)
    ratchet = owner.demand_ratchet_fraction or Band(base=0.0)

    def end(name: str) -> float:
        one, other = getattr(peak, name), getattr(ratchet, name)
        return max(peak.base if one is None else one, ratchet.base if other is None else other)

    return _given(
        "demand_power_fraction",
        Band(low=end("low"), base=end("base"), high=end("high")),
        "the larger of the month's highest draw and the ratchet's share of the year's",
    )


def _tariff(name: str, book: PriceBook, as_of: dt.date, power_price_given: bool) -> Parameter:
    path = ("tco", "owner", "tariff")
    if power_price_given:
        raise InputError(
            "the price of electricity is given twice: site.power_price and tco.owner.tariff",
            help="keep one of them",
            path=path,
        )
    region, _, kind = name.partition("/")
    known = sorted(
        {
            f"{product.region}/{product.sku.removeprefix(_ELECTRICITY)}"
            for product in book.products()
            if product.sku.startswith(_ELECTRICITY)
        }
    )
    if name not in known:
        close = get_close_matches(name, known, n=3, cutoff=0.5)
        raise InputError(
            f"there is no tariff {name!r}",
            help=f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(known)}",
            path=path,
        )
    price = book.price(f"{_ELECTRICITY}{kind}", region=region, as_of=as_of)
    if price is None:
        raise InputError(
            f"tariff {name} has no price in force on {as_of}",
            help="give site.power_price, or a later economics.as_of",
            path=path,
        )
    return _priced("power_price_usd_per_kwh", price, price.point.usd, f"tariff {name}")


def _licence(kind: str, book: PriceBook, as_of: dt.date) -> Parameter:
    yearly = kind == "subscription"
    price = book.price("nvidia-ai-enterprise", term="subscription_1y" if yearly else "purchase", as_of=as_of)
    if price is None:
        raise InputError(
            f"NVIDIA AI Enterprise ({kind}) has no price in force on {as_of}",
            help="give software_usd_per_gpu_year or software_usd_per_gpu in its place",
            path=("tco", "owner", "ai_enterprise"),
        )
    key = "software_usd_per_gpu_year" if yearly else "software_usd_per_gpu"
    usd = price.point.usd * (12.0 if yearly else 1.0)
    return _priced(key, price, usd, f"NVIDIA AI Enterprise, {kind}")


def _priced(key: str, price: PriceInForce, usd: float, reason: str) -> Parameter:
    note = f", {price.point.locator}" if price.point.locator else ""
    return Parameter(
        key=key,
        value=usd,
        low=usd,
        high=usd,
        unit=_unit(key),
        basis="documented",
        reason=reason,
        source=f"{price.source_title}{note}",
        date=price.point.effective_from.isoformat(),
    )
