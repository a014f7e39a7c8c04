"""The check-list of a data centre for AI: every item against this design, as pass, fail or unknown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from clusterwright.catalog.claims import claims_of
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility import power
from clusterwright.facility.cabling import Cable
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.floor_load import FAIL, PASS, UNKNOWN, floor_load
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
from clusterwright.facility.site import TRAY_GAP_M
from clusterwright.facility.storage_design import StorageDesign

#: Least and recommended rack for DGX systems (NVIDIA's reference racks): units, and width and depth in m.
LEAST_RACK_U, RECOMMENDED_RACK_U, LEAST_RACK_M = 48, 52, (0.6, 1.1)
#: Voltage of a supply of an AC system that is published for 200 to 240 V.
SUPPLY_V = (200.0, 240.0)
#: Words of the claim that says so.
AC_SUPPLY = "200 to 240 V"
NOT_GIVEN = "not given"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One item.

    Attributes:
        area, item: what is asked.
        found, limit: the design's number, and what it is held against.
        verdict: `pass`, `fail` or `unknown`.
        note: what the list that people carry says otherwise, or what to find out.
    """

    area: str
    item: str
    found: str
    limit: str
    verdict: str
    note: str = ""


def checks(
    design: OnPremDesign,
    standing: Sequence[Rack],
    cables: Sequence[Cable],
    catalogue: Catalogue,
) -> tuple[Check, ...]:
    """Return all items in the order of the list: power, cooling, network, storage, density, room, security, monitoring.

    Args:
        design: with its power summary.
        standing: its racks.
        cables: its cables.
        catalogue: for what is known of the system.
    """
    system = design.node(catalogue)
    return (
        *_power(design, standing, system, catalogue),
        *_cooling(design, standing, system),
        *_network(design, cables),
        *_storage(design.inventory.storage),
        *_density(design),
        *_physical(design, standing, system),
        *_security(),
        *_monitoring(design, standing),
    )


def _within(value: float, limit: float | None) -> str:
    if limit is None:
        return UNKNOWN
    return PASS if value <= limit * (1 + 1e-9) else FAIL


def _kw(watts: float | None) -> str:
    return NOT_GIVEN if watts is None else f"{watts / 1e3:,.1f} kW"


