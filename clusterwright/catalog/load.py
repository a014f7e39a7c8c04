"""Loading the catalogue: every CSV file of `catalog/` into frozen records, audited, once per process.

Files in long form hold claims (`entity,attribute,value,unit,source,locator,status,note`), of which exactly one is
chosen per entity and attribute and fills the record's field. Wide files hold one record per line, with units.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright import assets
from clusterwright.catalog import audits, tables
from clusterwright.catalog import audits as cloud_audits
from clusterwright.catalog.audits import PlacedClaim
from clusterwright.catalog.clouds.objects import CapacityObject, Offering, PlacementObject, Quota, Region
from clusterwright.catalog.parts.supplies import Cooling, Supply
from clusterwright.catalog.provenance import Claim, Source
from clusterwright.catalog.records import Accelerator, Catalogue, Instance, Model, Part, Switch, System
from clusterwright.catalog.storage import StorageSystem
from clusterwright.catalog.tables import Row, TableError
from clusterwright.catalog.tpu import TpuSlice
from clusterwright.errors import ClusterwrightError

#: Long files whose claims fill a record: the claims, the index with the entities' names, the record.
LONG: tuple[tuple[str, str, type], ...] = (
    ("accelerators.csv", "accelerator_names.csv", Accelerator),
    ("systems.csv", "system_names.csv", System),
    ("cooling.csv", "cooling_names.csv", Cooling),
)
#: Wide files: one record per line.
WIDE: tuple[tuple[str, type], ...] = (
    ("instances.csv", Instance),
    ("switches.csv", Switch),
    ("parts.csv", Part),
    ("models.csv", Model),
    ("storage_systems.csv", StorageSystem),
    ("feeds.csv", Supply),
)
#: What the rows of `instances.csv` refer to: the field of the catalogue, the file, the record.
OBJECTS: tuple[tuple[str, str, type], ...] = (
    ("capacity_objects", "capacity_objects.csv", CapacityObject),
    ("placement_objects", "placement_objects.csv", PlacementObject),
    ("quotas", "quotas.csv", Quota),
    ("tpu_slices", "tpu_slices.csv", TpuSlice),
    ("regions", "regions.csv", Region),
)
OFFERINGS = "offerings.csv"
#: Disputed cells of the wide files; the chosen claim must say what the cell says.
DISPUTES = "disputes.csv"
#: Claims that no record holds: rules of thumb, cables, processors, whole pods.
TOPICS = "topics.csv"
SOURCES = "sources.csv"
ALIASES = "aliases.csv"

_VERSION_DIGITS = 12
_CLAIM_COLUMNS = ("entity", "attribute", "value", "unit", "source", "locator", "status", "note")


def load(folder: Path | None = None) -> Catalogue:
    """Return the catalogue, read and audited once per process and folder.

    Args:
        folder: where the CSV files lie; the shipped `catalog/` if None.

    Raises:
        ClusterwrightError: a file is missing or an audit fails; every fault is listed with file and line.
    """
    return _load(folder if folder is not None else assets.root() / "catalog")


@cache
def _load(folder: Path) -> Catalogue:
    return _Reader(folder).catalogue()


class _Reader:
    """Reads one folder, collecting faults so that all are shown at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self.places: list[tuple[str, str]] = []
        self.claims: list[PlacedClaim] = []

    def catalogue(self) -> Catalogue:
        sources = self._sources()
        records: dict[type, dict[str, Any]] = {}
        placed: dict[type, list[tuple[str, Any]]] = {}
        for claims_file, names_file, long_record in LONG:
            placed[long_record] = self._long(claims_file, names_file, long_record)
        for wide_file, wide_record in WIDE:
            placed[wide_record] = self._wide(wide_file, wide_record)
        for kind, entries in placed.items():
            records[kind] = {entry.id: entry for _, entry in entries}
            for place, entry in entries:
                self.places.append((place, entry.id))
                self.faults += audits.audit_record(place, entry)
                source = getattr(entry, "source", "")
                if source and source not in sources:
                    self.faults.append(f"{place}: source {source!r} is not in {SOURCES}")
        self._disputes({entity: entry for group in records.values() for entity, entry in group.items()})
        self._topics()
        self.faults += audits.audit_claims(self.claims, sources)
        self.faults += audits.audit_ids(self.places)
        self.faults += audits.audit_accelerator_ids(placed[System] + placed[Instance], records[Accelerator])
        aliases = self._aliases({entity for _, entity in self.places})
        objects = self._objects(placed[Instance], sources)
        offerings = self._offerings(records[Instance], sources)
        self._raise_faults()
        placements: dict[str, PlacementObject] = objects["placement_objects"]
        return Catalogue(
            version=_version(self.folder),
            accelerators=records[Accelerator],
            systems=records[System],
            instances={key: _limited(entry, placements) for key, entry in records[Instance].items()},
            switches=records[Switch],
            parts=records[Part],
            models=records[Model],
            storage_systems=records[StorageSystem],
            cooling=records[Cooling],
            feeds=records[Supply],
            claims=tuple(placed_claim.claim for placed_claim in self.claims),
            sources=sources,
            aliases=aliases,
            offerings=offerings,
            **objects,
        )

    def _objects(self, instances: list[tuple[str, Instance]], sources: dict[str, Source]) -> dict[str, dict[str, Any]]:
        """Return what instance types refer to, by the catalogue's field and by id."""
        found: dict[str, dict[str, Any]] = {}
        for field, file, record in OBJECTS:
            entries = self._wide(file, record)
            self.faults += audits.audit_ids((place, entry.id) for place, entry in entries)
            self.faults += [
                f"{place}: source {source!r} is not in {SOURCES}"
                for place, entry in entries
                for source in _sources_of(entry)
                if source not in sources
            ]
            if record is CapacityObject:
                self.faults += cloud_audits.audit_capacity(entries)
            found[field] = {entry.id: entry for _, entry in entries}
        self.faults += cloud_audits.audit_references(
            instances,
            capacity=found["capacity_objects"],
            placements=found["placement_objects"],
            quotas=found["quotas"],
        )
        return found

    def _offerings(self, instances: dict[str, Instance], sources: dict[str, Source]) -> tuple[Offering, ...]:
        entries: list[tuple[str, Offering]] = self._wide(OFFERINGS, Offering)
        for place, entry in entries:
            if entry.instance not in instances:
                self.faults.append(f"{place}: {entry.instance!r} is not in instances.csv")
            if entry.source not in sources:
                self.faults.append(f"{place}: source {entry.source!r} is not in {SOURCES}")
        return tuple(entry for _, entry in entries)

    def _rows(self, file: str) -> list[Row]:
        path = self.folder / file
        try:
            return tables.read(path)
        except OSError as error:
            raise ClusterwrightError(
                f"cannot read the catalogue's file {path}: {error.strerror}", help="install Clusterwright again"
            ) from error
        except TableError as error:
            self.faults.append(f"{file}: {error}")
            return []

    def _raise_faults(self) -> None:
        if self.faults:
            count = len(self.faults)
            raise ClusterwrightError(
                f"the catalogue in {self.folder} has {count} fault{'s' if count > 1 else ''}:\n  "
                + "\n  ".join(self.faults),
                help="correct the files at the places named",
            )

    def _attempt(self, place: str, action: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        try:
            return action(*arguments)
        except TableError as error:
            self.faults.append(f"{place}: {error}")
            return None

    def _sources(self) -> dict[str, Source]:
        entries: list[tuple[str, Source]] = self._wide(SOURCES, Source)
        self.faults += audits.audit_sources(entries)
        self.faults += audits.audit_ids((place, source.id) for place, source in entries)
        return {source.id: source for _, source in entries}

    def _values(self, record: type, row: Row) -> dict[str, Any]:
        return {name: self._attempt(row.place, tables.value_of, record, name, cell) for name, cell in row.cells.items()}

    def _wide(self, file: str, record: type) -> list[tuple[str, Any]]:
        before = len(self.faults)
        rows = [(row.place, self._values(record, row)) for row in self._rows(file)]
        if len(self.faults) > before:
            return []
        built = [(place, self._attempt(place, tables.build, record, values)) for place, values in rows]
        return [(place, entry) for place, entry in built if entry is not None]

    def _long(self, claims_file: str, names_file: str, record: type) -> list[tuple[str, Any]]:
        before = len(self.faults)
        named = {row.cells.get("id", ""): (row.place, self._values(record, row)) for row in self._rows(names_file)}
        claimed: dict[str, dict[str, Any]] = {entity: {} for entity in named}
        for placed in self._claims(claims_file, lambda claim: tables.value_of(record, claim.attribute, _text(claim))):
            claim = placed.claim
            if claim.entity not in named:
                self.faults.append(f"{placed.place}: {claim.entity!r} is not in {names_file}")
            elif claim.attribute in named[claim.entity][1]:
                self.faults.append(f"{placed.place}: {claim.attribute} of {claim.entity} stands in {names_file} too")
            elif claim.status == "chosen":
                claimed[claim.entity][claim.attribute] = placed.value
        if len(self.faults) > before:
            return []
        built = [
            (place, self._attempt(place, tables.build, record, values | claimed[entity]))
            for entity, (place, values) in named.items()
        ]
        return [(place, entry) for place, entry in built if entry is not None]

    def _claims(self, file: str, read_value: Callable[[Claim], Any]) -> Iterable[PlacedClaim]:
        for row in self._rows(file):
            claim = Claim(**{column: row.cells.get(column, "") for column in _CLAIM_COLUMNS})
            before = len(self.faults)
            value = self._attempt(row.place, read_value, claim)
            if len(self.faults) > before:
                continue
            placed = PlacedClaim(claim=claim, place=row.place, value=value)
            self.claims.append(placed)
            yield placed

    def _disputes(self, entities: dict[str, Any]) -> None:
        def read_value(claim: Claim) -> Any:  # noqa: ANN401 - any field's type
            if claim.entity not in entities:
                raise TableError(f"{claim.entity!r} is in none of the wide files")
            return tables.value_of(type(entities[claim.entity]), claim.attribute, _text(claim))

        for placed in self._claims(DISPUTES, read_value):
            claim = placed.claim
            cell = getattr(entities[claim.entity], claim.attribute)
            if claim.status == "chosen" and cell != placed.value:
                self.faults.append(
                    f"{placed.place}: the chosen claim says {placed.value!r}, {claim.entity}'s record says {cell!r}"
                )

    def _topics(self) -> None:
        for _ in self._claims(TOPICS, lambda claim: tables.free_value(claim.attribute, _text(claim))):
            pass

    def _aliases(self, known: set[str]) -> dict[str, str]:
        aliases: dict[str, str] = {}
        for row in self._rows(ALIASES):
            alias, entity = row.cells.get("alias", ""), row.cells.get("id", "")
            if entity not in known:
                self.faults.append(f"{row.place}: {entity!r} is not the id of anything")
            if alias in aliases or alias in known:
                self.faults.append(f"{row.place}: {alias!r} already names something")
            aliases[alias] = entity
        return aliases


def _sources_of(entry: Any) -> tuple[str, ...]:  # noqa: ANN401 - a record of any of the files
    """Return the sources that a record names; a region has several."""
    return (*entry.zones_listed_by, *entry.listed_by) if isinstance(entry, Region) else (entry.source,)


def _limited(entry: Instance, placements: dict[str, PlacementObject]) -> Instance:
    """Return an instance type with the most nodes that its placement holds."""
    if entry.placement_kind is None:
        return entry
    most = placements[entry.placement_kind].most_nodes(chips_per_node=entry.gpus)
    return replace(entry, placement_max_nodes=most)


def _version(folder: Path) -> str:
    """Return a short hash of every CSV file of the folder, by name and bytes, so that a plan can name its facts."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:_VERSION_DIGITS]


def _text(claim: Claim) -> str:
    return f"{claim.value} {claim.unit}".rstrip()
