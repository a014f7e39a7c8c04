"""Formulas of finance: annuity, depreciation, fixed charge rate, levelised cost. Rates are fractions per period."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from clusterwright.assets import root
from clusterwright.errors import InputError


def capital_recovery_factor(rate: float, periods: float) -> float:
    """Return the constant payment per period that repays 1 over a number of periods.

    rate / (1 - (1 + rate)^-periods); 1 / periods at a rate of 0 (Brealey, Myers: Principles of Corporate Finance).

    Args:
        rate: interest rate per period, above -1.
        periods: number of periods, more than 0.

    Raises:
        InputError: a value is out of range.

    >>> round(capital_recovery_factor(0.08, 5), 6)
    0.250456
    >>> capital_recovery_factor(0, 4)
    0.25
    """
    if rate <= -1 or periods <= 0:
        raise InputError(
            f"there is no annuity of {periods:g} periods at a rate of {rate:g}",
            help="give more than 0 periods and a rate above -1",
        )
    if rate == 0:
        return 1.0 / periods
    growth: float = (1.0 + rate) ** -periods
    return rate / (1.0 - growth)


def loan_payment(principal_usd: float, rate_per_year: float, months: int, residual_usd: float = 0.0) -> float:
    """Return the constant monthly payment of a loan or lease in USD, at a twelfth of the nominal yearly rate.

    (principal - residual / (1 + r)^n) x CRF(r, n): the residual is still owed after the last payment.

    >>> round(loan_payment(1_000_000, 0.08, 48), 2)
    24412.92
    >>> round(loan_payment(1_000_000, 0.08, 48, 300_000), 2)
    19089.05
    """
    rate = rate_per_year / 12.0
    return (principal_usd - residual_usd * (1.0 + rate) ** -months) * capital_recovery_factor(rate, months)


def weighted_cost_of_capital(
    *, equity_fraction: float, cost_of_equity: float, cost_of_debt: float, tax_rate: float
) -> float:
    """Return the weighted average cost of capital (WACC) after tax, per year; the share of debt is 1 - equity.

    equity x cost of equity + debt x cost of debt x (1 - tax rate) (Brealey, Myers: Principles of Corporate Finance).

    >>> round(weighted_cost_of_capital(equity_fraction=0.6, cost_of_equity=0.12, cost_of_debt=0.08, tax_rate=0.25), 6)
    0.096
    """
    return equity_fraction * cost_of_equity + (1.0 - equity_fraction) * cost_of_debt * (1.0 - tax_rate)


#: Names of the MACRS methods with the mid-quarter convention.
_MID_QUARTER = re.compile(r"macrs_(3|5|7|15)_q[1-4]")


@cache
def _tables() -> Mapping[str, tuple[float, ...]]:
    tables: dict[str, tuple[float, ...]] = {}
    with (root() / "tco" / "depreciation.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            tables[row["method"]] = (*tables.get(row["method"], ()), float(row["fraction"]))
    return tables


def depreciation_fractions(method: str, *, bonus_fraction: float = 0.0) -> tuple[float, ...]:
    """Return the share of the cost that is depreciated in each year; the shares sum to 1.

    Args:
        method: `straight_line_N` over N years, or a table in `tco/depreciation.csv` such as `macrs_5`
            (half-year convention, IRS Publication 946 table A-1), or `macrs_5_q4` (mid-quarter convention, by the
            quarter of the tax year, tables A-2 to A-5 calculated by their rule).
        bonus_fraction: share depreciated at once in the first year; the method applies to the rest.

    Raises:
        InputError: there is no such method, or the bonus is not between 0 and 1.

    >>> depreciation_fractions("macrs_5")
    (0.2, 0.32, 0.192, 0.1152, 0.1152, 0.0576)
    >>> depreciation_fractions("straight_line_4")
    (0.25, 0.25, 0.25, 0.25)
    >>> depreciation_fractions("straight_line_2", bonus_fraction=0.5)
    (0.75, 0.25)
    """
    if not 0 <= bonus_fraction <= 1:
        raise InputError(f"a bonus depreciation of {bonus_fraction:g} is not a share", help="give 0 to 1")
    years = method.removeprefix("straight_line_")
    if years != method and years.isdecimal() and 0 < int(years) <= 50:  # noqa: PLR2004 - longest life of a building
        fractions: tuple[float, ...] = (1.0 / int(years),) * int(years)
    elif _MID_QUARTER.fullmatch(method):
        life, quarter = method.removeprefix("macrs_").split("_q")
        fractions = mid_quarter_fractions(int(life), int(quarter))
    elif method in _tables():
        fractions = _tables()[method]
    else:
        raise InputError(
            f"there is no depreciation method {method!r}", help=f"use straight_line_5 or one of {', '.join(_tables())}"
        )
    first, *rest = (fraction * (1.0 - bonus_fraction) for fraction in fractions)
    return (first + bonus_fraction, *rest)


def mid_quarter_fractions(life_years: int, quarter: int) -> tuple[float, ...]:
    """Return the yearly MACRS shares with the mid-quarter convention, rounded to 0.01 %; the last takes the remainder.

    Declining balance (200 %, 150 % from 15 years on) from the middle of the quarter, then straight line over the
    remaining life from the year in which that gives more (IRS Publication 946, chapter 4; tables A-2 to A-5).

    Args:
        life_years: recovery period: 3, 5, 7 or 15 years.
        quarter: quarter of the tax year in which the asset is placed in service, 1 to 4.

    >>> mid_quarter_fractions(5, 1)
    (0.35, 0.26, 0.156, 0.1101, 0.1101, 0.0138)
    >>> mid_quarter_fractions(5, 4)
    (0.05, 0.38, 0.228, 0.1368, 0.1094, 0.0958)
    """
    rate = (1.5 if life_years >= 15 else 2.0) / life_years  # noqa: PLR2004 - as in the publication
    first_year = 1.0 - (quarter - 0.5) / 4.0
    balance, shares = 1.0, list[float]()
    for year in range(life_years):
        share = first_year if year == 0 else 1.0
        remaining_life = life_years - (0.0 if year == 0 else first_year + year - 1.0)
        depreciation = max(balance * rate, balance / remaining_life) * share
        shares.append(round(depreciation, 4))
        balance -= depreciation
    return (*shares, round(1.0 - sum(shares), 4))


def present_value_of_depreciation(fractions: Sequence[float], rate: float) -> float:
    """Return the present value of depreciating 1 over the years, with each year's share at the end of the year.

    sum of fraction_t / (1 + rate)^t.

    >>> round(present_value_of_depreciation(depreciation_fractions("macrs_5"), 0.08), 6)
    0.811326
    """
    return sum(fraction / (1.0 + rate) ** year for year, fraction in enumerate(fractions, start=1))


def fixed_charge_rate(rate: float, years: float, *, tax_rate: float = 0.0, depreciation: Sequence[float] = ()) -> float:
    """Return the fixed charge rate: the share of the purchase that must be earned each year before tax to pay for it.

    CRF x (1 - tax x PV of depreciation) / (1 - tax) (Short, Packey, Holt: Manual for the Economic Evaluation of Energy
    Efficiency and Renewable Energy Technologies, NREL/TP-462-5173).

    Args:
        rate: discount rate per year, after tax.
        years: life of the purchase.
        tax_rate: tax rate on income, 0 to below 1.
        depreciation: share of the purchase depreciated in each year; required with a tax rate above 0.

    Raises:
        InputError: the tax rate is not a share below 1.

    >>> fixed_charge_rate(0.08, 5) == capital_recovery_factor(0.08, 5)
    True
    """
    if not 0 <= tax_rate < 1:
        raise InputError(f"a tax rate of {tax_rate:g} leaves nothing to pay with", help="give 0 to below 1")
    shield = tax_rate * present_value_of_depreciation(depreciation, rate)
    return capital_recovery_factor(rate, years) * (1.0 - shield) / (1.0 - tax_rate)


@dataclass(frozen=True, kw_only=True, slots=True)
class Levelisation:
    """Inputs of the levelised cost of a candidate.

    Attributes:
        fixed_charge_rate: yearly charge as a share of the purchases less the present value of their resale.
        useful_gpu_hours_per_year: GPUs x hours x utilisation x availability x goodput.
        discount_rate: yearly rate that discounts the resale to the start; None takes that of the economics.
        life_months: age at which the remaining equipment is sold; None takes the horizon.
    """

    fixed_charge_rate: float
    useful_gpu_hours_per_year: float
    discount_rate: float | None = None
    life_months: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelisedCost:
    """Levelised cost of a candidate in USD, with the two yearly amounts that it consists of."""

    fixed_charge_rate: float
    capital_usd_per_year: float
    opex_usd_per_year: float
    usd_per_useful_gpu_hour: float
