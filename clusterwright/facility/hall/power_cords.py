"""Power cords of a rack: which supply hangs on which PDU and phase, and the fullest phase when a PDU fails.

A three-phase PDU shares its outlets out over three legs. Supplies that three does not divide leave one leg with more
than a third of the load: 8 supplies are 3, 3 and 2.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from clusterwright.facility.hall.rack_limits import RackLimits
from clusterwright.facility.hall.racks import Device, Rack
from clusterwright.facility.power import CONTINUOUS_SHARE
from clusterwright.facility.site import DesignRules, Feed

LEGS = "ABC"
#: Above this voltage between lines a supply hangs between a line and neutral, else between two lines (IEC 60320 C20
#: supplies take 200 to 240 V).
MOST_SUPPLY_V = 240.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cord:
    """One power cord.

    Attributes:
        device: name; supply: from 0.
        pdu, outlet: from 0 within the rack and within the PDU; a power shelf hangs on a feed of its own.
        leg: `A`, `B` or `C`; empty where all three phases or direct current reach the supply.
        draw_w: share of the device's nameplate, all supplies alive, in W; None if unknown.
    """

    device: str
    supply: int
    pdu: int
    outlet: int
    leg: str
    draw_w: float | None


def cords_of(devices: Iterable[Device], *, pdus: int, feed: Feed) -> list[Cord]:
    """Return the power cords of a rack's devices.

    Supplies of a device are dealt out over the PDUs in turn. On each PDU a cord goes to the leg that carries least so
    far, which shares the load out as evenly as whole supplies allow; PDUs start at different legs.

    Args:
        devices: of one rack, from the bottom.
        pdus: of the rack; 0 where its supplies have feeds of their own.
        feed: of each PDU.
    """
    found: list[Cord] = []
    load: defaultdict[tuple[int, str], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    outlets: defaultdict[int, int] = defaultdict(int)
    for device in devices:
        each = None if device.power_w is None or not device.supplies else device.power_w / device.supplies
        for supply in range(device.supplies):
            pdu, leg = (supply % pdus if pdus else len(found)), ""
            if pdus and not feed.direct:
                order = LEGS[pdu % len(LEGS) :] + LEGS[: pdu % len(LEGS)]
                leg = min(order, key=lambda one, pdu=pdu: load[pdu, one])  # type: ignore[misc]
                watts, count = load[pdu, leg]
                load[pdu, leg] = watts + (each or 0.0), count + 1
            found.append(Cord(device=device.name, supply=supply, pdu=pdu, outlet=outlets[pdu], leg=leg, draw_w=each))
            outlets[pdu] += 1
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class PduLoad:
    """What the most loaded PDU, or feed of a power shelf, of a rack carries.

    Attributes:
        alive_va: with all alive; failed_va: most when one other has failed.
        line_a: current of its fullest line then, in A; even_a: the same if its load were even over the phases.
    """

    alive_va: float
    failed_va: float
    line_a: float
    even_a: float


def worst_load(rack: Rack, feed: Feed, rules: DesignRules) -> PduLoad:
    """Return the load of the fullest PDU and of its fullest line, with all alive and when one has failed.

    The supplies of a device share its nameplate evenly, and those that live take over what the others drew.

    Worked example: 4 DGX H100 (10.2 kW, 6 supplies) on 3 PDUs at 415 V put 21.5 kVA on each of the two that are left.
    8 supplies on three legs are 3, 3 and 2: 33.6 A on a line, where an even load would be 29.9 A.

    Args:
        rack: with its devices.
        feed: voltage and current of its PDUs.
        rules: power factor.
    """
    if rack.shelves:
        alive = _va(rack.power_w, feed, rules) / rack.shelves
        failed = _va(rack.power_w, feed, rules) / max(1, rack.shelves - 1)
        even_a = _even_a(failed, feed)
        return PduLoad(alive_va=alive, failed_va=failed, line_a=even_a, even_a=even_a)
    return pdu_load([placed.device for placed in rack.placements], pdus=rack.pdus, feed=feed, rules=rules)


def pdu_load(devices: Sequence[Device], *, pdus: int, feed: Feed, rules: DesignRules) -> PduLoad:
    """Return the load of the fullest PDU of a rack with these devices; arguments as in `cords_of`, for `worst_load`."""
    watts = {device.name: device.power_w or 0.0 for device in devices}
    cords = cords_of(devices, pdus=pdus, feed=feed)
    alive = _legs(cords, watts, lost=None)
    failed = [_legs(cords, watts, lost=pdu) for pdu in range(pdus)] if pdus > 1 else [alive]
    loads = [{leg: _va(load, feed, rules) for leg, load in legs.items()} for state in failed for legs in state.values()]
    failed_va = max((sum(load.values()) for load in loads), default=0.0)
    return PduLoad(
        alive_va=max((_va(sum(legs.values()), feed, rules) for legs in alive.values()), default=0.0),
        failed_va=failed_va,
        line_a=max((line_a(load, feed) for load in loads), default=0.0),
        even_a=_even_a(failed_va, feed),
    )


def powered(limits: RackLimits, *, feed: Feed, outlets: int | None, rules: DesignRules) -> Callable[..., bool]:
    """Return a test whether the PDUs of a rack carry devices, when one has failed and on every phase.

    Args:
        limits: of the rack, with its PDUs.
        feed: of each PDU.
        outlets: of a PDU; None where unknown and so not a limit.
        rules: power factor.
    """
    most_a = feed.breaker_a * CONTINUOUS_SHARE * (1 + 1e-9)
    # Racks of a hall repeat each other: each kind of content is looked at once.
    known: dict[tuple[tuple[float | None, int], ...], bool] = {}

    def fits(devices: Sequence[Device]) -> bool:
        content = tuple((device.power_w, device.supplies) for device in devices)
        if content not in known:
            known[content] = carries(devices)
        return known[content]

    def carries(devices: Sequence[Device]) -> bool:
        if outlets is not None and supply_cords(devices, pdus=limits.pdus) > outlets:
            return False
        return pdu_load(devices, pdus=limits.pdus, feed=feed, rules=rules).line_a <= most_a

    return fits


def _legs(cords: Iterable[Cord], watts: Mapping[str, float], *, lost: int | None) -> dict[int, dict[str, float]]:
    """Return the load in W by PDU and leg when one PDU is lost."""
    live: defaultdict[str, list[Cord]] = defaultdict(list)
    for cord in cords:
        if cord.pdu != lost:
            live[cord.device].append(cord)
    found: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for device, left in live.items():
        for cord in left:
            found[cord.pdu][cord.leg] += watts[device] / len(left)
    return {pdu: dict(legs) for pdu, legs in found.items()}


def _va(watts: float, feed: Feed, rules: DesignRules) -> float:
    return watts if feed.direct else watts / rules.power_factor


def _even_a(va: float, feed: Feed) -> float:
    return va / feed.line_v / (1.0 if feed.direct else sqrt(3))


def line_a(legs: Mapping[str, float], feed: Feed) -> float:
    """Return the current of the fullest line in A, from apparent power in VA by leg.

    A leg between line and neutral loads its line with I = S / V_LN. A leg between two lines loads both, and a line that
    two legs share carries their currents 60 degrees apart: I = sqrt(a^2 + b^2 + a b).
    """
    if feed.direct:
        return sum(legs.values()) / feed.line_v
    if feed.line_v > MOST_SUPPLY_V:
        return max(legs.values(), default=0.0) / (feed.line_v / sqrt(3))
    amperes = [legs.get(leg, 0.0) / feed.line_v for leg in LEGS]
    pairs = zip(amperes, [*amperes[1:], amperes[0]], strict=True)
    return max(sqrt(a * a + b * b + a * b) for a, b in pairs)


def supply_cords(devices: Iterable[Device], *, pdus: int) -> int:
    """Return the outlets that the fullest PDU of a rack needs."""
    return sum(ceil(device.supplies / pdus) for device in devices) if pdus else 0


def shelf_cords(rack: Rack, feed: Feed) -> Iterator[Cord]:
    """Yield the feeds of a rack's power shelves, each with its share of the rack's power."""
    for cord in cords_of((placed.device for placed in rack.placements), pdus=0, feed=feed):
        yield Cord(
            device=cord.device, supply=cord.supply, pdu=cord.pdu, outlet=0, leg="", draw_w=rack.power_w / rack.shelves
        )
