"""Bands of uncertain inputs in the blueprint, as a user gives them."""

import json

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.compare import finance
from clusterwright.cli.planning import plan_of

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"


def test_bands_reach_the_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """What the blueprint says of an input is what is drawn, with the user as its source."""
    bands = "{utilisation: {low: 60 %, high: 90 %, distribution: normal}, purchase_price: 0, pue: 10 %}"
    assert finance.compare(BLUEPRINT, [f"tco.uncertainty={bands}"], draws=50, seed=1, as_json=True) == 0
    told = {entry["key"]: entry for entry in json.loads(capsys.readouterr().out)["uncertainty"]["inputs"]}
    assert (told["utilisation"]["low"], told["utilisation"]["high"]) == (pytest.approx(0.75), pytest.approx(1.125))
    assert told["utilisation"]["distribution"] == "normal"
    assert (told["purchase_price"]["low"], told["purchase_price"]["high"]) == (1.0, 1.0)
    assert (told["pue"]["low"], told["pue"]["source"]) == (0.9, "blueprint")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{pue: x}", "'x' is not a fraction"),
        ("{pue: -5 %}", "greater than or equal to 0"),
        ("{pue: .nan}", "nan is not a fraction"),
        ("{pue: true}", "is no band"),
        ("{pue: {low: 1}}", "takes low and high"),
        ("{pue: {low: 2, high: 1}}", "above high"),
        ("{pue: {spread: 10 %, low: 1}}", "stands for both ends"),
        ("{pue: {spread: 10 %, distribution: discrete}}", "takes values"),
        ("{pue: {distribution: discrete}}", "takes values"),
        ("{pue: {distribution: discrete, values: [1.2, 1.6], shares: [30 %, 60 %]}}", "sum to 0.9"),
        ("{pue: {distribution: discrete, values: [1.2, 1.6], shares: [1]}}", "do not fit"),
        ("{pue: {low: 1, high: 2, distribution: weibull}}", "found 'weibull'"),
    ],
)
def test_wrong_bands(value: str, message: str) -> None:
    """A band that cannot be drawn from is told when the blueprint is read, with its place."""
    with pytest.raises(BlueprintError) as caught:
        load(BLUEPRINT, (f"tco.uncertainty={value}",))
    assert message in caught.value.render()
    assert "tco.uncertainty" in caught.value.render()
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("value", ["{block: 3 days}", "{drift: upward}", "{resale_correlation: 120 %}", "{from: x}"])
def test_wrong_path(value: str) -> None:
    """So is a rule of price paths that is none."""
    with pytest.raises(BlueprintError):
        load(BLUEPRINT, (f"tco.price_path={value}",))


@pytest.mark.parametrize("band", ["{low: 0, high: 0}", "{distribution: discrete, values: [0, 1]}"])
def test_no_work_at_all(band: str) -> None:
    """A run that takes no time would be rented for nothing."""
    with pytest.raises(BlueprintError, match="1 problem") as caught:
        finance.compare(BLUEPRINT, [f"tco.uncertainty.run_time={band}"], draws=50, seed=1, as_json=False)
    assert "run_time of 0 means that no work is done" in caught.value.render()


def test_band_that_fits_no_input() -> None:
    """A name that no input has stops every command that plans."""
    with pytest.raises(BlueprintError) as caught:
        plan_of(BLUEPRINT, ["tco.uncertainty={pu: 10 %}"])
    assert "did you mean 'pue'" in caught.value.render()


def test_amounts_beyond_the_cents_of_floats(capsys: pytest.CaptureFixture[str]) -> None:
    """Sums of 3e14 USD, which floats hold to a few cents, still reconcile: the audits compare twelve digits there."""
    owner = "{software_usd_per_gpu: 1e12, staff_usd_per_fte_year: 1e11}"
    asked = [f"tco.owner={owner}", "economics.horizon=60 months", "tco.tax_rate=0.3", "tco.depreciation=macrs_5"]
    assert finance.compare(BLUEPRINT, asked, draws=20, seed=1, as_json=False) == 0
    assert "on premises" in capsys.readouterr().out
