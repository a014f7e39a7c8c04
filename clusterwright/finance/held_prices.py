"""Prices that a commitment holds, whatever rental prices do."""

from clusterwright.finance.finances import Finances
from clusterwright.pricing.records import COMMITTED_TERMS


def price_note(found: Finances) -> str:
    """Return what the prices of the heat map leave alone where it is of a commitment, which keeps its price."""
    against = next((cost for cost in found.costs if cost.key == found.mapped_with), None)
    if against is None or against.term not in COMMITTED_TERMS:
        return ""
    return "committed nodes keep the price that was agreed at the start, whatever the columns say"
