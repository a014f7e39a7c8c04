"""What happens to the power of racks on its way: PDUs and feeds that fail, breakers, liquid's share of the heat."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from clusterwright.catalog.parts.supplies import breaker_ratings_a
from clusterwright.catalog.records import System
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.power import CONTINUOUS_SHARE
from clusterwright.facility.site import DesignRules, Feed, Site
from clusterwright.units import percent

#: What the nodes of a rack do when part of their supplies lose power.
GOES_ON, SLOWS, TOO_FEW, UNKNOWN = "goes on", "slows", "too few", "unknown"


def supply_rule(psu_count: int | None, psu_needed: int | None) -> str:
    """Return the rule of a system's power supplies as vendors write it.

    >>> supply_rule(6, 4), supply_rule(12, 6), supply_rule(None, None)
    ('4+2', '6+6 (N+N)', 'unknown')
    """
    if psu_count is None or psu_needed is None:
        return UNKNOWN
    spare = psu_count - psu_needed
    return f"{psu_needed}+{spare} (N+N)" if spare == psu_needed else f"{psu_needed}+{spare}"


#: Feeds A and B, where nothing is said and no rack has PDUs.
ASSUMED_SOURCES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What is left when something fails.

    Attributes:
        pdus_left: of the rack's; supplies_left: of a node's, None if their number is unknown.
        outcome: `goes on`, `slows`, `too few` or `unknown`.
    """

    pdus_left: int
    supplies_left: int | None
    outcome: str


def loss(system: System, *, pdus: int, lost: int) -> Loss:
    """Return what a node has left when some PDUs of its rack lose power; its supplies are dealt out over them in turn.

    A rack that is delivered whole is one node, and each of its power shelves is a supply with a feed of its own.

    Worked example: a DGX H100 (6 supplies, 4 needed) on 3 PDUs keeps 4 without one of them, and 2 without two.

    Args:
        system: the node.
        pdus: of its rack, or its power shelves.
        lost: of them.
    """
    left = max(0, pdus - lost)
    if system.psu_count is None or system.psu_needed is None:
        return Loss(pdus_left=left, supplies_left=None, outcome=UNKNOWN if left else TOO_FEW)
    # The PDUs that fail are those with the most supplies.
    most, rest = divmod(system.psu_count, pdus)
    gone = most * min(lost, pdus) + min(rest, lost)
    supplies = max(0, system.psu_count - gone)
    if supplies >= system.psu_needed:
        outcome = GOES_ON
    elif system.psu_needed_slowed is not None and supplies >= system.psu_needed_slowed:
        outcome = SLOWS
    else:
        outcome = TOO_FEW
    return Loss(pdus_left=left, supplies_left=supplies, outcome=outcome)


def sources_of(feed: Feed, standing: Sequence[Rack]) -> int:
    """Return the independent feeds: as given, else one for each PDU of the rack with the most.

    Power shelves are not counted: that each of eight has a source of its own is not to be expected.
    """
    return feed.sources or max((rack.pdus for rack in standing), default=0) or ASSUMED_SOURCES


def pdus_of_source(pdus: int, source: int, sources: int) -> int:
    """Return how many PDUs or power shelves of a rack hang on a feed (from 0); they take the feeds in turn.

    >>> [pdus_of_source(3, source, 2) for source in (0, 1)]
    [2, 1]
    """
    return len(range(source, pdus, sources))


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceLoad:
    """Load of one feed of the hall in VA: with all feeds alive, and the most when one other fails."""

    name: str
    va: float
    worst_va: float


def source_loads(standing: Sequence[Rack], feed: Feed, rules: DesignRules) -> tuple[SourceLoad, ...]:
    """Return the load of each feed; the live PDUs or power shelves of a rack share its load evenly.

    Args:
        standing: racks.
        feed: and the number of its sources.
        rules: power factor.
    """
    sources = sources_of(feed, standing)
    racks = Counter((rack.feeds, rack_va(rack.power_w, feed, rules)) for rack in standing)

    def load(source: int, failed: int | None) -> float:
        total = 0.0
        for (pdus, va), count in racks.items():
            live = pdus - (0 if failed is None else pdus_of_source(pdus, failed, sources))
            if live:
                total += count * va * pdus_of_source(pdus, source, sources) / live
        return total

    return tuple(
        SourceLoad(
            name=chr(ord("A") + source),
            va=load(source, None),
            worst_va=max(
                (load(source, failed) for failed in range(sources) if failed != source), default=load(source, None)
            ),
        )
        for source in range(sources)
    )


def rack_va(power_w: float, feed: Feed, rules: DesignRules) -> float:
    """Return the apparent power of a load on a feed in VA; direct current has no power factor."""
    return power_w if feed.direct else power_w / rules.power_factor


def breaker_needed_a(line_a: float) -> tuple[float, float | None]:
    """Return the rating in A that a line's current needs, and the next breaker that is sold; None if none is as large.

    A breaker carries 80 % of its rating all the time. Worked example: 33.6 A on the fullest phase need 42.0 A, so a
    breaker of 50 A.

    >>> rating, sold = breaker_needed_a(33.6)
    >>> round(rating, 1), sold
    (42.0, 50.0)

    Args:
        line_a: that flows all the time on the fullest line.
    """
    needed = line_a / CONTINUOUS_SHARE
    return needed, next((rating for rating in breaker_ratings_a() if rating >= needed * (1 - 1e-9)), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Heat:
    """Where the heat of all equipment goes, in W.

    Attributes:
        liquid_w: into the water loop at racks or chips; air_w: into the air of the room.
        basis: why so.
    """

    liquid_w: float
    air_w: float
    basis: str


def heat_of(*, compute_w: float, it_w: float, system: System, site: Site) -> Heat:
    """Return how the heat divides into liquid and air.

    Args:
        compute_w: of the nodes.
        it_w: of all equipment.
        system: whose share of heat goes into liquid.
        site: cooling method.
    """
    if site.cooling == "rear-door":
        return Heat(liquid_w=it_w, air_w=0.0, basis="rear doors take the heat of whole racks")
    if site.cooling == "immersion":
        return Heat(liquid_w=compute_w, air_w=it_w - compute_w, basis="nodes stand in the bath, the rest in the air")
    share = system.liquid_heat_fraction
    if share is None:
        return Heat(liquid_w=0.0, air_w=it_w, basis="the share of liquid is unknown, so all is counted as air")
    if share > 0:
        liquid = compute_w * share
        return Heat(
            liquid_w=liquid, air_w=it_w - liquid, basis=f"{percent(share)} of the nodes' heat is in cold plates"
        )
    return Heat(liquid_w=0.0, air_w=it_w, basis="all equipment is cooled by air")


def cdu_count(liquid_w: float, site: Site) -> int | None:
    """Return the coolant distribution units with spare ones; None where their size is unknown, 0 without liquid."""
    if liquid_w <= 0:
        return 0
    each = site.plant.cdu_heat_w
    return None if each is None else ceil(liquid_w / each - 1e-9) + site.plant.cdu_spare
