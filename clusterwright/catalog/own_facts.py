"""Facts that a user puts in the place of the catalogue's, and things that the catalogue does not have."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from clusterwright.catalog.records import Catalogue

#: Kinds of things whose facts can be replaced, as the catalogue's tables are called.
TABLES = ("systems", "switches", "parts", "storage_systems")
LIKE, NAME = "like", "name"


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnFact:
    """One fact of a user.

    Attributes:
        entity: id in the catalogue, or a new one.
        attribute: field of its record, with its unit; `like` names the entity that a new one is equal to otherwise.
        value: what the user says; catalogue: what the catalogue has, None if it has nothing.
        source: file and line.
    """

    entity: str
    attribute: str
    value: float | str
    catalogue: float | str | None
    source: str


def record_of(catalogue: Catalogue, entity: str) -> tuple[str, Any] | None:
    """Return the table and the record of an entity, None if no table has it."""
    for name in TABLES:
        found = getattr(catalogue, name).get(entity)
        if found is not None:
            return name, found
    return None


def has_attribute(record: object, attribute: str) -> bool:
    """Tell whether a record has a field."""
    return attribute in {field.name for field in fields(record)}  # type: ignore[arg-type]


def with_facts(catalogue: Catalogue, facts: Iterable[OwnFact]) -> Catalogue:
    """Return the catalogue with a user's facts; those that name nothing it has are left out.

    Args:
        catalogue: as shipped.
        facts: of one entity in this order: `like`, then the others.
    """
    changed: dict[str, dict[str, Any]] = {}
    for fact in facts:
        origin = str(fact.value) if fact.attribute == LIKE else fact.entity
        current = replace(catalogue, **{name: getattr(catalogue, name) | more for name, more in changed.items()})
        found = record_of(current, origin)
        if found is None:
            continue
        table, record = found
        new = {"id": fact.entity} if fact.attribute == LIKE else {fact.attribute: fact.value}
        changed.setdefault(table, {})[fact.entity] = replace(record, **new)
    return replace(catalogue, **{name: getattr(catalogue, name) | more for name, more in changed.items()})
