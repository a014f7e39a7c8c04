"""The cost workbook: the engine's values as cached results, live formulas with named inputs, texts that stay texts."""

import io
from dataclasses import replace

import openpyxl
import pytest
from openpyxl.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from clusterwright.finance.finances import finances
from clusterwright.outputs.workbook.writing.page import FUNCTIONS, PlainWorksheet
from clusterwright.outputs.workbook.writing.shared import label_of
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Option, Plan
from clusterwright.pricing.book import PriceBook
from tests.opened import workbook_xlsx

CENT = 0.005
FIRST_MONTH = 11  # row of month 0 on the cash sheets
FIRST_OPTION = 14  # row of the first option on the summary


def opened(plan: Plan, *, values: bool = True) -> Workbook:
    """Return a plan's workbook, with cached values or with formulas."""
    return openpyxl.load_workbook(io.BytesIO(workbook_xlsx(plan)), data_only=values)


def summary_figures(option: Option) -> tuple[float | None, ...]:
    """Return the engine's figures in the order of the summary's columns E to J: a run in cash, or its share."""
    paid = option.money
    return (
        paid.run_usd,
        paid.run_share_usd,
        paid.horizon_usd,
        paid.npv_usd,
        paid.capex_usd,
        paid.usd_per_gpu_hour,
    )


def column(book: Workbook, sheet: str, title: str) -> list[float]:
    """Return a column of a cash sheet, by month."""
    titles = [cell.value for cell in book[sheet][FIRST_MONTH - 1]]
    rows = book[sheet].iter_rows(min_row=FIRST_MONTH, min_col=titles.index(title) + 1, max_col=titles.index(title) + 1)
    return [float(cell.value) for (cell,) in rows if cell.value is not None]


@pytest.fixture(scope="module")
def book(shipped_plan: Plan) -> Workbook:
    """Return the shipped plan's workbook with its cached values."""
    return opened(shipped_plan)


def test_cached_values_are_the_engines(shipped_plan: Plan, book: Workbook) -> None:
    """A preview that does not calculate shows the plan's figures."""
    for row, option in enumerate(shipped_plan.options, start=FIRST_OPTION):
        assert (
            (option.money.run_usd is None)
            == (option.money.run_share_usd is not None)
            == (option.design.facility is not None)
        )
        for at, engine in enumerate(summary_figures(option), start=5):
            shown = book["Summary"].cell(row, at).value
            assert shown == ("–" if engine is None else pytest.approx(engine, abs=CENT)), (option.target, at)
        assert book["Summary"].cell(row, 4).value == pytest.approx(option.performance.calendar_days)


def test_cash_sheets_hold_the_engines_cash_flow(shipped_plan: Plan, book: Workbook) -> None:
    """Each month's total is what the engine pays in that month, and the columns add up to it."""
    money_of = ledger(shipped_plan, PriceBook.open())
    for option in shipped_plan.options:
        sheet = f"Cash {option.target}"
        months: dict[float, float] = {}
        for row in money_of.cash_flow_rows(option.target):
            months[row.month] = months.get(row.month, 0.0) + row.usd
        totals = column(book, sheet, "total")
        assert totals == pytest.approx([months.get(float(month), 0.0) for month in range(len(totals))], abs=CENT)
        assert sum(column(book, sheet, "present value")) == pytest.approx(option.money.npv_usd, abs=CENT)


def test_everything_that_depends_on_an_input_is_a_formula(shipped_plan: Plan) -> None:
    """Totals, runs and every cash cell are formulas, and the inputs they use have names."""
    book = opened(shipped_plan, values=False)
    for row, option in enumerate(shipped_plan.options, start=FIRST_OPTION):
        for at, engine in enumerate(summary_figures(option), start=5):
            assert str(book["Summary"].cell(row, at).value).startswith("–" if engine is None else "="), at
    for option in shipped_plan.options:
        for row in book[f"Cash {option.target}"].iter_rows(min_row=FIRST_MONTH):
            assert all(str(cell.value).startswith("=") for cell in row if cell.value is not None)
    named = {"horizon_months", "utilisation", "discount_rate", "reference_days", "runs_in_horizon", "bill_usd"}
    assert named | {entry.key for entry in shipped_plan.parameters} <= set(book.defined_names)


