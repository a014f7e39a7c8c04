"""Audits of the catalogue: what must hold for every claim and every record, each fault with its place."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from clusterwright.catalog.clouds.objects import PLACEMENTS, CapacityObject, PlacementObject, Quota
from clusterwright.catalog.provenance import Claim, Source
from clusterwright.catalog.records import Accelerator, Instance, System
from clusterwright.catalog.tables import kind_of

STATUSES = ("chosen", "rejected")
CONFIDENCES = ("high", "medium", "low")

#: Bounds outside which a value is a slip of the pen, by the kind of quantity, in SI units.
_BOUNDS = {
    "bandwidth": (1e6, 1e15),
    "FLOP rate": (1e11, 1e20),
    "integer operation rate": (1e11, 1e18),
    "size": (1.0, 1e17),
    "power": (0.01, 1e6),
    "mass": (0.01, 5000.0),
    "rack height": (0.0, 60.0),
    "length": (0.1, 100_000.0),
    "airflow": (1.0, 10_000.0),
    "time": (1e-9, 1e9),
    "fraction": (0.0, 1.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedClaim:
    """A claim, where it is, and its value in SI units."""

    claim: Claim
    place: str
    value: Any


def audit_claims(claims: Iterable[PlacedClaim], sources: Mapping[str, Source]) -> list[str]:
    """Return the faults of claims: unknown status or source, not exactly one chosen, the same claim twice.

    Every rejected claim must say why in its note.
    """
    faults: list[str] = []
    chosen: dict[tuple[str, str], list[PlacedClaim]] = defaultdict(list)
    first: dict[tuple[str, str], PlacedClaim] = {}
    seen: dict[tuple[str, ...], str] = {}
    for placed in claims:
        claim = placed.claim
        key = (claim.entity, claim.attribute)
        first.setdefault(key, placed)
        if claim.status == "chosen":
            chosen[key].append(placed)
        elif claim.status not in STATUSES:
            faults.append(f"{placed.place}: status {claim.status!r} is neither chosen nor rejected")
        elif not claim.note:
            faults.append(f"{placed.place}: a rejected claim needs its reason in the note")
        if claim.source not in sources:
            faults.append(f"{placed.place}: source {claim.source!r} is not in sources.csv")
        identity = (*key, claim.value, claim.unit, claim.source, claim.locator)
        if identity in seen:
            faults.append(f"{placed.place}: the same claim stands at {seen[identity]}")
        seen[identity] = placed.place
        faults += _out_of_bounds(placed.place, claim.attribute, placed.value)
    for (entity, attribute), placed in first.items():
        places = [other.place for other in chosen[entity, attribute]]
        if not places:
            faults.append(f"{placed.place}: no claim is chosen for {attribute} of {entity}")
        elif len(places) > 1:
            faults.append(
                f"{places[-1]}: {len(places)} claims are chosen for {attribute} of {entity}, also {places[0]}"
            )
    return faults


def _out_of_bounds(place: str, attribute: str, value: object) -> list[str]:
    kind = kind_of(attribute)
    if kind is None or not isinstance(value, (int, float)):
        return []
    low, high = _BOUNDS.get(kind.name, (0.0, float("inf")))
    if low <= value <= high:
        return []
    return [f"{place}: {attribute} is {value:g} {kind.base}, outside {low:g} to {high:g}"]


def audit_record(place: str, record: Any) -> list[str]:  # noqa: ANN401 - any of the catalogue's records
    """Return the faults of one record: bounds of every quantity, and what its kind of record requires."""
    faults: list[str] = []
    for name in record.__slots__:
        faults += _out_of_bounds(place, name, getattr(record, name))
    if getattr(record, "source", "-") == "":
        faults.append(f"{place}: {record.id} has no source")
    if isinstance(record, Accelerator):
        faults += _sparse_below_dense(place, record) + _slower_when_narrower(place, record)
    return faults


def _sparse_below_dense(place: str, accelerator: Accelerator) -> list[str]:
    pairs = (
        ("bf16", accelerator.dense_bf16_flop_per_s, accelerator.sparse_bf16_flop_per_s),
        ("fp8", accelerator.dense_fp8_flop_per_s, accelerator.sparse_fp8_flop_per_s),
    )
    return [
        f"{place}: the sparse {name} peak of {accelerator.id} is not above the dense one"
        for name, dense, sparse in pairs
        if dense is not None and sparse is not None and sparse <= dense
    ]


def _slower_when_narrower(place: str, accelerator: Accelerator) -> list[str]:
    # A narrower number is never slower; a higher rate for the wider one is a sparse figure taken for a dense one.
    rates = (
        ("tf32", accelerator.dense_tf32_flop_per_s),
        ("bf16", accelerator.dense_bf16_flop_per_s),
        ("fp8", accelerator.dense_fp8_flop_per_s),
        ("fp4", accelerator.dense_fp4_flop_per_s),
    )
    known = [(name, rate) for name, rate in rates if rate is not None]
    return [
        f"{place}: the dense {wide} peak of {accelerator.id} is above the {narrow} one"
        for (wide, high), (narrow, low) in pairwise(known)
        if high > low
    ]


def audit_accelerator_ids(
    users: Iterable[tuple[str, System | Instance]], accelerators: Mapping[str, Accelerator]
) -> list[str]:
    """Return a fault for every system or instance without a known accelerator or with a GPU count below one."""
    faults: list[str] = []
    for place, user in users:
        if user.accelerator not in accelerators:
            faults.append(f"{place}: accelerator {user.accelerator!r} of {user.id} is not in accelerators.csv")
        if user.gpus < 1:
            faults.append(f"{place}: {user.id} has {user.gpus} accelerators")
    return faults


def audit_ids(owners: Iterable[tuple[str, str]]) -> list[str]:
    """Return a fault for every id that two entities share, whatever their kinds; `owners` yields (place, id)."""
    faults: list[str] = []
    seen: dict[str, str] = {}
    for place, entity in owners:
        if entity in seen:
            faults.append(f"{place}: id {entity!r} is already used at {seen[entity]}")
        seen.setdefault(entity, place)
    return faults


def audit_sources(sources: Iterable[tuple[str, Source]]) -> list[str]:
    """Return a fault for every source whose confidence is not one of high, medium, low."""
    return [
        f"{place}: confidence {source.confidence!r} is none of {', '.join(CONFIDENCES)}"
        for place, source in sources
        if source.confidence not in CONFIDENCES
    ]


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
