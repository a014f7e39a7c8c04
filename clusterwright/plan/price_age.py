"""Documented prices that nobody has seen for long: one warning for all of them."""

import datetime as dt
from collections.abc import Sequence

from clusterwright.errors import Finding
from clusterwright.plan.record import Option
from clusterwright.units import SECONDS_PER_DAY

#: The rule's id: it speaks of the data of prices, not of anything that is wrong with a blueprint.
OLD_PRICES = "TCO002"
#: So many of the oldest prices are named; the bill of the report has the day of every price.
_NAMED = 4


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
        line.line.sku: age_days
        for option in options
        for line in option.lines
        if line.last_seen is not None and (age_days := (as_of - line.last_seen).days) > limit_days
    }
    if not ages:
        return []
    oldest = sorted(ages.items(), key=lambda entry: (-entry[1], entry[0]))
    named = ", ".join(f"{sku} ({age_days:,} days)" for sku, age_days in oldest[:_NAMED])
    more = len(oldest) - _NAMED
    one = len(oldest) == 1
    return [
        Finding(
            id=OLD_PRICES,
            path=("economics", "max_price_age"),
            message=(
                f"{len(oldest)} documented price{'' if one else 's'} {'was' if one else 'were'} last seen more than "
                f"{limit_days:,.0f} days before {as_of}: {named}" + (f" and {more} more" if more > 0 else "")
            ),
            help=(
                "ask for quotes or fetch newer prices (clusterwright prices --help), or raise economics.max_price_age "
                "if you trust them; the cost report has the day of each"
            ),
        )
    ]
