"""The boxes of a storage system: their figures, and how many of them each rule asks for."""

from dataclasses import dataclass
from math import ceil

from clusterwright.catalog.records import Catalogue, Part
from clusterwright.catalog.storage import StorageSystem
from clusterwright.errors import MissingFactError
from clusterwright.facility.storage.demand import BoxFigures, StorageDemand

PATH = ("targets", "onprem", "storage")
_EXAMPLES = {
    "capacity": "300 TB",
    "read": "40 GB/s",
    "write": "20 GB/s",
    "ports": "4",
    "port_rate": "200 Gb/s",
    "height": "2 U",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageBox:
    """One kind of box as it is designed with: catalogue and blueprint together; None is unknown.

    Attributes:
        part: price key; name: of it.
        capacity_bytes: raw; read_bytes_per_s, write_bytes_per_s: sustained.
        ports, port_bytes_per_s_one_way: on the storage network.
        height_u, power_w, weight_kg: nameplate.
        given: figures that the blueprint says.
    """

    part: str
    name: str
    capacity_bytes: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    ports: int | None
    port_bytes_per_s_one_way: float | None
    height_u: float | None
    power_w: float | None
    weight_kg: float | None
    given: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxRule:
    """How many boxes one rule asks for: an amount over what one box gives; no amount for fixed numbers.

    Attributes:
        rule: `capacity`, `read`, `write`, `ports`, `smallest system` or `one for each data box`.
        of: `data` or `front` boxes.
    """

    rule: str
    of: str
    boxes: int
    needed: float | None = None
    per_box: float | None = None


def box_of(system: StorageSystem, part_id: str, given: BoxFigures, catalogue: Catalogue) -> StorageBox:
    """Return a box as the catalogue has it, with what the blueprint says of it in its place.

    Args:
        system: for its ports.
        part_id: of the box.
        given: in the blueprint.
        catalogue: for the part.
    """
    part = catalogue.parts.get(part_id, Part(id=part_id, name=part_id, kind="storage"))
    known = {
        "capacity_bytes": part.capacity_bytes,
        "read_bytes_per_s": part.read_bytes_per_s,
        "write_bytes_per_s": part.write_bytes_per_s,
        "ports": system.box_ports,
        "port_bytes_per_s_one_way": system.box_port_bytes_per_s_one_way,
        "height_u": part.height_u,
        "power_w": part.power_typical_w if part.power_max_w is None else part.power_max_w,
        "weight_kg": part.weight_kg,
    }
    said = {name: value for name in known if (value := getattr(given, name)) is not None}
    return StorageBox(part=part_id, name=part.name, given=tuple(said), **(known | said))


def check_known(system: StorageSystem, data: StorageBox, front: StorageBox | None, *, strict: bool) -> None:
    """Refuse a box without a figure that the design needs, all of them at once.

    Raises:
        MissingFactError: names every field to write, and how.
    """
    fast = front if front is not None and system.throughput_box == "front" else data
    section = "front_box" if fast is front else "box"
    wanted: list[tuple[str, str, StorageBox, str]] = [("box", "capacity", data, "capacity_bytes")]
    if strict:
        wanted += [(section, "read", fast, "read_bytes_per_s"), (section, "write", fast, "write_bytes_per_s")]
        wanted += [("box", "height", data, "height_u")]
        wanted += [("front_box", "height", front, "height_u")] if front is not None else []
    wanted += [("box", "ports", data, "ports"), ("box", "port_rate", data, "port_bytes_per_s_one_way")]
    missing = [(place, key, box) for place, key, box, field in wanted if not getattr(box, field)]
    if not missing:
        return
    named = "; ".join(f"{key.replace('_', ' ')} of one {box.name}" for _, key, box in missing)
    lines = ", ".join(f"targets.onprem.storage.{place}.{key}: {_EXAMPLES[key]}" for place, key, _ in missing)
    raise MissingFactError(
        f"no readable source states the {named}",
        help=f"write what the maker offers, for example {lines}",
        path=PATH if strict else (),
    )


def data_rules(
    system: StorageSystem, wanted: StorageDemand, data: StorageBox, front: StorageBox | None, *, usable: float
) -> tuple[BoxRule, ...]:
    """Return how many boxes that hold data each rule asks for.

    Args:
        system: for its smallest size.
        wanted: the largest of each demand.
        data: that hold data.
        front: that serve clients, None for none.
        usable: share of raw capacity.
    """
    raw = (data.capacity_bytes or 0.0) * usable
    rules = [_by("capacity", "data", wanted.capacity_bytes, raw)]
    if front is None or system.throughput_box == "data":
        rules += _throughput_rules("data", wanted, data)
    rules.append(BoxRule(rule="smallest system", of="data", boxes=max(1, system.smallest_data_boxes)))
    return tuple(rules)


def front_rules(
    system: StorageSystem, wanted: StorageDemand, front: StorageBox | None, *, data_boxes: int
) -> tuple[BoxRule, ...]:
    """Return how many boxes beside those that hold data each rule asks for; nothing where a system has none.

    Args:
        system: for its fixed numbers.
        wanted: the largest of each demand.
        front: the box.
        data_boxes: that hold data.
    """
    if front is None:
        return ()
    rules = [BoxRule(rule="smallest system", of="front", boxes=system.smallest_front_boxes)]
    if system.front_boxes_per_data_box is not None:
        several = data_boxes * system.front_boxes_per_data_box
        rules.append(BoxRule(rule="one for each data box", of="front", boxes=several))
    if system.throughput_box == "front":
        rules += _throughput_rules("front", wanted, front)
    return tuple(rules)


def _throughput_rules(of: str, wanted: StorageDemand, box: StorageBox) -> list[BoxRule]:
    most = max(wanted.read_bytes_per_s or 0.0, wanted.write_bytes_per_s or 0.0)
    rules = [_by("ports", of, most, (box.ports or 0) * (box.port_bytes_per_s_one_way or 0.0))]
    if box.read_bytes_per_s is not None:
        rules.append(_by("read", of, wanted.read_bytes_per_s, box.read_bytes_per_s))
    if box.write_bytes_per_s is not None:
        rules.append(_by("write", of, wanted.write_bytes_per_s, box.write_bytes_per_s))
    return rules


def _by(rule: str, of: str, needed: float | None, per_box: float) -> BoxRule:
    return BoxRule(rule=rule, of=of, boxes=ceil((needed or 0.0) / per_box), needed=needed, per_box=per_box)


def binding_rules(rules: tuple[BoxRule, ...], *, data_boxes: int, front_boxes: int) -> tuple[str, ...]:
    """Return the rules that ask for as many boxes as there are, with the kind of box where there are two."""
    return tuple(
        f"{rule.rule} ({rule.of} boxes)" if front_boxes else rule.rule
        for rule in rules
        if rule.boxes == (data_boxes if rule.of == "data" else front_boxes)
    )
