"""Every view of the workbook shows what the engine finds, for blueprints with all that the section `tco` knows."""

import dataclasses
import importlib
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.finance.finances import Finances, finances
from clusterwright.outputs.workbook.writing.formula import Span
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from tests.commitments import only_commitments
from tests.opened import workbook_xlsx

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
WHOLE = [
    "tco.tax_rate=0.21",
    "tco.depreciation=macrs_7",
    "tco.bonus_depreciation=law",
    "economics.horizon=30.5 months",
    "tco.lease={kind: finance, rate: 0 %, residual: 10 %}",
    "tco.owner={warranty: 1 year, insurance_fraction_per_year: 1 %, demand_usd_per_kw_month: 12}",
]
GROWING = [
    "tco.tax_rate=0.3",
    "tco.growth=30 %",
    "tco.refresh=18 months",
    "tco.purchase_price_change=-20 %",
    "tco.owner={building_usd_per_kw: 9000, wind_down: 2 months}",
    "tco.depreciation_of={rack: macrs_15}",
]
AT_DELIVERY = [
    "tco.tax_rate=0.3",
    "tco.delivery=6 months",
    "tco.deposit=30 %",
    "tco.hybrid=[{owned: 50 %}]",
    (
        "tco.contracts=[{target: aws, term: capacity_block, length: 4 months}, {target: aws, term: reserved_3y, "
        "payment: partial_upfront, commitment_per_year: 30 MUSD}]"
    ),
    "tco.cloud={egress: 80 TB, support: business}",
    "tco.loan={share: 50 %, rate: 0 %, term: 24 months}",
    "economics.discount_rate=0",
]


def opened(sets: list[str], changed: Callable[[Plan], Plan] = lambda plan: plan) -> tuple[Workbook, Finances]:
    """Return the workbook of the shipped blueprint with other values, and the same plan in the terms of finance."""
    plan = changed(plan_of(BLUEPRINT, sets))
    found = finances(plan, PriceBook.open(), draws=20, seed=1)
    return openpyxl.load_workbook(io.BytesIO(workbook_xlsx(plan, found)), data_only=True), found


@pytest.mark.parametrize("sets", [WHOLE, GROWING, AT_DELIVERY])
def test_every_view_shows_what_the_engine_finds(
    sets: list[str], agree_with_views: Callable[[Workbook, Finances], int]
) -> None:
    """Options, returns, taxes, P&L, financing, unit costs, heat map and checks, to the cent."""
    book, found = opened(sets)
    assert agree_with_views(book, found) > 250
    assert found.taxed.books
    assert not [row for row in book["Options"].iter_rows(values_only=True) if "numbers of the engine" in str(row[0])]


def test_figures_of_owning_are_those_of_the_cheapest_place(
    agree_with_views: Callable[[Workbook, Finances], int],
) -> None:
    """With several places Returns, heat map and tornado are about one of them, and say which."""
    book, found = opened(["tco.housing={room: {pue: 1.6}, hall: {colocation_usd_per_kw_month: 100}}"])
    assert found.owned_key == "onprem/hall"
    assert {entry.owned_key for entry in found.returns} == {"onprem/room", "onprem/hall"}
    mine = next(
        entry for entry in found.returns if (entry.owned_key, entry.rented_key) == ("onprem/hall", found.compared_with)
    )
    assert found.base_saving_usd == pytest.approx(mine.npv_usd, abs=0.005)
    assert agree_with_views(book, found) > 200
    for sheet, row in (("Returns", 1), ("Heat map", 1)):
        assert "wning (on premises, hall)" in book[sheet].cell(row, 1).value


def test_commitments_of_the_heat_map_grow_where_the_work_takes_more(
    agree_with_views: Callable[[Workbook, Finances], int],
) -> None:
    """A commitment whose hours are nearly all used takes more nodes at 1.25 times the work, as the engine finds."""
    sizes = ["targets.onprem.max_nodes=16", "targets.aws.max_nodes=36", "goals.finish_within=40 days"]
    sizes += ["targets.onprem.fabric.purchase=full-units"]
    filled = "goals.memory_confidence=50 %"
    book, found = opened(["targets.onprem.system=dgx-b300", *sizes, filled], only_commitments)
    assert found.mapped_with == "aws/reserved_3y"
    mapped = next(cost for cost in found.costs if cost.key == found.mapped_with)
    assert 1 / 1.25 < mapped.busy_fraction <= 1, "the nodes do the work at base values, and not 1.25 times as much"
    busiest = [cell.saving_usd for cell in found.heat if cell.utilisation == 1.0]
    assert min(busiest) > 1.5 * max(cell.saving_usd for cell in found.heat if cell.utilisation < 1.0)
    assert agree_with_views(book, found) > 150


