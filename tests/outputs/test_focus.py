"""A plan as FOCUS rows: conformant, and every dollar of the plan in it once, in cash and amortised."""

import csv
import dataclasses
import datetime as dt
import io
import json
from collections import Counter
from functools import cache
from pathlib import Path

import duckdb
import pytest

from clusterwright import assets
from clusterwright.cli import planning
from clusterwright.errors import InputError
from clusterwright.finance.accounts import accounts
from clusterwright.finance.charges import charges_of
from clusterwright.finance.finances import finances
from clusterwright.outputs.exports.focus import focus_csv, header, write_focus_parquet
from clusterwright.outputs.exports.focus_columns import columns, problems
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.contracts import Contract
from tests.opened import focus_rows

BEGIN = dt.date(2027, 1, 1)
Row = dict[str, str]


@cache
def plan_of(*overrides: str) -> Plan:
    """Return the shipped blueprint's plan of two targets."""
    path = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
    return planning.plan_of(path, ["targets.azure=null", "targets.gcp=null", *overrides])


@cache
def rows() -> tuple[Row, ...]:
    """Return its rows."""
    return focus_rows(plan_of(), begin=BEGIN)


def committed() -> Plan:
    """Return the plan with the rented option on a commitment of one year, and a horizon that is no whole month."""
    plan = plan_of()
    economics = dataclasses.replace(plan.economics, horizon_months=12.5)
    option = plan.option("aws")
    assert option is not None
    return dataclasses.replace(
        plan,
        economics=economics,
        options=(dataclasses.replace(option, money=dataclasses.replace(option.money, term="reserved_1y")),),
        breakevens=(),
    )


def total(found: tuple[Row, ...], column: str, **wanted: str) -> float:
    """Return the sum of a column over the rows with these values."""
    return sum(float(row[column]) for row in found if all(row[name] == value for name, value in wanted.items()))


@pytest.mark.parametrize("column", ["BilledCost", "EffectiveCost"])
@pytest.mark.parametrize("target", ["aws", "onprem"])
def test_every_dollar_is_there_once(target: str, column: str) -> None:
    """Cash and amortised cost both are what the horizon costs, to the cent."""
    option = plan_of().option(target)
    assert option is not None
    found = total(rows(), column, SubAccountId=f"train-gpt3-175b-{target}")
    assert found == pytest.approx(option.money.horizon_usd, abs=0.005)


def test_purchases_are_cash_at_once_and_cost_over_time() -> None:
    """The systems are paid in the first month, and every month bears the same share of them."""
    systems = tuple(row for row in rows() if row["SkuId"] == "dgx-h100")
    (bought,) = (row for row in systems if row["ChargeCategory"] == "Purchase")
    option = plan_of().option("onprem")
    assert option is not None
    months = round(plan_of().economics.horizon_months)
    assert months == 36
    assert float(bought["BilledCost"]) == pytest.approx(option.cluster.nodes * 380_000)
    assert (bought["EffectiveCost"], bought["ChargeFrequency"]) == ("0", "One-Time")
    served = [row for row in systems if row["ChargeCategory"] == "Usage"]
    assert len(served) == months
    assert {row["BilledCost"] for row in served} == {"0"}
    assert all(float(row["EffectiveCost"]) == pytest.approx(option.cluster.nodes * 380_000 / months) for row in served)
    (sold,) = (row for row in rows() if row["ChargeCategory"] == "Credit")
    assert float(sold["BilledCost"]) < 0
    assert sold["EffectiveCost"] == sold["BilledCost"]
    assert sold["ChargePeriodEnd"] == "2030-01-01T00:00:00Z"


def test_a_commitment_pays_used_and_unused_hours() -> None:
    """Fees are purchases without effective cost; hours used and unused bear them, and list what on-demand costs."""
    plan = committed()
    found = tuple(row for row in focus_rows(plan, begin=BEGIN) if row["SkuId"] == "aws/p5.48xlarge")
    fees = total(found, "BilledCost", ChargeCategory="Purchase")
    assert total(found, "EffectiveCost", ChargeCategory="Purchase") == 0
    used = total(found, "EffectiveCost", CommitmentDiscountStatus="Used")
    unused = total(found, "EffectiveCost", CommitmentDiscountStatus="Unused")
    assert used + unused == pytest.approx(fees, abs=0.005)
    assert used / fees == pytest.approx(plan.options[0].money.busy_fraction)
    assert {row["PricingCategory"] for row in found if row["ChargeCategory"] == "Usage"} == {"Committed"}
    assert {row["ListUnitPrice"] for row in found if row["ChargeCategory"] == "Usage"} == {"55.04"}
    assert fees == pytest.approx(
        sum(entry.usd for entry in ledger(plan, PriceBook.open()).cash_flow_rows("aws") if entry.category == "compute")
    )
    last = max(row["ChargePeriodEnd"] for row in found)
    assert last == "2028-01-16T12:00:00Z"  # half of a January of 31 days


