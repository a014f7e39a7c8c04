"""What the commands that compare prices per GPU do and print: cheapest, history, discounts, volatility, coverage."""

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from clusterwright.cli.lookups import day_of
from clusterwright.errors import EXIT_FINE, InputError, MissingFactError

SCHEMA_VERSION = 1
_UNKNOWN = "unknown"
_BAR = 40
#: Words of column names that are written otherwise.
_WORDS = {"usd": "USD", "gpu": "GPU", "pflop": "PFLOP/s", "gb": "GB", "hbm": "HBM", "sku": "product", "log": "ln"}
#: Fewer changes say nothing about how a price moves.
LEAST_CHANGES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A question to the price book: its statement, what stands above the answer, and its columns."""

    path: str
    title: str
    columns: Mapping[str, Callable[[Any], str]]


def _text(value: Any) -> str:  # noqa: ANN401 - a cell
    return "–" if value in ("", None) else str(value)


def _usd(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"


def _part(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


QUERIES = {
    "cheapest": Query(
        path="pricing/sql/gpu_price_in_force.sql",
        title="USD per hour of one accelerator, as of {day}",
        columns={
            "sku": _text, "region": _text, "term": _text, "usd_per_gpu_hour": _usd,
            "usd_per_dense_bf16_pflop_hour": _usd, "usd_per_gb_hbm_hour": _usd, "last_seen": _text, "source": _text,
        },
    ),
    "history": Query(
        path="pricing/sql/gpu_price_change.sql",
        title="changes of the USD per hour of one accelerator",
        columns={
            "sku": _text, "region": _text, "term": _text, "effective_from": _text, "usd_per_gpu_hour": _usd,
            "change_share": _share, "days_in_force": _text, "source": _text,
        },
    ),
    "discounts": Query(
        path="pricing/sql/discount_over_time.sql",
        title="discounts against the on-demand price of the same day and region",
        columns={
            "sku": _text, "region": _text, "term": _text, "effective_from": _text, "last_seen": _text,
            "usd_per_gpu_hour": _usd, "on_demand_usd_per_gpu_hour": _usd, "discount_share": _part,
        },
    ),
    "volatility": Query(
        path="pricing/sql/price_volatility.sql",
        title=f"how prices moved, with at least {LEAST_CHANGES} changes; volatility is of ln(price), per year",
        columns={
            "sku": _text, "region": _text, "changes": _text, "last_day": _text, "log_volatility_per_year": _number,
            "median_days_in_force": _text, "share_in_force_30_days": _part, "largest_rise_share": _part,
            "largest_fall_share": _part, "newest_usd_per_gpu_hour": _usd,
        },
    ),
    "coverage": Query(
        path="pricing/sql/price_coverage.sql",
        title="products and terms have a price as of {day}",
        columns={"sku": _text, "accelerator": _text, "term": _text},
    ),
}  # fmt: skip


def answer(
    name: str,
    *,
    about: str | None,
    as_of: str | None = None,
    term: str = "",
    region: str = "",
    most: int,
    chart: bool = False,
    store: Path | None,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Ask the price book and print the answer; return the exit code.

    Args:
        name: of `QUERIES`.
        about: an accelerator or a product, None for all.
        as_of: day; the newest day of the price book if None.
        term: only this one.
        region: only this one.
        most: rows to print; JSON holds all.
        chart: bars beside the prices.
        store: another price store than the user's own.
        as_json: print JSON.
        show_sql: print the statement instead of its answer.

    Raises:
        InputError: a name, a term or a day is unknown.
        MissingFactError: no price is known of it.
    """
    if show_sql:
        return _print_statement(name)
    day, rows = _asked(name, about=about, as_of=as_of, term=term, region=region, store=store)
    if not rows:
        words = [about or "anything", f"under {term}" if term else "", f"in {region}" if region else ""]
        raise MissingFactError(
            f"no price is known of {' '.join(word for word in words if word)}",
            help="see the holes: clusterwright prices coverage",
        )
    if as_json:
        print(_json(day, rows))  # noqa: T201 - the result
        return EXIT_FINE
    shown = rows[:most]
    query = QUERIES[name]
    print(query.title.format(day=day))  # noqa: T201
    print("\n".join(charted(shown) if chart else table(query.columns, shown)))  # noqa: T201
    if len(shown) < len(rows):
        print(f"  {len(rows) - len(shown):,} more: --most {len(rows)}")  # noqa: T201
    return EXIT_FINE


