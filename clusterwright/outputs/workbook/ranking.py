"""The sheet Ranking: every way that can be the answer, and apart from it what is cheaper on paper, with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.cash import CashSheet
from clusterwright.outputs.workbook.formula import Figure
from clusterwright.outputs.workbook.page import Page
from clusterwright.outputs.workbook.shared import Workbook, option_of
from clusterwright.outputs.workbook.units import unit_column
from clusterwright.plan.record import Alternative, WorkUnit
from clusterwright.plan.text.ranking import NONE, RANKED, answers_text, paper_title, paper_ways, rule_text
from clusterwright.plan.text.words import capital, term_text

_FIRST = 4
#: Which of the columns are cash of a unit of work, and its share.
_CASH, _SHARE = 3, 4


@dataclass(frozen=True, kw_only=True, slots=True)
class _Live:
    """Cells of other sheets: cash of the plan's options by target; figures of every option and its units by key."""

    work: Workbook
    sheets: Mapping[str, CashSheet]
    options: Mapping[str, Mapping[str, Figure]]
    units: Mapping[str, Mapping[str, Figure]]

    def figures(self, way: Alternative) -> dict[int, Figure]:
        """Return the cells that hold a way's figures, by column; none where its cash has amounts without a formula."""
        flows = self.work.flows.get(way.key)
        if flows is None or way.key not in self.options or way.key in self.work.not_live:
            return {}
        shown = self.options[way.key]
        found = {2: flows.days, 5: shown["horizon"], 6: shown["npv"]}
        if way.key in self.units:
            found[_CASH if way.run_share_usd is None else _SHARE] = self.units[way.key][
                unit_column(self.work.plan.workload.unit)
            ]
        option = option_of(self.work.plan, flows.cost)
        if option is not None and option.target in self.sheets:
            found[7] = self.sheets[option.target].capex_figure()
        return found


def write_ranking(
    work: Workbook,
    sheets: Mapping[str, CashSheet],
    options: Mapping[str, Mapping[str, Figure]],
    units: Mapping[str, Mapping[str, Figure]],
) -> None:
    """Write the sheet: figures that other sheets hold as formulas, all others in italics as numbers of the engine.

    Args:
        work: the workbook.
        sheets: cash of the plan's options, by target.
        options: cells of the sheet Options, by key and name.
        units: cells of the sheet Unit costs, by key and name.
    """
    page, plan = work.page("Ranking"), work.plan
    live = _Live(work=work, sheets=sheets, options=options, units=units)
    page.title("Every way to do the work", f"{capital(rule_text(plan))}.")
    page.text(
        _FIRST - 2, 0,
        f"Live from Options and Unit costs. In italics: the engine's numbers as of {plan.as_of}; they follow no input, "
        "nor do the order of the rows, what is ranked, and the answers.",
        "note",
    )  # fmt: skip
    columns = _columns(plan.workload.unit)
    page.widths(40, 10, 11, rest=18, columns=len(columns) + 2)
    page.head(_FIRST - 1, (RANKED, *columns, "answer for"))
    row = _FIRST
    for way in plan.ranked:
        _figures(page, row, way, live.figures(way))
        page.text(row, len(columns) + 1, answers_text(plan, way.key))
        row += 1
    paper = paper_ways(plan)
    if not paper:
        return
    row += 2
    page.head(row - 1, (paper_title(plan), *columns, "why"))
    for way in paper:
        _figures(page, row, way, live.figures(way))
        page.text(row, len(columns) + 1, way.reason)
        row += 1


def _columns(unit: WorkUnit) -> tuple[str, ...]:
    return (
        "nodes", f"days of {unit.each}", f"{unit.asked}, USD", f"share of {unit.each}, USD", "horizon, USD",
        "present value, USD", "buy now, USD",
    )  # fmt: skip


def _figures(page: Page, row: int, way: Alternative, live: Mapping[int, Figure]) -> None:
    page.text(row, 0, term_text(way.key))
    page.number(row, 1, way.nodes, "count")
    amounts = (way.calendar_days, way.run_usd, way.run_share_usd, way.horizon_usd, way.npv_usd, way.capex_usd)
    for column, amount in enumerate(amounts, start=2):
        if column in live:
            page.put(row, column, live[column], "days" if column == 2 else "usd")  # noqa: PLR2004 - the first is of time
        elif amount is None:
            page.text(row, column, NONE if column in (_CASH, _SHARE) else "unknown", "text_right")
        else:
            page.number(row, column, amount, "engine")
