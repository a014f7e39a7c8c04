"""One price per instance type and region out of AWS's offer file, and none of those that only look like it."""

import csv
import datetime as dt
from pathlib import Path
from typing import Literal

import pytest

from clusterwright.feeds.download import FeedError
from clusterwright.feeds.fetch import feed_named, read_files
from clusterwright.pricing.ingest import Ingested
from clusterwright.pricing.store import PriceStore

#: The one row that is the price of p5.48xlarge, on demand.
PRICE = {
    "SKU": "3D4V8UAYEMB38GU2",
    "OfferTermCode": "JRTCKXETXF",
    "RateCode": "3D4V8UAYEMB38GU2.JRTCKXETXF.6YS6EN2CT7",
    "TermType": "OnDemand",
    "PriceDescription": "per On Demand Linux p5.48xlarge",
    "EffectiveDate": "2026-10-01",
    "Unit": "Hrs",
    "PricePerUnit": "55.0400000000",
    "Currency": "USD",
    "Region Code": "us-east-1",
    "Location Type": "AWS Region",
    "Instance Type": "p5.48xlarge",
    "Operating System": "Linux",
    "Tenancy": "Shared",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
    "MarketOption": "OnDemand",
    "operation": "RunInstances",
}
METADATA = '"FormatVersion","v1.0"\n"Disclaimer","x"\n"Publication Date","x"\n"Version","1"\n"OfferCode","AmazonEC2"\n'


def _read(
    folder: Path, *rows: dict[str, str], quoting: Literal[0, 1] = csv.QUOTE_ALL
) -> tuple[Ingested, list[tuple[str, str, float]]]:
    path = folder / "offer[1].csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(METADATA)
        writer = csv.DictWriter(file, PRICE.keys(), quoting=quoting, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with PriceStore.open(folder / "prices.duckdb") as store:
        (fetched,) = read_files(store, feed_named("aws"), [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        found = fetched.ingested
        stored = store.connection.execute("select sku, region, usd from observation order by region").fetchall()
    return found, [(str(sku), str(region), float(usd)) for sku, region, usd in stored]


def test_the_price_of_a_type_and_region(tmp_path: Path) -> None:
    """Each region's Linux price is stored under the key of bill lines."""
    found, stored = _read(tmp_path, PRICE, PRICE | {"Region Code": "us-gov-west-1", "PricePerUnit": "66.048"})
    assert (found.read, found.quarantined) == (2, 0)
    assert stored == [("aws/p5.48xlarge", "us-east-1", 55.04), ("aws/p5.48xlarge", "us-gov-west-1", 66.048)]


@pytest.mark.parametrize(
    "changed",
    [
        {"Operating System": "Windows"},
        {"Operating System": "RHEL"},
        {"Tenancy": "Dedicated"},
        {"Tenancy": "Host"},
        {"Pre Installed S/W": "SQL Ent"},
        {"CapacityStatus": "UnusedCapacityReservation"},
        {"CapacityStatus": "AllocatedCapacityReservation"},
        {"MarketOption": "CapacityBlock"},
        {"Location Type": "AWS Local Zone"},
        {"Location Type": "AWS Wavelength Zone"},
        {"Unit": "Quantity"},
        {"operation": "RunInstances:0800"},
        {"Instance Type": "m7i.xlarge"},
    ],
    ids=lambda changed: " ".join(f"{name}={value}" for name, value in changed.items()),
)
def test_other_products_are_not_read(tmp_path: Path, changed: dict[str, str]) -> None:
    """Licences, tenancies, reservations, blocks and zones that share the type's name are other products."""
    found, stored = _read(tmp_path, PRICE, PRICE | {"RateCode": "other", "PricePerUnit": "77"} | changed)
    assert found.read == 1
    assert stored == [("aws/p5.48xlarge", "us-east-1", 55.04)]


@pytest.mark.parametrize(
    ("changed", "gate"),
    [
        ({"PricePerUnit": "0.0000000000"}, "01_price_not_positive"),
        ({"Currency": "CNY", "PricePerUnit": "288.627"}, "04_currency_without_rate"),
        ({"EffectiveDate": "not a day"}, "03_day_absurd"),
    ],
)
def test_what_is_wrong_waits_in_quarantine(tmp_path: Path, changed: dict[str, str], gate: str) -> None:
    """A type sold by reservation only (price 0), yuan, and a row without a day are held back by name."""
    found, stored = _read(tmp_path, PRICE | changed)
    assert (found.by_gate, stored) == ({gate: 1}, [])


def test_an_error_page_is_no_offer(tmp_path: Path) -> None:
    """HTML in the place of the file is refused, and the store stays as it was."""
    path = tmp_path / "offer.csv"
    path.write_text("<html>\n<body>\nService Unavailable\n</body>\n</html>\n<!-- -->\n", encoding="utf-8")
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        with pytest.raises(FeedError, match="is not what aws-offer gives"):
            read_files(store, feed_named("aws"), [path], at=dt.datetime.now(dt.UTC))
        assert store.connection.table("ingest").count("*").fetchall() == [(0,)]


def test_an_offer_without_quotes_says_the_same(tmp_path: Path) -> None:
    """Cells in quotes or not are the same cells."""
    quoted, plain = tmp_path / "quoted", tmp_path / "plain"
    quoted.mkdir()
    plain.mkdir()
    assert _read(plain, PRICE, quoting=csv.QUOTE_MINIMAL)[1] == _read(quoted, PRICE)[1]


@pytest.mark.parametrize(("size", "kept"), [(3 * 2**20, True), (5 * 2**20, False)])
def test_documents_of_at_most_4_mib_are_kept_whole(tmp_path: Path, size: int, kept: bool) -> None:
    """Larger ones are known by their hash and the rows read from them alone."""
    other = PRICE | {"Operating System": "Windows", "PriceDescription": "x" * 2**13}
    _read(tmp_path, PRICE, *[other] * (size // 2**13))
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        (row,) = store.connection.execute("select byte_count, content is not null from document").fetchall()
    assert size < row[0] < 1.1 * size
    assert row[1] is kept
