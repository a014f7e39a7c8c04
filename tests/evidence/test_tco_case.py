"""What a TCO case may say, and how mistakes in it are reported."""

import json
import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from clusterwright.assets import root
from clusterwright.blueprint.reading.document import read
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.errors import InputError
from clusterwright.evidence.cost_cases.case import json_schema
from clusterwright.evidence.cost_cases.check import CheckedCase
from clusterwright.evidence.cost_cases.expressions import calculate
from clusterwright.pricing.book import PriceBook
from tests.opened import check_case

SHIPPED = sorted((Path(__file__).parents[1] / "published" / "tco").glob("*.yaml"))
PLAIN = """case: plain
options:
  own: {gpus: 8, purchase: {usd: 1000}}
  rent: {gpus: 8, rent: {usd_per_month: 100}}
"""


@cache
def _book() -> PriceBook:
    return PriceBook.open()


def _case(folder: Path, text: str) -> CheckedCase:
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return check_case(path, _book())


def _refusal(folder: Path, text: str) -> str:
    with pytest.raises(BlueprintError) as caught:
        _case(folder, text)
    assert caught.value.exit_code == 2
    return caught.value.render()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_cases_follow_the_schema(path: Path) -> None:
    """The JSON Schema that editors read accepts what the command accepts."""
    jsonschema.Draft202012Validator(json_schema()).validate(read(path).value)


def test_schema_refuses_unknown_keys() -> None:
    """An editor marks a key that is not there."""
    value = {"case": "x", "options": {"a": {"gpu": 1}}, "expected": {"a.total_usd": 1}}
    assert list(jsonschema.Draft202012Validator(json_schema()).iter_errors(value))
    value = {"case": "x", "options": {"a": {"gpus": 1}}, "expected": {"a": {"total_usd": 1, "vs": {"b": {"c": None}}}}}
    assert not list(jsonschema.Draft202012Validator(json_schema()).iter_errors(value))
    json.dumps(json_schema())


