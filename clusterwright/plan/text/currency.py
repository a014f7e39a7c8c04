"""How a plan's money is written for people, and the rate beside its JSON.

Everything is counted in USD. Whoever prints or writes for people passes the `MoneyFormat` of `money_as_asked` to what
renders; JSON keeps USD, as its names say, with the rate.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat


def money_as_asked(plan: Plan) -> MoneyFormat:
    """Return how a plan's money is written for people: in the currency that its blueprint asks for."""
    return MoneyFormat(currency=plan.currency)


def money_of_all(currencies: Iterable[Currency | None]) -> MoneyFormat:
    """Return how money of several blueprints is written side by side: in their currency, in USD where they differ."""
    asked = set(currencies)
    return MoneyFormat(currency=asked.pop() if len(asked) == 1 else None)


def with_currency(document: dict[str, Any], currency: Currency | None) -> dict[str, Any]:
    """Return a JSON document, whose amounts are USD, with the rate at which people see them; as it is for USD."""
    return document if currency is None else document | {"currency": asdict(currency)}
