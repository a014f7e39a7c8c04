"""The building, what its buyer says of nodes and networks, and the rules of thumb of an on-premises design."""

from dataclasses import dataclass, field, replace
from math import ceil

from clusterwright.catalog.records import System
from clusterwright.facility.power import CONTINUOUS_SHARE, three_phase_va
from clusterwright.facility.spares import LeadTimes, Spares

#: Servers that run the scheduler's controller: the first, and the backup that takes over.
CONTROLLERS = 2
#: Nodes for each login machine: RA-11333-001 has two beside its two controllers for 127 nodes, of which one is spare;
#: NERSC's Perlmutter has 40 (host names login01 to login40) for 4,864 nodes (from memory), one for 122.
HOSTS_PER_LOGIN = 128
#: Height of one rack unit in m (EIA-310).
RACK_UNIT_M = 0.04445
#: Top and base of a rack around its units, in m (assumed), and the least gap from there to the tray.
RACK_FRAME_HEIGHT_M = 0.2
TRAY_GAP_M = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class RowLayout:
    """Where racks are, for cable lengths. Distances in m.

    Rows stand back to back in pairs: rows 0 and 1 share a hot aisle, rows 1 and 2 a cold one, and so on.

    Attributes:
        racks_per_row: before the next row starts; widen: whether a hall of many rows may have longer ones instead.
        rack_width_m, rack_depth_m: 0.7 x 1.2 is what NVIDIA recommends for DGX racks.
        cold_aisle_m, hot_aisle_m: between fronts and between backs.
        tray_height_m: overhead tray above the floor; base_height_m: of the lowest rack unit.
        slack_m: for both ends of a cable together.
        switch_racks: where racks without compute nodes are, as `placement` names it.
    """

    racks_per_row: int = 20
    widen: bool = False
    rack_width_m: float = 0.7
    rack_depth_m: float = 1.2
    cold_aisle_m: float = 1.8
    hot_aisle_m: float = 1.2
    tray_height_m: float = 2.7
    base_height_m: float = 0.1
    slack_m: float = 1.0
    switch_racks: str = "auto"

    def row_y_m(self, row: int) -> float:
        """Return how far the middle of a row (from 0) is from the middle of the first, in m.

        >>> [round(RowLayout().row_y_m(row), 2) for row in range(4)]
        [0.0, 2.4, 5.4, 7.8]
        """
        hot = (row + 1) // 2
        return row * self.rack_depth_m + hot * self.hot_aisle_m + (row - hot) * self.cold_aisle_m

    @property
    def footprint_m2(self) -> float:
        """What one rack covers of the floor, in m2."""
        return self.rack_width_m * self.rack_depth_m


