"""What prices rest on: how old they are, and which of them no document gives."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.errors import Finding
from clusterwright.plan.record import Option, Plan
from clusterwright.tco.terms.records import PricedLine
from clusterwright.units import SECONDS_PER_DAY

#: The rule's id: it speaks of the data of prices, not of anything that is wrong with a blueprint.
OLD_PRICES = "TCO002"
#: This many of the oldest prices are named; the bill of the report has the day of every price.
_NAMED = 4


def age_days(line: PricedLine, as_of: dt.date) -> int | None:
    """Return the days from the last time that a line's document showed its price to a day; None without a document."""
    return None if line.last_seen is None else (as_of - line.last_seen).days


def old_prices(options: Sequence[Option], *, as_of: dt.date, max_age_s: float) -> list[Finding]:
    """Return a warning (`TCO002`) if documented prices or quotes were last seen too long before a day, else nothing.

    What is assumed or given in the blueprint is marked as such already, and has no document that could be old.

    Args:
        options: with their priced bills.
        as_of: the day whose prices hold.
        max_age_s: age up to which a price is taken without a word.
    """
    limit_days = max_age_s / SECONDS_PER_DAY
    ages = {
        line.line.sku: age
        for option in options
        for line in option.money.lines
        if (age := age_days(line, as_of)) is not None and age > limit_days
    }
    if not ages:
        return []
    oldest = sorted(ages.items(), key=lambda entry: (-entry[1], entry[0]))
    named = ", ".join(f"{sku} ({age:,} days)" for sku, age in oldest[:_NAMED])
    more = f" and {len(oldest) - _NAMED} more" if len(oldest) > _NAMED else ""
    newest_days, oldest_days = min(ages.values()), max(ages.values())
    span = f"{oldest_days:,}" if newest_days == oldest_days else f"{newest_days:,} to {oldest_days:,}"
    return [
        Finding(
            id=OLD_PRICES,
            path=("economics", "max_price_age"),
            message=(f"{len(oldest)} documented {'price is' if len(oldest) == 1 else 'prices are'} {span} days old"),
            help=(
                f"last seen more than {limit_days:,.0f} days before {as_of}: {named}{more}; ask for quotes, fetch "
                "newer prices (clusterwright prices --help) or raise economics.max_price_age if you trust them"
            ),
        )
    ]


ASSUMED, DOCUMENTED = "assumed", "documented"
_ONCE, _HOURLY = "once", "hourly"


@dataclass(frozen=True, kw_only=True, slots=True)
class CostedLine:
    """A line of an option's bill, with about what it costs over the horizon."""

    option: Option
    line: PricedLine
    horizon_usd: float


def assumed_prices(plan: Plan, options: Sequence[Option] | None = None) -> tuple[CostedLine, ...]:
    """Return the assumed prices of every option of a plan, or of some, those that cost most first."""
    return _of_basis(plan, plan.options if options is None else options, ASSUMED)


def documented_prices(plan: Plan) -> tuple[CostedLine, ...]:
    """Return the documented prices of every option, those that cost most first."""
    return _of_basis(plan, plan.options, DOCUMENTED)


def _of_basis(plan: Plan, options: Sequence[Option], basis: str) -> tuple[CostedLine, ...]:
    found = [
        CostedLine(option=option, line=line, horizon_usd=_horizon_usd(plan, option, line))
        for option in options
        for line in option.money.lines
        if line.basis == basis
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.horizon_usd, entry.line.line.sku, entry.option.target)))


def _horizon_usd(plan: Plan, option: Option, line: PricedLine) -> float:
    usd = line.usd_per_period or 0.0
    if line.line.charge == _ONCE:
        return usd
    months = plan.economics.horizon_months * (option.money.busy_fraction if line.line.scales_with == "nodes" else 1.0)
    return usd * months * (plan.economics.hours_per_month if line.line.charge == _HOURLY else 1.0)
