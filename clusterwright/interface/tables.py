"""Records as tables: the fields that hold one value each, as a DuckDB relation."""

import datetime as dt
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

from clusterwright.pricing.statements import relation

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    Relation: TypeAlias = DuckDBPyRelation
else:
    Relation = Any

_TYPES: Mapping[type, str] = {str: "varchar", int: "bigint", float: "double", bool: "boolean", dt.date: "date"}


def scalar_fields(record: type, *inner: str) -> dict[str, type]:
    """Return the fields of a record that hold one value each, or none, with the type of the value.

    Args:
        record: its class.
        inner: names of records in it, whose fields are named by their path, such as `cluster.nodes`.
    """
    found: dict[str, type] = {}
    for name, hint in get_type_hints(record).items():
        if name in inner:
            found |= {f"{name}.{field}": kind for field, kind in scalar_fields(hint).items()}
        kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
        if len(kinds) == 1 and kinds[0] in _TYPES:
            found[name] = kinds[0]
    return found


def table(rows: Sequence[Any], columns: Mapping[str, type]) -> Relation:
    """Return records, or mappings, as a relation with these columns; of a path the last name is that of the column."""
    names = {path: path.rpartition(".")[2] for path in columns}
    values = [
        {name: row[path] if isinstance(row, Mapping) else attrgetter(path)(row) for path, name in names.items()}
        for row in rows
    ]
    return relation(values, {names[path]: _TYPES[kind] for path, kind in columns.items()})
