"""Records as tables: the fields that hold one value each, as a DuckDB relation."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

from clusterwright.pricing.relation import relation

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    Relation: TypeAlias = DuckDBPyRelation
else:
    Relation = Any

_TYPES: Mapping[type, str] = {str: "varchar", int: "bigint", float: "double", bool: "boolean", dt.date: "date"}


def scalar_fields(record: type) -> dict[str, type]:
    """Return the fields of a record that hold one value each, or none, with the type of the value."""
    found: dict[str, type] = {}
    for name, hint in get_type_hints(record).items():
        kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
        if len(kinds) == 1 and kinds[0] in _TYPES:
            found[name] = kinds[0]
    return found


def table(rows: Sequence[Any], columns: Mapping[str, type]) -> Relation:
    """Return records, or mappings, as a relation with these columns."""
    values = [{name: row[name] if isinstance(row, Mapping) else getattr(row, name) for name in columns} for row in rows]
    return relation(values, {name: _TYPES[kind] for name, kind in columns.items()})