@pytest.mark.parametrize("upfront", [0.0, 0.5, 1.0])
def test_what_is_paid_in_advance_serves_every_month(upfront: float) -> None:
    """Upfront payments are cash at their day and cost in every month; what the horizon cuts off is a credit."""
    plan = plan_of()
    economics = dataclasses.replace(plan.economics, horizon_months=18.0)
    contract = Contract(upfront_fraction=upfront, period_months=12.0)
    candidate = dataclasses.replace(plan.options[0].candidate, key="x", term="reserved_1y", contract=contract)
    book = PriceBook.open()
    money = Ledger([candidate], economics, book)
    (account, *_) = accounts(plan, ledger(plan, book))
    account = dataclasses.replace(account, key="x", lines=money.lines["x"], rows=money.cash_flow_rows("x"))
    found = [entry for entry in charges_of([account], money) if entry.key == "aws/p5.48xlarge"]
    monthly = 64 * 730 * found[0].unit_usd
    paid = [entry.billed_usd for entry in found if entry.month_end == 1]
    assert sum(paid) == pytest.approx(monthly * (12 * upfront + 1 - upfront))
    cut_off = sum(entry.billed_usd for entry in found if entry.kind == "credit")
    assert cut_off == pytest.approx(-6 * upfront * monthly)
    borne = {
        month: sum(entry.effective_usd for entry in found if entry.month_end == month and entry.kind == "usage")
        for month in range(1, 19)
    }
    assert len({round(usd, 2) for usd in borne.values()}) == 1


def test_refreshed_equipment_serves_from_its_own_day() -> None:
    """Growth, refresh and owners' costs: both views add up, and what is bought later costs nothing before."""
    plan = plan_of("tco.refresh=2 years", "tco.growth=20%", "tco.owner.wind_down=2 months")
    found = focus_rows(plan, begin=BEGIN)
    for option in plan.options:
        for column in ("BilledCost", "EffectiveCost"):
            mine = total(found, column, SubAccountId=f"train-gpt3-175b-{option.target}")
            assert mine == pytest.approx(option.money.horizon_usd, abs=0.005)
    bought = [row for row in found if row["ChargeCategory"] == "Purchase" and "DGX" in row["ChargeDescription"]]
    assert {row["ChargePeriodStart"][:7] for row in bought} >= {"2027-01", "2028-12"}
    # What was bought at several times serves a month as one row of its line.
    served = Counter(
        (row["SubAccountId"], row["x_BillLineNumber"], row["ChargePeriodStart"], row["CommitmentDiscountStatus"])
        for row in found
        if row["ChargeCategory"] == "Usage" and row["x_CapexOrOpex"] == "capex"
    )
    assert set(served.values()) == {1}
    units = [
        float(row["PricingQuantity"])
        for row in found
        if row["PricingUnit"] == "Unit-Months"
        and "DGX" in row["ChargeDescription"]
        and "share of the month" in row["ChargeDescription"]
    ]
    assert max(units) > min(units)


def test_contracts_mixes_and_places_are_options_in_the_currency_that_is_billed() -> None:
    """Each is an option of its own; its sums are its horizon, billed in euros and priced in dollars."""
    contract = "{target: aws, term: savings_plan_3y, rate: 2 USD, payment: partial_upfront}"
    agreed = f"tco.contracts=[{contract}, {{target: aws, discount: 18 %}}]"
    plan = plan_of(
        agreed,
        "tco.hybrid=[{owned: 60 %, burst: aws/on_demand}]",
        "tco.growth=10 %",
        "tco.housing={room: {pue: 1.6}, hall: {colocation_usd_per_kw_month: 150}}",
    )
    found = finances(plan, PriceBook.open(), draws=1, seed=1)
    euro = MoneyFormat(currency=Currency(code="EUR", usd=1.25, day="2026-10-15", source="ECB"))
    made = focus_rows(plan, begin=BEGIN, found=found, money=euro)
    assert problems(header(), made) == ()
    asked = {
        cost.key: cost.horizon_usd for cost in found.costs if cost.mixed or cost.owned or cost.key.endswith("contract")
    }
    assert len(asked) == 5
    for key, usd in asked.items():
        assert usd is not None
        account = f"train-gpt3-175b-{key}"
        for column, wanted in (
            ("BilledCost", usd / 1.25),
            ("EffectiveCost", usd / 1.25),
            ("PricingCurrencyEffectiveCost", usd),
        ):
            assert total(made, column, SubAccountId=account) == pytest.approx(wanted, abs=0.005)
        numbers = [(row["x_BillLineNumber"], row["SkuId"]) for row in made if row["SubAccountId"] == account]
        assert len({number for number, _ in numbers}) == len(set(numbers))
    sides = {row["ProviderName"] for row in made if row["SubAccountId"].startswith("train-gpt3-175b-hybrid")}
    assert sides == {"AWS", "On premises"}
    assert {(row["BillingCurrency"], row["PricingCurrency"]) for row in made} == {("EUR", "USD")}
    assert {row["x_ExchangeRate"] for row in made} == {"1 EUR = 1.25 USD on 2026-10-15 (ECB)"}
    nodes = [row for row in made if row["SubAccountId"].endswith("aws/on_demand/contract") and "p5" in row["SkuId"]]
    unit_prices = {(row["ContractedUnitPrice"], row["ListUnitPrice"]) for row in nodes}
    assert unit_prices == {(f"{55.04 * 0.82 / 1.25:.10f}".rstrip("0"), "44.032")}
    bought = next(
        row
        for row in made
        if "hybrid" in row["SubAccountId"] and row["SkuId"] == "dgx-h100" and row["ChargeCategory"] == "Usage"
    )
    assert float(bought["PricingQuantity"]) == pytest.approx(next(c.nodes for c in found.costs if c.mixed))


