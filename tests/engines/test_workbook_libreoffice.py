"""The cost workbook recalculated by LibreOffice: a second program, with the rules written a second time, agrees.

Every workbook of these tests, the shipped one and those with other inputs, is calculated in one run of the program.
"""

import io
import re
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import unescape

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.finance.finances import Finances, finances
from clusterwright.outputs.workbook.checks.sheet import CHANGED
from clusterwright.outputs.workbook.writing.shared import label_of
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost
from tests.opened import workbook_xlsx
from tests.terms import recounted

pytestmark = pytest.mark.engine

CENT = 0.005
FIRST_MONTH = 11
FIRST_OPTION = 14
MONTH_S = 730 * 3600.0
BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
QUOTE = 0.83
#: What clouds quote for a node-hour, of the list price, by how Summary calls the option.
RENTED_QUOTES = {"AWS, on demand": 0.97, "AWS, capacity block": 0.98, "Google Cloud, reserved 3y": 1.04}
OTHER = {"utilisation": 0.55, "power_price_usd_per_kwh": 0.21, "discount_rate": 0.11, "resale_fraction": 0.17}
TAXED = [
    "tco.tax_rate=0.21",
    "tco.depreciation=macrs_5",
    "tco.bonus_depreciation=0.4",
    "tco.delivery=6 months",
    "tco.loan={share: 80 %, rate: 8 %, term: 48 months}",
]
LEASED = ["tco.tax_rate=0.3", "tco.lease={kind: operating, rate: 7 %, residual: 25 %}"]

#: Blueprints before and after a change of the inputs beside them, and of yellow cells, found by sheet, a text in their
#: row and column.
CONTRACTS = (
    "tco.contracts=[{{target: aws, term: reserved_3y, payment: partial_upfront, upfront: {upfront}, discount: 10 %}}, "
    "{{target: azure, term: reserved_1y, payment: all_upfront, rest: paid, discount: 5 %, discounted: all}}, "
    "{{target: coreweave, rate: 2.10 USD, commitment_per_year: {commitment}}}, "
    "{{target: aws, term: capacity_block, length: {length}}}]"
)
CLOUD = "tco.cloud={{egress: {egress}, nat: 30 TB, support: enterprise, setup: 200000 USD, goodput_loss: {loss}}}"
GROWN = [
    "tco.tax_rate=0.3",
    "tco.depreciation_of={rack: macrs_15, network: straight_line_7}",
    "economics.horizon=60 months",
    "tco.owner={building_usd_per_kw: 9000, wind_down: 2 months}",
]
LATE = ["tco.tax_rate=0.3", "tco.owner={resale_decay: {per_year: 0.35, step: 75 %, step_every: 24 months}}"]
Case = tuple[list[str], list[str], dict[str, float | str], dict[tuple[str, str, str], float]]
CASES: dict[str, Case] = {
    "contracts": (
        [
            "tco.tax_rate=0.2",
            CONTRACTS.format(upfront="50 %", commitment="20 MUSD", length="4 months"),
            CLOUD.format(egress="80 TB", loss="3 %"),
        ],
        [
            "tco.tax_rate=0.2",
            CONTRACTS.format(upfront="30 %", commitment="25 MUSD", length="5 months"),
            CLOUD.format(egress="200 TB", loss="6 %"),
            "economics.discount_rate=0.05",
            "economics.utilisation=0.75",
            "economics.horizon=35.5 months",
        ],
        {
            "discount_rate": 0.05,
            "egress_gb_per_month": 200e3,
            "goodput_loss": 0.06,
            "utilisation": 0.75,
            "horizon_months": 35.5,
        },
        {
            ("Contracts", "AWS, reserved 3y", "C"): 0.3,
            ("Contracts", "AWS, capacity block", "D"): 5.0,
            ("Contracts", "CoreWeave, on demand", "F"): 25e6,
        },
    ),
    "grown": (
        [*GROWN, "tco.growth=30 %", "tco.refresh=18 months", "tco.purchase_price_change=-20 %"],
        [
            *GROWN,
            "tco.growth=45 %",
            "tco.refresh=14 months",
            "tco.purchase_price_change=-10 %",
            "economics.horizon=55.5 months",
            "economics.utilisation=0.7",
            "tco.bonus_depreciation=0.3",
            "tco.depreciation=macrs_5_q3",
        ],
        {
            "growth_fraction_per_year": 0.45,
            "refresh_months": 14.0,
            "purchase_price_change_per_year": -0.1,
            "horizon_months": 55.5,
            "utilisation": 0.7,
            "bonus_depreciation": 0.3,
            "depreciation_method": "macrs_5_q3",
        },
        {},
    ),
    "mixed": (
        [
            *LATE,
            "tco.delivery=6 months",
            "tco.deposit=30 %",
            "tco.depreciation_of={network: macrs_15}",
            "tco.hybrid=[{owned: 60 %}, {owned: 30 %, utilisation: 85 %}]",
        ],
        [
            *LATE,
            "tco.delivery=4 months",
            "tco.deposit=45 %",
            "tco.depreciation_of={network: macrs_3}",
            "economics.horizon=30 months",
            "tco.hybrid=[{owned: 60 %}, {owned: 30 %, utilisation: 85 %}]",
        ],
        {"delivery_months": 4.0, "deposit": 0.45, "depreciation_method_of_network": "macrs_3", "horizon_months": 30.0},
        {},
    ),
}

