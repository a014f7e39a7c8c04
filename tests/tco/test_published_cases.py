"""Published calculations, reproduced by the engine: the same cash flow gives the figures that others printed."""

import datetime as dt

import numpy_financial
import pytest

from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger, cost
from clusterwright.tco.terms.records import Economics

from .examples import bare, bought, candidate, line, p5, with_overrides


def _breakeven_months(book: PriceBook, economics: Economics, *, usd_per_hour: float, it_power_w: float) -> float | None:
    owned = candidate("onprem/one", bought("server"), it_power_w=it_power_w)
    rented = candidate("cloud/one", line("node"))
    priced = with_overrides(economics, node=usd_per_hour)
    (breakeven,) = Ledger((owned, rented), priced, book).breakevens()
    return breakeven.months


@pytest.mark.parametrize(("usd_per_hour", "hours"), [(98.32, 8556), (77.43, 10890.9), (53.95, 15708.5)])
def test_lenovo_lp2225(book: PriceBook, usd_per_hour: float, hours: float) -> None:
    """Lenovo LP2225: 833,806 USD of server at 0.87 USD/h breaks even with AWS after 8,556, 10,890 and 15,710 hours."""
    economics = with_overrides(
        bare(horizon_months=60.0, power_price_usd_per_kwh=0.15), server=833806.0
    )  # 5.8 kW at 0.15 USD/kWh is 0.87 USD/h
    months = _breakeven_months(book, economics, usd_per_hour=usd_per_hour, it_power_w=5800.0)
    assert months is not None
    assert months * 730 == pytest.approx(hours, abs=1.0)


def test_lenovo_lp2225_five_years(book: PriceBook) -> None:
    """Lenovo LP2225: five years on premises cost 871,912 USD, on AWS 4,306,416 USD."""
    economics = with_overrides(bare(horizon_months=60.0, power_price_usd_per_kwh=0.15), server=833806.0, node=98.32)
    owned = candidate("onprem/one", bought("server"), it_power_w=5800.0)
    mine, theirs = cost((owned, candidate("cloud/one", line("node"))), economics, book)
    assert mine.horizon_usd == pytest.approx(871912, abs=1)
    assert theirs.horizon_usd == pytest.approx(4306416, abs=1)


@pytest.mark.parametrize(
    ("usd_per_hour", "utilisation", "power_only", "with_room_and_operations"),
    [
        (100.0, 1.0, 6.6, 7.2),
        (100.0, 0.6, 11.1, 13.0),
        (55.04, 1.0, 12.1, 14.4),
        (55.04, 0.6, 20.5, 28.2),
        (49.24, 1.0, 13.6, 16.6),
        (98.32, 1.0, 6.7, 7.4),
        (98.32, 0.6, 11.3, 13.3),
        (31.92, 1.0, 21.3, 29.6),
        (31.92, 0.6, 36.5, 70.5),
        (21.52, 1.0, 32.2, 56.1),
    ],
)
def test_one_node_example(
    book: PriceBook, usd_per_hour: float, utilisation: float, power_only: float, with_room_and_operations: float
) -> None:
    """A server of 475,000 USD breaks even in 6 to 12 months only against about 100 USD/h, not against 55.04 USD/h."""
    economics = with_overrides(bare(horizon_months=120.0, utilisation=utilisation, pue=1.3), server=475000.0)
    months = _breakeven_months(book, economics, usd_per_hour=usd_per_hour, it_power_w=10200.0)
    assert months == pytest.approx(power_only, abs=0.06)
    more = with_overrides(economics, colocation_usd_per_kw_month=150.0, support_fraction_per_year=0.12)
    months = _breakeven_months(book, more, usd_per_hour=usd_per_hour, it_power_w=10200.0)
    assert months == pytest.approx(with_room_and_operations, abs=0.06)


def test_never_breaks_even(book: PriceBook) -> None:
    """Against 21.52 USD/h at 60 % use the same server with room and operations is beyond any life: 218 months."""
    economics = with_overrides(
        bare(horizon_months=60.0, utilisation=0.6, pue=1.3),
        server=475000.0,
        node=21.52,
        colocation_usd_per_kw_month=150.0,
        support_fraction_per_year=0.12,
    )
    owned = candidate("onprem/one", bought("server"), it_power_w=10200.0)
    (breakeven,) = Ledger((owned, candidate("cloud/one", line("node"))), economics, book).breakevens()
    assert breakeven.months is None
    assert "not paid back within 60 months" in breakeven.reason


