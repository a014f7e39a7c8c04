"""The page of shared storage: what is asked for, boxes by rule, what they give, ports, targets and local drives."""

from collections.abc import Iterator, Sequence
from math import ceil

from clusterwright import units
from clusterwright.catalog.parts.media import media
from clusterwright.catalog.storage import storage_levels
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.papers import Row, absent
from clusterwright.errors import Finding
from clusterwright.facility.storage.boxes import StorageBox
from clusterwright.facility.storage.demand import level_bytes_per_s
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.facility.storage_checks import NODE_BYTES_PER_S, storage_share
from clusterwright.units import percent

FILE = "storage.md"
_PLAN = "plan.json"
_ID = "PAG004"
_MINUTES_FROM_S, _HOURS_FROM_S = 120, 7200


def _bytes(value: float | None) -> str:
    return "" if not value else units.text(value, units.BYTES)


def _rate(value: float | None) -> str:
    return "" if not value else units.text(value, units.BANDWIDTH)


def _source(hall: Hall, source: str) -> str:
    known = hall.papers.catalogue.sources.get(source)
    return source if known is None else known.title


def _standing(hall: Hall, box: StorageBox | None) -> int:
    """Return how many boxes of a kind stand in the racks."""
    return 0 if box is None else sum(place["part"] == box.part for place in hall.papers.standing.values())


def _counted(hall: Hall) -> Sequence[str]:
    storage = hall.inventory.storage
    front = "" if storage.front is None else f" and {storage.front_boxes} {storage.front.name}"
    return (
        f"{storage.name}: {storage.data_boxes} {storage.data.name}{front}",
        units.text(storage.capacity_bytes, units.BYTES),
        units.text(storage.read_bytes_per_s, units.BANDWIDTH),
        units.text(storage.write_bytes_per_s, units.BANDWIDTH),
        ", ".join(storage.binding),
    )


def _demands(hall: Hall) -> Iterator[Sequence[str]]:
    storage = hall.inventory.storage
    for one in storage.demands:
        rates = _rate(one.read_bytes_per_s), _rate(one.write_bytes_per_s)
        yield one.origin, _bytes(one.capacity_bytes), *rates, _source(hall, one.source)
    largest = (
        units.text(max(one.capacity_bytes or 0.0 for one in storage.demands), units.BYTES),
        units.text(max(one.read_bytes_per_s or 0.0 for one in storage.demands), units.BANDWIDTH),
        units.text(max(one.write_bytes_per_s or 0.0 for one in storage.demands), units.BANDWIDTH),
    )
    yield "**largest of each**", *largest, ""


def _levels(hall: Hall) -> Iterator[Sequence[str]]:
    for level in storage_levels().values():
        read, write = level_bytes_per_s(level, gpus=hall.inventory.gpus)
        applied = " (applied)" if level.id == hall.inventory.storage.level else ""
        yield f"{level.name}{applied}", _rate(read), _rate(write), level.suits


def _rules(hall: Hall) -> Iterator[Sequence[str]]:
    storage = hall.inventory.storage
    for rule in storage.rules:
        box = storage.data if rule.of == "data" or storage.front is None else storage.front
        kind = units.BYTES if rule.rule == "capacity" else units.BANDWIDTH
        amounts = ("", "")
        if rule.needed is not None and rule.per_box is not None:
            amounts = units.text(rule.needed, kind), units.text(rule.per_box, kind)
        yield rule.rule, box.name, *amounts, f"{rule.boxes:,}"


def _gives(hall: Hall) -> Sequence[str]:
    storage = hall.inventory.storage
    read, write = storage.gives_read_bytes_per_s, storage.gives_write_bytes_per_s
    throughput = "what they read and write at is not published"
    if read is not None and write is not None:
        rates = units.text(read, units.BANDWIDTH), units.text(write, units.BANDWIDTH)
        throughput = f"they give {rates[0]} read and {rates[1]} write"
    return units.text(storage.usable_bytes, units.BYTES), percent(storage.usable_fraction), throughput


def _boxes(hall: Hall) -> Iterator[Sequence[str | None]]:
    storage = hall.inventory.storage
    for box in (storage.data, storage.front):
        if box is None:
            continue
        ports = "unknown"
        if box.ports is not None and box.port_bytes_per_s_one_way is not None:
            ports = f"{box.ports} × {box.port_bytes_per_s_one_way * 8 / 1e9:.0f} Gb/s"
        fast = (box is storage.front) == (storage.throughput_box == "front" and storage.front is not None)
        yield (
            box.name,
            units.text(box.capacity_bytes, units.BYTES) if box is storage.data else "",
            units.text(box.read_bytes_per_s, units.BANDWIDTH) if fast else "",
            units.text(box.write_bytes_per_s, units.BANDWIDTH) if fast else "",
            ports,
            "unknown" if box.height_u is None else f"{box.height_u:g} U",
            units.text(box.power_w, units.POWER),
            units.text(box.weight_kg, units.MASS),
            None,
        )