#: What a named input is set to.
Inputs = dict[str, float | str]


def with_draws(plan: Plan) -> Finances:
    """Return a plan in the terms of finance, from a few draws."""
    return finances(plan, PriceBook.open(), draws=20, seed=1)


def with_cells(written: bytes, cells: Mapping[tuple[str, str], float | str]) -> bytes:
    """Return a workbook with other values in some cells, by sheet and place."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        names = re.findall(r'<sheet name="([^"]+)"', old.read("xl/workbook.xml").decode())
        parts = {f"xl/worksheets/sheet{number}.xml": unescape(name) for number, name in enumerate(names, start=1)}
        for part in old.namelist():
            text = old.read(part).decode()
            for (sheet, place), value in cells.items():
                if parts.get(part) == sheet:
                    text = _with_cell(text, place, value)
            new.writestr(part, text)
    return stream.getvalue()


def _with_cell(sheet: str, place: str, value: float | str) -> str:
    kind, held = ("inlineStr", f"<is><t>{value}</t></is>") if isinstance(value, str) else ("n", f"<v>{value!r}</v>")
    cell = f'<c r="{place}" t="{kind}">{held}</c>'
    changed, count = re.subn(rf'<c r="{place}"(?: [^>]*)?(?:/>|>.*?</c>)', cell, sheet, count=1)
    assert count == 1, place
    return changed


#: A formula of the taxed workbook that is wrong, by what it is of: in which sheets (all of them if none is named), what
#: stands there, what is written in its place, and which view is then off.
PLANTED = {
    "tax": ("", r"\btax_rate\b", "(tax_rate/2)", "Tax, "),
    "discounting": ("Cash by option", r"/12\)", "/11)", "Options, "),
    "resale": ("Cash onprem", r"\bresale_fraction\b", "(resale_fraction/2)", "Options, On premises: resale"),
    "age at resale": ("Inputs", r"horizon_months-", "horizon_months+1-", "Options, On premises: resale"),
    "financing": ("", r"\bloan_rate/12\b", "loan_rate/11", "Financing, loan: "),
}


def with_formula(written: bytes, sheet: str, old: str, new: str) -> bytes:
    """Return a workbook with other formulas on a sheet, or on all of them."""
    stream = io.BytesIO()
    count = 0
    with zipfile.ZipFile(io.BytesIO(written)) as parts, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new_parts:
        names = re.findall(r'<sheet name="([^"]+)"', parts.read("xl/workbook.xml").decode())
        sheets = {f"xl/worksheets/sheet{number}.xml": unescape(name) for number, name in enumerate(names, start=1)}
        for part in parts.namelist():
            text = parts.read(part).decode()
            if part in sheets and sheet in ("", sheets[part]):
                text, found = re.subn(r"(?<=<f>)[^<]*", lambda match: re.sub(old, new, match[0]), text)
                count += found
            new_parts.writestr(part, text)
    assert count
    assert stream.getvalue() != written
    return stream.getvalue()


def with_inputs(written: bytes, inputs: Inputs) -> bytes:
    """Return a workbook with other named inputs."""
    with zipfile.ZipFile(io.BytesIO(written)) as parts:
        names = dict(
            re.findall(r'<definedName name="(\w+)">([^<]+)</definedName>', parts.read("xl/workbook.xml").decode())
        )
    cells = {}
    for name, value in inputs.items():
        sheet, cell = names[name].split("!")
        cells[sheet, cell.replace("$", "")] = value
    return with_cells(written, cells)


def on_front(written: bytes) -> bytes:
    """Return a workbook with the other inputs typed into the yellow cells of Summary, what has none there on Inputs."""
    sheet = openpyxl.load_workbook(io.BytesIO(written))["Summary"]
    formulas = {str(row[2].value): row[1] for row in sheet.iter_rows(max_col=3)}
    cells = {name: formulas[f"={name}"] for name in OTHER}
    front = {name: cell for name, cell in cells.items() if isinstance(cell.value, int | float)}
    assert set(OTHER) - set(front) == {"resale_fraction"}
    typed = with_cells(written, {("Summary", cell.coordinate): OTHER[name] for name, cell in front.items()})
    return with_inputs(typed, {name: value for name, value in OTHER.items() if name not in front})


def with_rented_quotes(written: bytes) -> bytes:
    """Return a workbook with the clouds' quotes typed into the yellow cells of Summary."""
    sheet = openpyxl.load_workbook(io.BytesIO(written))["Summary"]
    rows = {str(row[0].value): row[1] for row in sheet.iter_rows(max_col=3) if "Bill" in str(row[2].value)}
    return with_cells(
        written,
        {("Summary", rows[where].coordinate): rows[where].value * share for where, share in RENTED_QUOTES.items()},
    )


