"""Published cost calculations, reproduced by the command a user has."""

import json
from pathlib import Path

import pytest

from clusterwright.cli import validate_tco
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED
from clusterwright.evidence.tco_check import check_case
from clusterwright.pricing.book import PriceBook

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
        "computed": pytest.approx(13919.64), "expected": 13919.64, "tolerance": 0.005, "ok": True, "reason": "",
    }  # fmt: skip
    never = told["outputs"]["own.vs.rent.payback_month"]
    assert (never["computed"], never["expected"], never["ok"]) == (None, None, True)
    assert "not back" in never["reason"]


@pytest.mark.parametrize(
    ("before", "after"), [("3.82}", "3.83}"), ("utilisation: {value: 0.3883", "utilisation: {value: 0.39")]
)
def test_difference_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str) -> None:
    """Another input or another published figure ends in exit 1, with the figure named."""
    text = CASES[0].with_name("ewyluda_h100.yaml").read_text(encoding="utf-8")
    assert before in text
    changed = tmp_path / "case.yaml"
    changed.write_text(text.replace(before, after), encoding="utf-8")
    assert validate_tco.tco([changed], every=True, as_json=False) == EXIT_RULE_FAILED
    told = capsys.readouterr().out
    assert "DIFFERS" in told
    assert "own.vs.rent.discounted_payback_months" in told


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
