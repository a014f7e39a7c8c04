"""Which price was in force on a day."""

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import MissingFactError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceRequest

from .examples import folder, point

P5 = PriceRequest(sku="aws/p5.48xlarge", region="us-east-1", term="on_demand")


@pytest.fixture(scope="module")
def shipped() -> PriceBook:
    """The shipped price points."""
    return PriceBook.open()


@pytest.mark.parametrize(
    ("day", "usd"),
    [("2023-07-31", 98.32), ("2025-06-04", 98.32), ("2025-06-05", 55.04), ("2026-10-10", 55.04), ("2030-01-01", 55.04)],
)
def test_price_of_a_day(shipped: PriceBook, day: str, usd: float) -> None:
    """A run as of an old day gets that day's price of p5.48xlarge, which was cut on 2025-06-05."""
    (price,) = shipped.in_force((P5,), dt.date.fromisoformat(day))
    assert price is not None
    assert price.point.usd == usd
    assert price.source_title
    assert price.point.effective_from <= dt.date.fromisoformat(day)


def test_no_price_before_the_first(shipped: PriceBook) -> None:
    """Before the first known price there is none."""
    assert shipped.in_force((P5,), dt.date(2023, 7, 30)) == (None,)


def test_age(shipped: PriceBook) -> None:
    """The age counts days since the price was last seen, not since it came into force."""
    (price,) = shipped.in_force((P5,), dt.date(2026, 10, 9))
    assert price is not None
    assert price.point.last_seen == dt.date(2026, 9, 29)
    assert price.age_days == 10
    (before,) = shipped.in_force((P5,), dt.date(2026, 2, 1))
    assert before is not None
    assert (before.point.last_seen, before.age_days) == (dt.date(2026, 2, 1), 0)


@pytest.mark.parametrize(
    ("sku", "region", "usd"),
    [
        ("aws/p5.48xlarge", "us-east-1", 55.04),
        ("azure/Standard_ND96isr_H100_v5", "eastus", 98.32),
        ("gcp/a3-highgpu-8g", "us-central1", 88.49),
        ("dgx-h100", "", 380000),
        ("qm9700", "", 36000),
        ("aws/fsx-lustre-ssd-125", "us-east-1", 0.145),
    ],
)
def test_shipped_targets(shipped: PriceBook, sku: str, region: str, usd: float) -> None:
    """What the shipped blueprint rents and buys has a documented price on the default day."""
    term = "on_demand" if "/" in sku else "purchase"
    price = shipped.price(sku, region=region, term=term, as_of=shipped.newest_day)
    assert price is not None
    assert price.point.usd == usd


def test_terms_never_stand_in(shipped: PriceBook) -> None:
    """A term without a price has none: p5e is sold in capacity blocks alone."""
    day = shipped.newest_day
    assert shipped.price("aws/p5e.48xlarge", region="us-east-1", as_of=day) is None
    assert shipped.price("aws/p5e.48xlarge", region="us-east-1", term="capacity_block", as_of=day) is not None


def test_rejected_claims_are_kept_but_never_used(shipped: PriceBook) -> None:
    """The stale 98.32 of a curated list of 2026-08-27 is on file with a reason; the price stays 55.04."""
    claims = shipped.history(P5.sku, term="on_demand", with_rejected=True)
    stale = [claim for claim in claims if claim.status == "rejected" and claim.usd == 98.32]
    assert stale
    assert "55.04" in stale[0].note
    assert all(claim.status == "chosen" for claim in shipped.history(P5.sku))


def test_history_is_in_order(shipped: PriceBook) -> None:
    """The history of the H100 spot price on Google Cloud has its fall of 2025 and its rise of 2026, in order."""
    points = shipped.history("gcp/a3-highgpu-8g", region="us-central1", term="spot")
    days = [step.effective_from for step in points]
    assert days == sorted(days)
    assert min(step.usd for step in points) == 20.3655
    assert points[0].usd == 62.5473
    assert points[-1].usd == 50.3153


def test_products(shipped: PriceBook) -> None:
    """Every product is listed with its number of points and its days."""
    listed = {(product.sku, product.region, product.term): product for product in shipped.products()}
    p5 = listed["aws/p5.48xlarge", "us-east-1", "on_demand"]
    assert (p5.points, p5.first_day, p5.last_day) == (2, dt.date(2023, 7, 31), dt.date(2026, 9, 29))


def test_region_wins_over_everywhere(tmp_path: Path) -> None:
    """A price of the region wins over one that holds everywhere, even a newer one; others take the latter."""
    book = PriceBook.open(
        folder(
            tmp_path,
            point(usd=10.0, region="us-east-1"),
            point(usd=7.0, region="", effective_from="2024-06-01"),
        )
    )
    day = dt.date(2024, 7, 1)
    usd = [price and price.point.usd for price in book.in_force(_ask("us-east-1", "eu-west-1", ""), day)]
    assert usd == [10.0, 7.0, 7.0]


def _ask(*regions: str) -> tuple[PriceRequest, ...]:
    return tuple(PriceRequest(sku="aws/x", region=region, term="on_demand") for region in regions)


def test_no_questions(shipped: PriceBook) -> None:
    """No question, no answer."""
    assert shipped.in_force((), dt.date(2026, 1, 1)) == ()


@given(day=st.dates(dt.date(2023, 8, 1), dt.date(2027, 1, 1)))
def test_in_force_is_the_last_step(shipped: PriceBook, day: dt.date) -> None:
    """On any day the price in force is the last step of the history up to that day."""
    steps = shipped.history(P5.sku, region=P5.region, term=P5.term, as_of=day)
    (price,) = shipped.in_force((P5,), day)
    assert price is not None
    assert price.point == steps[-1]
    assert all(step.last_seen <= day for step in steps)


def test_empty_folder(tmp_path: Path) -> None:
    """A folder without price points is an error that names it."""
    with pytest.raises(MissingFactError, match="no price points"):
        PriceBook.open(tmp_path)


def test_broken_table(tmp_path: Path) -> None:
    """A price that is no number is an error for people, not a traceback."""
    with pytest.raises(MissingFactError, match="cannot be read"):
        PriceBook.open(folder(tmp_path, point(usd="ten")))


def test_nothing_chosen(tmp_path: Path) -> None:
    """A book of rejected claims has no newest day."""
    book = PriceBook.open(folder(tmp_path, point(status="rejected", note="a typing error")))
    with pytest.raises(MissingFactError, match="no chosen price"):
        _ = book.newest_day


def test_ten_thousand_regions_are_one_question(tmp_path: Path) -> None:
    """Each of many questions gets the newest price of its own region, else the one that holds everywhere."""
    regions = [f"r{number}" for number in range(10_000)]
    points = [point(region=region, usd=float(number + 1)) for number, region in enumerate(regions)]
    points += [point(region="r7", usd=0.5, effective_from="2024-06-01"), point(region="", usd=99.0)]
    book = PriceBook.open(folder(tmp_path, *points))
    asked = [PriceRequest(sku="aws/x", region=region, term="on_demand") for region in [*regions, "elsewhere"]]
    found = [None if price is None else price.point.usd for price in book.in_force(asked, dt.date(2024, 12, 31))]
    assert found[:9] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.5, 9.0]
    assert found[9:-1] == [float(number + 1) for number in range(9, 10_000)]
    assert found[-1] == 99.0
