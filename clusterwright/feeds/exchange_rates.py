"""Dated exchange rates as people write them, and the numbers and days of a quote."""

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.errors import InputError

_RATE = re.compile(r"([A-Z]{3})=([0-9.eE+-]+)@(\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """What one unit of a currency cost in USD on a day (ISO 8601)."""

    usd: float
    day: str


def parse_rates(texts: Sequence[str]) -> dict[str, Rate]:
    """Return exchange rates by currency, of texts such as `EUR=1.08@2026-11-20` (USD for one EUR on that day).

    Raises:
        InputError: a text has another form, or names a currency twice.
    """
    rates: dict[str, Rate] = {}
    for text in texts:
        match = _RATE.fullmatch(text)
        usd = number(match[2]) if match else None
        if match is None or usd is None or usd <= 0 or day(match[3]) is None:
            raise InputError(
                f"{text!r} is no dated exchange rate", help="write it as --rate EUR=1.08@2026-11-20: USD for one EUR"
            )
        if match[1] in rates:
            raise InputError(f"there are two rates of {match[1]}", help="give one")
        rates[match[1]] = Rate(usd=usd, day=match[3])
    return rates


def number(text: str) -> float | None:
    """Return the finite number of a text, None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def day(text: str) -> dt.date | None:
    """Return the day of a text such as `2026-11-20`, None if it is none."""
    try:
        return dt.date.fromisoformat(text) if len(text) == len("2026-11-20") else None
    except ValueError:
        return None
