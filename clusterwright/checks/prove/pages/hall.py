"""The hall as the tables have it: racks with their devices, links with their ways, and what they add up to."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor

from clusterwright.catalog.records import System
from clusterwright.checks.prove.papers import Papers, Row
from clusterwright.checks.prove.site.wiring import spots
from clusterwright.facility.cabling.cables import Cable, run_m
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.power_summary import PowerSummary, summarise_power
from clusterwright.facility.hall.rack_limits import WHOLE_RACK_U, RackLimits, compute_limits, other_limits
from clusterwright.facility.hall.racks import Device, Placement, Rack
from clusterwright.facility.inventory import Inventory

_RACK = re.compile(r"([A-Z]+)(\d+)")


@dataclass(frozen=True, kw_only=True)
class Hall:
    """Content of the hall by `racks.csv` and NetBox, and what `cables.csv` joins.

    Attributes:
        papers: the tables.
        racks: in the order of their places.
        links: the rows of the cable list, each with the way that it takes in m where both ends stand.
    """

    papers: Papers
    racks: tuple[Rack, ...]
    links: tuple[tuple[Row, float | None], ...]

    @property
    def inventory(self) -> Inventory:
        """Devices and networks of the plan."""
        return self.papers.documents.design.inventory

    @cached_property
    def power(self) -> PowerSummary:
        """Load, heat, air and energy of the racks' content."""
        design = self.papers.documents.design
        return summarise_power(self.racks, design.site, design.rules)

    @cached_property
    def design(self) -> OnPremDesign:
        """The design with sums over the racks' content in the place of its own."""
        return replace(
            self.papers.documents.design,
            power=self.power,
            cables=dict(self.networks),
            pdus=sum(rack.pdus for rack in self.racks),
        )

    @cached_property
    def system(self) -> System:
        """The system of the nodes, with what the buyer stated."""
        return self.papers.documents.design.node(self.papers.catalogue)

    @cached_property
    def networks(self) -> Counter[str]:
        """Links of each network."""
        return Counter(row["network"] for row, _ in self.links)

    @cached_property
    def kinds(self) -> Counter[str]:
        """Links of each kind of medium."""
        return Counter(row["kind"] for row, _ in self.links)

    @cached_property
    def lengths(self) -> Mapping[str, Counter[float]]:
        """Cables of every part by their length in m."""
        once: dict[str, tuple[str, float]] = {
            row["cable"]: (row["part"], row.number("length_m")) for row, _ in self.links
        }
        found: defaultdict[str, Counter[float]] = defaultdict(Counter)
        for part, length in once.values():
            found[part][length] += 1
        return found

    @cached_property
    def managed(self) -> int:
        """Management ports with a link."""
        return sum(row["tier"] == "management" for row, _ in self.links)

    @cached_property
    def cables(self) -> tuple[Cable, ...]:
        """The links as cables, those whose ends both stand in the hall."""
        return tuple(_cable(row, way) for row, way in self.links if way is not None)

    def switches(self, network: str, level: str) -> int:
        """Return the switches of a network and tier, by `fabric.csv`, whose counts are those of the racks."""
        rows = self.papers.tables.get("fabric.csv", ())
        return sum(row.count("switches") for row in rows if (row["network"], row["tier"]) == (network, level))

    def of_kind(self, kind: str) -> Sequence[Rack]:
        """Return the racks of a kind: `compute`, `network` or `services`."""
        return [rack for rack in self.racks if rack.kind == kind]


def read_hall(papers: Papers) -> Hall:
    """Return the hall of a folder.

    Raises:
        CellError: a table or a number of it is gone.
    """
    where, rows = spots(papers), papers.documents.design.site.rows
    links = []
    for row in papers.rows("cables.csv"):
        a, b = where.get(row["from_device"]), where.get(row["to_device"])
        links.append((row, None if a is None or b is None else run_m(a, b, rows)))
    return Hall(papers=papers, racks=_racks(papers), links=tuple(links))


def _racks(papers: Papers) -> tuple[Rack, ...]:
    design, catalogue = papers.documents.design, papers.catalogue
    strips: Counter[str] = Counter()
    for row in papers.rows("netbox/5-devices.csv"):
        strips[row["rack"]] += row["role"] == "power"
    supplies = Counter(row["device"] for row in papers.rows("netbox/6-power-ports.csv"))
    contents: defaultdict[str, list[Placement]] = defaultdict(list)
    for row in papers.rows("racks.csv"):
        device = Device(
            name=row["device"],
            sku=row["part"],
            role=row["role"],
            height_u=row.count("height_u"),
            power_w=row.known("power_w"),
            weight_kg=row.known("weight_kg"),
            supplies=supplies[row["device"]],
        )
        contents[row["rack"]].append(Placement(device=device, u=row.count("u")))
    system = design.node(catalogue)
    node_w = next((placed.device.power_w for placed in _hosts(papers, contents)), None)
    of_nodes = compute_limits(system=system, node_w=node_w or 0.0, site=design.site, rules=design.rules)
    whole_w = system.power_max_w or 0.0
    if (system.height_u or 0) >= WHOLE_RACK_U:
        of_nodes = compute_limits(system=system, node_w=whole_w, site=design.site, rules=design.rules)
    others = other_limits(design.site, design.rules)
    found = [
        _rack(papers, name, sorted(placed, key=lambda one: one.u), of_nodes, others, strips[name])
        for name, placed in contents.items()
    ]
    return tuple(sorted(found, key=lambda rack: (rack.row, rack.slot)))


def _hosts(papers: Papers, contents: Mapping[str, list[Placement]]) -> list[Placement]:
    system = papers.documents.design.system
    return [one for placed in contents.values() for one in placed if one.device.sku == system]


def _rack(  # noqa: PLR0917 - content of a rack, and its limits
    papers: Papers, name: str, placed: list[Placement], of_nodes: RackLimits, others: RackLimits, strips: int
) -> Rack:
    parts = papers.catalogue.parts
    roles = {one.device.role for one in placed}
    kind = "compute" if "compute" in roles else "network" if "network" in roles else "services"
    match = _RACK.fullmatch(name)
    row = 0
    for letter in match[1] if match else "":
        row = row * 26 + ord(letter) - ord("A") + 1
    shelves = sum(one.device.sku in parts and parts[one.device.sku].kind == "pdu" for one in placed)
    return Rack(
        name=name,
        row=row - 1,
        slot=int(match[2]) - 1 if match else 0,
        kind=kind,
        placements=tuple(placed),
        height_u=floor(papers.documents.design.site.rack_height_u),
        power_limit_w=(of_nodes if kind == "compute" else others).power_w.value,
        pdus=strips,
        shelves=shelves,
    )


def _cable(row: Row, way_m: float) -> Cable:
    return Cable(
        id=row["cable"],
        network=row["network"],
        tier=row["tier"],
        from_rack=row["from_rack"],
        from_u=row.count("from_u"),
        from_device=row["from_device"],
        from_port=row["from_port"],
        to_rack=row["to_rack"],
        to_u=row.count("to_u"),
        to_device=row["to_device"],
        to_port=row["to_port"],
        kind=row["kind"],
        sku=row["part"],
        from_optic=row["from_transceiver"],
        to_optic=row["to_transceiver"],
        length_m=row.number("length_m"),
        run_m=way_m,
        label=row["label"],
    )
