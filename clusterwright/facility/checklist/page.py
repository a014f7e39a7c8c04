"""The check-list of a data centre for AI: every item against this design, as pass, fail or unknown."""

from collections.abc import Iterator, Sequence

from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.checklist.items import NOT_GIVEN, Check, kw, within
from clusterwright.facility.checklist.power import cooling_items, power_items
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN, floor_load
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import TRAY_GAP_M
from clusterwright.facility.storage.design import StorageDesign

#: Least and recommended rack for DGX systems (NVIDIA's reference racks): units, and width and depth in m.
LEAST_RACK_U, RECOMMENDED_RACK_U, LEAST_RACK_M = 48, 52, (0.6, 1.1)
#: Rates of InfiniBand that the list asks for.
CURRENT_INFINIBAND = ("ndr", "xdr")


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
        *power_items(design, standing, system, catalogue),
        *cooling_items(design, standing, system),
        *_network(design, cables),
        *_storage(design.inventory.storage),
        *_density(design),
        *_physical(design, standing, system),
        *_security(),
        *_monitoring(design, standing),
    )


def _network(design: OnPremDesign, cables: Sequence[Cable]) -> Iterator[Check]:
    inventory, fabric = design.inventory, design.fabric
    # A family may name the cages of its nodes after the rate: `ndr-single`.
    rate = inventory.compute_family.split("-", maxsplit=1)[0]
    current = rate in CURRENT_INFINIBAND or rate.startswith("eth")
    yield Check(
        area="Network",
        item="compute fabric",
        found=(
            f"{inventory.compute_family}, {fabric.levels} level{'s' * (fabric.levels > 1)}, "
            f"{fabric.switches:,} switch{'es' * (fabric.switches > 1)}"
        ),
        limit="InfiniBand NDR or XDR, or RoCE; rails",
        verdict=PASS if current else FAIL,
        note="" if current else "older rates are slower, not wrong",
    )
    narrow = max(design.rules.leaf_oversubscription, design.rules.spine_oversubscription)
    yield Check(
        area="Network",
        item="oversubscription of the compute fabric",
        found=f"{narrow:g}:1",
        limit="1:1 in reference architectures",
        verdict=within(narrow, 1.0),
        note="" if narrow <= 1 else "chosen in the blueprint; the plan counts with it",
    )
    # Of ways that are equally long one is named, in whatever order the cables are listed.
    longest = max(cables, key=lambda cable: (round(cable.run_m, 6), cable.length_m, cable.kind))
    yield Check(
        area="Network",
        item="longest cable",
        found=f"{longest.run_m:.1f} m run, {longest.length_m:g} m {longest.kind}",
        limit=f"{longest.length_m:g} m",
        verdict=within(longest.run_m, longest.length_m),
        note="every cable is at least as long as its way along the trays",
    )


def _storage(storage: StorageDesign) -> Iterator[Check]:
    yield Check(
        area="Storage",
        item="capacity",
        found=f"{storage.capacity_bytes / 1e12:,.0f} TB asked",
        limit=_or_unknown(storage.usable_bytes, 1e12, "TB usable"),
        verdict=within(storage.capacity_bytes, storage.usable_bytes),
        note=f"{storage.boxes} boxes of {storage.name}",
    )
    for item, asked, given, note in (
        (
            "checkpoint bandwidth",
            storage.write_bytes_per_s,
            storage.gives_write_bytes_per_s,
            "more than 100 GB/s is no requirement: what the job's checkpoints and the level of bandwidth ask is",
        ),
        ("reading of data", storage.read_bytes_per_s, storage.gives_read_bytes_per_s, ""),
    ):
        ask = "" if given is not None else "not published for these boxes: have the vendor confirm it"
        yield Check(
            area="Storage",
            item=item,
            found=f"{asked / 1e9:,.1f} GB/s asked",
            limit=_or_unknown(given, 1e9, "GB/s given"),
            verdict=within(asked, given),
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
        found=f"{gpus} in {design.nodes_per_rack} {'node' if design.nodes_per_rack == 1 else 'nodes'}",
        limit=f"{kw(design.site.rack_power_w)}, {design.site.rack_height_u:g} U",
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
        found=f"{len(standing):,} racks",
        limit=NOT_GIVEN if places is None else f"{places:,} places",
        verdict=within(len(standing), places),
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
            verdict=within(size, opening),
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
        found=f"{managed:,} out-of-band links",
        limit=f"{things:,} devices and PDUs",
        verdict=PASS if managed >= things else FAIL,
    )
    yield Check(
        area="Monitoring",
        item="health of GPUs and collectives",
        found="exporters and alerts in provisioning/services, tests in acceptance.md",
        limit="running all the time",
        verdict=UNKNOWN,
        note="where they run, and who is called, is the site's to say",
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
