"""The head of the sheet Summary: the answer, the four figures to sign a decision on with their bands, and the chart.

Figures are cells of Ranking and Returns, so that they follow the inputs; bands and the share of draws are the engine's.
"""

import math
from collections.abc import Mapping, Sequence

from clusterwright.outputs.report.memo import cluster_text, payback_pair, payback_text
from clusterwright.outputs.workbook.inputs.front import FIGURES, below_options
from clusterwright.outputs.workbook.results.ranking import CASH, WORTH
from clusterwright.outputs.workbook.results.views import cash_chart
from clusterwright.outputs.workbook.writing.formula import Figure, figure
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, option_of
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import capital, horizon_answer, no_unit_answer, term_text, unit_answer
from clusterwright.tco.terms.records import Breakeven

_COLUMNS = ("figure", "value", "from", "to")
_VALUE, _LOW, _HIGH, _OF = 1, 2, 3, 4
_NONE = "–"
_CHART_COLUMN, _CHART_SIZE = 5, (540, 320)


def write_figures(
    work: Workbook, ranked: Mapping[str, Mapping[int, Figure]], returns: Mapping[str, Mapping[str, Figure]]
) -> None:
    """Write the answer and the figures: cost of one unit of work, of the horizon, payback, and how sure it is.

    Args:
        work: the workbook.
        ranked: cells of the sheet Ranking, by way and column.
        returns: cells of the sheet Returns, by rented option and name.
    """
    page, plan = work.page("Summary"), work.plan
    for row, words in enumerate(_answer(plan), start=1):
        page.text(row, 0, words, "bold")
    page.text(FIGURES - 2, 0, f"Prices as of {plan.as_of}. All values are live.", "note")
    page.head(FIGURES, _COLUMNS)
    page.text(FIGURES, _OF, "of", "after")
    run, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    if run is not None and CASH in ranked.get(run.key, {}):
        usd = ranked[run.key][CASH]
        page.label(FIGURES + 1, 0, f"{capital(plan.workload.unit.asked)} in cash, USD")
        page.put(FIGURES + 1, _VALUE, usd, "headline")
        _band(page, FIGURES + 1, (run.money.run_usd_low, run.money.run_usd_high), "millions")
        page.text(FIGURES + 1, _OF, cluster_text(run), "text")
    if kept is not None and WORTH in ranked.get(kept.key, {}):
        page.label(FIGURES + 2, 0, f"Present value of {plan.economics.horizon_months:.0f} months, USD")
        page.put(FIGURES + 2, _VALUE, ranked[kept.key][WORTH], "headline")
        _band(page, FIGURES + 2, (kept.money.npv_usd_low, kept.money.npv_usd_high), "millions")
        page.text(FIGURES + 2, _OF, cluster_text(kept), "text")
    _payback(work, page, returns)
    drawn = next((entry for entry in work.found.drawn if kept is not None and entry.key == kept.key), None)
    if drawn is not None:
        page.text(FIGURES + 4, 0, "Cheapest in")
        page.number(FIGURES + 4, _VALUE, drawn.probability_cheapest, "headline_share")
        _band(page, FIGURES + 4, (None, None), "millions")
        page.text(FIGURES + 4, _OF, f"{term_text(drawn.key)}, of {work.found.draws:,} draws of the engine", "text")


def write_chart(work: Workbook, targets: Sequence[str], axis: tuple[int, int]) -> None:
    """Put the chart of cash paid so far beside the inputs.

    Args:
        work: the workbook.
        targets: of the sheet Breakeven, which has its values, in their order.
        axis: row and column of the cell there that says what they are in.
    """
    chart = cash_chart(work, targets, axis, size=_CHART_SIZE)
    work.page("Summary").sheet.insert_chart(below_options(work) + 3, _CHART_COLUMN, chart)


def _answer(plan: Plan) -> tuple[str, str]:
    """Return the answer for a unit of work and for the horizon, without the amounts that stand below it."""
    run, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    asked = plan.workload.unit.asked
    once = no_unit_answer(plan, USD) if run is None else unit_answer(plan, run, USD)[0]
    months = f"For {plan.economics.horizon_months:.0f} months"
    whole = "no way has all its prices" if kept is None else horizon_answer(plan, kept, USD)[0]
    return f"For {asked}: {once}.", f"{months}: {whole}."


def _payback(work: Workbook, page: Page, returns: Mapping[str, Mapping[str, Figure]]) -> None:
    plan, row = work.plan, FIGURES + 3
    pair = payback_pair(plan, plan.alternative(plan.recommended_key))
    if pair is None:
        return
    page.text(row, 0, "Payback of owning")
    page.put(row, _VALUE, _breakeven(work, pair, returns), "headline_month")
    if pair.months is not None:
        page.put(row, _LOW, figure(pair.months_low or 0.0), "month")
        late = Figure('"later"', "later") if pair.months_high is None else figure(pair.months_high)
        page.put(row, _HIGH, late, "month")
    page.text(row, _OF, payback_text(plan, pair) + (f": {pair.reason}" if pair.months is None else ""), "text")


def _breakeven(work: Workbook, pair: Breakeven, returns: Mapping[str, Mapping[str, Figure]]) -> Figure:
    """Return the month from which owning has cost less; the engine's where Returns is of another place."""
    engine = Figure('"never"', "never") if pair.months is None else figure(pair.months)
    for key, found in returns.items():
        option, cell = option_of(work.plan, work.flows[key].cost), found["breakeven_months"]
        if option is not None and option.target == pair.rented_key.partition("/")[0]:
            same = cell.value == engine.value or (
                isinstance(cell.value, float) and pair.months is not None and math.isclose(cell.value, pair.months)
            )
            return cell if same else engine
    return engine


def _band(page: Page, row: int, ends: tuple[float | None, float | None], style: str) -> None:
    for column, usd in zip((_LOW, _HIGH), ends, strict=True):
        if usd is None:
            page.text(row, column, _NONE, "text_right")
        else:
            page.number(row, column, usd, style)
