"""Gates against what real price lists have got wrong, and against what only looks wrong."""

import datetime as dt
from pathlib import Path

import pytest

from clusterwright.pricing.store import PriceStore

from .quotes import DAY, quote, read

M7I = {"sku": "aws/m7i.2xlarge", "gpu": "", "gpu_count": ""}
GCP = {"sku": "gcp/a3-highgpu-8g", "provider": "gcp", "region": "us-central1", "amount": "88.49"}
AZURE = {"sku": "azure/Standard_ND96isr_H200_v5", "provider": "azure", "region": "uksouth", "amount": "106.0"}


@pytest.fixture
def store(tmp_path: Path) -> PriceStore:
    """A new store."""
    return PriceStore.open(tmp_path / "prices.duckdb")


#: Wrong prices of a store that holds nothing yet, by the gate that refuses them.
FIRST: tuple[tuple[str, dict[str, str]], ...] = (
    ("07_total_as_hourly", {"amount": str(55.04 * 730)}),
    ("07_total_as_hourly", M7I | {"amount": str(0.4032 * 730)}),
    ("07_total_as_hourly", M7I | {"amount": str(0.26 * 8760), "term": "reserved_1y", "region": "eu-west-1"}),
    ("10_gpu_price_as_node_price", {"amount": "6.88"}),
    ("10_gpu_price_as_node_price", {"amount": "6.88", "region": "eu-north-1"}),
    ("10_gpu_price_as_node_price", {"amount": "440.32"}),
    ("10_gpu_price_as_node_price", GCP | {"amount": "11.06"}),
    ("12_region_alias", {"region": "us-east-1a"}),
    ("12_region_alias", {"region": "US East (N. Virginia)"}),
    ("12_region_alias", {"region": "us-west-2-lax-1"}),
    ("12_region_alias", {"region": "us-east-1-wl1-bos1"}),
    ("12_region_alias", GCP | {"region": "us-central1-a"}),
    ("12_region_alias", GCP | {"region": "Iowa"}),
    ("12_region_alias", AZURE | {"region": "UK South"}),
)


def test_a_first_price_that_is_wrong(store: PriceStore, tmp_path: Path) -> None:
    """With nothing stored yet: totals, prices per accelerator, and places that are no region."""
    for gate, changed in FIRST:
        found = read(store, tmp_path, quote(**changed))
        assert (found.by_gate, found.stored) == ({gate: 1}, 0), changed


#: Wrong prices beside one on demand in the same list.
BESIDE: tuple[tuple[str, dict[str, str]], ...] = (
    ("10_gpu_price_as_node_price", {"term": "reserved_1y", "amount": "4.82"}),
    ("10_gpu_price_as_node_price", {"term": "reserved_3y", "amount": "3.10"}),
    ("10_gpu_price_as_node_price", {"term": "capacity_block", "amount": "5.191"}),
    ("07_total_as_hourly", {"term": "reserved_3y", "amount": str(24.8 * 730)}),
    ("08_discount_not_below_on_demand", {"term": "reserved_3y", "amount": "55.04"}),
    ("06_two_prices_for_one", {"amount": "66.048"}),
)


def test_a_price_beside_one_on_demand(store: PriceStore, tmp_path: Path) -> None:
    """Commitments per accelerator, as totals or without a price of their own; a zone or licence read as its region."""
    for number, (gate, changed) in enumerate(BESIDE):
        found = read(store, tmp_path, quote(), quote(**changed), at=DAY + dt.timedelta(days=number))
        assert gate in found.by_gate, changed
        assert found.stored == (0 if gate.startswith("06") else 1), changed


