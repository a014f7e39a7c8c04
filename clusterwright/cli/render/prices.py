"""The pages of prices: the whole book at a glance, and who rents an accelerator at what price."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from clusterwright.cli.render.text_table import Column, commands, prose, table
from clusterwright.errors import EXIT_FINE, MissingFactError
from clusterwright.plan.text.words import NAME_OF_PROVIDER, NAME_OF_TARGET
from clusterwright.pricing.book import PriceBook, Product
from clusterwright.pricing.gpu_products import GpuProduct, gpu_products

_IN_FORCE = "pricing/sql/gpu_price_in_force.sql"
#: Accelerators of the first page, those with most prices.
_SHOWN = 12
_ON_DEMAND, _SPOT = "on_demand", "spot"
_NEXT = (
    ("clusterwright prices h100", "who rents it, newest first"),
    ("clusterwright prices cheapest h100", "per PFLOP/s and GB too"),
    ("clusterwright prices aws/p5.48xlarge", "one product; --history: changes"),
    ("clusterwright prices services storage", "storage, egress, power, rooms"),
    ("clusterwright prices --all", "the whole list"),
)


def overview(book: PriceBook, products: Sequence[Product], day: dt.date) -> int:
    """Print a page about all prices in force on a day; return the exit code."""
    from clusterwright.catalog.load import load

    rented = gpu_products(load())
    rows = _in_force(book, rented, day)
    names = {entry.sku for entry in rented}
    providers = len({row["provider"] for row in rows})
    others = sum(entry.sku not in names for entry in products)
    lines = prose(
        f"Prices as of {day}: {len(rows):,} of accelerators at {providers} providers, "
        f"{others:,} of equipment and services"
    )
    of_accelerator: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_accelerator.setdefault(row["accelerator"], []).append(row)
    ordered = sorted(of_accelerator, key=lambda name: (-len(of_accelerator[name]), name))
    columns = [
        Column("Lowest USD per GPU-hour", "left"),
        Column("on demand", drop=0),
        Column("from", "left", drop=2),
        Column("spot", drop=0),
        Column("from", "left", drop=3),
        Column("prices", drop=4),
        Column("seen", drop=5),
    ]
    shown = [_summary(name, of_accelerator[name]) for name in ordered[:_SHOWN]]
    lines += ["", table(columns, shown)]
    if rest := ordered[_SHOWN:]:
        lines += prose(f"and {', '.join(rest)}", indent=2)
    lines += ["", "Ask", *commands(_NEXT)]
    print("\n".join(lines))
    return EXIT_FINE


def _summary(accelerator: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    cells = [accelerator]
    for term in (_ON_DEMAND, _SPOT):
        lowest = next((row for row in rows if row["term"] == term), None)
        cells += ["–", ""] if lowest is None else [_usd(lowest), _provider(lowest["provider"])]
    return [*cells, f"{len(rows):,}", str(max(row["last_seen"] for row in rows))]


def of_accelerators(book: PriceBook, products: Sequence[GpuProduct], day: dt.date, *, name: str, as_json: bool) -> int:
    """Print who rents accelerators, the price that was seen last first; return the exit code.

    Args:
        book: the prices.
        products: that hold the accelerators.
        day: whose prices hold.
        name: of the accelerators, as the user wrote it.
        as_json: print every price as JSON.

    Raises:
        MissingFactError: nobody rents them at a known price.
    """
    rows = _in_force(book, products, day)
    if not rows:
        raise MissingFactError(f"no price is known of {name}", help="see the holes: clusterwright prices coverage")
    if as_json:
        told = {"schema": 1, "as_of": day.isoformat(), "rows": rows}
        print(json.dumps(told, indent=1, allow_nan=False, default=str))
        return EXIT_FINE
    for number, (accelerator, group) in enumerate(
        groupby(sorted(rows, key=lambda row: row["accelerator"]), key=lambda row: row["accelerator"])
    ):
        mine = list(group)
        lines = [""] if number else []
        lines += prose(f"{accelerator} as of {day}: lowest USD per GPU-hour, newest price first")
        print("\n".join([*lines, _by_provider(mine)]))
    print("\n".join(prose(f"every price: clusterwright prices cheapest {name}", indent=2)))
    return EXIT_FINE


def _by_provider(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of the lowest price of each provider and term; of several the rows hold the lowest first."""
    lowest: dict[tuple[str, str], dict[str, Any]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row in sorted(rows, key=lambda row: row["usd_per_gpu_hour"]):
        key = row["provider"], row["term"]
        counts[key] += 1
        lowest.setdefault(key, row)
    newest = sorted(lowest.values(), key=lambda row: (-row["last_seen"].toordinal(), row["usd_per_gpu_hour"]))
    columns = [
        Column("Provider", "left"),
        Column("term", "left", drop=0),
        Column("$/GPU-h", drop=0),
        Column("seen", drop=0),
        Column("source", "left", drop=1),
        Column("product", "left", drop=2),
        Column("region", "left", drop=3),
        Column("prices", drop=4),
    ]
    cells = [
        [
            _provider(row["provider"]),
            row["term"],
            _usd(row),
            str(row["last_seen"]),
            row["source"],
            row["sku"].partition("/")[2],
            row["region"] or "–",
            f"{counts[row['provider'], row['term']]:,}",
        ]
        for row in newest
    ]
    return table(columns, cells)


def _in_force(book: PriceBook, products: Sequence[GpuProduct], day: dt.date) -> list[dict[str, Any]]:
    return book.query(_IN_FORCE, {"as_of": day, "term": "", "region": ""}, products=products)


def _provider(name: str) -> str:
    return NAME_OF_TARGET.get(name) or NAME_OF_PROVIDER.get(name, name)


def _usd(row: dict[str, Any]) -> str:
    return f"{row['usd_per_gpu_hour']:,.2f}"
