"""How sure the ranking of the report is: draws of the assumptions as a table, a chart and one input at a time."""

from collections.abc import Sequence

from clusterwright.finance.finances import Finances, finances
from clusterwright.outputs.drawing.bar_chart import range_chart
from clusterwright.outputs.drawing.charts import Range
from clusterwright.outputs.page_parts import Cell, Table, by_column
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.record import Plan
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import (
    NONE,
    RANKED,
    again_text,
    cash_text,
    days_shown,
    median_of,
    paper_title,
    paper_ways,
    share_text,
    time_column,
)
from clusterwright.plan.text.words import capital, term_text
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost
from clusterwright.units import percent

#: As many as `compare --finance` takes by default, so that both print the same.
DRAWS = 10_000
_MOST_SWINGS = 8
#: An option that is right more rarely is left out of the table of wrong choices.
LEAST_RIGHT = 0.005
_MILLION = 1e6


def ranked(plan: Plan, book: PriceBook) -> Finances:
    """Return every target and term of a plan with what the draws of its assumptions make of it."""
    return finances(plan, book, draws=DRAWS, seed=SEED)


def counted(plan: Plan, found: Finances) -> Ledger:
    """Return the cash flow of a plan's options."""
    return ledger(plan, found.ledger.book)


def ranking_table(found: Finances, money: MoneyFormat) -> Table:
    """Return one row per target and term: present value, its P10, P50, P90, how often it is cheapest, regret."""
    drawn = {entry.key: entry for entry in found.drawn}
    costs = [cost for cost in found.costs if cost.key in drawn]
    mine = [drawn[cost.key] for cost in costs]
    return by_column(
        {
            "Where and how": [capital(term_text(cost.key)) for cost in costs],
            "Present value": money.column(cost.npv_usd for cost in costs),
            "P10": money.column(entry.npv_usd_p10 for entry in mine),
            "P50": money.column(entry.npv_usd_p50 for entry in mine),
            "P90": money.column(entry.npv_usd_p90 for entry in mine),
            "Dearest tenth": money.column(entry.npv_usd_dearest_tenth for entry in mine),
            "Cheapest in": [_of(cost, percent(drawn[cost.key].probability_cheapest)) for cost in costs],
            "Mean regret": list(map(_of, costs, money.column(entry.regret_usd for entry in mine))),
        }
    )


def _of(cost: CandidateCost, words: str) -> str:
    """Return words about being the cheapest, for options that may be."""
    return words if cost.competes else "–"


def after_tax_table(found: Finances, money: MoneyFormat) -> Table:
    """Return the same quantiles after tax, cheapest first; empty where no tax is counted."""
    ordered = sorted(found.drawn, key=lambda entry: (entry.npv_after_tax_usd_p50 or 0.0, entry.key))
    mine = ordered if found.taxed.tax_rate else []
    costs = {cost.key: cost for cost in found.costs}
    return by_column(
        {
            "After tax": [capital(term_text(entry.key)) for entry in mine],
            "P10": money.column(entry.npv_after_tax_usd_p10 for entry in mine),
            "P50": money.column(entry.npv_after_tax_usd_p50 for entry in mine),
            "P90": money.column(entry.npv_after_tax_usd_p90 for entry in mine),
            "Dearest tenth": money.column(entry.npv_after_tax_usd_dearest_tenth for entry in mine),
            "Cheapest in": [_of(costs[entry.key], percent(entry.probability_cheapest_after_tax)) for entry in mine],
            "Mean regret": [
                _of(costs[entry.key], words)
                for entry, words in zip(mine, money.column(entry.regret_after_tax_usd for entry in mine), strict=True)
            ],
        }
    )


