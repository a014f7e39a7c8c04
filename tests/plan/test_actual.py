"""The bill of a running cluster against its plan: matched by tag and product, split into quantity and price."""

import dataclasses
import datetime as dt
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.actual.reconcile import compare
from clusterwright.actual.records import Actual, Comparison, Variance
from clusterwright.cli.planning import plan_of
from clusterwright.cli.written import actual as command
from clusterwright.errors import InputError
from clusterwright.finance.charges import Charge, charges
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.focus.export import ChargeGroup, FocusExport, Span, read_focus

Row = dict[str, Any]
NAME = "train-gpt3-175b"
BEGIN, END = dt.datetime(2026, 11, 2, tzinfo=dt.UTC), dt.datetime(2026, 11, 9, tzinfo=dt.UTC)
HOURS = 168.0
NODES = 64
COST = f"{NODES * HOURS * 50:.0f}"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of three clouds."""
    return plan_of(assets.root() / "blueprints" / f"{NAME}.yaml", ["targets.onprem=null"])


@pytest.fixture(scope="module")
def planned(plan: Plan) -> tuple[Charge, ...]:
    """Its charges."""
    return charges(plan, ledger(plan, PriceBook.open()))


def row(**changes: object) -> Row:
    """Return a row of AWS: a week of all GPU nodes at 50 USD an hour."""
    return {
        "BilledCost": COST,
        "EffectiveCost": COST,
        "BillingCurrency": "USD",
        "ChargeCategory": "Usage",
        "ChargeClass": "",
        "ChargePeriodStart": "2026-11-02T00:00:00Z",
        "ChargePeriodEnd": "2026-11-09T00:00:00Z",
        "BillingPeriodStart": "2026-11-01T00:00:00Z",
        "PricingQuantity": str(NODES * HOURS),
        "PricingUnit": "Hrs",
        "ProviderName": "AWS",
        "ServiceName": "Amazon Elastic Compute Cloud",
        "SkuId": "ABC",
        "ResourceId": "i-1",
        "SkuMeter": "USE1-BoxUsage:p5.48xlarge",
        "ChargeDescription": "",
        "SubAccountId": "1",
        "Tags": json.dumps({"user:gpu-cluster": NAME, "user:layer": "nodes"}),
    } | changes


def write(rows: Sequence[Row], path: Path, columns: str = "*") -> Path:
    """Write rows as CSV or Parquet, with columns as an SQL projection makes them."""
    connection = duckdb.connect()
    connection.execute("create table told as select unnest($rows, recursive := true)", {"rows": list(rows)})
    form = "(format parquet)" if path.suffix == ".parquet" else "(header)"
    connection.execute(f"copy (select {columns} from told) to '{path}' {form}")  # noqa: S608 - of this test
    return path


def read(*paths: Path, cost: str = "effective", value: str = NAME, count_repeated: bool = False) -> FocusExport:
    """Read exports of the cluster."""
    return read_focus(paths, tag="gpu-cluster", value=value, cost=cost, count_repeated=count_repeated)


@pytest.fixture
def billed(plan: Plan, planned: tuple[Charge, ...], tmp_path: Path) -> Callable[..., Comparison]:
    """A function that compares rows with the plan."""

    def of(*rows: Row, **rates: float) -> Comparison:
        return compare(plan, planned, read(write(rows, tmp_path / "export.csv")), cost="effective", rates=rates)

    return of


def line(found: Comparison, name: str) -> Variance:
    """Return a line of the first option."""
    return next(entry for entry in found.options[0].lines if entry.line == name)


def test_difference_is_split_into_quantity_and_price(plan: Plan, billed: Callable[..., Comparison]) -> None:
    """All nodes all week at 50 USD: the plan had them busy a part of the time, at 55.04 USD."""
    option = plan.option("aws")
    assert option is not None
    found = line(billed(row()), "aws/p5.48xlarge")
    planned = NODES * HOURS * option.money.busy_fraction
    assert found.planned_quantity == pytest.approx(planned)
    assert found.planned_usd == pytest.approx(planned * 55.04)
    assert found.actual_quantity == pytest.approx(NODES * HOURS)
    assert found.quantity_usd == pytest.approx((NODES * HOURS - planned) * 55.04)
    assert found.price_usd == pytest.approx((50.0 - 55.04) * NODES * HOURS)
    assert found.because == f"quantity {100 * (1 / option.money.busy_fraction - 1):+.1f} %, price -9.2 %"


def test_months_are_counted_by_the_calendar(billed: Callable[..., Comparison]) -> None:
    """Storage by the month is planned for 7 of November's 30 days, nodes by the hour for 168 of 730."""
    found = billed(row())
    assert found.options[0].months == pytest.approx(7 / 30)
    assert found.options[0].planned_months == pytest.approx(168 / 730)
    lustre = line(found, "aws/fsx-lustre")
    assert (lustre.kind, lustre.actual_usd) == ("not_billed", 0.0)
    assert lustre.planned_usd == pytest.approx(40_800 * 0.6 * 7 / 30)
    assert lustre.quantity_usd == pytest.approx(-lustre.planned_usd)


