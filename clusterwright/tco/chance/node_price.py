"""The price of rented nodes at which an option costs a given amount over the horizon, with all that follows it."""

from typing import TYPE_CHECKING

from clusterwright.tco.chance.drawn_bills import Bills, Factors
from clusterwright.tco.engine import Ledger

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Prices that are tried at once, and how often the span between two of them is cut again.
_POINTS, _CUTS = 17, 14
#: Above this many times today's price none is looked for.
_MOST = 2.0**20


class NodePrices:
    """What rented options cost over the horizon at other prices of their nodes.

    Nodes, what is charged on them (work lost, surcharges), plans of support by their tiers, and what a committed spend
    falls short of all follow the price, so that the cost is piecewise linear in it, and never falls where it rises.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._bills = Bills(ledger)
        self._totals = {row["key"]: row for row in ledger.query("tco/sql/node_priced.sql", {})}

    def breakeven(self, key: str, usd: float) -> float | None:
        """Return the share of today's price of its nodes at which an option costs so much over the horizon.

        None where its other costs alone are above, or where it costs less at any price.
        """
        import numpy as np  # noqa: PLC0415 - heavy, and only a comparison in the terms of finance needs it

        if key not in self._totals:
            return None
        low, high = 0.0, 1.0
        least, most = self._usd(key, np.array([low, high]))
        while most < usd and high < _MOST:
            low, least, high = high, most, 2.0 * high
            (most,) = self._usd(key, np.array([high]))
        if least > usd or most < usd or most == least:
            return None
        for _ in range(_CUTS):
            prices = np.linspace(low, high, _POINTS)
            costs = self._usd(key, prices)
            place = min(max(1, int(np.searchsorted(costs, usd))), _POINTS - 1)
            low, high = float(prices[place - 1]), float(prices[place])
            least, most = float(costs[place - 1]), float(costs[place])
        return low if most == least else low + (high - low) * (usd - least) / (most - least)

    def _usd(self, key: str, prices: "Column") -> "Column":
        import numpy as np  # noqa: PLC0415

        row = self._totals[key]
        total = row["fixed_usd"] + row["nodes_usd"] * prices
        factors = Factors({"number": np.zeros(len(prices))}, None, every_price=prices)
        for owner, _, usd in self._bills.paid(factors, of=key):
            total = total + usd if owner == key else total
        found: Column = total
        return found