def again_table(plan: Plan, money: MoneyFormat) -> Table:
    """Return every ranked way, cheapest present value first, with the overrides that make it the plan's option."""
    ways, unit = plan.ranked, plan.workload.unit
    return by_column(
        {
            RANKED: [capital(term_text(way.key)) for way in ways],
            "Nodes": [f"{way.cluster.nodes:,}" for way in ways],
            **{
                capital(title): [median_of(way, title) for way in ways] for title in days_shown(plan, time_column(ways))
            },
            capital(unit.asked): _dashed(
                money.column(way.money.run_usd for way in ways), [cash_text(way, money) for way in ways]
            ),
            f"Share of {unit.each}": _dashed(
                money.column(way.money.run_share_usd for way in ways), [share_text(way, money) for way in ways]
            ),
            "Present value": money.column(way.money.npv_usd for way in ways),
        },
        details=[again_text(way) for way in ways],
    )


def paper_table(plan: Plan, money: MoneyFormat) -> Table:
    """Return what is cheaper on paper and not ranked, cheapest first, each with the reason."""
    ways, unit = paper_ways(plan), plan.workload.unit
    return by_column(
        {
            paper_title(plan): [capital(term_text(way.key)) for way in ways],
            capital(unit.asked): _dashed(
                money.column(way.money.run_usd for way in ways), [cash_text(way, money) for way in ways]
            ),
            f"Share of {unit.each}": _dashed(
                money.column(way.money.run_share_usd for way in ways), [share_text(way, money) for way in ways]
            ),
            "Same work over the horizon": money.column(way.money.horizon_usd for way in ways),
            "Present value": money.column(way.money.npv_usd for way in ways),
            "GPU-hour": money.small_column(way.money.usd_per_gpu_hour for way in ways),
        },
        details=[way.reason for way in ways],
    )


def _dashed(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return amounts as they are written, with a dash for those that there are not."""
    return [NONE if amount == NONE else text for text, amount in zip(texts, known, strict=True)]


def wrong_choice_table(found: Finances, money: MoneyFormat) -> Table:
    """Return what a choice (rows) costs more where another one is right (columns); empty where one always is."""
    right = {entry.right_key: entry.probability for entry in found.regrets if entry.probability >= LEAST_RIGHT}
    ordered = sorted(right, key=lambda key: (-right[key], key)) if len(right) > 1 else []
    regret = {(entry.key, entry.right_key): entry.regret_usd for entry in found.regrets}
    return Table(
        columns=("Chosen", *(f"{capital(term_text(key))} is right ({percent(right[key])})" for key in ordered)),
        rows=tuple(
            (
                Cell(text=capital(term_text(key))),
                *(Cell(text="–" if key == other else _cost(regret[key, other], money)) for other in ordered),
            )
            for key in ordered
        ),
        numeric=frozenset(range(1, len(ordered) + 1)),
    )


def _cost(usd: float | None, money: MoneyFormat) -> str:
    return "cannot do it" if usd is None else money.text(usd)


def tornado_chart(found: Finances, money: MoneyFormat) -> str:
    """Return what owning saves with one input at its P10 or P90, in million USD, widest first; empty if nothing is."""
    swings = [entry for entry in found.swings if entry.width_usd][:_MOST_SWINGS]
    if not swings or found.base_saving_usd is None:
        return ""
    return range_chart(
        title="What moves the saving of owning",
        ranges=[_range(entry.key, (entry.saving_usd_low, entry.saving_usd_high), money) for entry in swings],
        base=money.amount(found.base_saving_usd) / _MILLION,
        unit=f"million {money.code} saved by owning, present value",
        more_is_gain=True,
    )


def _range(key: str, savings_usd: Sequence[float], money: MoneyFormat) -> Range:
    """Return the range of one input; the lower saving is at the left, whichever end of the input it comes from."""
    (low, low_end), (high, high_end) = sorted(zip(savings_usd, ("P10", "P90"), strict=True))
    return Range(
        label=input_words(key),
        low=money.amount(low) / _MILLION,
        high=money.amount(high) / _MILLION,
        low_text=f"{low_end}: {money.text(low)}",
        high_text=f"{high_end}: {money.text(high)}",
    )
