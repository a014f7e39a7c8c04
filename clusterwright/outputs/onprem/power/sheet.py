"""Power and cooling as a page of Markdown."""

from collections.abc import Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.facility import power
from clusterwright.facility.cabling.devices import node_power_w
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.power_chain import rack_va
from clusterwright.facility.hall.power_cords import worst_load
from clusterwright.facility.hall.rack_limits import WHOLE_RACK_U, compute_limits
from clusterwright.facility.hall.racks import Rack
from clusterwright.outputs.markdown import cell
from clusterwright.outputs.onprem.power.chain import chain_sections, heat_of_design, row
from clusterwright.units import percent


def power_and_cooling(design: OnPremDesign, standing: Sequence[Rack], catalogue: Catalogue, *, title: str) -> str:
    """Return load by role and rack, the chain from feed to node, heat, air, water, energy and floor, with the formulas.

    Args:
        design: with its power summary.
        standing: its racks.
        catalogue: for what is known of the system.
        title: name of the cluster.
    """
    summary, site = design.power, design.site
    unknown = ", ".join(design.bill.unknown_power_items)
    lines = [
        f"# {title}: power and cooling",
        "",
        "All figures are nameplate: the most a device is rated for (typical where no maximum is published). "
        + (f"Not in the sums, because unknown: {unknown}." if unknown else "The power of every device is known."),
        "",
        "| quantity | value | how |",
        "|---|---:|---|",
        *_loads(design),
        row("Facility load", _kw(summary.facility_w), f"IT load x PUE {site.pue:g}" if site.pue else "PUE is unknown"),
        row("Apparent power", f"{summary.apparent_va / 1e3:,.1f} kVA", "IT load / power factor 0.95 (assumed)"),
        row("Heat", f"{summary.heat_btu_per_h:,.0f} BTU/h", "3.412 x W"),
        row(
            f"Air{_of_all(design, catalogue)}",
            f"{summary.airflow_cfm:,.0f} CFM",
            f"1.76 x W / {site.air_rise_c:g} C rise, sea level",
        ),
        row(
            "Water, if all heat went into it",
            f"{summary.water_l_per_min:,.0f} L/min",
            f"14.3 x kW / {site.water_rise_c:g} C rise",
        ),
        row("IT energy of a year", f"{summary.annual_it_kwh:,.0f} kWh", "full load for 8,760 h"),
        row(
            "Facility energy of a year",
            "unknown" if summary.annual_facility_kwh is None else f"{summary.annual_facility_kwh:,.0f} kWh",
            "IT energy x PUE",
        ),
        "",
        "## Racks",
        "",
        (
            f"A rack may draw {site.rack_power_w / 1e3:,.1f} kW and is {site.rack_height_u:g} U high."
            f"{_binding(design, catalogue)}"
        ),
        "",
        "| racks | kind | power each | of the limit | heat each | air each | feeds | weight each |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *_rack_rows(design, standing),
        "",
        "Weight is of the equipment without rack, PDUs and cables, as far as it is known."
        + _air_words(design, catalogue),
        "",
        "## Feeds",
        "",
        *_feeds(design, standing, catalogue),
        *chain_sections(design, standing, catalogue),
    ]
    return "\n".join(lines)


def _of_all(design: OnPremDesign, catalogue: Catalogue) -> str:
    """Return the suffix for an airflow that includes the heat removed by liquid; empty without liquid cooling."""
    return ", if all heat went into it" if heat_of_design(design, catalogue).liquid_w else ""


def _air_words(design: OnPremDesign, catalogue: Catalogue) -> str:
    if not _of_all(design, catalogue):
        return ""
    return (
        " Air is what a rack would need without its liquid; what is left to the air stands under *Where the heat goes*."
    )


def _binding(design: OnPremDesign, catalogue: Catalogue) -> str:
    """Return what bounds a compute rack where it is not the site's own figure."""
    system = design.node(catalogue)
    node_w = node_power_w(system, catalogue, design.rules)
    bound = compute_limits(system=system, node_w=node_w or 0.0, site=design.site, rules=design.rules).power_w
    if bound.key == ("site", "rack_power"):
        return ""
    words = bound.words.format(f"{bound.value / 1e3:,.1f}")
    return f" Of compute racks another limit binds: {words}."