def test_what_stands_beside_the_lines(billed: Callable[..., Comparison]) -> None:
    """Credits, adjustments and taxes are told apart; corrections are within the lines; traffic was not planned."""
    found = billed(
        row(),
        row(ResourceId="r", ChargeCategory="Credit", EffectiveCost="-500", PricingQuantity="", PricingUnit=""),
        row(ResourceId="a", ChargeCategory="Adjustment", EffectiveCost="-7"),
        row(ResourceId="t", ChargeCategory="Tax", EffectiveCost="80", PricingQuantity="", PricingUnit=""),
        row(ResourceId="c", ChargeClass="Correction", EffectiveCost="-100", PricingQuantity="-2"),
        row(ResourceId="p", ChargeCategory="Purchase", EffectiveCost="0", BilledCost="9000"),
        row(ResourceId="z", EffectiveCost="0", PricingQuantity="0"),
        row(ResourceId="n", SkuMeter="USE1-NatGateway-Bytes", EffectiveCost="4.5", PricingUnit="GB"),
    )
    option = found.options[0]
    assert (option.credits_usd, option.adjustments_usd, option.tax_usd, option.corrections_usd) == (-500, -7, 80, -100)
    nodes = line(found, "aws/p5.48xlarge")
    assert (nodes.actual_usd, nodes.actual_quantity) == (537_500, NODES * HOURS - 2)
    (unplanned,) = (entry for entry in option.lines if entry.kind == "unplanned")
    assert unplanned.line == "Amazon Elastic Compute Cloud: USE1-NatGateway-Bytes"
    assert (unplanned.difference_usd, unplanned.quantity_usd) == (4.5, None)
    assert option.actual_usd == pytest.approx(537_504.5)
    assert option.actual_usd - option.planned_usd == pytest.approx(sum(entry.difference_usd for entry in option.lines))


def test_untagged_and_repeated(plan: Plan, planned: tuple[Charge, ...], tmp_path: Path) -> None:
    """Cost without the tag in the same account is a share; another account is not looked at; a twin counts once."""
    path = write(
        [
            row(),
            row(),
            row(Tags="", EffectiveCost="100800"),
            row(Tags='{"gpu-cluster": "other"}', EffectiveCost="537600"),
            row(Tags="", EffectiveCost="1e9", SubAccountId="2"),
        ],
        tmp_path / "export.csv",
    )
    found = compare(plan, planned, read(path), cost="effective", rates={})
    assert found.repeated == 1
    assert line(found, "aws/p5.48xlarge").actual_usd == 537_600
    total = 2 * 537_600 + 100_800 + 537_600
    assert found.untagged_share == pytest.approx(100_800 / total)
    assert found.other_share == pytest.approx(537_600 / total)
    every = compare(plan, planned, read(path, count_repeated=True), cost="effective", rates={})
    assert (every.repeated, line(every, "aws/p5.48xlarge").actual_usd) == (0, 1_075_200)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (
            "aws.parquet",
            (
                "* replace (map {'user:gpu-cluster': 'train-gpt3-175b'} as Tags, EffectiveCost::double as "
                "EffectiveCost, ChargePeriodStart::timestamptz as ChargePeriodStart)"
            ),
        ),
        (
            "gcp.parquet",
            ("* replace ([{'key': 'team', 'value': 'x'}, {'key': 'gpu-cluster', 'value': 'train-gpt3-175b'}] as Tags)"),
        ),
        ("azure.csv", '* exclude (Tags), \'"Gpu-Cluster": "Train-GPT3-175b","layer": "nodes"\' as tags'),
        (
            "snake.csv",
            (
                "* exclude (EffectiveCost, ChargePeriodStart), EffectiveCost as effective_cost, "
                "ChargePeriodStart as charge_period_start"
            ),
        ),
        ("struct.parquet", "* replace ({'gpu-cluster': 'train-gpt3-175b'} as Tags)"),
    ],
)
def test_forms_of_exports(name: str, columns: str, tmp_path: Path) -> None:
    """Maps, lists and structs of tags, objects without braces, other cases and underscores say the same."""
    export = read(write([row()], tmp_path / name, columns))
    assert [(group.amount, group.quantity) for group in export.groups] == [(537_600.0, NODES * HOURS)]
    assert (export.spans[0].end - export.spans[0].start).total_seconds() == HOURS * 3600


