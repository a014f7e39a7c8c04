"""The page of power and cooling: load, racks, failures, breakers, UPS, energy, caps, heat, floor, from tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from clusterwright.catalog.power_caps import LOWEST_SHARE, exponents
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.site.feeds import CORDS, OUTLETS, Cord, leg_loads, read_cords
from clusterwright.facility import power
from clusterwright.facility.cabling.devices import node_power_w
from clusterwright.facility.hall.floor_load import floor_load
from clusterwright.facility.hall.power_chain import (
    GOES_ON,
    SLOWS,
    TOO_FEW,
    UNKNOWN,
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
from clusterwright.facility.hall.power_cords import PduLoad, line_a, worst_load
from clusterwright.facility.hall.rack_limits import compute_limits, nodes_per_rack
from clusterwright.facility.hall.racks import Rack
from clusterwright.units import percent

FILE = "power_and_cooling.md"
KINDS = ("compute", "network", "services")
#: Mean draw over nameplate for which the page shows the energy of a year, and caps as shares of a GPU's design power.
_LOADS, _CAPS = (1.0, 0.8, 0.6, 0.4), (1.0, 0.9, 0.8, 0.7, 0.6)
#: More racks than this are named by the first and the last.
_NAMED = 4
_OUTCOMES = {
    GOES_ON: "the nodes go on",
    SLOWS: "the nodes go on at lower power",
    TOO_FEW: "**too few: the nodes stop or slow down**",
    UNKNOWN: "unknown: the rule of the supplies is not published",
}
_SUMS = "racks.csv adds up to it"


def kw(watts: float | None) -> str:
    """Return a power in W as the pages print it in kW."""
    return "unknown" if watts is None else f"{watts / 1e3:,.1f} kW"


def kva(va: float) -> str:
    """Return an apparent power in VA as the pages print it in kVA."""
    return f"{va / 1e3:,.1f} kVA"


def cord_load(hall: Hall, rack: Rack) -> PduLoad:
    """Return the load of a rack's fullest PDU and line by its cords in NetBox, all alive and with one failed."""
    design, papers = hall.design, hall.papers
    feed = design.site.feed
    planned = worst_load(rack, feed, design.rules)
    cords = [cord for cord in _cords(hall) if _rack_of(hall, cord) == rack.name]
    if rack.shelves or not cords:
        return planned
    legs = {(row["device"], row["name"]): row["feed_leg"] for row in papers.rows(OUTLETS)}
    strips = sorted({cord.strip for cord in cords})
    alive = leg_loads(papers, cords, legs, set())
    failed = [leg_loads(papers, cords, legs, {strip}) for strip in strips] if len(strips) > 1 else [alive]
    loads = [by_leg for state in failed for by_leg in state.values()]
    failed_va = max((sum(by_leg.values()) for by_leg in loads), default=0.0)
    return PduLoad(
        alive_va=max((sum(by_leg.values()) for by_leg in alive.values()), default=0.0),
        failed_va=failed_va,
        line_a=max((line_a(by_leg, feed) for by_leg in loads), default=0.0),
        even_a=planned.even_a * (failed_va / planned.failed_va if planned.failed_va else 1.0),
    )


def _cords(hall: Hall) -> Sequence[Cord]:
    return read_cords(hall.papers) if CORDS in hall.papers.tables else ()


def _rack_of(hall: Hall, cord: Cord) -> str:
    place = hall.papers.place(cord.device)
    return "" if place is None else place["rack"]


def fullest(hall: Hall, kind: str) -> Rack | None:
    """Return the rack of a kind that draws most, None where there is none."""
    return max(hall.of_kind(kind), key=lambda rack: rack.power_w, default=None)


def _first(hall: Hall) -> Rack:
    return hall.of_kind("compute")[0]


def _known(watts: float, devices: int) -> str:
    return "unknown" if devices and not watts else kw(watts)