def _power(design: OnPremDesign, standing: Sequence[Rack], system: System, catalogue: Catalogue) -> Iterator[Check]:
    site, summary = design.site, design.power
    fullest = max(standing, key=lambda rack: rack.power_w / rack.power_limit_w)
    yield Check(
        area="Power",
        item="power of the fullest rack",
        found=f"{_kw(fullest.power_w)} ({fullest.name})",
        limit=_kw(fullest.power_limit_w),
        verdict=_unless_unknown(_within(fullest.power_w, fullest.power_limit_w), fullest.unknown_power),
        note="30 to 120 kW per rack is no requirement: what counts is what these racks draw",
    )
    yield Check(
        area="Power",
        item="power of the hall",
        found=_kw(summary.it_w),
        limit=_kw(site.power_limit_w),
        verdict=_unless_unknown(_within(summary.it_w, site.power_limit_w), summary.unknown_items),
    )
    yield _voltage(design, system, catalogue)
    pdus = design.pdus_per_compute_rack
    sources = sources_of(site.feed, standing)
    worst = max(pdus_of_source(pdus, source, sources) for source in range(sources))
    yield _survives("one PDU of a rack fails", loss(system, pdus=pdus, lost=1), system)
    lost = _survives(f"one of {sources} feeds fails", loss(system, pdus=pdus, lost=worst), system)
    yield lost if site.feed.sources else _assumed(lost)
    compute = max((rack for rack in standing if rack.kind == "compute"), key=lambda rack: rack.power_w)
    va = rack_va(compute.power_w, site.feed, design.rules) / max(1, pdus - 1)
    yield Check(
        area="Power",
        item="breakers of PDUs after one has failed, at 80 %",
        found=f"{va / 1e3:.1f} kVA",
        limit=f"{site.feed.va / 1e3:.1f} kVA",
        verdict=_within(va, site.feed.va),
    )
    asked, rated = rack_va(summary.it_w, site.feed, design.rules), site.plant.ups_va
    yield Check(
        area="Power",
        item="rating of the UPS",
        found=f"{asked / 1e3:,.1f} kVA asked",
        limit=NOT_GIVEN if rated is None else f"{rated / 1e3:,.1f} kVA",
        verdict=_within(asked, rated),
    )
    yield Check(
        area="Power",
        item="UPS bears the swings of GPUs",
        found="not published for these systems",
        limit=NOT_GIVEN,
        verdict=UNKNOWN,
        note="have the vendor of the UPS confirm it",
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


def _cooling(design: OnPremDesign, standing: Sequence[Rack], system: System) -> Iterator[Check]:
    site = design.site
    fullest = max(standing, key=lambda rack: rack.power_w)
    yield Check(
        area="Cooling",
        item="heat of the fullest rack",
        found=f"{_kw(fullest.power_w)} ({fullest.name})",
        limit=f"{site.cooling or 'method ' + NOT_GIVEN}: {_kw(site.cooling_limit_w)}",
        verdict=_within(fullest.power_w, site.cooling_limit_w),
        note="rear doors or liquid are not needed from 30 kW on: vendors profile air-cooled racks of 57.2 kW",
    )
    heat = heat_of(compute_w=design.power.compute_w, it_w=design.power.it_w, system=system, site=site)
    flow = power.airflow_cfm(power_w=heat.air_w, rise_c=site.air_rise_c)
    yield Check(
        area="Cooling",
        item="air of the hall",
        found=f"{flow:,.0f} CFM for {_kw(heat.air_w)}",
        limit=NOT_GIVEN,
        verdict=UNKNOWN,
        note="hold it against the data sheets of the cooling units",
    )
    share, units = system.liquid_heat_fraction, cdu_count(heat.liquid_w, site)
    if heat.liquid_w > 0:
        verdict = UNKNOWN if units is None or site.cooling is None else PASS
        found = (
            f"{_kw(heat.liquid_w)}, {power.water_l_per_min(power_w=heat.liquid_w, rise_c=site.water_rise_c):,.0f} L/min"
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


def _network(design: OnPremDesign, cables: Sequence[Cable]) -> Iterator[Check]:
    inventory, fabric = design.inventory, design.fabric
    yield Check(
        area="Network",
        item="compute fabric",
        found=f"{inventory.compute_family}, {fabric.levels} levels, {fabric.switches} switches",
        limit="InfiniBand NDR or XDR, or RoCE; rails",
        verdict=PASS if inventory.compute_family in ("ndr", "xdr") else FAIL,
        note="older rates are slower, not wrong" if inventory.compute_family not in ("ndr", "xdr") else "",
    )
    narrow = max(design.rules.leaf_oversubscription, design.rules.spine_oversubscription)
    yield Check(
        area="Network",
        item="oversubscription of the compute fabric",
        found=f"{narrow:g}:1",
        limit="1:1 in reference architectures",
        verdict=_within(narrow, 1.0),
        note="" if narrow <= 1 else "chosen in the blueprint; the plan counts with it",
    )
    longest = max(cables, key=lambda cable: cable.run_m)
    yield Check(
        area="Network",
        item="longest cable",
        found=f"{longest.run_m:.1f} m run, {longest.length_m:g} m {longest.kind}",
        limit=f"{longest.length_m:g} m",
        verdict=_within(longest.run_m, longest.length_m),
        note="every cable is at least as long as its way along the trays",
    )


def _storage(storage: StorageDesign) -> Iterator[Check]:
    yield Check(
        area="Storage",
        item="capacity",
        found=f"{storage.capacity_bytes / 1e12:,.0f} TB asked",
        limit=_or_unknown(storage.usable_bytes, 1e12, "TB usable"),
        verdict=_within(storage.capacity_bytes, storage.usable_bytes),
        note=f"{storage.boxes} boxes of {storage.name}",
    )
    for item, asked, given, note in (
        (
            "checkpoint bandwidth",
            storage.write_bytes_per_s,
            storage.gives_write_bytes_per_s,
            "more than 100 GB/s is no requirement: what the job's checkpoints and the level of bandwidth ask is",
        ),
        ("reading of training data", storage.read_bytes_per_s, storage.gives_read_bytes_per_s, ""),
    ):
        ask = "" if given is not None else "not published for these boxes: have the vendor confirm it"
        yield Check(
            area="Storage",
            item=item,
            found=f"{asked / 1e9:,.1f} GB/s asked",
            limit=_or_unknown(given, 1e9, "GB/s given"),
            verdict=_within(asked, given),
            note="; ".join(part for part in (note, ask) if part),
        )


def _or_unknown(value: float | None, scale: float, words: str) -> str:
    return UNKNOWN if value is None else f"{value / scale:,.1f} {words}"


def _density(design: OnPremDesign) -> Iterator[Check]:
    inventory = design.inventory
    gpus = design.nodes_per_rack * inventory.gpus // inventory.nodes
    yield Check(
        area="GPU density",
        item="GPUs of a rack",
        found=f"{gpus} in {design.nodes_per_rack} nodes",
        limit=f"{_kw(design.site.rack_power_w)}, {design.site.rack_height_u:g} U",
        verdict=PASS,
        note="as many as power, feeds, height and weight allow",
    )


def _physical(design: OnPremDesign, standing: Sequence[Rack], system: System) -> Iterator[Check]:
    site, hall = design.site, design.site.hall
    load = max((floor_load(rack, site, system) for rack in standing), key=lambda entry: entry.kg_per_m2)
    least = "at least " if load.unknown else ""
    carried = hall.floor_load_kg_per_m2
    yield Check(
        area="Physical",
        item="floor load of the heaviest rack",
        found=f"{least}{load.kg_per_m2:,.0f} kg/m2 ({load.rack})",
        limit=NOT_GIVEN if carried is None else f"{carried:,.0f} kg/m2",
        verdict=load.verdict,
        note="1,500 kg/m2 is a usual figure, the racks' own weight decides"
        + (f"; weight unknown: {', '.join(load.unknown)}" if load.unknown else ""),
    )
    yield Check(
        area="Physical",
        item="height of racks",
        found=f"{site.rack_height_u:g} U",
        limit=f"{LEAST_RACK_U} U; {RECOMMENDED_RACK_U} U recommended",
        verdict=PASS if site.rack_height_u >= LEAST_RACK_U else FAIL,
        note="52 to 60 U is no requirement: reference racks start at 48 U",
    )
    width, depth = site.rows.rack_width_m, site.rows.rack_depth_m
    yield Check(
        area="Physical",
        item="width and depth of racks",
        found=f"{width:g} x {depth:g} m",
        limit=f"{LEAST_RACK_M[0]:g} x {LEAST_RACK_M[1]:g} m",
        verdict=PASS if width >= LEAST_RACK_M[0] and depth >= LEAST_RACK_M[1] else FAIL,
    )
    places = site.places
    yield Check(
        area="Physical",
        item="places for racks",
        found=f"{len(standing)} racks",
        limit=NOT_GIVEN if places is None else f"{places} places",
        verdict=_within(len(standing), places),
    )
    tall, narrow = site.rack_outside_height_m, min(width, depth)
    for item, size, opening in (
        ("height of doors", tall, hall.door_height_m),
        ("width of doors", narrow, hall.door_width_m),
        ("height of the hall, with trays", tall + TRAY_GAP_M, hall.height_m),
    ):
        yield Check(
            area="Physical",
            item=item,
            found=f"{size:.2f} m",
            limit=NOT_GIVEN if opening is None else f"{opening:g} m",
            verdict=_within(size, opening),
        )


def _security() -> Iterator[Check]:
    yield Check(
        area="Security",
        item="networks are apart",
        found="compute, storage, in-band and out-of-band have switches of their own",
        limit="4 networks",
        verdict=PASS,
    )
    for item, note in (
        (
            "tenants are isolated",
            "partition keys of the fabric and accounts of the scheduler are set when it is run in",
        ),
        ("data is encrypted", "depends on the storage system and on who holds the keys"),
    ):
        yield Check(
            area="Security", item=item, found="not part of this design", limit="asked for", verdict=UNKNOWN, note=note
        )


def _monitoring(design: OnPremDesign, standing: Sequence[Rack]) -> Iterator[Check]:
    managed = design.cables.get("out-of-band", 0)
    things = sum(len(rack.placements) + rack.pdus for rack in standing) - design.inventory.oob_switches
    yield Check(
        area="Monitoring",
        item="management port of every device and PDU",
        found=f"{managed} out-of-band links",
        limit=f"{things} devices and PDUs",
        verdict=PASS if managed >= things else FAIL,
    )
    yield Check(
        area="Monitoring",
        item="health of GPUs and collectives",
        found="DCGM and NCCL tests are in acceptance.md",
        limit="running all the time",
        verdict=UNKNOWN,
        note="a monitoring system is not part of this design",
    )
    cap = design.rules.power_cap_w
    yield Check(
        area="Monitoring",
        item="power cap",
        found="none" if cap is None else f"{cap:g} W per GPU",
        limit="as the hall needs",
        verdict=PASS,
        note="without a cap the design stands at nameplate" if cap is None else "must be set on every node",
    )
