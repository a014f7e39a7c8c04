"""Audits of what cloud instance types refer to: every id exists and is of the same cloud, every limit makes sense."""

from collections.abc import Iterable, Mapping

from clusterwright.catalog.cloud_objects import PLACEMENTS, CapacityObject, PlacementObject, Quota
from clusterwright.catalog.records import Instance

VENDOR_SOFTWARE = ("nvidia", "rocm", "neuron", "tpu", "gaudi")


def audit_references(
    instances: Iterable[tuple[str, Instance]],
    *,
    capacity: Mapping[str, CapacityObject],
    placements: Mapping[str, PlacementObject],
    quotas: Mapping[str, Quota],
) -> list[str]:
    """Return a fault for every id that an instance type refers to and that is not there or is another cloud's.

    Args:
        instances: (place, instance type).
        capacity: capacity objects by id.
        placements: placement objects by id.
        quotas: quotas by id.
    """
    faults: list[str] = []
    for place, entry in instances:
        tables: tuple[tuple[str, tuple[str, ...], Mapping[str, CapacityObject | PlacementObject | Quota]], ...] = (
            ("capacity object", entry.capacity_objects, capacity),
            ("placement object", (entry.placement_kind,) if entry.placement_kind else (), placements),
            ("quota", (entry.quota,) if entry.quota else (), quotas),
        )
        for what, names, known in tables:
            for name in names:
                if name not in known:
                    faults.append(f"{place}: {what} {name!r} of {entry.id} is in no table")
                elif known[name].cloud != entry.cloud:
                    faults.append(f"{place}: {what} {name!r} of {entry.id} is of {known[name].cloud}")
        kinds = [capacity[name].kind for name in entry.capacity_objects if name in capacity]
        if len(kinds) != len(set(kinds)):
            faults.append(f"{place}: {entry.id} has two capacity objects of one kind")
        if not kinds:
            faults.append(f"{place}: {entry.id} can be had by no kind of capacity")
        if entry.vendor_software not in VENDOR_SOFTWARE:
            faults.append(f"{place}: vendor software {entry.vendor_software!r} is none of {', '.join(VENDOR_SOFTWARE)}")
    return faults


def audit_capacity(objects: Iterable[tuple[str, CapacityObject]]) -> list[str]:
    """Return a fault for every capacity object whose limits contradict each other."""
    faults: list[str] = []
    for place, entry in objects:
        if entry.placement not in PLACEMENTS:
            faults.append(f"{place}: placement {entry.placement!r} is none of {', '.join(PLACEMENTS)}")
        if entry.node_counts and entry.max_nodes != max(entry.node_counts):
            faults.append(f"{place}: the largest of node_counts is not max_nodes")
        days = (entry.least_days, entry.daily_up_to_days, entry.most_days)
        known = [day for day in days if day is not None]
        if known != sorted(known) or (entry.daily_up_to_days is None) != (entry.step_days is None):
            faults.append(f"{place}: the days of {entry.id} contradict each other")
    return faults
