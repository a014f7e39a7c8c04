"""Paths of rental prices: hand-counted histories, and the statistics that a block bootstrap keeps."""

import datetime as dt
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import GpuProduct, gpu_products
from clusterwright.tco.chance.price_paths import (
    MarketHistory,
    PathDraws,
    PathRule,
    market_histories,
    price_paths,
)

COLUMNS = "sku,region,term,charge,unit,usd,effective_from,last_seen,source,locator,confidence,status,note"
HISTORIC = PathRule(block_months=3, drift="historic")


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def _product(sku: str, accelerator: str = "h100") -> GpuProduct:
    return GpuProduct(
        sku=sku,
        provider=sku.partition("/")[0],
        accelerator=accelerator,
        gpus=8,
        terms=("on_demand",),
        dense_bf16_flop_per_s_per_gpu=None,
        dense_fp8_flop_per_s_per_gpu=None,
        hbm_bytes_per_gpu=None,
    )


def _book(folder: Path, *points: tuple[str, str, str, float, str, str]) -> PriceBook:
    rows = [
        f"{sku},{region},{term},hourly,node,{usd},{first},{last},list,page,high,chosen,"
        for sku, region, term, usd, first, last in points
    ]
    (folder / "points.csv").write_text("\n".join([COLUMNS, *rows]) + "\n")
    (folder / "sources.csv").write_text("id,title,where,date,confidence\nlist,List,here,2026-01-01,high\n")
    return PriceBook.open(folder)


def test_history_by_hand(tmp_path: Path) -> None:
    """Months count from the first day of one to that of the next; regions of one provider weigh as one.

    a/x stands at 10 in two regions and falls to 5 in one of them on 2024-03-15, so that provider a changes by
    ln(0.5) / 2 in March; b/y rises from 20 to 30 on 2024-04-01, which is the close of March; c/z is known too late to
    have a change. March is the mean of both: (ln(0.5) / 2 + ln(1.5)) / 2.
    """
    book = _book(
        tmp_path,
        ("a/x", "east", "on_demand", 10, "2024-01-01", "2024-02-01"),
        ("a/x", "east", "on_demand", 5, "2024-03-15", "2026-03-02"),
        ("a/x", "west", "on_demand", 10, "2024-01-01", "2026-03-02"),
        ("b/y", "", "on_demand", 20, "2024-02-11", "2024-02-20"),
        ("b/y", "", "on_demand", 30, "2024-04-01", "2026-03-31"),
        ("c/z", "", "on_demand", 7, "2026-03-01", "2026-03-31"),
    )
    products = [_product("a/x"), _product("b/y"), _product("c/z")]
    history = market_histories(book, products, ["h100"], dt.date(2026, 12, 31))["h100"]
    assert (history.first_month, history.last_month) == (dt.date(2024, 1, 1), dt.date(2026, 2, 1))
    (changes,) = history.log_changes
    assert len(changes) == 26
    assert changes[2] == pytest.approx((math.log(0.5) / 2 + math.log(1.5)) / 2)
    assert [change for place, change in enumerate(changes) if place != 2] == [0.0] * 25
    assert history.drift_per_year == pytest.approx(changes[2] * 12 / 26)
    earlier = market_histories(book, products, ["h100"], dt.date(2026, 1, 5))["h100"]
    assert earlier.log_changes[0] == changes[:24]


def test_too_short_a_history_is_none(tmp_path: Path) -> None:
    """Without two years of the accelerator the others stand in; without any there is no path."""
    old = ("a/x", "", "on_demand", 10, "2020-01-01", "2026-01-01")
    new = ("b/y", "", "on_demand", 10, "2025-01-01", "2026-01-01")
    products = [_product("a/x", "a100"), _product("b/y", "b200")]
    found = market_histories(_book(tmp_path, old, new), products, ["b200"], dt.date(2026, 2, 1))["b200"]
    assert (found.accelerators, found.named) == (("a100",), False)
    assert market_histories(_book(tmp_path, new), products, ["b200"], dt.date(2026, 2, 1)) == {}


