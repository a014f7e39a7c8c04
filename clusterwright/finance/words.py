"""What people read beside a figure of returns: which owned option it is about, and prices that are held."""

from clusterwright.finance.finances import Finances
from clusterwright.plan.text.words import term_text
from clusterwright.pricing.records import COMMITTED_TERMS


def several_owned(found: Finances) -> bool:
    """Tell whether several owned options are compared with what is rented."""
    return len({entry.owned_key for entry in found.returns}) > 1


def owning_text(found: Finances) -> str:
    """Return the words for owning in swings and heat: with the place where there are several."""
    return f"owning ({term_text(found.owned_key)})" if several_owned(found) else "owning"


def price_note(found: Finances) -> str:
    """Return what the prices of the heat map leave alone where it is of a commitment, which keeps its price."""
    against = next((cost for cost in found.costs if cost.key == found.mapped_with), None)
    if against is None or against.term not in COMMITTED_TERMS:
        return ""
    return "committed nodes keep the price that was agreed at the start, whatever the columns say"
