"""The sheets Ranking, of every way that can be the answer and what is cheaper on paper, and Options, in formulas."""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.months.by_option import sums
from clusterwright.outputs.workbook.months.cash import CashSheet
from clusterwright.outputs.workbook.results.units import unit_column
from clusterwright.outputs.workbook.writing.formula import Figure, added, either, figure, smallest, span, when
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import ALL, Flows, Workbook, option_of
from clusterwright.plan.record import Alternative, WorkUnit
from clusterwright.plan.text.ranking import NONE, RANKED, answers_text, paper_title, paper_ways, rule_text
from clusterwright.plan.text.words import capital, term_text
from clusterwright.units import percent

_FIRST = 4
#: Which of the columns are cash of a unit of work, and its share.
CASH, _SHARE = 3, 4
#: The column of the present value.
WORTH = 6


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
        found = {2: flows.days, 5: shown["horizon"], WORTH: shown["npv"]}
        if way.key in self.units:
            found[CASH if way.money.run_share_usd is None else _SHARE] = self.units[way.key][
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
) -> dict[str, dict[int, Figure]]:
    """Write the sheet: figures that other sheets hold as formulas, all others in italics as numbers of the engine.

    Returns the cells of what is known of each way, by its key and the column.

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
        _FIRST - 2,
        0,
        f"Live from Options and Unit costs. In italics: the engine's numbers as of {plan.as_of}; they follow no input, "
        "nor do the order of the rows, what is ranked, and the answers.",
        "note",
    )
    columns = _columns(plan.workload.unit)
    page.widths(40, 10, 11, rest=18, columns=len(columns) + 2)
    page.head(_FIRST - 1, (RANKED, *columns, "answer for"))
    row, cells = _FIRST, {}
    for way in plan.ranked:
        cells[way.key] = _figures(page, row, way, live.figures(way))
        page.text(row, len(columns) + 1, answers_text(plan, way.key))
        row += 1
    paper = paper_ways(plan)
    if not paper:
        return cells
    row += 2
    page.head(row - 1, (paper_title(plan), *columns, "why"))
    for way in paper:
        _figures(page, row, way, live.figures(way))
        page.text(row, len(columns) + 1, way.reason)
        row += 1
    return cells


def _columns(unit: WorkUnit) -> tuple[str, ...]:
    return (
        "nodes",
        f"days of {unit.each}",
        f"{unit.asked}, USD",
        f"share of {unit.each}, USD",
        "horizon, USD",
        "present value, USD",
        "buy now, USD",
    )


def _figures(page: Page, row: int, way: Alternative, live: Mapping[int, Figure]) -> dict[int, Figure]:
    """Write a way's row; return the cells of what is known of it, by column."""
    money, cells = way.money, {}
    page.text(row, 0, term_text(way.key))
    page.number(row, 1, way.cluster.nodes, "count")
    amounts = (
        way.performance.calendar_days,
        money.run_usd,
        money.run_share_usd,
        money.horizon_usd,
        money.npv_usd,
        money.capex_usd,
    )
    for column, amount in enumerate(amounts, start=2):
        if column in live:
            cells[column] = page.put(row, column, live[column], "days" if column == 2 else "usd")  # noqa: PLR2004 - the first is of time
        elif amount is None:
            page.text(row, column, NONE if column in (CASH, _SHARE) else "unknown", "text_right")
        else:
            cells[column] = page.number(row, column, amount, "engine")
    return cells


_FIRST_OPTION = 4
#: After the name, the GPUs and the days of a unit of work.
_COLUMNS = (
    "busy share of the horizon",
    "bought, USD",
    "running costs by use, USD",
    "other running costs, USD",
    "resale, USD",
    "horizon, USD",
    "present value, USD",
    "above the cheapest, USD",
    "cheapest in (drawn)",
)


def write_options(work: Workbook) -> dict[str, dict[str, Figure]]:
    """Write the sheet; return the cells of every option's figures, by key and name."""
    page = work.page("Options")
    economics = work.plan.economics
    page.title(
        "Every target and term with a documented price, the same work for all",
        f"Prices as of {work.plan.as_of}; {economics.horizon_months:g} months, {percent(economics.utilisation)} "
        f"utilisation, {percent(economics.discount_rate)} discount rate when written; live from the sheet Inputs.",
    )
    columns = ("where and how", "GPUs", f"days of {work.plan.workload.unit.each}", *_COLUMNS)
    page.widths(34, 10, 11, 12, rest=18, columns=len(columns))
    page.sheet.freeze_panes(_FIRST_OPTION, 1)
    page.head(_FIRST_OPTION - 1, columns)
    drawn = {entry.key: entry.probability_cheapest for entry in work.found.drawn}
    found: dict[str, dict[str, Figure]] = {}
    for row, flows in enumerate(work.flows.values(), start=_FIRST_OPTION):
        page.text(row, 0, flows.label)
        page.put(row, 1, flows.gpus, "count")
        page.put(row, 2, flows.days, "days")
        page.put(row, 3, flows.busy, "share_1")
        parts = {kind: page.put(row, 4 + place, usd) for place, (kind, usd) in enumerate(_parts(flows).items())}
        horizon = page.put(row, 8, _guarded(work, flows, added(list(parts.values()))))
        worth = page.put(row, 9, _guarded(work, flows, _present_value(work, flows)))
        if flows.key in drawn:
            page.number(row, 11, drawn[flows.key], "share")
        found[flows.key] = parts | {"horizon": horizon, "npv": worth}
    cells = [entry["npv"] for entry in found.values()]
    for row, cell in enumerate(cells, start=_FIRST_OPTION):
        page.put(row, 10, (cell - smallest(span(cells))).or_else("unknown"))
    # The plan's own cluster has a sheet of its own also where only its places are options.
    not_live = {key: usd for key, usd in work.not_live.items() if key in work.flows}
    for row, (key, usd) in enumerate(not_live.items(), start=_FIRST_OPTION + len(cells) + 1):
        page.text(
            row,
            0,
            f"{work.flows[key].label}: {usd:,.2f} USD are numbers of the engine and follow no input.",
            "note",
        )
    return found


def _parts(flows: Flows) -> dict[str, Figure]:
    parts = sums(flows)
    return {kind: parts[kind] for kind in ("bought", "used", "kept", "sold")}


def _present_value(work: Workbook, flows: Flows) -> Figure:
    return flows.worth(ALL, span(work.factors))


def _guarded(work: Workbook, flows: Flows, counted: Figure) -> Figure:
    """Return `unknown` where the sheets have too few rows, or an owned cluster cannot do the work."""
    unable = work.names["horizon_months"].above(figure(float(work.rows - 1)))
    if flows.buys_all:
        unable = either(unable, flows.busy.above(1 + 1e-9))
    return when(unable, "unknown", counted)