@pytest.mark.parametrize("name", ["bill[1].csv", "bill?.csv", "bill*.csv", "bill[1].parquet", "bill's.csv"])
def test_a_file_is_read_and_no_other(name: str, tmp_path: Path) -> None:
    """Marks of patterns in a file's name are taken as they are, with files beside it that would fit the pattern."""
    for other in ("bill1", "billx"):
        write([row(), row(ResourceId="i-2")], tmp_path / f"{other}{Path(name).suffix}")
    plain = write([row()], tmp_path / f"plain{Path(name).suffix}")
    (group,) = read(plain.rename(tmp_path / name)).groups
    assert (group.amount, group.charges) == (537_600.0, 1)


def test_azure_and_google_names(plan: Plan, planned: tuple[Charge, ...], tmp_path: Path) -> None:
    """Azure's meter names the machine; Google bills parts of it, of which GPU-hours are nodes times eight."""
    azure = {"ProviderName": "Microsoft", "SubAccountId": "a"}
    google = {"ProviderName": "Google Cloud", "SubAccountId": "g", "PricingUnit": "h"}
    path = write(
        [
            row(**azure, SkuMeter="ND96isr H100 v5", PricingUnit="1 Hour", PricingQuantity="100", EffectiveCost="9832"),
            row(**azure, SkuMeter="P10 LRS Disk", ServiceName="Storage", EffectiveCost="10"),
            row(
                **google, SkuMeter="Nvidia H100 80GB GPU running in Americas", PricingQuantity="80", EffectiveCost="700"
            ),
            row(**google, SkuMeter="A3 Instance Core running in Americas", PricingQuantity="2080", EffectiveCost="100"),
            row(**google, SkuMeter="A3 Instance Ram running in Americas", PricingQuantity="18720", EffectiveCost="85"),
        ],
        tmp_path / "export.csv",
    )
    found = compare(plan, planned, read(path), cost="effective", rates={})
    by_target = {option.target: {entry.line: entry for entry in option.lines} for option in found.options}
    nodes = by_target["azure"]["azure/Standard_ND96isr_H100_v5"]
    assert (nodes.actual_quantity, nodes.actual_unit_usd) == (100.0, pytest.approx(98.32))
    disks = by_target["azure"]["azure/premium-ssd"]
    assert (disks.actual_usd, disks.actual_quantity) == (10.0, None)
    assert "counted in another way" in disks.because
    parts = by_target["gcp"]["gcp/a3"]
    assert (parts.actual_quantity, parts.actual_usd) == (10.0, 885.0)


def test_gaps_are_not_counted(tmp_path: Path) -> None:
    """Time without usage is not planned for; hours that touch or overlap are one span."""
    hours = ["02T00", "02T01", "02T01", "05T00"]
    rows = [
        row(
            ResourceId=f"i-{number}",
            ChargePeriodStart=f"2026-11-{hour}:00:00Z",
            ChargePeriodEnd=f"2026-11-{hour[:3]}{int(hour[3:]) + 1:02d}:00:00Z",
        )
        for number, hour in enumerate(hours)
    ]
    spans = read(write(rows, tmp_path / "export.csv")).spans
    assert [(span.end - span.start).total_seconds() / 3600 for span in spans] == [2.0, 1.0]


def test_currencies(billed: Callable[..., Comparison]) -> None:
    """Another currency is counted at its rate, and refused without one."""
    assert line(billed(row(BillingCurrency="EUR"), EUR=1.1), "aws/p5.48xlarge").actual_usd == pytest.approx(591_360)
    with pytest.raises(InputError, match="billed in EUR"):
        billed(row(BillingCurrency="EUR"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"EffectiveCost": "1,000.00"}, "no number, for example '1,000.00'"),
        ({"EffectiveCost": ""}, "a cost that is no number"),
        ({"EffectiveCost": "NaN"}, "a cost that is no number"),
        ({"ChargePeriodEnd": "2026-11-01T00:00:00Z"}, "ends before it begins"),
        ({"ChargePeriodStart": "yesterday"}, "cannot be read"),
        ({"ChargePeriodEnd": "9999-12-31T00:00:00Z"}, "not of this century, for example '2026-11"),
        ({"ChargePeriodEnd": "20260-12-31T00:00:00Z"}, "not of this century"),
        ({"ChargePeriodEnd": "infinity"}, "not of this century"),
        ({"ChargePeriodStart": "0026-11-01T00:00:00Z"}, "not of this century"),
        ({"ChargeCategory": "Fee"}, "a charge category that FOCUS does not have, for example 'Fee'"),
        ({"Tags": "{}"}, "no row has this tag"),
        ({"Tags": '{"gpu-cluster": "other"}'}, "its values are other"),
        ({"ProviderName": "Oracle"}, "the plan no option there"),
        ({"ChargeCategory": "Credit"}, "no usage of aws"),
    ],
)
def test_bad_rows(changes: Row, told: str, billed: Callable[..., Comparison]) -> None:
    """What cannot be compared is reported, with an example."""
    with pytest.raises(InputError) as error:
        billed(row(**changes))
    assert told in error.value.message


