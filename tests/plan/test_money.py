"""Money of tables has three significant digits, that of a bill has cents."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.text.money import USD

_USD = st.floats(-1e10, 1e10, allow_subnormal=False).filter(lambda usd: usd == 0 or abs(usd) >= 1)


def _value(text: str) -> float:
    number = float(re.sub(r"[^0-9.-]", "", text))
    return number * 1e6 if text.endswith(" M") else number


@given(_USD)
def test_no_table_says_more_than_three_digits(usd: float) -> None:
    """Whatever the amount, all digits after the third are zeros, and what is said is within half of the last."""
    for text in (USD.text(usd), *USD.column([usd])):
        digits = re.sub(r"[^0-9]", "", text).lstrip("0")
        assert set(digits[3:]) <= {"0"}, text
        assert abs(_value(text) - usd) <= 0.0051 * abs(usd) + 1e-9, text


@given(st.lists(_USD, min_size=1, max_size=5))
def test_a_column_is_in_one_unit(amounts: list[float]) -> None:
    """Either all amounts are in millions or none is."""
    assert len({text.endswith(" M") for text in USD.column(amounts)}) == 1


@given(_USD)
def test_a_bill_has_cents(usd: float) -> None:
    """To the cent."""
    assert abs(_value(USD.bill(usd)) - usd) <= 0.005 + 1e-6


def test_a_span_that_three_digits_do_not_show_is_none() -> None:
    """A band of 24 dollars on a million is no band."""
    assert not USD.span(1_134_166, 1_134_190)
    assert USD.span(1_046_444, 1_310_513) == "$1.05 to 1.31 M"
