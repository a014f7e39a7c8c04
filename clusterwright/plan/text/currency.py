"""The currency in which a plan's money is reported: its dated rate.

Everything is counted in USD. Whoever prints or writes for people does so within `told_as_asked`, and makes every amount
with `money.money` and its like; JSON keeps USD, as its names say, with the rate beside it.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from clusterwright.errors import InputError, MissingFactError
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import Currency, told_in
from clusterwright.pricing.book import PriceBook

_PATH = ("tco", "currency")


def report_currency(plan: Plan, book: PriceBook) -> Currency | None:
    """Return the currency that the blueprint asks for with the rate to count with, None for USD.

    Args:
        plan: its section `tco` names the currency, and may give the rate.
        book: has the rate where the plan gives none.

    Raises:
        MissingFactError: no rate is known on or before the as-of day.
        InputError: the rate is of a day after it.
    """
    asked = plan.tco.currency
    if asked is None or asked.code == "USD":
        return None
    if asked.usd is None or asked.day is None:
        found = book.exchange_rate(asked.code, dt.date.fromisoformat(plan.as_of))
        if found is None:
            raise MissingFactError(
                f"no rate of {asked.code} is known up to {plan.as_of}",
                help=f"give it: currency: {{code: {asked.code}, usd: 1.08, day: {plan.as_of}, source: …}}; "
                f"or store it: clusterwright prices rate {asked.code} 1.08 --day {plan.as_of} --source …",
                path=_PATH,
            )
        return Currency(code=asked.code, usd=found.usd, day=found.day.isoformat(), source=found.source)
    if asked.day.isoformat() > plan.as_of:
        raise InputError(
            f"the rate of {asked.day} is younger than the prices, which are of {plan.as_of}",
            help="give a rate of that day or before it, or set economics.as_of",
            path=_PATH,
        )
    return Currency(code=asked.code, usd=asked.usd, day=asked.day.isoformat(), source=asked.source or "blueprint")


@contextmanager
def told_as_asked(plan: Plan, book: PriceBook) -> Iterator[Currency | None]:
    """Tell all money as the blueprint asks for it for the time of the block, and give its currency; None is USD.

    Raises:
        MissingFactError, InputError: see `report_currency`.
    """
    currency = report_currency(plan, book)
    with told_in(currency):
        yield currency


def with_currency(document: dict[str, Any], currency: Currency | None) -> dict[str, Any]:
    """Return a JSON document, whose amounts are USD, with the rate at which people see them; as it is for USD."""
    return document if currency is None else document | {"currency": asdict(currency)}
