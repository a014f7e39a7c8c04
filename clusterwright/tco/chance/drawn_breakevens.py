"""When owning becomes cheaper than renting in every draw: months, as `breakeven_month.sql` counts them in the base."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.tco.chance.drawn_bills import Bills, Factors
from clusterwright.tco.ledger.engine import Ledger

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnBreakeven:
    """When one owned option becomes cheaper than one rented option, over all draws whose work the owner can do.

    Attributes:
        owned_key, rented_key: the two options.
        months_p10, months_p50, months_p90: quantiles of the months; None where that share of the draws does not get
            there within the horizon.
        probability_never: share of the draws in which it does not get there; None where the owner can do no draw.
    """

    owned_key: str
    rented_key: str
    months_p10: float | None
    months_p50: float | None
    months_p90: float | None
    probability_never: float | None


class Breakevens:
    """Months to breakeven of every owned option against every rented one, collected block by block of the draws."""

    def __init__(self, ledger: Ledger, bills: Bills) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

        self._bills = bills
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

    def add(self, factors: Factors, fits: "Mapping[str, NDArray[np.bool_]]") -> None:
        """Count one block of draws; `fits` tells of owned candidates in which of them they can do the work."""
        np = self._np
        bills: dict[str, dict[float, Column]] = {}
        for key, month, usd in self._bills.paid(factors):
            of_key = bills.setdefault(key, {})
            of_key[month] = of_key[month] + usd if month in of_key else usd
        if not self._owned or not self._rented:
            return
        owned = {key: self._cumulative(key, factors, bills.get(key, {})) for key in self._owned}
        for rented_key in self._rented:
            rented = self._cumulative(rented_key, factors, bills.get(rented_key, {}))
            for key in self._owned:
                months = _months(owned[key] - rented, np.array(self._ends))
                kept = months[fits[key]] if key in fits else months
                self._months.setdefault((key, rented_key), []).append(kept)

    def found(self) -> "Iterator[DrawnBreakeven]":
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

    def _cumulative(self, key: str, factors: Factors, bills: "dict[float, Column]") -> "Column":
        """Return what is paid up to each month, a row per month and a column per draw."""
        np = self._np
        flow = np.zeros((len(self._ends), len(factors.of(()))))
        terms: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in self._rows[key]:
            terms.setdefault(tuple(row["moves"]), []).append(row)
        for moves, rows in terms.items():
            factor = factors.of(moves)
            even = np.zeros(len(self._ends))
            for row in rows:
                price = factors.price(row["part_key"], row["price_set_month"])
                if isinstance(price, float):
                    even[self._place[row["month_end"]]] += row["usd"]
                else:
                    flow[self._place[row["month_end"]]] += row["usd"] * price * factor
            if even.any():
                flow += np.outer(even, factor)
        for month, usd in bills.items():
            flow[self._place[month]] += usd
        total: Column = np.cumsum(flow, axis=0)
        return total


def _months(gap: "Column", ends: "Column") -> "Column":
    """Return when the gap (owned less rented, a row per month) falls to 0 and stays below, infinite if it does not."""
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
    """Return a quantile by a straight line between the values; None where it is not finite or there is no value."""
    if not ordered.size:
        return None
    place = share * (ordered.size - 1)
    low = int(place)
    rest = place - low
    value = ordered[low] if rest == 0 else ordered[low] * (1 - rest) + ordered[low + 1] * rest
    return None if value == float("inf") else float(value)


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
