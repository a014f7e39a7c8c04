"""The currency in which a plan's money is told: its dated rate, and documents in it."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clusterwright.errors import InputError, MissingFactError
from clusterwright.plan.record import Plan
from clusterwright.plan.words import Currency
from clusterwright.pricing.book import PriceBook

_PATH = ("tco", "currency")
#: The word for USD as a part of a name, such as `npv_usd_p10` or `usd_per_gpu_hour`.
_USD = re.compile(r"(?<![a-z])usd(?![a-z])")


def report_currency(plan: Plan, book: PriceBook) -> Currency | None:
    """Return the currency that the blueprint asks for with the rate to count with, None for USD.

    Args:
        plan: its section `tco` names the currency, and may give the rate.
        book: prices, with the exchange rates of the price store.

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


def currency_document(document: dict[str, Any], currency: Currency | None) -> dict[str, Any]:
    """Return a JSON document in a currency, with its rate as `currency`; as it is without one."""
    if currency is None:
        return document
    told: dict[str, Any] = in_currency(document, currency)
    return told | {"currency": asdict(currency)}


def currency_note(currency: Currency | None) -> tuple[str, ...]:
    """Return lines that say what money is told in, with the rate and its day; nothing for USD."""
    if currency is None:
        return ()
    return ("", f"All money in {currency.code}: {currency.text}; it is counted in USD.")


def in_currency(document: Any, currency: Currency | None) -> Any:  # noqa: ANN401 - JSON holds anything
    """Return a JSON document with every amount in a currency, and its name said so: `npv_usd` becomes `npv_eur`.

    >>> eur = Currency(code="EUR", usd=1.25, day="2026-10-16", source="ECB")
    >>> in_currency({"npv_usd": 10.0, "key": "aws", "usd_per_gpu_hour": None}, eur)
    {'npv_eur': 8.0, 'key': 'aws', 'eur_per_gpu_hour': None}
    """
    if currency is None:
        return document
    if isinstance(document, Mapping):
        return {
            _USD.sub(currency.code.lower(), name): _converted(value, currency)
            if _USD.search(name)
            else in_currency(value, currency)
            for name, value in document.items()
        }
    if isinstance(document, list | tuple):
        return [in_currency(value, currency) for value in document]
    return document


def _converted(value: Any, currency: Currency) -> Any:  # noqa: ANN401 - JSON holds anything
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / currency.usd
    if isinstance(value, list | tuple):
        return [_converted(entry, currency) for entry in value]
    return in_currency(value, currency)
