"""What a vendor quoted for a part, or the user knows of it: it takes the place of any other price of the part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotedPrice:
    """A vendor's or the user's own price of one part.

    Attributes:
        sku: price key of the part; unit: that the price is for, such as `each`.
        usd: price of one unit in USD; price, currency: as quoted.
        usd_per_currency, rate_on: exchange rate and its day (ISO 8601); 1 and empty for USD.
        vendor, quoted_on: who, and on which day (ISO 8601); lead_time_weeks: None if not given.
        file, line: where it is.
        length_m: of the cable that the price is for; None for a part that costs the same at any length.
        basis: `documented` for a vendor's quote, `given` for a price that the user puts in.
    """

    sku: str
    unit: str
    usd: float
    price: float
    currency: str
    usd_per_currency: float
    rate_on: str
    vendor: str
    quoted_on: str
    lead_time_weeks: float | None
    file: str
    line: int
    basis: str = "documented"
    length_m: float | None = None

    @property
    def source(self) -> str:
        """Who said it and where it is: `Acme, quotes.csv:12`."""
        return ", ".join(word for word in (self.vendor, f"{self.file}:{self.line}") if word)

    @property
    def note(self) -> str:
        """How it became USD, and how long delivery takes."""
        words = []
        if self.currency != "USD":
            rate = f"{self.usd_per_currency:g} USD per {self.currency} of {self.rate_on}"
            words.append(f"{self.price:,.2f} {self.currency} at {rate}")
        if self.lead_time_weeks is not None:
            words.append(f"lead time {self.lead_time_weeks:g} weeks")
        return "; ".join(words)


def by_part(quotes: Iterable[QuotedPrice]) -> dict[str, tuple[QuotedPrice, ...]]:
    """Return the quotes of each part: one for any length, or those of its lengths, shortest first."""
    found: dict[str, list[QuotedPrice]] = {}
    for quote in quotes:
        if quote.length_m is None:
            found[quote.sku] = [quote]
        else:
            found.setdefault(quote.sku, []).append(quote)
    return {sku: tuple(sorted(own, key=lambda quote: quote.length_m or 0.0)) for sku, own in found.items()}


def quote_of(quotes: Sequence[QuotedPrice], length_m: float) -> QuotedPrice | None:
    """Return the quote of a cable: of its length, else of the next longer one; None where none is as long."""
    return next((quote for quote in quotes if quote.length_m is None or quote.length_m >= length_m), None)


def mean_quote(quotes: Sequence[QuotedPrice], lengths: Sequence[tuple[float, int]]) -> QuotedPrice | None:
    """Return what one unit of a line costs: the quote of the part, or the mean of its lengths' quotes by their number.

    None where a length has no quote, so that the line keeps its other price.

    Args:
        quotes: of the part.
        lengths: metres and number of the line's cables; empty for what has no length.
    """
    if not quotes or quotes[0].length_m is None:
        return quotes[0] if quotes else None
    each = [(quote_of(quotes, length), number) for length, number in lengths]
    known = [(quote, number) for quote, number in each if quote is not None]
    if not known or len(known) != len(each):
        return None
    first, total = known[0][0], sum(number for _, number in known)
    usd = sum(quote.usd * number for quote, number in known) / total
    return replace(first, usd=usd, price=usd / first.usd_per_currency)
