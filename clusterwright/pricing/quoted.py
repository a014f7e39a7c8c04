"""What a vendor quoted for a part, or the user knows of it: it takes the place of any other price of the part."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotedPrice:
    """A vendor's or the user's own price of one part.

    Attributes:
        sku: price key of the part; unit: that the price is for, such as `each`.
        usd: price of one unit in USD; price, currency: as quoted.
        usd_per_currency, rate_on: exchange rate and its day (ISO 8601); 1 and empty for USD.
        vendor, quoted_on: who, and on which day (ISO 8601); lead_time_weeks: None if not given.
        file, line: where it is.
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
