"""compare --finance, as a user runs it."""

import json

import pytest

from clusterwright.assets import root
from clusterwright.cli import finance
from clusterwright.errors import InputError

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"


def test_finance_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Every target and term with a price, returns of owning, and shares of draws that sum to one."""
    assert finance.compare(BLUEPRINT, None, draws=200, seed=1, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    keys = [option["key"] for option in told["options"]]
    assert {"onprem", "aws/on_demand", "aws/reserved_3y", "azure/on_demand", "gcp/on_demand"} <= set(keys)
    assert [option["npv_usd"] for option in told["options"]] == sorted(option["npv_usd"] for option in told["options"])
    drawn = told["uncertainty"]["options"]
    assert {option["key"] for option in drawn} == set(keys)
    assert sum(option["probability_cheapest"] for option in drawn) == pytest.approx(1.0)
    saved = {entry["rented_key"]: entry for entry in told["returns"]}
    npv = {option["key"]: option["npv_usd"] for option in told["options"]}
    for key, entry in saved.items():
        assert entry["npv_usd"] == pytest.approx(npv[key] - npv["onprem"], rel=1e-9)
        assert entry["irr_per_year"] is None or entry["irr_per_year"] > 0.08
    assert told["uncertainty"]["base_saving_usd"] == pytest.approx(
        saved[told["uncertainty"]["compared_with"]]["npv_usd"]
    )


def test_finance_text_of_clouds_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Without anything owned there is a ranking, and no return on an investment."""
    gone = [f"targets.{name}=null" for name in ("onprem", "azure", "gcp")]
    assert finance.compare(BLUEPRINT, gone, draws=100, seed=1, as_json=False) == 0
    told = capsys.readouterr().out
    assert "AWS, reserved 3y" in told
    assert "Owning as an investment" not in told


def test_seed_is_checked() -> None:
    """A negative seed is told before anything is sized."""
    with pytest.raises(InputError, match="seed"):
        finance.compare(BLUEPRINT, None, draws=10, seed=-1, as_json=False)