def test_no_line_of_the_bill_reads_itself() -> None:
    """A contract with a provider of which only prices are known has lines of its own; none refers to itself."""
    plan = plan_of(BLUEPRINT, ["tco.contracts=[{target: coreweave, rate: 2.10 USD}]"])
    found = finances(plan, PriceBook.open(), draws=20, seed=1)
    book = openpyxl.load_workbook(io.BytesIO(workbook_xlsx(plan, found)))
    bill = book["Bill"]
    lines = [row for row in bill.iter_rows(min_row=2) if row[0].value == "coreweave/on_demand/contract"]
    assert [row[3].value for row in lines] == [64]
    sheet, _, place = lines[0][7].value.removeprefix("=").partition("!")
    assert book[sheet.strip("'")][place].value == pytest.approx(8 * 2.10)
    circles = [
        cell.coordinate
        for row in bill.iter_rows(min_row=2)
        for cell in (row[3], row[7])
        if str(cell.value) == f"={cell.coordinate}"
    ]
    assert circles == []


def test_a_view_that_is_wrong_is_seen(agree_with_views: Callable[[Workbook, Finances], int]) -> None:
    """A figure that is a dollar off, and a check that is broken, fail."""
    book, found = opened([])
    assert agree_with_views(book, found) > 250
    for sheet, place, wrong in (("Options", "I5", 1.0), ("P&L", "E7", 1.0), ("Heat map", "C5", 1.0)):
        cell = book[sheet][place]
        cell.value += wrong
        with pytest.raises(AssertionError):
            agree_with_views(book, found)
        cell.value -= wrong
    book["Checks"]["C7"].value = "BROKEN"
    with pytest.raises(AssertionError):
        agree_with_views(book, found)


def test_a_plan_with_clouds_alone_has_nothing_to_write_off(tmp_path: Path) -> None:
    """Returns, financing and heat map say that there is nothing to compare; nothing shows an error."""
    path = tmp_path / "clouds.yaml"
    text = BLUEPRINT.read_text(encoding="utf-8")
    path.write_text(text.replace("  onprem:\n    system: dgx-h100\n", ""), encoding="utf-8")
    plan = plan_of(path, None)
    assert plan.option("onprem") is None
    book = openpyxl.load_workbook(
        io.BytesIO(workbook_xlsx(plan, finances(plan, PriceBook.open(), draws=20, seed=1))), data_only=True
    )
    assert "nothing to compare" in book["Returns"]["A5"].value
    assert book["Financing"]["A4"].value == "Nothing is bought in this plan."
    shown = [cell.value for sheet in book for row in sheet for cell in row]
    assert not [value for value in shown if isinstance(value, str) and value.startswith("#")]
    assert {row[2] for row in book["Checks"].iter_rows(min_row=6, values_only=True)} == {"OK"}


