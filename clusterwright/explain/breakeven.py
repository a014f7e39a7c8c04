"""Explanation of the breakeven: the two months between which the owner's cash falls to the renter's."""

from collections.abc import Mapping

from clusterwright.explain.records import Explanation, Input, exact
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Breakeven
from clusterwright.units import percent

_RULE = "month before + months between × (owned - rented before) / (owned - rented before - (owned - rented after))"
_NEVER = "owned - rented at the end of the horizon: more is paid for owning in every month"


def breakeven_numbers(plan: Plan, option: Option, counted: Ledger, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return when owning becomes cheaper: than this target, or of an owned target than each rented one.

    The first is called `breakeven`, the others `breakeven/` and the rented target.
    """
    pairs = [entry for entry in plan.breakevens if option.target in (entry.owned_key, entry.rented_key)]
    rents = {entry.target: entry.money.horizon_usd for entry in plan.options if entry.money.horizon_usd is not None}
    pairs.sort(key=lambda entry: (rents.get(entry.rented_key, float("inf")), entry.rented_key))
    paid: dict[str, dict[float, float]] = {}
    for point in counted.cumulative() if pairs else ():
        paid.setdefault(point.key, {})[point.month] = point.usd
    known = [pair for pair in pairs if pair.owned_key in paid and pair.rented_key in paid]
    return tuple(
        _explanation(pair, f"breakeven/{pair.rented_key}" if place else "breakeven", paid, money)
        for place, pair in enumerate(known)
    )


def _explanation(
    pair: Breakeven, number: str, paid: Mapping[str, Mapping[float, float]], money: MoneyFormat
) -> Explanation:
    """Return one pair's breakeven; `paid` is the cash paid so far, by key and month."""
    owned, rented = paid[pair.owned_key], paid[pair.rented_key]
    months = sorted(owned.keys() & rented.keys())
    above = [month for month in months if owned[month] > rented[month]]
    # Prices that have changed since the plan was made may have moved it beyond the horizon.
    never = pair.months is None or (above and above[-1] == months[-1])
    shown = [months[-1]] if never else [above[-1], months[months.index(above[-1]) + 1]] if above else [0.0]
    gaps = [owned[month] - rented[month] for month in shown]
    if never:
        first, second, gap = (exact(usd, money) for usd in (owned[shown[0]], rented[shown[0]], gaps[0]))
        rule, line = _NEVER, f"{first} - {second} = {gap} {money.code}"
    elif above:
        before, after = (exact(gap, money) for gap in gaps)
        rule = _RULE
        first, second = (f"{month:g}" for month in shown)
        line = f"{first} + ({second} - {first}) × {before} / ({before} - ({after})) = {pair.months:.4f} months"
    else:
        rule, line = "owning costs no more from the start", "0 = 0 months"
    return Explanation(
        number=number,
        title=f"months until {pair.owned_key} has cost less than {pair.rented_key}, resale left out",
        value="not within the horizon" if never else _months(pair.months),
        equation=(rule, line),
        inputs=(
            *(
                Input(
                    name=f"{key}, month {month:g}",
                    value=f"{exact(of_key[month], money)} {money.code}",
                    source="cash paid so far, tco/sql/cumulative.sql",
                )
                for month in shown
                for key, of_key in ((pair.owned_key, owned), (pair.rented_key, rented))
            ),
            *(
                Input(
                    name=f"owned - rented, month {month:g}",
                    value=f"{exact(gap, money)} {money.code}",
                    source="difference of the two",
                )
                for month, gap in zip(shown, gaps, strict=True)
            ),
            Input(
                name="breakeven, every assumption cheap", value=_months(pair.months_low), source="tco/assumptions.csv"
            ),
            Input(
                name="breakeven, every assumption dear", value=_months(pair.months_high), source="tco/assumptions.csv"
            ),
            Input(
                name="utilisation above which owning costs less",
                value="none up to 100 %" if pair.utilisation is None else percent(pair.utilisation),
                source="tco/sql/breakeven_utilisation.sql",
            ),
        ),
        sources=("tco/sql/breakeven_month.sql; clusterwright docs money",),
    )


def _months(months: float | None) -> str:
    return "not within the horizon" if months is None else f"{months:.1f} months"
