"""A price store as Parquet files, for other tools and other machines, and back.

Each table is one file, except the prices, which are a folder for each provider, so that whoever reads a lake reads only
what is asked for. An archive is read back into an empty store only: prices keep the day on which they were seen, and
old days slipped into a store that people use would change its answers as of those days.
"""

import shutil
from pathlib import Path
from typing import Any

from clusterwright.errors import InputError
from clusterwright.pricing.lake import PRICES, VERSION, VERSIONS, damaged, tables
from clusterwright.pricing.statements import exactly, literal
from clusterwright.pricing.store import PriceStore

#: Documents are kept whole in the store only; an archive has their hashes and addresses.
_LEFT_OUT = {"document": "content"}


def export_archive(store: PriceStore, folder: Path) -> int:
    """Write a store into a new folder of Parquet files; return the number of prices.

    The folder is written beside its place and renamed, so that it is never half there.

    Raises:
        InputError: the folder exists, or cannot be written. StoreError: the store is damaged.
    """
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with a store pay

    if folder.exists():
        raise InputError(f"{folder} is there already", help="name a new folder")
    beside = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        for table in tables():
            if table == PRICES:
                form = "format parquet, compression zstd, partition_by (provider)"
                # In this order a reader skips the rows of other products.
                ordered = f"select * from {table} order by provider, sku, region, zone, term, observed_on"  # noqa: S608
                store.connection.execute(f"copy ({ordered}) to {literal(beside / table)} ({form})")
                continue
            columns = f"* replace (null as {_LEFT_OUT[table]})" if table in _LEFT_OUT else "*"
            target = literal(beside / f"{table}.parquet")
            store.connection.execute(f"copy (select {columns} from {table}) to {target} (format parquet)")  # noqa: S608 - our own names
        count = _count(store, PRICES)
        beside.rename(folder)
    except (OSError, duckdb.Error) as error:
        shutil.rmtree(beside, ignore_errors=True)
        if type(error) is duckdb.Error:
            raise damaged(store.path, error) from error
        if not isinstance(error, OSError | duckdb.IOException):
            raise
        raise InputError(f"{folder} cannot be written: {str(error).splitlines()[0]}", help="make room") from None
    return count


def import_archive(store: PriceStore, folder: Path) -> int:
    """Read an archive into an empty store, all of it or nothing; return the number of prices.

    Raises:
        InputError: the store has prices, or the folder is no archive of this layout, or holds impossible prices.
        StoreError: the store cannot be written.
    """
    import duckdb  # noqa: PLC0415

    if _count(store, "ingest"):
        raise InputError(
            f"{store.path} has prices; an archive is read into an empty store",
            help="name a new one with --store: old days in a store that is used would change its answers",
        )
    missing = [table for table in tables() if table != PRICES and not (folder / f"{table}.parquet").is_file()]
    if missing:
        raise InputError(f"{folder} is no archive of a price store: it lacks {', '.join(missing)}")
    try:
        with store.transaction() as connection:
            version = connection.execute(
                f"select max(version) from read_parquet({_read(folder / f'{VERSIONS}.parquet')})"  # noqa: S608
            ).fetchall()[0][0]
            if version != VERSION:
                raise InputError(f"{folder} has layout {version}, this program knows layout {VERSION}")
            for table in tables():
                if table != VERSIONS and (source := _source(folder, table)):
                    connection.execute(f"insert into {table} by name select * from {source}")  # noqa: S608
            wrong: list[dict[str, Any]] = store.rows("pricing/sql/impossible_observation.sql")
            if wrong:
                listed = "; ".join(f"{row['sku']} {row['region']} {row['observed_on']} {row['usd']}" for row in wrong)
                raise InputError(f"{folder} holds impossible prices: {listed}", help="nothing was stored")
    except (
        duckdb.BinderException,
        duckdb.ConstraintException,
        duckdb.ConversionException,
        duckdb.InvalidInputException,
    ) as error:
        raise InputError(
            f"{folder} is no archive of a price store: {str(error).splitlines()[0]}", help="nothing was stored"
        ) from None
    return _count(store, PRICES)


def _source(folder: Path, table: str) -> str:
    """Return what a table is read from; empty where a store without prices wrote no folder for them."""
    if table != PRICES:
        return f"read_parquet({_read(folder / f'{table}.parquet')})"
    if not list((folder / table).glob("*/*.parquet")):
        return ""
    place = literal(f"{exactly(folder / table)}/*/*.parquet")
    return f"read_parquet({place}, hive_partitioning = true, hive_types = {{'provider': varchar}})"


def _count(store: PriceStore, table: str) -> int:
    return int(store.connection.execute(f"select count(*) from {table}").fetchall()[0][0])  # noqa: S608


def _read(path: Path) -> str:
    return literal(exactly(path))
