"""Audits catch what real price feeds get wrong."""

from pathlib import Path

import pytest

from clusterwright.pricing.book import PriceBook

from .examples import folder, point


def test_shipped_points_pass() -> None:
    """The shipped price points pass every audit."""
    assert PriceBook.open().audit() == ()


def test_sound_points_pass(tmp_path: Path) -> None:
    """A price, a cut of it, a spot price below it: nothing to object to."""
    sound = (
        point(),
        point(usd=6.0, effective_from="2025-01-01", last_seen="2025-12-31"),
        point(usd=5.0, term="spot", effective_from="2025-02-01", last_seen="2025-02-01"),
        point(usd=8.0, term="reserved_3y"),
        point(usd=99.0, status="rejected", note="no tracker shows it"),
    )
    assert PriceBook.open(folder(tmp_path, *sound)).audit() == ()


@pytest.mark.parametrize(
    ("audit", "fault"),
    [
        ("price_not_positive", point(sku="aws/y", usd=0)),
        ("price_not_positive", point(sku="aws/y", usd=-1)),
        ("price_not_positive", point(sku="aws/y", usd="")),
        ("source_or_date_missing", point(sku="aws/y", source="hearsay")),
        ("source_or_date_missing", point(sku="aws/y", source="")),
        ("source_or_date_missing", point(sku="aws/y", effective_from="")),
        ("source_or_date_missing", point(sku="aws/y", last_seen="2023-12-31")),
        ("duplicate_point", point(usd=11.0)),
        ("discounted_not_below_on_demand", point(term="spot", usd=10.5)),
        ("discounted_not_below_on_demand", point(term="spot", usd=10.0)),
        ("discounted_not_below_on_demand", point(term="reserved_1y", usd=10.0)),
        ("discounted_not_below_on_demand", point(term="capacity_block", usd=12.0)),
        ("price_jump", point(usd=2.2, effective_from="2024-05-09", last_seen="2024-05-09")),
        ("price_jump", point(usd=72.0, effective_from="2024-05-09", last_seen="2024-05-09")),
        ("total_as_hourly", point(term="reserved_1y", usd=5.0 * 8760)),
        ("total_as_hourly", point(sku="aws/y", usd=63.4 * 8760)),
        ("unknown_word", point(sku="aws/y", term="whenever")),
        ("unknown_word", point(sku="aws/y", unit="GPU-hour")),
        ("unknown_word", point(sku="aws/y", status="rejected", note="")),
    ],
)
def test_fault_is_caught(tmp_path: Path, audit: str, fault: dict[str, object]) -> None:
    """Each audit objects to the row that breaks it, and to no sound one."""
    findings = PriceBook.open(folder(tmp_path, point(), fault)).audit()
    assert audit in {finding.audit for finding in findings}
    assert {finding.sku for finding in findings} == {fault["sku"]}
