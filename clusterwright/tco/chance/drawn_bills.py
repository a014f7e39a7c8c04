"""What follows a whole bill in a draw: plans of support by the month, committed spends that are not used by the year.

Both are piecewise linear in what is spent, and so are valued from the spend of each draw, one month after the other.
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
    """What terms come to over their base in each draw: the product of the columns that they move with.

    Attributes:
        columns: of a draw, by name.
        paths: prices at the start of each month over today's, a row per draw, by candidate; or none.
        every_price: the price over today's in all months, whenever it is agreed, where there is no path.
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

    def add(self, columns: "Mapping[str, Column]") -> None:
        """Add columns that nothing was asked of before."""
        self.columns = {**self.columns, **columns}

    def of(self, moves: Sequence[str]) -> "Column":
        """Return the product of the columns of those names; a name without a column stays at its base."""
        names = tuple(moves)
        if names not in self._known:
            first = self.columns.get(names[-1])
            rest = self.of(names[:-1])
            self._known[names] = rest if first is None else rest * first
        return self._known[names]

    def price(self, key: str, month: float | None) -> "Column | float":
        """Return what a candidate agrees at the start of a month over today's price; 1 for what has no such price."""
        if month is None:
            return 1.0
        return self.every_price if self.paths is None else self.paths[key][:, int(month)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One part of a bill: whose it is, what it comes to in the base, and what it moves with."""

    key: str
    usd: float
    fixed: bool
    price_set_month: float | None
    moves: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bill:
    """What one candidate pays at the end of one month by what its bill comes to."""

    key: str
    month_end: float
    parts: tuple[_Part, ...]
    price: "Callable[[Column], Column]"
    by_use: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Share:
    """What one option pays of the bills of one candidate after one month up to another."""

    key: str
    part_key: str
    mixed: bool
    fixed_share: float
    from_month: float
    to_month: float

    @property
    def work_column(self) -> str:
        """Name of the column of a draw that holds the share of the work."""
        return f"share/{self.key}/{self.part_key}/{self.from_month:.0f}"

    def holds(self, month: float) -> bool:
        return month <= self.to_month and (month > self.from_month or month == self.from_month == 0)


class Bills:
    """The bills of a cash flow that plans of support and committed spends are counted by."""

    def __init__(self, ledger: Ledger) -> None:
        found: dict[tuple[str, str, float], list[_Part]] = {}
        for row in ledger.query("tco/sql/drawn_bill.sql", {}):
            part = _Part(
                key=row["part_key"],
                usd=row["usd"],
                fixed=row["fixed_or_variable"] == "fixed",
                price_set_month=row["price_set_month"],
                moves=tuple(row["moves"]),
            )
            found.setdefault((row["of_what"], row["key"], row["month_end"]), []).append(part)
        fees = _fees(ledger)
        short = {
            (row["key"], row["month_end"]): _shortfall(row["committed_usd"])
            for row in ledger.query("tco/sql/committed_spend.sql", {})
        }
        self._bills = tuple(
            _Bill(
                key=key,
                month_end=month,
                parts=tuple(parts),
                price=fees[key] if what == "support" else short[key, month],
                by_use=what == "support",
            )
            for (what, key, month), parts in found.items()
        )
        self._shares = tuple(_Share(**row) for row in ledger.query("tco/sql/bill_share.sql", {})) if found else ()
        self._rate = ledger.economics.discount_rate

    def paid(self, factors: Factors, *, of: str | None = None) -> "Iterator[tuple[str, float, Column]]":
        """Yield option, month and USD of each draw of what is paid by what bills come to; `of` one candidate alone."""
        for bill in self._bills:
            if of not in (None, bill.key):
                continue
            usd = [(part, _amount(part, factors)) for part in bill.parts]
            spent = sum((amount for _, amount in usd), factors.of(()) * 0.0)
            due = bill.price(spent)
            for share in self._shares:
                if share.part_key != bill.key or not share.holds(bill.month_end):
                    continue
                worked = factors.of([share.work_column] if share.mixed else [])
                yield share.key, bill.month_end, due * _part_of(usd, share, worked, spent, by_use=bill.by_use)

    def columns(self, factors: Factors) -> "dict[str, Column]":
        """Return the present value of what each option pays so, by the name of its column of a draw."""
        found: dict[str, Column] = {}
        for key, month, usd in self.paid(factors):
            name = f"bill/{key}"
            present = usd * (1.0 + self._rate) ** (-month / 12.0)
            found[name] = found[name] + present if name in found else present
        return found


def _amount(part: _Part, factors: Factors) -> "Column":
    return part.usd * factors.of(part.moves) * factors.price(part.key, part.price_set_month)


def _part_of(
    usd: "Sequence[tuple[_Part, Column]]", share: _Share, worked: "Column", spent: "Column", *, by_use: bool
) -> "Column | float":
    """Return the share of a bill's price that an option pays: as it pays the parts of the bill."""
    import numpy as np  # noqa: PLC0415

    if not (by_use and share.mixed):
        return share.fixed_share
    paid = sum(amount * (share.fixed_share if part.fixed else worked) for part, amount in usd)
    return np.divide(paid, spent, out=np.zeros_like(spent), where=spent > 0)


def _shortfall(committed_usd: float) -> "Callable[[Column], Column]":
    """Return what is paid at the end of a year by what its use costs: max(0, committed - spent)."""

    def of(spent: "Column") -> "Column":
        import numpy as np  # noqa: PLC0415

        return np.maximum(0.0, committed_usd - spent)

    return of


def _fees(ledger: Ledger) -> "dict[str, Callable[[Column], Column]]":
    """Return what each candidate's plan of support costs in a month by what is spent in it."""
    tiers: dict[str, list[tuple[float, float, float]]] = {}
    least: dict[str, float] = {}
    for candidate in ledger.candidates:
        plan = candidate.support
        if plan is not None:
            ends = [*(tier.from_usd for tier in plan.tiers[1:]), math.inf]
            tiers[candidate.key] = [
                (tier.from_usd, end, tier.fraction) for tier, end in zip(plan.tiers, ends, strict=True)
            ]
            least[candidate.key] = plan.minimum_usd

    def fee(key: str) -> "Callable[[Column], Column]":
        def of(spent: "Column") -> "Column":
            import numpy as np  # noqa: PLC0415

            by_tier = sum(
                fraction * np.maximum(0.0, np.minimum(spent, end) - start) for start, end, fraction in tiers[key]
            )
            return np.where(spent > 0, np.maximum(least[key], by_tier), 0.0)

        return of

    return {key: fee(key) for key in tiers}
