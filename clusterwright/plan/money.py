"""Amounts of money as text, in the currency that a block of code tells them in."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_MILLION = 1e6
_WHOLE_DOLLARS = 1e4
#: Signs that belong to one currency alone stand for its code.
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Currency:
    """What money is told in: its code, USD for one unit of it, the day of that rate, and who says so."""

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
    """Return USD as text, in the currency of `told_in`: `$2.14 M`, `$12,345`, `unknown`, `€11,431`.

    >>> money(2_140_000), money(12_345.4), money(None), money(1.5e9), money(-2.5)
    ('$2.14 M', '$12,345', 'unknown', '$1,500 M', '-$2.50')
    >>> with told_in(Currency(code="EUR", usd=1.08, day="2026-10-16", source="ECB")):
    ...     money(12_345.4), money(-2_140_000)
    ('€11,431', '-€1.98 M')
    """
    if usd is None:
        return "unknown"
    if usd < 0:
        return f"-{money(-usd)}"
    sign, amount = _sign(), told(usd)
    if amount >= _MILLION:
        digits = 2 if amount < 100 * _MILLION else 0
        return f"{sign}{amount / _MILLION:,.{digits}f} M"
    return f"{sign}{amount:,.0f}" if amount >= _WHOLE_DOLLARS else f"{sign}{amount:,.2f}"


def small_money(usd: float | None) -> str:
    """Return USD with four digits, in the currency of `told_in`, for the cost of one unit of work.

    >>> small_money(1.72834), small_money(None)
    ('$1.728', 'unknown')
    """
    return "unknown" if usd is None else f"{_sign()}{told(usd):,.4g}"


def money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column as text in one unit with the same decimals, which the largest amount decides.

    >>> money_alike([98_090_000, 100_000_000, -147_683, None])
    ['$98.09 M', '$100.00 M', '-$0.15 M', 'unknown']
    >>> money_alike([1_131_455.4, 518_461]), money_alike([55.04, 7])
    (['$1,131,455', '$518,461'], ['$55.04', '$7.00'])
    """
    listed = list(amounts)
    largest = max((abs(told(usd)) for usd in listed if usd is not None), default=0.0)
    unit, ending, digits = (
        (_MILLION, " M", 2) if largest >= 10 * _MILLION else (1.0, "", 0 if largest >= _WHOLE_DOLLARS else 2)
    )
    return [_amount(usd, digits, unit, ending) for usd in listed]


def money_span(low: float, high: float) -> str:
    """Return two amounts in one unit, which is said once; empty where they look the same.

    >>> money_span(11_452_000, 22_810_000), money_span(331_942, 740_909), money_span(1.001, 1.002)
    ('$11.45 to 22.81 M', '$331,942 to 740,909', '')
    """
    first, last = money_alike([low, high])
    return "" if first == last else f"{first.removesuffix(' M')} to {last.replace(_sign(), '')}"


def small_money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column of costs of one unit of work with the same decimals: three digits of the smallest.

    >>> small_money_alike([3.0691, 11.2, None]), small_money_alike([0.01234, 0.2])
    (['$3.07', '$11.20', 'unknown'], ['$0.0123', '$0.2000'])
    """
    listed = list(amounts)
    smallest = min((abs(told(usd)) for usd in listed if usd), default=1.0)
    digits = max(2, 2 - math.floor(math.log10(smallest)))
    return [_amount(usd, digits) for usd in listed]


def _amount(usd: float | None, digits: int, unit: float = 1.0, ending: str = "") -> str:
    if usd is None:
        return "unknown"
    number = f"{abs(told(usd)) / unit:,.{digits}f}"
    return f"{'-' if usd < 0 and float(number.replace(',', '')) else ''}{_sign()}{number}{ending}"


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
    """Return a paragraph that says what money is told in, with the rate, its day and its source; none for USD."""
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
