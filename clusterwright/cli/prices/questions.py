"""The questions to the price book: their statements, and how their answers look as text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from clusterwright.cli.render.terminal import line_width
from clusterwright.cli.render.text_table import Column, table
from clusterwright.units import percent

_UNKNOWN = "unknown"
#: Columns of the longest bar of a chart, fewer where the terminal is narrow; of what is beside it.
_BAR, _LEAST_BAR, _BESIDE_BAR = 40, 16, 32
#: Regions with the same history that a chart names.
_NAMED = 3
#: Words of column names that are written otherwise.
_WORDS = {"usd": "USD", "gpu": "GPU", "pflop": "PFLOP/s", "gb": "GB", "hbm": "HBM", "sku": "product", "log": "ln"}
#: Columns with a shorter name.
_HEADS = {
    "usd_per_gpu_hour": "USD/GPU-h",
    "on_demand_usd_per_gpu_hour": "on demand",
    "usd_per_dense_bf16_pflop_hour": "USD/PFLOP-h bf16",
    "usd_per_dense_fp8_pflop_hour": "USD/PFLOP-h fp8",
    "usd_per_gb_hbm_hour": "USD/GB-h HBM",
    "median_usd_per_gpu_hour": "median",
    "mean_usd_per_gpu_hour": "mean",
    "lowest_usd_per_gpu_hour": "lowest",
    "highest_usd_per_gpu_hour": "highest",
    "others_median_usd_per_gpu_hour": "others",
    "newest_usd_per_gpu_hour": "newest",
    "other_providers": "of",
    "breakeven_months": "months",
    "log_volatility_per_year": "ln volatility",
    "share_in_force_30_days": "30 days",
    "share_in_force_90_days": "90 days",
    "median_days_in_force": "median days",
    "largest_rise_share": "rise",
    "largest_fall_share": "fall",
    "change_share": "change",
    "days_in_force": "days",
}
#: How soon a column is left out of a narrow terminal (`Column.drop`); others by their place.
_DROP = {
    "usd_per_gpu_hour": 0,
    "usd": 0,
    "term": 0,
    "breakeven_months": 0,
    "month": 0,
    "median_usd_per_gpu_hour": 0,
    "effective_from": 0,
    "discount_share": 0,
    "last_seen": 0.5,
    "source": 6.5,
    "locator": 20,
    "usd_per_gb_hbm_hour": 12,
    "usd_per_dense_fp8_pflop_hour": 11,
    "usd_per_dense_bf16_pflop_hour": 10,
}
#: Fewer changes say nothing about how a price moves.
LEAST_CHANGES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A question to the price book.

    Attributes:
        path: of its statement.
        title: what is above the answer; columns: of the answer, and how their cells are written.
        help: what the command does.
        term: that it is about unless another one is named, empty for all; most: rows to print.
        in_parallel: the order of rows does not change the answer, not even its last digit: all processors may work.
    """

    path: str
    title: str
    columns: Mapping[str, Callable[[Any], str]]
    help: str
    term: str = ""
    most: int = 40
    in_parallel: bool = False


def _text(value: Any) -> str:  # noqa: ANN401 - a cell
    return "–" if value in ("", None) else str(value)


def _usd(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value, digits=1, signed=True)