@pytest.mark.parametrize(
    ("wrong", "message", "place"),
    [
        ("utilization: 1\n", "did you mean 'utilisation'?", "5:1"),
        ("utilisation: 120 %\n", "less than or equal to 1", "5:14"),
        ("utilisation: 0\n", "greater than 0", "5:14"),
        ("discount_rate: -5 %\n", "greater than or equal to 0", "5:16"),
        ("discount_rate: .nan\n", "nan is not a fraction", "5:16"),
        ("hours_per_month: 0\n", "greater than or equal to 1", "5:18"),
        ("tolerance: {absolut: 1}\n", "did you mean 'absolute'?", "5:13"),
        ("derived: {x: own.total / 2}\n", "did you mean 'own.total_usd'?", "5:14"),
        ("derived: {x: 1 / 0}\n", "has no value", "5:14"),
        ("derived: {x: __import__('os')}\n", "no function '__import__'", "5:14"),
        ("derived: {x: own.total_usd.__class__}\n", "no figure", "5:14"),
        ("derived: {x: 9 ** 9 ** 9}\n", "too large", "5:14"),
        ("derived: {own.x: 1}\n", "cannot be a name", "5:11"),
        ("derived: {a: b + 1, b: a}\n", "'a', 'b' need each other", "5:14"),
        ("derived: {x: 1 / rent.vs.own.saving_usd / 0}\n", "divides by zero", "5:14"),
        ("derived: {x: own.total_usd > 1}\n", "not arithmetic", "5:14"),
        ("discount_rate: 8\n", "8 % or 0.08", "5:16"),
        ("hours_per_month: 730 kW\n", "'kW' is a unit of power", "5:18"),
        ("values: {x: 1e308}\n", "less than or equal to", "5:13"),
        ("values: {x: about 5}\n", "'about 5' is not a number", "5:13"),
        ("values: {x: 90 EUR}\n", "usd_per: {EUR: 1.08}", "5:13"),
        ("usd_per: {euro: 1}\n", "string should match pattern", "5:11"),
        ("tax_rate: 21 %\n", "needs the depreciation of what own buys", "3:28"),
        ("discount_rate: {equity: 1}\n", "did you mean 'cost_of_equity'?", "5:17"),
        ("values: 5\n", "names, and what belongs to each: numbers that derived", "5:9"),
        ("tolerance: 1\n", "known here: absolute, relative", "5:12"),
    ],
)
def test_mistake_is_reported_with_its_place(tmp_path: Path, wrong: str, message: str, place: str) -> None:
    """What is wrong is reported with line and column, and a hint."""
    refusal = _refusal(tmp_path, PLAIN + wrong + "expected: {own.total_usd: 1000}\n")
    assert message in refusal
    assert f"case.yaml:{place}" in refusal


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("{rent: {usd_per_hour: 1}, purchase: {usd: 1}}", "bought or rented, not both"),
        ("{rent: {usd_per_server_hour: 1}}", "needs gpus_per_server"),
        ("{rent: {discount: 10 %}}", "one of usd_per_gpu_hour"),
        ("{gpus: 8}", "costs nothing"),
        ("{gpus: 0, monthly: {gpu: 1}}", "greater than 0"),
        ("{monthly: {gpu: -1}}", "greater than or equal to 0"),
        ("{purchase: {usd: 1, capital_charge_per_year: 8 %}, levelised: {years: 5}}", "keep one"),
        ("{purchase: {usd: 1}, depreciation: {method: macrs_6}}", "there is no depreciation method 'macrs_6'"),
        ("{purchase: {usd: 1}, levelised: {tax_rate: 100 %}}", "less than 1"),
        ("{monthly: {gpu: 1}, loan: {rate_per_year: 5 %, months: 12}}", "need a purchase"),
        ("{monthly: {gpu: 1}, support: {fracton: 5 %}}", "did you mean 'fraction'?"),
        ("{monthly: {gpu: 1}, costs: [{name: a, usd: 1, per: gpu_day}]}", "'once'"),
        ("{costs: [{name: a, usd: 1, per: month, annuity: {rate_per_year: 0, months: 9}}]}", "per is once"),
        ("{power: {kw: 1, load_fraction: 50 %, idle_fraction: 60 %}}", "idle_fraction is above load_fraction"),
        ("{costs: [{name: a, usd: 1, per: month, every_months: 12}]}", "repeats what is paid once"),
        ("{costs: [{name: a, usd: 1, per: month, from_month: 9, to_month: 3}]}", "to_month is before from_month"),
        ("{costs: [{name: a, usd: 1, per: once, from_month: 1.5}]}", "multiple of 1"),
        ("{costs: [{name: a, usd: 1, per: once, every_months: 0}]}", "greater than 0"),
        ("{monthly: {gpu: 1}, by_year: {gpu: -100 %}}", "greater than -1"),
        ("{monthly: {gpu: 1}, by_year: {gpu: 5}}", "5 % or 0.05"),
        ("{monthly: {gpu: 1}, by_year: {gpu: []}}", "[] is not a fraction"),
        ("{monthly: {gpu: 1}, utilisation: [50 %, 120 %]}", "less than or equal to 1"),
        ("{purchase: {usd: 0, resale_usd: 5}}", "needs something that was bought"),
        ("{monthly: {gpu: 1}, goodput_loss: {fractoin: 1}}", "did you mean 'fraction'?"),
        ("{monthly: {gpu: 1}, goodput_loss: {fraction: 1 %, of: [gpus]}}", "did you mean 'gpu'?"),
        ("{monthly: {gpu: 1}, by_year: {stuff: 1 %}}", "known here: capital, cpu"),
        ("{purchase: {usd: 1}, support: {fraction: 1 %, of: [purchase]}}", "purchase is no running cost"),
        ("{monthly: {gpu: 1}, support: 1 %, goodput_loss: {fraction: 1 %, of: [support]}}", "is a share itself"),
        ("{costs: [{name: a, usd: 1}]}", "for example month, gpu_hour"),
    ],
)
def test_contradiction_in_an_option(tmp_path: Path, option: str, message: str) -> None:
    """An option that cannot be calculated says why."""
    assert message in _refusal(tmp_path, f"case: x\noptions:\n  a: {option}\nexpected: {{a.total_usd: 1}}\n")


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    """Every mistake is reported in one go."""
    refusal = _refusal(tmp_path, PLAIN + "a: 1\nb: 2\nexpected: {}\n")
    assert refusal.count("error: ") == 3


