"""One option's monthly cash flow as a sheet of formulas over the named inputs and the bill.

The same rules as `tco/sql`, written a second time in the spreadsheet's language on purpose: the workbook proves the
engine. Which costs an owner has is data for both (`tco/owner_costs.csv`); how they are counted is written twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.bill import ONE_TIME, Bill
from clusterwright.outputs.workbook.inputs.stages import Stages
from clusterwright.outputs.workbook.months.cash_columns import EQUIPMENT, Month, amount_of, columns_of
from clusterwright.outputs.workbook.months.engine_rows import by_class, left_to_the_engine, told
from clusterwright.outputs.workbook.writing.formula import Figure, added, either, figure, smallest, span, total, when
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Asset, Class, Rows, Workbook
from clusterwright.plan.record import Option
from clusterwright.plan.text.words import NAME_OF_TARGET

_FIRST = 10  # row of month 0, counted from zero
_FACTS = 2  # column after the facts above the table
_EXTRA = ("total", "cumulative before resale", "discount factor", "present value")
_FROM_ENGINE = "from the engine, "


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of amounts: what it is, and how a run shares in it."""

    title: str
    kind: Class
    cells: Rows
    asset: Asset = EQUIPMENT


@dataclass(frozen=True, kw_only=True, slots=True)
class CashSheet:
    """A written sheet of one option; the `*_figure` methods are the summary's references into it.

    Attributes:
        option: of the plan; columns: of amounts; totals: cells of the last columns, by title, by row.
        busy, held, running: shares of the horizon, as cells.
    """

    work: Workbook
    option: Option
    columns: tuple[Column, ...]
    totals: Mapping[str, tuple[Figure, ...]]
    busy: Figure
    held: Figure
    running: Figure
    days: Figure
    gpus: Figure

    @property
    def owned(self) -> bool:
        """Whether the option is bought, powered and staffed by its owner."""
        return self.option.cluster.it_power_w is not None

    def of(self, kind: Class) -> tuple[Figure, ...]:
        """Return the sum of the columns of a kind, by row; empty if there is none."""
        chosen = [column.cells for column in self.columns if column.kind == kind]
        return tuple(added(cells) for cells in zip(*chosen, strict=True))

    @property
    def assets(self) -> dict[Asset, Rows]:
        """What is bought by month row, by class."""
        bought = [column for column in self.columns if column.kind == "bought"]
        by_class = {column.asset: [entry.cells for entry in bought if entry.asset == column.asset] for column in bought}
        return {asset: tuple(added(cells) for cells in zip(*rows, strict=True)) for asset, rows in by_class.items()}

    def sum_figure(self, title: str) -> Figure:
        """Return the sum of a column; `unknown` where an owned cluster cannot do the work in time."""
        return self._guarded(total(span(self.totals[title])), feasible=self.owned)

    def capex_figure(self) -> Figure:
        """Return what is paid at the start for what is bought: growth and replacements come later."""
        return added([column.cells[0] for column in self.columns if column.kind == "bought"])

    def run_figure(self) -> Figure:
        """Return the cost of one run: variable costs over the runs, the rest by the run's share of hours."""
        runs = self.work.names["runs_in_horizon"]
        parts = []
        for column in self.columns:
            usd = total(span(column.cells))
            if column.kind == "used":
                parts.append(usd / runs)
            else:
                parts.append(usd * (self.running if column.kind == "standing" else self.held))
        return self._guarded(added(parts))

    def _guarded(self, counted: Figure, *, feasible: bool = False) -> Figure:
        """Return `unknown` for a horizon with more months than the sheet has rows."""
        too_long = self.work.names["horizon_months"].above(float(self.work.rows - 1))
        return when(either(too_long, self.busy.above(1 + 1e-9)) if feasible else too_long, "unknown", counted)


