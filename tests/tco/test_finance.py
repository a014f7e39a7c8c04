"""Formulas of finance against golden constants and numpy-financial."""

import math

import numpy_financial
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.tco.formulas.finance import (
    capital_recovery_factor,
    depreciation_fractions,
    fixed_charge_rate,
    loan_payment,
    present_value_of_depreciation,
)
from clusterwright.tco.formulas.returns import internal_rates, payback_month, present_value

GOLDEN = {
    0.06: (0.852624, 0.842473, 0.374110, 0.288591, 0.237396, 0.203363),
    0.08: (0.811326, 0.798542, 0.388034, 0.301921, 0.250456, 0.216315),
    0.10: (0.773260, 0.758157, 0.402115, 0.315471, 0.263797, 0.229607),
    0.12: (0.738096, 0.720955, 0.416349, 0.329234, 0.277410, 0.243226),
}


@pytest.mark.parametrize(("rate", "constants"), GOLDEN.items())
def test_golden_constants(rate: float, constants: tuple[float, ...]) -> None:
    """Present values of depreciation and capital recovery factors equal the tables to six digits."""
    found = (
        present_value_of_depreciation(depreciation_fractions("macrs_5"), rate),
        present_value_of_depreciation(depreciation_fractions("straight_line_5"), rate),
        *(capital_recovery_factor(rate, years) for years in (3, 4, 5, 6)),
    )
    assert [round(value, 6) for value in found] == list(constants)


@pytest.mark.parametrize("method", ["macrs_3", "macrs_5", "macrs_7", "macrs_15", "straight_line_1", "straight_line_6"])
def test_depreciation_sums_to_the_purchase(method: str) -> None:
    """Whatever the method and the bonus, all of the purchase is written off, and never less than nothing."""
    for bonus in (0.0, 0.4, 1.0):
        fractions = depreciation_fractions(method, bonus_fraction=bonus)
        assert math.fsum(fractions) == pytest.approx(1.0, abs=1e-12)
        assert min(fractions) >= 0
    assert depreciation_fractions(method, bonus_fraction=1.0)[0] == 1.0


@pytest.mark.parametrize("method", ["straight_line_0", "straight_line_x", "straight_line_-1", "macrs_4", ""])
def test_unknown_depreciation(method: str) -> None:
    """A method that is not there is reported, with those that are."""
    with pytest.raises(InputError, match="there is no depreciation"):
        depreciation_fractions(method)


def test_wrong_values_are_reported() -> None:
    """A bonus above 1, a tax of everything and an annuity of no periods have no value."""
    with pytest.raises(InputError):
        depreciation_fractions("macrs_5", bonus_fraction=1.1)
    with pytest.raises(InputError):
        fixed_charge_rate(0.08, 5, tax_rate=1.0)
    with pytest.raises(InputError):
        capital_recovery_factor(0.08, 0)


def test_average_balance_understates() -> None:
    """The simple charge on half of the purchase is below the annuity: 0.24 against 0.250456, 0.305 against 0.322326."""
    assert capital_recovery_factor(0.08, 5) == pytest.approx(0.250456, abs=5e-7)
    assert capital_recovery_factor(0.11, 4) == pytest.approx(0.322326, abs=5e-7)


def test_loan() -> None:
    """The interest of the golden loan."""
    assert loan_payment(1e6, 0.08, 48) * 48 - 1e6 == pytest.approx(171820.27, abs=0.005)
    assert loan_payment(1200, 0.0, 12) == 100


@given(st.floats(0.001, 0.5), st.integers(1, 60), st.floats(0.0, 0.6))
def test_fixed_charge_rate_pays_for_the_purchase(rate: float, years: int, tax_rate: float) -> None:
    """Earning the charge for the whole life, after tax and tax shield, is worth exactly the purchase."""
    written_off = depreciation_fractions(f"straight_line_{min(years, 50)}")
    charge = fixed_charge_rate(rate, years, tax_rate=tax_rate, depreciation=written_off)
    earned = charge * (1 - tax_rate) / capital_recovery_factor(rate, years)
    shield = tax_rate * present_value_of_depreciation(written_off, rate)
    assert earned + shield == pytest.approx(1.0)
    assert capital_recovery_factor(rate, years) == pytest.approx(-numpy_financial.pmt(rate, years, 1.0))


_USD = st.floats(-1e6, 1e6).map(lambda usd: round(usd, 2))


@given(st.lists(_USD, min_size=1, max_size=60), st.floats(0.0, 1.0))
def test_present_value(usd: list[float], rate: float) -> None:
    """The present value of monthly flows is numpy-financial's."""
    expected = numpy_financial.npv((1 + rate) ** (1 / 12) - 1, usd)
    assert present_value(list(enumerate(usd)), rate) == pytest.approx(expected, rel=1e-9, abs=1e-4)


