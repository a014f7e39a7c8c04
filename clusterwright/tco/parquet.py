"""Writing of tables as Parquet files. It is here because only `pricing` and `tco` may use DuckDB, which writes them."""

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import InputError
from clusterwright.pricing.statements import in_memory, statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SWEPT_POINT = "tco/sql/swept_point.sql"


def write_swept_points(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the rows of a sweep, compressed with zstd. The file is replaced only after it is complete.

    Args:
        rows: rows with the columns of `tco/sql/swept_point.sql`; `varied_paths` and `varied_values` become one map.
        path: file to write; an existing one is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    connection = in_memory()
    connection.execute(f"create table swept_point as {statement(SWEPT_POINT)}", {"rows": [dict(row) for row in rows]})
    _write(connection, "swept_point", path)


def write_typed_rows(rows: Sequence[Mapping[str, str]], types: Mapping[str, str], path: Path) -> None:
    """Write rows of texts as typed columns, compressed with zstd; an empty text becomes null.

    Args:
        rows: texts by column.
        types: DuckDB type of every column, in order; names and types are our own, never a user's.
        path: file to write; an existing one is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    connection = in_memory()
    connection.execute("set timezone = 'UTC'")
    casts = ", ".join(f'cast(nullif("{name}", \'\') as {kind}) as "{name}"' for name, kind in types.items())
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "rows.csv"  # DuckDB takes seconds to insert thousands of wide Python rows
        with texts.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines, quoting=csv.QUOTE_ALL)
            writer.writerow(types)
            writer.writerows([row[name] for name in types] for row in rows)
        connection.execute(
            f"create table typed_row as select {casts} from "  # noqa: S608 - names and types are our own
            "read_csv($texts, header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')",
            {"texts": str(texts)},
        )
    _write(connection, "typed_row", path)


def _write(connection: "DuckDBPyConnection", table: str, path: Path) -> None:
    import duckdb  # noqa: PLC0415 - takes 0.2 s, and only commands with tables need it

    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            written = Path(folder) / "table.parquet"
            connection.table(table).write_parquet(str(written), compression="zstd")
            written.replace(path)
    except (OSError, duckdb.Error) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"{path} cannot be written: {reason}") from None