def coverage(
    *, about: str | None, as_of: str | None, as_csv: bool, store: Path | None, as_json: bool, show_sql: bool
) -> int:
    """Print the products and terms without a price, or a CSV to fill them in; return the exit code.

    Raises:
        InputError: a name or a day is unknown.
    """
    if show_sql:
        return _print_statement("coverage")
    day, rows = _asked("coverage", about=about, as_of=as_of, store=store)
    holes = [row for row in rows if not row["prices"]]
    if as_csv or as_json:
        print(template(holes) if as_csv else _json(day, rows), end="" if as_csv else "\n")  # noqa: T201
        return EXIT_FINE
    query = QUERIES["coverage"]
    print(f"{len(rows) - len(holes):,} of {len(rows):,} {query.title.format(day=day)}; without one:")  # noqa: T201
    print("\n".join(table(query.columns, holes)))  # noqa: T201
    print("fill them in: clusterwright prices coverage --csv > quotes.csv")  # noqa: T201
    print("then: clusterwright prices import quotes.csv --source 'offer 4711'")  # noqa: T201
    return EXIT_FINE


def _print_statement(name: str) -> int:
    from clusterwright.pricing.statements import with_rules

    print(with_rules(QUERIES[name].path))  # noqa: T201
    return EXIT_FINE


def _asked(
    name: str, *, about: str | None, as_of: str | None, term: str = "", region: str = "", store: Path | None
) -> tuple[dt.date, list[dict[str, Any]]]:
    """Return the day of the answer and its rows."""
    from clusterwright.catalog.load import load
    from clusterwright.pricing.book import PriceBook
    from clusterwright.pricing.gpu_products import products_of
    from clusterwright.pricing.records import TERMS

    if term and term not in TERMS:
        raise InputError(f"there is no term {term!r}", help=f"terms: {', '.join(TERMS)}")
    products = products_of(load(), about or "")
    book = PriceBook.open(store=store)
    try:
        day = book.newest_day if as_of is None else day_of(as_of)
        asked = {"as_of": day, "term": term, "region": region, "least_changes": LEAST_CHANGES}
        return day, book.query(QUERIES[name].path, asked, products=products)
    finally:
        book.close()


def table(columns: Mapping[str, Callable[[Any], str]], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows as lines of text under their columns' names; numbers stand to the right."""
    cells = [[show(row[name]) for name, show in columns.items()] for row in rows]
    heads = [" ".join(_WORDS.get(word, word) for word in name.split("_")) for name in columns]
    widths = [max(len(line[index]) for line in [heads, *cells]) for index in range(len(heads))]
    right = [bool(rows) and isinstance(rows[0][name], int | float) for name in columns]
    return [
        "  "
        + "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [heads, *cells]
    ]


def charted(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return changes of prices as bars, one group for each product, region and term."""
    highest = max(row["usd_per_gpu_hour"] for row in rows)
    lines: list[str] = []
    for (sku, region, term), changes in groupby(rows, key=lambda row: (row["sku"], row["region"], row["term"])):
        lines.append(f"  {sku}  {region or 'everywhere'}  {term}")
        for row in changes:
            bar = "█" * max(1, round(_BAR * row["usd_per_gpu_hour"] / highest))
            line = (
                f"    {row['effective_from']}  {_usd(row['usd_per_gpu_hour']):>8}  {bar}  {_share(row['change_share'])}"
            )
            lines.append(line.rstrip(" –"))
    return lines


def template(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a CSV of quotes (pricing/README.md) with a line for each row, its price to be filled in."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["sku", "region", "term", "charge", "unit", "amount", "currency", "effective_from", "locator"])
    for row in rows:
        writer.writerow([row["sku"], "", row["term"], "hourly", "node", "", "USD", "", ""])
    return stream.getvalue()


def _json(day: dt.date, rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(
        {"schema": SCHEMA_VERSION, "as_of": day.isoformat(), "rows": list(rows)},
        indent=1,
        allow_nan=False,
        default=str,
    )
