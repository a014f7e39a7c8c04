"""The currency in which a plan's money is reported: its dated rate.

Everything is counted in USD. Whoever prints or writes for people passes the `MoneyFormat` of `money_as_asked` to what
renders; JSON keeps USD, as its names say, with the rate.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from clusterwright.blueprint.sections.finances import CurrencySection
from clusterwright.errors import InputError, MissingFactError
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import Currency, MoneyFormat
from clusterwright.pricing.book import PriceBook

_PATH = ("tco", "currency")


def report_currency(plan: Plan, book: PriceBook) -> Currency | None:
    """Return the currency that a plan's blueprint asks for with the rate to count with, None for USD.

    Raises:
        MissingFactError, InputError: see `currency_of`.
    """
    return currency_of(plan.tco.currency, plan.as_of, book)


def currency_of(asked: CurrencySection | None, as_of: str, book: PriceBook) -> Currency | None:
    """Return a currency with the rate to count with, None for USD.

    Args:
        asked: the section `tco.currency` of a blueprint, which may give the rate.
        as_of: day of the prices, ISO 8601.
        book: has the rate where none is given.

    Raises:
        MissingFactError: no rate is known on or before the as-of day.
        InputError: the rate is of a day after it.
    """
    if asked is None or asked.code == "USD":
        return None
    if asked.usd is None or asked.day is None:
        found = book.exchange_rate(asked.code, dt.date.fromisoformat(as_of))
        if found is None:
            raise MissingFactError(
                f"no rate of {asked.code} is known up to {as_of}",
                help=f"give it: currency: {{code: {asked.code}, usd: 1.08, day: {as_of}, source: …}}; "
                f"or store it: clusterwright prices rate {asked.code} 1.08 --day {as_of} --source …",
                path=_PATH,
            )
        return Currency(code=asked.code, usd=found.usd, day=found.day.isoformat(), source=found.source)
    if asked.day.isoformat() > as_of:
        raise InputError(
            f"the rate of {asked.day} is younger than the prices, which are of {as_of}",
            help="give a rate of that day or before it, or set economics.as_of",
            path=_PATH,
        )
    return Currency(code=asked.code, usd=asked.usd, day=asked.day.isoformat(), source=asked.source or "blueprint")


def money_as_asked(plan: Plan, book: PriceBook) -> MoneyFormat:
    """Return how a plan's money is written for people: in the currency that its blueprint asks for.

    Raises:
        MissingFactError, InputError: see `report_currency`.
    """
    return MoneyFormat(currency=report_currency(plan, book))


def money_of_all(currencies: Iterable[Currency | None]) -> MoneyFormat:
    """Return how money of several blueprints is written side by side: in their currency, in USD where they differ."""
    asked = set(currencies)
    return MoneyFormat(currency=asked.pop() if len(asked) == 1 else None)


def with_currency(document: dict[str, Any], currency: Currency | None) -> dict[str, Any]:
    """Return a JSON document, whose amounts are USD, with the rate at which people see them; as it is for USD."""
    return document if currency is None else document | {"currency": asdict(currency)}
