"""A price store as Parquet files and back: nothing lost, nothing half written, nothing slipped into a store in use."""

import datetime as dt
import json
from pathlib import Path

import duckdb
import pytest

from clusterwright.errors import InputError
from clusterwright.feeds import azure
from clusterwright.feeds.fetch import read_files
from clusterwright.pricing.archive import export_archive, import_archive
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.store import PriceStore

ITEM = {
    "currencyCode": "USD",
    "tierMinimumUnits": 0.0,
    "retailPrice": 90.0,
    "armRegionName": "eastus",
    "effectiveStartDate": "2026-10-01T00:00:00Z",
    "meterId": "d5",
    "meterName": "ND96isrH100v5",
    "skuName": "ND96isrH100v5",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "unitOfMeasure": "1 Hour",
    "serviceName": "Virtual Machines",
    "type": "Consumption",
    "isPrimaryMeterRegion": True,
    "armSkuName": "Standard_ND96isr_H100_v5",
}


def _store(path: Path) -> Path:
    """Return a store with a price, one in quarantine, and an exchange rate."""
    page = path.with_suffix(".json")
    items = [ITEM, ITEM | {"armRegionName": "westus3", "retailPrice": 0.0}]
    page.write_text(json.dumps({"Items": items, "Count": 2, "NextPageLink": None}), encoding="utf-8")
    with PriceStore.open(path) as store:
        read_files(store, azure.FEED, [page], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        store.add_exchange_rate(currency="EUR", day=dt.date(2026, 10, 1), usd_per_currency=1.09, source="ECB")
    return path


def _rows(path: Path) -> list[list[tuple[object, ...]]]:
    tables = ("observation", "quarantine", "ingest", "exchange_rate", "warning", "release")
    with PriceStore.open(path, read_only=True) as store:
        found = [
            store.connection.table(table).project("columns(*)::varchar").order("all").fetchall() for table in tables
        ]
        found.append(store.connection.execute("select document_id, feed, url from document").fetchall())
    return found


def test_there_and_back(tmp_path: Path) -> None:
    """An archive read into a new store has every row, and answers as of a day as the first one does."""
    one = _store(tmp_path / "it's one.duckdb")
    with PriceStore.open(one, read_only=True) as store:
        assert export_archive(store, tmp_path / "lake's") == 1
    with PriceStore.open(tmp_path / "two.duckdb") as store:
        assert import_archive(store, tmp_path / "lake's") == 1
    assert _rows(one) == _rows(tmp_path / "two.duckdb")
    for place in (one, tmp_path / "two.duckdb"):
        book = PriceBook.open(store=place)
        price = book.price("azure/Standard_ND96isr_H100_v5", region="eastus", as_of=dt.date(2026, 10, 2))
        book.close()
        assert price is not None
        assert price.point.usd == 90.0
    prices = (tmp_path / "lake's" / "observation").rglob("*.parquet")
    assert [path.parent.name for path in prices] == ["provider=azure"]


def test_a_store_without_prices(tmp_path: Path) -> None:
    """It has an archive too."""
    with PriceStore.open(tmp_path / "one.duckdb") as store:
        assert export_archive(store, tmp_path / "lake") == 0
    with PriceStore.open(tmp_path / "two.duckdb") as store:
        assert import_archive(store, tmp_path / "lake") == 0


def test_neither_overwrites(tmp_path: Path) -> None:
    """A folder that is there stays as it is; a store with prices takes no archive."""
    one = _store(tmp_path / "one.duckdb")
    with PriceStore.open(one) as store:
        export_archive(store, tmp_path / "lake")
        with pytest.raises(InputError, match="is there already"):
            export_archive(store, tmp_path / "lake")
        with pytest.raises(InputError, match="read into an empty store"):
            import_archive(store, tmp_path / "lake")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("copy (select * replace (-1.0 as usd) from {it}) to '{file}' (format parquet)", "impossible prices"),
        ("copy (select * replace ('nan'::double as usd) from {it}) to '{file}' (format parquet)", "impossible prices"),
        ("copy (select * replace (usd * 2 as usd) from {it}) to '{file}' (format parquet)", "impossible prices"),
        ("copy (select * exclude (sku) from {it}) to '{file}' (format parquet)", "is no archive"),
        ("copy (select *, 1 as more from {it}) to '{file}' (format parquet)", "is no archive"),
        ("", "is no archive"),
    ],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, damage: str, said: str) -> None:
    """Impossible prices, other columns and what is no Parquet end with the reason, and the store stays empty."""
    with PriceStore.open(_store(tmp_path / "one.duckdb")) as store:
        export_archive(store, tmp_path / "lake")
    (file,) = (tmp_path / "lake" / "observation").rglob("*.parquet")
    if damage:
        copy = tmp_path / "copy.parquet"
        copy.write_bytes(file.read_bytes())
        duckdb.connect().execute(damage.format(it=f"read_parquet('{copy}')", file=file))
    else:
        file.write_bytes(b"PAR1 not really")
    with PriceStore.open(tmp_path / "two.duckdb") as store:
        with pytest.raises(InputError, match=said):
            import_archive(store, tmp_path / "lake")
        assert store.connection.table("observation").count("*").fetchall() == [(0,)]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    """What lacks the tables is told by what it lacks."""
    with PriceStore.open(tmp_path / "two.duckdb") as store, pytest.raises(InputError, match="it lacks document"):
        import_archive(store, tmp_path)