def _quantities(hall: Hall) -> Iterator[Sequence[str]]:
    design, summary, site, inventory = hall.design, hall.power, hall.design.site, hall.inventory
    cap, limit = design.rules.power_cap_w, site.power_limit_w
    capped = (
        "" if cap is None else f", each GPU capped at {cap:g} W (to be set on every node: nvidia-smi -pl {cap:.0f})"
    )
    switches = sum(place["role"] == "network" for place in hall.papers.standing.values())
    boxes = sum(place["role"] == "storage" for place in hall.papers.standing.values())
    energy = summary.annual_facility_kwh
    yield "Compute", kw(summary.compute_w), f"{inventory.nodes:,} x {inventory.system_name}{capped}"
    yield "Network", kw(summary.network_w), f"{switches:,} switches"
    yield "Storage", _known(summary.storage_w, boxes), f"{boxes} boxes"
    yield "Management", _known(summary.management_w, 1), "fabric managers and servers"
    yield "**IT load**", f"**{kw(summary.it_w)}**", "sum" if limit is None else f"sum; the hall has {kw(limit)}"
    yield "Facility load", kw(summary.facility_w), f"IT load x PUE {site.pue:g}" if site.pue else "PUE is unknown"
    factor = f"IT load / power factor {design.rules.power_factor:g} (assumed)"
    yield "Apparent power", kva(summary.apparent_va), factor
    yield "Heat", f"{summary.heat_btu_per_h:,.0f} BTU/h", f"{power.BTU_PER_H_PER_W:g} x W"
    heat = heat_of(compute_w=summary.compute_w, it_w=summary.it_w, system=hall.system, site=site)
    air = "Air, if all heat went into it" if heat.liquid_w else "Air"
    yield air, f"{summary.airflow_cfm:,.0f} CFM", f"1.76 x W / {site.air_rise_c:g} C rise, sea level"
    water = f"14.3 x kW / {site.water_rise_c:g} C rise"
    yield "Water, if all heat went into it", f"{summary.water_l_per_min:,.0f} L/min", water
    yield "IT energy of a year", f"{summary.annual_it_kwh:,.0f} kWh", "full load for 8,760 h"
    facility = "unknown" if energy is None else f"{energy:,.0f} kWh"
    yield "Facility energy of a year", facility, "IT energy x PUE"


def _rack_rows(hall: Hall) -> Iterator[Sequence[str]]:
    """Yield a row for each set of equal racks."""
    sets: dict[tuple[str, int, float, float, float], list[str]] = {}
    for rack in hall.racks:
        key = rack.kind, rack.feeds, rack.power_w, rack.power_limit_w, rack.weight_kg
        sets.setdefault(key, []).append(rack.name)
    for (kind, feeds, watts, limit_w, kilograms), names in sets.items():
        yield (
            ", ".join(names) if len(names) <= _NAMED else f"{names[0]} … {names[-1]} ({len(names)} racks)",
            kind,
            kw(watts),
            percent(watts / limit_w),
            f"{power.heat_btu_per_h(power_w=watts):,.0f} BTU/h",
            f"{power.airflow_cfm(power_w=watts, rise_c=hall.design.site.air_rise_c):,.0f} CFM",
            str(feeds),
            f"{kilograms:,.0f} kg" if kilograms else "unknown",
        )


def _pdu(hall: Hall) -> Sequence[str]:
    feed = hall.design.site.feed
    kind, formula = ("V DC", "V x A x 0.8") if feed.direct else ("V three-phase", "1.732 x V x A x 0.8")
    return f"{feed.line_v:g} {kind}", f"{feed.breaker_a:g}", f"{feed.va / 1e3:.1f}", formula


def _full_rack(hall: Hall) -> Sequence[str] | None:
    rack = fullest(hall, "compute")
    if rack is None:
        return None
    feed, load = hall.design.site.feed, cord_load(hall, rack)
    holds = load.failed_va <= feed.va * (1 + 1e-6)
    return (
        f"{rack_va(rack.power_w, feed, hall.design.rules) / 1e3:.1f}",
        f"{rack.shelves} power shelves" if rack.shelves else f"{rack.pdus} PDUs",
        str(max(1, rack.feeds - 1)),
        f"{load.failed_va / 1e3:.1f}",
        "carry it" if holds else "do NOT carry it: use larger feeds or fewer nodes per rack",
    )


def _strips(hall: Hall) -> Sequence[str]:
    first = _first(hall)
    where = "none in racks that are delivered whole" if first.shelves else f"{first.pdus} in each compute rack"
    return str(sum(rack.pdus for rack in hall.racks)), where


def _circuits(hall: Hall) -> Sequence[str] | None:
    first = _first(hall)
    if not first.shelves:
        return None
    circuits = sum(rack.shelves for rack in hall.racks)
    return str(first.shelves), f"{circuits:,}", f"{hall.design.site.feed.breaker_a:g}"


