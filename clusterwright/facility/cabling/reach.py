"""What to change where cables do not reach: rows, aisles, or nodes in a rack, each tried before it is offered."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import RuleError
from clusterwright.facility.cabling import placement
from clusterwright.facility.cabling.devices import node_height_u, node_power_w
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.site import DesignRules, Site, as_told

#: Aisles in m that people and servers still pass: 1.2 m before fronts, 0.9 m behind backs (assumed).
NARROW_COLD_M, NARROW_HOT_M = 1.2, 0.9
#: Nodes of a rack that are tried where fewer stand in one, and units of the tallest rack that is usual.
MORE_NODES, TALLEST_RACK_U = 6, 52


def what_reaches(inventory: Inventory, racks: int, *, site: Site, rules: DesignRules, catalogue: Catalogue) -> str:
    """Return in words what lets every cable reach: the smallest change first, or that nothing that was tried does.

    Args:
        inventory: whose cables do not all reach.
        racks: that it takes now.
        site: with the rows that it has.
        rules: of the networks.
        catalogue: sizes and power.
    """
    for changed, words in _changes(inventory, racks, site, rules, catalogue):
        try:
            standing = lay_out(inventory, site=changed, rules=rules, catalogue=catalogue)
            wire(inventory, standing, site=changed, rules=rules)
        except RuleError:
            continue
        return f"{words} bring all cables within reach"
    return "no rows bring all cables within reach: plan fewer nodes, or several clusters"


def _changes(
    inventory: Inventory, racks: int, site: Site, rules: DesignRules, catalogue: Catalogue
) -> Iterator[tuple[Site, str]]:
    """Yield changed sites with the keys that say so, from the least change on."""
    square = placement.square_rows(racks, site.rows)
    for per_row in dict.fromkeys((square, max(1, square // 2), square * 2)):
        yield _in_rows(site, per_row, "", [])
    narrow, aisles = _narrow(site)
    if aisles:
        yield _in_rows(narrow, placement.square_rows(racks, narrow.rows), "narrower aisles and ", aisles)
    fuller = _fuller(inventory, site, rules, catalogue)
    if fuller is None:
        return
    roomy, words, count = fuller
    yield _in_rows(roomy, placement.square_rows(count, roomy.rows), f"{words} and ", [])
    if aisles:
        both = replace(roomy, rows=narrow.rows)
        yield _in_rows(both, placement.square_rows(count, both.rows), f"{words}, narrower aisles and ", aisles)


def _in_rows(site: Site, per_row: int, before: str, keys: list[str]) -> tuple[Site, str]:
    """Return the site with rows of a given number of racks, and the words for it with all keys below `site.hall`."""
    rows = replace(site.rows, racks_per_row=per_row, switch_racks="middle-rows")
    hall = ", ".join([*keys, f"racks_per_row: {per_row}", "switch_racks: middle-rows"])
    racks = "1 rack" if per_row == 1 else f"{per_row} racks"
    return replace(site, rows=rows), f"{before}rows of {racks} (site.hall: {{{hall}}})"


def _narrow(site: Site) -> tuple[Site, list[str]]:
    """Return the site with narrow aisles, and the keys that say so; none where its aisles are as narrow."""
    cold_m, hot_m = min(site.rows.cold_aisle_m, NARROW_COLD_M), min(site.rows.hot_aisle_m, NARROW_HOT_M)
    if (cold_m, hot_m) == (site.rows.cold_aisle_m, site.rows.hot_aisle_m):
        return site, []
    rows = replace(site.rows, cold_aisle_m=cold_m, hot_aisle_m=hot_m)
    return replace(site, rows=rows), [f"cold_aisle: {cold_m:g} m", f"hot_aisle: {hot_m:g} m"]


def _fuller(inventory: Inventory, site: Site, rules: DesignRules, catalogue: Catalogue) -> tuple[Site, str, int] | None:
    """Return the site with racks of `MORE_NODES` nodes, the words for it and its racks; None where they do not fit."""
    if inventory.hosts_per_node > 1:
        return None
    system = as_told(catalogue.systems[inventory.system], rules.node)
    node_w, tall_u = node_power_w(system, catalogue, rules), MORE_NODES * node_height_u(system)
    if node_w is None or tall_u > TALLEST_RACK_U:
        return None
    power_w = max(site.rack_power_w, ceil(MORE_NODES * node_w / 1e3) * 1e3)
    height_u = max(site.rack_height_u, tall_u)
    changed = replace(site, rack_power_w=power_w, rack_height_u=height_u)
    standing = lay_out(inventory, site=changed, rules=rules, catalogue=catalogue)
    if max(len(rack.placements) for rack in standing if rack.kind == "compute") < MORE_NODES:
        return None  # cooling, feeds or weight bind
    words = f"{MORE_NODES} nodes in a rack (site.rack_power: {power_w / 1e3:g} kW, site.rack_height: {height_u:g} U)"
    return changed, words, len(standing)