def test_shipped_histories_stand_in(book: PriceBook) -> None:
    """What has no history in the shipped prices has those of all accelerators that have one, the index among them."""
    found = market_histories(book, gpu_products(load()), ["tpu-v5p", "h100-sxm-80gb"], dt.date(2026, 11, 20))
    assert found["h100-sxm-80gb"].named
    assert not found["tpu-v5p"].named
    assert {"index/gix-h100-sxm-80gb", "a100-sxm-80gb"} < set(found["tpu-v5p"].accelerators)
    assert "h100-sxm-80gb" not in found["tpu-v5p"].accelerators


def test_shipped_history_is_long_enough(book: PriceBook) -> None:
    """The shipped prices of H100 hold more than three years of changes."""
    found = market_histories(book, [_product("aws/p5.48xlarge")], ["h100"], dt.date(2026, 10, 16))["h100"]
    assert found.months >= 36
    assert 0.05 < found.volatility_per_year < 1.0


def test_an_index_is_the_market(tmp_path: Path) -> None:
    """The monthly index of the accelerator wins over prices; months before a gap, and after the day, are left out."""
    months = [(year, month) for year in (2024, 2025, 2026) for month in range(1, 13)]
    points = [
        ("index/gix-h100", "", "on_demand", 2.0 * 1.5 ** (place % 2), f"{year}-{month:02}-01", f"{year}-{month:02}-28")
        for place, (year, month) in enumerate(months)
        if (year, month) != (2024, 2)
    ]
    book = _book(tmp_path, *points, ("a/x", "", "on_demand", 10, "2020-01-01", "2026-12-01"))
    found = market_histories(book, [_product("a/x")], ["h100"], dt.date(2026, 6, 15))["h100"]
    assert (found.accelerators, found.named) == (("index/gix-h100",), True)
    assert (found.first_month, found.last_month) == (dt.date(2024, 3, 1), dt.date(2026, 5, 1))
    assert found.log_changes[0][:2] == (pytest.approx(math.log(1.5)), pytest.approx(-math.log(1.5)))
    assert len(found.log_changes[0]) == 27


def test_blocks_are_stretches_of_the_history() -> None:
    """Every block holds months that follow on each other, the first one after the last."""
    changes = [0.1, -0.2, 0.3, -0.4, 0.5]
    paths = price_paths([changes], HISTORIC, months=6, draws=200, rng=_rng())
    drawn = np.diff(np.log(paths), axis=1).round(9)
    places = np.vectorize(changes.index)(drawn)
    for block in (places[:, :3], places[:, 3:]):
        assert ((block[:, 1:] - block[:, :-1]) % 5 == 1).all()
    assert paths[:, 0].tolist() == [1.0] * 200
    assert set(places[:, 0]) == set(range(5))


def test_series_are_not_mixed_within_a_block() -> None:
    """A block stays within the series it starts in; longer series are drawn more often."""
    paths = price_paths([[0.1, 0.2], [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6]], HISTORIC, months=3, draws=4000, rng=_rng())
    drawn = np.diff(np.log(paths), axis=1)
    assert ((drawn > 0).all(axis=1) | (drawn < 0).all(axis=1)).all()
    assert (drawn[:, 0] > 0).mean() == pytest.approx(0.25, abs=0.03)


def test_bootstrap_keeps_mean_variance_and_autocorrelation() -> None:
    """Over many draws the changes have the history's mean and variance, and its autocorrelation within blocks."""
    noise = _rng(5).normal(size=60)
    changes = np.convolve(noise, [1.0, 0.8], mode="same") * 0.05 - 0.01
    months, draws, block = 12, 40_000, 6
    rule = PathRule(block_months=block, drift="historic")
    drawn = np.diff(np.log(price_paths([changes.tolist()], rule, months=months, draws=draws, rng=_rng())), axis=1)
    assert drawn.mean() == pytest.approx(changes.mean(), abs=4 * changes.std() / draws**0.5)
    assert drawn.var() == pytest.approx(changes.var(), rel=0.02)
    circular = np.corrcoef(changes, np.roll(changes, -1))[0, 1]
    within = np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]
    across = np.corrcoef(drawn[:, block - 1], drawn[:, block])[0, 1]
    assert within == pytest.approx(circular, abs=0.02)
    assert across == pytest.approx(0.0, abs=0.02)


