"""How DuckDB is opened for answers that are computed in memory."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def in_memory() -> "DuckDBPyConnection":
    """Return a database in memory that uses one thread and draws nothing on stdout."""
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

    connection = duckdb.connect(config={"threads": 1})
    without_progress_bar(connection)
    return connection


def without_progress_bar(connection: "DuckDBPyConnection") -> None:
    """Keep DuckDB from drawing a progress bar, which it does on stdout after two seconds: into the middle of JSON."""
    connection.execute("set enable_progress_bar = false")
