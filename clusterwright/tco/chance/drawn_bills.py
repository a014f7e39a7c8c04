"""Charges on a whole bill in each draw: support plans by month, and unused committed spend by year.

Both are piecewise linear in the spend, so they are calculated from the spend of each draw, month by month.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.tco.ledger.engine import Ledger

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class Factors:
    """Factors of the terms of the cash flow in each draw: products of the columns that a term is proportional to.

    Attributes:
        columns: columns of the draws, by name.
        paths: prices at the start of each month over today's price, one row per draw, by candidate; or None.
        every_price: price over today's price in all months, if there are no paths.
    """

    def __init__(
        self,
        columns: "Mapping[str, Column]",
        paths: "Mapping[str, Column] | None",
        *,
        every_price: "Column | float" = 1.0,
    ) -> None:
        self.columns = columns
        self.paths = paths
        self.every_price = every_price
        self._known: dict[tuple[str, ...], Column] = {(): columns["number"] * 0.0 + 1.0}

    def add_columns(self, columns: "Mapping[str, Column]") -> None:
        """Add columns; they must not have been used in a product before."""
        self.columns = {**self.columns, **columns}

    def product(self, moves: Sequence[str]) -> "Column":
        """Return the product of the named columns; a name without a column counts as 1."""
        names = tuple(moves)
        if names not in self._known:
            first = self.columns.get(names[-1])
            rest = self.product(names[:-1])
            self._known[names] = rest if first is None else rest * first
        return self._known[names]

    def price(self, key: str, month: float | None) -> "Column | float":
        """Return the price agreed by a candidate at the start of a month over today's price; 1 without such a price."""
        if month is None:
            return 1.0
        return self.every_price if self.paths is None else self.paths[key][:, int(month)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One part of a bill: its candidate, its amount at base values, and the columns that it is proportional to."""

    key: str
    usd: float
    fixed: bool
    price_set_month: float | None
    moves: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bill:
    """Charge of one candidate at the end of one month, as a function of the spend on its bill."""

    key: str
    month_end: float
    parts: tuple[_Part, ...]
    price: "Callable[[Column], Column]"
    by_use: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Share:
    """Share of one option in the bills of one candidate, after one month up to another."""

    key: str
    part_key: str
    mixed: bool
    fixed_share: float
    from_month: float
    to_month: float

    @property
    def work_column(self) -> str:
        """Name of the column with the share of the work in each draw."""
        return f"share/{self.key}/{self.part_key}/{self.from_month:.0f}"

    def applies(self, month: float) -> bool:
        return month <= self.to_month and (month > self.from_month or month == self.from_month == 0)


class SpendCharges:
    """Charges of a cash flow that depend on the spend of whole bills: support plans and unused committed spend."""

    def __init__(self, ledger: Ledger) -> None:
        parts_by_bill: dict[tuple[str, str, float], list[_Part]] = {}
        for row in ledger.query("tco/sql/drawn_bill.sql", {}):
            part = _Part(
                key=row["part_key"],
                usd=row["usd"],
                fixed=row["fixed_or_variable"] == "fixed",
                price_set_month=row["price_set_month"],
                moves=tuple(row["moves"]),
            )
            parts_by_bill.setdefault((row["of_what"], row["key"], row["month_end"]), []).append(part)
        fees = _fees(ledger)
        shortfalls = {
            (row["key"], row["month_end"]): _shortfall(row["committed_usd"])
            for row in ledger.query("tco/sql/committed_spend.sql", {})
        }
        self._bills = tuple(
            _Bill(
                key=key,
                month_end=month,
                parts=tuple(parts),
                price=fees[key] if what == "support" else shortfalls[key, month],
                by_use=what == "support",
            )
            for (what, key, month), parts in parts_by_bill.items()
        )
        self._shares = (
            tuple(_Share(**row) for row in ledger.query("tco/sql/bill_share.sql", {})) if parts_by_bill else ()
        )
        self._rate = ledger.economics.discount_rate

    def payments(self, factors: Factors, *, candidate_key: str | None = None) -> "Iterator[tuple[str, float, Column]]":
        """Yield option, month and USD in each draw of every charge, or of those of one candidate."""
        for bill in self._bills:
            if candidate_key not in (None, bill.key):
                continue
            usd = [(part, _amount(part, factors)) for part in bill.parts]
            spent = sum((amount for _, amount in usd), factors.product(()) * 0.0)
            due = bill.price(spent)
            for share in self._shares:
                if share.part_key != bill.key or not share.applies(bill.month_end):
                    continue
                worked = factors.product([share.work_column] if share.mixed else [])
                yield share.key, bill.month_end, due * _option_share(usd, share, worked, spent, by_use=bill.by_use)

    def columns(self, factors: Factors) -> "dict[str, Column]":
        """Return the present value of each option's charges, by name of the column (`bill/KEY`)."""
        columns: dict[str, Column] = {}
        for key, month, usd in self.payments(factors):
            name = f"bill/{key}"
            present = usd * (1.0 + self._rate) ** (-month / 12.0)
            columns[name] = columns[name] + present if name in columns else present
        return columns


def _amount(part: _Part, factors: Factors) -> "Column":
    return part.usd * factors.product(part.moves) * factors.price(part.key, part.price_set_month)


def _option_share(
    usd: "Sequence[tuple[_Part, Column]]", share: _Share, worked: "Column", spent: "Column", *, by_use: bool
) -> "Column | float":
    """Return the share of a charge that an option pays, which equals its share in the parts of the bill."""
    import numpy as np  # noqa: PLC0415

    if not (by_use and share.mixed):
        return share.fixed_share
    paid = sum(amount * (share.fixed_share if part.fixed else worked) for part, amount in usd)
    return np.divide(paid, spent, out=np.zeros_like(spent), where=spent > 0)


def _shortfall(committed_usd: float) -> "Callable[[Column], Column]":
    """Return the payment at the end of a year as a function of the spend: max(0, committed - spent)."""

    def shortfall(spent: "Column") -> "Column":
        import numpy as np  # noqa: PLC0415

        return np.maximum(0.0, committed_usd - spent)

    return shortfall


def _fees(ledger: Ledger) -> "dict[str, Callable[[Column], Column]]":
    """Return the monthly price of each candidate's support plan as a function of the month's spend."""
    tiers: dict[str, list[tuple[float, float, float]]] = {}
    minimums: dict[str, float] = {}
    for candidate in ledger.candidates:
        plan = candidate.support
        if plan is not None:
            ends = [*(tier.from_usd for tier in plan.tiers[1:]), math.inf]
            tiers[candidate.key] = [
                (tier.from_usd, end, tier.fraction) for tier, end in zip(plan.tiers, ends, strict=True)
            ]
            minimums[candidate.key] = plan.minimum_usd

    def fee_of(key: str) -> "Callable[[Column], Column]":
        def fee(spent: "Column") -> "Column":
            import numpy as np  # noqa: PLC0415

            by_tier = sum(
                fraction * np.maximum(0.0, np.minimum(spent, end) - start) for start, end, fraction in tiers[key]
            )
            return np.where(spent > 0, np.maximum(minimums[key], by_tier), 0.0)

        return fee

    return {key: fee_of(key) for key in tiers}
