"""Resale by age: points, decay with steps, and what refresh and horizon take of it."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.resale import ResaleCurve, ResaleShare
from clusterwright.tco.terms.stages import GrowthSchedule, capacity_schedule

from .examples import BARE, bare, bought, candidate

DECAY = ResaleCurve(decay_per_year=ResaleShare(low=0.15, base=0.35, high=0.55), step=0.75, step_months=24.0)


def _share(base: float) -> ResaleShare:
    return ResaleShare(low=base / 2, base=base, high=min(1.0, base * 1.5))


POINTS = ResaleCurve(points=((12.0, _share(0.65)), (24.0, _share(0.45)), (36.0, _share(0.3))))


@pytest.mark.parametrize(("months", "base"), [(0, 1.0), (6, 0.825), (12, 0.65), (18, 0.55), (36, 0.3), (60, 0.3)])
def test_points(months: float, base: float) -> None:
    """Straight lines from all of the price at the purchase; the last point holds afterwards."""
    assert POINTS.at(months).base == pytest.approx(base)


@given(st.floats(0, 240))
def test_decay(months: float) -> None:
    """exp(-0.35 x years), three quarters of it after each two years; the slow end brings the most."""
    found = DECAY.at(months)
    assert found.base == pytest.approx(math.exp(-0.35 * months / 12) * 0.75 ** math.floor(months / 24 + 1e-9))
    assert found.low <= found.base <= found.high <= 1


def test_sale_at_each_age(book: PriceBook) -> None:
    """Refresh after 24 of 36 months: sold at 24 months of age, and the new one at 12."""
    overrides = tuple((key, value) for key, value in BARE if key != "resale_fraction")
    economics = dataclasses.replace(
        bare(horizon_months=36.0, growth=GrowthSchedule(refresh_months=24.0), resale=POINTS),
        overrides=(*overrides, ("dgx-h100", 1000.0)),
    )
    ledger = Ledger((candidate("onprem/one", bought("dgx-h100"), it_power_w=0.0),), economics, book)
    sold = {row.month: row.usd for row in ledger.cash_flow_rows() if row.category == "resale"}
    assert sold == {24.0: pytest.approx(-450.0), 36.0: pytest.approx(-650.0)}
    (fraction,) = (entry for entry in ledger.parameters if entry.key == "resale_fraction")
    assert (fraction.low, fraction.value, fraction.high) == pytest.approx((0.975, 0.65, 0.325))


@pytest.mark.parametrize(("growth", "sold"), [(0.0, 1.0), (0.5, 0.5)])
def test_resale_that_ends_at_nothing(growth: float, sold: float) -> None:
    """What is added and still worth something is what resale is told of; the first purchase then brings nothing."""
    _, events = capacity_schedule(
        "one",
        GrowthSchedule(growth_per_year=growth),
        horizon_months=24.0,
        busy_fraction=1.0,
        nodes=10,
        resale=lambda months: 1.0 - months / 24.0,
    )
    assert events[-1].sold == sold


@pytest.mark.parametrize("share", [None, 0.2])
def test_growth_beyond_the_end_of_the_curve(book: PriceBook, share: float | None) -> None:
    """84 months: the first purchase is worth nothing, what was added is; every age what is given, if it is."""
    overrides = {key: value for key, value in BARE if key != "resale_fraction"} | {"dgx-h100": 100.0}
    overrides |= {} if share is None else {"resale_fraction": share}
    economics = bare(horizon_months=84.0, utilisation=1.0, growth=GrowthSchedule(growth_per_year=0.1))
    economics = dataclasses.replace(economics, overrides=tuple(overrides.items()))
    one = candidate("onprem/one", bought("dgx-h100", 10.0), it_power_w=0.0, nodes=10)
    ledger = Ledger((one,), economics, book).reconciled()
    bought_usd = {row.month: row.usd for row in ledger.cash_flow_rows() if row.category == "compute"}
    (sale,) = (row.usd for row in ledger.cash_flow_rows() if row.category == "resale")
    curve = {84.0: 0.0, 72.0: 0.05, 60.0: 0.1, 48.0: 0.2, 36.0: 0.3, 24.0: 1 - 0.7 * 24 / 36, 12.0: 1 - 0.7 * 12 / 36}
    want = sum(usd * (curve[84 - month] if share is None else share) for month, usd in bought_usd.items())
    assert len(bought_usd) > 2
    assert sale == pytest.approx(-want)
