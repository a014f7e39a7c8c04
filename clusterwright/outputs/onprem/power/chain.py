"""The power chain, heat and floor as sections of the power page."""

from collections.abc import Sequence

from clusterwright.catalog.power_caps import LOWEST_SHARE, exponents
from clusterwright.catalog.records import Catalogue, System
from clusterwright.facility import power
from clusterwright.facility.cabling.devices import node_power_w
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.floor_load import FloorLoad, floor_load
from clusterwright.facility.hall.power_chain import (
    GOES_ON,
    SLOWS,
    TOO_FEW,
    Heat,
    Loss,
    breaker_needed_a,
    cdu_count,
    heat_of,
    loss,
    pdus_of_source,
    rack_va,
    source_loads,
    sources_of,
    supply_rule,
)
from clusterwright.facility.hall.power_cords import worst_load
from clusterwright.facility.hall.rack_limits import compute_limits, nodes_per_rack
from clusterwright.facility.hall.racks import Rack
from clusterwright.outputs.markdown import cell
from clusterwright.units import percent

#: Mean draw over nameplate for which the energy of a year is shown.
LOADS = (1.0, 0.8, 0.6, 0.4)
#: Caps as shares of what an accelerator is designed for.
CAPS = (1.0, 0.9, 0.8, 0.7, 0.6)
_OUTCOMES = {
    GOES_ON: "the nodes go on",
    SLOWS: "the nodes go on at lower power",
    TOO_FEW: "**too few: the nodes stop or slow down**",
    "unknown": "unknown: the rule of the supplies is not published",
}


def chain_sections(design: OnPremDesign, standing: Sequence[Rack], catalogue: Catalogue) -> list[str]:
    """Return the lines of all sections.

    Args:
        design: with its power summary.
        standing: its racks.
        catalogue: for the system's supplies and the share of its heat that is in liquid.
    """
    system = design.node(catalogue)
    return [
        *_losses(design, standing, system),
        *_breakers(design, standing),
        *_ups(design),
        *_part_load(design),
        *_caps(design, system, catalogue),
        *_heat(design, catalogue),
        *_floor(design, standing, system),
    ]


