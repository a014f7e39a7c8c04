"""Quantities as people write them: parsed once, at the edge, into SI floats, and printed back.

Decimal prefixes are powers of 1,000 (`GB` is 1e9 bytes); binary ones are powers of 1,024 (`GiB` is 2**30 bytes).
The two are never mixed. Units are case-sensitive where case carries meaning (`Gb/s` is bits, `GB/s` is bytes).
"""

import datetime as dt
import re
from dataclasses import dataclass
from difflib import get_close_matches

from clusterwright.errors import InputError, UnitError

HOURS_PER_MONTH = 730.0
HOURS_PER_YEAR = 8760.0
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 86400.0
HOURS_PER_DAY = 24.0

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of quantity.

    Attributes:
        name: name in messages.
        base: unit of the parsed values.
        factors: every accepted unit with its factor to the base unit.
        example: a valid quantity, for messages.
        usual: units to list in a message; empty lists all.
        sign: stands for the base unit in front of a number, which may then be a count: `$2M`.
    """

    name: str
    base: str
    factors: dict[str, float]
    example: str
    usual: tuple[str, ...] = ()
    sign: str = ""


def _prefixed(unit: str, prefixes: dict[str, float], scale: float = 1.0) -> dict[str, float]:
    return {prefix + unit: factor * scale for prefix, factor in prefixes.items()}


_BYTES = _prefixed("B", _DECIMAL) | _prefixed("B", _BINARY)
_BITS_PER_S = _prefixed("b/s", _DECIMAL, 1 / 8)
_DAY = SECONDS_PER_DAY
_MS_PER_S = 1e3
_DURATIONS = {
    "ms": 1e-3,
    "s": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": _DAY,
    "day": _DAY,
    "days": _DAY,
    "week": 7 * _DAY,
    "weeks": 7 * _DAY,
    "month": HOURS_PER_MONTH * 3600.0,
    "months": HOURS_PER_MONTH * 3600.0,
    "y": HOURS_PER_YEAR * 3600.0,
    "yr": HOURS_PER_YEAR * 3600.0,
    "year": HOURS_PER_YEAR * 3600.0,
    "years": HOURS_PER_YEAR * 3600.0,
}

_COUNTS = {
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "B": 1e9,
    "T": 1e12,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
}

COUNT = Kind(name="count", base="", factors=_COUNTS, example="300e9")
FRACTION = Kind(name="fraction", base="", factors={"": 1.0, "%": 0.01}, example="80 %")
BYTES = Kind(name="size", base="B", factors=_BYTES, example="80 GB", usual=("GB", "TB", "GiB", "TiB"))
BANDWIDTH = Kind(
    name="bandwidth",
    base="B/s",
    factors={f"{unit}/s": factor for unit, factor in _BYTES.items()} | _BITS_PER_S,
    example="400 Gb/s",
    usual=("Gb/s", "GB/s", "GiB/s"),
)
FLOP_RATE = Kind(
    name="FLOP rate",
    base="FLOP/s",
    factors=_prefixed("FLOP/s", _DECIMAL) | _prefixed("FLOPS", _DECIMAL),
    example="989.5 TFLOP/s",
)
OP_RATE = Kind(
    name="integer operation rate",
    base="OP/s",
    factors=_prefixed("OP/s", _DECIMAL) | _prefixed("OPS", _DECIMAL),
    example="1979 TOP/s",
)
DURATION = Kind(
    name="duration",
    base="s",
    factors=_DURATIONS,
    example="30 days",
    usual=("minutes", "hours", "days", "weeks", "months", "years"),
)
POWER = Kind(name="power", base="W", factors={"W": 1.0, "kW": 1e3, "MW": 1e6}, example="42 kW")
ENERGY_PRICE = Kind(
    name="energy price", base="USD/kWh", factors={"USD/kWh": 1.0, "USD/MWh": 1e-3}, example="0.08 USD/kWh"
)
LENGTH = Kind(name="length", base="m", factors={"m": 1.0, "mm": 1e-3, "cm": 1e-2}, example="3 m")
MASS = Kind(name="mass", base="kg", factors={"kg": 1.0, "t": 1e3, "lb": 0.45359237}, example="130 kg")
FLOOR_LOAD = Kind(
    name="floor load",
    base="kg/m2",
    # A pound per square foot is 0.45359237 kg over (0.3048 m)^2.
    factors={"kg/m2": 1.0, "kg/m²": 1.0, "t/m2": 1e3, "lb/ft2": 0.45359237 / 0.3048**2},
    example="1500 kg/m2",
)
CURRENT = Kind(name="current", base="A", factors={"A": 1.0}, example="60 A")
APPARENT_POWER = Kind(name="apparent power", base="VA", factors={"VA": 1.0, "kVA": 1e3, "MVA": 1e6}, example="500 kVA")
RACK_UNITS = Kind(name="rack height", base="U", factors={"U": 1.0, "RU": 1.0}, example="48 U")
MONEY = Kind(
    name="amount of money",
    base="USD",
    factors=_prefixed("USD", {"": 1.0, "k": 1e3, "M": 1e6, "k ": 1e3, "M ": 1e6})
    | _prefixed("USD", {f"{word} ": _COUNTS[word] for word in ("thousand", "million", "billion")}),
    example="250000 USD",
    usual=("USD", "kUSD", "MUSD"),
    sign="$",
)
AIRFLOW = Kind(name="airflow", base="CFM", factors={"CFM": 1.0}, example="1105 CFM")

#: Every kind of quantity; the catalogue's loader finds the kind of a field by the suffix of its name.
KINDS = (
    COUNT,
    FRACTION,
    BYTES,
    BANDWIDTH,
    FLOP_RATE,
    OP_RATE,
    DURATION,
    POWER,
    ENERGY_PRICE,
    LENGTH,
    MASS,
    RACK_UNITS,
    MONEY,
    AIRFLOW,
    FLOOR_LOAD,
    CURRENT,
    APPARENT_POWER,
)

_NUMBER = r"[+-]?(?:\d[\d,_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
#: Spaces around a quantity, as patterns have them.
_AROUND = (r"^\s*", r"\s*$")
_QUANTITY = re.compile(rf"^\s*({_NUMBER})\s*(\S.*?)?\s*$")


def parse(text: str | float, kind: Kind) -> float:
    """Read a quantity such as `30 days` or `400 Gb/s`.

    Args:
        text: a number and a unit of `kind`; a bare number is accepted only where the kind has an empty unit (counts,
            fractions).
        kind: kind of the quantity.

    Returns:
        The value in `kind.base`.

    Raises:
        UnitError: no number, an unknown unit, or a unit of another kind; the message names the accepted units.
    """
    given = str(text).strip()
    signed = bool(kind.sign) and given.startswith(kind.sign)
    match = _QUANTITY.match(given.removeprefix(kind.sign) if signed else given)
    if signed and match is not None and (match[2] or "") in COUNT.factors:
        return parse(given.removeprefix(kind.sign), COUNT)
    if signed or match is None:
        raise UnitError(f"{text!r} is not {named(kind)}", help=f"write a number and a unit, for example {kind.example}")
    unit = match[2] or ""
    if unit not in kind.factors:
        raise UnitError(_wrong_unit(str(text), unit, kind), help=f"for example {kind.example}")
    value = float(match[1].replace(",", "").replace("_", ""))
    return value * kind.factors[unit]


def named(kind: Kind) -> str:
    """Return the kind's name with its article.

    >>> named(MONEY), named(BYTES)
    ('an amount of money', 'a size')
    """
    return f"{'an' if kind.name[0] in 'aeiou' else 'a'} {kind.name}"


def _wrong_unit(text: str, unit: str, kind: Kind) -> str:
    known = [name for name in kind.factors if name]
    if not unit:
        return f"{text!r} has no unit; {named(kind)} needs one of {', '.join(kind.usual or known)}"
    other = next((candidate.name for candidate in KINDS if candidate is not kind and unit in candidate.factors), None)
    if other is not None:
        return f"{unit!r} is a unit of {other}, not of {kind.name}"
    folded = {name.casefold(): name for name in known}
    close = get_close_matches(unit.casefold(), folded, n=1)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    return f"{unit!r} is not a unit of {kind.name}{hint}"


def pattern(kind: Kind) -> str:
    """Return a regular expression (ECMA 262, the dialect of JSON Schema) that accepts what `parse` accepts."""
    units = "|".join(
        re.escape(name).replace(r"\/", "/").replace(r"\ ", " ")
        for name in sorted(kind.factors, key=len, reverse=True)
        if name
    )
    tail = rf"\s*({units})" + ("?" if "" in kind.factors else "")
    found = rf"{_NUMBER}{tail}"
    if kind.sign:
        amount = pattern(COUNT).removeprefix(_AROUND[0]).removesuffix(_AROUND[1])
        found = rf"(?:{found}|{re.escape(kind.sign)}\s*{amount})"
    return f"{_AROUND[0]}{found}{_AROUND[1]}"


def text(value: float | None, kind: Kind, *, digits: int = 3) -> str:
    """Return a value as text, with the largest prefix that keeps it at or above one; `unknown` for None.

    Args:
        value: value in `kind.base`, or None.
        kind: kind of the quantity.
        digits: number of significant digits.
    """
    if value is None:
        return "unknown"
    if kind is BYTES or kind is BANDWIDTH or kind is FLOP_RATE or kind is POWER:
        for prefix in ("E", "P", "T", "G", "M", "k"):
            if abs(value) >= _DECIMAL[prefix]:
                return f"{_significant(value / _DECIMAL[prefix], digits)} {prefix}{kind.base}"
    return f"{_significant(value, digits)} {kind.base}".rstrip()


def percent(share: float | None, *, digits: int | None = 0, signed: bool = False) -> str:
    """Return a share (0 to 1) as percent with a space before the sign, as in SI; `unknown` for None.

    Args:
        share: fraction of the whole.
        digits: digits after the point; None for at most four significant digits.
        signed: whether a positive share has a plus sign.

    >>> percent(0.414), percent(-0.0125, digits=1, signed=True), percent(12.5), percent(None)
    ('41 %', '-1.2 %', '1,250 %', 'unknown')
    >>> percent(0.02, digits=None), percent(0.0725, digits=None), percent(1 / 3, digits=None)
    ('2 %', '7.25 %', '33.33 %')
    """
    if share is None:
        return "unknown"
    return f"{100 * share:{'+' if signed else ''},{'.4g' if digits is None else f'.{digits}f'}} %"


#: Ends of nouns whose plural has a vowel more.
_HISSING = ("ch", "sh", "s", "x")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> counted(1, "row"), counted(1200, "rack"), counted(2, "switch")
    ('1 row', '1,200 racks', '2 switches')
    """
    plural = "es" if noun.endswith(_HISSING) else "s"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}{plural}"