def _who(hall: Hall) -> tuple[str, str]:
    return ("nodes", "node") if hall.inventory.hosts_per_node == 1 else ("compute trays", "tray")


def _network(hall: Hall) -> Sequence[str]:
    """Return ports and switches as racks and cables have them, and what the network lets a host have."""
    inventory, share, who = hall.inventory, storage_share(hall.inventory), _who(hall)[0]
    links = _links(hall)
    ports = sum(row["tier"] == "storage-leaf" for row in links)
    boxes = sum(place["role"] == "storage" for place in hall.papers.standing.values())
    of_hosts = sum(row["tier"] == "node-leaf" for row in links)
    switches = sum(hall.switches("storage", level) for level in ("leaf", "spine", "core"))
    return (
        f"{ports:,}",
        f"{boxes:,}",
        f"{of_hosts:,}",
        units.counted(len(inventory.hosts()), _who(hall)[0].removesuffix("s")),
        f"{switches} {inventory.storage_switch}",
        f"{len(links):,}",
        who,
        units.text(share.network_bytes_per_s, units.BANDWIDTH),
        "as much as" if share.network_bytes_per_s >= NODE_BYTES_PER_S else "LESS than",
        units.text(NODE_BYTES_PER_S, units.BANDWIDTH),
    )


def _links(hall: Hall) -> list[Row]:
    return [row for row, _ in hall.links if row["network"] == "storage"]


def _box(hall: Hall) -> StorageBox:
    """Return the box that answers hosts."""
    storage = hall.inventory.storage
    return storage.front if storage.front is not None and storage.throughput_box == "front" else storage.data


def _carried(hall: Hall) -> float | None:
    """Return what the cabled ports of the boxes that hosts ask carry in bytes/s, None for an unknown rate."""
    box = _box(hall)
    if not box.port_bytes_per_s_one_way:
        return None
    parts = {name: place["part"] for name, place in hall.papers.standing.items()}
    ports = sum(row["tier"] == "storage-leaf" and parts.get(row["from_device"]) == box.part for row in _links(hall))
    return ports * box.port_bytes_per_s_one_way


def _answered(hall: Hall) -> Sequence[str] | None:
    carried = _carried(hall)
    if carried is None:
        return None
    boxes, leaves = (
        _standing(hall, _box(hall)),
        {row["to_device"] for row in _links(hall) if row["tier"] == "storage-leaf"},
    )
    return (
        f"{boxes:,} {'box answers' if boxes == 1 else 'boxes answer'}",
        units.text(carried, units.BANDWIDTH),
        units.text(carried / len(hall.inventory.hosts()), units.BANDWIDTH),
        _who(hall)[1],
        f"{len(leaves):,}",
        f"{hall.switches('storage', 'leaf'):,}",
    )


def _metadata(hall: Hall) -> Sequence[str] | None:
    targets = hall.inventory.storage.lustre
    if targets is None:
        return None
    assumed = " (5 MiB each, assumed)" if targets.files_assumed else ""
    return str(targets.mdts), units.text(targets.mdt_bytes, units.BYTES), f"{targets.files:,.0f} files{assumed}"


def _object_targets(hall: Hall) -> Sequence[str] | None:
    targets = hall.inventory.storage.lustre
    if targets is None or targets.osts is None:
        return None
    return str(targets.osts), f"{targets.writers:,}", str(targets.stripes_sharded), str(targets.stripes_alone)


def _time(seconds: float) -> str:
    if seconds < _MINUTES_FROM_S:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < _HOURS_FROM_S else f"{seconds / 3600:,.1f} h"


def _drives(hall: Hall) -> Sequence[str] | None:
    cache = hall.inventory.storage.cache
    if cache.holds != "whole" or cache.drives_bytes is None:
        return None
    return units.text(cache.dataset_bytes, units.BYTES), units.text(cache.drives_bytes, units.BYTES)


def _once(hall: Hall) -> Sequence[str] | None:
    cache = hall.inventory.storage.cache
    if cache.holds != "whole" or cache.read_once_s is None or cache.read_whole_s is None:
        return None
    return _time(cache.read_once_s), _time(cache.read_whole_s)