@given(st.floats(1.0, 1e6), st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60))
def test_internal_rate(paid: float, received: list[float]) -> None:
    """The rate of an investment with one change of sign is numpy-financial's, and makes the flows worth nothing."""
    flows = [-paid, *received]
    expected = numpy_financial.irr(flows)
    assume(math.isfinite(expected) and -0.9 < expected < 50)
    found = internal_rates(list(enumerate(flows)))
    assert found.reason == ""
    assert found.per_month == (pytest.approx(expected, rel=1e-6, abs=1e-9),)
    rate = found.per_year
    assert rate is not None
    assert present_value(list(enumerate(flows)), rate) == pytest.approx(0.0, abs=1e-6 * (paid + sum(received)))


@settings(max_examples=40)
@given(
    st.floats(1e-3, 1e9),
    st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=600),
    st.integers(0, 500),
    st.booleans(),
)
def test_internal_rate_far_away(paid: float, received: list[float], wait: int, lent: bool) -> None:
    """With one change of sign there is one rate: over decades, of cents against billions, near -100 % or far above.

    It is where the value changes its sign: a little below and a little above it the flows are worth more and less.
    """
    sign = -1.0 if lent else 1.0
    flows = [(0.0, -paid * sign), *((float(wait + month), usd * sign) for month, usd in enumerate(received, start=1))]
    found = internal_rates(flows)
    assert found.reason == ""
    (rate,) = found.per_month
    values = []
    near = 1e-6 * (1.0 + rate) + 3e-16  # a rate holds sixteen digits after the point
    for growth in (1.0 + rate - near, 1.0 + rate + near):
        anchor = flows[-1][0] if growth < 1 else 0.0
        values.append(math.fsum(usd * growth ** (anchor - month) for month, usd in flows))
    assert values[0] * sign > 0 > values[1] * sign
    expected = numpy_financial.irr([usd for _, usd in flows]) if wait == 0 and len(flows) < 60 else math.nan
    if math.isfinite(expected) and -0.999 < expected < 1e6:
        assert rate == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_several_internal_rates() -> None:
    """Flows that change sign twice have two rates, both reported, none of them as the rate."""
    found = internal_rates([(0, -100.0), (1, 230.0), (2, -132.0)])
    assert found.per_month == (pytest.approx(0.1), pytest.approx(0.2))
    assert found.per_year is None
    assert "more than once" in found.reason


@pytest.mark.parametrize("flows", [[], [(0, 0.0)], [(0, 5.0)], [(0, -1.0), (3, -2.0)]])
def test_no_internal_rate(flows: list[tuple[float, float]]) -> None:
    """Without a change of sign there is no rate."""
    found = internal_rates(flows)
    assert found.per_month == ()
    assert "never change sign" in found.reason


def test_no_rate_although_the_sign_changes() -> None:
    """1 - 2x + 2x^2 has no real root."""
    found = internal_rates([(0, 1.0), (1, -2.0), (2, 2.0)])
    assert found.per_month == ()
    assert "makes the present value 0" in found.reason


def test_payback() -> None:
    """Payback stays: money that is lost again is not back. Discounting makes it later."""
    assert payback_month([(0, -100.0), (1, 150.0), (2, -100.0), (3, 100.0)]) == 2.5
    assert payback_month([(0, 10.0), (1, 1.0)]) == 0.0
    assert payback_month([(0, -0.01), (12, 0.02)]) == 6.0, "a cent is money, what rounding leaves is none"
    assert payback_month([(0, -1e-6), (12, 0.02)]) == 0.0
    flows = [(0.0, -100.0), *((float(month), 10.0) for month in range(1, 25))]
    plain, late = payback_month(flows), payback_month(flows, 0.2)
    assert plain == pytest.approx(10.0)
    assert late is not None
    assert late > 10.5


@pytest.mark.parametrize(
    ("quarter", "printed"),
    [
        (1, (0.35, 0.26, 0.156, 0.1101, 0.1101, 0.0138)),
        (2, (0.25, 0.30, 0.18, 0.1137, 0.1137, 0.0426)),
        (3, (0.15, 0.34, 0.204, 0.1224, 0.113, 0.0706)),
        (4, (0.05, 0.38, 0.228, 0.1368, 0.1094, 0.0958)),
    ],
)
def test_mid_quarter_of_five_years(quarter: int, printed: tuple[float, ...]) -> None:
    """The rule gives the printed tables A-2 to A-5 of the five-year class."""
    assert depreciation_fractions(f"macrs_5_q{quarter}") == printed


@pytest.mark.parametrize("life", [3, 5, 7, 15])
def test_half_year_table_lies_between_the_quarters(life: int) -> None:
    """Mid-quarter shares sum to 1; the half-year table is worth less than the first quarter, more than the last."""
    worth = [
        present_value_of_depreciation(depreciation_fractions(f"macrs_{life}{end}"), 0.08)
        for end in ("_q1", "_q2", "", "_q3", "_q4")
    ]
    assert worth == sorted(worth, reverse=True)
    for quarter in range(1, 5):
        assert sum(depreciation_fractions(f"macrs_{life}_q{quarter}")) == pytest.approx(1.0)


def test_real_property_over_39_years() -> None:
    """Table A-7a, month 1: 40 shares that sum to 1."""
    fractions = depreciation_fractions("macrs_39")
    assert (len(fractions), sum(fractions)) == (40, pytest.approx(1.0))
