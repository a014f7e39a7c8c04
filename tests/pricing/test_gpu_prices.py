"""Prices per accelerator: rows in, rows out, and what is shipped."""

import datetime as dt
from dataclasses import replace
from math import log, sqrt
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog.clouds.price_only import price_only_products
from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.feeds.markets import names_of
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import GpuProduct, product_or_accelerator, products_of

from .examples import folder, point

_PRODUCT = GpuProduct(
    sku="aws/x",
    provider="aws",
    accelerator="chip",
    gpus=8,
    terms=("on_demand", "spot"),
    dense_bf16_flop_per_s_per_gpu=1e15,
    dense_fp8_flop_per_s_per_gpu=2e15,
    hbm_bytes_per_gpu=80e9,
)


def _ask(
    place: Path, statement: str, *points: dict[str, object], product: GpuProduct = _PRODUCT, **changes: object
) -> list[dict[str, Any]]:
    asked: dict[str, Any] = {"as_of": dt.date(2024, 12, 31), "term": "", "region": "", "least_changes": 1}
    book = PriceBook.open(folder(place, *points))
    return book.query(f"pricing/sql/{statement}.sql", asked | changes, products=(product,))


def test_a_node_of_eight_at_80_usd(tmp_path: Path) -> None:
    """80 USD an hour for 8 GPUs of 1 PFLOP/s and 80 GB: 10 USD each, 10 per PFLOP/s in bf16, 5 in fp8, 0.125 per GB."""
    (row,) = _ask(tmp_path, "gpu_price_in_force", point(usd=80.0))
    assert row["usd_per_gpu_hour"] == 10.0
    assert row["usd_per_dense_bf16_pflop_hour"] == 10.0
    assert row["usd_per_dense_fp8_pflop_hour"] == 5.0
    assert row["usd_per_gb_hbm_hour"] == 0.125


def test_unknown_facts_stay_unknown(tmp_path: Path) -> None:
    """A chip of unknown speed has a price per hour, and none per PFLOP/s."""
    unknown = replace(_PRODUCT, dense_bf16_flop_per_s_per_gpu=None, dense_fp8_flop_per_s_per_gpu=None)
    (row,) = _ask(tmp_path, "gpu_price_in_force", point(), product=unknown)
    assert (row["usd_per_dense_bf16_pflop_hour"], row["usd_per_dense_fp8_pflop_hour"]) == (None, None)
    assert row["usd_per_gpu_hour"] == 1.25


def test_the_price_of_the_day_and_nothing_rejected(tmp_path: Path) -> None:
    """The newest chosen price up to the day counts; rejected, later and monthly ones do not."""
    points = (
        point(usd=80.0),
        point(usd=40.0, effective_from="2024-06-01"),
        point(usd=8.0, effective_from="2024-07-01", status="rejected", note="one news post"),
        point(usd=16.0, effective_from="2025-06-01", last_seen="2025-06-01"),
        point(usd=1.0, charge="monthly", unit="GiB", sku="aws/disk"),
    )
    (row,) = _ask(tmp_path, "gpu_price_in_force", *points)
    assert row["usd_per_gpu_hour"] == 5.0
    assert row["age_days"] == 0
    (old,) = _ask(tmp_path, "gpu_price_in_force", *points, as_of=dt.date(2024, 5, 31))
    assert old["usd_per_gpu_hour"] == 10.0


@pytest.mark.parametrize(
    ("statement", "column"),
    [("gpu_price_in_force", "last_seen"), ("discount_over_time", "last_seen"), ("price_coverage", "newest_day")],
)
def test_nothing_is_seen_after_the_day(tmp_path: Path, statement: str, column: str) -> None:
    """On 2024-03-01 nobody knew that the prices, seen until the end of the year, would last so long."""
    points = (point(usd=80.0), point(usd=20.0, term="spot"))
    rows = _ask(tmp_path, statement, *points, as_of=dt.date(2024, 3, 1))
    assert {row[column] for row in rows} == {dt.date(2024, 3, 1)}


def test_repeated_prices_are_no_change(tmp_path: Path) -> None:
    """Three observations of which two are alike are two changes; the first stood from January to July."""
    points = (
        point(usd=80.0, last_seen="2024-01-31"),
        point(usd=80.0, effective_from="2024-03-01", last_seen="2024-03-01"),
        point(usd=60.0, effective_from="2024-07-01"),
    )
    rows = _ask(tmp_path, "gpu_price_change", *points)
    assert [(row["usd_per_gpu_hour"], row["days_in_force"]) for row in rows] == [(10.0, 182), (7.5, 183)]
    assert rows[0]["change_share"] is None
    assert rows[1]["change_share"] == pytest.approx(-0.25)


