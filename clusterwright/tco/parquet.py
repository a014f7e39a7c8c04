"""Tables as Parquet files. Here because DuckDB, which writes them, runs in `pricing` and `tco` alone."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright.errors import InputError
from clusterwright.pricing.connection import in_memory
from clusterwright.pricing.statements import statement

SWEPT_POINT = "tco/sql/swept_point.sql"


def write_swept_points(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a sweep's rows, compressed with zstd; the file appears whole or not at all.

    Args:
        rows: with the columns of `tco/sql/swept_point.sql`; `varied_paths` and `varied_values` become one map.
        path: of the file; one that exists is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with tables pay

    connection = in_memory()
    connection.execute(f"create table swept_point as {statement(SWEPT_POINT)}", {"rows": [dict(row) for row in rows]})
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            written = Path(folder) / "table.parquet"
            connection.table("swept_point").write_parquet(str(written), compression="zstd")
            written.replace(path)
    except (OSError, duckdb.Error) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"{path} cannot be written: {reason}") from None
