"""The price store: one DuckDB file to which prices are only ever added, with the documents they come from.

Everything that one reading of a document adds is one transaction, so that a process that dies leaves the store as it
was or as it should be. DuckDB lets one process at a time open a file for writing; a second one waits.
"""

import datetime as dt
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clusterwright.errors import InputError
from clusterwright.pricing.lake import (
    VERSION,
    Reach,
    StoreError,
    attach_lake,
    damaged,
    is_lake,
    lake_connection,
    place_of,
)
from clusterwright.pricing.statements import files, literal, statement, without_progress_bar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Seconds that a second process waits for the store.
WAIT_S = 30.0
_POLL_S = 0.1
#: USD for one unit of a currency: outside of these no money is, and sums would not be finite.
_LEAST_RATE, _MOST_RATE = 1e-9, 1e6
STORE_VARIABLE = "CLUSTERWRIGHT_STORE"


def default_path() -> str | Path:
    """Return where the store lies: CLUSTERWRIGHT_STORE, else `clusterwright/prices.duckdb` in the user's data folder.

    The data folder is XDG_DATA_HOME, else `~/.local/share`. The variable may name a lake too.
    """
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return place_of(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "clusterwright" / "prices.duckdb"


class PriceStore:
    """An open price store. Open it with `PriceStore.open`, close it with `close` or a `with` block."""

    def __init__(self, connection: "DuckDBPyConnection", path: str | Path) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        read_only: bool = False,
        wait_s: float = WAIT_S,
        reach: Reach | None = None,
    ) -> Self:
        """Open a store; one that does not exist is created unless `read_only`.

        Args:
            path: of the file, `default_path` if None; a lake (`lake.py`) can be read only.
            read_only: other processes may read at the same time; nothing can be added.
            wait_s: seconds to wait while another process holds the store.
            reach: lists object storage; without it a lake there cannot be read.

        Raises:
            StoreError: it is held by another process for longer, is no store, is newer than this program, or cannot be
                written.
        """
        place = default_path() if path is None else place_of(path)
        if isinstance(place, str) or is_lake(place):
            if not read_only:
                raise StoreError(
                    f"{place} is a price lake, which is read and never written",
                    help="add prices to a store (a file, --store) and export that one",
                )
            return cls(lake_connection(place, reach), place)
        if read_only and not place.is_file():
            raise StoreError(f"there is no price store at {place}", help="make one: clusterwright prices fetch --help")
        if not read_only:
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{place.parent} cannot be made: {error.strerror}", help="name one: --store") from None
        connection = _connected(place, read_only=read_only, wait_s=wait_s)
        import duckdb  # noqa: PLC0415

        try:
            if not read_only:
                _prepared(connection)
            _check_version(connection, place)
        except BaseException as error:
            with _quietly():
                connection.close()
            if isinstance(error, duckdb.IOException | duckdb.TransactionException | duckdb.FatalException):
                raise _unwritable(place, error) from error
            if type(error) is duckdb.Error:
                raise damaged(place, error) from error
            raise
        return cls(connection, place)

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the file; other processes may open it then."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator["DuckDBPyConnection"]:
        """Run a block as one transaction: all of it is stored, or nothing.

        Raises:
            StoreError: the disk is full, or the file cannot be written.
        """
        import duckdb  # noqa: PLC0415 - 0.2 s that only commands with a store pay

        self.connection.begin()
        try:
            yield self.connection
            self.connection.commit()
        except BaseException as error:
            with _quietly():
                self.connection.rollback()
            # A log that cannot be written fails the commit; a disk that fails later invalidates the open database.
            failures = (
                duckdb.IOException,
                duckdb.OutOfMemoryException,
                duckdb.TransactionException,
                duckdb.FatalException,
            )
            if isinstance(error, failures):
                raise _unwritable(self.path, error) from error
            if type(error) is duckdb.Error:
                raise damaged(self.path, error) from error
            raise

    def rows(self, path: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of a statement; a store that is damaged is a StoreError."""
        import duckdb  # noqa: PLC0415 - 0.2 s that only commands with a store pay

        try:
            cursor = self.connection.execute(statement(path), parameters or {})
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            if type(error) is duckdb.Error:
                raise damaged(self.path, error) from error
            raise

    def add_exchange_rate(self, *, currency: str, day: dt.date, usd_per_currency: float, source: str) -> None:
        """Store what one unit of a currency was worth in USD on a day.

        Raises:
            InputError: the rate is that of no currency, or another one is stored for that day.
        """
        if not _LEAST_RATE <= usd_per_currency <= _MOST_RATE:
            wrong = f"a rate of {usd_per_currency:g} USD for one {currency} is impossible"
            raise InputError(wrong, help="write what one is worth in USD, for example 1.08")
        known = self.rows("pricing/sql/exchange_rate.sql", {"currency": currency, "day": day})
        if known and known[0]["usd_per_currency"] != usd_per_currency:
            raise InputError(
                f"{currency} on {day} is stored with {known[0]['usd_per_currency']:g} USD from {known[0]['source']}",
                help="rates are never changed; leave it, or use another day",
            )
        if not known:
            with self.transaction() as connection:
                connection.execute(
                    statement("pricing/sql/add_exchange_rate.sql"),
                    {"currency": currency, "day": day, "usd_per_currency": usd_per_currency, "source": source},
                )

    def release(self, quarantine_ids: list[int], *, reason: str) -> int:
        """Let prices out of quarantine; they are used from the day they were seen. Return how many.

        Raises:
            InputError: no reason is given, a number is not in quarantine, or a price cannot be used in any case.
        """
        if not reason.strip():
            raise InputError("a price is released with a reason", help="--reason 'the provider confirmed it'")
        waiting = {row["quarantine_id"]: row for row in self.rows("pricing/sql/in_quarantine.sql", {"gate": ""})}
        unknown = sorted(set(quarantine_ids) - set(waiting))
        if unknown:
            raise InputError(
                f"not in quarantine: {', '.join(map(str, unknown))}", help="list it: clusterwright prices quarantine"
            )
        unusable = [number for number in quarantine_ids if not waiting[number]["usable"]]
        if unusable:
            raise InputError(
                f"without a product or a price in USD above 0, or without a day: {', '.join(map(str, unusable))}",
                help="store the exchange rate (clusterwright prices rate --help), or read a corrected document",
            )
        with self.transaction() as connection:
            asked = {"quarantine_ids": list(quarantine_ids), "reason": reason.strip()}
            connection.execute(statement("pricing/sql/released.sql"), asked)
            connection.execute(statement("pricing/sql/add_release.sql"), asked)
        return len(quarantine_ids)


def attach(
    connection: "DuckDBPyConnection", path: str | Path | None = None, reach: Reach | None = None
) -> tuple[str, ...]:
    """Attach a store or a lake, read only, as the database `store`; return the statements that did, none without one.

    Args:
        connection: where to.
        path: of the store; if None, the default one, which need not exist.
        reach: lists object storage; without it a lake there cannot be read.

    Raises:
        StoreError: it is held by another process for longer, is none, or is newer than this program.
    """
    place = default_path() if path is None else place_of(path)
    if isinstance(place, str) or is_lake(place):
        return attach_lake(connection, place, reach)
    if path is None and not place.is_file():
        return ()
    PriceStore.open(place, read_only=True).close()
    text = f"attach {literal(place.absolute())} as store (read_only)"
    connection.execute(text)
    return (text,)


def _connected(place: Path, *, read_only: bool, wait_s: float) -> "DuckDBPyConnection":
    import duckdb  # noqa: PLC0415

    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection = duckdb.connect(str(place), read_only=read_only)
        except duckdb.Error as error:
            is_held = isinstance(error, duckdb.IOException) and "lock on file" in str(error)  # not: "block at location"
            if is_held and time.monotonic() < deadline:
                time.sleep(_POLL_S)
                continue
            if is_held:
                raise StoreError(
                    f"the price store {place} is held by another process: {_first_line(error)}",
                    help="wait until it has ended, or name another store with --store",
                ) from None
            raise StoreError(
                f"{place} cannot be opened as a price store: {_first_line(error)}",
                help="name another one with --store; the file was left as it is",
            ) from None
        else:
            without_progress_bar(connection)
            return connection


def _prepared(connection: "DuckDBPyConnection") -> None:
    """Create the tables of a new store; a store of a newer layout is left alone."""
    tables = {row[0] for row in connection.execute(statement("pricing/sql/store_table.sql")).fetchall()}
    if "store_version" in tables:
        return
    if tables:
        raise StoreError(
            "this DuckDB file holds other tables", help="name another file with --store; it was left as it is"
        )
    connection.begin()
    for path in files("pricing/store"):
        connection.execute(statement(f"pricing/store/{path.name}"))
    connection.execute(statement("pricing/sql/add_store_version.sql"), {"version": VERSION})
    connection.commit()


def _check_version(connection: "DuckDBPyConnection", place: Path) -> None:
    tables = {row[0] for row in connection.execute(statement("pricing/sql/store_table.sql")).fetchall()}
    if "store_version" not in tables:
        raise StoreError(f"{place} is a DuckDB file, but no price store", help="name another one with --store")
    version = connection.execute(statement("pricing/sql/store_version.sql")).fetchall()[0][0]
    if version != VERSION:
        raise StoreError(
            f"{place} has layout {version}, this program knows layout {VERSION}",
            help="use a newer Clusterwright, or name another store with --store",
        )


@contextmanager
def _quietly() -> Iterator[None]:
    """Let a second failure pass, so that the first one is reported."""
    import duckdb  # noqa: PLC0415

    try:
        yield
    except duckdb.Error:
        return


def _unwritable(place: Path | str, error: Exception) -> StoreError:
    return StoreError(
        f"{place} cannot be written: {_first_line(error)}",
        help="nothing was stored; make room or name another place with --store, and run again",
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