@pytest.mark.parametrize("key", ["source[1, 2]", "float", "Support"])
def test_unknown_keys_that_look_like_names_of_forms_are_reported(tmp_path: Path, key: str) -> None:
    """A key in brackets, or with the name of one of the program's own forms, is reported like any other unknown key."""
    for text in (f"case: x\n{key}: y\n", f"case: x\noptions: {{a: {{{json.dumps(key)}: 1}}}}\n"):
        refusal = _refusal(tmp_path, text)
        assert f"there is no key {key!r} here" in refusal
        assert "case.yaml:2:" in refusal


def test_unknown_figure_is_reported(tmp_path: Path) -> None:
    """A figure that is not computed is refused, with the closest name."""
    refusal = _refusal(tmp_path, PLAIN + "expected: {own.vs.rent.breakeven_month: 10}\n")
    assert "did you mean 'own.vs.rent.breakeven_months'?" in refusal
    refusal = _refusal(tmp_path, PLAIN + "expected: {own.total_usd: {expected: 10}}\n")
    assert "a figure is a number, null, or {value" in refusal
    shorter = PLAIN.replace("rent: {gpus: 8,", "rent: {gpus: 8, horizon_months: 12,")
    refusal = _refusal(tmp_path, shorter + "expected: {own.vs.rent.payback_month: 10}\n")
    assert "two options of different horizons" in refusal


def test_what_is_none_says_why(tmp_path: Path) -> None:
    """Every figure that is none has a reason, a derived one too."""
    text = PLAIN.replace("usd_per_month: 100", "usd_per_month: 0") + "derived: {no: own.vs.rent.saving_fraction * 2}\n"
    checked = _case(
        tmp_path, text + "expected: {own: {servers: null, vs: {rent: {saving_fraction: null}}}, no: null}\n"
    )
    assert [each.reason for each in checked.outputs.values()] == [
        "a figure it is derived from is none",
        "gpus_per_server is not given",
        "rent costs nothing",
    ]


def test_dearer_by_use_costs_less_above_no_utilisation(tmp_path: Path) -> None:
    """What costs less only while little is used, or never, breaks even nowhere; at every use: at 0."""
    text = """case: dear
options:
  own: {monthly: {ops: 365}}
  rent: {rent: {usd_per_hour: 1}}
  spot: {rent: {usd_per_hour: 0.8}, monthly: {ops: 73}}
  committed: {rent: {usd_per_hour: 2, pays: all_hours}}
expected:
  own: {vs: {rent: {breakeven_utilisation: 0.5}, spot: {breakeven_utilisation: 0.5}}}
  rent: {vs: {own: {breakeven_utilisation: null}, committed: {breakeven_utilisation: 0}}}
  spot: {vs: {own: {breakeven_utilisation: null}, rent: {breakeven_utilisation: 0.5}}}
  committed: {vs: {rent: {breakeven_utilisation: null}}}
"""
    assert _case(tmp_path, text).ok


def test_category_of_another_option_is_nothing(tmp_path: Path) -> None:
    """Beside an option that pays for a category, one that does not pays 0 for it."""
    checked = _case(
        tmp_path,
        PLAIN + "expected: {own.total.gpu_usd: 0, rent.monthly.purchase_usd: 0, rent.monthly.gpu_usd: 100}\n",
    )
    assert checked.ok


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "just text\n"])
def test_no_case_at_all(tmp_path: Path, text: str) -> None:
    """An empty file or a list is no case."""
    with pytest.raises(InputError):
        _case(tmp_path, text)
    with pytest.raises(InputError):
        check_case(tmp_path / "absent.yaml")
    with pytest.raises(InputError):
        check_case(tmp_path)