@pytest.mark.parametrize(
    ("servers", "usd", "kw", "idle", "gpus", "utilisation", "rent", "own_month", "rent_month", "breakeven", "saving"),
    [
        (8, 250e3, 10.2, 0.35, 64, 0.70, 3.82, 70560.37, 124929.28, 0.3883, 3262134.82),
        (1, 450e3, 14.3, 0.35, 8, 0.35, 6.81, 14771.97, 13919.64, 0.3718, -51139.58),
        (1, 70e3, 4.5, 0.50, 3, 0.20, 2.70, 2746.65, 1182.60, 0.4724, -93843.04),
    ],
)
def test_build_versus_rent(  # noqa: PLR0917
    book: PriceBook,
    servers: int,
    usd: float,
    kw: float,
    idle: float,
    gpus: int,
    utilisation: float,
    rent: float,
    own_month: float,
    rent_month: float,
    breakeven: float,
    saving: float,
) -> None:
    """Three cases of the ewyluda build-versus-rent model; its average-balance capital charge is 4 % of capex a year."""
    economics = with_overrides(
        bare(horizon_months=60.0, utilisation=utilisation, pue=1.3, power_price_usd_per_kwh=0.08),
        server=usd,
        gpu=rent,
        idle_power_fraction=idle,
        colocation_usd_per_kw_month=150.0,
        support_fraction_per_year=0.12,
    )
    owned = candidate("onprem/all", bought("server", servers), it_power_w=servers * kw * 1000, gpus=gpus)
    rented = candidate("cloud/all", line("gpu", quantity=gpus), gpus=gpus)
    ledger = Ledger((owned, rented), economics, book)
    mine, theirs = ledger.costs()
    assert mine.horizon_usd is not None
    assert theirs.horizon_usd is not None
    assert mine.horizon_usd / 60 == pytest.approx(own_month, abs=0.01)
    assert theirs.horizon_usd / 60 == pytest.approx(rent_month, abs=0.01)
    assert theirs.horizon_usd - mine.horizon_usd == pytest.approx(saving, abs=0.3)
    assert ledger.breakevens()[0].utilisation == pytest.approx(breakeven, abs=5e-5)


@pytest.mark.parametrize(("pue", "usd"), [(1.0, 285926), (1.3, 371704)])
def test_power_of_32_dgx_h100(book: PriceBook, pue: float, usd: float) -> None:
    """32 DGX H100 at nameplate draw 285,926 USD a year at 0.10 USD/kWh, 371,704 USD with a PUE of 1.3."""
    owned = candidate("onprem/32", bought("dgx-h100", 32), it_power_w=32 * 10200.0, nodes=32, gpus=256)
    (result,) = cost((owned,), bare(horizon_months=12.0, pue=pue), book)
    energy = {part.category: part.usd for part in result.horizon_breakdown}["energy"]
    assert energy == pytest.approx(usd, abs=1)


@pytest.mark.parametrize(
    ("day", "usd_per_hour", "price_date", "months"),
    [("2025-06-04", 98.32, "2023-07-31", 5.84), ("2025-06-05", 55.04, "2025-06-05", 10.57)],
)
def test_cloud_against_owned_as_of(
    book: PriceBook, day: str, usd_per_hour: float, price_date: str, months: float
) -> None:
    """A DGX H100 against a p5.48xlarge at 80 % use pays back in 5.8 months at the price of 2025-06-04, then 10.6."""
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    ledger = Ledger((owned, p5()), bare(utilisation=0.8, pue=1.3, as_of=dt.date.fromisoformat(day)), book)
    rented = ledger.costs()[1]
    assert (rented.lines[0].unit_usd, rented.lines[0].price_date) == (usd_per_hour, price_date)
    assert rented.horizon_usd == pytest.approx(usd_per_hour * 36 * 730 * 0.8)
    assert ledger.breakevens()[0].months == pytest.approx(months, abs=0.005)


def test_loan_golden_constant(book: PriceBook) -> None:
    """48 payments of 24,412.92 USD at 8 %/12 a month are worth 1,000,000 USD today."""
    economics = bare(horizon_months=48.0, discount_rate=(1 + 0.08 / 12) ** 12 - 1)
    rented = candidate("cloud/lease", line("lease", quantity=1, charge="monthly", unit="each", scales_with="cluster"))
    (result,) = cost((rented,), with_overrides(economics, lease=24412.92), book)
    assert result.npv_usd == pytest.approx(1e6, abs=0.5)


def test_present_value_equals_numpy_financial(book: PriceBook) -> None:
    """The present value of an owned cluster equals numpy-financial's on the same monthly rows."""
    economics = Economics(horizon_months=36.0, discount_rate=0.11, pue=1.3, power_price_usd_per_kwh=0.08)
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    ledger = Ledger((owned,), economics, book)
    months = [0.0] * 37
    for row in ledger.cash_flow_rows("onprem/one"):
        months[int(row.month)] += row.usd
    expected = numpy_financial.npv(1.11 ** (1 / 12) - 1, months)
    assert ledger.costs()[0].npv_usd == pytest.approx(expected)
