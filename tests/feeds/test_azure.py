"""Azure's Retail Prices: pages in the real form, the traps of the list, and a server that serves them badly."""

import datetime as dt
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from clusterwright.errors import ClusterwrightError
from clusterwright.feeds import azure
from clusterwright.feeds.download import FeedError, Fetcher, Manners
from clusterwright.feeds.fetch import Fetched, fetch_feed, read_files
from clusterwright.pricing.store import PriceStore

from .server import Answer, Asked, serving

H100 = "Standard_ND96isr_H100_v5"
#: The item that is the price of an ND H100 v5 in East US, as the interface gives it.
ITEM: dict[str, Any] = {
    "currencyCode": "USD",
    "tierMinimumUnits": 0.0,
    "retailPrice": 98.32,
    "unitPrice": 98.32,
    "armRegionName": "eastus",
    "location": "US East",
    "effectiveStartDate": "2023-08-01T00:00:00Z",
    "meterId": "d5bd1e39",
    "productId": "DZH318Z0",
    "meterName": "ND96isrH100v5",
    "skuId": "DZH318Z0/00C7",
    "availabilityId": None,
    "skuName": "ND96isrH100v5",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "serviceName": "Virtual Machines",
    "serviceId": "DZH313Z7",
    "serviceFamily": "Compute",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "isPrimaryMeterRegion": True,
    "armSkuName": H100,
}


def _page(*items: dict[str, Any], after: str | None = None) -> dict[str, Any]:
    return {
        "BillingCurrency": "USD",
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": list(items),
        "NextPageLink": after,
        "Count": len(items),
    }


def _read(folder: Path, *items: dict[str, Any], day: int = 2) -> tuple[Fetched, list[tuple[Any, ...]]]:
    path = folder / f"page-{day}.json"
    path.write_text(json.dumps(_page(*items)), encoding="utf-8")
    at = dt.datetime(2026, 10, day, tzinfo=dt.UTC)
    with PriceStore.open(folder / "prices.duckdb") as store:
        (found,) = read_files(store, azure.FEED, [path], at=at)
        rows = store.connection.execute("select sku, region, term, payment, usd from observation order by all")
        return found, rows.fetchall()


def test_the_price_of_a_size_and_region(tmp_path: Path) -> None:
    """The Linux price of each region is stored under the key of bill lines, with its own day."""
    found, stored = _read(tmp_path, ITEM, ITEM | {"armRegionName": "usgovvirginia", "retailPrice": 122.9})
    assert (found.ingested.read, found.ingested.quarantined) == (2, 0)
    assert stored == [
        (f"azure/{H100}", "eastus", "on_demand", "", 98.32),
        (f"azure/{H100}", "usgovvirginia", "on_demand", "", 122.9),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"productName": "Virtual Machines NDsr H100 v5 Series Windows", "retailPrice": 125.35},
        {"skuName": "ND96isrH100v5 Low Priority", "meterName": "ND96isrH100v5 Low Priority", "retailPrice": 23.594},
        {"productName": "NDsr H100 v5 Series CloudServices"},
        {"isPrimaryMeterRegion": False},
        {"type": "DevTestConsumption"},
        {"serviceName": "Cloud Services"},
        {"armSkuName": "ND96isr_H100_v5_Type1"},
        {"armSkuName": H100.lower()},
        {"armSkuName": [H100], "meterName": {}},
        {"unitOfMeasure": "1/Month"},
        {"type": "Reservation", "reservationTerm": "5 Years", "retailPrice": 1e6},
    ],
    ids=lambda changed: " ".join(f"{name}={value}" for name, value in changed.items()),
)
def test_other_products_are_not_read(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Licences, low priority, other regions of a meter, hosts and constrained sizes are other products."""
    found, stored = _read(tmp_path, ITEM, ITEM | {"meterId": "other", "retailPrice": 77.0} | changed)
    assert (found.ingested.read, [row[4] for row in stored]) == (1, [98.32])


def test_totals_of_reservations_are_divided_by_their_hours(tmp_path: Path) -> None:
    """A reservation's price is the total of its term, whatever its unit says; a savings plan's is hourly."""
    reservation = ITEM | {"type": "Reservation", "reservationTerm": "1 Year", "retailPrice": 8760 * 70.0}
    plans = [{"unitPrice": 60.0, "retailPrice": 60.0, "term": "3 Years"}, {"retailPrice": 80.0, "term": "1 Year"}]
    _, stored = _read(
        tmp_path,
        ITEM | {"savingsPlan": plans},
        reservation,
        reservation | {"reservationTerm": "3 Years", "retailPrice": 26280 * 50.0},
    )
    assert [row[2:] for row in stored] == [
        ("on_demand", "", 98.32),
        ("reserved_1y", "no_upfront", 70.0),
        ("reserved_1y", "savings_plan", 80.0),
        ("reserved_3y", "no_upfront", 50.0),
        ("reserved_3y", "savings_plan", 60.0),
    ]


SPOT = ITEM | {"skuName": "ND96isrH100v5 Spot", "meterName": "ND96isrH100v5 Spot", "meterId": "spot"}


def test_spot_prices(tmp_path: Path) -> None:
    """A spot price is read as spot; one that equals the price on demand is stored with a warning."""
    found, stored = _read(tmp_path, ITEM, SPOT | {"retailPrice": 24.436474})
    assert [row[2:] for row in stored] == [("on_demand", "", 98.32), ("spot", "", 24.436474)]
    assert found.ingested.warnings == {}
    other = tmp_path / "other"
    other.mkdir()
    found, _ = _read(other, ITEM, SPOT)
    assert list(found.ingested.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("items", "gate"),
    [
        ([ITEM | {"currencyCode": "EUR"}], "04_currency_without_rate"),
        ([ITEM | {"retailPrice": 0.0}], "01_price_not_positive"),
        ([ITEM | {"effectiveStartDate": "soon"}], "03_day_absurd"),
        ([ITEM | {"effectiveStartDate": "9999-12-31T00:00:00Z"}], "03_day_absurd"),
        ([ITEM, ITEM | {"retailPrice": 99.0}], "06_contradiction"),
        ([ITEM, SPOT | {"retailPrice": 120.0}], ""),
    ],
)
def test_what_is_wrong_waits_in_quarantine(tmp_path: Path, items: list[dict[str, Any]], gate: str) -> None:
    """Euros, prices of zero, absurd days, two prices of one product, and spot above on demand are held back by name."""
    found, _ = _read(tmp_path, *items)
    assert found.ingested.quarantined >= 1
    assert not gate or any(name.startswith(gate[:3]) for name in found.ingested.by_gate)


def test_duplicates_are_stored_once(tmp_path: Path) -> None:
    """An item that stands on two pages, and the same list read again on the same day, add nothing."""
    found, stored = _read(tmp_path, ITEM, ITEM)
    assert (found.ingested.read, found.ingested.stored, len(stored)) == (2, 1, 1)
    again, stored = _read(tmp_path, ITEM, ITEM)
    assert (again.ingested.known, len(stored)) == (True, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(_page(ITEM))[:-40], "no whole JSON"),
        ("[]", "no list 'Items'"),
        ('{"Items": {}}', "no list 'Items'"),
        ('{"value": []}', "no list 'Items'"),
        (json.dumps(_page(ITEM) | {"Count": 2}), "says 2 Items and holds 1"),
        ("<html>", "no whole JSON"),
        ("[" * 100_000, "no whole JSON"),
        (json.dumps(_page(ITEM | {"retailPrice": "many"})), "is not what azure-retail gives"),
    ],
    ids=["truncated", "list", "no list", "renamed", "count", "html", "nested", "text"],
)
def test_damaged_pages_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A truncated, changed or foreign document ends with the reason, and the store stays as it was."""
    path = tmp_path / "page.json"
    path.write_text(text, encoding="utf-8")
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        with pytest.raises(ClusterwrightError, match=said) as caught:
            read_files(store, azure.FEED, [path], at=dt.datetime.now(dt.UTC))
        assert caught.value.exit_code == 3
        assert store.connection.table("ingest").count("*").fetchall() == [(0,)]
    path.write_bytes(json.dumps(_page(ITEM)).encode("utf-16"))
    with PriceStore.open(tmp_path / "prices.duckdb") as store, pytest.raises(FeedError, match="not UTF-8"):
        read_files(store, azure.FEED, [path], at=dt.datetime.now(dt.UTC))


def _fetch(url: str, folder: Path, *regions: str) -> tuple[Fetched, list[tuple[Any, ...]]]:
    with (
        PriceStore.open(folder / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0), sleep=lambda _: None) as fetcher,
    ):
        (found,) = fetch_feed(store, azure.FEED, fetcher, url=url, regions=regions)
        return found, store.connection.execute("select region, usd from observation order by all").fetchall()


