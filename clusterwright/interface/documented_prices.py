"""Documented prices, of one product or of all: those in force on a day, or their history."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError, MissingFactError
from clusterwright.interface.planning import open_facts
from clusterwright.interface.tables import Relation, scalar_fields, table
from clusterwright.plan.facts import Facts
from clusterwright.pricing.book import PriceBook, Product
from clusterwright.pricing.gpu_products import GpuProduct, products_of
from clusterwright.pricing.records import PricePoint, PriceRequest
from clusterwright.units import day_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Prices of products.

    Attributes:
        as_of: the day that they are asked about.
        rows: a price each, with its product, day, source and, where it is in force, its age.
    """

    as_of: dt.date
    rows: tuple[Mapping[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what `clusterwright prices --json` prints."""
        return {"as_of": self.as_of.isoformat(), "prices": [dict(row) for row in self.rows]}

    def table(self) -> Relation:
        """Return the prices as a DuckDB relation."""
        return table(self.rows, scalar_fields(PricePoint))


def prices(
    name: str | None = None, *, as_of: dt.date | str | None = None, history: bool = False, facts: Facts | None = None
) -> Prices:
    """Return documented prices.

    Args:
        name: a product such as `aws/p5.48xlarge`, or an accelerator such as `h100`; every product if None.
        as_of: the day; the newest one that the price book knows if None.
        history: every price that was documented until then, in place of those in force.
        facts: from `open_facts`; opened for this question if None.

    Raises:
        InputError: nothing has that name, or the day cannot be read.
        MissingFactError: it has no price on that day.
    """
    facts = facts or open_facts()
    book = facts.book
    day = book.newest_day if as_of is None else day_of(as_of) if isinstance(as_of, str) else as_of
    products = products_called(book, facts.catalogue, name)
    rows = price_rows(book, products, None if as_of is None and history else day, history=history)
    if name is not None and not rows:
        raise no_price(name, day)
    return Prices(as_of=day, rows=tuple(MappingProxyType(row) for row in rows))


def products_called(book: PriceBook, catalogue: Catalogue, name: str | None) -> tuple[Product, ...]:
    """Return the products of a name, or with the accelerators of that name; every product if None.

    Raises:
        InputError, MissingFactError: there is none, or none of its prices is used.
    """
    products = book.products()
    if name is None:
        return products
    named = tuple(entry for entry in products if entry.is_called(name))
    skus = set() if named else {entry.sku for entry in rented_products(catalogue, name)}
    return (
        named
        or tuple(entry for entry in products if entry.sku in skus)
        or _no_product(name, products, len(book.history(name, with_rejected=True)))
    )


def rented_products(catalogue: Catalogue, name: str) -> tuple[GpuProduct, ...]:
    """Return what is rented with the accelerators of a name; nothing where it names none."""
    try:
        return products_of(catalogue, name)
    except InputError:
        return ()


def price_rows(
    book: PriceBook, products: Sequence[Product], day: dt.date | None, *, history: bool
) -> list[dict[str, Any]]:
    """Return prices in force on a day, or, for a history, every one that was documented until then."""
    if history:
        return [
            asdict(point)
            for entry in products
            for point in book.history(entry.sku, region=entry.region, term=entry.term, as_of=day, with_rejected=True)
        ]
    requests = [PriceRequest(sku=entry.sku, region=entry.region, term=entry.term) for entry in products]
    found = book.in_force(requests, day or book.newest_day)
    return [asdict(price.point) | {"age_days": price.age_days} for price in found if price is not None]


def no_price(name: str, day: dt.date) -> MissingFactError:
    """Return the error of a product without a price on a day."""
    return MissingFactError(
        f"{name} has no documented price on {day}", help=f"see its history: clusterwright prices {name} --history"
    )


def _no_product(sku: str, products: Sequence[Product], claims: int) -> tuple[Product, ...]:
    if claims:
        raise MissingFactError(
            f"{sku} has no documented price; claims that were rejected: {claims}",
            help=f"see why: clusterwright prices {sku} --rejected",
        )
    names = sorted({entry.sku for entry in products})
    close = get_close_matches(sku, names, n=3, cutoff=0.4)
    raise InputError(
        f"the price book has no product {sku!r}",
        help=f"did you mean {' or '.join(close)}?" if close else "list them: clusterwright prices",
    )
