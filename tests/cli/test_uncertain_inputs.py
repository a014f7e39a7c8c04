"""Bands of uncertain inputs in the blueprint, as a user gives them."""

import json

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.load import load
from clusterwright.blueprint.problems import BlueprintError
from clusterwright.cli import finance
from clusterwright.cli.answer import load_and_decide

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


def test_band_that_fits_no_input() -> None:
    """A name that no input has stops every command that plans."""
    with pytest.raises(BlueprintError) as caught:
        load_and_decide(BLUEPRINT, ["tco.uncertainty={pu: 10 %}"])
    assert "did you mean 'pue'" in caught.value.render()