def rented_at_quotes(plan: Plan, costs: Sequence[CandidateCost]) -> Plan:
    """Return a plan whose clouds ask the quotes for their nodes, of which the costs have the list prices."""
    rates = {
        cost.key: tuple(
            (line.line.sku, (line.unit_usd or 0.0) * RENTED_QUOTES[label_of(cost.key)])
            for line in cost.lines
            if line.line.category == "compute"
        )
        for cost in costs
        if label_of(cost.key) in RENTED_QUOTES
    }
    ways = [
        way if way.candidate is None else replace(way, candidate=replace(way.candidate, rates=rates.get(way.key, ())))
        for way in plan.alternatives
    ]
    return replace(plan, alternatives=tuple(ways))


def changed(case: Case) -> bytes:
    """Return the workbook of a blueprint with other inputs and other yellow cells."""
    first, _, inputs, wanted = case
    written = formulas(plan_of(BLUEPRINT, first))
    book = openpyxl.load_workbook(io.BytesIO(written), read_only=True)
    cells = {
        (sheet, f"{column}{place}"): value
        for (sheet, text, column), value in wanted.items()
        for place, row in enumerate(book[sheet].iter_rows(max_col=1, values_only=True), start=1)
        if str(row[0]).startswith(text)
    }
    assert len(cells) == len(wanted)
    return with_cells(with_inputs(written, inputs), cells)


def in_euro(plan: Plan) -> bytes:
    """Return a plan's workbook whose views show euro."""
    return workbook_xlsx(plan, with_draws(plan), Currency(code="EUR", usd=1.25, day="2026-10-01", source="ECB"))


def formulas(plan: Plan) -> bytes:
    """Return a plan's workbook, with few draws; what LibreOffice calculates again does not depend on cached values."""
    return workbook_xlsx(plan, with_draws(plan))


@pytest.fixture(scope="module")
def taxed_plan() -> Plan:
    """Return the shipped plan with tax, delivery and a loan."""
    return plan_of(BLUEPRINT, TAXED)


@pytest.fixture(scope="module")
def leased_plan() -> Plan:
    """Return the shipped plan with tax and a lease."""
    return plan_of(BLUEPRINT, LEASED)


