"""How many boxes of a storage system a cluster takes, by which rule, and which figures for that are unknown."""

from dataclasses import dataclass

from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue
from clusterwright.catalog.storage import StorageLevel, StorageSystem, storage_levels
from clusterwright.errors import Finding, InputError, RuleError
from clusterwright.facility.storage.boxes import (
    PATH,
    BoxRule,
    StorageBox,
    binding_rules,
    box_of,
    check_known,
    data_rules,
    front_rules,
)
from clusterwright.facility.storage.demand import AskedStorage, BoxFigures, StorageDemand, demands, required
from clusterwright.facility.storage.lustre import LustreTargets, lustre_targets
from clusterwright.sizing.records.run import StorageNeed

#: What is designed where a blueprint does not speak of storage.
DEFAULT_SYSTEM = "vast"
#: Levels where a blueprint names none: servers follow Table 6 of RA-11333-001, whole racks the one of GB200.
SERVER_LEVEL, RACK_LEVEL = "good", "standard"
NO_LEVEL = "none"


WHOLE, SHARE, NEITHER, UNKNOWN = "whole", "share", "neither", "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalCache:
    """Whether training data can stay on the drives of nodes after it was read once.

    Attributes:
        holds: `whole`: the data set fits into the drives of every node; `share`: each node's part of it does;
            `neither`; `unknown`: the drives of a node are not known.
        dataset_bytes: training data; share_bytes: of one node; drives_bytes: of one node, None if unknown.
        read_once_s: time in which storage gives every node its share once; None where its throughput is unknown.
        read_whole_s: the same with the whole data set for every node.
    """

    holds: str
    dataset_bytes: float
    share_bytes: float
    drives_bytes: float | None
    read_once_s: float | None
    read_whole_s: float | None


