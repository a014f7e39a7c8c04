"""Months to breakeven of owning against renting in every draw, by the rule of `breakeven_month.sql` for base values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.tco.chance.drawn_bills import Factors, SpendCharges
from clusterwright.tco.ledger.engine import Ledger

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnBreakeven:
    """Breakeven of one owned option with one rented option, over all draws whose work the owned option can do.

    Attributes:
        owned_key, rented_key: keys of the two options.
        months_p10, months_p50, months_p90: quantiles of the months; None if that share of the draws has no breakeven
            within the horizon.
        probability_never: share of the draws without a breakeven; None if the owned option can do the work of no draw.
    """

    owned_key: str
    rented_key: str
    months_p10: float | None
    months_p50: float | None
    months_p90: float | None
    probability_never: float | None


class Breakevens:
    """Months to breakeven of every owned option with every rented one, collected over blocks of draws."""

    def __init__(self, ledger: Ledger, spend_charges: SpendCharges) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and only simulations need it

        self._spend_charges = spend_charges
        rows = ledger.query("tco/sql/drawn_month.sql", {})
        self._ends = [0.0, *(row["month_end"] for row in ledger.query("tco/sql/month.sql", {}))]
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            self._rows.setdefault(row["key"], []).append(row)
        options = ledger.query("tco/sql/option_owned.sql", {})
        self._owned = [row["key"] for row in options if row["owned"] and row["key"] in self._rows]
        self._rented = [row["key"] for row in options if not row["owned"] and row["key"] in self._rows]
        self._months: dict[tuple[str, str], list[Column]] = {}
        self._place = {end: place for place, end in enumerate(self._ends)}
        self._np = np

    def count_block(self, factors: Factors, feasible: "Mapping[str, NDArray[np.bool_]]") -> None:
        """Count one block of draws; `feasible` marks the draws whose work an owned candidate can do, by key."""
        np = self._np
        charges: dict[str, dict[float, Column]] = {}
        for key, month, usd in self._spend_charges.payments(factors):
            by_month = charges.setdefault(key, {})
            by_month[month] = by_month[month] + usd if month in by_month else usd
        if not self._owned or not self._rented:
            return
        owned = {key: self._cumulative(key, factors, charges.get(key, {})) for key in self._owned}
        for rented_key in self._rented:
            rented = self._cumulative(rented_key, factors, charges.get(rented_key, {}))
            for key in self._owned:
                months = _months(owned[key] - rented, np.array(self._ends))
                counted = months[feasible[key]] if key in feasible else months
                self._months.setdefault((key, rented_key), []).append(counted)

    def quantiles(self) -> "Iterator[DrawnBreakeven]":
        """Yield the quantiles of every pair."""
        np = self._np
        for (owned_key, rented_key), blocks in self._months.items():
            months = np.sort(np.concatenate(blocks))
            low, middle, high = (_quantile(months, share) for share in (0.1, 0.5, 0.9))
            yield DrawnBreakeven(
                owned_key=owned_key,
                rented_key=rented_key,
                months_p10=low,
                months_p50=middle,
                months_p90=high,
                probability_never=float(np.isinf(months).mean()) if months.size else None,
            )

    def _cumulative(self, key: str, factors: Factors, charges: "dict[float, Column]") -> "Column":
        """Return the cumulative payments, one row per month and one column per draw."""
        np = self._np
        flow = np.zeros((len(self._ends), len(factors.product(()))))
        terms: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in self._rows[key]:
            terms.setdefault(tuple(row["moves"]), []).append(row)
        for moves, rows in terms.items():
            factor = factors.product(moves)
            at_fixed_price = np.zeros(len(self._ends))
            for row in rows:
                price = factors.price(row["part_key"], row["price_set_month"])
                if isinstance(price, float):
                    at_fixed_price[self._place[row["month_end"]]] += row["usd"]
                else:
                    flow[self._place[row["month_end"]]] += row["usd"] * price * factor
            if at_fixed_price.any():
                flow += np.outer(at_fixed_price, factor)
        for month, usd in charges.items():
            flow[self._place[month]] += usd
        total: Column = np.cumsum(flow, axis=0)
        return total


def _months(gap: "Column", ends: "Column") -> "Column":
    """Return the month in which the gap (owned less rented, a row per month) falls to 0 for good; infinite if never."""
    import numpy as np  # noqa: PLC0415

    above = gap > 0
    last = len(ends) - 1 - np.argmax(above[::-1], axis=0)
    draws = np.arange(gap.shape[1])
    after = np.minimum(last + 1, len(ends) - 1)
    here, there = gap[last, draws], gap[after, draws]
    falls = np.where(here > there, here - there, 1.0)
    months: Column = ends[last] + (ends[after] - ends[last]) * here / falls
    months = np.where(last == len(ends) - 1, np.inf, months)
    return np.where(above.any(axis=0), months, 0.0)


def _quantile(ordered: "Column", share: float) -> float | None:
    """Return a quantile by linear interpolation; None if it is not finite or there are no values."""
    if not ordered.size:
        return None
    place = share * (ordered.size - 1)
    low = int(place)
    rest = place - low
    value = ordered[low] if rest == 0 else ordered[low] * (1 - rest) + ordered[low + 1] * rest
    return None if value == float("inf") else float(value)


#: Search for a breakeven price: number of prices evaluated together, and number of refinements between two of them.
_POINTS, _REFINEMENTS = 17, 14
#: Upper end of the search for a breakeven price, as a multiple of today's price.
_MAX_PRICE = 2.0**20


class NodePrices:
    """Cost of rented options over the horizon as a function of the price of their nodes.

    Nodes, charges on them (lost work, surcharges), tiered support plans and unused committed spend all depend on the
    price, so the cost is piecewise linear and monotonic in it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._spend_charges = SpendCharges(ledger)
        self._totals = {row["key"]: row for row in ledger.query("tco/sql/node_priced.sql", {})}

    def breakeven(self, key: str, usd: float) -> float | None:
        """Return the node price, as a share of today's, at which an option has a given cost over the horizon.

        Returns:
            The share, or None if the option's other costs alone exceed the given cost, or if it costs less at any
            price.
        """
        import numpy as np  # noqa: PLC0415 - heavy, and only the finance views need it

        if key not in self._totals:
            return None
        low, high = 0.0, 1.0
        least, most = self._usd(key, np.array([low, high]))
        while most < usd and high < _MAX_PRICE:
            low, least, high = high, most, 2.0 * high
            (most,) = self._usd(key, np.array([high]))
        if least > usd or most < usd or most == least:
            return None
        for _ in range(_REFINEMENTS):
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
        for owner, _, usd in self._spend_charges.payments(factors, candidate_key=key):
            total = total + usd if owner == key else total
        total_usd: Column = total
        return total_usd
