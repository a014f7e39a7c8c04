"""How people read which owned option a figure is about, where several stand side by side."""

from clusterwright.finance.finances import Finances
from clusterwright.plan.text.words import term_text


def several_owned(found: Finances) -> bool:
    """Tell whether several owned options are compared with what is rented."""
    return len({entry.owned_key for entry in found.returns}) > 1


def owning_text(found: Finances) -> str:
    """Return the words for owning in swings and heat: with the place where there are several."""
    return f"owning ({term_text(found.owned_key)})" if several_owned(found) else "owning"
