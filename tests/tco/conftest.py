"""The shipped price book, opened once."""

import pytest

from clusterwright.pricing.book import PriceBook


@pytest.fixture(scope="session")
def book() -> PriceBook:
    """The shipped price points."""
    return PriceBook.open()