def _supplies(hall: Hall) -> Sequence[str] | None:
    system, first = hall.system, _first(hall)
    if system.psu_count is None or system.psu_needed is None:
        return None
    how = "each power shelf on a feed of its own" if first.shelves else f"spread evenly over {first.pdus} PDUs"
    return supply_rule(system.psu_count, system.psu_needed), how


def _loss(hall: Hall, lost: int) -> Loss:
    return loss(hall.system, pdus=_first(hall).feeds, lost=lost)


def _failures(hall: Hall) -> Iterator[Sequence[str]]:
    first = _first(hall)
    what = "power shelf" if first.shelves else "PDU"
    sources = sources_of(hall.design.site.feed, hall.racks)
    worst = max(pdus_of_source(first.feeds, source, sources) for source in range(sources))
    for name, left in ((f"one {what}", _loss(hall, 1)), (f"one of {sources} feeds", _loss(hall, worst))):
        supplies = "unknown" if left.supplies_left is None else str(left.supplies_left)
        yield name, f"{left.pdus_left} of {first.feeds}", supplies, _OUTCOMES[left.outcome]


def _failure_table(plural: str) -> Table:
    def rows(hall: Hall) -> Iterator[Sequence[str]] | None:
        own = "power shelves" if _first(hall).shelves else "PDUs"
        return _failures(hall) if own == plural else None

    return Table(
        file=FILE,
        head=("what fails", f"{plural} left of a compute rack", "supplies left of a node", "outcome"),
        rows=rows,
        rule="supplies are dealt out over what feeds them, and the catalogue says how many must live",
    )


def _sources(hall: Hall) -> Sequence[str]:
    feed, first = hall.design.site.feed, _first(hall)
    how = "given" if feed.sources else "as many as the PDUs of a rack (assumed)"
    plural = "power shelves" if first.shelves else "PDUs"
    return str(sources_of(feed, hall.racks)), how, plural


def _source_rows(hall: Hall) -> Iterator[Sequence[str]]:
    for one in source_loads(hall.racks, hall.design.site.feed, hall.design.rules):
        yield one.name, kva(one.va), kva(one.worst_va)


def _breakers(hall: Hall) -> Iterator[Sequence[str]]:
    planned_a = hall.design.site.feed.breaker_a
    for kind in KINDS:
        rack = fullest(hall, kind)
        if rack is None:
            continue
        load = cord_load(hall, rack)
        needed, sold = breaker_needed_a(load.line_a)
        yield (
            f"{rack.name} (fullest of {kind})",
            str(rack.feeds),
            kva(load.alive_va),
            kva(load.failed_va),
            f"{load.even_a:.1f} A",
            f"{load.line_a:.1f} A",
            f"{needed:.1f} A",
            "larger than any listed" if sold is None else f"{sold:g} A",
            f"{planned_a:g} A",
        )


def _asked_va(hall: Hall) -> float:
    return rack_va(hall.power.it_w, hall.design.site.feed, hall.design.rules)


def _ups(hall: Hall) -> Sequence[str] | None:
    rated = hall.design.site.plant.ups_va
    if rated is None:
        return None
    share = _asked_va(hall) / rated
    return kva(rated), percent(share), "it holds" if share <= 1 else "it is TOO SMALL"


def _ups_losses(hall: Hall) -> Sequence[str] | None:
    efficiency = hall.design.site.plant.ups_efficiency
    if efficiency is None:
        return None
    return percent(efficiency, digits=1), f"{hall.power.it_w * (1 / efficiency - 1) / 1e3:,.1f}"


def _energy(hall: Hall) -> Iterator[Sequence[str]]:
    site, mean = hall.design.site, hall.design.site.plant.mean_load
    for load in sorted({*_LOADS, *([] if mean is None else [mean])}, reverse=True):
        kwh = power.annual_energy_kwh(it_power_w=hall.power.it_w, load=load)
        marked = f"**{percent(load)}** (as given)" if load == mean else percent(load)
        yield marked, f"{kwh:,.0f} kWh", "unknown" if site.pue is None else f"{kwh * site.pue:,.0f} kWh"


def _full_w(hall: Hall) -> float | None:
    return hall.papers.catalogue.accelerators[hall.system.accelerator].power_w


