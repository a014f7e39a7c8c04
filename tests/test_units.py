"""Quantities: parsing at the edge, printing, and the patterns that editors check."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import units
from clusterwright.errors import UnitError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("30 days", units.DURATION, 2_592_000.0),
        ("36 months", units.DURATION, 36 * 730 * 3600.0),
        ("300e9", units.COUNT, 3e11),
        ("175B", units.COUNT, 175e9),
        ("2 trillion", units.COUNT, 2e12),
        ("10K", units.COUNT, 1e4),
        ("3y", units.DURATION, 36 * 730 * 3600.0),
        ("42 kW", units.POWER, 42_000.0),
        ("0.08 USD/kWh", units.ENERGY_PRICE, 0.08),
        ("80 USD/MWh", units.ENERGY_PRICE, 0.08),
        ("80 GB", units.BYTES, 80e9),
        ("80 GiB", units.BYTES, 80 * 2**30),
        ("400 Gb/s", units.BANDWIDTH, 50e9),
        ("3.35 TB/s", units.BANDWIDTH, 3.35e12),
        ("989.4 TFLOP/s", units.FLOP_RATE, 989.4e12),
        ("80 %", units.FRACTION, 0.8),
        ("1,000", units.COUNT, 1000.0),
        ("$2M", units.MONEY, 2e6),
        ("$2,500,000", units.MONEY, 2.5e6),
        ("1.5 million USD", units.MONEY, 1.5e6),
        ("250k USD", units.MONEY, 250e3),
        (300e9, units.COUNT, 3e11),
    ],
)
def test_quantities_are_read_into_si(text: str | float, kind: units.Kind, value: float) -> None:
    """A quantity as people write it becomes its SI value."""
    assert units.parse(text, kind) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("30", units.DURATION, "has no unit"),
        ("30 dayz", units.DURATION, "did you mean 'day'"),
        ("30 kW", units.DURATION, "is a unit of power"),
        ("soon", units.DURATION, "is not a duration"),
        ("", units.COUNT, "is not a count"),
        ("400 gb/s", units.BANDWIDTH, "did you mean"),
        ("$x", units.MONEY, "is not an amount of money"),
        ("$2 USD", units.MONEY, "is not an amount of money"),
        ("2000000", units.MONEY, "needs one of USD, kUSD, MUSD"),
        ("1e3e3", units.COUNT, "not a unit of count"),
    ],
)
def test_wrong_quantities_say_what_fits(text: str, kind: units.Kind, says: str) -> None:
    """An unreadable number, a missing, misspelt or foreign unit is named, with what would fit."""
    with pytest.raises(UnitError, match=says):
        units.parse(text, kind)


def test_bits_and_bytes_are_told_apart() -> None:
    """400 Gb/s is an eighth of 400 GB/s, and a GiB is 7.4 % more than a GB."""
    assert units.parse("400 Gb/s", units.BANDWIDTH) * 8 == units.parse("400 GB/s", units.BANDWIDTH)
    assert units.parse("1 GiB", units.BYTES) / units.parse("1 GB", units.BYTES) == pytest.approx(1.073741824)


def test_unknown_is_printed_as_unknown() -> None:
    """None never prints as zero."""
    assert units.text(None, units.POWER) == "unknown"


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (10_200.0, units.POWER, "10.2 kW"),
        (80e9, units.BYTES, "80.0 GB"),
        (0.0, units.BYTES, "0 B"),
        (989.4e12, units.FLOP_RATE, "989 TFLOP/s"),
    ],
)
def test_values_print_with_a_prefix(value: float, kind: units.Kind, text: str) -> None:
    """Values print with the largest prefix that keeps them at or above one."""
    assert units.text(value, kind) == text


@given(
    kind=st.sampled_from(units.KINDS),
    number=st.floats(min_value=0, max_value=1e12, allow_nan=False),
    data=st.data(),
)
def test_the_editor_accepts_exactly_what_the_parser_accepts(
    kind: units.Kind, number: float, data: st.DataObject
) -> None:
    """The JSON Schema pattern matches every text that parses, and refuses foreign units."""
    unit = data.draw(st.sampled_from(sorted({unit for every in units.KINDS for unit in every.factors})))
    text = f"{number!r} {unit}".strip()
    matches = re.search(units.pattern(kind), text) is not None
    assert matches == (unit in kind.factors)
    if matches:
        assert units.parse(text, kind) == pytest.approx(number * kind.factors[unit])


def test_percentages_are_written_by_one_function() -> None:
    """No other place formats a share, so that all have the same space before the sign."""
    sources = Path(units.__file__).parent.rglob("*.py")
    by_hand = re.compile(r":[+,]*\.\d%\}|\{[^{}]*\b100\b[^{}]*\} ?%")
    assert [path for path in sources if by_hand.search(path.read_text(encoding="utf-8"))] == []