def _loads(design: OnPremDesign) -> list[str]:
    summary, inventory = design.power, design.inventory
    switches = (
        inventory.compute_switches
        + inventory.storage_fabric.switches
        + inventory.inband.switches
        + inventory.inband.border
        + inventory.oob_switches
    )
    boxes = inventory.storage.boxes
    limit = design.site.power_limit_w
    total = "sum" if limit is None else f"sum; the hall has {_kw(limit)}"
    return [
        row("Compute", _kw(summary.compute_w), f"{inventory.nodes:,} x {cell(inventory.system_name)}{_capped(design)}"),
        row("Network", _kw(summary.network_w), f"{switches:,} switches"),
        row("Storage", _known_kw(summary.storage_w, boxes), f"{boxes} boxes"),
        row("Management", _known_kw(summary.management_w, 1), "fabric managers and servers"),
        row("**IT load**", f"**{_kw(summary.it_w)}**", total),
    ]


def _known_kw(watts: float, devices: int) -> str:
    """Return the draw of devices; unknown where that of none of them is known."""
    return "unknown" if devices and not watts else _kw(watts)


def _capped(design: OnPremDesign) -> str:
    cap = design.rules.power_cap_w
    return "" if cap is None else f", each GPU capped at {cap:g} W (to be set on every node: nvidia-smi -pl {cap:.0f})"


def _kw(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts / 1e3:,.1f} kW"


def _rack_rows(design: OnPremDesign, standing: Sequence[Rack]) -> list[str]:
    """One row per set of equal racks, so that a large hall stays readable."""
    sets: dict[tuple[str, int, float, float, float], list[str]] = {}
    for rack in standing:
        sets.setdefault((rack.kind, rack.feeds, rack.power_w, rack.power_limit_w, rack.weight_kg), []).append(rack.name)
    rows = []
    for (kind, feeds, watts, limit_w, kilograms), names in sets.items():
        shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]} ({len(names)} racks)"  # noqa: PLR2004 - fits a cell
        rows.append(
            row(
                shown,
                kind,
                _kw(watts),
                percent(watts / limit_w),
                f"{power.heat_btu_per_h(power_w=watts):,.0f} BTU/h",
                f"{power.airflow_cfm(power_w=watts, rise_c=design.site.air_rise_c):,.0f} CFM",
                str(feeds),
                f"{kilograms:,.0f} kg" if kilograms else "unknown",
            )
        )
    return rows


def _feeds(design: OnPremDesign, standing: Sequence[Rack], catalogue: Catalogue) -> list[str]:
    feed = design.site.feed
    fullest = max((rack for rack in standing if rack.kind == "compute"), key=lambda rack: rack.power_w)
    left = max(1, fullest.feeds - 1)
    asked = rack_va(fullest.power_w, feed, design.rules)
    each = worst_load(fullest, feed, design.rules).failed_va
    carries = (
        "carry it" if each <= feed.va * (1 + 1e-9) else "do NOT carry it: use larger feeds or fewer nodes per rack"
    )
    what = f"{fullest.shelves} power shelves" if fullest.shelves else f"{fullest.pdus} PDUs"
    others = "2 (feeds A and B) in every other rack. Those are filled only so far that one feed carries the whole rack."
    if fullest.shelves:
        counted = f"- {design.pdus} PDUs in all: none in racks that are delivered whole, {others}"
    else:
        counted = f"- {design.pdus} PDUs in all: {design.pdus_per_compute_rack} in each compute rack, {others}"
    formula = "V x A x 0.8" if feed.direct else "1.732 x V x A x 0.8"
    kind = "DC" if feed.direct else "V three-phase"
    volts = f"{feed.line_v:g} V {kind}" if feed.direct else f"{feed.line_v:g} {kind}"
    return [
        f"- A PDU at {volts} and {feed.breaker_a:g} A carries {feed.va / 1e3:.1f} kVA all the time ({formula}).",
        (
            f"- A full compute rack needs {asked / 1e3:.1f} kVA. With {what}, losing one leaves {left} "
            f"with {each / 1e3:.1f} kVA each: they {carries}."
        ),
        counted,
        *_whole(design, catalogue),
    ]


def _whole(design: OnPremDesign, catalogue: Catalogue) -> list[str]:
    system = design.node(catalogue)
    if (system.height_u or 0) < WHOLE_RACK_U:
        return []
    shelves = system.psu_count or 0
    circuits = f"{shelves * design.inventory.nodes:,} circuits of {design.site.feed.breaker_a:g} A"
    return [
        (
            f"- {cell(system.name)} comes with {shelves} power shelves instead of PDUs, each on a feed of its own: "
            f"{circuits}."
        )
    ]
