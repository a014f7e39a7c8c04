"""How fast the price book answers: one price of one day, breakeven of everything, a month out of a hundred million.

    python benchmarks/price_queries.py [PRICE_HISTORY.parquet] [SPOT_ROWS [FOLDER]]

The first part takes a history of 614,136 daily prices: the Parquet file that is named (columns observed_on, provider,
region, zone, instance_type, gpu, gpu_count, term, usd_per_hour), else a made-up one of the same size and shape. The
second part writes a lake of spot prices, a folder for each provider and month, and asks for one month of it and for the
lowest and highest price of every month. Each part is a process of its own; printed are the best of several runs in
seconds of the clock and of the processor, and the peak memory of the process.
"""

import datetime as dt
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb

from clusterwright.catalog.load import load
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import gpu_products, products_of
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.pricing.store import PriceStore
from clusterwright.tco.terms.owning import default_terms, owned_servers

HISTORY_ROWS = 614_136
SPOT_ROWS = 100_000_000
MONTHS = 36
FIRST_MONTH = dt.date(2023, 10, 1)
AS_OF = dt.date(2026, 10, 1)
_CONSTANT = (
    "1::bigint as ingest_id, 'benchmark' as feed, sku as provider_sku, sku as instance_type, '' as gpu,"
    " 8.0::double as gpu_count,"
    " '' as payment, 'hourly' as charge, 'node' as unit, 0.0::double as tier_start, 'USD' as currency, usd as amount,"
    " 1.0::double as usd_per_currency, null::timestamp as effective_to, 'benchmark' as source, '' as locator,"
    " 'medium' as confidence, '' as note"
)


def cloud_skus() -> list[str]:
    """Return the price keys of every instance type of the clouds."""
    return [entry.sku for entry in gpu_products(load()) if entry.provider in ("aws", "azure", "gcp")]


def history(store: Path, source: Path | None) -> int:
    """Fill a store with the price history of a file, or with a made-up one; return its rows."""
    made_up = (
        "select provider, region, sku, term, '' as zone, 20 + 60 * (hash(sku, region, term, day // 30) % 1000) / 1000"
        " as usd, date '2026-10-10' - day::integer as observed_on"
        " from (select unnest($skus) as sku, split_part(unnest($skus), '/', 1) as provider),"
        " (select 'region-' || range as region from range(8)),"
        " (select unnest(['on_demand', 'spot', 'reserved_1y', 'reserved_3y']) as term), range(1000) as days(day)"
        " limit $rows"
    )
    from_file = (
        "select provider, region, provider || '/' || instance_type as sku, term, zone, usd_per_hour as usd, observed_on"
        " from read_parquet($source)"
    )
    with PriceStore.open(store) as opened:
        opened.connection.execute(
            f"insert into observation by name select *, observed_on::timestamp as effective_from, {_CONSTANT}"  # noqa: S608
            f" from ({made_up if source is None else from_file})",
            {"skus": cloud_skus(), "rows": HISTORY_ROWS} if source is None else {"source": str(source)},
        )
        return int(opened.connection.execute("select count(*) from observation").fetchall()[0][0])