SAID: tuple[Sentence | Table, ...] = (
    Sentence(
        file=FILE,
        text="\n{}. They must hold {} and sustain {} read and {} write. Decided by: {}.\n",
        values=_counted,
        rule="the plan counts boxes by what is asked for",
    ),
    Table(
        file=FILE,
        head=("origin", "capacity", "read", "write", "source"),
        rows=_demands,
        rule="the plan has these demands, and the largest of each counts",
    ),
    Table(
        file=FILE,
        head=("level", "read", "write", "for"),
        rows=_levels,
        rule="catalog/storage_levels.csv, by scalable units and nodes",
    ),
    Table(
        file=FILE,
        head=("rule", "kind of box", "needed", "one box", "boxes"),
        rows=_rules,
        rule="what is needed over what a box gives, rounded up",
        key=(0, 1),
    ),
    Sentence(
        file=FILE,
        text="Together they hold {} usable ({} of raw capacity); {}.\n",
        values=_gives,
        rule="the boxes times what each gives",
    ),
    Table(
        file=FILE,
        head=("box", "raw", "read", "write", "ports", "height", "power", "weight", "from the blueprint"),
        rows=_boxes,
        rule="the catalogue and the blueprint have it",
    ),
    Sentence(
        file=FILE,
        text="{} ports of {} boxes and {} of {} meet in {}; {} cables, each in `cables.csv`. While all {} draw, "
        "the network lets each have {}: {} the {} that NVIDIA's reference architectures require.",
        values=_network,
        rule="cables.csv and racks.csv have them",
    ),
    Sentence(
        file=FILE,
        text="\n{} them, through ports of {} together: {} for each {} while all draw. "
        "All boxes hang on {} of {} leaves.",
        values=_answered,
        rule="racks.csv and cables.csv have the boxes that answer hosts, and the hosts share their ports",
    ),
    Sentence(
        file=FILE,
        text="- Metadata: {} MDT with {} together, on mirrored flash: {} × 2 KiB × 2",
        values=_metadata,
        rule="files times 2 KiB times 2, at least 20 GiB",
    ),
    Sentence(
        file=FILE,
        text="- Data: {} OST.\n- A checkpoint that each of {} accelerators writes a file of: "
        "`lfs setstripe -c {} checkpoints/`.\n- A large file that is written alone: `lfs setstripe -c {} single/`",
        values=_object_targets,
        rule="servers times the targets of each",
    ),
    Sentence(
        file=FILE,
        text="The data set ({}) fits into the drives of every node ({}).",
        values=_drives,
        rule="the data set of the plan, the drives of the system",
    ),
    Sentence(
        file=FILE,
        text="every node has its share after {}; the whole of it to every node, {}. `data.staging: nvme` plans",
        values=_once,
        rule="the data set over the bandwidth asked for",
    ),
)


def counted(hall: Hall) -> Iterator[Finding]:
    """Yield where the boxes of the plan are not what its own rules ask for, or not those of the racks."""
    storage = hall.inventory.storage
    yield from _asked(storage)
    for name, box, planned in (
        ("data", storage.data, storage.data_boxes),
        ("front", storage.front, storage.front_boxes),
    ):
        own = [rule for rule in storage.rules if rule.of == name]
        for rule in own:
            if rule.needed is not None and rule.per_box and rule.boxes != ceil(rule.needed / rule.per_box - 1e-9):
                needed = ceil(rule.needed / rule.per_box - 1e-9)
                what = f"the boxes of the rule “{rule.rule}”"
                yield absent(_ID, _PLAN, what, rule.boxes, needed, "what is needed over what a box gives")
        most = max((rule.boxes for rule in own), default=planned)
        if planned != most:
            yield absent(_ID, _PLAN, f"the {name} boxes", planned, most, "the rule that asks for most decides")
        if box is not None and _standing(hall, box) != planned:
            rule_words = "racks.csv has them"
            yield absent(_ID, _PLAN, f"the {name} boxes", planned, _standing(hall, box), rule_words)
    yield from _carries(hall)


def _carries(hall: Hall) -> Iterator[Finding]:
    """What is asked of the boxes passes their ports, and the uplinks of the leaves that they hang on."""
    storage, links = hall.inventory.storage, _links(hall)
    asked = max(storage.read_bytes_per_s, storage.write_bytes_per_s)
    carried, said = _carried(hall), units.text(asked, units.BANDWIDTH)
    if carried is not None and carried < asked * (1 - 1e-6):
        what, value = f"what the ports of the {_box(hall).name} carry", units.text(carried, units.BANDWIDTH)
        yield absent(_ID, "cables.csv", what, value, f"{said} or more", "the job asks for as much")
    leaves = {row["to_device"] for row in links if row["tier"] == "storage-leaf"}
    uplinks = sum(row["tier"] == "leaf-spine" and row["from_device"] in leaves for row in links)
    rate = media()[hall.inventory.storage_family][0].port_bytes_per_s_one_way
    if hall.switches("storage", "spine") and uplinks * rate < asked * (1 - 1e-6):
        what, value = (
            f"what {uplinks:,} uplinks of the boxes' leaves carry",
            units.text(uplinks * rate, units.BANDWIDTH),
        )
        yield absent(_ID, "cables.csv", what, value, f"{said} or more", "hosts on other leaves ask for as much")


def _asked(storage: StorageDesign) -> Iterator[Finding]:
    for what, value, demands in (
        ("capacity_bytes", storage.capacity_bytes, [one.capacity_bytes for one in storage.demands]),
        ("read_bytes_per_s", storage.read_bytes_per_s, [one.read_bytes_per_s for one in storage.demands]),
        ("write_bytes_per_s", storage.write_bytes_per_s, [one.write_bytes_per_s for one in storage.demands]),
    ):
        largest = max((one or 0.0 for one in demands), default=0.0)
        if abs(value - largest) > 1e-6 * max(1.0, largest):
            yield absent(_ID, _PLAN, f"{what} of the storage", value, largest, "the largest demand counts")
