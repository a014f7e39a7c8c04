"""The check-list's items on power and cooling."""

from collections.abc import Iterator, Sequence
from math import sqrt

from clusterwright.catalog.claims import claims_of
from clusterwright.catalog.parts.supplies import power_connections
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility import power
from clusterwright.facility.checklist.items import NOT_GIVEN, ROUNDING, Check, kw, within
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN
from clusterwright.facility.hall.power_chain import (
    GOES_ON,
    SLOWS,
    Loss,
    cdu_count,
    heat_of,
    loss,
    pdus_of_source,
    rack_va,
    sources_of,
    supply_rule,
)
from clusterwright.facility.hall.power_cords import supply_cords, worst_load
from clusterwright.facility.hall.racks import Rack

#: Voltage of a supply of an AC system that is published for 200 to 240 V.
SUPPLY_V = (200.0, 240.0)
#: Words of the claim that says so.
AC_SUPPLY = "200 to 240 V"


def power_items(
    design: OnPremDesign, standing: Sequence[Rack], system: System, catalogue: Catalogue
) -> Iterator[Check]:
    """Yield the items on power: racks, hall, voltage, failures, breakers, PDUs, UPS.

    Args:
        design: with its power summary.
        standing: its racks.
        system: that is in them.
        catalogue: for the supplies' voltage and the PDUs.
    """
    site, summary = design.site, design.power
    fullest = max(standing, key=lambda rack: rack.power_w / rack.power_limit_w)
    yield Check(
        area="Power",
        item="power of the rack nearest to its limit",
        found=f"{kw(fullest.power_w)} ({fullest.name})",
        limit=kw(fullest.power_limit_w),
        verdict=_unless_unknown(within(fullest.power_w, fullest.power_limit_w), fullest.unknown_power),
        note="30 to 120 kW per rack is no requirement: what counts is what these racks draw",
    )
    yield Check(
        area="Power",
        item="power of the hall",
        found=kw(summary.it_w),
        limit=kw(site.power_limit_w),
        verdict=_unless_unknown(within(summary.it_w, site.power_limit_w), summary.unknown_items),
    )
    yield _voltage(design, system, catalogue)
    rack = next(rack for rack in standing if rack.kind == "compute")
    sources, what = sources_of(site.feed, standing), "power shelf" if rack.shelves else "PDU"
    yield _survives(f"one {what} of a rack fails", loss(system, pdus=rack.feeds, lost=1), system)
    lost = _survives(f"one of {sources} feeds fails", _loss_of_source(system, rack.feeds, sources), system)
    yield lost if site.feed.sources else _assumed(lost, system, rack.feeds)
    yield from _pdus(design, standing, catalogue)
    asked, rated = rack_va(summary.it_w, site.feed, design.rules), site.plant.ups_va
    yield Check(
        area="Power",
        item="rating of the UPS",
        found=f"{asked / 1e3:,.1f} kVA asked",
        limit=NOT_GIVEN if rated is None else f"{rated / 1e3:,.1f} kVA",
        verdict=within(asked, rated),
    )
    yield Check(
        area="Power",
        item="UPS bears the swings of GPUs",
        found="not published for these systems",
        limit=NOT_GIVEN,
        verdict=UNKNOWN,
        note="have the vendor of the UPS confirm it",
    )


def _pdus(design: OnPremDesign, standing: Sequence[Rack], catalogue: Catalogue) -> Iterator[Check]:
    """Yield whether breakers, ratings and outlets of PDUs do for the racks that ask most of them."""
    feed, sku = design.site.feed, design.site.feed.pdu
    loads = [(worst_load(rack, feed, design.rules), rack) for rack in standing]
    load, rack = max(loads, key=lambda entry: entry[0].line_a)
    phase = "" if feed.direct else " on the fullest phase"
    yield Check(
        area="Power",
        item="breakers of feeds after one of a rack has failed, at 80 %",
        found=f"{load.line_a:.1f} A{phase} ({rack.name})",
        limit=f"{feed.breaker_a * power.CONTINUOUS_SHARE:.1f} A",
        verdict=within(load.line_a, feed.breaker_a * power.CONTINUOUS_SHARE),
        note=""
        if load.line_a < load.even_a * (1 + ROUNDING)
        else f"{load.even_a:.1f} A if the supplies divided evenly over the phases",
    )
    yield from _shelves(standing, catalogue)
    with_pdus = [(load, rack) for load, rack in loads if rack.pdus]
    if not with_pdus:
        return
    load, rack = max(with_pdus, key=lambda entry: entry[0].failed_va)
    part, known = catalogue.parts.get(sku), power_connections().get(sku)
    rated = None if part is None else part.power_capacity_w
    yield Check(
        area="Power",
        item="rating of PDUs after one of a rack has failed",
        found=f"{load.failed_va / 1e3:.1f} kVA ({rack.name})",
        limit="unknown" if rated is None else f"{rated / 1e3:.1f} kVA",
        verdict=within(load.failed_va, rated),
        note="" if rated else f"no product was chosen: order PDUs rated {feed.va / 1e3:.1f} kVA or more",
    )
    devices = {rack.name: [placed.device for placed in rack.placements] for _, rack in with_pdus}
    cords, name = max((supply_cords(devices[rack.name], pdus=rack.pdus), rack.name) for _, rack in with_pdus)
    outlets = None if known is None else known.outlets
    yield Check(
        area="Power",
        item="outlets of a PDU",
        found=f"{cords} cords ({name})",
        limit="unknown" if outlets is None else str(outlets),
        verdict=within(cords, outlets),
        note="" if outlets else f"the outlets of {sku} are not known",
    )


