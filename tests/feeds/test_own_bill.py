"""Own bills in FOCUS form: contracted prices of machines, apart from list prices, through the same gates."""

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from clusterwright.errors import InputError
from clusterwright.feeds.download import FeedError, Fetcher
from clusterwright.feeds.fetch import Fetched, feed_named, fetch_feed, read_files
from clusterwright.pricing.store import PriceStore

AT = dt.datetime(2026, 12, 2, tzinfo=dt.UTC)
STORED = "select sku, region, term, unit, currency, amount, effective_from::date from observation order by all"


def row(**changes: str) -> dict[str, str]:
    """Return an hour of a GPU node of AWS at an agreed price."""
    return {
        "ProviderName": "AWS",
        "RegionId": "us-east-1",
        "SkuMeter": "USE1-BoxUsage:p5.48xlarge",
        "ChargeDescription": "",
        "ChargeCategory": "Usage",
        "ChargeClass": "",
        "PricingCategory": "Standard",
        "BillingCurrency": "USD",
        "PricingUnit": "Hrs",
        "ContractedUnitPrice": "50.5",
        "ListUnitPrice": "55.04",
        "ChargePeriodStart": "2026-11-02T05:00:00Z",
    } | changes


def read(folder: Path, *rows: dict[str, str]) -> tuple[Fetched, list[tuple[Any, ...]]]:
    """Read a bill into a new store."""
    path = folder / "bill[1].csv"
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with PriceStore.open(folder / "prices.duckdb") as store:
        (found,) = read_files(store, feed_named("focus"), [path], at=AT)
        return found, store.connection.execute(STORED).fetchall()


def test_contracted_prices_are_kept_apart(tmp_path: Path) -> None:
    """The agreed price of a machine by region, from its first day, as a term of its own; nothing else."""
    found, stored = read(
        tmp_path,
        row(),
        row(ChargePeriodStart="2026-11-01T23:00:00Z"),
        row(
            ProviderName="Microsoft",
            RegionId="eastus",
            SkuMeter="ND96isr H100 v5",
            PricingUnit="1 Hour",
            ContractedUnitPrice="90",
        ),
        row(PricingCategory="Committed", ContractedUnitPrice="30"),
        row(PricingCategory="Dynamic", ContractedUnitPrice="20"),
        row(ChargeClass="Correction", ContractedUnitPrice="10"),
        row(ChargeCategory="Purchase", ContractedUnitPrice="9"),
        row(SkuMeter="USE1-SpotUsage:p5.48xlarge", ContractedUnitPrice="8"),
        row(SkuMeter="USE1-BoxUsage:m7i.large", ContractedUnitPrice="0.1"),
        row(PricingUnit="GB", ContractedUnitPrice="0.02"),
    )
    day = dt.date(2026, 11, 1)
    assert stored == [
        ("aws/p5.48xlarge", "us-east-1", "contracted", "node", "USD", 50.5, day),
        ("azure/Standard_ND96isr_H100_v5", "eastus", "contracted", "node", "USD", 90.0, day + dt.timedelta(days=1)),
    ]
    assert found.ingested.quarantined == 0


def test_gates_hold_own_prices_back(tmp_path: Path) -> None:
    """A currency without a rate, a price of zero, and two prices of one day wait in quarantine."""
    found, stored = read(
        tmp_path,
        row(BillingCurrency="EUR"),
        row(RegionId="us-west-2", ContractedUnitPrice="0"),
        row(RegionId="us-east-2"),
        row(RegionId="us-east-2", ContractedUnitPrice="45"),
    )
    assert stored == []
    assert set(found.ingested.by_gate) == {
        "01_price_not_positive",
        "04_currency_without_rate",
        "06_two_prices_for_one",
    }


def test_what_is_no_export(tmp_path: Path) -> None:
    """Columns that are missing are named; the feed asks no server."""
    incomplete = row()
    del incomplete["ContractedUnitPrice"]
    with pytest.raises(FeedError, match="no column ContractedUnitPrice"):
        read(tmp_path, incomplete)
    with PriceStore.open(tmp_path / "other.duckdb") as store, Fetcher() as fetcher, pytest.raises(InputError):
        fetch_feed(store, feed_named("focus"), fetcher)