def test_a_discount_is_against_the_price_of_its_own_day(tmp_path: Path) -> None:
    """Spot at 20 USD is 75 % off while on demand costs 80, and 50 % off once that costs 40."""
    points = (
        point(usd=80.0),
        point(usd=40.0, effective_from="2024-07-01"),
        point(usd=20.0, term="spot", effective_from="2024-02-01"),
        point(usd=20.0, term="spot", effective_from="2024-08-01"),
        point(usd=20.0, term="spot", effective_from="2023-01-01", last_seen="2023-01-01"),
        point(usd=1.0, term="spot", region="eu-west-1"),
    )
    rows = _ask(tmp_path, "discount_over_time", *points)
    assert [row["discount_share"] for row in rows] == [0.5, 0.75]


def test_volatility_of_a_price_that_doubles_and_halves(tmp_path: Path) -> None:
    """Doubling, then halving within 366 days: sqrt(2 ln(2)^2 / (366 / 365.25)) a year; 182 and 184 days in force."""
    points = (
        point(usd=10.0, term="spot", effective_from="2024-01-01"),
        point(usd=20.0, term="spot", effective_from="2024-07-01"),
        point(usd=10.0, term="spot", effective_from="2025-01-01", last_seen="2025-01-10"),
    )
    last = dt.date(2025, 1, 10)
    (row,) = _ask(tmp_path, "price_volatility", *points, as_of=last)
    assert row["changes"] == 2
    assert row["log_volatility_per_year"] == pytest.approx(sqrt(2 * log(2) ** 2 / (366 / 365.25)))
    assert row["largest_rise_share"] == pytest.approx(1.0)
    assert row["largest_fall_share"] == pytest.approx(0.5)
    assert row["median_days_in_force"] == 182.0
    assert row["share_in_force_30_days"] == 1.0
    assert (row["lowest_usd_per_gpu_hour"], row["highest_usd_per_gpu_hour"]) == (1.25, 2.5)
    assert _ask(tmp_path, "price_volatility", *points, as_of=last, least_changes=3) == []


def test_a_term_without_a_price_is_a_hole(tmp_path: Path) -> None:
    """Every term that a product is sold under has a row, with 0 prices where none is known."""
    rows = _ask(tmp_path, "price_coverage", point(), point(region="us-west-2"))
    assert [(row["term"], row["prices"], row["regions"]) for row in rows] == [("on_demand", 2, 2), ("spot", 0, 0)]


@pytest.mark.parametrize(
    ("sku", "usd_per_gpu_hour"),
    [
        ("aws/p5.48xlarge", 6.88),
        ("lambda/gpu_8x_h100_sxm_80gb", 3.99),
        ("coreweave/hgx-h100", 6.155),
        ("oci/B98415", 10.0),
    ],
)
def test_what_an_h100_costs(sku: str, usd_per_gpu_hour: float) -> None:
    """On-demand prices of one H100 that their providers published in 2026."""
    book = PriceBook.open()
    asked = {"as_of": book.newest_day, "term": "on_demand", "region": ""}
    rows = book.query("pricing/sql/gpu_price_in_force.sql", asked, products=products_of(load(), sku))
    assert min(row["usd_per_gpu_hour"] for row in rows) == pytest.approx(usd_per_gpu_hour)


def test_every_shipped_price_of_another_provider_has_its_product() -> None:
    """A provider's price without accelerators and their number could not be compared; every chip is known."""
    # An index is a median over providers: it has a price and no product.
    clouds = ("aws", "azure", "gcp", "electricity", "colocation", "index")
    priced = {entry.sku for entry in PriceBook.open().products() if "/" in entry.sku}
    others = {sku for sku in priced if sku.partition("/")[0] not in clouds}
    # The products without a shipped price are ones that a feed fetches.
    assert set(price_only_products()) - others == {"runpod/a100-pcie-80gb", "runpod/h100-nvl"}
    assert {"runpod/a100-pcie-80gb", "runpod/h100-nvl"} <= {entry["sku"] for entry in names_of("runpod")}
    assert others - set(price_only_products()) == {"oci/egress", "oci/object-storage-standard"}
    assert {entry.accelerator for entry in price_only_products().values()} <= set(load().accelerators)


def test_names() -> None:
    """A price key with or without its provider, an accelerator by any of its names, or an error."""
    catalogue = load()
    assert product_or_accelerator(catalogue, "p5.48xlarge") == ("aws/p5.48xlarge", "")
    assert product_or_accelerator(catalogue, "h100") == ("", "h100-sxm-80gb")
    assert product_or_accelerator(catalogue, "h200") == ("", "h200-sxm-141gb")  # not runpod/h200 alone
    assert product_or_accelerator(catalogue, "runpod/h200") == ("runpod/h200", "")
    assert len({entry.provider for entry in products_of(catalogue, "h200")}) > 5
    assert {entry.accelerator for entry in products_of(catalogue, "tpu")} >= {"tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"}
    with pytest.raises(InputError, match="no product and no accelerator is called 'abacus'"):
        product_or_accelerator(catalogue, "abacus")
