"""Volumes and shares that clouds charge: worked examples of the tiers, and what is not known."""

import datetime as dt

import pytest

from clusterwright.tco.renting.metered import metered_charge, support_plan

DAY = dt.date(2026, 10, 16)
TIB = 2.0**40


@pytest.mark.parametrize(
    ("provider", "service", "size", "usd"),
    [
        ("aws", "egress", 10 * TIB, 10_240 * 0.09),
        ("aws", "egress", 50 * TIB, 10_240 * 0.09 + 40_960 * 0.085),
        ("aws", "egress", 200 * TIB, 10_240 * 0.09 + 40_960 * 0.085 + 102_400 * 0.07 + 51_200 * 0.05),
        ("azure", "egress", 20 * TIB, 10_240 * 0.087 + 10_240 * 0.083),
        ("gcp", "egress", 2 * TIB, 1_024 * 0.12 + 1_024 * 0.11),
        ("oci", "egress", 9e12, 0.0),
        ("oci", "egress", 30e12, 20_000 * 0.0085),
        ("aws", "between_zones", TIB, 1_024 * 0.02),
        ("aws", "nat", TIB, 1_024 * 0.045),
    ],
)
def test_volumes_by_hand(provider: str, service: str, size: float, usd: float) -> None:
    """Every step is charged for what lies in it."""
    found = metered_charge(provider, service, size, DAY)
    assert found is not None
    assert found.usd == pytest.approx(usd)
    assert found.source
    assert found.price_date


def test_unknown_prices_are_none() -> None:
    """A provider without a price, or a day before the first one, has no charge: not a free one."""
    assert metered_charge("lambda", "egress", TIB, DAY) is None
    assert metered_charge("aws", "egress", TIB, dt.date(2020, 1, 1)) is None
    assert support_plan("lambda", "business") is None


def test_enterprise_support_of_two_million() -> None:
    """The worked example of the source: 2,000,000 USD a month cost 94,500 USD of support."""
    plan = support_plan("aws", "enterprise")
    assert plan is not None
    ends = [*(tier.from_usd for tier in plan.tiers[1:]), 2_000_000.0]
    fee = sum(tier.fraction * (end - tier.from_usd) for tier, end in zip(plan.tiers, ends, strict=True))
    assert fee == pytest.approx(94_500.0)
