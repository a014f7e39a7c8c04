"""Every price that was collected from public sources is on file, chosen or rejected, with its day."""

import csv
import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from clusterwright.assets import root

FOLDER = Path(os.environ.get("CLUSTERWRIGHT_COLLECTED", Path(__file__).parents[3] / "shared" / "data"))
#: What one price may be divided or multiplied by: GPUs, chips and nodes of a unit, months and cents.
FACTORS = (1.0, 4.0, 8.0, 1 / 2, 1 / 4, 1 / 8, 1 / 9, 1 / 12, 1 / 18, 1 / 60, 1 / 100)


def _collected(name: str) -> list[dict[str, str]]:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is not at hand: name its folder in CLUSTERWRIGHT_COLLECTED")
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def claims() -> list[dict[str, str]]:
    """Every shipped price point, chosen or rejected."""
    found = []
    for path in sorted((root() / "pricing").glob("*.csv")):
        if path.name != "sources.csv":
            with path.open(encoding="utf-8", newline="") as stream:
                found += list(csv.DictReader(stream))
    return found


def _known(claims: list[dict[str, str]], provider: str, usd: float) -> bool:
    return any(
        abs(float(claim["usd"]) - usd * factor) <= 1e-6 + 2e-4 * usd * factor
        for claim in claims
        if claim["sku"].startswith(provider)
        for factor in FACTORS
    )


def test_history(claims: list[dict[str, str]]) -> None:
    """Each change point: its provider, its day and its price per product or per GPU."""
    known = defaultdict(set)
    for claim in claims:
        known[claim["sku"].partition("/")[0], claim["effective_from"], claim["term"]].add(round(float(claim["usd"]), 3))
    index = {"neocloud-ratecard-median", "vast-median"}
    for row in _collected("price_history_curated.csv"):
        provider = "index" if row["provider"] in index else row["provider"]
        term = "reserved_1y" if row["term"] == "reserved_mixed" else row["term"]
        prices = known[provider, row["first_seen"], term]
        # Sources print three or four decimals.
        wanted = (float(row["usd_per_hour"]), float(row["usd_per_gpu_hour"]))
        assert any(abs(price - usd) < 2e-3 for price in prices for usd in wanted), row


def test_commitments(claims: list[dict[str, str]]) -> None:
    """Each commitment, capacity block and list price of its provider; systems that are bought by their price."""
    for row in _collected("commitment_prices.csv"):
        provider = {"onprem": ""}.get(row["provider"], row["provider"])
        if row["price_usd"]:
            assert _known(claims, provider, float(row["price_usd"])), row


def test_services(claims: list[dict[str, str]]) -> None:
    """Each price of storage, data out, licences and electricity."""
    for row in _collected("storage_prices.csv"):
        provider = {"eia": "electricity"}.get(row["provider"], row["provider"])
        if row["price"]:
            assert _known(claims, provider, float(row["price"])), row


def test_index(claims: list[dict[str, str]]) -> None:
    """Each month of the market index."""
    index = [claim for claim in claims if claim["sku"].startswith("index/gix-")]
    known = {(claim["effective_from"], float(claim["usd"])) for claim in index}
    for row in _collected("market_index_gix.csv"):
        assert (f"{row['month']}-01", float(row["index_usd_per_gpu_hour"])) in known, row


def test_purchases(claims: list[dict[str, str]]) -> None:
    """Each purchase price, a range by its ends."""
    bought = [claim for claim in claims if claim["term"] == "purchase"]
    numbers = {float(claim["usd"]) for claim in bought}
    for claim in bought:
        numbers |= {float(word.replace(",", "")) for word in re.findall(r"\d{1,3}(?:,\d{3})+", claim["note"])}
    for row in _collected("purchase_prices.csv"):
        assert {float(row["usd_low"]), float(row["usd_high"])} <= numbers, row


def test_energy_of_2026(claims: list[dict[str, str]]) -> None:
    """Each price of electricity in USD, by kind, state and day."""
    known = {(claim["sku"], claim["region"], claim["last_seen"], float(claim["usd"])) for claim in claims}
    for row in _collected("prices_2026_energy.csv"):
        if row["product"].startswith("electricity/") and row["price_usd"]:
            assert (row["product"], row["region"], row["observed_on"], float(row["price_usd"])) in known, row


def test_systems_of_2026(claims: list[dict[str, str]]) -> None:
    """Each dated price of a complete server, baseboard or rack in USD."""
    known = {(claim["effective_from"], float(claim["usd"])) for claim in claims if claim["term"] == "purchase"}
    for row in _collected("prices_2026_purchases.csv"):
        if row["what"] in {"complete server", "baseboard", "rack"} and row["price_usd"] and row["observed_on"]:
            assert (row["observed_on"], float(row["price_usd"])) in known, row


def test_capacity_blocks_of_2026(claims: list[dict[str, str]]) -> None:
    """Each block of an instance type that is on file, by region and day."""
    known = {(claim["sku"], claim["region"], claim["effective_from"], float(claim["usd"])) for claim in claims}
    types = {claim["sku"] for claim in claims}
    for row in _collected("prices_2026_cloud.csv"):
        sku = f"aws/{row['product']}"
        if row["term"] == "capacity_block" and sku in types and row["region"] != "unknown":
            assert (sku, row["region"], row["observed_on"], float(row["price_usd"])) in known, row