def test_bad_files(tmp_path: Path) -> None:
    """Files that are absent, of two kinds, of another schema, or no tables at all."""
    text = write([row()], tmp_path / "a.csv")
    table = write([row()], tmp_path / "a.parquet")
    other = write([row()], tmp_path / "b.csv", "* exclude (Tags, EffectiveCost)")
    damaged = tmp_path / "c.parquet"
    damaged.write_text("<html>not found</html>")
    empty = tmp_path / "d.csv"
    empty.write_text("")
    for paths, told in (
        ([tmp_path / "absent.csv"], "there is no file"),
        ([text, table], "mixed"),
        ([other], "no column EffectiveCost, Tags"),
        ([damaged], "cannot be read as a FOCUS export"),
        ([empty], "FOCUS export"),
    ):
        with pytest.raises(InputError) as error:
            read(*paths)
        assert told in error.value.message


amounts = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


@given(cost=amounts, quantity=amounts)
@settings(max_examples=25, deadline=None)
def test_parts_add_up(plan: Plan, planned: tuple[Charge, ...], cost: float, quantity: float) -> None:
    """Whatever was billed, what quantity and price explain is the difference."""
    group = ChargeGroup(
        provider="AWS",
        service="",
        sku="aws/p5.48xlarge",
        bill_line="",
        meter="",
        description="",
        charge_category="Usage",
        charge_class="",
        pricing_category="",
        commitment_status="",
        currency="USD",
        unit="hours",
        amount=cost,
        quantity=quantity,
        every_quantity_known=True,
        charges=1,
    )
    span = Span(provider="AWS", start=BEGIN.replace(tzinfo=None), end=END.replace(tzinfo=None))
    export = FocusExport(groups=(group,), spans=(span,), tagged=(), repeated=0, billing_periods=())
    option: Actual = compare(plan, planned, export, cost="effective", rates={}).options[0]
    found = next(entry for entry in option.lines if entry.line == "aws/p5.48xlarge")
    assert found.quantity_usd is not None
    assert found.price_usd is not None
    assert found.quantity_usd + found.price_usd == pytest.approx(found.difference_usd, abs=1e-6)


def test_command(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON and CSV of the command line; a name in the export is no formula."""
    stored = tmp_path / "plan.json"
    stored.write_text(dumps(dataclasses.replace(plan, options=plan.options[:1], breakevens=())), encoding="utf-8")
    path = write([row(), row(SkuMeter="=1+1", ServiceName="=x", ResourceId="u")], tmp_path / "export.csv")
    asked: dict[str, Any] = {
        "tag": None,
        "cost": "effective",
        "rates": [],
        "count_repeated": False,
        "as_json": False,
        "as_csv": False,
    }
    assert command.actual(stored, [path], **asked) == 0
    text = capsys.readouterr().out
    assert "effective cost of 2026-11-02 00:00 to 2026-11-09 00:00 UTC, 168 hours billed" in text
    assert command.actual(stored, [path], **{**asked, "as_json": True}) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["options"][0]["lines"][0]["line"] == "=x: =1+1"
    assert command.actual(stored, [path], **{**asked, "as_csv": True}) == 0
    assert ",'=x: =1+1," in capsys.readouterr().out
    for wrong in ({"cost": "list"}, {"tag": "name"}, {"as_json": True, "as_csv": True}, {"rates": ["EUR=x"]}):
        with pytest.raises(InputError):
            command.actual(stored, [path], **{**asked, **wrong})


def test_the_text_is_in_the_currency_of_the_plan(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bill in USD is read beside a plan that is reported in euros: one currency, and its rate."""
    euro = Currency(code="EUR", usd=1.25, day="2026-10-15", source="ECB")
    stored = tmp_path / "plan.json"
    one = dataclasses.replace(plan, options=plan.options[:1], breakevens=(), currency=euro)
    stored.write_text(dumps(one), encoding="utf-8")
    path = write([row()], tmp_path / "export.csv")
    asked: dict[str, Any] = {"tag": None, "cost": "effective", "rates": [], "count_repeated": False}
    assert command.actual(stored, [path], as_json=False, as_csv=False, **asked) == 0
    text = capsys.readouterr().out
    # A week of all nodes at 50 USD an hour is 537,600 USD.
    assert "€430,080" in text
    assert "$" not in text
    assert "1 EUR = 1.25 USD on 2026-10-15 (ECB)" in text
