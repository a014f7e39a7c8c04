"""The check-list's items on power and cooling."""

from collections.abc import Iterator, Sequence
from math import sqrt

from clusterwright.catalog.claims import claims_of
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility import power
from clusterwright.facility.checklist_items import NOT_GIVEN, Check, kw, within
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.floor_load import FAIL, PASS, UNKNOWN
from clusterwright.facility.inventory import other_pdu
from clusterwright.facility.power_chain import (
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
from clusterwright.facility.racks import Rack

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
        system: that stands in them.
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
    pdus = design.pdus_per_compute_rack
    sources = sources_of(site.feed, standing)
    worst = max(pdus_of_source(pdus, source, sources) for source in range(sources))
    yield _survives("one PDU of a rack fails", loss(system, pdus=pdus, lost=1), system)
    lost = _survives(f"one of {sources} feeds fails", loss(system, pdus=pdus, lost=worst), system)
    yield lost if site.feed.sources else _assumed(lost)
    left_va = [
        (rack_va(rack.power_w, site.feed, design.rules) / max(1, rack.pdus - 1), rack.name, rack.kind)
        for rack in standing
    ]
    va, worst_rack, _ = max(left_va, key=lambda entry: entry[0])
    yield Check(
        area="Power",
        item="breakers of PDUs after one has failed, at 80 %",
        found=f"{va / 1e3:.1f} kVA ({worst_rack})",
        limit=f"{site.feed.va / 1e3:.1f} kVA",
        verdict=within(va, site.feed.va),
    )
    others = [(va, name) for va, name, kind in left_va if kind != "compute"]
    if others:
        yield _other_pdus(*max(others, key=lambda entry: entry[0]), other_pdu(site.feed), catalogue)
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


def _other_pdus(va: float, rack: str, sku: str, catalogue: Catalogue) -> Check:
    """Return whether a PDU of the racks without nodes carries the fullest of them alone."""
    part = catalogue.parts.get(sku)
    rated = None if part is None else part.power_capacity_w
    return Check(
        area="Power",
        item="rating of PDUs in racks without nodes",
        found=f"{va / 1e3:.1f} kVA ({rack})",
        limit="unknown" if rated is None else f"{rated / 1e3:.1f} kVA",
        verdict=within(va, rated),
        note=f"no rating of {sku} was found: have the vendor confirm it" if rated is None else "",
    )


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
    verdicts = {GOES_ON: PASS, SLOWS: PASS, UNKNOWN: UNKNOWN}
    found = "unknown" if left.supplies_left is None else f"{left.supplies_left} supplies of a node left"
    return Check(
        area="Power",
        item=item,
        found=found,
        limit="unknown" if system.psu_needed is None else f"{system.psu_needed} needed",
        verdict=verdicts.get(left.outcome, FAIL),
        note=f"supplies {supply_rule(system.psu_count, system.psu_needed)}"
        + ("; the nodes go on at lower power" if left.outcome == SLOWS else ""),
    )


def _assumed(check: Check) -> Check:
    """Return the check of feeds whose number was assumed: that they are there is not known."""
    verdict = UNKNOWN if check.verdict == PASS else check.verdict
    return Check(
        area=check.area, item=check.item, found=check.found, limit=check.limit, verdict=verdict,
        note=f"{check.note}; the number of feeds is assumed (site.feed.sources)",
    )  # fmt: skip


def cooling_items(design: OnPremDesign, standing: Sequence[Rack], system: System) -> Iterator[Check]:
    """Yield the items on cooling: the fullest rack, air, liquid.

    Args:
        design: with its site.
        standing: its racks.
        system: that stands in them.
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