def test_without_drift_prices_stay_where_they_are_on_average() -> None:
    """The mean change is taken off: the geometric mean of the paths is today's price, whatever the past did."""
    changes = [[-0.05 + 0.02 * (place % 3) for place in range(30)]]
    none = price_paths(changes, PathRule(drift="none"), months=24, draws=20_000, rng=_rng())
    kept = price_paths(changes, PathRule(drift="historic"), months=24, draws=20_000, rng=_rng())
    assert np.log(none[:, -1]).mean() == pytest.approx(0.0, abs=0.003)
    assert np.log(kept[:, -1]).mean() == pytest.approx(-0.03 * 24, abs=0.003)


@pytest.mark.parametrize("drift", ["none", "historic"])
def test_a_price_that_never_changed_gives_no_band(drift: str) -> None:
    """A constant history is followed by constant prices."""
    paths = price_paths([[0.0] * 30], PathRule(drift=drift), months=12, draws=50, rng=_rng())
    assert (paths == 1.0).all()


def _history(*changes: float) -> MarketHistory:
    day = dt.date(2026, 1, 1)
    return MarketHistory(
        accelerators=("h100",), named=True, first_month=day, last_month=day, log_changes=(tuple(changes),)
    )


def _paths(
    *names: str, draws: int, months: int, seed: int = 1, rule: PathRule = HISTORIC, changes: tuple[float, ...]
) -> PathDraws:
    return PathDraws(
        markets={name: _history(*changes) for name in names},
        accelerators={},
        rule=rule,
        months=months,
        draws=draws,
        seed=seed,
    )


@pytest.mark.parametrize(("weights", "level"), [((1, 0, 3, 0), 3.25), ((1, 0, 0, 0), 1.0), ((0, 0, 0, 0), 1.0)])
def test_weights_of_months(weights: tuple[int, ...], level: float) -> None:
    """What is paid at the first month's price does not move; what is agreed later moves with the price of that month.

    A price that doubles every month, and amounts of 1 and 3 at the prices of month 0 and 2: (1 + 3 x 4) / 4.
    """
    paths = _paths("h100", draws=3, months=3, changes=(math.log(2.0),))
    assert paths.levels(np.array(weights, dtype=float))["h100"].tolist() == [pytest.approx(level)] * 3
    assert paths.end_levels()["h100"] == pytest.approx([8.0] * 3)


CHANGES = tuple(np.linspace(-0.1, 0.1, 25).tolist())


def test_same_seed_same_paths() -> None:
    """The same seed gives the same paths, also where they are made in parts; another one gives others."""
    one, two, other = (
        _paths("h100", draws=20_050, months=12, seed=seed, changes=CHANGES).end_levels()["h100"] for seed in (1, 1, 2)
    )
    assert len(one) == 20_050
    assert (one == two).all()
    assert (one != other).any()


@given(names=st.lists(st.sampled_from(("a100", "b200", "h200", "tpu")), unique=True), place=st.integers(0, 4))
def test_other_accelerators_move_no_path(names: list[str], place: int) -> None:
    """The path of an accelerator is the same to the last bit, whatever others there are, in whatever order."""
    every = [*names[:place], "h100", *names[place:]]
    alone = _paths("h100", draws=30, months=12, changes=CHANGES).end_levels()["h100"]
    among = _paths(*every, draws=30, months=12, changes=CHANGES).end_levels()
    assert (among["h100"] == alone).all()
    assert all((among[name] != alone).any() for name in names)


@pytest.mark.parametrize(
    ("changes", "rule"), [([], HISTORIC), ([[0.1]], PathRule(block_months=0)), ([[0.1]], PathRule(drift="upward"))]
)
def test_no_path(changes: list[list[float]], rule: PathRule) -> None:
    """Without a history, or by a rule that is none, nothing is drawn."""
    with pytest.raises(InputError):
        price_paths(changes, rule, months=3, draws=1, rng=_rng())