def local_cache(
    *, dataset_bytes: float, nodes: int, drives_bytes: float | None, read_bytes_per_s: float | None
) -> LocalCache:
    """Return whether training data can stay on local drives.

    A node's share is the data set over the nodes: what it reads in an epoch where every sample goes to one replica.

    Args:
        dataset_bytes: training data.
        nodes: that train.
        drives_bytes: local drives of one node, None if unknown.
        read_bytes_per_s: of shared storage, all nodes together; None if unknown.
    """
    share = dataset_bytes / nodes
    if drives_bytes is None:
        holds = UNKNOWN
    elif dataset_bytes <= drives_bytes:
        holds = WHOLE
    else:
        holds = SHARE if share <= drives_bytes else NEITHER
    once = None if not read_bytes_per_s else dataset_bytes / read_bytes_per_s
    return LocalCache(
        holds=holds,
        dataset_bytes=dataset_bytes,
        share_bytes=share,
        drives_bytes=drives_bytes,
        read_once_s=once,
        read_whole_s=None if once is None else once * nodes,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageDesign:
    """The shared storage of a cluster.

    Attributes:
        system, name, kind: of the catalogue; asked: whether the blueprint speaks of storage.
        level: id of the level of bandwidth, `none` for none.
        demands: every reason to want storage; capacity_bytes, read_bytes_per_s, write_bytes_per_s: the largest of each.
        data, front: kinds of boxes, front None where there is one kind; data_boxes, front_boxes: of them.
        throughput_box: which of the two the throughput is of.
        usable_fraction: of raw capacity.
        rules: what every rule asks for; binding: the rules that ask for most, first that of the boxes with throughput.
        lustre: targets, None for other systems; cache: training data on local drives.
    """

    system: str
    name: str
    kind: str
    asked: bool
    level: str
    demands: tuple[StorageDemand, ...]
    capacity_bytes: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    data: StorageBox
    front: StorageBox | None
    throughput_box: str
    data_boxes: int
    front_boxes: int
    usable_fraction: float
    rules: tuple[BoxRule, ...]
    binding: tuple[str, ...]
    lustre: LustreTargets | None
    cache: LocalCache

    @property
    def boxes(self) -> int:
        """All boxes."""
        return self.data_boxes + self.front_boxes

    @property
    def ports_per_box(self) -> int:
        """Ports of one box on the storage network."""
        return self.data.ports or 0

    @property
    def usable_bytes(self) -> float | None:
        """Usable capacity of the boxes; None where a box's is unknown."""
        raw = self.data.capacity_bytes
        return None if raw is None else self.data_boxes * raw * self.usable_fraction

    @property
    def gives_read_bytes_per_s(self) -> float | None:
        """What all boxes read at; None where a box's throughput is unknown."""
        return self._gives("read_bytes_per_s")

    @property
    def gives_write_bytes_per_s(self) -> float | None:
        """What all boxes write at; None where a box's throughput is unknown."""
        return self._gives("write_bytes_per_s")

    def _gives(self, field: str) -> float | None:
        box, count = (self.data, self.data_boxes)
        if self.throughput_box == "front" and self.front is not None:
            box, count = self.front, self.front_boxes
        each: float | None = getattr(box, field)
        return None if each is None else each * count


def design_storage(
    need: StorageNeed,
    *,
    nodes: int,
    gpus: int,
    rack_scale: bool,
    drives_bytes: float | None,
    asked: AskedStorage | None,
    catalogue: Catalogue,
) -> StorageDesign:
    """Choose the boxes of a storage system: of each rule the number that it asks for, and of these the largest.

    boxes = max(ceil(capacity / (box x usable)), ceil(read / box), ceil(write / box),
    ceil(max(read, write) / (ports x rate)), the smallest system)

    Where a blueprint does not speak of storage, the default system is taken by capacity and ports, no level is applied,
    and throughput that nobody publishes is not compared with it.

    Args:
        need: of the job.
        nodes: of the cluster.
        gpus: of all nodes.
        rack_scale: the nodes are whole racks.
        drives_bytes: local drives of one node, None if unknown.
        asked: what the blueprint asks for, None for nothing.
        catalogue: storage systems and parts.

    Raises:
        InputError: no such system or level, with the closest names.
        MissingFactError: figures of a box are neither in the catalogue nor in the blueprint; names the fields.
        RuleError: more boxes than one system can have (`STO010`).
    """
    system = lookup.storage_system(catalogue, asked.system if asked else DEFAULT_SYSTEM)
    level = _level(asked, rack_scale=rack_scale)
    found = demands(need, gpus=gpus, level=level, asked=asked)
    wanted = required(found)
    data = box_of(system, system.data_box, asked.box if asked else BoxFigures(), catalogue)
    front = None
    if system.front_box is not None:
        front = box_of(system, system.front_box, asked.front_box if asked else BoxFigures(), catalogue)
    check_known(system, data, front, strict=asked is not None)
    usable = (asked.usable_fraction if asked else None) or system.usable_fraction
    rules = data_rules(system, wanted, data, front, usable=usable)
    data_boxes = max(rule.boxes for rule in rules if rule.of == "data")
    rules += front_rules(system, wanted, front, data_boxes=data_boxes)
    front_boxes = max((rule.boxes for rule in rules if rule.of == "front"), default=0)
    if system.largest_data_boxes is not None and data_boxes > system.largest_data_boxes:
        raise RuleError((_too_many(system, data_boxes, rules),))
    targets = (asked.targets_per_box if asked else None) or system.targets_per_box
    return StorageDesign(
        system=system.id,
        name=system.name,
        kind=system.kind,
        asked=asked is not None,
        level=level.id if level else NO_LEVEL,
        demands=found,
        capacity_bytes=wanted.capacity_bytes or 0.0,
        read_bytes_per_s=wanted.read_bytes_per_s or 0.0,
        write_bytes_per_s=wanted.write_bytes_per_s or 0.0,
        data=data,
        front=front,
        throughput_box=system.throughput_box,
        data_boxes=data_boxes,
        front_boxes=front_boxes,
        usable_fraction=usable,
        rules=rules,
        binding=binding_rules(rules, data_boxes=data_boxes, front_boxes=front_boxes),
        lustre=lustre_targets(
            servers=data_boxes,
            targets_per_server=targets,
            metadata_servers=front_boxes,
            capacity_bytes=wanted.capacity_bytes or 0.0,
            files=asked.files if asked else None,
            writers=gpus,
        )
        if system.kind == "Lustre"
        else None,
        cache=local_cache(
            dataset_bytes=need.dataset_bytes,
            nodes=nodes,
            drives_bytes=drives_bytes,
            read_bytes_per_s=wanted.read_bytes_per_s,
        ),
    )


def _level(asked: AskedStorage | None, *, rack_scale: bool) -> StorageLevel | None:
    if asked is None:
        return None
    name = asked.level or (RACK_LEVEL if rack_scale else SERVER_LEVEL)
    level = storage_levels().get(name)
    if level is None:
        raise InputError(
            f"there is no level of storage bandwidth {name!r}",
            help=f"one of {', '.join(storage_levels())}",
            path=(*PATH, "level"),
        )
    return None if level.id == NO_LEVEL else level


def _too_many(system: StorageSystem, boxes: int, rules: tuple[BoxRule, ...]) -> Finding:
    most = max((rule for rule in rules if rule.of == "data"), key=lambda rule: rule.boxes)
    holds = (system.largest_data_boxes or 0) * (most.per_box or 0.0)
    what = f"{holds / 1e12:,.0f} TB" if most.rule == "capacity" else f"{holds / 1e9:,.0f} GB/s"
    return Finding(
        id="STO010",
        path=PATH,
        message=(
            f"{system.name} would need {boxes:,} boxes by {most.rule}; one system has {system.largest_data_boxes} at "
            f"most, which is {what}"
        ),
        help="choose another system, a lower level, or boxes that hold or give more (targets.onprem.storage.box)",
    )
