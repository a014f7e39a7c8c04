"""Amounts of money as text, in the currency that they are shown in."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.plan.currency import Currency

_MILLION = 1e6
#: Significant digits of what is estimated, and amounts below which they are written with cents.
_DIGITS = 3
_WITH_CENTS = 100.0
#: Signs that belong to one currency alone stand for its code.
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MoneyFormat:
    """How amounts of USD are written for people: in which currency, with how many digits.

    Attributes:
        currency: what they are shown in, None for USD.
    """

    currency: Currency | None = None

    @property
    def code(self) -> str:
        """Code of the currency."""
        return "USD" if self.currency is None else self.currency.code

    @property
    def note(self) -> tuple[str, ...]:
        """A paragraph that says what money is shown in, with the rate, its day and its source; empty for USD."""
        shown = self.currency
        return () if shown is None else ("", f"All money in {shown.code}: {shown.text}; it is counted in USD.")

    def amount(self, usd: float) -> float:
        """Return an amount of USD in the currency."""
        return usd if self.currency is None else usd / self.currency.usd

    def text(self, usd: float | None) -> str:
        """Return USD with three significant digits: `$2.14 M`, `$12,300`, `unknown`.

        What is estimated has no more digits than that; a bill has `bill`.

        >>> USD.text(2_140_000), USD.text(12_345.4), USD.text(None), USD.text(1.5e9), USD.text(-2.5), USD.text(999_600)
        ('$2.14 M', '$12,300', 'unknown', '$1,500 M', '-$2.50', '$1.00 M')
        >>> euro = MoneyFormat(currency=Currency(code="EUR", usd=1.08, day="2026-10-16", source="ECB"))
        >>> euro.text(12_345.4), euro.text(-2_140_000)
        ('€11,400', '-€1.98 M')
        """
        if usd is None:
            return "unknown"
        amount = _significant(abs(self.amount(usd)))
        return self._signed(usd, amount, _MILLION) if amount >= _MILLION else self._signed(usd, amount)

    def bill(self, usd: float | None) -> str:
        """Return USD to the cent, for what a bill charges.

        >>> USD.bill(1_134_171.456), USD.bill(-0.5), USD.bill(None)
        ('$1,134,171.46', '-$0.50', 'unknown')
        """
        return self._with_digits(usd, 2)

    def small(self, usd: float | None) -> str:
        """Return USD with four digits, for the cost of one unit of work.

        >>> USD.small(1.72834), USD.small(None)
        ('$1.728', 'unknown')
        """
        return "unknown" if usd is None else f"{self.sign}{self.amount(usd):,.4g}"

    def column(self, amounts: Iterable[float | None]) -> list[str]:
        """Return the USD of a column with three significant digits each, in one unit, which the largest decides.

        >>> USD.column([98_090_000, 100_000_000, -147_683, None])
        ['$98.1 M', '$100 M', '-$0.148 M', 'unknown']
        >>> USD.column([1_131_455.4, 518_461]), USD.column([518_461, 2_040]), USD.column([55.04, 7])
        (['$1.13 M', '$0.518 M'], ['$518,000', '$2,040'], ['$55.00', '$7.00'])
        """
        listed = list(amounts)
        rounded = [None if usd is None else _significant(abs(self.amount(usd))) for usd in listed]
        unit = _MILLION if max((amount for amount in rounded if amount is not None), default=0.0) >= _MILLION else 1.0
        return [
            "unknown" if usd is None or amount is None else self._signed(usd, amount, unit)
            for usd, amount in zip(listed, rounded, strict=True)
        ]

    def small_column(self, amounts: Iterable[float | None]) -> list[str]:
        """Return the USD of a column of costs of one unit of work with the same decimals: three digits of the smallest.

        >>> USD.small_column([3.0691, 11.2, None]), USD.small_column([0.01234, 0.2])
        (['$3.07', '$11.20', 'unknown'], ['$0.0123', '$0.2000'])
        """
        listed = list(amounts)
        smallest = min((abs(self.amount(usd)) for usd in listed if usd), default=1.0)
        digits = max(2, 2 - math.floor(math.log10(smallest)))
        return [self._with_digits(usd, digits) for usd in listed]

    def span(self, low: float, high: float, *, between: str = " to ") -> str:
        """Return two amounts in one unit, which is said once; empty where they look the same.

        >>> USD.span(11_452_000, 22_810_000), USD.span(331_942, 740_909), USD.span(1.001, 1.002)
        ('$11.5 to 22.8 M', '$332,000 to 741,000', '')
        >>> USD.span(11_452_000, 22_810_000, between="–")
        '$11.5–22.8 M'
        """
        first, last = self.column([low, high])
        return "" if first == last else f"{first.removesuffix(' M')}{between}{last.replace(self.sign, '')}"

    def band(self, usd: float | None, low: float | None, high: float | None) -> str:
        """Return an amount with its band, or alone where it has none that three digits show.

        >>> USD.band(1_134_171, 1_049_000, 1_311_000), USD.band(5e5, 5e5, 5e5), USD.band(None, None, None)
        ('$1.13 M ($1.05 to 1.31 M)', '$500,000', 'unknown')
        """
        span = "" if usd is None or low is None or high is None else self.span(low, high)
        return f"{self.text(usd)} ({span})" if span else self.text(usd)

    def unit(self, unit: str) -> str:
        """Return a unit, such as USD/kWh, in the currency."""
        return unit.replace("USD", self.code)

    def value(self, value: float, unit: str) -> float:
        """Return a value that goes with `unit` of its unit.

        >>> euro = MoneyFormat(currency=Currency(code="EUR", usd=1.25, day="2026-10-16", source="ECB"))
        >>> euro.value(0.1, "USD/kWh"), euro.unit("USD/kWh"), euro.value(1.4, "ratio")
        (0.08, 'EUR/kWh', 1.4)
        """
        return self.amount(value) if "USD" in unit else value

    @property
    def sign(self) -> str:
        """Sign before an amount, or the code of a currency without one."""
        return _SIGNS.get(self.code, f"{self.code} ")

    def _signed(self, usd: float, amount: float, unit: float = 1.0) -> str:
        """Return a rounded amount in a unit, with the decimals that its significant digits need, at most cents."""
        number = amount / unit
        if unit == 1.0:
            digits = 2 if number < _WITH_CENTS else 0
        else:
            digits = max(0, _DIGITS - 1 - (math.floor(math.log10(number)) if number else 0))
        ending = "" if unit == 1.0 else " M"
        return f"{'-' if usd < 0 and amount else ''}{self.sign}{number:,.{digits}f}{ending}"

    def _with_digits(self, usd: float | None, digits: int) -> str:
        if usd is None:
            return "unknown"
        number = f"{abs(self.amount(usd)):,.{digits}f}"
        return f"{'-' if usd < 0 and float(number.replace(',', '')) else ''}{self.sign}{number}"


#: Money as it is counted.
USD = MoneyFormat()


def _significant(amount: float) -> float:
    """Return a positive amount rounded to three significant digits.

    >>> _significant(9_855.0), _significant(9_854.999999999998)
    (9860.0, 9860.0)
    """
    # Processors differ in the last digits of a sum: what lies halfway to them goes one way on all.
    return float(f"{float(f'{amount:.12g}'):.{_DIGITS}g}")