@pytest.fixture(scope="module")
def committed_plan(shipped_plan: Plan) -> Plan:
    """Return the shipped plan with the nodes of its first target under a commitment."""
    committed = replace(shipped_plan.options[0], money=replace(shipped_plan.options[0].money, term="reserved_3y"))
    plan = replace(shipped_plan, options=(committed, *shipped_plan.options[1:]))
    cost = ledger(plan, PriceBook.open()).costs()[0]
    assert cost.run_usd is not None
    assert cost.run_usd != shipped_plan.options[0].money.run_usd
    paid = replace(
        committed.money,
        lines=cost.lines,
        run_usd=cost.run_cash_usd,
        run_share_usd=cost.run_share_usd,
        horizon_usd=cost.horizon_usd,
    )
    option = replace(committed, money=paid)
    return replace(plan, options=(option, *plan.options[1:]))


@pytest.fixture(scope="module")
def other_taxed(taxed_plan: Plan) -> tuple[Plan, Inputs]:
    """Return the taxed plan with other economics, tax and loan, and the inputs that say the same."""
    section = {
        "tax_rate": 0.35,
        "depreciation": "straight_line_3",
        "bonus_depreciation": 0.1,
        "delivery": "4 months",
        "loan": {"share": 0.5, "rate": 0.05, "term": "24 months"},
    }
    plan = recounted(
        taxed_plan,
        section,
        horizon_months=30.0,
        utilisation=0.7,
        discount_rate=0.06,
        power_price_usd_per_kwh=0.15,
        pue=1.2,
    )
    return plan, {
        "horizon_months": 30.0,
        "utilisation": 0.7,
        "discount_rate": 0.06,
        "power_price_usd_per_kwh": 0.15,
        "pue": 1.2,
        "tax_rate": 0.35,
        "depreciation_method": "straight_line_3",
        "bonus_depreciation": 0.1,
        "delivery_months": 4.0,
        "loan_share": 0.5,
        "loan_rate": 0.05,
        "loan_months": 24.0,
    }


@pytest.fixture(scope="module")
def other_leased(leased_plan: Plan) -> tuple[Plan, Inputs]:
    """Return the leased plan with another tax rate, lease and a horizon that ends within a month."""
    section = {"tax_rate": 0.1, "lease": {"rate": 0.11, "residual": 0.4}}
    plan = recounted(leased_plan, section, horizon_months=27.25)
    return plan, {
        "horizon_months": 27.25,
        "tax_rate": 0.1,
        "lease_rate": 0.11,
        "lease_residual": 0.4,
    }


def two_thirds(plan: Plan) -> float:
    """Return a horizon shorter than the plan's, with a part of a month."""
    return plan.economics.horizon_months * 2 / 3 + 0.5


def quote_of(plan: Plan) -> tuple[str, float]:
    """Return the sku of the first part that is bought, and another price of it."""
    option = plan.option("onprem")
    assert option is not None
    line = option.money.lines[0]
    return line.line.sku, (line.unit_usd or 0.0) * QUOTE


@pytest.fixture(scope="module")
def files(
    request: pytest.FixtureRequest, shipped_plan: Plan, taxed_plan: Plan, leased_plan: Plan, committed_plan: Plan
) -> dict[str, bytes]:
    """Return every workbook of these tests before it is calculated, by name."""
    written = formulas(shipped_plan)
    sku, quote = quote_of(shipped_plan)
    lines = [line for option in shipped_plan.options for line in option.money.lines]
    quoted = {("Bill", f"H{row}"): quote for row, line in enumerate(lines, start=2) if line.line.sku == sku}
    months = shipped_plan.economics.horizon_months
    return {
        "shipped": written,
        "other": with_inputs(written, dict(OTHER)),
        "front": on_front(written),
        "quoted": with_cells(written, quoted),
        "rented": with_rented_quotes(written),
        "shorter": with_inputs(written, {"horizon_months": two_thirds(shipped_plan)}),
        "longer": with_inputs(written, {"horizon_months": months + 12}),
        "wrong": with_cells(written, {("Cash onprem", f"C{FIRST_MONTH + 1}"): 1000.0}),
        "committed": formulas(committed_plan),
        "told": with_inputs(in_euro(shipped_plan), {"shown_in": "USD"}),
        "taxed": with_inputs(formulas(taxed_plan), request.getfixturevalue("other_taxed")[1]),
        "leased": with_inputs(formulas(leased_plan), request.getfixturevalue("other_leased")[1]),
        **{name: changed(case) for name, case in CASES.items()},
        "sound": formulas(taxed_plan),
        **{
            f"planted {name}": with_formula(formulas(taxed_plan), sheet, old, new)
            for name, (sheet, old, new, _) in PLANTED.items()
        },
    }