def spot_lake(folder: Path, rows: int) -> int:
    """Write a lake of spot prices by provider and month; return its rows."""
    with PriceStore.open(folder / "empty.duckdb") as empty:
        empty.connection.execute(f"copy store_version to '{folder / 'store_version.parquet'}' (format parquet)")
    (folder / "empty.duckdb").unlink()
    skus = cloud_skus()
    steps = rows // (len(skus) * 21 * MONTHS) + 1
    connection = duckdb.connect(config={"threads": 2})
    for number in range(MONTHS):
        year, month = divmod(FIRST_MONTH.month - 1 + number, 12)
        first = dt.date(FIRST_MONTH.year + year, month + 1, 1)
        form = "format parquet, compression zstd, partition_by (provider, month), append"
        at = f"timestamp '{first}' + to_seconds(step * {28 * 86400} / {steps})"
        rows_of_month = (
            f"select {_CONSTANT}, * from (select sku, split_part(sku, '/', 1) as provider, region,"  # noqa: S608
            " region || '-' || zone as zone, 'spot' as term, '{first:%Y-%m}' as month,"
            f" {at} as effective_from, cast({at} as date) as observed_on,"
            " 10 + 40 * ((hash(sku, region, zone, step) % 10000) / 10000)::double as usd"
            " from (select unnest($skus) as sku), (select 'region-' || range as region from range(7)),"
            f" (select range as zone from range(3)), range({steps}) as many(step))"
        ).replace("{first:%Y-%m}", f"{first:%Y-%m}")
        connection.execute(f"copy ({rows_of_month}) to '{folder / 'observation'}' ({form})", {"skus": skus})
    return steps * len(skus) * 21 * MONTHS


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the least seconds of the clock and of the processor of several runs, and what the work returned."""
    clock, processor, found = [], [], None
    for _ in range(runs):
        began, used = time.perf_counter(), time.process_time()
        found = work()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return min(clock), min(processor), found


def peak_mb() -> float:
    """Return the most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ask_store(store: Path) -> None:
    """Ask the store of daily prices: one price, and breakeven of every product, region and term."""
    catalogue = load()
    book = PriceBook.open(store=store)
    products = products_of(catalogue)
    clock, processor, price = best_of(30, lambda: book.price("gcp/a3-highgpu-8g", region="us-central1", as_of=AS_OF))
    found = "none" if price is None else f"{price.point.usd:g} USD"
    print(f"one price as of a day: {1000 * clock:.1f} ms, {1000 * processor:.1f} ms of processor ({found})")
    accelerators = sorted({entry.accelerator for entry in products})
    owned = owned_servers(
        book, catalogue, accelerators=accelerators, system="", terms=default_terms(), as_of=book.newest_day
    )
    asked = {
        "as_of": AS_OF,
        "term": "",
        "region": "",
        "utilisation": 0.8,
        "hours_per_month": 730.0,
        "committed_terms": list(COMMITTED_TERMS),
        "owned": [
            asdict(entry)
            | {
                "purchase_usd_per_gpu": entry.purchase_usd_per_gpu,
                "running_usd_per_gpu_hour": entry.running_usd_per_gpu_hour,
            }
            for entry in owned
        ],
    }
    scan = lambda: book.query("pricing/sql/breakeven.sql", asked, products=products)  # noqa: E731
    clock, processor, rows = best_of(7, scan)
    print(f"breakeven of {len(rows):,} products, regions and terms: {1000 * clock:.0f} ms, {1000 * processor:.0f} ms")
    print(f"  peak {peak_mb():,.0f} MB")
    book.close()


def ask_lake(folder: Path) -> None:
    """Ask the lake of spot prices for a month of every GPU."""
    products = products_of(load())
    began = time.perf_counter()
    book = PriceBook.open(store=folder)
    print(f"opened in {time.perf_counter() - began:.2f} s")
    month = dt.date(2026, 8, 1)
    asked = {"from_month": month, "to_month": month, "as_of": AS_OF, "term": "spot", "region": ""}
    ask = lambda: book.query("pricing/sql/price_of_month.sql", asked, products=products)  # noqa: E731
    clock, processor, rows = best_of(2, ask)
    print(f"one month, weighted by time: {len(rows):,} rows, {clock:.2f} s, {processor:.2f} s of processor")
    asked |= {"from_month": FIRST_MONTH, "to_month": dt.date(2026, 9, 1)}
    ask = lambda: book.query("pricing/sql/price_extremes_of_month.sql", asked, products=products)  # noqa: E731
    clock, processor, rows = best_of(2, ask)
    prices = sum(row["prices"] for row in rows)
    print(
        f"lowest and highest of {prices:,} by month: {len(rows):,} rows, {clock:.2f} s, {processor:.2f} s of processor"
    )
    print(f"  peak {peak_mb():,.0f} MB")
    book.close()


def measured(work: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401
    """Run work in a process of its own, so that its peak memory is its own."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()


def main() -> None:
    """Make the data and print what questions take."""
    words = sys.argv[1:]
    source = Path(words.pop(0)) if words and words[0].endswith(".parquet") else None
    rows = int(words.pop(0)) if words else SPOT_ROWS
    with tempfile.TemporaryDirectory(dir=words[0] if words else None) as place:
        folder = Path(place)
        count = history(folder / "history.duckdb", source)
        print(f"{count:,} prices of {'a made-up history' if source is None else source.name}")
        measured(ask_store, folder / "history.duckdb")
        if rows:
            lake = folder / "lake"
            lake.mkdir()
            began = time.perf_counter()
            # In a process of its own: what this one held at most would count as its children's peak.
            with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as maker:
                count = maker.submit(spot_lake, lake, rows).result()
            size = sum(path.stat().st_size for path in lake.rglob("*.parquet")) / 1e6
            seconds = time.perf_counter() - began
            print(f"{count:,} spot prices in {MONTHS} months, {size:,.0f} MB of Parquet, written in {seconds:.0f} s")
            measured(ask_lake, lake)


if __name__ == "__main__":
    main()
