"""Rows of a program as a DuckDB relation. Here because DuckDB runs in `pricing` and `tco` alone."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterwright.pricing.statements import in_memory

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def relation(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> "DuckDBPyRelation":
    """Return rows as a relation in a database of its own, which lives as long as the relation.

    Args:
        rows: values by column.
        types: DuckDB's type of every column, in order; names and types are our own, never a user's.
    """
    connection = in_memory()
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    connection.execute(f"create table answer ({columns})")
    shape = json.dumps([dict(types)])
    # Rows go in as JSON, which DuckDB reads faster than Python's values one by one.
    connection.execute(
        "insert into answer select unnest(from_json(cast($rows as json), $shape), recursive := true)",
        {"rows": json.dumps(rows, default=str), "shape": shape},
    )
    return connection.table("answer")
