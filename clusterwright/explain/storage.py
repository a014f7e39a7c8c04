"""Explanations of the shared storage to buy: what it must give, and how many boxes that takes."""

from clusterwright import units
from clusterwright.explain.records import Explanation, Input, total
from clusterwright.facility.storage.boxes import BoxRule
from clusterwright.facility.storage.demand import StorageDemand
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.plan.record import Option

_PROGRAM = "clusterwright/facility/storage/design.py"
_FIELDS = {"capacity": "capacity_bytes", "read": "read_bytes_per_s", "write": "write_bytes_per_s"}


def storage_numbers(option: Option) -> tuple[Explanation, ...]:
    """Return how the storage boxes of a cluster on premises are counted; nothing for clouds."""
    if option.facility is None:
        return ()
    storage = option.facility.inventory.storage
    boxes = (f"{storage.data_boxes}",) if storage.front is None else (f"{storage.data_boxes}", f"{storage.front_boxes}")
    return (
        Explanation(
            number="storage_boxes",
            title="boxes of shared storage",
            value=f"{storage.boxes:,} ({storage.name})",
            equation=(
                "of each kind the most that a rule asks for: amount / what one box gives, rounded up",
                total(boxes, f"{storage.boxes}"),
            ),
            inputs=(
                *(_demand(demand) for demand in storage.demands),
                *(_rule(storage, rule) for rule in storage.rules),
                Input(name="decided by", value=", ".join(storage.binding), source=_PROGRAM),
            ),
            sources=(f"catalog/storage_systems.csv: {storage.system}", "catalog/storage_levels.csv", _PROGRAM),
        ),
    )


def _demand(demand: StorageDemand) -> Input:
    amounts = (
        None if demand.capacity_bytes is None else units.text(demand.capacity_bytes, units.BYTES),
        None if demand.read_bytes_per_s is None else f"{units.text(demand.read_bytes_per_s, units.BANDWIDTH)} read",
        None if demand.write_bytes_per_s is None else f"{units.text(demand.write_bytes_per_s, units.BANDWIDTH)} write",
    )
    return Input(
        name=demand.origin, value=", ".join(amount for amount in amounts if amount is not None), source=demand.source
    )


def _rule(storage: StorageDesign, rule: BoxRule) -> Input:
    of = storage.data if rule.of == "data" or storage.front is None else storage.front
    named = f"{rule.boxes:,} × {of.name}"
    if rule.needed is None or rule.per_box is None:
        return Input(name=rule.rule, value=named, source="catalog/storage_systems.csv")
    kind = units.BYTES if rule.rule == "capacity" else units.BANDWIDTH
    each = units.text(rule.per_box, kind)
    field = _FIELDS.get(rule.rule, "ports")
    source = "blueprint, targets.onprem.storage" if field in of.given else "catalog/parts.csv, storage_systems.csv"
    return Input(name=f"by {rule.rule}", value=f"{named}: {units.text(rule.needed, kind)} / {each}", source=source)