def test_text_and_parquet_hold_the_same(tmp_path: Path) -> None:
    """CSV reads back as it was; Parquet has decimals, moments and nulls, and the same sums."""
    text = focus_csv(rows())
    read = list(csv.DictReader(io.StringIO(text)))
    assert [row["BilledCost"] for row in read] == [row["BilledCost"] for row in rows()]
    assert json.loads(read[0]["Tags"]) == {"gpu-cluster": "train-gpt3-175b", "layer": "nodes"}
    path = tmp_path / "focus.parquet"
    write_focus_parquet(rows(), path)
    types = dict(duckdb.execute("select name, type from parquet_schema($path)", {"path": str(path)}).fetchall())
    assert set(header()) <= set(types)
    figures = "count(*), sum(BilledCost)::double, count(ResourceId), min(ChargePeriodStart)::timestamp"
    asked = f"select {figures} from read_parquet($path)"  # noqa: S608 - literals
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    assert connection.execute(asked, {"path": str(path)}).fetchone() == (
        len(rows()),
        pytest.approx(sum(float(row["BilledCost"]) for row in rows())),
        0,
        dt.datetime.fromisoformat("2027-01-01"),
    )


def test_names_are_no_formulas() -> None:
    """A text that a spreadsheet program would calculate is written as text; negative numbers stay numbers."""
    row = {**rows()[0], "ChargeDescription": '=HYPERLINK("x")', "BilledCost": "-5.25"}
    (read,) = csv.DictReader(io.StringIO(focus_csv((row,))))
    assert read["ChargeDescription"] == '\'=HYPERLINK("x")'
    assert read["BilledCost"] == "-5.25"


def test_an_unknown_price_has_no_rows() -> None:
    """An option whose total is unknown is left out; the other one stays."""
    plan = plan_of("targets.aws.capacity=spot")
    assert {row["SubAccountId"] for row in focus_rows(plan)} == {"train-gpt3-175b-onprem"}


def test_begin_is_the_first_of_a_month() -> None:
    """Charge periods are months; by default the one after the as-of day."""
    assert min(row["ChargePeriodStart"] for row in focus_rows(plan_of())) == "2026-11-01T00:00:00Z"
    with pytest.raises(InputError, match="whole months"):
        focus_rows(plan_of(), begin=dt.date(2027, 1, 2))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"BilledCost": ""}, "BilledCost is empty"),
        ({"BilledCost": "1,000.0"}, "no decimal"),
        ({"ChargeCategory": "Fee"}, "none of Usage"),
        ({"ListCost": "1"}, "not ListUnitPrice times PricingQuantity"),
        ({"ChargePeriodEnd": "2027-01-01T00:00:00Z"}, "not after"),
        ({"ChargePeriodStart": "2027-02-31T00:00:00Z"}, "no datetime"),
        ({"CommitmentDiscountId": "x"}, "CommitmentDiscountStatus is empty"),
        ({"CommitmentDiscountStatus": "Used"}, "must be empty"),
        ({"Tags": '{"a": ["b"]}'}, "no object"),
        ({"BillingCurrency": "usd"}, "no currency"),
        ({"SkuId": ""}, "SkuId is empty"),
        ({"PricingUnit": "per hour!"}, "no unit"),
        ({"ChargeCategory": "Tax"}, "must be empty"),
    ],
)
def test_faults_are_found(changes: Row, told: str) -> None:
    """The check of conformance finds each kind of fault in a row that was right."""
    right = rows()[0]
    assert problems(header(), (right,)) == ()
    assert any(told in said for said in problems(header(), ({**right, **changes},)))


def test_columns_are_those_of_the_specification() -> None:
    """FOCUS 1.2 has 57 columns; one that is missing, and one that is unknown, is reported."""
    names = [column.name for column in columns()]
    assert len(names) == 57
    assert names == sorted(names)
    assert "BilledCost is missing" in problems(names[2:], ())[0]
    assert "neither" in problems([*names, "Colour"], ())[0]