def row(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def _kva(va: float) -> str:
    return f"{va / 1e3:,.1f} kVA"


def _losses(design: OnPremDesign, standing: Sequence[Rack], system: System) -> list[str]:
    feed, rules = design.site.feed, design.rules
    whole, pdus = next((rack.shelves > 0, rack.feeds) for rack in standing if rack.kind == "compute")
    what = "power shelf" if whole else "PDU"
    plural = "power shelves" if whole else "PDUs"
    sources = sources_of(feed, standing)
    worst = max(pdus_of_source(pdus, source, sources) for source in range(sources))
    given = "given" if feed.sources else "as many as the PDUs of a rack (assumed)"
    loads = source_loads(standing, feed, rules)
    return [
        "",
        f"## When a {what} or a feed fails",
        "",
        _supplies(system, f"each {what} on a feed of its own" if whole else f"spread evenly over {pdus} PDUs"),
        "",
        f"| what fails | {plural} left of a compute rack | supplies left of a node | outcome |",
        "|---|---:|---:|---|",
        _loss_row(f"one {what}", pdus, loss(system, pdus=pdus, lost=1)),
        _loss_row(f"one of {sources} feeds", pdus, loss(system, pdus=pdus, lost=worst)),
        "",
        f"Independent feeds: {sources}, {given}. The {plural} of a rack take them in turn.",
        "",
        "| feed | all alive | most when another fails |",
        "|---|---:|---:|",
        *(row(load.name, _kva(load.va), _kva(load.worst_va)) for load in loads),
    ]


def _supplies(system: System, how: str) -> str:
    if system.psu_count is None or system.psu_needed is None:
        return (
            f"How many power supplies {cell(system.name)} has, and how many of them must live, is not in the catalogue."
        )
    rule = supply_rule(system.psu_count, system.psu_needed)
    return f"{cell(system.name)} has power supplies {rule}, {how}."


def _loss_row(what: str, pdus: int, left: Loss) -> str:
    supplies = "unknown" if left.supplies_left is None else str(left.supplies_left)
    return row(what, f"{left.pdus_left} of {pdus}", supplies, _OUTCOMES[left.outcome])


def _breakers(design: OnPremDesign, standing: Sequence[Rack]) -> list[str]:
    feed, rules = design.site.feed, design.rules
    lines = [
        "",
        "## Breakers",
        "",
        (
            "A breaker carries 80 % of its rating all the time. Load of one PDU, or feed of a power shelf, when "
            f"another of its rack has failed, at {feed.name}. The current is that of the fullest phase: supplies that "
            "three does not divide load the phases unevenly."
        ),
        "",
        "| rack | feeds | each, all alive | each, one failed | if even | fullest phase | needed | sold | planned |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in ("compute", "network", "services"):
        racks = [rack for rack in standing if rack.kind == kind]
        if not racks:
            continue
        fullest = max(racks, key=lambda rack: rack.power_w)
        load = worst_load(fullest, feed, rules)
        needed, sold = breaker_needed_a(load.line_a)
        lines.append(
            row(
                f"{fullest.name} (fullest of {kind})",
                str(fullest.feeds),
                _kva(load.alive_va),
                _kva(load.failed_va),
                f"{load.even_a:.1f} A",
                f"{load.line_a:.1f} A",
                f"{needed:.1f} A",
                "larger than any listed" if sold is None else f"{sold:g} A",
                f"{feed.breaker_a:g} A",
            )
        )
    return lines


def _ups(design: OnPremDesign) -> list[str]:
    plant, it_w = design.site.plant, design.power.it_w
    asked_va = rack_va(it_w, design.site.feed, design.rules)
    asked = _kva(asked_va)
    lines = ["", "## UPS", "", f"- It must carry {design.power.it_w / 1e3:,.1f} kW, {asked}, of IT load."]
    if plant.ups_va is None:
        lines.append("- Its rating is unknown (`site.ups.power`).")
    else:
        share = asked_va / plant.ups_va
        holds = "it holds" if share <= 1 else "it is TOO SMALL"
        lines.append(f"- It is rated {_kva(plant.ups_va)}: the load takes {percent(share)}, {holds}.")
    if plant.ups_efficiency is None:
        lines.append("- Its losses are unknown (`site.ups.efficiency`).")
    else:
        lost = it_w * (1 / plant.ups_efficiency - 1)
        lines.append(
            f"- At {percent(plant.ups_efficiency, digits=1)} it loses {lost / 1e3:,.1f} kW, which is part of the PUE."
        )
    lines.append(
        "- How fast and how far the draw of GPUs swings is not published for these systems: have the UPS's vendor say "
        "what it bears."
    )
    return lines


def _part_load(design: OnPremDesign) -> list[str]:
    site, it_w = design.site, design.power.it_w
    mean = site.plant.mean_load
    loads = sorted({*LOADS, *([] if mean is None else [mean])}, reverse=True)
    lines = [
        "",
        "## Energy of a year by mean load",
        "",
        "| mean draw of nameplate | IT energy | facility energy |",
        "|---:|---:|---:|",
    ]
    for load in loads:
        it_kwh = power.annual_energy_kwh(it_power_w=it_w, load=load)
        facility = "unknown" if site.pue is None else f"{it_kwh * site.pue:,.0f} kWh"
        marked = f"**{percent(load)}** (as given)" if load == mean else percent(load)
        lines.append(row(marked, f"{it_kwh:,.0f} kWh", facility))
    return lines


def _caps(design: OnPremDesign, system: System, catalogue: Catalogue) -> list[str]:
    accelerator = catalogue.accelerators[system.accelerator]
    full, node_w = accelerator.power_w, system.power_max_w
    title = ["", "## A power cap", ""]
    if full is None or node_w is None:
        return [*title, f"The design power of {accelerator.name} is unknown, so the effect of a cap is too."]
    slowing, nodes = exponents(), design.inventory.nodes
    lines = [
        *title,
        (
            f"What a cap on each {accelerator.name} ({full:g} W) would save of the nodes' nameplate, and what speed "
            "published measurements leave of it (median; least to most). Speed of this job: plan it with "
            "`targets.onprem.power_cap`."
        ),
        "",
        "| cap | node | all nodes | saved in a year | nodes per rack | speed |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for share in CAPS:
        if share < LOWEST_SHARE:
            continue
        capped = power.capped_node_w(node_w=node_w, accelerators=system.gpus, full_w=full, cap_w=share * full)
        limits = compute_limits(system=system, node_w=capped, site=design.site, rules=design.rules)
        fit = nodes_per_rack(
            height_u=system.height_u or 1.0,
            power_w=capped,
            weight_kg=system.weight_kg,
            site=design.site,
            limits=limits,
            name=system.name,
        )
        saved = power.annual_energy_kwh(it_power_w=nodes * (node_w - capped))
        speeds = [share**exponent for exponent in (slowing.median, slowing.most, slowing.least)]
        lines.append(
            row(
                f"{share * full:,.0f} W",
                f"{capped / 1e3:,.1f} kW",
                f"{nodes * capped / 1e3:,.0f} kW",
                f"{saved:,.0f} kWh",
                str(fit),
                percent(1.0) if share == 1 else f"{percent(speeds[0])} ({percent(speeds[1])} to {percent(speeds[2])})",
            )
        )
    now = node_power_w(system, catalogue, design.rules)
    if design.rules.power_cap_w is not None and now is not None:
        lines += ["", f"This design caps each at {design.rules.power_cap_w:g} W: {now / 1e3:,.1f} kW a node."]
    return lines


def heat_of_design(design: OnPremDesign, catalogue: Catalogue) -> Heat:
    """Return what of the heat goes into air and into a liquid."""
    system = design.node(catalogue)
    return heat_of(compute_w=design.power.compute_w, it_w=design.power.it_w, system=system, site=design.site)


def _heat(design: OnPremDesign, catalogue: Catalogue) -> list[str]:
    site, heat = design.site, heat_of_design(design, catalogue)
    method = site.cooling or "unknown (`site.cooling`)"
    limit = "unknown" if site.cooling_limit_w is None else f"{site.cooling_limit_w / 1e3:,.1f} kW a rack"
    units = cdu_count(heat.liquid_w, site)
    asked = "unknown: give `site.cdu.heat`" if units is None else f"{units}"
    if units:
        asked += f", {site.plant.cdu_spare} of them spare, of {(site.plant.cdu_heat_w or 0) / 1e3:,.0f} kW each"
    water = power.water_l_per_min(power_w=heat.liquid_w, rise_c=site.water_rise_c)
    return [
        "",
        "## Where the heat goes",
        "",
        f"Cooling: {method}; its limit is {limit}. {heat.basis[0].upper()}{heat.basis[1:]}.",
        "",
        "| into | heat | flow |",
        "|---|---:|---:|",
        row(
            "air",
            f"{heat.air_w / 1e3:,.1f} kW, {power.heat_btu_per_h(power_w=heat.air_w):,.0f} BTU/h",
            f"{power.airflow_cfm(power_w=heat.air_w, rise_c=site.air_rise_c):,.0f} CFM",
        ),
        row(
            "liquid",
            f"{heat.liquid_w / 1e3:,.1f} kW, {power.heat_btu_per_h(power_w=heat.liquid_w):,.0f} BTU/h",
            f"{water:,.0f} L/min",
        ),
        "",
        f"Coolant distribution units: {asked}.",
    ]


def _floor(design: OnPremDesign, standing: Sequence[Rack], system: System) -> list[str]:
    site = design.site
    limit = site.hall.floor_load_kg_per_m2
    stated = "unknown (`site.hall.floor_load`)" if limit is None else f"{limit:,.0f} kg/m2"
    lines = [
        "",
        "## Floor",
        "",
        f"A rack covers {site.rows.footprint_m2:.2f} m2. The floor carries {stated}.",
        "",
        "| rack | weight | load | verdict | not in it |",
        "|---|---:|---:|---|---|",
    ]
    for kind in ("compute", "network", "services"):
        loads = [floor_load(rack, site, system) for rack in standing if rack.kind == kind]
        if loads:
            lines.append(_floor_row(kind, max(loads, key=lambda load: load.kg_per_m2)))
    return lines


def _floor_row(kind: str, load: FloorLoad) -> str:
    least = "at least " if load.unknown else ""
    return row(
        f"{load.rack} (heaviest of {kind})",
        f"{least}{load.known_kg:,.0f} kg",
        f"{least}{load.kg_per_m2:,.0f} kg/m2",
        load.verdict,
        ", ".join(load.unknown) or "PDUs and cables",
    )
