"""The cost workbook recalculated by LibreOffice: a second program, with the rules written a second time, agrees."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from clusterwright.outputs.workbook import workbook_xlsx
from clusterwright.plan.record import Plan
from clusterwright.plan.recount import ledger
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.engine import Ledger
from clusterwright.tco.records import CandidateCost

pytestmark = pytest.mark.engine

CENT = 0.005
FIRST_MONTH = 11
RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""

Recalculate = Callable[[Workbook, Path], Workbook]


@pytest.fixture(scope="module")
def recalculate(require_engine: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Recalculate:
    """Return a function that saves a workbook without cached values and has LibreOffice calculate it."""
    require_engine("soffice")

    def run(book: Workbook, folder: Path) -> Workbook:
        profile = tmp_path_factory.mktemp("profile")
        (profile / "user").mkdir()
        (profile / "user" / "registrymodifications.xcu").write_text(RECALCULATE, encoding="utf-8")
        book.save(folder / "tco.xlsx")
        made = folder / "calculated"
        subprocess.run(
            [
                "soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", "xlsx",
                "--outdir", str(made), str(folder / "tco.xlsx"),
            ],
            capture_output=True, check=True, timeout=180,
        )  # fmt: skip
        return openpyxl.load_workbook(made / "tco.xlsx", data_only=True)

    return run


@pytest.fixture
def written(shipped_plan: Plan, tmp_path: Path) -> Workbook:
    """Return the shipped workbook's formulas; saved by openpyxl they have no cached values any more."""
    path = tmp_path / "shipped.xlsx"
    path.write_bytes(workbook_xlsx(shipped_plan))
    return openpyxl.load_workbook(path)


@pytest.fixture(scope="module")
def counted(shipped_plan: Plan) -> Ledger:
    """Return the engine's ledger of the shipped plan."""
    return ledger(shipped_plan, PriceBook.open())


def again(counted: Ledger, **changes: object) -> tuple[CandidateCost, ...]:
    """Run the engine with other economic values."""
    return Ledger(counted.candidates, replace(counted.economics, **changes), PriceBook.open()).costs()  # type: ignore[arg-type]


def agree(book: Workbook, costs: Sequence[CandidateCost]) -> None:
    """Check every figure of the summary to the cent, and the totals of the cash sheets."""
    for row, cost in enumerate(costs, start=5):
        shown = [book["Summary"].cell(row, at).value for at in range(5, 10)]
        wanted = [cost.run_usd, cost.horizon_usd, cost.npv_usd, cost.capex_usd, cost.usd_per_gpu_hour]
        assert shown == pytest.approx(wanted, abs=CENT), cost.key
        assert sum(column(book, cost.key, "total")) == pytest.approx(cost.horizon_usd, abs=CENT)
        assert sum(column(book, cost.key, "present value")) == pytest.approx(cost.npv_usd, abs=CENT)


def column(book: Workbook, key: str, title: str) -> list[float]:
    """Return a column of a cash sheet, by month."""
    sheet = book[f"Cash {key}"]
    at = [cell.value for cell in sheet[FIRST_MONTH - 1]].index(title) + 1
    rows = sheet.iter_rows(min_row=FIRST_MONTH, min_col=at, max_col=at, values_only=True)
    return [float(value) for (value,) in rows if isinstance(value, int | float)]


def set_input(book: Workbook, name: str, value: float) -> None:
    """Change a named input."""
    sheet, cell = book.defined_names[name].attr_text.split("!")
    book[sheet][cell.replace("$", "")] = value


def test_libreoffice_finds_the_engines_figures(
    recalculate: Recalculate, written: Workbook, shipped_plan: Plan, counted: Ledger, tmp_path: Path
) -> None:
    """Summary and cash sheets agree to the cent, and every cached value is what the formula gives."""
    calculated = recalculate(written, tmp_path)
    costs = counted.costs()
    for option, cost in zip(shipped_plan.options, costs, strict=True):
        assert (option.run_usd, option.horizon_usd, option.capex_usd) == pytest.approx(
            (cost.run_usd, cost.horizon_usd, cost.capex_usd), rel=1e-12
        )
    agree(calculated, costs)
    cached = openpyxl.load_workbook(tmp_path / "shipped.xlsx", data_only=True)
    compared = 0
    for sheet in written:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    place = f"{sheet.title}!{cell.coordinate}"
                    wanted = cached[sheet.title][cell.coordinate].value
                    assert calculated[sheet.title][cell.coordinate].value == pytest.approx(wanted, abs=CENT), place
                    compared += 1
    assert compared > 1000


