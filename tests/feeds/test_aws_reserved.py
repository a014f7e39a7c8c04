"""Reserved instances: an upfront fee and an hourly rate make one price by the hour, never one of them alone."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ijson", reason="the extra feeds is not installed")

from clusterwright.feeds.fetch import Fetched, feed_named, read_files
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.store import PriceStore

from .offer_documents import row, write_csv, write_json

_STORED = "select term, payment, usd, note from observation where region = 'us-east-1' order by all"
ON_DEMAND = row("21.9576420000")


def _reserved(
    code: str, years: int, option: str, *, rate: str = "", fee: str = "", **said: str
) -> list[dict[str, str]]:
    term = {
        "termType": "Reserved",
        "offerTermCode": code,
        "LeaseContractLength": f"{years}yr",
        "PurchaseOption": option,
        "OfferingClass": "standard",
    } | said
    return [row(price, unit, **term) for price, unit in ((rate, "Hrs"), (fee, "Quantity")) if price]


def _read(path: Path) -> tuple[Fetched, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    with PriceStore.open(path.parent / "prices.duckdb") as store:
        (found,) = read_files(store, feed_named("aws"), [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        stored = store.connection.execute(_STORED).fetchall()
        held = store.connection.execute("select gate, payment, reason from quarantine order by all").fetchall()
    return found, stored, held


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_all_ways_to_pay_become_a_price_by_the_hour(
    tmp_path: Path, write: Callable[[Path, list[dict[str, str]]], Path]
) -> None:
    """Rate + fee / (8760 h x years), for both lengths, three ways to pay and both classes."""
    rows = [
        ON_DEMAND,
        *_reserved("4NA7Y494T4", 1, "No Upfront", rate="13.921094"),
        *_reserved("HU7G6KETJZ", 1, "Partial Upfront", rate="6.6292", fee="58071"),
        *_reserved("6QCMYABX3D", 1, "All Upfront", rate="0.0000000000", fee="113818"),
        *_reserved("BPH4J8HBKS", 3, "No Upfront", rate="9.4"),
        *_reserved("38NPMPTW36", 3, "Partial Upfront", rate="4.1", fee="107748"),
        *_reserved("NQ3QZPMQV9", 3, "All Upfront", rate="0", fee="202548"),
        *_reserved("7NE97W5U4E", 1, "No Upfront", rate="15.9", OfferingClass="convertible"),
        *_reserved("CUZHX8X6JH", 1, "Partial Upfront", rate="7.5", fee="65700", OfferingClass="convertible"),
        *_reserved("4NA7Y494T4", 1, "No Upfront", rate="9", operatingSystem="Windows", sku="WIN"),
        *_reserved("4NA7Y494T4", 1, "No Upfront", rate="9", tenancy="Dedicated", sku="DED"),
    ]
    found, stored, _ = _read(write(tmp_path / f"offer.{write.__name__[-4:].strip('_')}", rows))
    assert (found.ingested.read, found.ingested.quarantined) == (9, 0)
    assert [(term, payment, pytest.approx(usd)) for term, payment, usd, _ in stored] == [
        ("on_demand", "", 21.957642),
        ("reserved_1y", "all_upfront", 113818 / 8760),
        ("reserved_1y", "convertible_no_upfront", 15.9),
        ("reserved_1y", "convertible_partial_upfront", 7.5 + 65700 / 8760),
        ("reserved_1y", "no_upfront", 13.921094),
        ("reserved_1y", "partial_upfront", 6.6292 + 58071 / 8760),
        ("reserved_3y", "all_upfront", 202548 / 26280),
        ("reserved_3y", "no_upfront", 9.4),
        ("reserved_3y", "partial_upfront", 4.1 + 107748 / 26280),
    ]
    notes = {row[1]: row[3] for row in stored if row[0] == "reserved_1y"}
    assert notes["partial_upfront"] == "58071.00 USD upfront and 6.6292 USD per hour for 8760 h"


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_half_a_price_waits_in_quarantine(tmp_path: Path, write: Callable[[Path, list[dict[str, str]]], Path]) -> None:
    """A rate without its fee, a fee without its rate, or several of one: held back by the component's name."""
    rows = [
        ON_DEMAND,
        *_reserved("A", 1, "Partial Upfront", rate="6.6292"),
        *_reserved("B", 1, "All Upfront", rate="0.0000000000"),
        *_reserved("C", 3, "Partial Upfront", fee="107748"),
        *_reserved("D", 3, "All Upfront", fee="202548"),
        *_reserved("E", 3, "Partial Upfront", rate="4", fee="0"),
        *_reserved("F", 1, "No Upfront", rate="0"),
        *_reserved("G", 5, "No Upfront", rate="8"),
        *_reserved("H", 1, "Heavy Utilization", rate="8", fee="20000"),
        *_reserved("I", 1, "No Upfront", rate="abc"),
    ]
    found, stored, held = _read(write(tmp_path / f"offer.{write.__name__[-4:].strip('_')}", rows))
    assert [row[:2] for row in stored] == [("on_demand", "")]
    assert found.ingested.by_gate == {"02_word_unknown": 1, "05_component_missing": 8}
    assert sorted(reason for gate, _, reason in held if gate == "05_component_missing") == [
        "without the price of hourly",
        "without the price of hourly",
        "without the price of hourly",
        "without the price of hourly (0.0)",
        "without the price of purchase option (Heavy Utilization)",
        "without the price of upfront",
        "without the price of upfront",
        "without the price of upfront (0.0)",
    ]