def write_cash(
    work: Workbook, option: Option, bill: Bill, stages: Stages | None, key: str, *, sheet: str = ""
) -> CashSheet:
    """Write the sheet of one option.

    Args:
        work: the workbook.
        option: of the plan, with known prices.
        bill: the bill's lines.
        stages: what is in each month; None where nothing grows and nothing is replaced.
        key: of the option in the comparison, whose rows the engine found.
        sheet: name of the sheet, that of the option's target without one.
    """
    page = work.page(sheet or f"Cash {option.target}")
    beside = "" if has_all(option) else ", the bill alone: charges and support are on Contracts by month"
    page.title(f"Cash flow: {NAME_OF_TARGET[option.target]}{beside}")
    page.widths(26, rest=17, columns=30)
    page.sheet.freeze_panes(_FIRST, 2)
    facts = _head(work, page, option, bill)
    months, lengths = _calendar(work, page)
    formulas = columns_of(work, option, bill, facts)
    rows = [
        [
            amount_of(work, stages, column, Month(row=row, end=months[row], length=lengths[row], busy=facts["busy"]))
            for column in formulas
        ]
        for row in range(work.rows)
    ]
    kinds = [column.kind for column in formulas]
    compared = key in work.found.rows and has_all(option)
    rest = by_class(work, key, [month.value for month in months], kinds, rows) if compared else {}
    left_to_the_engine(work, page.name, rest, {told(kind) for kind in kinds})
    if rest:
        work.not_live[key] = sum(sum(abs(usd) for usd in amounts) for amounts in rest.values())
    titles = [column.title for column in formulas] + [f"{_FROM_ENGINE}{kind}" for kind in rest]
    page.head(_FIRST - 1, ("month", "months", *titles, *_EXTRA), texts=0)
    columns: list[list[Figure]] = [[] for _ in titles]
    totals: dict[str, list[Figure]] = {title: [] for title in _EXTRA}
    for row in range(work.rows):
        at = _FIRST + row
        cells = [page.put(at, 2 + place, amount) for place, amount in enumerate(rows[row])]
        cells += [
            page.number(at, 2 + len(rows[row]) + place, usd[row], "usd") for place, usd in enumerate(rest.values())
        ]
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
        sold = added([cell for cell, kind in zip(cells, [*kinds, *rest], strict=True) if kind == "sold"])
        if stages is not None and sold.text != "0":
            # Equipment that is replaced is sold for cash that comes before the end.
            sold = when(months[row].equals(work.names["horizon_months"]), sold, 0.0)
        so_far = totals[_EXTRA[1]][-1] if row else None
        extra = _extra(page, (at, 2 + len(cells)), cells, sold, (_factor(work, months[row]), so_far))
        for title, cell in zip(_EXTRA, extra, strict=True):
            totals[title].append(cell)
    assets = [*(column.asset for column in formulas), *(EQUIPMENT for _ in rest)]
    return CashSheet(
        work=work,
        option=option,
        columns=tuple(
            Column(title=title, kind=kind, cells=tuple(cells), asset=asset)
            for title, kind, cells, asset in zip(titles, [*kinds, *rest], columns, assets, strict=True)
        ),
        totals={title: tuple(cells) for title, cells in totals.items()},
        busy=facts["busy"],
        held=facts["held"],
        running=facts["running"],
        days=facts["days"],
        gpus=facts["gpus"],
    )


def owner_cells(work: Workbook, option: Option, busy: float) -> tuple[Figure, Figure]:
    """Return the cells of an owned option's busy share of the horizon, and of its servers."""
    page = work.page(f"Cash {option.target}")
    return page.cell(5, 1, busy), page.cell(8, 1, float(option.cluster.nodes))


def has_all(option: Option) -> bool:
    """Return whether an option's sheet has all that is paid: what a cloud charges beside the bill is elsewhere."""
    money = option.money
    return not (money.charges or money.support or money.surcharges)


def _head(work: Workbook, page: Page, option: Option, bill: Bill) -> dict[str, Figure]:
    cluster = option.cluster
    names, unit = work.names, work.plan.workload.unit
    hours = names["horizon_months"] * names["hours_per_month"]
    for row, title in enumerate(
        (
            "GPUs",
            "IT power at nameplate, W",
            f"days of {unit.each}",
            "busy share of the horizon",
            f"{unit.name}'s share of hours worked",
            f"{unit.name}'s share of the horizon",
            "servers",
        ),
        start=2,
    ):
        page.text(row, 0, title)
    mean = names.get("mean_work", figure(1.0))
    days = page.number(4, 1, option.performance.calendar_days, "input")
    facts = {
        "gpus": page.number(2, 1, float(cluster.gpus), "input"),
        "it_power_w": page.number(3, 1, cluster.it_power_w or 0.0, "input"),
        "days": days,
        "busy": page.put(5, 1, names["runs_in_horizon"] / mean * days * 24.0 / hours, "number"),
        "held": page.put(6, 1, days * 24.0 / (hours * names["utilisation"] * mean), "number"),
        "running": page.put(7, 1, days * 24.0 / hours, "number"),
        "servers": page.number(8, 1, float(cluster.nodes), "input"),
        "cluster": figure(1.0),
    }
    if cluster.it_power_w is not None:
        page.text(2, _FACTS, "equipment, USD", "text")
        facts["equipment_usd"] = page.put(
            2, _FACTS + 1, bill.usd(option.target, charge="once", category=f"<>{ONE_TIME}")
        )
        facts["it_power_kw"] = facts["it_power_w"] / 1000.0
    return facts


def _calendar(work: Workbook, page: Page) -> tuple[list[Figure], list[Figure]]:
    months: list[Figure] = []
    lengths: list[Figure] = []
    for row in range(work.rows):
        months.append(page.put(_FIRST + row, 0, smallest(float(row), work.names["horizon_months"]), "number"))
        length = months[row] - months[row - 1] if row else figure(0.0)
        lengths.append(page.put(_FIRST + row, 1, length, "number"))
    return months, lengths


def _factor(work: Workbook, month: Figure) -> Figure:
    return (1.0 + work.names["discount_rate"]) ** (-month / 12.0)


def _extra(
    page: Page, place: tuple[int, int], cells: list[Figure], sold: Figure, context: tuple[Figure, Figure | None]
) -> tuple[Figure, ...]:
    """Write total, running sum, discount factor and present value of a row.

    Args:
        page: the sheet.
        place: row and first column.
        cells: the amounts.
        sold: of them, what is received at the end.
        context: the discount factor, and the running sum of the row before.
    """
    (row, column), (factor, so_far) = place, context
    usd = page.put(row, column, total(span(cells)))
    before = usd if sold.text == "0" else usd - sold
    running = page.put(row, column + 1, before if so_far is None else before + so_far)
    present = page.put(row, column + 2, factor, "number")
    return usd, running, present, page.put(row, column + 3, usd * present)