def test_pages_are_followed(tmp_path: Path) -> None:
    """All pages become one document; each question names sizes, and the regions that are asked for."""

    def answer(asked: Asked) -> Answer:
        question = parse_qs(urlsplit(asked.path).query)
        if "skip" in question:
            return Answer(body=json.dumps(_page(ITEM | {"armRegionName": "westus3"})).encode())
        if H100 in question["$filter"][0]:
            return Answer(body=json.dumps(_page(ITEM, after=f"{server.url}/api?skip=1")).encode())
        return Answer(body=json.dumps(_page()).encode())

    with serving(answer) as server:
        found, stored = _fetch(f"{server.url}/api", tmp_path, "eastus", "o'brien")
    assert stored == [("eastus", 98.32), ("westus3", 98.32)]
    assert found.files == len(server.asked)
    first = parse_qs(urlsplit(server.asked[0].path).query)
    assert first["api-version"] == ["2023-01-01-preview"]
    assert "armRegionName eq 'eastus' or armRegionName eq 'o''brien'" in first["$filter"][0]
    assert all(len(entry.path) < 2000 for entry in server.asked)


def test_a_page_cut_without_a_word_is_fetched_again(tmp_path: Path) -> None:
    """A page that ends too early although nothing broke is asked for again."""
    whole = json.dumps(_page(ITEM)).encode()

    def answer(_: Asked) -> Answer:
        return Answer(body=whole[:200] if len(server.asked) == 1 else whole, say_length=False)

    with serving(answer) as server:
        assert _fetch(server.url, tmp_path)[1] == [("eastus", 98.32)]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("SELF", "leads back"),
        ("http://example.invalid/api", "another server"),
        ("file:///etc/passwd", "another server"),
    ],
)
def test_pages_lead_nowhere_else(tmp_path: Path, after: str, said: str) -> None:
    """A list that goes round in a circle, or off to another server, is refused whole."""

    def answer(asked: Asked) -> Answer:
        target = f"{server.url}{asked.path}" if after == "SELF" else after
        return Answer(body=json.dumps(_page(ITEM, after=target)).encode())

    with serving(answer) as server, pytest.raises(FeedError, match=said):
        _fetch(server.url, tmp_path)
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        assert store.connection.table("observation").count("*").fetchall() == [(0,)]
