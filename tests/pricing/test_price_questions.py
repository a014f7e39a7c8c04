"""Questions about markets, months, services and buying: rows in, rows out, and published numbers."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog.load import load
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import GpuProduct, products_of
from clusterwright.tco.terms.owning import OwningTerms, owned_servers

from .examples import folder, point

_NODE = GpuProduct(
    sku="aws/x",
    provider="aws",
    accelerator="chip",
    gpus=8,
    terms=("on_demand", "spot"),
    dense_bf16_flop_per_s_per_gpu=1e15,
    dense_fp8_flop_per_s_per_gpu=None,
    hbm_bytes_per_gpu=80e9,
)
_OTHERS = (
    replace(_NODE, sku="azure/x", provider="azure"),
    replace(_NODE, sku="neo/x", provider="neo", gpus=1),
)
_USUAL: dict[str, Any] = {"as_of": dt.date(2024, 12, 31), "term": "on_demand", "region": "", "clouds": ["aws", "azure"]}


def _ask(
    place: Path, statement: str, *points: dict[str, object], products: tuple[GpuProduct, ...] = (_NODE,), **more: object
) -> list[dict[str, Any]]:
    book = PriceBook.open(folder(place, *points))
    return book.query(f"pricing/sql/{statement}.sql", _USUAL | more, products=products)


def test_a_market_of_three_providers(tmp_path: Path) -> None:
    """Each provider counts once with the median of its regions; one not seen any more does not count."""
    points = (
        point(usd=80.0),
        point(usd=160.0, region="eu-west-1"),
        point(usd=40.0, effective_from="2024-03-15"),
        point(usd=96.0, sku="azure/x", effective_from="2024-02-10", last_seen="2024-04-02"),
        point(usd=4.0, sku="neo/x", region="", effective_from="2024-03-01", last_seen="2024-03-20"),
    )
    rows = _ask(tmp_path, "market_index", *points, products=(_NODE, *_OTHERS))
    found = {row["month"]: row for row in rows}
    assert len(found) == 12
    assert found[dt.date(2024, 1, 1)]["median_usd_per_gpu_hour"] == 15.0  # 10 and 20 USD: one provider
    assert found[dt.date(2024, 2, 1)]["median_usd_per_gpu_hour"] == 13.5  # 15 and 12
    march = found[dt.date(2024, 3, 1)]
    # AWS cut its price within the month, the last one counts: 5 and 20 USD; with 12 and 4 the middle is 12.
    assert (march["median_usd_per_gpu_hour"], march["providers"]) == (12.0, 3)
    assert (march["others_median_usd_per_gpu_hour"], march["other_providers"]) == (4.0, 1)
    assert (march["lowest_usd_per_gpu_hour"], march["highest_usd_per_gpu_hour"]) == (4.0, 12.5)
    assert found[dt.date(2024, 4, 1)]["providers"] == 2
    assert found[dt.date(2024, 5, 1)]["others_median_usd_per_gpu_hour"] is None


def test_a_month_weighs_prices_by_their_time(tmp_path: Path) -> None:
    """April: 10 USD for 9 days, 40 for 21: (9 x 10 + 21 x 40) / 30 = 31; the one before counts from day 1."""
    points = (
        point(usd=80.0, term="spot", effective_from="2024-03-20", last_seen="2024-04-09"),
        point(usd=320.0, term="spot", effective_from="2024-04-10", last_seen="2024-05-02"),
    )
    asked = {"term": "spot", "from_month": dt.date(2024, 4, 1), "to_month": dt.date(2024, 5, 1)}
    april, may = _ask(tmp_path, "price_of_month", *points, **asked)
    assert april["mean_usd_per_gpu_hour"] == pytest.approx(31.0)
    assert (april["lowest_usd_per_gpu_hour"], april["highest_usd_per_gpu_hour"], april["prices"]) == (10.0, 40.0, 2)
    assert (may["mean_usd_per_gpu_hour"], may["prices"]) == (40.0, 1)
    rows = _ask(tmp_path, "price_extremes_of_month", *points, **(asked | {"from_month": dt.date(2024, 3, 1)}))
    assert [(row["month"].month, row["lowest_usd_per_gpu_hour"], row["prices"]) for row in rows] == [
        (3, 10.0, 1),
        (4, 40.0, 1),
    ]
    (alone,) = _ask(tmp_path, "price_of_month", *points, **asked, as_of=dt.date(2024, 4, 9))
    assert alone["mean_usd_per_gpu_hour"] == 10.0


def test_services_by_kind(tmp_path: Path) -> None:
    """What is no accelerator and no equipment, in force on the day, by the kind that its key or its unit tells."""
    points = (
        point(),
        point(sku="dgx", term="purchase", charge="once", unit="each", usd=3e5),
        point(sku="aws/disk", charge="monthly", unit="GiB", usd=0.1),
        point(sku="aws/disk", charge="monthly", unit="GiB", usd=0.08, effective_from="2024-06-01"),
        point(sku="aws/egress", charge="metered", unit="GiB", usd=0.09),
        point(sku="licence", region="", charge="monthly", unit="GPU", usd=375.0),
        point(sku="power", charge="metered", unit="kWh", usd=0.07),
    )
    asked = {"items": [{"sku": "licence", "category": "software", "item": "A licence"}], "term": "", "kind": ""}
    rows = _ask(tmp_path, "service_price", *points, **asked, provider="")
    assert [(row["kind"], row["sku"], row["usd"]) for row in rows] == [
        ("egress", "aws/egress", 0.09),
        ("electricity", "power", 0.07),
        ("software", "licence", 375.0),
        ("storage", "aws/disk", 0.08),
    ]
    assert rows[2]["item"] == "A licence"
    (disk,) = _ask(
        tmp_path, "service_price", *points, **(asked | {"kind": "storage"}), provider="aws", as_of="2024-05-31"
    )
    assert (disk["usd"], disk["last_seen"]) == (0.1, dt.date(2024, 5, 31))


_SITE = OwningTerms(
    usd_per_kwh=0.10, pue=1.3, load_fraction=1.0, usd_per_kw_month=0.0, yearly_share=0.0, purchase_usd=475_000.0
)
_ROOM = replace(_SITE, usd_per_kw_month=150.0, yearly_share=0.12)


@pytest.mark.parametrize(
    ("usd_per_hour", "terms", "utilisation", "months"),
    [
        (100.0, _SITE, 1.0, 6.6),
        (100.0, _ROOM, 1.0, 7.2),
        (100.0, _SITE, 0.6, 11.1),
        (100.0, _ROOM, 0.6, 13.0),
        (55.04, _SITE, 1.0, 12.1),
        (55.04, _ROOM, 1.0, 14.4),
        (55.04, _SITE, 0.6, 20.5),
        (55.04, _ROOM, 0.6, 28.2),
        (49.24, _SITE, 1.0, 13.6),
        (49.24, _ROOM, 0.6, 33.2),
        (98.32, _ROOM, 1.0, 7.4),
        (98.32, _SITE, 0.6, 11.3),
        (31.92, _SITE, 1.0, 21.3),
        (31.92, _ROOM, 0.6, 70.5),
        (21.52, _SITE, 0.6, 56.2),
        (21.52, _ROOM, 0.6, 218.0),
    ],
)
def test_one_node_of_2026(
    tmp_path: Path, usd_per_hour: float, terms: OwningTerms, utilisation: float, months: float
) -> None:
    """A server of 475,000 USD and 10.2 kW against what eight GPUs rent for, with and without room and upkeep."""
    rows = _breakeven(tmp_path, point(usd=usd_per_hour), terms=terms, utilisation=utilisation)
    assert rows[0]["breakeven_months"] == pytest.approx(months, abs=0.05 if months < 200 else 0.5)


def test_buying_never_pays_below_its_running_cost(tmp_path: Path) -> None:
    """9.93 USD an hour run the server: at 9.9 USD rent nothing is saved; committed hours are paid without use."""
    points = (point(usd=9.9), point(usd=20.0, term="reserved_1y"))
    rows = _breakeven(tmp_path, *points, terms=_ROOM, utilisation=0.5)
    assert [(row["term"], row["paid_share"]) for row in rows] == [("reserved_1y", 1.0), ("on_demand", 0.5)]
    assert rows[0]["breakeven_months"] == pytest.approx(475_000 / (20 - 9.9294) / 730, rel=1e-4)
    assert rows[1]["breakeven_months"] is None


def _breakeven(place: Path, *points: dict[str, object], terms: OwningTerms, utilisation: float) -> list[dict[str, Any]]:
    book = PriceBook.open(folder(place, *points))
    day = dt.date(2024, 12, 31)
    (server,) = owned_servers(book, load(), accelerators=["h100-sxm-80gb"], system="dgx-h100", terms=terms, as_of=day)
    owned = [
        {
            "accelerator": server.accelerator,
            "system": server.system,
            "purchase_usd_per_gpu": server.purchase_usd_per_gpu,
            "running_usd_per_gpu_hour": server.running_usd_per_gpu_hour,
        }
    ]
    asked = {
        "owned": owned,
        "utilisation": utilisation,
        "hours_per_month": 730.0,
        "committed_terms": ["reserved_1y", "reserved_3y"],
        "term": "",
    }
    product = replace(_NODE, accelerator="h100-sxm-80gb")
    return book.query("pricing/sql/breakeven.sql", _USUAL | asked, products=(product,))


def test_the_index_of_what_is_shipped() -> None:
    """H100 lost from 2024 to 2026 at the clouds, and others rent it for a third of their price."""
    book = PriceBook.open()
    asked = _USUAL | {"as_of": dt.date(2026, 10, 16), "clouds": ["aws", "azure", "gcp"]}
    rows = book.query("pricing/sql/market_index.sql", asked, products=products_of(load(), "h100"))
    newest = rows[0]
    assert newest["month"] == dt.date(2026, 10, 1)
    assert newest["others_median_usd_per_gpu_hour"] < 5 < newest["highest_usd_per_gpu_hour"]


def test_servers_without_a_purchase_price_are_not_bought(tmp_path: Path) -> None:
    """The one server of the GPU with a price in the book is the one to buy; without any there is none."""
    day, asked = (
        dt.date(2026, 12, 31),
        {"accelerators": ["h100-sxm-80gb"], "system": "", "terms": replace(_ROOM, purchase_usd=None)},
    )
    bought = point(sku="dgx-h100", region="", term="purchase", unit="system", charge="once", usd=373_000.0)
    with_it, without = tmp_path / "with", tmp_path / "without"
    with_it.mkdir()
    without.mkdir()
    found = owned_servers(PriceBook.open(folder(with_it, bought)), load(), **asked, as_of=day)
    assert [(server.system, server.purchase_usd_per_gpu) for server in found] == [("dgx-h100", 373_000 / 8)]
    assert owned_servers(PriceBook.open(folder(without, point())), load(), **asked, as_of=day) == ()
