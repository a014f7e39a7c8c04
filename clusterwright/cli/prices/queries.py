"""What the commands that ask the price book do and print."""

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterwright.cli.prices.questions import LEAST_CHANGES, QUERIES, answer_table, charted
from clusterwright.cli.render.text_table import commands, prose
from clusterwright.errors import EXIT_FINE, InputError, MissingFactError
from clusterwright.feeds.object_storage import reach
from clusterwright.units import day_of

if TYPE_CHECKING:
    from clusterwright.catalog.records import Catalogue
    from clusterwright.pricing.book import PriceBook
    from clusterwright.pricing.gpu_products import GpuProduct

SCHEMA_VERSION = 1
#: Adds what a question needs besides the usual: of the price book, the day and the accelerators that it is about.
More = Callable[["PriceBook", dt.date, Sequence[str]], dict[str, Any]]


def answer(
    name: str,
    *,
    about: str | None,
    as_of: str | None = None,
    term: str = "",
    region: str = "",
    most: int,
    chart: bool = False,
    store: str | None,
    as_json: bool,
    show_sql: bool,
    more: More | None = None,
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
        show_sql: print a script for DuckDB that answers, instead of the answer.
        more: further parameters of the statement.

    Raises:
        InputError: a name, a term or a day is unknown.
        MissingFactError: no price is known of it.
    """
    day, rows, asked = _asked(
        name, about=about, as_of=as_of, term=term, region=region, store=store, show_sql=show_sql, more=more
    )
    if show_sql:
        return EXIT_FINE
    if not rows:
        words = [about or "anything", f"under {term}" if term else "", f"in {region}" if region else ""]
        raise MissingFactError(
            f"no price is known of {' '.join(word for word in words if word)}",
            help="see the holes: clusterwright prices coverage",
        )
    if as_json:
        print(_json(day, rows, asked.get("shown", {})))
        return EXIT_FINE
    query = QUERIES[name]
    words_of = {"day": day, "term": term or "every", "clouds": ", ".join(asked["clouds"])}
    lines = prose(query.title.format(**words_of))
    for said in asked.get("told", ()):
        lines += prose(said, indent=2)
    if chart:
        bars = charted(rows)
        lines, left = lines + bars[:most], len(bars) - most
    else:
        lines, left = [*lines, answer_table(query.columns, rows[:most])], len(rows) - most
    print("\n".join(lines))
    if left > 0:
        print(f"  {left:,} more: --most {most + left}")
    return EXIT_FINE


def coverage(
    *, about: str | None, as_of: str | None, as_csv: bool, store: str | None, as_json: bool, show_sql: bool
) -> int:
    """Print the products and terms without a price, or a CSV to fill them in; return the exit code.

    Raises:
        InputError: a name or a day is unknown.
    """
    day, rows, _ = _asked("coverage", about=about, as_of=as_of, store=store, show_sql=show_sql)
    if show_sql:
        return EXIT_FINE
    holes = [row for row in rows if not row["prices"]]
    if as_csv or as_json:
        print(template(holes) if as_csv else _json(day, rows), end="" if as_csv else "\n")
        return EXIT_FINE
    if not rows:
        raise MissingFactError(
            f"nobody is known to rent {about}",
            help="products: catalog/instances.csv, catalog/price_only_products.csv; store a quote of your own with"
            " clusterwright prices import QUOTES.csv",
        )
    query = QUERIES["coverage"]
    priced = f"{len(rows) - len(holes):,} of {len(rows):,} {query.title.format(day=day)}"
    if not holes:
        print(priced)
        return EXIT_FINE
    print("\n".join(prose(f"{priced}; without one:")))
    by_product: dict[str, dict[str, Any]] = {}
    for hole in holes:
        terms = by_product.setdefault(hole["sku"], hole | {"term": ""})
        terms["term"] += f"{', ' if terms['term'] else ''}{hole['term']}"
    print(answer_table(query.columns, list(by_product.values())))
    filling = (
        ("clusterwright prices coverage --csv > quotes.csv", "fill them in"),
        ("clusterwright prices import quotes.csv --source offer-4711", "then store them"),
    )
    print("\n".join(commands(filling)))
    return EXIT_FINE


def services(
    *,
    kind: str,
    provider: str,
    as_of: str | None,
    term: str,
    region: str,
    most: int,
    store: str | None,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Print prices in force of storage, data out, licences, power and rooms; return the exit code.

    Raises:
        InputError: a term or a day is unknown.
        MissingFactError: there is no such price, with the kinds that there are.
    """
    from clusterwright.catalog.parts.skus import skus

    items = [{"sku": entry.sku, "category": entry.category, "item": entry.item} for entry in skus().values()]

    def more(kind: str, provider: str) -> More:
        return lambda _book, _day, _accelerators: {"items": items, "kind": kind, "provider": provider}

    known = _asked("services", about=None, as_of=as_of, store=store, more=more("", ""))[1]
    for said, column in ((kind, "kind"), (provider, "provider")):
        values = sorted({row[column] for row in known if row[column]})
        if said and said not in values:
            raise MissingFactError(f"no service of the {column} {said!r} has a price", help=", ".join(values))
    return answer(
        "services",
        about=None,
        as_of=as_of,
        term=term,
        region=region,
        most=most,
        store=store,
        as_json=as_json,
        show_sql=show_sql,
        more=more(kind, provider),
    )


def months(first: str | None, last: str | None) -> More:
    """Return the first days of the months asked about: a year up to the day of the answer unless they are named.

    Raises:
        InputError: a month is not written like 2026-09, or the last one comes before the first.
    """
    named = [None if text is None else _month_of(text) for text in (first, last)]

    def more(_book: "PriceBook", day: dt.date, _accelerators: Sequence[str]) -> dict[str, Any]:
        to = named[1] or day.replace(day=1)
        start = named[0] or to.replace(year=to.year - 1)
        if start > to:
            raise InputError(f"{start:%Y-%m} comes after {to:%Y-%m}", help="name the earlier month with --from")
        return {"from_month": start, "to_month": to}

    return more


def _month_of(text: str) -> dt.date:
    try:
        return dt.datetime.strptime(text, "%Y-%m").date()  # noqa: DTZ007 - a month has no time zone
    except ValueError:
        raise InputError(f"{text!r} is no month", help="write it like 2026-09") from None


def _asked(
    name: str,
    *,
    about: str | None,
    as_of: str | None,
    term: str = "",
    region: str = "",
    store: str | None,
    show_sql: bool = False,
    more: More | None = None,
) -> tuple[dt.date, list[dict[str, Any]], dict[str, Any]]:
    """Return the day of the answer, its rows and what was asked; or print the script that answers, without rows."""
    from clusterwright.catalog.load import load
    from clusterwright.pricing.book import PriceBook
    from clusterwright.pricing.records import TERMS

    if term and term not in TERMS:
        raise InputError(f"there is no term {term!r}", help=f"terms: {', '.join(TERMS)}")
    catalogue = load()
    book = PriceBook.open(store=store, reach=reach)
    try:
        products = _products(catalogue, about or "", book)
        day = book.newest_day if as_of is None else day_of(as_of)
        asked = {
            "as_of": day,
            "term": term,
            "region": region,
            "least_changes": LEAST_CHANGES,
            "clouds": sorted({entry.cloud for entry in catalogue.instances.values()}),
        }
        if more is not None:
            asked |= more(book, day, sorted({entry.accelerator for entry in products}))
        query = QUERIES[name]
        if show_sql:
            print(book.script(query.path, asked, products=products))
            return day, [], asked
        return day, book.query(query.path, asked, products=products, in_parallel=query.in_parallel), asked
    finally:
        book.close()


def _products(catalogue: "Catalogue", about: str, book: "PriceBook") -> "tuple[GpuProduct, ...]":
    """Return what a question is about; equipment and services, which the book knows too, are refused with a hint."""
    from clusterwright.pricing.gpu_products import products_of

    try:
        return products_of(catalogue, about)
    except InputError:
        if not any(entry.is_called(about) for entry in book.products()):
            raise
        raise InputError(
            f"{about} is nothing whose accelerators are rented by the hour",
            help=f"its prices: clusterwright prices {about} --history",
        ) from None


def template(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a CSV of quotes (pricing/README.md) with a line for each row, its price to be filled in."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["sku", "region", "term", "charge", "unit", "amount", "currency", "effective_from", "locator"])
    for row in rows:
        writer.writerow([row["sku"], "", row["term"], "hourly", "node", "", "USD", "", ""])
    return stream.getvalue()


def _json(day: dt.date, rows: Sequence[Mapping[str, Any]], more: Mapping[str, Any] | None = None) -> str:
    return json.dumps(
        {"schema": SCHEMA_VERSION, "as_of": day.isoformat(), **(more or {}), "rows": list(rows)},
        indent=1,
        allow_nan=False,
        default=str,
    )
