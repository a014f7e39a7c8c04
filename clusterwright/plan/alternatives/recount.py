"""Counting a plan's money again from its own bill, for reports: the same engine, the same prices, the same numbers."""

import csv
import datetime as dt
from collections.abc import Collection, Sequence
from functools import cache

from clusterwright import assets
from clusterwright.plan.alternatives.contracted import charged
from clusterwright.plan.owned.cost import growth_of, parameters_of, resale_of
from clusterwright.plan.record import Plan
from clusterwright.plan.work import reference
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Candidate, Economics


def candidates_of(plan: Plan) -> list[Candidate]:
    """Return a plan's options as candidates, with charges beside the bill; keys are the targets' names."""
    day = dt.date.fromisoformat(plan.as_of)
    return [charged(candidate, plan.tco.cloud, day)[0] for candidate in _billed(plan)]


def _billed(plan: Plan) -> list[Candidate]:
    return [
        Candidate(
            key=option.target,
            target=option.target,
            bill=option.bill,
            nodes=option.nodes,
            gpus=option.gpus,
            calendar_days=option.calendar_days,
            run_time_low=1.0 if option.booked else option.calendar_days_low / option.calendar_days,
            run_time_high=1.0 if option.booked else option.calendar_days_high / option.calendar_days,
            term=None if option.target == "onprem" else option.term,
        )
        for option in plan.options
    ]


def economics_of_plan(plan: Plan, book: PriceBook) -> Economics:
    """Return what a plan's money was counted with."""
    return Economics(
        horizon_months=plan.economics.horizon_months,
        utilisation=plan.economics.utilisation,
        runs=plan.economics.runs,
        reference_days=plan.economics.reference_days or reference(_billed(plan)).calendar_days,
        discount_rate=plan.economics.discount_rate,
        hours_per_month=plan.economics.hours_per_month,
        as_of=dt.date.fromisoformat(plan.as_of),
        power_price_usd_per_kwh=plan.economics.power_price_usd_per_kwh,
        pue=plan.economics.pue,
        quotes=plan.quotes,
        given=parameters_of(
            plan.tco,
            book,
            as_of=dt.date.fromisoformat(plan.as_of),
            horizon_months=plan.economics.horizon_months,
            power_price_given=plan.economics.power_price_usd_per_kwh is not None,
        ),
        growth=growth_of(plan.tco),
        resale=resale_of(plan.tco),
    )


def ledger(plan: Plan, book: PriceBook, beside: Sequence[Candidate] = ()) -> Ledger:
    """Return the cash flow of a plan's options; keys are the targets' names.

    Args:
        plan: priced on its `as_of` day.
        book: the price book.
        beside: other ways to do as much work, which change nothing of what the options cost.
    """
    return Ledger([*candidates_of(plan), *beside], economics_of_plan(plan, book), book)


@cache
def _not_counted_rows() -> tuple[dict[str, str], ...]:
    with (assets.root() / "tco" / "not_counted.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def not_counted(*, kind: str, owned: bool, rented: bool, given: Collection[str]) -> tuple[str, ...]:
    """Return what the dollars leave out, as `item: why`, for the kinds of option that a plan has.

    Args:
        kind: of the workload; a row of its own is in the place of the row for any kind.
        owned: whether an option is owned.
        rented: whether an option is rented.
        given: parameters of the cash flow that are counted; an item that one of them counts is named by what is left of
            it, if anything is (`tco/not_counted.csv`: `counted_by`, `rest`).
    """
    wanted = {"all"} | ({"owned"} if owned else set()) | ({"rented"} if rented else set())
    own = {row["item"] for row in _not_counted_rows() if row["kind"] == kind}
    rows = [row for row in _not_counted_rows() if row["kind"] == (kind if row["item"] in own else "")]
    left = (
        (row["rest"], row["rest_applies_to"], row["why"])
        if owned and not set(given).isdisjoint(row["counted_by"].split())
        else (row["item"], row["applies_to"], row["why"])
        for row in rows
    )
    return tuple(f"{item}: {why}" for item, applies_to, why in left if applies_to in wanted)
