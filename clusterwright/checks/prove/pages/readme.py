"""The first page: what was decided, in figures that racks, cables, addresses and the plan have."""

from collections.abc import Iterator, Sequence

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.papers import absent, plain
from clusterwright.errors import Finding
from clusterwright.facility.fabric.counts import FULL_UNITS, Fabric
from clusterwright.facility.server_roles import server_roles
from clusterwright.facility.spares import KINDS
from clusterwright.units import counted, percent

FILE = "README.md"
#: Gb/s of a port of the in-band network, and of a link to the users' network.
_INBAND_GBIT = 100
#: Letters by which a changed note is found again.
_BEGINNING = 12


def _levels(hall: Hall, network: str, planes: int = 1) -> str:
    counts = {level: hall.switches(network, level) // planes for level in ("leaf", "spine", "core")}
    return ", ".join(f"{count} {level}" for level, count in counts.items() if count)


def _compute(hall: Hall) -> Sequence[str]:
    inventory, fabric = hall.inventory, hall.inventory.fabric
    planes = f"{inventory.planes} planes, each with " if inventory.planes > 1 else ""
    return (
        f"{planes}{_levels(hall, 'compute', inventory.planes)} {inventory.compute_switch}",
        f"{fabric.levels} level{'s' if fabric.levels > 1 else ''}",
        f"{fabric.units} scalable unit{'s' if fabric.units > 1 else ''}",
        counted(fabric.nodes_per_unit, "node"),
        _purchase(fabric),
    )


def _purchase(fabric: Fabric) -> str:
    if fabric.purchase == FULL_UNITS:
        return (
            "All leaves and leaf–spine cables of a unit are bought even if it is not full, as NVIDIA's reference "
            "architecture asks."
        )
    return "Only the switches and cables that these nodes need are bought; more nodes will need a new design."


def _in_band(hall: Hall) -> Sequence[str] | None:
    inband = hall.inventory.inband
    if not inband.aggregation:
        return None
    ratio = inband.oversubscription(hall.design.rules.inband_hosts_per_leaf)
    return f"{ratio:.3g}", f"{_INBAND_GBIT / ratio:.3g}", str(inband.leaf_uplinks)


def _border(hall: Hall) -> Sequence[str] | None:
    """Return borders, uplinks and the share of a host, by the tables of devices and of uplinks."""
    uplinks = len(hall.papers.tables.get("uplinks.csv", ()))
    if not uplinks:
        return None
    hosts = len(hall.inventory.hosts())
    borders = sum(name.startswith("border-") for name in hall.papers.standing)
    return str(borders), str(uplinks), f"{uplinks * _INBAND_GBIT / hosts:.3g}"


def _racks(hall: Hall) -> Sequence[str]:
    compute = hall.of_kind("compute")
    whole = hall.inventory.hosts_per_node > 1
    most = 1 if whole else max((len(rack.placements) for rack in compute), default=0)
    each = "1 node each" if most == 1 else f"at most {most} nodes each"
    fullest = max(hall.racks, key=lambda rack: rack.power_w)
    limit_w = hall.design.site.rack_power_w
    return (
        str(len(compute)),
        each,
        str(len(hall.racks) - len(compute)),
        f"{fullest.power_w / 1e3:.1f}",
        f"{limit_w / 1e3:.1f}",
        fullest.name,
    )


def _servers(hall: Hall) -> Sequence[str]:
    said = []
    for role in server_roles(hall.inventory.servers(), scheduler=hall.papers.documents.option.deployment.scheduler):
        first, last = role.servers[0], role.servers[-1]
        said.append(f"{role.role} on {first if first == last else f'{first} to {last}'}")
    return ("; ".join(said),)


def _cables(hall: Hall) -> Sequence[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(hall.kinds.items()))
    longest = max(length for lengths in hall.lengths.values() for length in lengths)
    return f"{len(hall.links):,}", kinds, f"{longest:g}"


def _spares(hall: Hall) -> Sequence[str]:
    spares = hall.design.rules.spares
    kept = [f"{percent(spares.share(kind), digits=None)} of {kind}" for kind in KINDS if spares.share(kind)]
    return (", ".join(kept) or "none",)


def _unknown(hall: Hall) -> Sequence[str]:
    return (", ".join(hall.design.bill.unknown_power_items) or "none",)


def _rows(hall: Hall) -> Sequence[str]:
    rows = hall.design.site.rows
    return (
        str(rows.racks_per_row),
        f"{rows.rack_width_m:g}",
        f"{rows.rack_depth_m:g}",
        f"{rows.cold_aisle_m:g}",
        f"{rows.hot_aisle_m:g}",
        f"{rows.tray_height_m:g}",
    )


def notes(hall: Hall) -> Iterator[Finding]:
    """Every note of the plan is on the page, in its words and figures."""
    text = hall.papers.text(FILE)
    lines = [plain(line) for line in text.splitlines()]
    for note in hall.inventory.notes:
        wanted = plain(f"- {note}")
        if wanted not in lines:
            near = next((line for line in lines if line.startswith(wanted[:_BEGINNING])), None)
            yield absent("PAG001", FILE, "a note", near, f"“{wanted}”", "the plan has it")


SAID: tuple[Sentence | Table, ...] = (
    Sentence(
        file=FILE,
        text="\n{} with {} GPUs in {} racks, {} kW of IT load at nameplate.",
        values=lambda hall: (
            f"{hall.inventory.nodes:,} × {hall.inventory.system_name}",
            f"{hall.inventory.gpus:,}",
            str(len(hall.racks)),
            f"{hall.power.it_w / 1e3:,.0f}",
        ),
        rule="the inventory counts nodes and GPUs, racks.csv racks and watts",
    ),
    Sentence(
        file=FILE,
        text="- Compute fabric: {} in {}; {} of {}. {}\n",
        values=_compute,
        rule="fabric.csv counts switches, the plan units",
    ),
    Sentence(
        file=FILE,
        text="- Storage network: {}, sides A and B.",
        values=lambda hall: (f"{_levels(hall, 'storage')} {hall.inventory.storage_switch}",),
        rule="fabric.csv counts switches",
    ),
    Sentence(
        file=FILE,
        text="- Ethernet: {} in-band and {} out-of-band switches.",
        values=lambda hall: (
            str(sum(hall.switches("in-band", level) for level in ("leaf", "aggregation", "core"))),
            str(hall.switches("out-of-band", "access")),
        ),
        rule="fabric.csv counts switches",
    ),
    Sentence(
        file=FILE,
        text="- In-band: {}:1 oversubscribed between leaves that are furthest apart: when all hosts send across the "
        "top at once, each has {} Gb/s of a port's 100. Logins, provisioning and NFS live with it, checkpoints and "
        "data sets do not: those go over the storage network. `site.network.leaf_uplinks` (now {}) widens it.",
        values=_in_band,
        rule="hosts of a leaf over its uplinks, level by level",
    ),
    Sentence(
        file=FILE,
        text="- Border: {} switches with {} links of 100 Gb/s to the users' network, {} Gb/s for each host.",
        values=_border,
        rule="racks.csv and uplinks.csv have them, and the hosts share them",
    ),
    Sentence(
        file=FILE,
        text="- Racks: {} with {}, {} for switches, storage and servers, half of all on either of two sides, so that "
        "no rack holds all of a function. The fullest draws {} of {} kW ({}).",
        values=_racks,
        rule="racks.csv has them",
    ),
    Sentence(
        file=FILE,
        text="- Management servers, in turn on either side: {}.\n",
        values=_servers,
        rule="the controllers are on servers of either side, and slurm.conf names them",
    ),
    Sentence(
        file=FILE,
        text="- Cables: {} links ({}); the longest is {} m.",
        values=_cables,
        rule="cables.csv has them",
    ),
    Sentence(
        file=FILE,
        text="- Spares: {}; `procurement.md` has them and the lead times.",
        values=_spares,
        rule="the plan has these shares",
    ),
    Sentence(
        file=FILE,
        text="- Power is unknown for: {}. It is not in the sums.",
        values=_unknown,
        rule="devices of racks.csv without watts",
    ),
    Sentence(
        file=FILE,
        text="- Lengths assume rows of {} racks, {} m wide, {} m deep, with cold aisles of {} m and hot aisles of {} m "
        "between rows, and overhead trays in both directions at {} m.",
        values=_rows,
        rule="the lengths of cables.csv are counted with them",
    ),
)