Calculated = Callable[[str], Workbook]


@pytest.fixture(scope="module")
def calculated(
    require_engine: Callable[..., None], files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> Calculated:
    """Return a function that gives a workbook with the values that LibreOffice finds."""
    require_engine("soffice")
    profile, folder = tmp_path_factory.mktemp("profile"), tmp_path_factory.mktemp("books")
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(RECALCULATE, encoding="utf-8")
    for name, content in files.items():
        (folder / f"{name}.xlsx").write_bytes(content)
    made = folder / "calculated"
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation={profile.as_uri()}",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            str(made),
            *(str(path) for path in sorted(folder.glob("*.xlsx"))),
        ],
        capture_output=True,
        check=True,
        timeout=900,
    )

    def read(name: str) -> Workbook:
        return openpyxl.load_workbook(made / f"{name}.xlsx", data_only=True)

    return read


@pytest.fixture(scope="module")
def counted(shipped_plan: Plan) -> Ledger:
    """Return the engine's ledger of the shipped plan."""
    return ledger(shipped_plan, PriceBook.open())


def again(counted: Ledger, **changes: object) -> tuple[CandidateCost, ...]:
    """Run the engine with other economic values."""
    return Ledger(counted.candidates, replace(counted.economics, **changes), PriceBook.open()).costs()  # type: ignore[arg-type]


def agree(book: Workbook, costs: Sequence[CandidateCost]) -> None:
    """Check every figure of the summary to the cent, and the totals of the cash sheets."""
    for row, cost in enumerate(costs, start=FIRST_OPTION):
        wanted = [
            cost.run_cash_usd,
            cost.run_share_usd,
            cost.horizon_usd,
            cost.npv_usd,
            cost.capex_usd,
            cost.usd_per_gpu_hour,
        ]
        for at, engine in enumerate(wanted, start=5):
            shown = book["Summary"].cell(row, at).value
            assert shown == ("–" if engine is None else pytest.approx(engine, abs=CENT)), (cost.key, at)
        assert sum(column(book, cost.key, "total")) == pytest.approx(cost.horizon_usd, abs=CENT)
        assert sum(column(book, cost.key, "present value")) == pytest.approx(cost.npv_usd, abs=CENT)


def column(book: Workbook, key: str, title: str) -> list[float]:
    """Return a column of a cash sheet, by month."""
    sheet = book[f"Cash {key}"]
    at = [cell.value for cell in sheet[FIRST_MONTH - 1]].index(title) + 1
    rows = sheet.iter_rows(min_row=FIRST_MONTH, min_col=at, max_col=at, values_only=True)
    return [float(value) for (value,) in rows if isinstance(value, int | float)]


def test_libreoffice_finds_the_engines_figures(
    calculated: Calculated, files: dict[str, bytes], shipped_plan: Plan, counted: Ledger
) -> None:
    """Summary and cash sheets agree to the cent, and every cached value of every sheet is what the formula gives."""
    found = calculated("shipped")
    costs = counted.costs()
    for option, cost in zip(shipped_plan.options, costs, strict=True):
        assert (option.money.run_usd is None, option.money.run_share_usd is None) == (cost.shared, not cost.shared)
        engine = cost.run_share_usd if cost.shared else cost.run_cash_usd
        shown = option.money.run_share_usd if cost.shared else option.money.run_usd
        assert (shown, option.money.horizon_usd, option.money.capex_usd) == pytest.approx(
            (engine, cost.horizon_usd, cost.capex_usd), rel=1e-12
        )
    agree(found, costs)
    cached = openpyxl.load_workbook(io.BytesIO(files["shipped"]), data_only=True)
    compared = 0
    for sheet in openpyxl.load_workbook(io.BytesIO(files["shipped"])):
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    place = f"{sheet.title}!{cell.coordinate}"
                    wanted = cached[sheet.title][cell.coordinate].value
                    shown = found[sheet.title][cell.coordinate].value
                    if isinstance(wanted, str):
                        assert shown == wanted, place
                    else:
                        assert shown == pytest.approx(wanted, abs=CENT), place
                    compared += 1
    assert compared > 5000