@dataclass(frozen=True, kw_only=True, slots=True)
class Hall:
    """What the room holds; None where it is not known and so not a limit.

    Attributes:
        racks: places in all; rows: of racks.
        height_m: clear height; door_height_m, door_width_m: of the narrowest door on the way in.
        floor_load_kg_per_m2: that the floor carries below a rack.
    """

    racks: int | None = None
    rows: int | None = None
    height_m: float | None = None
    door_height_m: float | None = None
    door_width_m: float | None = None
    floor_load_kg_per_m2: float | None = None

    def places(self, racks_per_row: int) -> int | None:
        """Return the places for racks that the number of racks and of rows leave; None where neither is known."""
        given = [self.racks, None if self.rows is None else self.rows * racks_per_row]
        return min((places for places in given if places is not None), default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Feed:
    """What each PDU of a rack hangs on.

    Attributes:
        name: such as `415 V AC`; current: `three-phase` or `direct`; line_v: between lines; breaker_a: of one PDU.
        sources: independent feeds that reach a rack; None for one per PDU.
        pdu: price key of the PDU of compute racks.
    """

    name: str = "415 V AC"
    current: str = "three-phase"
    line_v: float = 415.0
    breaker_a: float = 60.0
    sources: int | None = None
    pdu: str = "raritan-px3-5878"

    @property
    def direct(self) -> bool:
        """Whether the current is direct."""
        return self.current == "direct"

    @property
    def va(self) -> float:
        """Apparent power in VA that one PDU may carry all the time: 80 % of its breaker."""
        if self.direct:
            return self.line_v * self.breaker_a * CONTINUOUS_SHARE
        return three_phase_va(line_to_line_v=self.line_v, breaker_a=self.breaker_a)

    def watts(self, power_factor: float) -> float:
        """Return the real power in W that one PDU may carry all the time; direct current has no power factor."""
        return self.va * (1.0 if self.direct else power_factor)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plant:
    """Supply and cooling of the building behind the racks; None is unknown.

    Attributes:
        ups_va: rating of the uninterruptible supply; ups_efficiency: its output over its input.
        cdu_heat_w: that one coolant distribution unit carries away; cdu_spare: units beyond those needed.
        mean_load: mean draw over nameplate, for energy.
    """

    ups_va: float | None = None
    ups_efficiency: float | None = None
    cdu_heat_w: float | None = None
    cdu_spare: int = 1
    mean_load: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What the building allows.

    Attributes:
        rack_power_w: most that one rack may draw, in W.
        rack_height_u: usable height in U.
        rack_weight_kg: most that the equipment of one rack may weigh, in kg; None if not limited.
        rack_frame_kg: weight of an empty rack, None if unknown; rack_frame_height_m: outside, None for the units and
            `RACK_FRAME_HEIGHT_M`.
        pue: facility energy over IT energy; None if unknown.
        power_limit_w: most IT power of the hall, in W; None if not limited.
        cooling: method, None if unknown; cooling_limit_w: most that one rack may draw with it.
        air_rise_c, water_rise_c: warming of air and of water, in degrees C.
    """

    rack_power_w: float = 42e3
    rack_height_u: float = 48.0
    rack_weight_kg: float | None = None
    rack_frame_kg: float | None = None
    rack_frame_height_m: float | None = None
    pue: float | None = None
    power_limit_w: float | None = None
    cooling: str | None = None
    cooling_limit_w: float | None = None
    air_rise_c: float = 16.2
    water_rise_c: float = 10.0
    rows: RowLayout = field(default_factory=RowLayout)
    hall: Hall = field(default_factory=Hall)
    feed: Feed = field(default_factory=Feed)
    plant: Plant = field(default_factory=Plant)

    @property
    def rack_outside_height_m(self) -> float:
        """Height of a rack in m, as given or from its units."""
        if self.rack_frame_height_m is not None:
            return self.rack_frame_height_m
        return self.rack_height_u * RACK_UNIT_M + RACK_FRAME_HEIGHT_M

    @property
    def places(self) -> int | None:
        """Racks that the hall holds; None if not limited."""
        return self.hall.places(self.rows.racks_per_row)


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteNetwork:
    """The site's Ethernet.

    Attributes:
        range: private IPv4 network that all addresses are taken from; first_vlan: id of the first VLAN.
        uplinks: links to the users' network; None for the reference's ratio, 0 for none.
        leaf_uplinks: links of an in-band leaf to each switch above it.
    """

    range: str = "10.64.0.0/12"
    first_vlan: int = 100
    uplinks: int | None = None
    leaf_uplinks: int = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeFacts:
    """Facts of one node as stated by the buyer; None where the catalogue's holds."""

    power_w: float | None = None
    height_u: float | None = None
    weight_kg: float | None = None


def as_told(system: System, facts: NodeFacts) -> System:
    """Return a system with what the buyer stated."""
    return replace(
        system,
        power_max_w=system.power_max_w if facts.power_w is None else facts.power_w,
        height_u=system.height_u if facts.height_u is None else facts.height_u,
        weight_kg=system.weight_kg if facts.weight_kg is None else facts.weight_kg,
    )


def told_note(system: System, facts: NodeFacts) -> str | None:
    """Return what the buyer stated instead of the catalogue, None if nothing."""
    rows = (
        ("power", facts.power_w, system.power_max_w, "W"),
        ("height", facts.height_u, system.height_u, "U"),
        ("weight", facts.weight_kg, system.weight_kg, "kg"),
    )
    said = [
        f"{name} {told:,.10g} {unit} (catalogue: {'unknown' if known is None else f'{known:,.10g} {unit}'})"
        for name, told, known, unit in rows
        if told is not None
    ]
    return f"Of one node as the blueprint says: {', '.join(said)}." if said else None


#: A leaf per rail, or every node with all its ports on one leaf.
RAIL, PLAIN = "rail", "plain"
#: Kinds of network that a compute fabric may be.
INFINIBAND, ROCE = "infiniband", "roce"


@dataclass(frozen=True, kw_only=True, slots=True)
class FabricChoice:
    """Wishes for a compute fabric.

    Attributes:
        switch: catalogue id; the first of the kind with ports fast enough if None.
        kind: `infiniband` or `roce`; that of the switch, else of the system, if None.
        topology: `rail` or `plain`.
        rail_groups: `all-units` or `per-unit` forces three levels; None leaves it to the size.
        planes: equal fabrics that the ports are shared out over.
        buy_for_units: scalable units whose leaves and spines are bought now, for growth; no more than needed if None.
        purchase: `full-units` or `as-needed`; as needed where one switch holds all nodes, else full units, if None.
    """

    switch: str | None = None
    kind: str | None = None
    topology: str = RAIL
    rail_groups: str | None = None
    planes: int = 1
    buy_for_units: int | None = None
    purchase: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DesignRules:
    """Choices that reference architectures leave to the designer or state in words.

    Attributes:
        ufm_per_fabric: fabric managers of the compute and of the storage network (RA-11333-001: 2 each);
            ufm_ports_per_fabric: their ports on leaves (Table 4: 4).
        management_servers: for cluster management, Slurm and login (RA-11333-001: 4), at least; two of them are
            controllers, the others login machines. hosts_per_login: nodes that one of these serves, at most.
        storage_uplinks_share: uplinks of a storage leaf over its ports; 28 of 64 keep the node side below 4:3.
        inband_hosts_per_leaf: ports of a 64-port in-band leaf for hosts; 48 reproduces 6 leaves and 2 cores for 127
            nodes.
        oob_ports: of an out-of-band switch.
        power_factor: of the equipment (assumed).
        spares: shares held in stock by kind of part; lead_times: from order to delivery, as the user gave them.
        leaf_oversubscription, spine_oversubscription: downlinks over uplinks of the compute fabric's tiers.
        power_cap_w: of one accelerator, None for none.
        fabric: what is asked of the compute fabric; node: what the buyer knows of the systems.
        network: addresses, VLANs, uplinks and trunks of the site's Ethernet.
    """

    ufm_per_fabric: int = 2
    ufm_ports_per_fabric: int = 4
    management_servers: int = 4
    hosts_per_login: int = HOSTS_PER_LOGIN
    storage_uplinks_share: float = 28 / 64
    inband_hosts_per_leaf: int = 48
    inband_leaf_ports: int = 64
    oob_ports: int = 48
    spares: Spares = field(default_factory=Spares)
    lead_times: LeadTimes = field(default_factory=LeadTimes)
    power_factor: float = 0.95
    leaf_oversubscription: float = 1.0
    spine_oversubscription: float = 1.0
    power_cap_w: float | None = None
    fabric: FabricChoice = field(default_factory=FabricChoice)
    node: NodeFacts = field(default_factory=NodeFacts)
    network: SiteNetwork = field(default_factory=SiteNetwork)

    def servers_for(self, hosts: int) -> int:
        """Return the management servers of a cluster: two controllers and a login machine for every few nodes.

        >>> [DesignRules().servers_for(hosts) for hosts in (7, 127, 257, 12_288)]
        [4, 4, 5, 98]

        Args:
            hosts: that jobs run on.
        """
        return max(self.management_servers, CONTROLLERS + ceil(hosts / self.hosts_per_login))