def test_support_is_a_share_of_what_is_named(tmp_path: Path) -> None:
    """A support plan is a share of what the provider bills, or of the categories that are named."""
    text = """case: support
options:
  plain: {monthly: {gpu: 100, storage: 10, debugging: 50}, support: 10 %}
  named: {monthly: {gpu: 100, storage: 10, debugging: 50}, support: {fraction: 10 %, of: [gpu, debugging]}}
  lossy: {monthly: {gpu: 100, storage: 10}, goodput_loss: 3 %, one_time: {setup: 720}}
  wide: {monthly: {gpu: 100, storage: 10}, goodput_loss: {fraction: 10 %, of: [gpu, storage]}}
horizon_months: 24
tolerance: {absolute: 1e-9}
expected:
  plain.monthly.support_usd: 11
  plain.monthly_usd: 171
  named.monthly.support_usd: 15
  lossy.monthly.goodput_loss_usd: 3
  lossy.monthly.one_time_usd: 30
  lossy.monthly_usd: 143
  wide.monthly.goodput_loss_usd: 11
  plain.vs.lossy.saving_usd: -672
"""
    assert _case(tmp_path, text).ok


def test_owned_and_rented_costs(tmp_path: Path) -> None:
    """Whole servers, cost lines per what they are counted, resale, and pairs against each other."""
    text = """case: everything
hours_per_month: 720
horizon_months: 12
utilisation: 50 %
options:
  own:
    gpus: 12
    gpus_per_server: 8
    purchase: {usd_per_gpu: 100, usd_per_server: 1000, usd: 400, resale_fraction: 25 %, installation_fraction: 10 %}
    costs:
      - {name: licence, usd: 12, per: gpu_year, category: software}
      - {name: rack, usd: 5, per: server_month}
      - {name: wear, usd: 0.01, per: gpu_used_hour}
      - {name: cabling, usd: 7, per: server}
  parts: {gpus: 12, gpus_per_server: 8, whole_servers: false, purchase: {usd_per_server: 1000}}
  rent: {gpus: 12, rent: {usd_per_gpu_hour: 0.1, discount: 10 %}}
  committed: {gpus: 12, rent: {usd_per_gpu_hour: 0.1, pays: all_hours}}
tolerance: {absolute: 1e-6}
expected:
  own.servers: 2
  own.gpus_paid: 16
  own.total.purchase_usd: 4000
  own.total.installation_usd: 400
  own.total.resale_usd: -1000
  own.total.software_usd: 192
  own.total.other_usd: 811.2
  own.total.one_time_usd: 14
  own.capex_usd: 4414
  own.total_usd: 4417.2
  parts.servers: 1.5
  parts.total_usd: 1500
  rent.total_usd: 4665.6
  committed.total_usd: 10368
  rent.usd_per_gpu_hour: 0.09
  own.vs.rent.saving_usd: 248.4
  own.vs.committed.npv_saving_usd: 5950.8
"""
    checked = _case(tmp_path, text)
    assert {name: output for name, output in checked.outputs.items() if not output.ok} == {}


def test_breakeven_rent_is_where_both_cost_the_same(tmp_path: Path) -> None:
    """At the breakeven price of a rented GPU-hour the saving is nothing, support and lost work included."""
    text = """case: breakeven
horizon_months: 24
options:
  own: {{gpus: 8, purchase: {{usd: 200000}}}}
  rent: {{gpus: 8, rent: {{usd_per_gpu_hour: {usd}}}, monthly: {{storage: 10}}, support: 5 %, goodput_loss: 3 %}}
expected: {{own.vs.rent.saving_usd: {{value: 0, absolute: 0.01}}}}
"""
    price = _case(tmp_path, text.format(usd=2)).computed["own.vs.rent.breakeven_rent_usd_per_gpu_hour"]
    assert price is not None
    assert _case(tmp_path, text.format(usd=price)).ok


