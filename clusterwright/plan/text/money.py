"""Amounts of money as text, in the currency that a block of code tells them in."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_MILLION = 1e6
#: Significant digits of what is estimated, and amounts below which they are written with cents.
_DIGITS = 3
_WITH_CENTS = 100.0
#: Signs that belong to one currency alone stand for its code.
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Currency:
    """What money is shown in: its code, USD for one unit of it, the day of that rate, and who says so."""

    code: str
    usd: float
    day: str
    source: str

    @property
    def text(self) -> str:
        """The rate in words."""
        return f"1 {self.code} = {self.usd:g} USD on {self.day} ({self.source})"


_TOLD_IN: ContextVar[Currency | None] = ContextVar("told_in", default=None)


@contextmanager
def told_in(currency: Currency | None) -> Iterator[None]:
    """Tell all money in a currency for the time of the block; None is USD."""
    token = _TOLD_IN.set(currency)
    try:
        yield
    finally:
        _TOLD_IN.reset(token)


def money(usd: float | None) -> str:
    """Return USD with three significant digits, in the currency of `told_in`: `$2.14 M`, `$12,300`, `unknown`.

    What is estimated has no more digits than that; a bill has `bill_money`.

    >>> money(2_140_000), money(12_345.4), money(None), money(1.5e9), money(-2.5), money(999_600)
    ('$2.14 M', '$12,300', 'unknown', '$1,500 M', '-$2.50', '$1.00 M')
    >>> with told_in(Currency(code="EUR", usd=1.08, day="2026-10-16", source="ECB")):
    ...     money(12_345.4), money(-2_140_000)
    ('€11,400', '-€1.98 M')
    """
    if usd is None:
        return "unknown"
    amount = _significant(abs(told(usd)))
    return _signed(usd, amount, _MILLION) if amount >= _MILLION else _signed(usd, amount)


def bill_money(usd: float | None) -> str:
    """Return USD to the cent, in the currency of `told_in`, for what a bill charges.

    >>> bill_money(1_134_171.456), bill_money(-0.5), bill_money(None)
    ('$1,134,171.46', '-$0.50', 'unknown')
    """
    return "unknown" if usd is None else _amount(usd, 2)


def _significant(amount: float) -> float:
    """Return a positive amount rounded to three significant digits."""
    return float(f"{amount:.{_DIGITS}g}")


def _signed(usd: float, amount: float, unit: float = 1.0) -> str:
    """Return a rounded amount in a unit, with the decimals that its significant digits need, at most cents."""
    number = amount / unit
    if unit == 1.0:
        digits = 2 if number < _WITH_CENTS else 0
    else:
        digits = max(0, _DIGITS - 1 - (math.floor(math.log10(number)) if number else 0))
    ending = "" if unit == 1.0 else " M"
    return f"{'-' if usd < 0 and amount else ''}{_sign()}{number:,.{digits}f}{ending}"


def small_money(usd: float | None) -> str:
    """Return USD with four digits, in the currency of `told_in`, for the cost of one unit of work.

    >>> small_money(1.72834), small_money(None)
    ('$1.728', 'unknown')
    """
    return "unknown" if usd is None else f"{_sign()}{told(usd):,.4g}"


def money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column with three significant digits each, in one unit, which the largest amount decides.

    >>> money_alike([98_090_000, 100_000_000, -147_683, None])
    ['$98.1 M', '$100 M', '-$0.148 M', 'unknown']
    >>> money_alike([1_131_455.4, 518_461]), money_alike([518_461, 2_040]), money_alike([55.04, 7])
    (['$1.13 M', '$0.518 M'], ['$518,000', '$2,040'], ['$55.00', '$7.00'])
    """
    listed = list(amounts)
    rounded = [None if usd is None else _significant(abs(told(usd))) for usd in listed]
    unit = _MILLION if max((amount for amount in rounded if amount is not None), default=0.0) >= _MILLION else 1.0
    return [
        "unknown" if usd is None or amount is None else _signed(usd, amount, unit)
        for usd, amount in zip(listed, rounded, strict=True)
    ]


def money_span(low: float, high: float, *, between: str = " to ") -> str:
    """Return two amounts in one unit, which is said once; empty where they look the same.

    >>> money_span(11_452_000, 22_810_000), money_span(331_942, 740_909), money_span(1.001, 1.002)
    ('$11.5 to 22.8 M', '$332,000 to 741,000', '')
    >>> money_span(11_452_000, 22_810_000, between="–")
    '$11.5–22.8 M'
    """
    first, last = money_alike([low, high])
    return "" if first == last else f"{first.removesuffix(' M')}{between}{last.replace(_sign(), '')}"


def money_band(usd: float | None, low: float | None, high: float | None) -> str:
    """Return an amount with its band, or alone where it has none that three digits show.

    >>> money_band(1_134_171, 1_049_000, 1_311_000), money_band(5e5, 5e5, 5e5), money_band(None, None, None)
    ('$1.13 M ($1.05 to 1.31 M)', '$500,000', 'unknown')
    """
    span = "" if usd is None or low is None or high is None else money_span(low, high)
    return f"{money(usd)} ({span})" if span else money(usd)


def small_money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column of costs of one unit of work with the same decimals: three digits of the smallest.

    >>> small_money_alike([3.0691, 11.2, None]), small_money_alike([0.01234, 0.2])
    (['$3.07', '$11.20', 'unknown'], ['$0.0123', '$0.2000'])
    """
    listed = list(amounts)
    smallest = min((abs(told(usd)) for usd in listed if usd), default=1.0)
    digits = max(2, 2 - math.floor(math.log10(smallest)))
    return [_amount(usd, digits) for usd in listed]


def _amount(usd: float | None, digits: int) -> str:
    if usd is None:
        return "unknown"
    number = f"{abs(told(usd)):,.{digits}f}"
    return f"{'-' if usd < 0 and float(number.replace(',', '')) else ''}{_sign()}{number}"


def currency_told() -> Currency | None:
    """Return the currency of `told_in`, None for USD."""
    return _TOLD_IN.get()


def told(usd: float) -> float:
    """Return an amount in the currency of `told_in`."""
    currency = currency_told()
    return usd if currency is None else usd / currency.usd


def told_code() -> str:
    """Return the code of the currency of `told_in`."""
    currency = currency_told()
    return "USD" if currency is None else currency.code


def told_lines() -> tuple[str, ...]:
    """Return a paragraph that says what money is shown in, with the rate, its day and its source; none for USD."""
    currency = currency_told()
    return () if currency is None else ("", f"All money in {currency.code}: {currency.text}; it is counted in USD.")


def told_unit(unit: str) -> str:
    """Return a unit, such as USD/kWh, in the currency of `told_in`."""
    return unit.replace("USD", told_code())


def told_value(value: float, unit: str) -> float:
    """Return a value that goes with `told_unit` of its unit.

    >>> with told_in(Currency(code="EUR", usd=1.25, day="2026-10-16", source="ECB")):
    ...     told_value(0.1, "USD/kWh"), told_unit("USD/kWh"), told_value(1.4, "ratio")
    (0.08, 'EUR/kWh', 1.4)
    """
    return told(value) if "USD" in unit else value


def _sign() -> str:
    return _SIGNS.get(code := told_code(), f"{code} ")
