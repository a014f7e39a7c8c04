"""Breakeven of one node at documented prices: the published table, the page, and prices that a case takes."""

import datetime as dt
from pathlib import Path

import pytest

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.compare.one_node import text
from clusterwright.evidence.cost_cases.one_node import one_node
from clusterwright.pricing.book import PriceBook
from tests.opened import check_case

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "breakeven.md"
#: Months at prices of 2026-10: power only at 100 and 60 % use, all costs at 100 and 60 %.
TABLE = {
    "list_100": (6.6, 11.1, 7.2, 13.0),
    "azure": (6.7, 11.3, 7.4, 13.3),
    "aws": (12.1, 20.5, 14.4, 28.2),
    "coreweave": (13.6, 23.1, 16.6, 33.2),
    "lambda_cloud": (21.3, 36.5, 29.6, 70.5),
    "runpod_community": (32.2, 56.2, 56.1, 218.0),
}


@pytest.fixture(scope="module")
def book() -> PriceBook:
    """The shipped price points."""
    return PriceBook.open()


def test_months_of_october_2026(book: PriceBook) -> None:
    """The months of every provider, by both ways of owning, at both uses, to the printed digit."""
    found = one_node(book, dt.date(2026, 10, 16))
    assert {row.name for row in found.rows} == set(TABLE)
    for row in found.rows:
        months = [row.months[way][used] for way in ("power_only", "all_costs") for used in (1.0, 0.6)]
        for computed, printed in zip(months, TABLE[row.name], strict=True):
            assert computed == pytest.approx(printed, abs=0.5 if printed > 100 else 0.06), row.name


def test_months_by_hand(book: PriceBook) -> None:
    """475,000 USD / ((price x use - 10.2 kW x 1.3 x 0.10 USD) x 730 h), whatever the price in force is."""
    running = 10.2 * 1.3 * 0.10
    for row in one_node(book).rows:
        for used in (1.0, 0.6):
            assert row.usd_per_hour is not None
            by_hand = 475000 / ((row.usd_per_hour * used - running) * 730)
            assert row.months["power_only"][used] == pytest.approx(by_hand, rel=1e-9)


def test_the_page_shows_the_newest_prices(book: PriceBook) -> None:
    """docs/evidence/breakeven.md holds what the command prints from the shipped price points, to the letter."""
    assert text(one_node(book)) in PAGE.read_text(encoding="utf-8"), "write the page anew: compare --one-node"


def test_a_day_without_a_price(book: PriceBook) -> None:
    """Before a provider's first price its row is unknown, and AWS still asks 98.32."""
    rows = {row.name: row for row in one_node(book, dt.date(2025, 6, 4)).rows}
    assert rows["aws"].usd_per_hour == 98.32
    assert rows["coreweave"].usd_per_hour is None
    assert rows["coreweave"].months == {"power_only": {1.0: None, 0.6: None}, "all_costs": {1.0: None, 0.6: None}}
    assert "unknown" in text(one_node(book, dt.date(2025, 6, 4)))


CASE = """case: priced
as_of: 2026-10-16
options:
  own: {{gpus: {gpus}, purchase: {{usd: 1}}}}
  rent: {{gpus: {gpus}, rent: {{{rent}}}}}
tolerance: {{absolute: 0.001}}
expected: {{rent.monthly_usd: {expected}}}
"""


@pytest.mark.parametrize(
    ("gpus", "rent", "expected"),
    [
        (8, "price_of: aws/p5.48xlarge, region: us-east-1", 55.04 * 730),
        (16, "price_of: aws/p5.48xlarge, region: us-east-1, term: capacity_block", 2 * 41.528 * 730),
        (8, "price_of: oci/B98415", 80.0 * 730),
        (8, "price_of: aws/p5.48xlarge, region: us-east-1, discount: 10 %", 55.04 * 0.9 * 730),
    ],
)
def test_a_case_takes_a_price(tmp_path: Path, book: PriceBook, gpus: int, rent: str, expected: float) -> None:
    """Whole nodes and single GPUs are counted for the GPUs of the option."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE.format(gpus=gpus, rent=rent, expected=expected), encoding="utf-8")
    assert check_case(path, book).ok


@pytest.mark.parametrize(
    ("rent", "told"),
    [
        ("price_of: aws/p5.49xlarge", "there is no product 'aws/p5.49xlarge' with GPUs"),
        ("price_of: dgx-h100", "there is no product 'dgx-h100' with GPUs"),
        ("price_of: aws/p5.48xlarge, region: mars", "no price for the hour of aws/p5.48xlarge in mars"),
        ("price_of: aws/p4d.24xlarge, region: us-east-1, term: spot", "(spot) is known on 2026-10-16"),
        ("price_of: aws/p5.48xlarge, region: us-east-1", "holds 8 GPUs, of which 12 are no whole number"),
        ("price_of: aws/p5.48xlarge, usd_per_hour: 3", "price_of brings the price"),
        ("usd_per_hour: 3, region: us-east-1", "there is no price_of"),
    ],
)
def test_a_price_that_cannot_be_taken(tmp_path: Path, book: PriceBook, rent: str, told: str) -> None:
    """The place and the reason are reported."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE.format(gpus=12, rent=rent, expected=0), encoding="utf-8")
    with pytest.raises(BlueprintError) as caught:
        check_case(path, book)
    assert told in caught.value.render()
    assert "case.yaml:5:" in caught.value.render()