def test_months_agree_with_the_cash_flow(calculated: Calculated, shipped_plan: Plan, counted: Ledger) -> None:
    """Each month's total, and the running sum before resale, are the engine's."""
    found = calculated("shipped")
    for option in shipped_plan.options:
        months: dict[float, float] = {}
        for row in counted.cash_flow_rows(option.target):
            months[row.month] = months.get(row.month, 0.0) + row.usd
        totals = column(found, option.target, "total")
        assert totals == pytest.approx([months.get(float(index), 0.0) for index in range(len(totals))], abs=CENT)
        running = [point.usd for point in counted.cumulative() if point.key == option.target]
        assert column(found, option.target, "cumulative before resale") == pytest.approx(running, abs=CENT)


@pytest.mark.parametrize("name", ["other", "front"])
def test_other_inputs_give_the_engines_other_figures(name: str, calculated: Calculated, counted: Ledger) -> None:
    """With other inputs, typed on Inputs or on Summary, both programs find the same new figures."""
    costs = again(
        counted,
        utilisation=OTHER["utilisation"],
        power_price_usd_per_kwh=OTHER["power_price_usd_per_kwh"],
        discount_rate=OTHER["discount_rate"],
        overrides=(("resale_fraction", OTHER["resale_fraction"]),),
    )
    before = counted.costs()
    assert all(abs((new.horizon_usd or 0) - (old.horizon_usd or 0)) > 1 for new, old in zip(costs, before, strict=True))
    agree(calculated(name), costs)


@pytest.mark.parametrize("name", ["taxed", "leased"])
def test_other_inputs_flow_through_every_view(
    name: str,
    calculated: Calculated,
    agree_with_views: Callable[[Workbook, Finances], int],
    request: pytest.FixtureRequest,
) -> None:
    """Options, returns, taxes, P&L, financing, unit costs, heat map: all as the engine finds them with other inputs."""
    plan, _ = request.getfixturevalue(f"other_{name}")
    first = with_draws(request.getfixturevalue(f"{name}_plan"))
    found = with_draws(plan)
    assert found.taxed.bridged_by == first.taxed.bridged_by
    assert (found.compared_with, found.mapped_with) == (first.compared_with, first.mapped_with)
    moved = {entry.key: entry.npv_after_tax_usd for entry in first.taxed.options}
    assert all(abs(entry.npv_after_tax_usd - moved[entry.key]) > 1 for entry in found.taxed.options)
    assert agree_with_views(calculated(name), found) > 200


@pytest.mark.parametrize("name", CASES)
def test_contracts_growth_and_lots_are_formulas(
    name: str, calculated: Calculated, agree_with_views: Callable[..., int]
) -> None:
    """Contracts, charges of clouds, growth, refresh, lots, methods and delivery follow their inputs, to the cent."""
    _, other, _, _ = CASES[name]
    assert agree_with_views(calculated(name), with_draws(plan_of(BLUEPRINT, other)), bent=False) > 200


def test_a_sound_workbook_passes_its_checks(calculated: Calculated) -> None:
    """Calculated anew, every view is the engine's, and no input counts as changed."""
    checks = calculated("sound")["Checks"]
    assert (checks["C3"].value, checks["G3"].value) == ("OK", 0)
    assert {row[2] for row in checks.iter_rows(min_row=6, values_only=True) if row[0]} == {"OK"}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_formula_sets_the_checks_off(name: str, calculated: Calculated) -> None:
    """A wrong tax, discount factor, resale or loan is seen by the view that shows it, whatever reads it too."""
    book = calculated(f"planted {name}")
    assert book["Checks"]["C3"].value == "BROKEN"
    off = [row[0] for row in book["Checks"].iter_rows(min_row=6, values_only=True) if row[2] == "BROKEN"]
    assert [text for text in off if text.startswith(PLANTED[name][-1]) and text.endswith("as the engine has it")]
    summary = [cell.value for row in book["Summary"] for cell in row]
    assert summary[summary.index("Checks") + 1] == "BROKEN"


