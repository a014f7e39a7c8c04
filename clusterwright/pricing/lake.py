"""A price lake: the Parquet files that `prices export` writes, in a folder or on object storage, read where they lie.

The tables of a store become views over files, so that the same statements answer. Prices may lie in folders of any
depth (`observation/provider=aws/month=2026-09/…`); what a question does not ask about is not read. Object storage is
reached by whoever may use the network, who passes a function that returns a file system of fsspec (`Reach`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.statements import exactly, files, in_memory, literal, statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Layout of the tables in `pricing/store`.
VERSION = 1
PRICES = "observation"
VERSIONS = "store_version"
RATES = "exchange_rate"
_REMOTE = "s3://"
_UNDER = "use memory"
_ATTACH = "attach ':memory:' as store"


class StoreError(ClusterwrightError):
    """The store cannot be used as it is: it is held by another process, damaged, newer, or cannot be written."""

    exit_code = InputError.exit_code


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """Files on object storage: their addresses, and the file system (of fsspec) that reads them."""

    addresses: tuple[str, ...]
    file_system: Any


#: Returns the files under an address such as `s3://bucket/prefix`; `feeds.object_storage.reach` is one. It is passed by
#: the commands, so that nothing below them and the feeds uses the network by itself.
Reach: TypeAlias = Callable[[str], Reached]


def place_of(text: str | Path) -> str | Path:
    """Return where a store or a lake lies: an address of object storage as it is, anything else as a path.

    Raises:
        InputError: it is an address of something else.
    """
    if isinstance(text, Path):
        return text
    if text.startswith(_REMOTE):
        return _REMOTE + text.removeprefix(_REMOTE).strip("/")
    if "://" in text:
        raise InputError(
            f"{text} is no place for prices", help="name a file, a folder that `prices export` wrote, or s3://bucket/…"
        )
    return Path(text)


def is_lake(place: str | Path) -> bool:
    """Return whether a place is a folder or on object storage, and no file."""
    return isinstance(place, str) or place.is_dir()


def attach_lake(connection: "DuckDBPyConnection", place: str | Path, reach: Reach | None = None) -> tuple[str, ...]:
    """Make prices and exchange rates of a lake known to a connection, as `store.observation` and `store.exchange_rate`.

    Returns:
        The statements that make them known.

    Raises:
        StoreError: it is no lake, is newer than this program, or cannot be reached.
    """
    connection.execute(_ATTACH)
    return (_ATTACH, *_create_views(connection, place, (VERSIONS, PRICES, RATES), reach))


def lake_connection(place: str | Path, reach: Reach | None = None) -> "DuckDBPyConnection":
    """Return a connection on which the tables of a lake are known by their names.

    Raises:
        StoreError: as `attach_lake`.
    """
    connection = in_memory()
    connection.execute(_ATTACH)
    _create_views(connection, place, tables(), reach)
    connection.execute("use store")
    return connection


def tables() -> tuple[str, ...]:
    """Return the names of the tables of a store."""
    return tuple(path.stem.partition("_")[2] for path in files("pricing/store"))


def _create_views(
    connection: "DuckDBPyConnection", place: str | Path, wanted: Sequence[str], reach: Reach | None
) -> tuple[str, ...]:
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

    found = _files_of(connection, place, reach)
    if not found.get(VERSIONS):
        raise StoreError(
            f"{place} is no price lake: it has no {VERSIONS}.parquet",
            help="name a folder that `clusterwright prices export` wrote, or a file",
        )
    try:
        version = _rows(connection, f"select max(version) from read_parquet({literal(found[VERSIONS])})")[0][0]  # noqa: S608
        if version != VERSION:
            raise StoreError(
                f"{place} has layout {version}, this program knows layout {VERSION}",
                help="use a newer Clusterwright, or export the store again",
            )
        made = ["use store", *(_create_view(connection, place, name, found.get(name, ())) for name in wanted), _UNDER]
    except duckdb.Error as error:
        raise StoreError(
            f"{place} is no price lake: {last_line(error)}", help="export the store again, or name another place"
        ) from None
    return tuple(made)


def _create_view(connection: "DuckDBPyConnection", place: str | Path, table: str, addresses: Sequence[str]) -> str:
    """Create the view of a table, without files an empty table; return the statement that did.

    Columns have to be those of the store's layout.
    """
    (path,) = (path for path in files("pricing/store") if path.stem.endswith(f"_{table}"))
    connection.execute("use store")
    made = statement(f"pricing/store/{path.name}")
    connection.execute(made)
    layout: Mapping[str, str] = {row[0]: row[1] for row in _rows(connection, f"describe {table}")}
    if addresses:
        connection.execute(f"drop table {table}")
        hive = ", hive_partitioning = true, hive_types = {'provider': varchar}" if table == PRICES else ""
        source = f"read_parquet({literal(addresses)}{hive})"
        types = {row[0]: row[1] for row in _rows(connection, f"describe select * from {source}")}  # noqa: S608
        for name, wanted in layout.items():
            if types.get(name) != wanted and not (table == "document" and name == "content"):
                raise StoreError(
                    f"{place} is no price lake: column {name} of {table} is {types.get(name, 'missing')}, not {wanted}",
                    help="export the store again, or name another place",
                )
        possible = " where isfinite(usd) and usd > 0" if table == PRICES else ""
        made = f"create view {table} as select {', '.join(layout)} from {source}{possible}"  # noqa: S608
        connection.execute(made)
    connection.execute(_UNDER)
    return made


def _files_of(connection: "DuckDBPyConnection", place: str | Path, reach: Reach | None) -> dict[str, tuple[str, ...]]:
    """Return the addresses of the files of each table."""
    if isinstance(place, Path):
        root = place
        paths = sorted(root.rglob("*.parquet"))
        found = [exactly(path) for path in paths]
        relative = [path.relative_to(root).as_posix() for path in paths]
    else:
        if reach is None:
            raise StoreError(f"{place} cannot be reached from here", help="use the command line, or a folder")
        reached = reach(place)
        connection.register_filesystem(reached.file_system)
        found = [address for address in sorted(reached.addresses) if address.endswith(".parquet")]
        relative = [address.removeprefix(f"{place}/") for address in found]
    by_table: dict[str, list[str]] = {}
    for address, name in zip(found, relative, strict=True):
        by_table.setdefault(name.partition("/")[0].removesuffix(".parquet"), []).append(address)
    return {table: tuple(addresses) for table, addresses in by_table.items()}


def _rows(connection: "DuckDBPyConnection", text: str) -> list[tuple[Any, ...]]:
    return connection.execute(text).fetchall()


def last_line(error: Exception) -> str:
    """Return what went wrong; a failure of a file system ends with it, below the way it came."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines and lines[0].startswith("Traceback") else lines[0]


def damaged(place: Path | str, error: Exception) -> StoreError:
    """Return what is said of a store whose blocks cannot be read; DuckDB raises its base class for them."""
    return StoreError(
        f"{place} cannot be read to the end: {last_line(error)}",
        help="if it is damaged, put back a copy, or read an export into a new one: clusterwright prices restore",
    )