def _part(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _tier(value: float) -> str:
    return "–" if not value else f"from {value:,.0f}"


def _months(value: float | None) -> str:
    return "never" if value is None else f"{value:,.1f}"


def _month(value: Any) -> str:  # noqa: ANN401
    return f"{value:%Y-%m}"


QUERIES = {
    "cheapest": Query(
        path="pricing/sql/gpu_price_in_force.sql",
        title="rent of one accelerator for an hour, as of {day}; PFLOP/s are dense",
        help="Rank what rents a GPU.\n\nIn USD per GPU-hour, per dense PFLOP/s-hour, per GB of HBM and hour.",
        most=20,
        columns={
            "sku": _text,
            "region": _text,
            "term": _text,
            "usd_per_gpu_hour": _usd,
            "usd_per_dense_bf16_pflop_hour": _usd,
            "usd_per_dense_fp8_pflop_hour": _usd,
            "usd_per_gb_hbm_hour": _usd,
            "last_seen": _text,
            "source": _text,
        },
    ),
    "history": Query(
        path="pricing/sql/gpu_price_change.sql",
        title="changes of the USD per hour of one accelerator",
        help="Show every change of a price per GPU-hour.",
        most=60,
        columns={
            "sku": _text,
            "region": _text,
            "term": _text,
            "effective_from": _text,
            "usd_per_gpu_hour": _usd,
            "change_share": _share,
            "days_in_force": _text,
            "source": _text,
        },
    ),
    "discounts": Query(
        path="pricing/sql/discount_over_time.sql",
        title="discounts against the on-demand price of the same day and region",
        help="Show discounts: spot, commitments and blocks.\n\nAgainst the on-demand price of their day.",
        columns={
            "sku": _text,
            "region": _text,
            "term": _text,
            "effective_from": _text,
            "last_seen": _text,
            "usd_per_gpu_hour": _usd,
            "on_demand_usd_per_gpu_hour": _usd,
            "discount_share": _part,
        },
    ),
    "volatility": Query(
        path="pricing/sql/price_volatility.sql",
        title=f"how prices moved, with at least {LEAST_CHANGES} changes; volatility is of ln(price), per year",
        help="Show how much, and how often, prices moved.",
        term="spot",
        columns={
            "sku": _text,
            "region": _text,
            "changes": _text,
            "last_day": _text,
            "log_volatility_per_year": _number,
            "median_days_in_force": _text,
            "share_in_force_30_days": _part,
            "largest_rise_share": _part,
            "largest_fall_share": _part,
            "newest_usd_per_gpu_hour": _usd,
        },
    ),
    "index": Query(
        path="pricing/sql/market_index.sql",
        title="median over providers of the {term} price of one GPU-hour, by month until {day}; others are providers"
        " besides {clouds}",
        help="Show what a GPU-hour costs by month.\n\nThe median over providers.",
        term="on_demand",
        most=60,
        columns={
            "accelerator": _text,
            "month": _month,
            "median_usd_per_gpu_hour": _usd,
            "providers": _text,
            "lowest_usd_per_gpu_hour": _usd,
            "highest_usd_per_gpu_hour": _usd,
            "others_median_usd_per_gpu_hour": _usd,
            "other_providers": _text,
        },
    ),
    "months": Query(
        path="pricing/sql/price_of_month.sql",
        title="{term} price of one GPU-hour by month as of {day}, weighted by how long each price stood",
        help="Show prices by month.\n\nMean weighted by time, lowest, highest. For spot prices of zones.",
        term="spot",
        columns={
            "sku": _text,
            "region": _text,
            "month": _month,
            "mean_usd_per_gpu_hour": _usd,
            "lowest_usd_per_gpu_hour": _usd,
            "highest_usd_per_gpu_hour": _usd,
            "prices": _text,
        },
    ),
    "extremes": Query(
        path="pricing/sql/price_extremes_of_month.sql",
        title="{term} prices of one GPU-hour that came into force in a month, as of {day}",
        help="Show the lowest and highest price of each month.",
        in_parallel=True,
        columns={
            "sku": _text,
            "region": _text,
            "month": _month,
            "lowest_usd_per_gpu_hour": _usd,
            "highest_usd_per_gpu_hour": _usd,
            "prices": _text,
        },
    ),
    "services": Query(
        path="pricing/sql/service_price.sql",
        title="USD per unit of storage, data out, licences, power and other services, as of {day}",
        help="List prices of storage, data out, licences, power and rooms.",
        most=100,
        columns={
            "kind": _text,
            "sku": _text,
            "region": _text,
            "term": _text,
            "tier_start": _tier,
            "usd": _usd,
            "unit": _text,
            "charge": _text,
            "last_seen": _text,
            "source": _text,
        },
    ),
    "breakeven": Query(
        path="pricing/sql/breakeven.sql",
        title="months until a bought server is cheaper than renting its GPUs, as of {day}",
        help="Show when buying gets cheaper than renting.\n\nMonths, for every product, region and term.",
        columns={
            "sku": _text,
            "region": _text,
            "term": _text,
            "usd_per_gpu_hour": _usd,
            "breakeven_months": _months,
            "system": _text,
            "last_seen": _text,
            "source": _text,
        },
    ),
    "coverage": Query(
        path="pricing/sql/price_coverage.sql",
        title="products and terms have a price as of {day}",
        help="Show for which products and terms no price is known.",
        columns={"sku": _text, "accelerator": _text, "term": _text},
    ),
}


def answer_table(columns: Mapping[str, Callable[[Any], str]], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as text under their columns' names; numbers stand to the right."""
    shown = [
        Column(
            _HEADS.get(name) or " ".join(_WORDS.get(word, word) for word in name.split("_")),
            "" if any(isinstance(row[name], int | float) for row in rows) else "left",
            _DROP.get(name, place),
        )
        for place, name in enumerate(columns)
    ]
    return table(shown, ([show(row[name]) for name, show in columns.items()] for row in rows))


def charted(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return changes of prices as bars on one scale, a group for each product, region and term that changed.

    Those that never changed stand below in one line each.
    """
    highest = max(row["usd_per_gpu_hour"] for row in rows)
    names = sum(max(len(str(row[name] or "everywhere")) for row in rows) for name in ("sku", "region", "term"))
    # Where a bar has no room beside the names, those that never changed go without.
    room = line_width() - _BESIDE_BAR
    widest = min(_BAR, room - names if room - names >= _LEAST_BAR else room)
    lines: list[str] = []
    unchanged: list[tuple[str, ...]] = []
    for series, group in groupby(rows, key=lambda row: (row["sku"], row["region"] or "everywhere", row["term"])):
        changes = [_charted(row, highest, widest) for row in group]
        if len(changes) == 1:
            unchanged.append((*series, *changes[0][:3]))
            continue
        lines.append("  " + "  ".join(series))
        lines += [f"    {day}  {usd:>8}  {bar}  {change}".rstrip(" –") for day, usd, bar, change in changes]
    if unchanged:
        columns = [(word, "left") for word in ("unchanged", "region", "term", "since")] + [("USD", ""), ("", "left")]
        lines += table(columns, unchanged).splitlines()
    return lines


def _charted(row: Mapping[str, Any], highest: float, widest: int) -> tuple[str, str, str, str]:
    """Return day, price, bar and change of one price."""
    bar = "█" * max(1, round(widest * row["usd_per_gpu_hour"] / highest))
    return str(row["effective_from"]), _usd(row["usd_per_gpu_hour"]), bar, _share(row["change_share"])
