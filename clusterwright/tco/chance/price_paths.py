"""Where rental prices may go: paths made of blocks of months of the price history, drawn at random."""

import datetime as dt
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import GpuProduct
from clusterwright.tco.chance.uncertainty import stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: A history of fewer months is none: two years hold one round of yearly price lists at least twice.
LEAST_MONTHS = 24
#: Price key of the monthly index of an accelerator, before its id.
_INDEX = "index/gix-"
#: How the mean change of the past is taken: left out, or kept.
DRIFTS = ("none", "historic")
_MONTHS_A_YEAR = 12
#: Draws whose paths are in memory at once.
AT_ONCE = 20_000
#: Change of ln(price) over each month.
_Changes = Sequence[tuple[dt.date, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class MarketHistory:
    """Monthly changes of rental prices.

    Attributes:
        accelerators: whose markets they are of, or the price keys of their indices.
        named: whether these are the accelerators that were asked for.
        first_month, last_month: first days of the first and of the last month with a change.
        log_changes: one series per accelerator: change of ln(price) over each month without a gap, oldest first.
    """

    accelerators: tuple[str, ...]
    named: bool
    first_month: dt.date
    last_month: dt.date
    log_changes: tuple[tuple[float, ...], ...]

    @property
    def months(self) -> int:
        """Months of all series together."""
        return sum(len(series) for series in self.log_changes)

    @property
    def drift_per_year(self) -> float:
        """Mean change of ln(price) over a year."""
        return math.fsum(change for series in self.log_changes for change in series) / self.months * _MONTHS_A_YEAR

    @property
    def volatility_per_year(self) -> float:
        """Standard deviation of the changes of ln(price), over a year: that of a month times the root of 12."""
        mean = self.drift_per_year / _MONTHS_A_YEAR
        squares = math.fsum((change - mean) ** 2 for series in self.log_changes for change in series)
        return math.sqrt(squares / self.months * _MONTHS_A_YEAR)


@dataclass(frozen=True, kw_only=True, slots=True)
class PathRule:
    """How paths are drawn.

    Attributes:
        block_months: this many months in a row are taken from the history at once; a shorter series begins again.
        drift: one of `DRIFTS`. `none`: the mean change is taken off, so that the median path stays where it is.
        resale_correlation: rank correlation of resale with the rental price at the end of the path, 0 to 1.
    """

    block_months: int = 6
    drift: str = "none"
    resale_correlation: float = 0.7


def market_histories(
    book: PriceBook, products: Sequence[GpuProduct], accelerators: Collection[str], as_of: dt.date
) -> dict[str, MarketHistory]:
    """Return the history of each accelerator, whatever others are asked for; empty where no price has one.

    The monthly index of an accelerator's rental prices (price points `index/gix-…`) is its market, where there is one
    of two years; else the mean change of the prices of its products (`pricing/sql/market_change.sql`); else the
    markets of all products that have one stand in.

    Args:
        book: prices.
        products: everything that is rented with accelerators.
        accelerators: ids of those that are asked for.
        as_of: later prices are not looked at.
    """
    found: dict[str, MarketHistory] = {}
    without: list[str] = []
    for accelerator in sorted(set(accelerators)):
        named = [entry for entry in products if entry.accelerator == accelerator]
        own = _indexed(book, [accelerator], as_of) or _averaged(book, named, as_of)
        if own:
            found[accelerator] = _history(own, named=True)
        else:
            without.append(accelerator)
    if without:
        every = sorted({entry.accelerator for entry in products})
        indexed = _indexed(book, every, as_of)
        runs = indexed | {
            accelerator: run
            for accelerator, run in _averaged(book, products, as_of).items()
            if f"{_INDEX}{accelerator}" not in indexed
        }
        if runs:
            stand_in = _history(runs, named=False)
            found |= dict.fromkeys(without, stand_in)
    return found


def _indexed(book: PriceBook, accelerators: Sequence[str], as_of: dt.date) -> dict[str, _Changes]:
    """Return the changes of the indices that are long enough, by price key."""
    runs = {f"{_INDEX}{accelerator}": _index_changes(book, accelerator, as_of) for accelerator in accelerators}
    return {sku: run for sku, run in runs.items() if len(run) >= LEAST_MONTHS}


def _averaged(book: PriceBook, products: Sequence[GpuProduct], as_of: dt.date) -> dict[str, _Changes]:
    """Return the mean changes of products' prices that are long enough, by accelerator."""
    if not products:
        return {}
    months: dict[str, list[tuple[dt.date, float]]] = {}
    for row in book.query("pricing/sql/market_change.sql", {"as_of": as_of}, products=products):
        months.setdefault(row["accelerator"], []).append((row["month_start"], row["log_change"]))
    runs = {accelerator: _without_gap(found) for accelerator, found in months.items()}
    return {accelerator: run for accelerator, run in runs.items() if len(run) >= LEAST_MONTHS}


def _history(runs: Mapping[str, _Changes], *, named: bool) -> MarketHistory:
    return MarketHistory(
        accelerators=tuple(runs),
        named=named,
        first_month=min(run[0][0] for run in runs.values()),
        last_month=max(run[-1][0] for run in runs.values()),
        log_changes=tuple(tuple(change for _, change in run) for run in runs.values()),
    )


def _index_changes(book: PriceBook, accelerator: str, as_of: dt.date) -> list[tuple[dt.date, float]]:
    """Return the change of ln(index) from each month to the next, of the newest months without a gap."""
    points = {
        point.effective_from.replace(day=1): point.usd
        for point in book.history(f"{_INDEX}{accelerator}", term="on_demand")
        if point.effective_from <= as_of and point.usd > 0
    }
    months = sorted(points)
    changes = [
        (month, math.log(points[following] / points[month]))
        for month, following in itertools.pairwise(months)
        if _number(following) == _number(month) + 1
    ]
    return _without_gap(changes)


def _without_gap(months: Sequence[tuple[dt.date, float]]) -> list[tuple[dt.date, float]]:
    """Return the newest months that follow on each other."""
    run: list[tuple[dt.date, float]] = []
    for month, change in months:
        if run and _number(month) != _number(run[-1][0]) + 1:
            run = []
        run.append((month, change))
    return run


def _number(month: dt.date) -> int:
    return month.year * _MONTHS_A_YEAR + month.month


def price_paths(
    log_changes: Sequence[Sequence[float]], rule: PathRule, *, months: int, draws: int, rng: "np.random.Generator"
) -> "Column":
    """Return one path per draw: price at the start of each month over today's, and at the end of the last one.

    A circular block bootstrap (Politis and Romano 1992): blocks of consecutive months start at a month drawn at random,
    each of every series equally likely; after the last month of a series follows its first.

    Args:
        log_changes: change of ln(price) over each month, by series.
        rule: length of the blocks, and drift.
        months: of the path, so that it has one value more.
        draws: number of paths.
        rng: where chance comes from.

    Raises:
        InputError: there is no history, or the rule is none.

    >>> import numpy as np
    >>> rule = PathRule(block_months=2, drift="historic")
    >>> price_paths([[0.0, 0.0]], rule, months=3, draws=1, rng=np.random.default_rng(1)).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

    if not any(log_changes) or rule.block_months < 1 or rule.drift not in DRIFTS:
        raise InputError("no path can be drawn", help="give a history, blocks of 1 month or more, and a known drift")
    history = np.concatenate([np.array(series, dtype=float) for series in log_changes])
    if rule.drift == "none":
        history = history - history.mean()
    lengths = np.array([len(series) for series in log_changes])
    length = np.repeat(lengths, lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    blocks = -(-months // rule.block_months)
    starts = rng.integers(len(history), size=(draws, blocks, 1))
    places = first[starts] + (starts - first[starts] + np.arange(rule.block_months)) % length[starts]
    changes = history[places.reshape(draws, blocks * rule.block_months)[:, :months]]
    paths: Column = np.exp(np.concatenate([np.zeros((draws, 1)), np.cumsum(changes, axis=1)], axis=1))
    return paths


@dataclass(frozen=True, kw_only=True, slots=True)
class PathDraws:
    """Paths of the rental price of every accelerator, one per draw; the same seed gives the same paths.

    The path of an accelerator follows from the seed, its name and its history alone.

    Attributes:
        markets: history by accelerator.
        accelerators: of every candidate, by its key.
        rule: how paths are drawn.
        months: of each path.
        draws: number of paths of each accelerator.
        seed: of chance.
    """

    markets: Mapping[str, MarketHistory]
    accelerators: Mapping[str, str]
    rule: PathRule
    months: int
    draws: int
    seed: int

    def blocks(self) -> "Iterator[dict[str, Column]]":
        """Yield the paths of `AT_ONCE` draws after the other, by accelerator: prices over today's, as `price_paths`."""
        streams = {accelerator: stream(f"price_path/{accelerator}", self.seed) for accelerator in self.markets}
        for first in range(0, self.draws, AT_ONCE):
            number = min(AT_ONCE, self.draws - first)
            yield {
                accelerator: price_paths(
                    history.log_changes, self.rule, months=self.months, draws=number, rng=streams[accelerator]
                )
                for accelerator, history in self.markets.items()
            }

    def of_candidates(self, markets: "Mapping[str, Column]") -> "dict[str, Column]":
        """Return by candidate what is known by accelerator."""
        return {key: markets[accelerator] for key, accelerator in self.accelerators.items()}

    def end_levels(self) -> "dict[str, Column]":
        """Return the price at the end of the horizon over today's of every draw, by accelerator."""
        return self._joined(lambda path: path[:, -1])

    def levels(self, weights: "Column") -> "dict[str, Column]":
        """Return the weighted mean of the path over its months, of every draw, by accelerator; 1 is today's price.

        Args:
            weights: one per month (0 is the price of today, n that at the start of month n + 1; the last one that of
                the end).
        """
        shares = shares_of(weights)
        return self._joined(lambda path: path @ shares)

    def _joined(self, of_path: "Callable[[Column], Column]") -> "dict[str, Column]":
        import numpy as np  # noqa: PLC0415

        blocks = [{accelerator: of_path(path) for accelerator, path in block.items()} for block in self.blocks()]
        return {accelerator: np.concatenate([block[accelerator] for block in blocks]) for accelerator in self.markets}


def shares_of(weights: "Column") -> "Column":
    """Return weights over their sum; where they sum to nothing, today's price alone."""
    import numpy as np  # noqa: PLC0415

    total = weights.sum()
    shares: Column = weights / total if total else np.zeros_like(weights)
    shares[0] = shares[0] if total else 1.0
    return shares