def test_the_first_sheet_has_answer_figures_inputs_and_chart(shipped_plan: Plan) -> None:
    """Summary says the answer, has four figures that other sheets hold, yellow cells that Inputs reads, and a chart."""
    formulas, values = opened(shipped_plan, values=False), opened(shipped_plan)
    sheet, shown = formulas["Summary"], values["Summary"]
    run = shipped_plan.alternative(shipped_plan.recommended_key)
    kept = shipped_plan.alternative(shipped_plan.recommended_horizon_key)
    assert run is not None
    assert kept is not None
    assert f"{run.cluster.nodes} × {run.cluster.instance}" in shown["A2"].value
    assert f"{kept.cluster.nodes} × {kept.cluster.instance}" in shown["A3"].value
    assert [shown.cell(row, 2).value for row in (7, 8)] == pytest.approx([run.money.run_usd, kept.money.npv_usd])
    assert [shown.cell(8, at).value for at in (3, 4)] == pytest.approx(
        [kept.money.npv_usd_low, kept.money.npv_usd_high]
    )
    assert [sheet.cell(row, 2).value[:2] for row in (7, 8, 9)] == ["='"] * 3
    assert '"M"' in sheet["B7"].number_format
    rows = [row for row in sheet.iter_rows(min_row=23, max_col=3) if str(row[2].value).startswith("=")]
    typed = {row[2].value[1:]: row[1] for row in rows if "!" not in row[2].value}
    assert {"utilisation", "horizon_months", "power_price_usd_per_kwh"} <= typed.keys()
    for name, cell in typed.items():
        place = formulas.defined_names[name].attr_text.partition("!")[2].replace("$", "")
        if name != "resale_fraction":  # a formula of the age on Inputs
            assert isinstance(cell.value, int | float)
            assert formulas["Inputs"][place].value == f"='Summary'!${cell.column_letter}${cell.row}"
    assert len(sheet._charts) == 1


def test_the_first_sheet_asks_for_the_price_of_every_rented_node(shipped_plan: Plan) -> None:
    """Each rented option has a yellow price in USD per node-hour, which all its lines of nodes on Bill take."""
    formulas, values = opened(shipped_plan, values=False), opened(shipped_plan)
    sheet, bill = formulas["Summary"], formulas["Bill"]
    rows = [row for row in sheet.iter_rows(min_row=23, max_col=4) if "Bill" in str(row[2].value)]
    rented = [way for way in shipped_plan.alternatives if way.ranked and not way.owned and not way.mixed]
    assert {label_of(way.key) for way in rented} <= {row[0].value for row in rows}
    assert {f"USD per hour of {way.cluster.instance}" for way in rented} <= {row[3].value for row in rows}
    fronts = {f"='Summary'!${row[1].column_letter}${row[1].row}": row for row in rows}
    first: dict[str, str] = {}
    lines = [line for line in bill.iter_rows(min_row=2, max_col=8) if line[2].value == "compute"]
    for line in (line for line in lines if line[5].value == "hourly"):
        label, price = str(line[0].value), line[7]
        if label in first:  # the rest of a capacity block
            assert str(price.value).replace("$", "") == first[label]
            continue
        first[label] = f"={price.coordinate}"
        row = fronts.pop(price.value)
        assert row[2].value == f"='Bill'!${price.column_letter}${price.row}"
        assert row[1].value == pytest.approx(values["Bill"][price.coordinate].value)
        assert price.fill.fgColor.rgb == row[1].fill.fgColor.rgb == "FFFFF9E5"
    assert not fronts
    assert "aws/capacity_block" in first


def test_sheets_by_month_are_hidden_and_the_first_ones_have_a_page_each(shipped_plan: Plan) -> None:
    """Sheets by month stand last and hidden, each other one is linked from Summary, and the first print on one page."""
    book = opened(shipped_plan, values=False)
    hidden = [sheet.title for sheet in book if sheet.sheet_state == "hidden"]
    assert hidden == book.sheetnames[-len(hidden) :]
    assert {"Cash aws", "Cash by option", "After tax by month"} <= set(hidden)
    linked = {str(cell.value) for cell in book["Summary"]["A"] if cell.hyperlink}
    assert set(book.sheetnames) - set(hidden) - {"Summary"} <= linked
    for name in ("Summary", "Ranking", "Options", "Returns", "Breakeven"):
        assert book[name].print_area, name
        assert (book[name].page_setup.fitToWidth, book[name].page_setup.fitToHeight) == (None, None), name
    assert book["Checks"].print_title_rows == "$5:$5"


