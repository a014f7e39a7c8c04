"""Shared storage as a page of Markdown: demand by origin, boxes by rule, ports, rules of thumb, what is unknown."""

from collections.abc import Iterable

from clusterwright import units
from clusterwright.catalog.records import Catalogue, System
from clusterwright.catalog.storage import storage_levels, storage_tiers
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.storage.boxes import BoxRule, StorageBox
from clusterwright.facility.storage.demand import level_bytes_per_s
from clusterwright.facility.storage.design import NEITHER, SHARE, UNKNOWN, WHOLE, LocalCache, StorageDesign
from clusterwright.facility.storage.lustre import WIDEST_STRIPE, LustreTargets
from clusterwright.facility.storage_checks import NODE_BYTES_PER_S, judge_tier, storage_share
from clusterwright.outputs.markdown import cell
from clusterwright.units import percent

_FIELDS = {
    "capacity": "capacity_bytes",
    "read": "read_bytes_per_s",
    "write": "write_bytes_per_s",
    "height": "height_u",
    "power": "power_w",
    "weight": "weight_kg",
}


def storage_page(design: OnPremDesign, catalogue: Catalogue, *, title: str) -> str:
    """Return the page on the storage of a design.

    Args:
        design: with its inventory.
        catalogue: for the sources and the system's drives.
        title: name of the cluster.
    """
    inventory, storage = design.inventory, design.inventory.storage
    system = catalogue.systems[inventory.system]
    lines = [
        f"# {title}: shared storage",
        "",
        (
            f"{_count(storage)}. They must hold {_bytes(storage.capacity_bytes)} and sustain "
            f"{_rate(storage.read_bytes_per_s)} read and {_rate(storage.write_bytes_per_s)} write. Decided by: "
            f"{', '.join(storage.binding)}."
        ),
        "",
        "## What is asked for, and by whom",
        "",
        "| origin | capacity | read | write | source |",
        "|---|---:|---:|---:|---|",
        *(
            f"| {demand.origin} | {_bytes_or_dash(demand.capacity_bytes)} | {_rate_or_dash(demand.read_bytes_per_s)} | "
            f"{_rate_or_dash(demand.write_bytes_per_s)} | {_source(demand.source, catalogue)} |"
            for demand in storage.demands
        ),
        (
            f"| **largest of each** | {_bytes(storage.capacity_bytes)} | {_rate(storage.read_bytes_per_s)} | "
            f"{_rate(storage.write_bytes_per_s)} | |"
        ),
        "",
        *_levels(storage, gpus=inventory.gpus),
        "",
        "## Boxes",
        "",
        "| rule | kind of box | needed | one box | boxes |",
        "|---|---|---:|---:|---:|",
        *(_rule(storage, rule) for rule in storage.rules),
        "",
        *_gives(storage),
        "",
        *_box_table(storage),
        "",
        "## Network",
        "",
        *_network(design),
        *_lustre(storage.lustre),
        "",
        "## Local drives",
        "",
        *_cache_lines(storage.cache, system),
        "",
        "## Rules of thumb by size of the data set",
        "",
        *_tier_lines(storage, system),
        "",
        "## What is unknown",
        "",
        *_unknown(storage),
    ]
    return "\n".join(lines) + "\n"


def _bytes(value: float) -> str:
    return units.text(value, units.BYTES)


def _rate(value: float) -> str:
    return units.text(value, units.BANDWIDTH)


def _bytes_or_dash(value: float | None) -> str:
    return "" if not value else _bytes(value)


def _rate_or_dash(value: float | None) -> str:
    return "" if not value else _rate(value)


def _source(source: str, catalogue: Catalogue) -> str:
    known = catalogue.sources.get(source)
    return source if known is None else known.title


def _count(storage: StorageDesign) -> str:
    front = f" and {storage.front_boxes} {cell(storage.front.name)}" if storage.front is not None else ""
    return f"{storage.name}: {storage.data_boxes} {cell(storage.data.name)}{front}"


def _levels(storage: StorageDesign, *, gpus: int) -> list[str]:
    rows = [
        f"| {level.name}{' (applied)' if level.id == storage.level else ''} | {_rate_or_dash(read)} | "
        f"{_rate_or_dash(write)} | {level.suits} |"
        for level in storage_levels().values()
        for read, write in (level_bytes_per_s(level, gpus=gpus),)
    ]
    return [
        "What reference architectures ask for a cluster of this size, to be chosen by `targets.onprem.storage.level`:",
        "",
        "| level | read | write | for |",
        "|---|---:|---:|---|",
        *rows,
    ]