@pytest.mark.parametrize(
    ("text", "value"), [("a.b - -2", 5.0), ("max(a.b, 7) / 2", 3.5), ("round(10 / a.b, 2)", 3.33), ("none * 2", None)]
)
def test_expressions(text: str, value: float | None) -> None:
    """Derived figures are plain arithmetic; what is derived from none is none."""
    assert calculate(text, {"a.b": 3.0, "none": None}) == value


def test_documented_case(tmp_path: Path) -> None:
    """The case that the document shows runs and agrees."""
    text = (root() / "docs" / "evidence" / "tco-cases.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    assert _case(tmp_path, found[1]).ok


def test_what_is_paid_once_stands_in_its_category(tmp_path: Path) -> None:
    """A category that the case gives is kept; without one, what is paid once is `one_time`. Nothing else moves."""
    text = """case: once
horizon_months: 10
options:
  own:
    gpus: 4
    purchase: {usd: 1000}
    support: 10 %
    one_time: {setup: 30}
    costs:
      - {name: switches, usd: 50, per: gpu, category: network}
      - {name: transit, usd: 7, per: month, category: network}
      - {name: crates, usd: 5, per: once}
  rent: {gpus: 4, costs: [{name: move, usd: 90, per: once, category: moving}]}
expected:
  own.total.network_usd: 270
  own.total.one_time_usd: 35
  own.total.support_usd: 7
  own.capex_usd: 1235
  own.total_usd: 1312
  rent.total.moving_usd: 90
"""
    checked = _case(tmp_path, text)
    assert checked.ok, checked.outputs
    assert checked.computed["rent.total.one_time_usd"] == 0.0


def test_resale_of_a_levelised_cost_is_discounted_as_its_annuity(tmp_path: Path) -> None:
    """(capex - resale / (1 + rate)^years) x CRF(rate, years): the rate and the life of the section, not of the case."""
    text = """case: levelised
horizon_months: 60
options:
  own: {gpus: 1, purchase: {usd: 40000, resale_fraction: 25 %}, levelised: {rate: 8 %, years: 4}}
  case: {gpus: 1, purchase: {usd: 40000, resale_fraction: 25 %}, levelised: {fixed_charge_rate: 30 %}}
tolerance: {absolute: 0.005}
expected:
  own.levelised_capital_usd_per_year: 9857.62
  case.levelised_capital_usd_per_year: 9000
"""
    checked = _case(tmp_path, text)
    assert checked.ok, checked.outputs


def test_amounts_as_people_write_them(tmp_path: Path) -> None:
    """Signs, separators, scales and currencies of amounts, units of times, and names in capitals or of Python's own."""
    text = """case: written
horizon_months: 2 years
hours_per_month: 720 h
usd_per: {EUR: "1.1"}
options:
  AWS: {gpus: 8, rent: {usd_per_gpu_hour: "$2.50"}}
  lambda: {purchase: {usd: "$1,250,000"}, power: {kw: 10 kW}, costs: [{name: a, usd: 1 k EUR, per: year}]}
tolerance: 0 %
derived: {both: lambda.total_usd + rate * AWS.gpu_hours, rate: one * 2}
values: {one: 1}
expected:
  AWS: {total_usd: 345600, vs: {lambda: {saving_usd: 906600}}}
  lambda.total_usd: 1.2522 M
  both: 1528680
"""
    assert _case(tmp_path, text).ok


def test_ends_of_time(tmp_path: Path) -> None:
    """What would be paid after the horizon is not; an option that costs nothing, and one that earns, count too."""
    text = """case: ends
horizon_months: 35.5
options:
  a:
    costs:
      - {name: too late, usd: 1, per: month, from_month: 40}
      - {name: after the end, usd: 5, per: once, from_month: 36}
      - {name: in time, usd: 7, per: once, from_month: 35}
  b: {purchase: {usd: 100, resale_usd: 200}}
  c: {monthly: {gpu: 0}}
expected: {a.total_usd: 7, b.total_usd: -100, c.total_usd: 0, c.vs.a.saving_fraction: 1, a.vs.c.saving_fraction: null}
"""
    assert _case(tmp_path, text).ok