def test_texts_cannot_become_formulas(shipped_plan: Plan) -> None:
    """Names that begin like formulas stay strings on every sheet."""
    option = shipped_plan.options[0]
    hostile = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "{=1}", "https://evil.example/")
    lines = tuple(
        replace(line, line=replace(line.line, item=text, note=text), source=text, note="")
        for line, text in zip(option.money.lines, hostile, strict=False)
    )
    plan = replace(
        shipped_plan,
        name=hostile[0],
        not_counted=hostile,
        options=(
            replace(
                option,
                cluster=replace(option.cluster, instance=hostile[1]),
                money=replace(option.money, lines=(*lines, *option.money.lines[len(lines) :])),
            ),
        ),
        parameters=tuple(
            replace(entry, unit=hostile[2], reason=hostile[0], source=hostile[3]) for entry in shipped_plan.parameters
        ),
        breakevens=(),
    )
    book = opened(plan, values=False)
    cells = {
        (sheet, text): [cell for row in book[sheet] for cell in row if cell.value == text]
        for sheet, text in (
            *(("Bill", text) for text in hostile[: len(lines)]),
            ("Summary", hostile[0]),
            ("Inputs", hostile[0]),
            ("Inputs", hostile[2]),
            ("Inputs", hostile[3]),
        )
    }
    assert all(cells.values())
    assert {cell.data_type for found in cells.values() for cell in found} == {"s"}
    links = [cell.hyperlink for sheet in book for row in sheet for cell in row if cell.hyperlink]
    assert links
    assert {link.target for link in links} == {None}
    assert {link.location.rpartition("!")[0].strip("'") for link in links} <= set(book.sheetnames)


def test_unknown_prices_stay_unknown(unpriced_plan: Plan) -> None:
    """An option without a price has unknown totals, no cash sheet, and its line says that and why."""
    book = opened(unpriced_plan)
    row = FIRST_OPTION + [option.target for option in unpriced_plan.options].index("aws")
    assert [book["Summary"].cell(row, at).value for at in range(5, 11)] == ["unknown"] * 6
    assert "Cash aws" not in book.sheetnames
    option = unpriced_plan.option("aws")
    assert option is not None
    bill = {(line[0], line[1]): line for line in book["Bill"].iter_rows(min_row=2, values_only=True)}
    for missing in option.money.missing:
        line = bill["aws", missing.item]
        assert line[7] == line[8] == "unknown"
        assert missing.reason in str(line[12])


def test_the_same_plan_gives_the_same_bytes(shipped_plan: Plan) -> None:
    """A second workbook is identical: no time of day in it."""
    assert workbook_xlsx(shipped_plan) == workbook_xlsx(shipped_plan)


def test_bill_lines_of_one_name_keep_their_own_rule(shipped_plan: Plan, book: Workbook) -> None:
    """Disks of the nodes are paid while they work, the controller's always, though both have the same name."""
    option = shipped_plan.option("aws")
    assert option is not None
    hours = shipped_plan.economics.hours_per_month
    always = sum(
        (line.usd_per_period or 0.0) * (hours if line.line.charge == "hourly" else 1.0)
        for line in option.money.lines
        if line.line.scales_with != "nodes"
    )
    assert column(book, "Cash aws", "rent always")[1] == pytest.approx(always, abs=CENT)


def test_views_in_another_currency(shipped_plan: Plan) -> None:
    """Every amount of a view is what it is in USD over one rate, titles name the currency; all else stays as it is."""
    euro = Currency(code="EUR", usd=1.25, day="2026-10-01", source="ECB")
    found = finances(shipped_plan, PriceBook.open(), draws=10, seed=1)
    told, plain = (
        openpyxl.load_workbook(io.BytesIO(workbook_xlsx(shipped_plan, found, currency)), data_only=True)
        for currency in (euro, None)
    )
    assert told.sheetnames == plain.sheetnames
    divided = 0
    for sheet in plain:
        if sheet.title in ("Inputs", "Assumptions", "Checks"):  # those of the currency stand there
            continue
        pairs = zip(
            (cell for row in sheet for cell in row), (cell for row in told[sheet.title] for cell in row), strict=True
        )
        for cell, other in pairs:
            place = f"{sheet.title}!{cell.coordinate}"
            if isinstance(cell.value, str) or cell.value is None:
                assert other.value in (cell.value, str(cell.value).replace("USD", "EUR")), place
            elif other.value != cell.value:
                assert other.value * 1.25 == pytest.approx(cell.value, abs=CENT), place
                divided += 1
    assert divided > 400
    options = {row[0].value: row for row in told["Options"].iter_rows(min_row=4)}
    assert options["where and how"][8].value == "horizon, EUR"
    assert told["Bill"]["I1"].value == "USD per period"


def test_formulas_are_written_as_xlsxwriter_does() -> None:
    """Formulas of old functions stay as they are; one of a newer function still gets the prefix that Excel wants."""
    own, theirs = PlainWorksheet(), Worksheet()
    formulas = [f"={name}(A1)*2" for name in sorted(FUNCTIONS)]
    formulas += ["=1-A1", "=IF(A1,XLOOKUP(A1,B1:B9,C1:C9),0)", "=_xlfn.STDEV.S(A1:A9)", "{=SUM(A1:A2*B1:B2)}"]
    assert [own._prepare_formula(text) for text in formulas] == [theirs._prepare_formula(text) for text in formulas]
    assert "_xlfn.XLOOKUP(" in own._prepare_formula("=IF(A1,XLOOKUP(A1,B1:B9,C1:C9),0)")