def test_a_fee_taken_for_a_rate_is_refused(tmp_path: Path) -> None:
    """A term whose total stands in the row of its rate is held back, whether or not it has the right size."""
    rows = [ON_DEMAND, *_reserved("A", 1, "No Upfront", rate="121948.78"), *_reserved("B", 3, "No Upfront", rate="980")]
    found, stored, _ = _read(write_csv(tmp_path / "offer.csv", rows))
    assert (found.ingested.by_gate, len(stored)) == ({"07_total_as_hourly": 2}, 1)


def test_the_price_book_uses_the_commitment_without_payment_ahead(tmp_path: Path) -> None:
    """A bill has the hours it is used in: no fee ahead, and the class that keeps the type; others are only kept."""
    rows = [
        ON_DEMAND,
        *_reserved("A", 1, "No Upfront", rate="13.9"),
        *_reserved("B", 1, "All Upfront", rate="0", fee="87600"),
        *_reserved("C", 1, "Partial Upfront", rate="5", fee="43800"),
        *_reserved("D", 1, "No Upfront", rate="11", OfferingClass="convertible"),
        *_reserved("E", 3, "All Upfront", rate="0", fee="262800"),
    ]
    _read(write_csv(tmp_path / "offer.csv", rows))
    book = PriceBook.open(store=tmp_path / "prices.duckdb")
    try:
        one, three = (
            book.price("aws/p4d.24xlarge", region="us-east-1", term=term, as_of=dt.date(2026, 10, 3))
            for term in ("reserved_1y", "reserved_3y")
        )
    finally:
        book.close()
    assert one is not None
    assert (one.point.usd, one.point.last_seen) == (13.9, dt.date(2026, 10, 2))
    assert three is None or three.point.source != "aws-offer"


def test_a_savings_plan_is_used_where_there_is_no_reserved_instance(tmp_path: Path) -> None:
    """A plan's rate is the price until a reserved instance is seen; answers of earlier days stay as they were."""
    plan = {
        "version": "1",
        "products": [
            {"sku": "P1", "productFamily": "ComputeSavingsPlans", "attributes": {"purchaseOption": "No Upfront"}},
            {"sku": "P2", "productFamily": "EC2InstanceSavingsPlans", "attributes": {"purchaseOption": "No Upfront"}},
        ],
        "terms": {
            "savingsPlan": [
                {
                    "sku": sku,
                    "description": "1 year",
                    "effectiveDate": "2026-10-01T00:00:00Z",
                    "leaseContractLength": {"duration": 1, "unit": "year"},
                    "rates": [
                        {"discountedSku": ON_DEMAND["sku"], "discountedRate": {"price": rate, "currency": "USD"}}
                    ],
                }
                for sku, rate in (("P1", "15.1"), ("P2", "13.2"))
            ]
        },
    }
    plans = tmp_path / "plans.json"
    plans.write_text(json.dumps(plan), encoding="utf-8")
    first = write_csv(tmp_path / "first.csv", [ON_DEMAND])
    second = write_csv(tmp_path / "second.csv", [ON_DEMAND, *_reserved("A", 1, "No Upfront", rate="13.9")])
    path = tmp_path / "prices.duckdb"
    with PriceStore.open(path) as store:
        for day, name, document in (
            (2, "aws", first),
            (3, "aws-savings-plans", plans),
            (5, "aws", second),
            (6, "aws-savings-plans", plans),
        ):
            (found,) = read_files(store, feed_named(name), [document], at=dt.datetime(2026, 10, day, tzinfo=dt.UTC))
            assert found.ingested.quarantined == 0
        kept = store.connection.execute("select distinct payment from observation order by all").fetchall()
    assert [payment for (payment,) in kept] == ["", "instance_plan_no_upfront", "no_upfront"]
    book = PriceBook.open(store=path)
    try:
        prices = [
            book.price("aws/p4d.24xlarge", region="us-east-1", term="reserved_1y", as_of=dt.date(2026, 10, day))
            for day in (2, 3, 4, 5, 6)
        ]
    finally:
        book.close()
    assert [price and price.point.usd for price in prices] == [13.92, 15.1, 15.1, 13.9, 13.9]


def test_yuan_are_no_dollars(tmp_path: Path) -> None:
    """China's list is in yuan, on demand and reserved: without a rate it waits; with one it is a seventh."""
    rows = [
        row("288.627", currency="CNY", regionCode="cn-north-1"),
        *_reserved("A", 1, "Partial Upfront", rate="80", fee="876000", currency="CNY", regionCode="cn-north-1"),
    ]
    path = write_json(tmp_path / "offer.json", rows)
    found, _, _ = _read(path)
    assert found.ingested.by_gate == {"04_currency_without_rate": 2}
    with PriceStore.open(tmp_path / "other.duckdb") as store:
        store.add_exchange_rate(currency="CNY", day=dt.date(2026, 10, 1), usd_per_currency=0.14, source="ECB")
        read_files(store, feed_named("aws"), [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        stored = store.connection.execute("select region, term, usd from observation order by all").fetchall()
    assert stored == [
        ("cn-north-1", "on_demand", pytest.approx(288.627 * 0.14)),
        ("cn-north-1", "reserved_1y", pytest.approx(180 * 0.14)),
    ]
