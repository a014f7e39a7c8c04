"""Port-to-port cables: lengths from where things stand, kinds by reach, transceivers by cage."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright.catalog.parts.media import Medium, media
from clusterwright.errors import Finding, MissingFactError, RuleError
from clusterwright.facility.cabling.links import End, Link
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import RACK_UNIT_M, RowLayout

#: Slack of a cable inside one rack, both ends together, in m.
RACK_SLACK_M = 0.4
#: Way of a cable inside one rack to the side where it climbs and back, in m: each end at most half of a rack's opening
#: of 450 mm (EIA-310), dressed to the nearer side.
RACK_LATERAL_M = 0.45


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """Where a device is: rack, lowest unit, and the position of its middle in the hall in m."""

    rack: str
    u: int
    x_m: float
    y_m: float
    z_m: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cable:
    """One link as a technician lays it.

    Attributes:
        id: of the cable; both links of a twin cable share it.
        network, tier: as in `Link`.
        from_rack … to_port: the ends; a unit is the lowest one of its device.
        kind, sku: of the cable; from_optic, to_optic: price keys of the transceivers, empty for none.
        length_m: as sold; run_m: as measured along the tray.
        label: to print on both ends.
    """

    id: str
    network: str
    tier: str
    from_rack: str
    from_u: int
    from_device: str
    from_port: str
    to_rack: str
    to_u: int
    to_device: str
    to_port: str
    kind: str
    sku: str
    from_optic: str
    to_optic: str
    length_m: float
    run_m: float
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cages:
    """Ports that share a transceiver cage, by kind of end; 1 where not named.

    Switches of the storage network are as those of the compute fabric where `storage_switch` is not given.
    """

    switch: int = 1
    node: int = 1
    storage_switch: int | None = None

    def of(self, end: End, network: str) -> int:
        """Return the ports per cage at an end; Ethernet ports stand alone."""
        if network not in {"compute", "storage"}:
            return 1
        if end.kind == "switch" and network == "storage" and self.storage_switch is not None:
            return self.storage_switch
        return {"switch": self.switch, "node": self.node}.get(end.kind, 1)


def spots(racks: Iterable[Rack], rows: RowLayout) -> dict[str, Spot]:
    """Return where every device is. PDUs hang beside the units, at half height."""
    found: dict[str, Spot] = {}
    for rack in racks:
        x_m, y_m = rack.slot * rows.rack_width_m, rows.row_y_m(rack.row)
        for placement in rack.placements:
            middle = placement.u - 1 + placement.device.height_u / 2
            found[placement.device.name] = Spot(
                rack=rack.name, u=placement.u, x_m=x_m, y_m=y_m, z_m=rows.base_height_m + middle * RACK_UNIT_M
            )
        half = rack.height_u // 2
        for name in pdu_names(rack):
            height_m = rows.base_height_m + half * RACK_UNIT_M
            found[name] = Spot(rack=rack.name, u=half, x_m=x_m, y_m=y_m, z_m=height_m)
    return found


def pdu_names(rack: Rack) -> list[str]:
    """Return names such as `pdu-a01-1`."""
    return [f"pdu-{rack.name.lower()}-{number + 1}" for number in range(rack.pdus)]


def run_m(a: Spot, b: Spot, rows: RowLayout) -> float:
    """Return the length in m along the way a cable takes.

    In one rack: to the side, the height between the devices, and back to the port. Else up to the overhead tray, along
    the row and across the rows (trays form a grid), and down again; plus slack.

    Args:
        a: one end.
        b: the other end.
        rows: tray height and slack.
    """
    if a.rack == b.rack:
        return abs(a.z_m - b.z_m) + RACK_LATERAL_M + RACK_SLACK_M
    up_and_down = (rows.tray_height_m - a.z_m) + (rows.tray_height_m - b.z_m)
    return up_and_down + abs(a.x_m - b.x_m) + abs(a.y_m - b.y_m) + rows.slack_m


def lay(*, links: Iterable[Link], where: Mapping[str, Spot], rows: RowLayout, cages: Cages) -> tuple[Cable, ...]:
    """Return the cables of all links: the shortest-reaching medium that is long enough, one medium per cage.

    Links whose cages touch take the same medium. A cable that carries two links is used only where both links join the
    same two cages.

    Args:
        links: of all networks.
        where: spots of all devices.
        rows: geometry.
        cages: ports per transceiver.

    Raises:
        MissingFactError: no medium of a family is known.
        RuleError: a run is longer than any medium reaches (`CBL001`).
    """
    listed = list(links)
    runs = [run_m(where[link.a.device], where[link.b.device], rows) for link in listed]
    chosen = _media(listed, runs, cages)
    cables: list[Cable] = []
    shared: dict[tuple[str, int, str, int], str] = {}
    number = 0
    for link, run, medium in zip(listed, runs, chosen, strict=True):
        a_cage, b_cage = cages.of(link.a, link.network), cages.of(link.b, link.network)
        per_cable = medium.links_per_cable
        key = (link.a.device, link.a.port // per_cable, link.b.device, link.b.port // per_cable)
        name = shared.get(key) if medium.links_per_cable > 1 else None
        if name is None:
            number += 1
            name = f"C{number:06d}"
            if medium.links_per_cable > 1:
                shared[key] = name
        length = medium.length_for(run)
        if length is None:  # reach and lengths of a medium end at the same place
            raise _too_long(link, run, medium.reach_m)
        from_port, to_port = port_name(link.a, a_cage), port_name(link.b, b_cage)
        a, b = where[link.a.device], where[link.b.device]
        cables.append(
            Cable(
                id=name,
                network=link.network,
                tier=link.tier,
                from_rack=a.rack,
                from_u=a.u,
                from_device=link.a.device,
                from_port=from_port,
                to_rack=b.rack,
                to_u=b.u,
                to_device=link.b.device,
                to_port=to_port,
                kind=medium.kind,
                sku=medium.cable,
                from_optic=medium.optics.get(link.a.kind, ""),
                to_optic=medium.optics.get(link.b.kind, ""),
                length_m=length,
                run_m=round(run, 2),
                label=f"{name} {link.a.device}:{from_port} - {link.b.device}:{to_port}",
            )
        )
    return tuple(cables)


def port_name(end: End, cage: int) -> str:
    """Return a port as people count: from 1; `cage/port` where ports share a cage; `mgmt` for the management port."""
    if end.kind == "management":
        return "mgmt"
    return f"{end.port // cage + 1}/{end.port % cage + 1}" if cage > 1 else str(end.port + 1)


def _media(links: list[Link], runs: list[float], cages: Cages) -> list[Medium]:
    """Choose per set of links whose cages touch: longest run and shape decide."""
    sets = _touching(links, cages)
    longest: dict[int, float] = defaultdict(float)
    members: Counter[int] = Counter(sets)
    ends: defaultdict[int, set[tuple[str, int]]] = defaultdict(set)
    for link, run, root in zip(links, runs, sets, strict=True):
        longest[root] = max(longest[root], run)
        if members[root] <= 2:  # noqa: PLR2004 - only pairs can share a cable
            # Ports that stand alone, such as those of storage boxes, are cages of their own.
            ends[root].update(
                (end.device, end.port // 2 if cages.of(end, link.network) > 1 else end.port) for end in (link.a, link.b)
            )
    return [
        _medium(link, longest[root], pair=members[root] == 2 and len(ends[root]) == 2)  # noqa: PLR2004 - as above
        for link, root in zip(links, sets, strict=True)
    ]


def _medium(link: Link, run: float, *, pair: bool) -> Medium:
    family = media().get(link.family)
    if family is None:
        raise MissingFactError(f"no cable is known for {link.family!r} ports", help="add a row to catalog/media.csv")
    usable = [medium for medium in family if medium.links_per_cable == 1 or pair or medium.kind == "splitter"]
    fitting = next((medium for medium in usable if medium.length_for(run) is not None), None)
    if fitting is None:
        raise _too_long(link, run, max(medium.reach_m for medium in usable))
    return fitting


def _too_long(link: Link, run: float, reach_m: float) -> RuleError:
    return RuleError(
        (
            Finding(
                id="CBL001",
                path=("site", "hall", "racks_per_row"),
                message=(
                    f"the run from {link.a.device} to {link.b.device} is {run:.0f} m, cables of its kind reach "
                    f"{reach_m:.0f} m"
                ),
                help="place fewer racks per row, or the two racks nearer to each other",
            ),
        )
    )


def _touching(links: list[Link], cages: Cages) -> list[int]:
    """Return for each link the number of its set; links are in one set if a chain of shared cages joins them."""
    parent = list(range(len(links)))

    def root(link: int) -> int:
        while parent[link] != link:
            parent[link] = parent[parent[link]]
            link = parent[link]
        return link

    first: dict[tuple[str, str, int], int] = {}
    for index, link in enumerate(links):
        for end in (link.a, link.b):
            size = cages.of(end, link.network)
            if size == 1:
                continue
            other = first.setdefault((end.device, link.network, end.port // size), index)
            if other != index:
                parent[root(index)] = root(other)
    return [root(index) for index in range(len(links))]


def tally(cables: Iterable[Cable]) -> dict[str, int]:
    """Return how many of each price key the cables need: cables by id, transceivers by cage."""
    by_id: dict[str, str] = {}
    by_cage: dict[tuple[str, str, str], str] = {}
    for cable in cables:
        by_id[cable.id] = cable.sku
        ends = (
            (cable.from_device, cable.from_port, cable.from_optic),
            (cable.to_device, cable.to_port, cable.to_optic),
        )
        for device, port, optic in ends:
            if optic:
                by_cage[device, cable.network, port.split("/")[0]] = optic
    return dict(sorted((Counter(by_id.values()) + Counter(by_cage.values())).items()))


def lengths_of(cables: Iterable[Cable]) -> dict[str, dict[float, int]]:
    """Return how many cables of each price key are of each length, in m."""
    by_id = {cable.id: (cable.sku, cable.length_m) for cable in cables}
    found: defaultdict[str, dict[float, int]] = defaultdict(dict)
    for sku, length in by_id.values():
        found[sku][length] = found[sku].get(length, 0) + 1
    return dict(found)