@pytest.mark.parametrize(
    ("module", "name", "off"),
    [
        ("tax.sheet", "product_sum", "Tax, On premises: present value after tax"),
        ("results.ranking", "span", "Options, On premises: present value"),
        ("tax.financing", "payment", "Financing, loan: payment a month"),
        ("results.ranking", "span", "Options, AWS, on demand: present value"),
        ("months.cash", "span", "Cash aws: total"),
        ("months.cash", "span", "Cash onprem: present value"),
        ("months.cash", "total", "Summary, AWS: a run in cash or its share"),
        ("months.cash", "added", "Summary, on premises: buy now"),
        ("results.returns", "product_sum", "Returns, AWS, on demand: present value saved"),
        ("months.cash", "amount_of", "Cash aws: amounts used that its formulas do not count"),
        ("months.cash", "amount_of", "Cash onprem: amounts kept that its formulas do not count"),
        ("results.units", "span", "Unit costs, On premises: levelised, USD per useful GPU-hour"),
        ("tax.profit", "total", "P&L, On premises: running costs"),
    ],
)
def test_a_wrong_formula_of_ours_sets_the_checks_off(
    module: str, name: str, off: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A formula that gives another number than the engine, as its cached value says, is BROKEN on the sheet Checks."""
    monkeypatch.setattr(f"clusterwright.outputs.workbook.{module}.{name}", _one_percent_more(module, name))
    book, _ = opened(["tco.tax_rate=0.3", "tco.loan={share: 50 %, rate: 8 %, term: 24 months}"])
    assert f"{off}, as the engine has it" in _broken(book)


def _one_percent_more(module: str, name: str) -> Callable[..., Any]:
    """Return a function of the workbook that gives amounts larger by a hundredth."""
    right = getattr(importlib.import_module(f"clusterwright.outputs.workbook.{module}"), name)

    def wrong(*cells: Any) -> Any:  # noqa: ANN401 - figures or spans
        found = right(*cells)
        if isinstance(found, Span):
            return dataclasses.replace(found, values=tuple(float(value or 0.0) * 1.01 for value in found.values))
        return found * 1.01

    return wrong


def _broken(book: Workbook) -> list[str]:
    """Return what the sheet Checks calls broken, whose head says so too."""
    broken = [str(row[0]) for row in book["Checks"].iter_rows(min_row=6, values_only=True) if row[2] == "BROKEN"]
    assert book["Checks"]["C3"].value == ("BROKEN" if broken else "OK")
    return broken


@pytest.mark.parametrize(
    ("module", "name", "off"),
    [
        ("tax.sheet", "product_sum", "Tax, AWS, on demand: present value after tax"),
        ("months.cash", "amount_of", "Cash aws: amounts used that its formulas do not count"),
        ("months.cash", "total", "Summary, AWS: a month in cash or its share"),
        ("results.ranking", "span", "Options, On premises: present value"),
    ],
)
def test_a_wrong_formula_of_a_services_workbook_sets_the_checks_off(
    module: str, name: str, off: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is rented, owned and taxed of a service is held against the engine as it is of a run."""
    plan = _service()
    assert not _broken(openpyxl.load_workbook(io.BytesIO(workbook_xlsx(*plan)), data_only=True))
    monkeypatch.setattr(f"clusterwright.outputs.workbook.{module}.{name}", _one_percent_more(module, name))
    broken = _broken(openpyxl.load_workbook(io.BytesIO(workbook_xlsx(*plan)), data_only=True))
    assert f"{off}, as the engine has it" in broken


@cache
def _service() -> tuple[Plan, Finances]:
    plan = plan_of(assets.root() / "blueprints" / "serve-llama3-70b.yaml", ["tco.tax_rate=0.3"])
    return plan, finances(plan, PriceBook.open(), draws=20, seed=1)


def test_no_input_of_a_services_workbook_is_other_than_it_was_written() -> None:
    """Each input that Checks holds is in its cell as written; the goodput of hardware counted by the engine is none."""
    plan, found = _service()
    book = openpyxl.load_workbook(io.BytesIO(workbook_xlsx(plan, found)))
    assert "engine" in [cell.value for cell in book["Unit costs"]["B"]]
    rows = [row[4:6] for row in book["Checks"].iter_rows(min_row=6, values_only=True) if row[4] and row[5] != "formula"]
    assert len(rows) > 100
    for place, written in rows:
        sheet, cell = str(place).split("!")
        assert book[sheet][cell].value == written, place


def test_what_is_bought_now_is_not_what_growth_buys_later() -> None:
    """The summary's `buy now` of a cluster that grows is paid at the start, as the plan's option has it."""
    plan = plan_of(BLUEPRINT, ["tco.growth=30 %", "tco.refresh=18 months"])
    book = openpyxl.load_workbook(
        io.BytesIO(workbook_xlsx(plan, finances(plan, PriceBook.open(), draws=20, seed=1))), data_only=True
    )
    rows = [list(row) for row in book["Summary"].iter_rows(values_only=True)]
    titles = next(row for row in rows if row[0] == "where")
    owned = next(row for row in rows if row[0] == "on premises")
    option = plan.option("onprem")
    assert option is not None
    assert owned[titles.index("buy now, USD")] == pytest.approx(option.money.capex_usd)
    assert not _broken(book)
