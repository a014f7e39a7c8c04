"""Price lakes: the same answers from a folder and from object storage, and what is none told as what it is."""

import datetime as dt
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import duckdb
import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from clusterwright.catalog.load import load
from clusterwright.feeds import object_storage
from clusterwright.pricing import lake
from clusterwright.pricing.archive import export_archive
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import products_of
from clusterwright.pricing.lake import StoreError
from clusterwright.pricing.store import PriceStore

_ROW = (
    "insert into observation by name select 1 as ingest_id, 'f' as feed, $sku as sku, $provider as provider,"
    " 'us-east-1' as region, '' as zone, '' as provider_sku, '' as instance_type, '' as gpu, 8.0 as gpu_count,"
    " 'on_demand' as term, '' as payment, 'hourly' as charge, 'node' as unit, 0.0 as tier_start, 'USD' as currency,"
    " $usd as amount, 1.0 as usd_per_currency, $usd as usd, $day::date as effective_from, null as effective_to,"
    " $day::date as observed_on, 's' as source, '' as locator, 'high' as confidence, '' as note"
)
_PRICES = (
    ("aws/p5.48xlarge", "aws", 50.0, "2026-11-01"),
    ("aws/p5.48xlarge", "aws", 48.0, "2026-11-05"),
    ("gcp/a3-highgpu-8g", "gcp", 80.0, "2026-11-02"),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with three prices."""
    path = tmp_path / "prices.duckdb"
    with PriceStore.open(path) as opened:
        for sku, provider, usd, day in _PRICES:
            opened.connection.execute(_ROW, {"sku": sku, "provider": provider, "usd": usd, "day": day})
    return path


@pytest.fixture
def folder(store: Path, tmp_path: Path) -> Path:
    """The same store as a lake."""
    with PriceStore.open(store, read_only=True) as opened:
        export_archive(opened, tmp_path / "the lake's [1]*")
    return tmp_path / "the lake's [1]*"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3 server on this machine; its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The lake in a bucket; its address."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    settings = {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", region_name="us-east-1", endpoint_url=server)
    client.create_bucket(Bucket="prices")
    for path in folder.rglob("*.parquet"):
        client.upload_file(str(path), "prices", f"team/{path.relative_to(folder).as_posix()}")
    return "s3://prices/team"


def _answers(place: Path | str) -> list[Any]:
    book = PriceBook.open(store=place, reach=object_storage.reach)
    try:
        day = dt.date(2026, 11, 3)
        asked = {"as_of": day, "term": "", "region": "us-east-1"}
        return [
            book.query("pricing/sql/gpu_price_in_force.sql", asked, products=products_of(load(), "h100")),
            book.query("pricing/sql/gpu_price_change.sql", asked, products=products_of(load(), "p5.48xlarge")),
            book.price("aws/p5.48xlarge", region="us-east-1", as_of=day),
            book.newest_day,
        ]
    finally:
        book.close()


def test_one_answer_from_file_folder_and_bucket(store: Path, folder: Path, bucket: str) -> None:
    """The same statements on the same prices give the same rows wherever they lie."""
    expected = _answers(store)
    price = expected[2]
    assert price is not None
    assert price.point.usd == 50.0
    assert _answers(folder) == expected
    book = PriceBook.open(store=folder, reach=object_storage.reach)
    asked = {"as_of": dt.date(2026, 11, 3), "term": "", "region": "us-east-1"}
    text = book.script("pricing/sql/gpu_price_in_force.sql", asked, products=products_of(load(), "h100"))
    with duckdb.connect() as alone:
        rows = alone.execute(text).fetchall()
    assert rows == [tuple(row.values()) for row in expected[0]]
    assert _answers(bucket) == expected
    assert _answers(f"{bucket}/") == expected


def test_other_products_prices_are_not_fetched(
    bucket: str, store: Path, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question about one product fetches its prices; of the files of other providers only the foot, at the end."""
    with PriceStore.open(store) as opened:
        opened.connection.execute(
            "insert into observation select observation.* replace (number::varchar as region, 1 + random() as usd,"
            " md5(random()::varchar) as locator) from observation, range(100000) as many(number)"
            " where provider = 'aws' and usd = 50"
        )
        export_archive(opened, tmp_path / "large")
    (large,) = (tmp_path / "large" / "observation" / "provider=aws").glob("*.parquet")
    key = "team/observation/provider=aws/data_0.parquet"
    boto3.client("s3", region_name="us-east-1", endpoint_url=server).upload_file(str(large), "prices", key)
    data_end = large.stat().st_size - 100_000  # small files are fetched whole, this one is not small
    fetched: list[tuple[str, int]] = []
    reach = object_storage.reach

    def watched(address: str) -> lake.Reached:
        reached = reach(address)
        storage = reached.file_system.store

        class Watched:
            def get_range(self, key: str, *, start: int, end: int) -> object:
                fetched.append((key, start))
                return storage.get_range(key, start=start, end=end)

        reached.file_system.store = Watched()
        return reached

    monkeypatch.setattr(object_storage, "_BLOCK_BYTES", 1024)
    book = PriceBook.open(store=bucket, reach=watched)
    assert book.price("gcp/a3-highgpu-8g", region="us-east-1", as_of=dt.date(2026, 11, 3)) is not None
    assert {name for name, _ in fetched} >= {"team/observation/provider=gcp/data_0.parquet"}
    assert all(start > data_end for name, start in fetched if name == key)
    fetched.clear()
    assert book.price("aws/p5.48xlarge", region="17", as_of=dt.date(2026, 11, 3)) is not None
    assert any(start < data_end for name, start in fetched if name == key)
    book.close()


def test_deeper_folders(folder: Path, store: Path) -> None:
    """A lake of one's own may lie in further folders, for example by month, the same ones for every provider."""
    for old in list((folder / "observation").rglob("*.parquet")):
        month = old.parent / "month=2026-11"
        month.mkdir()
        old.rename(month / old.name)
    assert _answers(folder) == _answers(store)


def test_a_lake_is_not_written(folder: Path, bucket: str) -> None:
    """Whoever wants to write is told to use a file."""
    for place in (folder, bucket):
        with pytest.raises(StoreError, match="is read and never written"):
            PriceStore.open(place)
        with PriceStore.open(place, read_only=True, reach=object_storage.reach) as opened:
            assert opened.rows("pricing/sql/in_quarantine.sql", {"gate": ""}) == []


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://nobody/x", "there is no such bucket"),
        ("s3://prices/other", "there are no files under"),
        ("s3://", "names no bucket"),
    ],
)
def test_buckets_that_hold_no_lake(bucket: str, address: str, said: str) -> None:
    """What is wrong with an address is said without a traceback."""
    with pytest.raises(StoreError, match=said):
        PriceBook.open(store=address, reach=object_storage.reach)


