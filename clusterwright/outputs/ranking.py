"""How sure the ranking of the report is: draws of the assumptions as a table, a chart and one input at a time."""

from collections.abc import Sequence

from clusterwright.outputs.bar_chart import range_chart
from clusterwright.outputs.charts import Range
from clusterwright.outputs.report_tables import Cell, Table
from clusterwright.plan.finances import Finances, finances
from clusterwright.plan.input_words import input_words
from clusterwright.plan.record import Plan
from clusterwright.plan.words import capital, money, percent, term_text, told, told_code
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.uncertainty import SEED

#: As many as `compare --finance` takes by default, so that both print the same.
DRAWS = 10_000
_MOST_SWINGS = 8
#: An option that is right more rarely is left out of the table of wrong choices.
LEAST_RIGHT = 0.005
_MILLION = 1e6


def ranked(plan: Plan, book: PriceBook) -> Finances:
    """Return every target and term of a plan with what the draws of its assumptions make of it."""
    return finances(plan, book, draws=DRAWS, seed=SEED)


def ranking_table(found: Finances) -> Table:
    """Return one row per target and term: present value, its P10, P50, P90, how often it is cheapest, regret."""
    drawn = {entry.key: entry for entry in found.drawn}
    return Table(
        columns=("Where and how", "Present value", "P10", "P50", "P90", "Dearest tenth", "Cheapest in", "Mean regret"),
        rows=tuple(
            tuple(
                Cell(text=text)
                for text in (
                    capital(term_text(cost.key)),
                    money(cost.npv_usd),
                    money(drawn[cost.key].npv_usd_p10),
                    money(drawn[cost.key].npv_usd_p50),
                    money(drawn[cost.key].npv_usd_p90),
                    money(drawn[cost.key].npv_usd_dearest_tenth),
                    percent(drawn[cost.key].probability_cheapest) if cost.competes else "–",
                    money(drawn[cost.key].regret_usd) if cost.competes else "–",
                )
            )
            for cost in found.costs
            if cost.key in drawn
        ),
        numeric=frozenset(range(1, 8)),
    )


def after_tax_table(found: Finances) -> Table:
    """Return the same quantiles after tax, cheapest first; empty where no tax is counted."""
    ordered = sorted(found.drawn, key=lambda entry: (entry.npv_after_tax_usd_p50 or 0.0, entry.key))
    return Table(
        columns=("After tax", "P10", "P50", "P90", "Dearest tenth", "Cheapest in", "Mean regret"),
        rows=tuple(
            tuple(
                Cell(text=text)
                for text in (
                    capital(term_text(entry.key)),
                    money(entry.npv_after_tax_usd_p10),
                    money(entry.npv_after_tax_usd_p50),
                    money(entry.npv_after_tax_usd_p90),
                    money(entry.npv_after_tax_usd_dearest_tenth),
                    percent(entry.probability_cheapest_after_tax),
                    money(entry.regret_after_tax_usd),
                )
            )
            for entry in (ordered if found.taxed.tax_rate else [])
        ),
        numeric=frozenset(range(1, 7)),
    )


def wrong_choice_table(found: Finances) -> Table:
    """Return what a choice (rows) costs more where another one is right (columns); empty where one always is."""
    right = {entry.right_key: entry.probability for entry in found.regrets if entry.probability >= LEAST_RIGHT}
    ordered = sorted(right, key=lambda key: (-right[key], key)) if len(right) > 1 else []
    regret = {(entry.key, entry.right_key): entry.regret_usd for entry in found.regrets}
    return Table(
        columns=("Chosen", *(f"{capital(term_text(key))} is right ({percent(right[key])})" for key in ordered)),
        rows=tuple(
            (
                Cell(text=capital(term_text(key))),
                *(Cell(text="–" if key == other else money(regret[key, other])) for other in ordered),
            )
            for key in ordered
        ),
        numeric=frozenset(range(1, len(ordered) + 1)),
    )


def tornado_chart(found: Finances) -> str:
    """Return what owning saves with one input at its P10 or P90, in million USD, widest first; empty if nothing is."""
    swings = [entry for entry in found.swings if entry.width_usd][:_MOST_SWINGS]
    if not swings or found.base_saving_usd is None:
        return ""
    return range_chart(
        title="What moves the saving of owning",
        ranges=[_range(entry.key, (entry.saving_usd_low, entry.saving_usd_high)) for entry in swings],
        base=told(found.base_saving_usd) / _MILLION,
        unit=f"million {told_code()} saved by owning, present value",
    )


def _range(key: str, savings_usd: Sequence[float]) -> Range:
    """Return the range of one input; the lower saving stands at the left, whichever end of the input it comes from."""
    (low, low_end), (high, high_end) = sorted(zip(savings_usd, ("P10", "P90"), strict=True))
    return Range(
        label=input_words(key),
        low=told(low) / _MILLION,
        high=told(high) / _MILLION,
        low_text=f"{low_end}: {money(low)}",
        high_text=f"{high_end}: {money(high)}",
    )
