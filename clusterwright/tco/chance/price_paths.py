"""Simulated paths of rental prices: a block bootstrap of the monthly price history."""

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

#: Minimum length of a history in months: in two years a yearly price list changes at least twice.
MIN_MONTHS = 24
#: Prefix of the price key of an accelerator's monthly index, before its id.
_INDEX = "index/gix-"
#: Treatment of the mean change in the past: removed, or kept.
DRIFTS = ("none", "historic")
_MONTHS_A_YEAR = 12
#: Number of draws whose paths are held in memory together.
BLOCK_DRAWS = 20_000
#: Change of ln(price) over each month.
_Changes = Sequence[tuple[dt.date, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class MarketHistory:
    """Monthly changes of rental prices.

    Attributes:
        accelerators: accelerators of the series, or the price keys of their indices.
        named: whether these are the requested accelerators rather than substitutes.
        first_month, last_month: first days of the first and of the last month with a change.
        log_changes: one series per accelerator with the change of ln(price) over each month without a gap, oldest
            first.
    """

    accelerators: tuple[str, ...]
    named: bool
    first_month: dt.date
    last_month: dt.date
    log_changes: tuple[tuple[float, ...], ...]

    @property
    def months(self) -> int:
        """Total number of months of all series."""
        return sum(len(series) for series in self.log_changes)

    @property
    def drift_per_year(self) -> float:
        """Mean change of ln(price) over a year."""
        return math.fsum(change for series in self.log_changes for change in series) / self.months * _MONTHS_A_YEAR

    @property
    def volatility_per_year(self) -> float:
        """Standard deviation of the change of ln(price) over a year: the monthly one times the root of 12."""
        mean = self.drift_per_year / _MONTHS_A_YEAR
        squares = math.fsum((change - mean) ** 2 for series in self.log_changes for change in series)
        return math.sqrt(squares / self.months * _MONTHS_A_YEAR)


@dataclass(frozen=True, kw_only=True, slots=True)
class PathRule:
    """Rule for drawing price paths.

    Attributes:
        block_months: number of consecutive months drawn from the history together; a shorter series wraps around.
        drift: one of `DRIFTS`. `none` subtracts the mean change, so that the median path is flat.
        resale_correlation: rank correlation of resale with the rental price at the end of the path, 0 to 1.
    """

    block_months: int = 6
    drift: str = "none"
    resale_correlation: float = 0.7


def market_histories(
    book: PriceBook, products: Sequence[GpuProduct], accelerators: Collection[str], as_of: dt.date
) -> dict[str, MarketHistory]:
    """Return the price history of each accelerator, independently of the others; empty if no price has a history.

    The history is the monthly index of the accelerator's rental prices (price points `index/gix-…`) if it covers two
    years; otherwise the mean change of the prices of its products (`pricing/sql/market_change.sql`); otherwise the
    histories of all accelerators that have one are used as a substitute.

    Args:
        book: prices.
        products: all rental products with accelerators.
        accelerators: ids of the requested accelerators.
        as_of: day of the newest price to use.
    """
    histories: dict[str, MarketHistory] = {}
    missing: list[str] = []
    for accelerator in sorted(set(accelerators)):
        named = [entry for entry in products if entry.accelerator == accelerator]
        own = _indexed(book, [accelerator], as_of) or _averaged(book, named, as_of)
        if own:
            histories[accelerator] = _history(own, named=True)
        else:
            missing.append(accelerator)
    if missing:
        all_accelerators = sorted({entry.accelerator for entry in products})
        indexed = _indexed(book, all_accelerators, as_of)
        available = indexed | {
            accelerator: run
            for accelerator, run in _averaged(book, products, as_of).items()
            if f"{_INDEX}{accelerator}" not in indexed
        }
        if available:
            substitute = _history(available, named=False)
            histories |= dict.fromkeys(missing, substitute)
    return histories


def _indexed(book: PriceBook, accelerators: Sequence[str], as_of: dt.date) -> dict[str, _Changes]:
    """Return the monthly changes of the indices that are long enough, by price key."""
    runs = {f"{_INDEX}{accelerator}": _index_changes(book, accelerator, as_of) for accelerator in accelerators}
    return {sku: run for sku, run in runs.items() if len(run) >= MIN_MONTHS}


def _averaged(book: PriceBook, products: Sequence[GpuProduct], as_of: dt.date) -> dict[str, _Changes]:
    """Return the mean monthly changes of products' prices that are long enough, by accelerator."""
    if not products:
        return {}
    months: dict[str, list[tuple[dt.date, float]]] = {}
    for row in book.query("pricing/sql/market_change.sql", {"as_of": as_of}, products=products):
        months.setdefault(row["accelerator"], []).append((row["month_start"], row["log_change"]))
    runs = {accelerator: _without_gap(changes) for accelerator, changes in months.items()}
    return {accelerator: run for accelerator, run in runs.items() if len(run) >= MIN_MONTHS}


def _history(runs: Mapping[str, _Changes], *, named: bool) -> MarketHistory:
    return MarketHistory(
        accelerators=tuple(runs),
        named=named,
        first_month=min(run[0][0] for run in runs.values()),
        last_month=max(run[-1][0] for run in runs.values()),
        log_changes=tuple(tuple(change for _, change in run) for run in runs.values()),
    )


def _index_changes(book: PriceBook, accelerator: str, as_of: dt.date) -> list[tuple[dt.date, float]]:
    """Return the change of ln(index) from month to month over the newest months without a gap."""
    points = {
        point.effective_from.replace(day=1): point.usd
        for point in book.history(f"{_INDEX}{accelerator}", term="on_demand")
        if point.effective_from <= as_of and point.usd > 0
    }
    months = sorted(points)
    changes = [
        (month, math.log(points[following] / points[month]))
        for month, following in itertools.pairwise(months)
        if _month_number(following) == _month_number(month) + 1
    ]
    return _without_gap(changes)


def _without_gap(months: Sequence[tuple[dt.date, float]]) -> list[tuple[dt.date, float]]:
    """Return the newest run of consecutive months."""
    run: list[tuple[dt.date, float]] = []
    for month, change in months:
        if run and _month_number(month) != _month_number(run[-1][0]) + 1:
            run = []
        run.append((month, change))
    return run


def _month_number(month: dt.date) -> int:
    return month.year * _MONTHS_A_YEAR + month.month


def price_paths(
    log_changes: Sequence[Sequence[float]], rule: PathRule, *, months: int, draws: int, rng: "np.random.Generator"
) -> "Column":
    """Return one path per draw: the price at the start of each month and at the end of the last, over today's price.

    A circular block bootstrap (Politis and Romano 1992): blocks of consecutive months start at a random month, all
    months of all series being equally likely; the last month of a series is followed by its first.

    Args:
        log_changes: change of ln(price) over each month, by series.
        rule: length of the blocks, and drift.
        months: length of the path, which has one value more.
        draws: number of paths.
        rng: random number generator.

    Raises:
        InputError: there is no history, or the rule is invalid.

    >>> import numpy as np
    >>> rule = PathRule(block_months=2, drift="historic")
    >>> price_paths([[0.0, 0.0]], rule, months=3, draws=1, rng=np.random.default_rng(1)).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only simulations need it

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

    The paths of an accelerator depend only on the seed, its name and its history.

    Attributes:
        markets: price history by accelerator.
        accelerators: accelerator of every candidate, by its key.
        rule: rule for drawing paths.
        months: length of each path.
        draws: number of paths of each accelerator.
        seed: seed of the random numbers.
    """

    markets: Mapping[str, MarketHistory]
    accelerators: Mapping[str, str]
    rule: PathRule
    months: int
    draws: int
    seed: int

    def blocks(self) -> "Iterator[dict[str, Column]]":
        """Yield the paths by accelerator as in `price_paths`, in blocks of `BLOCK_DRAWS` draws."""
        streams = {accelerator: stream(f"price_path/{accelerator}", self.seed) for accelerator in self.markets}
        for first in range(0, self.draws, BLOCK_DRAWS):
            number = min(BLOCK_DRAWS, self.draws - first)
            yield {
                accelerator: price_paths(
                    history.log_changes, self.rule, months=self.months, draws=number, rng=streams[accelerator]
                )
                for accelerator, history in self.markets.items()
            }

    def of_candidates(self, markets: "Mapping[str, Column]") -> "dict[str, Column]":
        """Return the columns of each candidate's accelerator, by key of the candidate."""
        return {key: markets[accelerator] for key, accelerator in self.accelerators.items()}

    def end_levels(self) -> "dict[str, Column]":
        """Return the price at the end of the horizon over today's price in every draw, by accelerator."""
        return self._joined(lambda path: path[:, -1])

    def levels(self, weights: "Column") -> "dict[str, Column]":
        """Return the weighted mean of the path over its months in every draw, by accelerator; 1 is today's price.

        Args:
            weights: weights of the path's values: 0 is today's price, n the price at the start of month n + 1, and the
                last one the price at the end.
        """
        shares = normalised(weights)
        return self._joined(lambda path: path @ shares)

    def _joined(self, of_path: "Callable[[Column], Column]") -> "dict[str, Column]":
        import numpy as np  # noqa: PLC0415

        blocks = [{accelerator: of_path(path) for accelerator, path in block.items()} for block in self.blocks()]
        return {accelerator: np.concatenate([block[accelerator] for block in blocks]) for accelerator in self.markets}


def normalised(weights: "Column") -> "Column":
    """Return weights divided by their sum; if the sum is 0, all weight is on today's price."""
    import numpy as np  # noqa: PLC0415

    total = weights.sum()
    shares: Column = weights / total if total else np.zeros_like(weights)
    shares[0] = shares[0] if total else 1.0
    return shares