def test_a_server_that_is_away(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is reported after a few attempts."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="the server does not answer"):
        PriceBook.open(store=bucket, reach=object_storage.reach)


def test_a_file_that_vanishes_meanwhile(folder: Path) -> None:
    """What goes away while questions are asked is reported, and is no bug."""
    book = PriceBook.open(store=folder, reach=object_storage.reach)
    for path in (folder / "observation").rglob("*.parquet"):
        path.unlink()
    with pytest.raises(StoreError, match="cannot be read to the end"):
        book.price("aws/p5.48xlarge", region="us-east-1", as_of=dt.date(2026, 11, 3))


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("store_version", "select 99 as version, now() as created_at", "has layout 99, this program knows layout 1"),
        ("observation/provider=aws/bad", "select 1 as usd, 'x' as sku", "is no price lake"),
    ],
)
def test_folders_that_hold_no_lake_of_ours(folder: Path, table: str, change: str, said: str) -> None:
    """A newer layout and files with other columns are refused when they are opened."""
    target = folder / f"{table}.parquet"
    for path in target.parent.glob("*.parquet"):
        if table.startswith("observation") or path == target:
            path.unlink()
    duckdb.connect().execute(f"copy ({change}) to '{str(target).replace(chr(39), chr(39) * 2)}' (format parquet)")
    with pytest.raises(StoreError, match=said):
        PriceBook.open(store=folder, reach=object_storage.reach)


def test_no_lake_at_all(tmp_path: Path, folder: Path) -> None:
    """An empty folder, and a file that is no Parquet."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"it has no store_version\.parquet"):
        PriceBook.open(store=tmp_path / "empty", reach=object_storage.reach)
    (folder / "store_version.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(StoreError, match="is no price lake"):
        PriceBook.open(store=folder, reach=object_storage.reach)
