"""compare --one-node: the claim of 6 to 12 months, for a terminal, the documentation and as JSON."""

import datetime as dt
import json
from dataclasses import asdict

from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE
from clusterwright.evidence.cost_cases.one_node import (
    CASE,
    CLAIMED_MONTHS,
    LIFE_MONTHS,
    UTILISATIONS,
    OneNode,
    RentedAt,
    one_node,
)
from clusterwright.feeds.object_storage import reach
from clusterwright.pricing.book import PriceBook
from clusterwright.units import percent

_WORDS = {"power_only": "power", "all_costs": "all", "list_100": "100 USD", "lambda_cloud": "lambda"}


def show(as_of: dt.date | None, *, as_json: bool) -> int:
    """Print the breakeven of one node against the documented prices of a day; return the exit code.

    Raises:
        BlueprintError: a price of the case is not known.
    """
    book = PriceBook.open(reach=reach)
    try:
        found = one_node(book, as_of)
    finally:
        book.close()
    print(_document(found) if as_json else fitted(text(found)))
    return EXIT_FINE


def _document(found: OneNode) -> str:
    rows = [asdict(row) for row in found.rows]
    for row in rows:
        row["months"] = {
            way: {percent(used): months for used, months in by_use.items()} for way, by_use in row["months"].items()
        }
    return json.dumps(
        {
            "schema": 1,
            "case": CASE,
            "as_of": found.as_of.isoformat(),
            "purchase_usd": found.purchase_usd,
            "rows": rows,
            "claimed_months": CLAIMED_MONTHS,
            "claim_holds": [{"name": name, "way": way, "utilisation": used} for name, way, used in found.claim_holds],
        },
        indent=1,
        allow_nan=False,
        default=str,
    )


def text(found: OneNode) -> str:
    """Return the table as lines of text, with the verdict on the claim below it."""
    head = ["rented at", "USD an hour"]
    head += [f"{_word(way)} {percent(used)}" for way in found.ways for used in UTILISATIONS]
    head += ["since", "seen until", "source"]
    numbers = range(1, 2 + len(found.ways) * len(UTILISATIONS))
    columns = [Column(title, "" if place in numbers else "left") for place, title in enumerate(head)]
    title = f"Months until a bought node of 8 H100 ({found.purchase_usd:,.0f} USD) has cost less than a rented one"
    lines = [f"{title}, prices of {found.as_of}"]
    lines.append(table(columns, [_cells(row, found.ways) for row in found.rows]))
    low, high = CLAIMED_MONTHS
    holds = found.claim_holds
    every = sum(row.usd_per_hour is not None for row in found.rows) * len(found.ways) * len(UTILISATIONS)
    names = ", ".join(dict.fromkeys(_word(name) for name, _, _ in holds)) or "nobody"
    lines += [
        "  power: purchase and electricity; all: also room, operations and capital; at 100 % or 60 % of the hours",
        f"  late: after a server's life of {LIFE_MONTHS:.0f} months; never: not within {found.horizon_months:.0f}",
        f"'{low:.0f} to {high:.0f} months' holds in {len(holds)} of {every} cases, all of them against {names}.",
        f"inputs: {CASE}; check: clusterwright validate tco {CASE} --all",
    ]
    return "\n".join(lines)


def _word(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " "))


def _cells(row: RentedAt, ways: tuple[str, ...]) -> list[str]:
    known = row.usd_per_hour is not None
    months = [_months(row.months[way][used]) if known else "–" for way in ways for used in UTILISATIONS]
    days = [str(day) if day else "–" for day in (row.effective_from, row.last_seen)]
    return [
        _word(row.name),
        "unknown" if row.usd_per_hour is None else f"{row.usd_per_hour:,.2f}",
        *months,
        *days,
        row.source or "–",
    ]


def _months(value: float | None) -> str:
    if value is None:
        return "never"
    return f"{'late ' if value > LIFE_MONTHS else ''}{value:.1f}"
