"""Prices that a case takes from the price book instead of bringing them."""

import datetime as dt

from clusterwright.blueprint.reading.document import Document
from clusterwright.catalog.load import load
from clusterwright.evidence.cost_cases.case import TcoCase
from clusterwright.evidence.cost_cases.reading import problem
from clusterwright.evidence.cost_cases.sections import Rent
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import gpu_products
from clusterwright.pricing.records import PriceInForce

_HELP = "products and their regions: clusterwright prices"


def day_of(case: TcoCase, book: PriceBook) -> dt.date:
    """Return the day whose prices a case takes."""
    return case.as_of or book.newest_day


def with_prices(case: TcoCase, document: Document, book: PriceBook) -> TcoCase:
    """Return the case with every `price_of` replaced by its price for all GPUs of the option, USD per hour.

    USD per hour = price of one product x GPUs of the option / GPUs of the product.

    Raises:
        BlueprintError: no such product, no hourly price of it on the day, or one product holds more than is wanted.
    """
    found = {}
    for name, option in case.options.items():
        rent = option.rent
        if rent is None or rent.price_of is None:
            found[name] = option
            continue
        usd_per_hour, _ = hourly_price(case, name, rent, book, document)
        priced = rent.model_copy(update={"usd_per_hour": usd_per_hour, "price_of": None})
        found[name] = option.model_copy(update={"rent": priced})
    return case.model_copy(update={"options": found})


def documented(rent: Rent, day: dt.date, book: PriceBook) -> PriceInForce | None:
    """Return the documented price for the hour of what `price_of` names, None if none is known on the day."""
    price = book.price(rent.price_of or "", region=rent.region, term=rent.term, as_of=day)
    return price if price is not None and price.point.charge == "hourly" else None


def hourly_price(
    case: TcoCase, name: str, rent: Rent, book: PriceBook, document: Document
) -> tuple[float, PriceInForce]:
    """Return what the GPUs of an option cost per hour in USD, and the documented price that it is made from.

    Raises:
        BlueprintError: as `with_prices`.
    """
    option, day, sku = case.options[name], day_of(case, book), rent.price_of or ""
    at = ("options", name, "rent", "price_of")
    gpus = {entry.sku: entry.gpus for entry in gpu_products(load())}.get(sku)
    if gpus is None:
        raise problem(document, at, f"there is no product {sku!r} with GPUs", _HELP)
    price = documented(rent, day, book)
    if price is None:
        where = f" in {rent.region}" if rent.region else ""
        raise problem(document, at, f"no price for the hour of {sku}{where} ({rent.term}) is known on {day}", _HELP)
    if option.gpus / gpus != round(option.gpus / gpus):
        message = f"{sku} holds {gpus:g} GPUs, of which {option.gpus:g} are no whole number"
        raise problem(document, at, message, "change gpus, or give usd_per_gpu_hour")
    return price.point.usd * option.gpus / gpus, price
