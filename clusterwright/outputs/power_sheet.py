"""Power and cooling as a page of Markdown."""

from collections.abc import Sequence

from clusterwright.facility import power
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.racks import Rack


def power_and_cooling(design: OnPremDesign, standing: Sequence[Rack], *, title: str) -> str:
    """Return load by role and rack, feeds, heat, air, water and energy, with the formulas.

    Args:
        design: with its power summary.
        standing: its racks.
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
        _row("Facility load", _kw(summary.facility_w), f"IT load x PUE {site.pue:g}" if site.pue else "PUE is unknown"),
        _row("Apparent power", f"{summary.apparent_va / 1e3:,.1f} kVA", "IT load / power factor 0.95 (assumed)"),
        _row("Heat", f"{summary.heat_btu_per_h:,.0f} BTU/h", "3.412 x W"),
        _row("Air", f"{summary.airflow_cfm:,.0f} CFM", f"1.76 x W / {site.air_rise_c:g} C rise, sea level"),
        _row(
            "Water, if all heat went into it",
            f"{summary.water_l_per_min:,.0f} L/min",
            f"14.3 x kW / {site.water_rise_c:g} C rise",
        ),
        _row("IT energy of a year", f"{summary.annual_it_kwh:,.0f} kWh", "full load for 8,760 h"),
        _row(
            "Facility energy of a year",
            "unknown" if summary.annual_facility_kwh is None else f"{summary.annual_facility_kwh:,.0f} kWh",
            "IT energy x PUE",
        ),
        "",
        "## Racks",
        "",
        f"A rack may draw {site.rack_power_w / 1e3:,.1f} kW and is {site.rack_height_u:g} U high.",
        "",
        "| racks | kind | power each | of the limit | heat each | air each | PDUs | weight each |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *_rack_rows(design, standing),
        "",
        "Weight is of the equipment without rack, PDUs and cables, as far as it is known.",
        "",
        "## Feeds",
        "",
        *_feeds(design, standing),
    ]
    return "\n".join(lines)


def _loads(design: OnPremDesign) -> list[str]:
    summary, inventory = design.power, design.inventory
    switches = (
        inventory.compute_switches
        + inventory.storage_fabric.switches
        + inventory.inband.switches
        + inventory.oob_switches
    )
    boxes = inventory.storage.boxes
    limit = design.site.power_limit_w
    total = "sum" if limit is None else f"sum; the hall has {_kw(limit)}"
    return [
        _row("Compute", _kw(summary.compute_w), f"{inventory.nodes:,} x {inventory.system_name}{_capped(design)}"),
        _row("Network", _kw(summary.network_w), f"{switches:,} switches"),
        _row("Storage", _kw(summary.storage_w), f"{boxes} boxes"),
        _row("Management", _kw(summary.management_w), "fabric managers and servers"),
        _row("**IT load**", f"**{_kw(summary.it_w)}**", total),
    ]


def _capped(design: OnPremDesign) -> str:
    cap = design.rules.power_cap_w
    return "" if cap is None else f", each GPU capped at {cap:g} W (to be set on every node: nvidia-smi -pl {cap:.0f})"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _kw(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts / 1e3:,.1f} kW"


def _rack_rows(design: OnPremDesign, standing: Sequence[Rack]) -> list[str]:
    """One row per set of equal racks, so that a large hall stays readable."""
    sets: dict[tuple[str, int, float, float, float], list[str]] = {}
    for rack in standing:
        sets.setdefault((rack.kind, rack.pdus, rack.power_w, rack.power_limit_w, rack.weight_kg), []).append(rack.name)
    rows = []
    for (kind, pdus, watts, limit_w, kilograms), names in sets.items():
        shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]} ({len(names)} racks)"  # noqa: PLR2004 - fits a cell
        rows.append(
            _row(
                shown,
                kind,
                _kw(watts),
                f"{watts / limit_w:.0%}",
                f"{power.heat_btu_per_h(power_w=watts):,.0f} BTU/h",
                f"{power.airflow_cfm(power_w=watts, rise_c=design.site.air_rise_c):,.0f} CFM",
                str(pdus),
                f"{kilograms:,.0f} kg",
            )
        )
    return rows


def _feeds(design: OnPremDesign, standing: Sequence[Rack]) -> list[str]:
    feed = design.site.feed
    va = feed.va
    fullest = max((rack for rack in standing if rack.kind == "compute"), key=lambda rack: rack.power_w)
    left = fullest.pdus - 1
    asked = power.apparent_va(power_w=fullest.power_w)
    each = asked / left
    holds = "holds" if each <= va else "does NOT hold: use larger feeds or fewer nodes per rack"
    return [
        (
            f"- A PDU at {feed.line_v:g} V three-phase and {feed.breaker_a:g} A carries "
            f"{va / 1e3:.1f} kVA all the time (1.732 x V x A x 0.8)."
        ),
        (
            f"- A full compute rack needs {asked / 1e3:.1f} kVA. With {fullest.pdus} PDUs, losing one leaves {left} "
            f"with {each / 1e3:.1f} kVA each: it {holds}."
        ),
        (
            f"- {design.pdus} PDUs in all: {design.pdus_per_compute_rack} in each compute rack, 2 (feeds A and B) in "
            "every other rack. Those are filled only so far that one feed carries the whole rack."
        ),
    ]
