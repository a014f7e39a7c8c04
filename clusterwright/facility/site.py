"""The building and the rules of thumb that an on-premises design follows."""

from dataclasses import dataclass, field

from clusterwright.facility.fabric_choice import FabricChoice


@dataclass(frozen=True, kw_only=True, slots=True)
class RowLayout:
    """Where racks stand, for cable lengths. Distances in m.

    Attributes:
        racks_per_row: before the next row starts.
        rack_width_m: 0.7 is what NVIDIA recommends for DGX racks.
        row_pitch_m: front of a row to front of the next (rack depth plus half of a cold and half of a hot aisle).
        tray_height_m: overhead tray above the floor; base_height_m: of the lowest rack unit.
        slack_m: for both ends of a cable together.
    """

    racks_per_row: int = 20
    rack_width_m: float = 0.7
    row_pitch_m: float = 2.7
    tray_height_m: float = 2.7
    base_height_m: float = 0.1
    slack_m: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What the building allows.

    Attributes:
        rack_power_w: most that one rack may draw, in W.
        rack_height_u: usable height in U.
        rack_weight_kg: most that the equipment of one rack may weigh, in kg; None if not limited.
        pue: facility energy over IT energy; None if unknown.
        power_limit_w: most IT power of the hall, in W; None if not limited.
        air_rise_c, water_rise_c: warming of air and of water, in degrees C.
    """

    rack_power_w: float = 42e3
    rack_height_u: float = 48.0
    rack_weight_kg: float | None = None
    pue: float | None = None
    power_limit_w: float | None = None
    air_rise_c: float = 16.2
    water_rise_c: float = 10.0
    rows: RowLayout = field(default_factory=RowLayout)


@dataclass(frozen=True, kw_only=True, slots=True)
class DesignRules:
    """Choices that reference architectures leave to the designer or state in words.

    Attributes:
        ufm_per_fabric: fabric managers of the compute and of the storage network (RA-11333-001: 2 each);
            ufm_ports_per_fabric: their ports on leaves (Table 4: 4).
        management_servers: for cluster management, Slurm and login (RA-11333-001: 4).
        storage_uplinks_share: uplinks of a storage leaf over its ports; 28 of 64 keep the node side below 4:3.
        inband_hosts_per_leaf: ports of a 64-port in-band leaf for hosts; 48 reproduces 6 leaves and 2 cores for 127
            nodes.
        oob_ports: of an out-of-band switch.
        storage_usable_share: of a box's raw capacity (assumed); storage_ports_per_box: its 200 Gb/s ports.
        feed_line_to_line_v, feed_breaker_a: three-phase feed of one PDU (RA-11333-001: 415 V, 60 A).
        power_factor: of the equipment (assumed).
        spare_share: of transceivers and cables held in stock (assumed; no reference architecture states one).
        leaf_oversubscription, spine_oversubscription: downlinks over uplinks of the compute fabric's tiers.
        power_cap_w: of one accelerator, None for none.
        fabric: what is asked of the compute fabric.
    """

    ufm_per_fabric: int = 2
    ufm_ports_per_fabric: int = 4
    management_servers: int = 4
    storage_uplinks_share: float = 28 / 64
    inband_hosts_per_leaf: int = 48
    inband_leaf_ports: int = 64
    oob_ports: int = 48
    storage_usable_share: float = 0.8
    storage_ports_per_box: int = 4
    spare_share: float = 0.02
    feed_line_to_line_v: float = 415.0
    feed_breaker_a: float = 60.0
    power_factor: float = 0.95
    leaf_oversubscription: float = 1.0
    spine_oversubscription: float = 1.0
    power_cap_w: float | None = None
    fabric: FabricChoice = field(default_factory=FabricChoice)
