"""Contracts, charges and mixes as the blueprint writes them: what they mean, and what cannot be."""

import pytest
from pydantic import ValidationError

from clusterwright.blueprint.sections.contracts import CloudContract, CloudExtras, Hybrid


@pytest.mark.parametrize(
    ("given", "upfront", "months", "price_term"),
    [
        ({"target": "aws"}, 0.0, None, "on_demand"),
        ({"target": "aws", "term": "reserved_1y"}, 0.0, 12, "reserved_1y"),
        ({"target": "aws", "term": "savings_plan_3y", "payment": "all_upfront"}, 1.0, 36, "reserved_3y"),
        ({"target": "gcp", "term": "reserved_3y", "payment": "partial_upfront"}, 0.5, 36, "reserved_3y"),
        (
            {"target": "gcp", "term": "reserved_3y", "payment": "partial_upfront", "upfront": "30 %"},
            0.3,
            36,
            "reserved_3y",
        ),
        ({"target": "aws", "term": "capacity_block"}, 1.0, 6, "capacity_block"),
        ({"target": "aws", "term": "capacity_block", "length": "91 days"}, 1.0, 3, "capacity_block"),
        ({"target": "lambda", "rate": "2 USD"}, 0.0, None, "on_demand"),
    ],
)
def test_what_contracts_mean(given: dict[str, object], upfront: float, months: float | None, price_term: str) -> None:
    """Share paid in advance, length of a term in months, and the term whose price it takes."""
    found = CloudContract.model_validate(given)
    assert (found.upfront_fraction, found.period_months, found.price_term) == (upfront, months, price_term)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "awz"}, "no provider is called 'awz'"),
        ({"target": "aws", "payment": "all_upfront"}, "nothing is paid in advance for term on_demand"),
        ({"target": "aws", "term": "capacity_block", "payment": "no_upfront"}, "is paid whole in advance"),
        ({"target": "aws", "term": "reserved_1y", "upfront": "30 %"}, "upfront is the part of partial_upfront"),
        ({"target": "aws", "term": "reserved_1y", "length": "91 days"}, "has a length of its own"),
        ({"target": "aws", "rest": "paid"}, "leaves no rest to pay"),
        ({"target": "aws", "discount": "100 %"}, "less than 1"),
        ({"target": "aws", "discount": "-1 %"}, "greater than or equal to 0"),
        ({"target": "aws", "rate": "0 USD"}, "greater than 0"),
        ({"target": "aws", "rate": ".nan USD"}, "amount of money"),
        ({"target": "aws", "commitment_per_year": "-5 MUSD"}, "greater than or equal to 0"),
    ],
)
def test_contracts_that_cannot_be(given: dict[str, object], message: str) -> None:
    """Every contradiction is named."""
    with pytest.raises(ValidationError, match=message):
        CloudContract.model_validate(given)


def test_shares_have_ends() -> None:
    """No share of support from 100 %, none of nodes above 100 %."""
    for wrong in ({"support": "100 %"}, {"support": "-1 %"}, {"egress": "-1 TB"}, {"goodput_loss": "100 %"}):
        with pytest.raises(ValidationError):
            CloudExtras.model_validate(wrong)
    for wrong in (
        {"owned": "101 %"},
        {"owned": "50 %", "utilisation": "0 %"},
        {"owned": "50 %", "utilisation": "101 %"},
    ):
        with pytest.raises(ValidationError):
            Hybrid.model_validate(wrong)