def test_months_agree_with_the_cash_flow(
    recalculate: Recalculate, written: Workbook, shipped_plan: Plan, counted: Ledger, tmp_path: Path
) -> None:
    """Each month's total, and the running sum before resale, are the engine's."""
    calculated = recalculate(written, tmp_path)
    for option in shipped_plan.options:
        months: dict[float, float] = {}
        for row in counted.cash_flow_rows(option.target):
            months[row.month] = months.get(row.month, 0.0) + row.usd
        totals = column(calculated, option.target, "total")
        assert totals == pytest.approx([months.get(float(index), 0.0) for index in range(len(totals))], abs=CENT)
        running = [point.usd for point in counted.cumulative() if point.key == option.target]
        assert column(calculated, option.target, "cumulative before resale") == pytest.approx(running, abs=CENT)


def test_other_inputs_give_the_engines_other_figures(
    recalculate: Recalculate, written: Workbook, counted: Ledger, tmp_path: Path
) -> None:
    """With other utilisation, power price, resale and discount rate both programs find the same new figures."""
    changes = {"utilisation": 0.55, "power_price_usd_per_kwh": 0.21, "discount_rate": 0.11, "resale_fraction": 0.17}
    for name, value in changes.items():
        set_input(written, name, value)
    costs = again(
        counted,
        utilisation=changes["utilisation"],
        power_price_usd_per_kwh=changes["power_price_usd_per_kwh"],
        discount_rate=changes["discount_rate"],
        overrides=(("resale_fraction", changes["resale_fraction"]),),
    )
    before = counted.costs()
    assert all(abs((new.horizon_usd or 0) - (old.horizon_usd or 0)) > 1 for new, old in zip(costs, before, strict=True))
    agree(recalculate(written, tmp_path), costs)


def test_another_unit_price_gives_the_engines_other_figures(
    recalculate: Recalculate, written: Workbook, shipped_plan: Plan, counted: Ledger, tmp_path: Path
) -> None:
    """A quote typed into the bill moves the totals as the engine says."""
    option = shipped_plan.option("onprem")
    assert option is not None
    sku = option.lines[0].line.sku
    quote = (option.lines[0].unit_usd or 0.0) * 0.83
    rows = [line for other in shipped_plan.options for line in other.lines]
    for row, line in enumerate(rows, start=2):
        if line.line.sku == sku:
            written["Bill"].cell(row, 8).value = quote
    costs = again(counted, overrides=((sku, quote),))
    assert costs != counted.costs()
    agree(recalculate(written, tmp_path), costs)


def test_a_shorter_horizon_and_one_that_is_too_long(
    recalculate: Recalculate, written: Workbook, shipped_plan: Plan, counted: Ledger, tmp_path: Path
) -> None:
    """Two thirds of the months give the engine's figures, a part of a month too; more months than rows give none."""
    resale = next(entry.value for entry in shipped_plan.parameters if entry.key == "resale_fraction")
    months = shipped_plan.economics.horizon_months * 2 / 3 + 0.5
    set_input(written, "horizon_months", months)
    agree(
        recalculate(written, tmp_path),
        again(counted, horizon_months=months, overrides=(("resale_fraction", resale),)),
    )
    set_input(written, "horizon_months", shipped_plan.economics.horizon_months + 12)
    (tmp_path / "long").mkdir()
    longer = recalculate(written, tmp_path / "long")
    assert [longer["Summary"].cell(5, at).value for at in (5, 6, 7)] == ["unknown"] * 3


def test_the_check_sees_a_wrong_formula(
    recalculate: Recalculate, written: Workbook, counted: Ledger, tmp_path: Path
) -> None:
    """A cell that is replaced by a constant makes the comparison fail: it does not read the cached values."""
    written["Cash onprem"].cell(FIRST_MONTH + 1, 3).value = 1000.0
    with pytest.raises(AssertionError):
        agree(recalculate(written, tmp_path), counted.costs())


def test_commitments_are_paid_whether_used_or_not(recalculate: Recalculate, shipped_plan: Plan, tmp_path: Path) -> None:
    """With the nodes of one target under a commitment both programs find the same figures."""
    committed = replace(shipped_plan.options[0], term="reserved_3y")
    plan = replace(shipped_plan, options=(committed, *shipped_plan.options[1:]))
    money_of = ledger(plan, PriceBook.open())
    cost = money_of.costs()[0]
    assert cost.run_usd is not None
    assert cost.run_usd != shipped_plan.options[0].run_usd
    option = replace(committed, lines=cost.lines, run_usd=cost.run_usd, horizon_usd=cost.horizon_usd)
    (tmp_path / "committed.xlsx").write_bytes(workbook_xlsx(replace(plan, options=(option, *plan.options[1:]))))
    book = recalculate(openpyxl.load_workbook(tmp_path / "committed.xlsx"), tmp_path)
    agree(book, money_of.costs())
    assert min(column(book, option.target, "rent committed")[1:]) > 0
