"""What an answer rests on: one line, or every assumption by its dollars and every omission."""

import datetime as dt

from clusterwright.cli.render.text_table import Column, prose, table
from clusterwright.plan.assumed_prices import ASSUMED, assumed_prices, documented_prices
from clusterwright.plan.price_age import age_days
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET
from clusterwright.units import percent


def caveats_line(plan: Plan, money: MoneyFormat) -> str:
    """Return how many prices are assumed and what they cost, how much is not counted, and the day of the prices."""
    assumed = assumed_prices(plan)
    values = sum(entry.basis == ASSUMED for entry in plan.parameters)
    said = []
    if assumed:
        largest = assumed[0]
        count = len({entry.line.line.sku for entry in assumed})
        said.append(
            f"{count} assumed price{'' if count == 1 else 's'}, the largest {largest.line.line.item} "
            f"({NAME_OF_TARGET[largest.option.target]}, {money.text(largest.horizon_usd)})"
        )
    if values:
        said.append(f"{values} assumed values")
    said.append(f"{len(plan.not_counted)} things not counted")
    return f"{', '.join(said)}; prices as of {plan.as_of}: plan --details"


def caveat_details(plan: Plan, money: MoneyFormat) -> list[str]:
    """Return every assumed price, the age of every documented one, assumed values, and all that is not counted."""
    lines = []
    if assumed := assumed_prices(plan):
        columns = [
            Column("Assumed price", "left"), Column("of", "left", drop=1), Column(_months(plan), drop=0),
            Column("low", drop=3), Column("high", drop=2),
        ]  # fmt: skip
        rows = []
        for entry in assumed:
            unit = entry.line.unit_usd or 0.0
            ends = (entry.line.unit_usd_low, entry.line.unit_usd_high)
            shares = ["–" if end is None or not unit else percent(end / unit - 1, signed=True) for end in ends]
            rows.append(
                [entry.line.line.item, NAME_OF_TARGET[entry.option.target], money.text(entry.horizon_usd), *shares]
            )
        lines += [table(columns, rows), ""]
    if documented := documented_prices(plan):
        columns = [
            Column("Documented price", "left"), Column("of", "left", drop=1), Column(_months(plan), drop=0),
            Column("last seen", drop=3), Column("age, days", drop=2),
        ]  # fmt: skip
        as_of = dt.date.fromisoformat(plan.as_of)
        rows = []
        for entry in documented:
            age = age_days(entry.line, as_of)
            aged = ["–", "–"] if age is None else [str(entry.line.last_seen), f"{age:,}"]
            rows.append(
                [entry.line.line.item, NAME_OF_TARGET[entry.option.target], money.text(entry.horizon_usd), *aged]
            )
        lines += [table(columns, rows), ""]
    values = [entry for entry in plan.parameters if entry.basis == ASSUMED]
    if values:
        columns = [Column("Assumed value", "left"), Column("", drop=0), Column("low"), Column("high")]
        rows = [[entry.key, *(f"{end:g}" for end in (entry.value, entry.low, entry.high))] for entry in values]
        lines += [table(columns, rows), ""]
    lines += ["  Not counted"]
    lines += [line for item in plan.not_counted for line in prose(item, indent=4, hanging=6)]
    lines += prose(
        f"Prices as of {plan.as_of}; catalogue {plan.catalogue}; day band from published runs (docs/accuracy.md)",
        indent=2,
    )
    return lines


def _months(plan: Plan) -> str:
    return f"{plan.economics.horizon_months:.0f} months"
