"""What bounds one rack: the site's power, cooling, feeds after one has failed, height, load of rack and floor."""

from dataclasses import dataclass
from math import ceil, floor

from clusterwright.catalog.records import System
from clusterwright.errors import Finding, MissingFactError, RuleError
from clusterwright.facility import power
from clusterwright.facility.site import DesignRules, Site

#: PDUs of a rack without compute nodes: feeds A and B (RA-11333-001, Table 7: 12 for 6 racks).
PDUS_PER_OTHER_RACK = 2
#: More PDUs do not fit beside the equipment of a rack.
MOST_PDUS = 3
_NO_LIMIT = 10**6
#: A system as high as this is a rack of its own: it brings a busbar and power shelves, each of which has its own feed.
WHOLE_RACK_U = 40
#: Methods that cool air; `direct-to-chip` leaves what is not on cold plates to the air as well.
AIR_METHODS = ("air", "in-row", "rear-door")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A limit of one rack: its value, the blueprint key that raises it, and what it is in words."""

    value: float
    key: tuple[str, ...]
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RackLimits:
    """The binding limits of one rack.

    Attributes:
        power_w: most that it may draw; weight_kg: most that its equipment may weigh, None if not limited.
        pdus: power distribution units; shelves: power shelves of a rack that is delivered whole and has no PDUs.
    """

    power_w: Bound
    weight_kg: Bound | None
    pdus: int
    shelves: int = 0


def power_bounds(site: Site) -> list[Bound]:
    """Return what the site and its cooling let one rack draw, in W."""
    found = [Bound(value=site.rack_power_w, key=("site", "rack_power"), words="a rack may draw {} kW")]
    if site.cooling_limit_w is not None:
        words = f"{site.cooling or 'cooling'} carries {{}} kW away from a rack"
        found.append(Bound(value=site.cooling_limit_w, key=("site", "cooling"), words=words))
    return found


def weight_bound(site: Site, *, whole: bool = False) -> Bound | None:
    """Return what rack and floor let the equipment of one rack weigh, in kg; None if neither is limited.

    The floor's limit holds for the rack's own footprint, less the rack itself where its weight is known.

    Args:
        site: limits.
        whole: the rack is delivered with its equipment and weighed with it.
    """
    found = []
    if site.rack_weight_kg is not None:
        found.append(Bound(value=site.rack_weight_kg, key=("site", "rack", "load"), words="a rack may hold {} kg"))
    carried = site.hall.floor_load_kg_per_m2
    if carried is not None:
        left = max(0.0, carried * site.rows.footprint_m2 - (0.0 if whole else site.rack_frame_kg or 0.0))
        words = f"the floor carries {carried:,.0f} kg/m2, which leaves {{}} kg for the equipment of a rack"
        found.append(Bound(value=left, key=("site", "hall", "floor_load"), words=words))
    return min(found, key=lambda bound: bound.value, default=None)


def compute_limits(*, system: System, node_w: float, site: Site, rules: DesignRules) -> RackLimits:
    """Return the limits of a compute rack, and its PDUs: as few as carry what the other limits allow.

    With `n` PDUs the rack may draw what `n - 1` carry all the time, so that it lives when one fails; there are at least
    as many as its supplies ask for (`power.pdus_per_rack`). A rack that is delivered whole has no PDUs: its power
    shelves hang on feeds of the same rating.

    Args:
        system: the node.
        node_w: most that it draws, in W.
        site: limits; its feed.
        rules: power factor.

    Raises:
        MissingFactError: a bus bar feeds the node, and its rack is not one that the catalogue has whole.
    """
    allowed = min(power_bounds(site), key=lambda bound: bound.value)
    whole = (system.height_u or 0) >= WHOLE_RACK_U
    if system.busbar and not whole:
        raise MissingFactError(
            f"{system.name} hangs on a bus bar, and no power shelves of its rack are in the catalogue",
            help="name a system with power supplies of its own: `clusterwright docs catalog` lists them",
            path=("targets", "onprem", "system"),
        )
    weight = weight_bound(site, whole=whole)
    each_w = site.feed.watts(rules.power_factor)
    if whole and system.psu_count:
        carried = Bound(
            value=(system.psu_count - 1) * each_w,
            key=("site", "feed", "breaker"),
            words=f"{system.psu_count - 1} of {system.psu_count} power shelves on feeds of {site.feed.name} "
            f"{site.feed.breaker_a:g} A carry {{}} kW when one fails",
        )
        least_w = min((allowed, carried), key=lambda bound: bound.value)
        return RackLimits(power_w=least_w, weight_kg=weight, pdus=0, shelves=system.psu_count)
    wanted = _fit(allowed.value, node_w)
    if system.height_u:
        wanted = min(wanted, _fit(site.rack_height_u, system.height_u))
    if weight is not None and system.weight_kg:
        wanted = min(wanted, _fit(weight.value, system.weight_kg))
    least = power.pdus_per_rack(psu_count=system.psu_count, psu_needed=system.psu_needed, most=MOST_PDUS)
    pdus = next(
        (count for count in range(least, MOST_PDUS + 1) if _fit((count - 1) * each_w, node_w) >= max(1, wanted)),
        MOST_PDUS,
    )
    carried = Bound(
        value=(pdus - 1) * each_w,
        key=("site", "feed", "breaker"),
        words=f"{pdus - 1} of {pdus} PDUs at {site.feed.name} {site.feed.breaker_a:g} A carry {{}} kW when one fails",
    )
    return RackLimits(power_w=min((allowed, carried), key=lambda bound: bound.value), weight_kg=weight, pdus=pdus)


def other_limits(site: Site, rules: DesignRules) -> RackLimits:
    """Return the limits of a rack of switches or servers, whose second feed carries all of it when the first fails."""
    carried = Bound(
        value=site.feed.watts(rules.power_factor),
        key=("site", "feed", "breaker"),
        words=f"one PDU at {site.feed.name} {site.feed.breaker_a:g} A carries {{}} kW",
    )
    least = min((*power_bounds(site), carried), key=lambda bound: bound.value)
    return RackLimits(power_w=least, weight_kg=weight_bound(site), pdus=PDUS_PER_OTHER_RACK)


def nodes_per_rack(
    *, height_u: float, power_w: float | None, weight_kg: float | None, site: Site, limits: RackLimits, name: str
) -> int:
    """Return how many devices a rack holds: the least of what power, height and weight allow.

    Args:
        height_u: of a device in U.
        power_w: nameplate of a device in W.
        weight_kg: of a device in kg; not a limit where unknown.
        site: height of a rack.
        limits: of a rack.
        name: of the device, for messages.

    Raises:
        MissingFactError: the device's power is unknown.
        RuleError: a rack cannot hold one (`RCK001` power, `RCK002` height, `RCK003` weight).
    """
    if power_w is None:
        raise MissingFactError(
            f"the power of {name} is unknown, so its racks cannot be filled",
            help="say targets.onprem.node.power, for example 11 kW, or give it in a CSV of targets.onprem.parts",
            path=("targets", "onprem", "system"),
        )
    findings = []
    by_power = _fit(limits.power_w.value, power_w)
    if by_power < 1:
        findings.append(_too_much_power(limits.power_w, power_w, name, site))
    by_height = _fit(site.rack_height_u, height_u)
    if by_height < 1:
        findings.append(
            Finding(
                id="RCK002",
                path=("site", "rack_height"),
                message=f"one {name} is {height_u:g} U high, a rack has {site.rack_height_u:g} U",
                help=f"raise site.rack_height to {height_u:g} U or more",
            )
        )
    by_weight = by_height
    if weight_kg and limits.weight_kg is not None:
        by_weight = _fit(limits.weight_kg.value, weight_kg)
        if by_weight < 1:
            findings.append(_too_heavy(limits.weight_kg, weight_kg, name, site))
    if findings:
        raise RuleError(tuple(findings))
    return min(by_power, by_height, by_weight)


def _fit(limit: float, each: float) -> int:
    """Return how many of a size fit a limit; of what counts nothing, more than any rack has places for."""
    return floor(limit / each + 1e-9) if each > 0 else _NO_LIMIT


def _too_much_power(bound: Bound, power_w: float, name: str, site: Site) -> Finding:
    needed = f"{power_w / 1e3:.1f} kW"
    # What PDUs carry is in proportion to their breakers.
    breaker_a = ceil(site.feed.breaker_a * power_w / bound.value - 1e-9)
    advice = {
        "rack_power": f"raise site.rack_power to {needed} or more, or choose a smaller system",
        "cooling": f"choose a site.cooling for {needed} a rack, or give the vendor's figure as site.cooling_limit",
        "feed": f"breakers of {breaker_a} A or more carry it (site.feed.breaker), or raise site.feed.voltage",
    }
    return Finding(
        id="RCK001",
        path=bound.key,
        message=f"one {name} draws {needed}, {bound.words.format(f'{bound.value / 1e3:.1f}')}",
        help=advice[bound.key[1]],
    )


def _too_heavy(bound: Bound, weight_kg: float, name: str, site: Site) -> Finding:
    advice = f"use racks that hold {weight_kg:.0f} kg (site.rack.load)"
    if bound.key[1] == "hall":
        least = (weight_kg + (site.rack_frame_kg or 0.0)) / site.rows.footprint_m2
        advice = f"a floor of {least:,.0f} kg/m2 carries one, and so does a plate that spreads the load"
    return Finding(
        id="RCK003",
        path=bound.key,
        message=f"one {name} weighs {weight_kg:.0f} kg, {bound.words.format(f'{bound.value:.0f}')}",
        help=advice,
    )
