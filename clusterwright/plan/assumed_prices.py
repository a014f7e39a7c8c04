"""Prices that no document gives, and those that one gives, the most dollars first."""

from dataclasses import dataclass

from clusterwright.plan.record import Option, Plan
from clusterwright.tco.records import PricedLine

ASSUMED, DOCUMENTED = "assumed", "documented"
_ONCE, _HOURLY = "once", "hourly"


@dataclass(frozen=True, kw_only=True, slots=True)
class CostedLine:
    """A line of an option's bill, with about what it costs over the horizon."""

    option: Option
    line: PricedLine
    horizon_usd: float


def assumed_prices(plan: Plan) -> tuple[CostedLine, ...]:
    """Return the assumed prices of every option, those that cost most first."""
    return _of_basis(plan, ASSUMED)


def documented_prices(plan: Plan) -> tuple[CostedLine, ...]:
    """Return the documented prices of every option, those that cost most first."""
    return _of_basis(plan, DOCUMENTED)


def _of_basis(plan: Plan, basis: str) -> tuple[CostedLine, ...]:
    found = [
        CostedLine(option=option, line=line, horizon_usd=_horizon_usd(plan, option, line))
        for option in plan.options
        for line in option.lines
        if line.basis == basis
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.horizon_usd, entry.line.line.sku, entry.option.target)))


def _horizon_usd(plan: Plan, option: Option, line: PricedLine) -> float:
    usd = line.usd_per_period or 0.0
    if line.line.charge == _ONCE:
        return usd
    months = plan.economics.horizon_months * (option.busy_fraction if line.line.scales_with == "nodes" else 1.0)
    return usd * months * (plan.economics.hours_per_month if line.line.charge == _HOURLY else 1.0)
