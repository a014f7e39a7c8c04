"""A guide's table of price for performance by scenario, calculated again from prices in force and dense peaks.

Nothing of what the guide prints goes into a calculation: its winners and figures only stand beside ours.
"""

import csv
import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.finance.scenario_measures import MEASURES, Entry, Market
from clusterwright.pricing.book import PriceBook

TABLE = "tco/scenarios.csv"
#: Accelerators that the guide compares; what else is cheaper is distinguished.
COMPARED = (
    "h100-sxm-80gb",
    "h100-pcie-80gb",
    "h200-sxm-141gb",
    "b200-sxm-180gb",
    "b100-sxm-192gb",
    "gb200-186gb",
    "a100-sxm-80gb",
    "mi300x-192gb",
    "gaudi3-128gb",
    "l40s-48gb",
)
#: How far a printed figure may be from the calculated one and still be right.
TOLERANCE = 0.10


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One line of the table: what was printed, what comes out, and what to think of it.

    Attributes:
        scenario: its name; measure, unit, lower_is_better: what is compared.
        term: of the prices, empty where none are rented.
        printed_winner, printed_accelerators, printed_figure: as printed.
        printed_low, printed_high: its numbers, None without.
        own_inputs_give: USD per million tokens from the price and the rate that are printed beside it, None without.
        ranking: the accelerators that the guide compares, best first; those without a price or a fact are left out.
        better_elsewhere: the best of all other accelerators of the catalogue, if it is better than that.
        unknown: compared accelerators for which the measure cannot be calculated.
        winner_right: whether the best, or one as good, is one that was printed; None where nothing can be calculated.
        printed_now: the least and the most of each printed accelerator, in the unit of the printed figure.
        figure_right: whether what was printed is within 10 % of one of them; None without figures to compare.
        remark: what is wrong or right in the guide's own arithmetic.
    """

    scenario: str
    measure: str
    unit: str
    lower_is_better: bool
    term: str
    printed_winner: str
    printed_accelerators: tuple[str, ...]
    printed_figure: str
    printed_low: float | None
    printed_high: float | None
    own_inputs_give: float | None
    ranking: tuple[Entry, ...]
    better_elsewhere: Entry | None
    unknown: tuple[str, ...]
    winner_right: bool | None
    printed_now: Mapping[str, tuple[float, float]]
    figure_right: bool | None
    remark: str

    @property
    def misreckoned(self) -> bool:
        """Whether the printed figure does not follow from the printed inputs."""
        own, low, high = self.own_inputs_give, self.printed_low, self.printed_high
        return own is not None and low is not None and high is not None and not _within([(own, own)], low, high)


def scenarios(catalogue: Catalogue, book: PriceBook, as_of: dt.date | None = None) -> tuple[dt.date, list[Scenario]]:
    """Return the day of the prices and every line of the table.

    Args:
        catalogue: dense peaks, memory and bandwidth.
        book: price points.
        as_of: day whose prices hold; the newest of the price book if None.
    """
    day = as_of or book.newest_day
    market = Market.on(day, catalogue, book)
    return day, [_scenario(row, market) for row in _rows()]


def _rows() -> Iterable[dict[str, str]]:
    path = assets.root() / TABLE
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


def _scenario(row: dict[str, str], market: Market) -> Scenario:
    measure = MEASURES[row["measure"]]
    entries = sorted(
        measure.calculate(market, row["term"]),
        key=lambda entry: (entry.value if measure.lower_is_better else -entry.value, entry.accelerator, entry.where),
    )
    best = list({entry.accelerator: entry for entry in reversed(entries)}.values())[::-1]
    best.sort(key=entries.index)
    ranking = tuple(entry for entry in best if entry.accelerator in COMPARED)
    others = [entry for entry in best if entry.accelerator not in COMPARED]
    printed = tuple(row["printed_accelerators"].split())
    low, high = (float(row[name]) if row[name] else None for name in ("printed_low", "printed_high"))
    now = {
        entry.accelerator: _range(entry, per_gpu_hour=row["printed_unit_of"] == "gpu_hour")
        for entry in ranking
        if entry.accelerator in printed
    }
    return Scenario(
        scenario=row["scenario"],
        measure=measure.text,
        unit=measure.unit,
        lower_is_better=measure.lower_is_better,
        term=row["term"],
        printed_winner=row["printed_winner"],
        printed_accelerators=printed,
        printed_figure=row["printed_figure"],
        printed_low=low,
        printed_high=high,
        own_inputs_give=_own(row["printed_usd_per_hour"], row["printed_tokens_per_s"]),
        ranking=ranking,
        better_elsewhere=others[0] if others and (not ranking or best[0] is others[0]) else None,
        unknown=tuple(name for name in COMPARED if name not in {entry.accelerator for entry in ranking}),
        winner_right=_winners(ranking) & set(printed) != set() if ranking else None,
        printed_now=now,
        figure_right=None if low is None or high is None or not now else _within(now.values(), low, high),
        remark=row["remark"],
    )


def _own(usd_per_hour: str, tokens_per_s: str) -> float | None:
    """Return USD per million tokens from printed inputs, None without them."""
    return float(usd_per_hour) * 1e6 / (float(tokens_per_s) * 3600.0) if usd_per_hour and tokens_per_s else None


def _winners(ranking: tuple[Entry, ...]) -> set[str]:
    """Return the first of a ranking and all that are as good."""
    return {entry.accelerator for entry in ranking if entry.value == ranking[0].value}


def _range(entry: Entry, *, per_gpu_hour: bool) -> tuple[float, float]:
    if per_gpu_hour and entry.usd_per_gpu_hour is not None:
        return entry.usd_per_gpu_hour, entry.usd_per_gpu_hour
    return entry.value, entry.value if entry.most is None else entry.most


def _within(ranges: Iterable[tuple[float, float]], low: float, high: float) -> bool:
    """Return whether a printed range is within 10 % of a calculated one."""
    return any(low * (1 - TOLERANCE) <= most and least <= high * (1 + TOLERANCE) for least, most in ranges)