def days_text(days: float) -> str:
    """Return days as text, without decimals where they are whole.

    >>> days_text(30.0), days_text(1.0), days_text(27.94)
    ('30 days', '1 day', '27.9 days')
    """
    return _counted(days, "day")


def _counted(amount: float, unit: str) -> str:
    number = f"{amount:.0f}" if abs(amount - round(amount)) < 1e-9 else f"{amount:.1f}"  # noqa: PLR2004 - noise
    return f"{number} {unit}{'' if number == '1' else 's'}"


def duration_text(days: float) -> str:
    """Return days as text, in hours where they are less than one.

    >>> duration_text(0.1), duration_text(1 / 24), duration_text(27.94)
    ('2.4 hours', '1 hour', '27.9 days')
    """
    return _counted(days * HOURS_PER_DAY, "hour") if days < 1 else days_text(days)


def latency_text(seconds: float) -> str:
    """Return a latency in words.

    >>> latency_text(1.234), latency_text(0.0287), latency_text(0.9997), latency_text(4358.0)
    ('1.23 s', '28.7 ms', '1 s', '4,360 s')
    """
    # What three digits of milliseconds would round up to a thousand of them is a second.
    milliseconds = float(f"{seconds * _MS_PER_S:.3g}")
    if milliseconds < _MS_PER_S:
        return f"{milliseconds:g} ms"
    # Three digits of 1,000 s and more alone would be written as a power of ten.
    return f"{float(f'{seconds:.3g}'):,g} s"


def _significant(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, digits - whole)}f}"


def day_of(text: str) -> dt.date:
    """Return the date that an ISO 8601 text names.

    Raises:
        InputError: the text is not a date.
    """
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is not a day", help="write it as 2026-10-01") from None
