"""Google's Cloud Billing Catalog: machines added up from their SKUs, and what is missing is reported."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from clusterwright.errors import InputError
from clusterwright.feeds import gcp
from clusterwright.feeds.download import FeedError, Fetcher, Manners
from clusterwright.feeds.fetch import Fetched, fetch_feed, read_files
from clusterwright.pricing.store import PriceStore

from .server import Answer, Asked, serving


def sku(
    text: str, usd: float, *, usage: str = "OnDemand", unit: str = "h", region: str = "us-central1"
) -> dict[str, Any]:
    """Return a SKU as the catalogue gives it; a price is whole units as text and billionths."""
    rate = {
        "startUsageAmount": 0,
        "unitPrice": {"currencyCode": "USD", "units": str(int(usd)), "nanos": round((usd - int(usd)) * 1e9)},
    }
    expression = {"usageUnit": unit, "baseUnitConversionFactor": 3600, "displayQuantity": 1, "tieredRates": [rate]}
    return {
        "name": "services/6F81/skus/1",
        "skuId": text[:9],
        "description": text,
        "serviceProviderName": "Google",
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": "Compute",
            "resourceGroup": "CPU",
            "usageType": usage,
        },
        "serviceRegions": [region],
        "geoTaxonomy": {"type": "REGIONAL", "regions": [region]},
        "pricingInfo": [
            {
                "effectiveTime": "2026-10-01T07:00:00Z",
                "summary": "",
                "pricingExpression": expression,
                "currencyConversionRate": 1,
            }
        ],
    }


CORE = sku("A3 Instance Core running in Americas", 0.03)
RAM = sku("A3 Instance Ram running in Americas", 0.0025, unit="GiBy.h")
GPU = sku("Nvidia H100 80GB GPU running in Americas", 9.25)
SSD = sku("SSD backed Local Storage", 0.08, unit="GiBy.mo")
#: 208 cores, 1,872 GiB, 8 accelerators and 6,000 GiB of local disk.
TOTAL = 208 * 0.03 + 1872 * 0.0025 + 8 * 9.25 + 6000 * 0.08 / 730
OTHERS = (
    sku("A3 Instance Core running in Frankfurt", 0.05, region="europe-west3"),
    sku("Nvidia H100 80GB Mega GPU running in Americas", 10.0, region="elsewhere"),
    sku("Nvidia H100 80GB GPU running in Americas", 1.0, usage="Preemptible"),
    sku("A3 Instance Core running in Americas", 0.5, unit="mo"),
    sku("Licensing Fee for A3", 3.0),
)


def _read(folder: Path, *skus: dict[str, Any]) -> tuple[Fetched, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    path = folder / "skus.json"
    path.write_text(json.dumps({"skus": list(skus), "nextPageToken": ""}), encoding="utf-8")
    with PriceStore.open(folder / "prices.duckdb") as store:
        (found,) = read_files(store, gcp.FEED, [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        query = "select sku, region, term, usd from {} where instance_type like 'a3-highgpu-8g' order by all"
        stored = store.connection.execute(query.format("observation")).fetchall()
        held = store.connection.execute(query.format("quarantine").replace("usd from", "reason from")).fetchall()
    return found, stored, held


def test_a_machine_is_the_sum_of_its_components(tmp_path: Path) -> None:
    """Cores, memory, accelerators and local disk of the catalogue's sizes, at the region's prices."""
    _, stored, held = _read(tmp_path, CORE, RAM, GPU, SSD, *OTHERS)
    # To the last bit, in whichever order the engine adds: or the same document would be another price the next time.
    assert stored == [("gcp/a3-highgpu-8g", "us-central1", "on_demand", round(TOTAL, 9))]
    assert held == [("gcp/a3-highgpu-8g", "europe-west3", "on_demand", "without the price of gpu, ram, ssd")]


@pytest.mark.parametrize(
    ("skus", "missing"),
    [
        ((CORE, RAM, SSD), "gpu"),
        ((RAM, GPU, SSD), "core"),
        ((CORE, GPU, SSD), "ram"),
        ((CORE, RAM, GPU), "ssd"),
        ((CORE, RAM, GPU, SSD, sku("Nvidia H100 80GB GPU running in Iowa", 9.5)), "gpu (several)"),
        ((CORE, RAM, GPU, SSD | {"serviceRegions": ["us-east4"]}), "ssd"),
    ],
)
def test_a_missing_component_is_named(tmp_path: Path, skus: tuple[dict[str, Any], ...], missing: str) -> None:
    """A machine without its accelerators would cost a twentieth; it waits in quarantine instead, and says why."""
    _, stored, held = _read(tmp_path, *skus)
    assert stored == []
    assert [row[3] for row in held if row[1] == "us-central1"] == [f"without the price of {missing}"]


def test_a_part_of_a_machine_cannot_be_released(tmp_path: Path) -> None:
    """Whoever vouches for it: the sum of what is there is not kept as a price."""
    _read(tmp_path, CORE, RAM, SSD)
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        waiting = store.rows("pricing/sql/in_quarantine.sql", {"gate": "05_component_missing"})
        assert {row["amount"] for row in waiting} == {None}
        with pytest.raises(InputError, match="without a product or a price"):
            store.release([waiting[0]["quarantine_id"]], reason="yes")


def test_commitments_and_spot_have_prices_of_their_own(tmp_path: Path) -> None:
    """A commitment without one of its prices is held back; it never becomes the price on demand."""
    committed = (
        sku("Commitment v1: A3 Cpu in Americas for 1 Year", 0.02, usage="Commit1Yr"),
        sku("Commitment v1: A3 Ram in Americas for 1 Year", 0.002, usage="Commit1Yr", unit="GiBy.h"),
        sku("Commitment v1: Nvidia H100 80GB GPU in Americas for 1 Year", 6.0, usage="Commit1Yr"),
        sku("Commitment v1: Local SSD In Americas for 1 Year", 0.05, usage="Commit1Yr", unit="GiBy.mo"),
    )
    _, stored, held = _read(tmp_path, CORE, RAM, GPU, SSD, *committed)
    year = 208 * 0.02 + 1872 * 0.002 + 8 * 6.0 + 6000 * 0.05 / 730
    assert [row[2:] for row in stored] == [("on_demand", pytest.approx(TOTAL)), ("reserved_1y", pytest.approx(year))]
    other = tmp_path / "other"
    other.mkdir()
    _, stored, held = _read(other, CORE, RAM, GPU, SSD, *committed[:2], committed[3])
    assert [row[2] for row in stored] == ["on_demand"]
    assert ("reserved_1y", "without the price of gpu") in [row[2:] for row in held]


def test_shapes_come_from_the_catalogue() -> None:
    """Not 96 cores and 768 GiB, as one public tool has it."""
    parts = {entry["component"]: entry for entry in gcp.components() if entry["instance_type"] == "a3-highgpu-8g"}
    assert (parts["core"]["quantity"], parts["ram"]["quantity"], parts["gpu"]["quantity"]) == (208, 1872, 8)
    assert parts["ssd"]["quantity"] * 730 == pytest.approx(6000)
    assert "us-central1" in parts["core"]["regions"]


def test_pages_are_followed_and_the_key_stays_in_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page names the next one by a token; without a key nothing is asked; a refused key is reported."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("x-goog-api-key") != "secret":
            return Answer(status=403, body=b"{}")
        page = {"skus": [RAM, GPU, SSD]} if "pageToken=two" in asked.path else {"skus": [CORE], "nextPageToken": "two"}
        return Answer(body=json.dumps(page).encode())

    with (
        serving(answer) as server,
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0)) as fetcher,
    ):
        monkeypatch.delenv(gcp.KEY, raising=False)
        with pytest.raises(InputError, match="needs a key"):
            fetch_feed(store, gcp.FEED, fetcher, url=server.url)
        monkeypatch.setenv(gcp.KEY, "wrong")
        with pytest.raises(FeedError, match="refuses"):
            fetch_feed(store, gcp.FEED, fetcher, url=server.url)
        monkeypatch.setenv(gcp.KEY, "secret")
        (found,) = fetch_feed(store, gcp.FEED, fetcher, url=server.url)
        assert found.files == 2
        urls = store.connection.execute("select url from document").fetchall()
    assert urls == [(server.url,)]
    assert not any("secret" in entry.path for entry in server.asked)
