"""The currency in which a plan's money is shown: its code and its dated rate."""

import datetime as dt
from dataclasses import dataclass

from clusterwright.blueprint.sections.finances import CurrencySection
from clusterwright.errors import InputError, MissingFactError
from clusterwright.pricing.book import PriceBook

_PATH = ("tco", "currency")


@dataclass(frozen=True, kw_only=True, slots=True)
class Currency:
    """Currency with its rate.

    Attributes:
        code: three letters, ISO 4217.
        usd: USD for one unit of it.
        day: of that rate, ISO 8601.
        source: who says so.
    """

    code: str
    usd: float
    day: str
    source: str

    @property
    def text(self) -> str:
        """The rate in words."""
        return f"1 {self.code} = {self.usd:g} USD on {self.day} ({self.source})"


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
