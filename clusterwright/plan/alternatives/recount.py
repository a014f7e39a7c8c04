"""Counting a plan's money again from its own bill, for reports: the same engine, the same prices, the same numbers."""

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache

from clusterwright import assets
from clusterwright.plan.record import Alternative, Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Candidate, CandidateCost, Economics


def ledger(plan: Plan, book: PriceBook, beside: Sequence[Candidate] = ()) -> Ledger:
    """Return the cash flow of a plan's options; keys are the targets' names.

    Args:
        plan: priced on its `as_of` day.
        book: the price book.
        beside: other ways to do as much work, which change nothing of what the options cost.
    """
    return Ledger([*(option.candidate for option in plan.options), *beside], plan.economics, book)


def ledger_of(ways: Sequence[Alternative], economics: Economics, book: PriceBook) -> Ledger:
    """Return the cash flow of ways to do a plan's work, mixes of them included.

    Where delivery takes time, what is owned only competes with it.

    Args:
        ways: of the plan's work; the parts of mixes among them.
        economics: what money is counted with.
        book: the price book.
    """
    mixes = [way.mix for way in ways if way.mix is not None]
    late = any(mix.delivery_months for mix in mixes)
    candidates = [
        replace(way.candidate, competes=way.candidate.competes and not (late and way.owned))
        for way in ways
        if way.candidate is not None
    ]
    return Ledger(candidates, economics, book, mixes).reconciled()


def known(costs: Iterable[CandidateCost]) -> tuple[CandidateCost, ...]:
    """Return the costs that are known, cheapest present value first."""
    found = [cost for cost in costs if cost.npv_usd is not None]
    return tuple(sorted(found, key=lambda cost: (cost.npv_usd or 0.0, cost.key)))


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