def _shelves(standing: Sequence[Rack], catalogue: Catalogue) -> Iterator[Check]:
    """Yield whether the power shelves of the fullest whole rack carry it when one of them has failed."""
    whole = [rack for rack in standing if rack.shelves]
    if not whole:
        return
    rack = max(whole, key=lambda one: one.power_w)
    parts = {placed.device.sku for placed in rack.placements if placed.device.supplies} & set(catalogue.parts)
    rated = min((catalogue.parts[part].power_capacity_w or 0.0 for part in parts), default=0.0) or None
    each = rack.power_w / max(1, rack.shelves - 1)
    yield Check(
        area="Power",
        item="rating of power shelves after one has failed",
        found=f"{kw(each)} ({rack.name})",
        limit="unknown" if rated is None else kw(rated),
        verdict=within(each, rated),
    )


def _loss_of_source(system: System, feeds: int, sources: int) -> Loss:
    worst = max(pdus_of_source(feeds, source, sources) for source in range(sources))
    return loss(system, pdus=feeds, lost=worst)


def _unless_unknown(verdict: str, unknown: Sequence[str]) -> str:
    """Return a pass as unknown where something is not in the sum."""
    return UNKNOWN if verdict == PASS and unknown else verdict


def _voltage(design: OnPremDesign, system: System, catalogue: Catalogue) -> Check:
    feed = design.site.feed
    claim = next((fact.chosen for fact in claims_of(catalogue, system.id) if fact.attribute == "supply"), None)
    stated = NOT_GIVEN if claim is None else claim.value
    # Supplies hang between two lines where these have 240 V or less, else between a line and neutral.
    at_supply = feed.line_v
    if not feed.direct and feed.line_v > SUPPLY_V[1]:
        at_supply = feed.line_v / sqrt(3)
    verdict = UNKNOWN
    if claim is not None and claim.value == AC_SUPPLY:
        fits = not feed.direct and SUPPLY_V[0] <= round(at_supply) <= SUPPLY_V[1]
        verdict = PASS if fits else FAIL
    return Check(
        area="Power",
        item="voltage suits the power supplies",
        found=f"{feed.name}, {at_supply:.0f} V at a supply",
        limit=stated,
        verdict=verdict,
        note="400 V DC is no requirement: it needs supplies or racks made for it",
    )


def _survives(item: str, left: Loss, system: System) -> Check:
    # Nodes that go on slowly have too few supplies for what they are rated for, and the row says so.
    verdicts = {GOES_ON: PASS, UNKNOWN: UNKNOWN}
    found = "unknown" if left.supplies_left is None else f"{left.supplies_left} supplies of a node left"
    return Check(
        area="Power",
        item=item,
        found=found,
        limit="unknown" if system.psu_needed is None else f"{system.psu_needed} needed",
        verdict=verdicts.get(left.outcome, FAIL),
        note=f"supplies {supply_rule(system.psu_count, system.psu_needed)}"
        + (f"; {system.psu_needed_slowed} keep the nodes running at lower power" if left.outcome == SLOWS else ""),
    )


def _assumed(check: Check, system: System, feeds: int) -> Check:
    """Return the check of feeds whose number was assumed: that they are there is not known."""
    enough = next((n for n in range(1, feeds + 1) if _loss_of_source(system, feeds, n).outcome == GOES_ON), None)
    needs = "" if enough is None else f"; {enough} or more keep enough supplies"
    return Check(
        area=check.area,
        item=check.item,
        found=check.found,
        limit=check.limit,
        verdict=UNKNOWN,
        note=f"{check.note}; the number of feeds is assumed (site.feed.sources){needs}",
    )


def cooling_items(design: OnPremDesign, standing: Sequence[Rack], system: System) -> Iterator[Check]:
    """Yield the items on cooling: the fullest rack, air, liquid.

    Args:
        design: with its site.
        standing: its racks.
        system: that is in them.
    """
    site = design.site
    fullest = max(standing, key=lambda rack: rack.power_w)
    yield Check(
        area="Cooling",
        item="heat of the fullest rack",
        found=f"{kw(fullest.power_w)} ({fullest.name})",
        limit=kw(site.cooling_limit_w) if site.cooling is None else f"{site.cooling}: {kw(site.cooling_limit_w)}",
        verdict=within(fullest.power_w, site.cooling_limit_w),
        note="rear doors or liquid are not needed from 30 kW on: vendors profile air-cooled racks of 57.2 kW",
    )
    heat = heat_of(compute_w=design.power.compute_w, it_w=design.power.it_w, system=system, site=site)
    flow = power.airflow_cfm(power_w=heat.air_w, rise_c=site.air_rise_c)
    yield Check(
        area="Cooling",
        item="air of the hall",
        found=f"{flow:,.0f} CFM for {kw(heat.air_w)}",
        limit=NOT_GIVEN,
        verdict=UNKNOWN,
        note="hold it against the data sheets of the cooling units",
    )
    share, units = system.liquid_heat_fraction, cdu_count(heat.liquid_w, site)
    if heat.liquid_w > 0:
        verdict = UNKNOWN if units is None or site.cooling is None else PASS
        found = (
            f"{kw(heat.liquid_w)}, {power.water_l_per_min(power_w=heat.liquid_w, rise_c=site.water_rise_c):,.0f} L/min"
        )
    else:
        verdict = UNKNOWN if share is None else PASS
        found = "share unknown" if share is None else "no heat into liquid"
    yield Check(
        area="Cooling",
        item="liquid where the system needs it",
        found=found,
        limit="CDUs: " + ("size not given" if units is None else str(units)),
        verdict=verdict,
        note="direct-to-chip is needed for systems with cold plates only, such as GB200",
    )
