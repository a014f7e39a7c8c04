"""How DuckDB is opened for answers that are computed in memory."""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def in_memory() -> "DuckDBPyConnection":
    """Return a database in memory that uses one thread and draws nothing on stdout."""
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

    connection = duckdb.connect(config={"threads": 1})
    without_progress_bar(connection)
    return connection


def of_its_own() -> "DuckDBPyConnection":
    """Return a connection for temporary tables, which it alone sees, in the one database in memory of this process.

    It opens at once, where a database takes 20 ms; each connection is good for one answer.
    """
    connection = _database().cursor()
    without_progress_bar(connection)
    return connection


@cache
def _database() -> "DuckDBPyConnection":
    return in_memory()


def exactly(path: Path) -> str:
    """Return a path as DuckDB's readers take it for that file and no other: they read patterns in names.

    >>> exactly(Path("export[1].csv"))
    'export[[]1].csv'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def without_progress_bar(connection: "DuckDBPyConnection") -> None:
    """Keep DuckDB from drawing a progress bar, which it does on stdout after two seconds: into the middle of JSON."""
    connection.execute("set enable_progress_bar = false")