def test_what_only_looks_wrong_passes(store: PriceStore, tmp_path: Path) -> None:
    """First prices, cuts, deep discounts, dear places, single accelerators and whole racks are prices."""
    first = [
        quote(amount="98.32"),
        quote(sku="aws/p9.48xlarge", amount="7.5"),
        quote(sku="aws/p5.4xlarge", gpu_count="1", amount="6.88"),
        quote(sku="aws/p6e-gb200.36xlarge", gpu_count="36", amount="380.9"),
        quote(sku="aws/p6-b300.48xlarge", region="us-west-2", amount="142.416"),
        quote(region="us-gov-west-1", amount="123.24"),
        quote(sku="aws/p4d.24xlarge", amount="21.957642"),
        quote(sku="aws/p4d.24xlarge", term="reserved_3y", payment="all_upfront", amount="7.7"),
        quote(sku="aws/p4d.24xlarge", term="spot", amount="2.4"),
        quote(**GCP),
        quote(**GCP | {"term": "spot", "amount": "20.3"}),
        quote(**AZURE),
        quote(**AZURE | {"term": "spot"}),
        quote(sku="electricity/industrial", provider="", region="TX", charge="metered", unit="kWh", amount="0.066"),
        quote(sku="aws/x9.metal", provider="aws", region="", amount="3"),
    ]
    found = read(store, tmp_path, *first)
    assert (found.stored, found.by_gate) == (len(first), {})
    assert found.warnings == {"01_spot_equals_on_demand": 1}
    cut = read(
        store,
        tmp_path,
        quote(amount="55.04"),
        quote(sku="aws/p9.48xlarge", amount="22.4"),
        at=DAY + dt.timedelta(days=1),
    )
    assert (cut.stored, cut.by_gate) == (2, {})


def test_an_older_list_is_not_held_against_a_newer_one(store: PriceStore, tmp_path: Path) -> None:
    """A list of two years ago, read after today's, is no jump; against what was seen before it, it may be one."""
    read(store, tmp_path, quote(sku="aws/p9.48xlarge", amount="20"))
    old = DAY - dt.timedelta(days=700)
    row = quote(sku="aws/p9.48xlarge", amount="98", effective_from="2024-01-01")
    assert read(store, tmp_path, row, at=old).stored == 1
    later = read(store, tmp_path, row | {"amount": "20"}, at=old + dt.timedelta(days=5))
    assert later.by_gate == {"09_price_jump": 1}


def test_what_is_bought_is_held_against_the_shipped_price(store: PriceStore, tmp_path: Path) -> None:
    """A server of 329,580 USD offered for 31,000 or 3.1 million waits; for 280,000 it is an offer, wherever it is."""
    server = {"sku": "dgx-h100", "provider": "", "region": "", "term": "purchase", "charge": "once", "unit": "each"}
    for number, amount in enumerate(("31000", "3100000")):
        found = read(store, tmp_path, quote(**server | {"amount": amount}), at=DAY + dt.timedelta(days=number))
        assert found.by_gate == {"09_price_jump": 1}
    offers = [quote(**server | {"amount": "280000"}), quote(**server | {"amount": "290000", "region": "eu"})]
    assert read(store, tmp_path, *offers, at=DAY + dt.timedelta(days=2)).by_gate == {}
    # From now on the last offer counts, and no longer the shipped price.
    cheap = quote(**server | {"amount": "95000"})
    assert read(store, tmp_path, cheap, at=DAY + dt.timedelta(days=3)).stored == 1


def test_absurd_days_wait(store: PriceStore, tmp_path: Path) -> None:
    """A day before the first cloud, far in the future, or none at all is held back, in both columns."""
    days = ("0001-01-01", "9999-12-31", "2026-13-45", "infinity", "-infinity", "290000-01-01", "0")
    rows = [quote(effective_from=day, region=f"region-{number}") for number, day in enumerate(days)]
    found = read(store, tmp_path, *rows, quote(effective_to="0001-01-01"))
    assert (found.by_gate, found.stored) == ({"03_day_absurd": len(days) + 1}, 0)


def test_a_discount_is_held_against_the_shipped_price_too(store: PriceStore, tmp_path: Path) -> None:
    """A spot price alone in a new store, above the shipped price on demand, waits; below it, it is a price."""
    above = quote(term="spot", amount="60")
    assert read(store, tmp_path, above, feed="aws-spot").by_gate == {"08_discount_not_below_on_demand": 1}
    below = quote(term="spot", amount="20.1")
    assert read(store, tmp_path, below, feed="aws-spot").stored == 1


def test_a_commitment_is_held_against_the_price_in_force(store: PriceStore, tmp_path: Path) -> None:
    """A list may still name the price on demand that it replaced, and one to come: neither is what a discount is of."""
    rows = [
        quote(amount="90", effective_from="2024-01-01", effective_to="2025-01-01"),
        quote(amount="110", effective_from="2025-01-01"),
        quote(amount="85", effective_from="2027-01-01"),
        quote(term="reserved_1y", amount="95", effective_from="2025-01-01"),
    ]
    found = read(store, tmp_path, *rows)
    assert (found.stored, found.by_gate) == (4, {})
    assert found.warnings == {"03_ended_before_seen": 1}