def _rule(storage: StorageDesign, rule: BoxRule) -> str:
    box = storage.data if rule.of == "data" or storage.front is None else storage.front
    kind = units.BYTES if rule.rule == "capacity" else units.BANDWIDTH
    fixed = rule.needed is None or rule.per_box is None
    needed = "" if fixed else units.text(rule.needed, kind)
    each = "" if fixed else units.text(rule.per_box, kind)
    return f"| {rule.rule} | {cell(box.name)} | {needed} | {each} | {rule.boxes:,} |"


def _gives(storage: StorageDesign) -> list[str]:
    usable = units.text(storage.usable_bytes, units.BYTES)
    read, write = storage.gives_read_bytes_per_s, storage.gives_write_bytes_per_s
    throughput = "what they read and write at is not published"
    if read is not None and write is not None:
        throughput = f"they give {_rate(read)} read and {_rate(write)} write"
    return [f"Together they hold {usable} usable ({percent(storage.usable_fraction)} of raw capacity); {throughput}."]


def _box_table(storage: StorageDesign) -> list[str]:
    lines = [
        "| box | raw | read | write | ports | height | power | weight | from the blueprint |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for section, box in (("box", storage.data), ("front_box", storage.front)):
        if box is None:
            continue
        wanted = tuple(_wanted(storage, section))
        cells = (
            units.text(box.capacity_bytes, units.BYTES) if "capacity" in wanted else "",
            units.text(box.read_bytes_per_s, units.BANDWIDTH) if "read" in wanted else "",
            units.text(box.write_bytes_per_s, units.BANDWIDTH) if "write" in wanted else "",
            _ports(box),
            "unknown" if box.height_u is None else f"{box.height_u:g} U",
            units.text(box.power_w, units.POWER),
            units.text(box.weight_kg, units.MASS),
            ", ".join(_given(box)) or "nothing",
        )
        lines.append(f"| {cell(box.name)} | {' | '.join(cells)} |")
    return lines


def _ports(box: StorageBox) -> str:
    if box.ports is None or box.port_bytes_per_s_one_way is None:
        return "unknown"
    return f"{box.ports} × {box.port_bytes_per_s_one_way * 8 / 1e9:.0f} Gb/s"


def _given(box: StorageBox) -> list[str]:
    keys = {field: key for key, field in _FIELDS.items()} | {"port_bytes_per_s_one_way": "port_rate"}
    return [keys.get(field, field) for field in box.given]


def _network(design: OnPremDesign) -> list[str]:
    inventory, storage = design.inventory, design.inventory.storage
    # A rack that comes whole is many hosts, each with ports of its own.
    hosts, share = len(inventory.hosts()), storage_share(inventory)
    who, each = ("nodes", "node") if inventory.hosts_per_node == 1 else ("compute trays", "tray")
    each_host = who.removesuffix("s")
    verdict = "as much as" if share.network_bytes_per_s >= NODE_BYTES_PER_S else "LESS than"
    ports = storage.boxes * storage.ports_per_box
    lines = [
        (
            f"{ports:,} ports of {storage.boxes:,} boxes and {hosts * inventory.storage_ports:,} of "
            f"{units.counted(hosts, each_host)} meet in {inventory.storage_fabric.switches} "
            f"{inventory.storage_switch}; "
            f"{design.cables['storage']:,} cables, each in `cables.csv`. While all {who} draw, the network lets each "
            f"have {_rate(share.network_bytes_per_s)}: {verdict} the {_rate(NODE_BYTES_PER_S)} that NVIDIA's reference "
            "architectures require."
        )
    ]
    if share.boxes_bytes_per_s is not None:
        lines += [
            "",
            (
                f"{share.boxes:,} {'box answers' if share.boxes == 1 else 'boxes answer'} them, through ports of "
                f"{_rate(share.boxes_bytes_per_s)} together: {_rate(share.boxes_bytes_per_s / hosts)} for each {each} "
                f"while all draw. All boxes hang on {share.leaves:,} of {inventory.storage_fabric.leaf:,} leaves."
            ),
        ]
    return lines


def _lustre(targets: LustreTargets | None) -> list[str]:
    if targets is None:
        return []
    files = f"{targets.files:,.0f} files" + (" (5 MiB each, assumed)" if targets.files_assumed else "")
    lines = [
        "",
        "## Lustre targets",
        "",
        (
            f"- Metadata: {targets.mdts} MDT with {_bytes(targets.mdt_bytes)} together, on mirrored flash: {files} "
            "× 2 KiB × 2 (Lustre Hardware Sizing Guide)."
        ),
    ]
    if targets.osts is None:
        return [*lines, "- Data: the maker decides how many OST a box has; say `targets_per_box` to count them."]
    return [
        *lines,
        f"- Data: {targets.osts} OST.",
        (
            f"- A checkpoint that each of {targets.writers:,} accelerators writes a file of: "
            f"`lfs setstripe -c {targets.stripes_sharded} checkpoints/`."
        ),
        (
            f"- A large file that is written alone: `lfs setstripe -c {targets.stripes_alone} single/` (at most "
            f"{WIDEST_STRIPE} without the feature `ea_inode`)."
        ),
        "- Training data in files below 1 GB: `lfs setstripe -c 1 data/`.",
    ]


def _unknown(storage: StorageDesign) -> list[str]:
    lines = [
        f"- {key} of {cell(box.name)}: write `targets.onprem.storage.{section}.{key}`"
        for section, box in (("box", storage.data), ("front_box", storage.front))
        if box is not None
        for key in _wanted(storage, section)
        if getattr(box, _FIELDS[key]) is None
    ]
    return [
        *(lines or ["- Nothing that the design needs."]),
        "- Prices: send `bill_of_materials.xlsx` to the maker, and read the answer back with `--quotes`.",
    ]


def _wanted(storage: StorageDesign, section: str) -> Iterable[str]:
    fast = (section == "front_box") == (storage.throughput_box == "front" and storage.front is not None)
    return (
        *(("capacity",) if section == "box" else ()),
        *(("read", "write") if fast else ()),
        "height",
        "power",
        "weight",
    )


def _cache_lines(cache: LocalCache, system: System) -> list[str]:
    """Return whether training data can stay on local drives, as lines of Markdown."""
    drives = units.text(cache.drives_bytes, units.BYTES)
    what = {
        WHOLE: f"The data set ({_bytes(cache.dataset_bytes)}) fits into the drives of every node ({drives}).",
        SHARE: f"The data set ({_bytes(cache.dataset_bytes)}) does not fit into the drives of a node ({drives}); its "
        f"share of one node ({_bytes(cache.share_bytes)}) does.",
        NEITHER: f"Neither the data set ({_bytes(cache.dataset_bytes)}) nor one node's share "
        f"({_bytes(cache.share_bytes)}) fits into the drives of a node ({drives}): every epoch reads shared storage.",
        UNKNOWN: f"The drives of {system.name} are unknown, so every epoch is taken to read shared storage.",
    }[cache.holds]
    if cache.holds not in (WHOLE, SHARE) or cache.read_once_s is None or cache.read_whole_s is None:
        return [what]
    whole = f" the whole of it to every node, {_time(cache.read_whole_s)}." if cache.holds == WHOLE else ""
    return [
        (
            f"{what} Then shared storage is read once: at the bandwidth asked for, every node has its share after "
            f"{_time(cache.read_once_s)}{';' + whole if whole else '.'} `data.staging: nvme` plans for that. "
            "Checkpoints still go to shared storage: a node's drives are lost with the node."
        )
    ]


def _time(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"  # noqa: PLR2004 - two hours


def _tier_lines(storage: StorageDesign, system: System) -> list[str]:
    """Return the rules of thumb as a table, with what of them holds for this data set."""
    judged = judge_tier(storage, drives_read_bytes_per_s=system.local_nvme_read_bytes_per_s)
    what = "the drives of a node read" if judged.tier.scope == "node" else "shared storage reads"
    verdict = f"How fast {what} is unknown, so nobody can say whether that is enough."
    if judged.gives_bytes_per_s is not None:
        enough = "which is enough" if judged.enough else "which is less"
        verdict = f"{what[0].upper()}{what[1:]} {_rate(judged.gives_bytes_per_s)}, {enough}."
    lines = [
        "| data set | advice | bandwidth | of | what was corrected |",
        "|---|---|---:|---|---|",
    ]
    for tier in storage_tiers():
        above = f"{_bytes(tier.above_bytes)} to " if tier.above_bytes else "up to "
        size = f"more than {_bytes(tier.above_bytes)}" if tier.up_to_bytes is None else above + _bytes(tier.up_to_bytes)
        mark = " **(this one)**" if tier == judged.tier else ""
        lines.append(
            f"| {size}{mark} | {tier.storage} | {_rate(tier.read_bytes_per_s)} | each {tier.scope} | {tier.note} |"
        )
    return [
        *lines,
        "",
        (
            f"{verdict} These figures do not depend on the size of the cluster, so they decide nothing here; the "
            "demands above do."
        ),
    ]