@pytest.mark.parametrize("name", ["other", "front"])
def test_a_changed_input_is_no_fault(name: str, calculated: Calculated) -> None:
    """With other inputs the engine's figures of before are not compared, and the inputs that changed are counted."""
    checks = calculated(name)["Checks"]
    told = [str(cell.value) for cell in calculated(name)["Summary"]["A"]]
    assert sum(text.startswith(CHANGED) for text in told) == 1
    assert (checks["C3"].value, checks["G3"].value) == ("OK", len(OTHER))
    assert {row[2] for row in checks.iter_rows(min_row=6, values_only=True) if row[0]} == {"OK", CHANGED}


def test_views_that_show_euro_can_show_usd(
    calculated: Calculated, shipped_plan: Plan, agree_with_views: Callable[..., int]
) -> None:
    """With the input set to USD every view is in USD again."""
    book = calculated("told")
    assert book["Options"]["I4"].value == "horizon, USD"
    assert agree_with_views(book, with_draws(shipped_plan)) > 200


def test_another_unit_price_gives_the_engines_other_figures(
    calculated: Calculated, shipped_plan: Plan, counted: Ledger
) -> None:
    """A quote typed into the bill moves the totals as the engine says."""
    costs = again(counted, overrides=(quote_of(shipped_plan),))
    assert costs != counted.costs()
    agree(calculated("quoted"), costs)


def test_quotes_for_rented_nodes_on_summary_give_the_engines_other_figures(
    calculated: Calculated, shipped_plan: Plan, agree_with_views: Callable[..., int]
) -> None:
    """A price per node-hour typed on Summary moves every sheet as the engine says, and only the option it is of."""
    first = with_draws(shipped_plan)
    found = with_draws(rented_at_quotes(shipped_plan, first.costs))
    before = {cost.key: cost.horizon_usd for cost in first.costs}
    moved = {cost.key for cost in found.costs if cost.horizon_usd != before[cost.key]}
    assert {label_of(key) for key in moved} == set(RENTED_QUOTES)
    assert (found.compared_with, found.mapped_with) == (first.compared_with, first.mapped_with)
    book = calculated("rented")
    assert agree_with_views(book, found) > 200
    assert book["Checks"]["G3"].value == len(RENTED_QUOTES)
    cost = next(cost for cost in found.costs if label_of(cost.key) == "AWS, on demand")
    row = next(row for row in book["Summary"].iter_rows(values_only=True) if row[0] == "AWS")
    assert row[6:8] == pytest.approx((cost.horizon_usd, cost.npv_usd), abs=CENT)


def test_a_shorter_horizon_and_one_that_is_too_long(
    calculated: Calculated, shipped_plan: Plan, counted: Ledger
) -> None:
    """Two thirds of the months give the engine's figures, a part of a month too; more months than rows give none."""
    agree(calculated("shorter"), again(counted, horizon_months=two_thirds(shipped_plan)))
    longer = calculated("longer")
    assert [longer["Summary"].cell(FIRST_OPTION, at).value for at in (5, 7, 8)] == ["unknown"] * 3
    assert longer["Options"]["I5"].value == "unknown"


def test_the_check_sees_a_wrong_formula(calculated: Calculated, counted: Ledger) -> None:
    """A cell that is replaced by a constant makes the comparison fail: it does not read the cached values."""
    with pytest.raises(AssertionError):
        agree(calculated("wrong"), counted.costs())


def test_commitments_are_paid_whether_used_or_not(calculated: Calculated, committed_plan: Plan) -> None:
    """With the nodes of one target under a commitment both programs find the same figures."""
    book = calculated("committed")
    agree(book, ledger(committed_plan, PriceBook.open()).costs())
    assert min(column(book, committed_plan.options[0].target, "rent committed")[1:]) > 0
