"""Published cost calculations, reproduced by the command a user has."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.measured import validate_tco
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED
from clusterwright.pricing.book import PriceBook
from tests.opened import check_case

CASES = sorted((Path(__file__).parent / "tco").glob("*.yaml"))


@pytest.fixture(scope="module")
def book() -> PriceBook:
    """The shipped price points; a case brings its own prices."""
    return PriceBook.open()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_published_case(path: Path, book: PriceBook) -> None:
    """Every published figure comes out of the engine.

    It is held to its printed digits, or to a thousandth; a case names its source.
    """
    checked = check_case(path, book)
    assert {name: output for name, output in checked.outputs.items() if not output.ok} == {}
    assert checked.ok
    assert checked.source
    for name, output in checked.outputs.items():
        if output.expected:
            assert output.tolerance <= max(0.06, 0.0121 * abs(output.expected)), name


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON names the case and, of each figure, what was computed, expected and tolerated."""
    assert validate_tco.tco([CASES[0].with_name("ewyluda_b200.yaml")], every=False, as_json=True) == EXIT_FINE
    told = json.loads(capsys.readouterr().out)
    assert told["case"] == "ewyluda build versus rent, 8 B200"
    assert told["ok"] is True
    assert told["outputs"]["rent.monthly_usd"] == {
        "computed": pytest.approx(13919.64),
        "expected": 13919.64,
        "tolerance": 0.005,
        "ok": True,
        "reason": "",
    }
    never = told["outputs"]["own.vs.rent.payback_month"]
    assert (never["computed"], never["expected"], never["ok"]) == (None, None, True)
    assert "not back" in never["reason"]


@pytest.mark.parametrize(
    ("before", "after"), [("3.82}", "3.83}"), ("utilisation: {value: 0.3883", "utilisation: {value: 0.39")]
)
def test_difference_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str) -> None:
    """Another input or another published figure ends in exit 1, with the figure named."""
    text = CASES[0].with_name("ewyluda_h100.yaml").read_text(encoding="utf-8")
    assert before in text
    changed = tmp_path / "case.yaml"
    changed.write_text(text.replace(before, after), encoding="utf-8")
    assert validate_tco.tco([changed], every=True, as_json=False) == EXIT_RULE_FAILED
    told = capsys.readouterr().out
    assert "DIFFERS" in told
    assert "own.vs.rent.discounted_payback_months" in told


CASE = """\
case: printed digits
hours_per_month: 730
horizon_months: 36
options: {{rent: {{gpus: 8, rent: {{usd_per_gpu_hour: 1.23456, pays: all_hours}}}}}}
tolerance: {{absolute: 0}}
expected: {{rent.total_usd: {expected}}}
"""


@pytest.mark.parametrize(
    ("expected", "agrees"),
    [
        ("259554", True),
        ("259553", False),
        ('"259,553.9"', True),
        ('"259,553.8"', False),
        ("2.5955e5", True),
        ("2.595e5", False),
        ("0.26 M", True),
        ("0.27 M", False),
        ("{value: 259554, absolute: 0.001}", False),
    ],
)
def test_a_figure_agrees_to_its_printed_digits(
    tmp_path: Path, book: PriceBook, capsys: pytest.CaptureFixture[str], expected: str, agrees: bool
) -> None:
    """A figure that rounds to what was printed agrees; where one differs, the two that are shown differ."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE.format(expected=expected), encoding="utf-8")
    output = check_case(path, book).outputs["rent.total_usd"]
    assert output.computed == pytest.approx(259553.89, abs=0.01)
    assert output.ok is agrees
    validate_tco.tco([path], every=False, as_json=False)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  rent.total_usd"))
    _, computed, published, *_ = line.split()
    assert line.endswith("ok" if agrees else "DIFFERS")
    assert agrees or computed != published


def test_figures_that_differ_are_shown_with_digits_that_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tolerance of its own that is finer than the digits shown adds digits: never two equal numbers that differ."""
    path = tmp_path / "case.yaml"
    text = CASE.format(expected="{value: 259553.8930, absolute: 0.000001}")
    path.write_text(text, encoding="utf-8")
    assert validate_tco.tco([path], every=False, as_json=False) == EXIT_RULE_FAILED
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  rent.total_usd"))
    _, computed, published, *_ = line.split()
    assert computed != published


def test_none_is_not_a_number(tmp_path: Path, book: PriceBook) -> None:
    """A figure that is none does not pass for a number, nor a number for none."""
    text = CASES[0].with_name("ewyluda_b200.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "case.yaml"
    text = text.replace("payback_month: null", "payback_month: 60")
    changed.write_text(text.replace("rent.monthly_usd: 13919.64", "rent.monthly_usd: null"), encoding="utf-8")
    outputs = check_case(changed, book).outputs
    assert {name for name, output in outputs.items() if not output.ok} == {
        "own.vs.rent.payback_month",
        "rent.monthly_usd",
    }