def _cap_words(hall: Hall) -> Sequence[str] | None:
    full = _full_w(hall)
    if full is None or hall.system.power_max_w is None:
        return None
    return hall.papers.catalogue.accelerators[hall.system.accelerator].name, f"{full:g}"


def _caps(hall: Hall) -> Iterator[Sequence[str]] | None:
    full, node_w = _full_w(hall), hall.system.power_max_w
    return None if full is None or node_w is None else _cap_rows(hall, full, node_w)


def _cap_rows(hall: Hall, full_w: float, node_w: float) -> Iterator[Sequence[str]]:
    system, design, slowing = hall.system, hall.design, exponents()
    for share in _CAPS:
        if share < LOWEST_SHARE:
            continue
        capped = node_w - system.gpus * full_w * (1 - share)
        fit = nodes_per_rack(
            height_u=system.height_u or 1.0,
            power_w=capped,
            weight_kg=system.weight_kg,
            site=design.site,
            limits=compute_limits(system=system, node_w=capped, site=design.site, rules=design.rules),
            name=system.name,
        )
        speeds = [percent(share**exponent) for exponent in (slowing.median, slowing.most, slowing.least)]
        saved = power.annual_energy_kwh(it_power_w=hall.inventory.nodes * (node_w - capped))
        yield (
            f"{share * full_w:,.0f} W",
            f"{capped / 1e3:,.1f} kW",
            f"{hall.inventory.nodes * capped / 1e3:,.0f} kW",
            f"{saved:,.0f} kWh",
            str(fit),
            percent(1.0) if share == 1 else f"{speeds[0]} ({speeds[1]} to {speeds[2]})",
        )


def _capped(hall: Hall) -> Sequence[str] | None:
    cap, now = hall.design.rules.power_cap_w, node_power_w(hall.system, hall.papers.catalogue, hall.design.rules)
    return None if cap is None or now is None else (f"{cap:g}", f"{now / 1e3:,.1f}")


def _heat(hall: Hall) -> Iterator[Sequence[str]]:
    site = hall.design.site
    heat = heat_of(compute_w=hall.power.compute_w, it_w=hall.power.it_w, system=hall.system, site=site)
    flows = {
        "air": (heat.air_w, f"{power.airflow_cfm(power_w=heat.air_w, rise_c=site.air_rise_c):,.0f} CFM"),
        "liquid": (
            heat.liquid_w,
            f"{power.water_l_per_min(power_w=heat.liquid_w, rise_c=site.water_rise_c):,.0f} L/min",
        ),
    }
    for name, (watts, flow) in flows.items():
        yield name, f"{kw(watts)}, {power.heat_btu_per_h(power_w=watts):,.0f} BTU/h", flow


def _cooling(hall: Hall) -> Sequence[str]:
    site = hall.design.site
    limit = "unknown" if site.cooling_limit_w is None else f"{site.cooling_limit_w / 1e3:,.1f} kW a rack"
    return site.cooling or "unknown (`site.cooling`)", limit


def _coolant(hall: Hall) -> Sequence[str]:
    site = hall.design.site
    heat = heat_of(compute_w=hall.power.compute_w, it_w=hall.power.it_w, system=hall.system, site=site)
    units = cdu_count(heat.liquid_w, site)
    if not units:
        return ("unknown: give `site.cdu.heat`" if units is None else "0",)
    each = f"{(site.plant.cdu_heat_w or 0) / 1e3:,.0f} kW each"
    return (f"{units}, {site.plant.cdu_spare} of them spare, of {each}",)


def _floor_words(hall: Hall) -> Sequence[str]:
    site = hall.design.site
    limit = site.hall.floor_load_kg_per_m2
    carried = "unknown (`site.hall.floor_load`)" if limit is None else f"{limit:,.0f} kg/m2"
    return f"{site.rows.footprint_m2:.2f}", carried


def _floor(hall: Hall) -> Iterator[Sequence[str]]:
    for kind in KINDS:
        loads = [floor_load(rack, hall.design.site, hall.system) for rack in hall.of_kind(kind)]
        if not loads:
            continue
        load = max(loads, key=lambda one: one.kg_per_m2)
        least = "at least " if load.unknown else ""
        yield (
            f"{load.rack} (heaviest of {kind})",
            f"{least}{load.known_kg:,.0f} kg",
            f"{least}{load.kg_per_m2:,.0f} kg/m2",
            load.verdict,
            ", ".join(load.unknown) or "PDUs and cables",
        )


