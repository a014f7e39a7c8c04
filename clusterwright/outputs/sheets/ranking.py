"""The sheet Ranking: every way that can be the answer, and apart from it what is cheaper on paper, with the reason."""

from clusterwright.outputs.sheets.page import Page
from clusterwright.outputs.sheets.shared import Workbook
from clusterwright.plan.ranking_text import NONE, RANKED, RULE, answers_text, paper_title, paper_ways
from clusterwright.plan.record import Alternative
from clusterwright.plan.words import term_text

_FIRST = 4
_COLUMNS = (
    "nodes", "days of a run", "this run, USD", "share of a run, USD", "horizon, USD", "present value, USD",
    "buy now, USD",
)  # fmt: skip


def write_ranking(work: Workbook) -> None:
    """Write the sheet, in numbers of the engine: which way is planned how follows no input of the workbook."""
    page, plan = work.page("Ranking"), work.plan
    page.title("Every way to do the work", f"{RULE[:1].upper()}{RULE[1:]}. Numbers of the engine as of {plan.as_of}.")
    page.widths(40, 10, 11, rest=18, columns=len(_COLUMNS) + 2)
    page.head(_FIRST - 1, (RANKED, *_COLUMNS, "answer for"))
    row = _FIRST
    for way in plan.ranked:
        _figures(page, row, way)
        page.text(row, len(_COLUMNS) + 1, answers_text(plan, way.key))
        row += 1
    paper = paper_ways(plan)
    if not paper:
        return
    row += 2
    page.head(row - 1, (paper_title(plan), *_COLUMNS, "why"))
    for way in paper:
        _figures(page, row, way)
        page.text(row, len(_COLUMNS) + 1, way.reason)
        row += 1


def _figures(page: Page, row: int, way: Alternative) -> None:
    page.text(row, 0, term_text(way.key))
    page.number(row, 1, way.nodes, "count")
    page.number(row, 2, way.calendar_days, "days")
    amounts = (way.run_usd, way.run_share_usd, way.horizon_usd, way.npv_usd, way.capex_usd)
    for column, usd in enumerate(amounts, start=3):
        if usd is None:
            page.text(row, column, NONE if column <= 4 else "unknown", "text_right")  # noqa: PLR2004 - cash and share
        else:
            page.number(row, column, usd, "usd")