def _sentence(text: str, values: Callable[[Hall], Sequence[str] | None], rule: str) -> Sentence:
    return Sentence(file=FILE, text=text, values=values, rule=rule)


_HEADS: Mapping[str, tuple[str, ...]] = {
    "racks": ("racks", "kind", "power each", "of the limit", "heat each", "air each", "feeds", "weight each"),
    "breakers": (
        "rack",
        "feeds",
        "each, all alive",
        "each, one failed",
        "if even",
        "fullest phase",
        "needed",
        "sold",
        "planned",
    ),
    "caps": ("cap", "node", "all nodes", "saved in a year", "nodes per rack", "speed"),
}

SAID: tuple[Sentence | Table, ...] = (
    Table(file=FILE, head=("quantity", "value", "how"), rows=_quantities, rule=_SUMS),
    _sentence(
        "A rack may draw {} kW and is {} U high.",
        lambda hall: (f"{hall.design.site.rack_power_w / 1e3:,.1f}", f"{hall.design.site.rack_height_u:g}"),
        "the site limits a rack",
    ),
    Table(file=FILE, head=_HEADS["racks"], rows=_rack_rows, rule=_SUMS),
    _sentence(
        "- A PDU at {} and {} A carries {} kVA all the time ({}).", _pdu, "80 % of what the site's breaker is rated for"
    ),
    _sentence(
        "- A full compute rack needs {} kVA. With {}, losing one leaves {} with {} kVA each: they {}.\n",
        _full_rack,
        "racks.csv and the cords of NetBox have it",
    ),
    _sentence("- {} PDUs in all: {}, 2 (feeds A and B) in every other rack.", _strips, "NetBox's devices have them"),
    _sentence(
        " comes with {} power shelves instead of PDUs, each on a feed of its own: {} circuits of {} A.",
        _circuits,
        "racks.csv has the shelves",
    ),
    _sentence(" has power supplies {}, {}.\n", _supplies, "the catalogue has them"),
    _failure_table("PDUs"),
    _failure_table("power shelves"),
    _sentence(
        "Independent feeds: {}, {}. The {} of a rack take them in turn.", _sources, "site.feed.sources, else assumed"
    ),
    Table(
        file=FILE,
        head=("feed", "all alive", "most when another fails"),
        rows=_source_rows,
        rule="what is left of a rack shares its load",
    ),
    _sentence(
        "has failed, at {}. The current is that of the fullest phase",
        lambda hall: (hall.design.site.feed.name,),
        "the site's feed",
    ),
    Table(file=FILE, head=_HEADS["breakers"], rows=_breakers, rule="the cords of NetBox load the phases so", key=(0,)),
    _sentence(
        "- It must carry {} kW, {}, of IT load.",
        lambda hall: (f"{hall.power.it_w / 1e3:,.1f}", kva(_asked_va(hall))),
        _SUMS,
    ),
    _sentence("- It is rated {}: the load takes {}, {}.\n", _ups, "the load over the rating (site.ups.power)"),
    _sentence("- At {} it loses {} kW, which is part of the PUE.", _ups_losses, "the load over site.ups.efficiency"),
    Table(
        file=FILE,
        head=("mean draw of nameplate", "IT energy", "facility energy"),
        rows=_energy,
        rule="kW times 8,760 h times the mean draw",
    ),
    _sentence("What a cap on each {} ({} W) would save", _cap_words, "the accelerator's design power"),
    Table(file=FILE, head=_HEADS["caps"], rows=_caps, rule="a cap takes its share off every GPU"),
    _sentence("This design caps each at {} W: {} kW a node.", _capped, "targets.onprem.power_cap"),
    _sentence("Cooling: {}; its limit is {}. ", _cooling, "site.cooling"),
    Table(
        file=FILE,
        head=("into", "heat", "flow"),
        rows=_heat,
        rule="the share of heat in liquid is the system's and site's",
    ),
    _sentence("Coolant distribution units: {}.\n", _coolant, "the heat in liquid over site.cdu.heat"),
    _sentence("A rack covers {} m2. The floor carries {}.\n", _floor_words, "site.rack and site.hall.floor_load"),
    Table(
        file=FILE,
        head=("rack", "weight", "load", "verdict", "not in it"),
        rows=_floor,
        rule="racks.csv adds up to it, over the footprint of a rack",
    ),
)
