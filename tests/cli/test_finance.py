"""compare --finance, as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.compare import finance
from clusterwright.errors import EXIT_BUG, ClusterwrightError, InputError
from clusterwright.finance.finances import finances
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger

from .conftest import SMALL

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"


def test_finance_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Every target and term with a price, returns of owning, and shares of draws that sum to one."""
    assert finance.compare(BLUEPRINT, None, draws=200, seed=1, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    keys = [option["key"] for option in answer["options"]]
    assert {"onprem", "aws/on_demand", "aws/reserved_3y", "azure/on_demand", "gcp/on_demand"} <= set(keys)
    assert [option["npv_usd"] for option in answer["options"]] == sorted(
        option["npv_usd"] for option in answer["options"]
    )
    for option in answer["options"]:
        assert option["levelised_usd_per_gpu_hour"] > option["usd_per_gpu_hour"] * 0.8
        tokens, flops = option["usd_per_million_tokens"], option["usd_per_effective_pflop_hour"]
        assert tokens / flops == pytest.approx(
            answer["options"][0]["usd_per_million_tokens"] / answer["options"][0]["usd_per_effective_pflop_hour"]
        )
    drawn = answer["uncertainty"]["options"]
    assert {option["key"] for option in drawn} == set(keys)
    assert sum(option["probability_cheapest"] for option in drawn) == pytest.approx(1.0)
    saved = {entry["rented_key"]: entry for entry in answer["returns"]}
    npv = {option["key"]: option["npv_usd"] for option in answer["options"]}
    for key, entry in saved.items():
        assert entry["npv_usd"] == pytest.approx(npv[key] - npv["onprem"], rel=1e-9)
        assert entry["irr_per_year"] is None or (entry["irr_per_year"] > 0.08) == (entry["npv_usd"] > 0)
    assert answer["uncertainty"]["base_saving_usd"] == pytest.approx(
        saved[answer["uncertainty"]["compared_with"]]["npv_usd"]
    )


@pytest.mark.parametrize(
    "other",
    [
        "azure={instance: Standard_ND96amsr_A100_v4, region: eastus}",
        "gcp={instance: ct5p-hightpu-4t, region: us-east5}",
    ],
)
def test_another_accelerator_moves_no_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: str
) -> None:
    """An option with another accelerator leaves costs, quantiles and returns of the others as they were.

    It may be the cheapest of some draws: regret and shares are against it.
    """
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)

    def figures(*values: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        asked = ["economics.runs=10", *values]
        assert finance.compare(Path("small.yaml"), asked, draws=200, seed=1, as_json=True) == 0
        answer = json.loads(capsys.readouterr().out)
        quantiles = {
            entry["key"]: {name: value for name, value in entry.items() if name.startswith("npv")}
            for entry in answer["uncertainty"]["options"]
        }
        returns = {(entry["owned_key"], entry["rented_key"]): entry for entry in answer["returns"]}
        return {entry["key"]: entry for entry in answer["options"]}, quantiles, returns

    before, after = figures(), figures(f"targets.{other}")
    for alone, among in zip(before, after, strict=True):
        assert alone.keys() <= among.keys()
        for key, entry in alone.items():
            assert entry.keys() == among[key].keys()
            for name, value in entry.items():
                # Sums over more options may differ in the last bit.
                numeric = isinstance(value, int | float)
                assert among[key][name] == (pytest.approx(value, rel=1e-12) if numeric else value), (key, name)
    assert len(after[1]) > len(before[1])


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


class _Faulty(Ledger):
    """A cash flow in which a cent of each month's running costs is missing from the table that is added up."""

    def create(self, name: str, path: str, more: dict[str, Any], *, append: bool = False) -> None:
        """As the engine does, and then take the cents away."""
        super().create(name, path, more, append=append)
        if name == "cumulative":
            self._connection.execute("update cumulative set usd = usd - 0.01 where month_end > 0")


@pytest.mark.parametrize("where", ["decide", "alternatives.recount"])
def test_no_answer_from_a_cash_flow_that_does_not_reconcile(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The options and the ranking of a plan (plan, build) audit their cash flow; a fault is a bug, exit 70."""
    monkeypatch.setattr(f"clusterwright.plan.{where}.Ledger", _Faulty)
    with pytest.raises(ClusterwrightError, match=r"do not reconcile.*category_sum") as caught:
        finance.compare(BLUEPRINT, None, draws=10, seed=1, as_json=False)
    assert caught.value.exit_code == EXIT_BUG


def test_no_comparison_from_a_cash_flow_that_does_not_reconcile(
    shipped_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `compare` and the report count of a plan that is already made is audited too."""
    monkeypatch.setattr("clusterwright.plan.alternatives.recount.Ledger", _Faulty)
    with pytest.raises(ClusterwrightError, match=r"do not reconcile.*category_sum") as caught:
        finances(shipped_plan, PriceBook.open(), draws=10, seed=1)
    assert caught.value.exit_code == EXIT_BUG


def test_tax_delivery_and_loan(capsys: pytest.CaptureFixture[str]) -> None:
    """The section tco of the blueprint reaches the answer: books, bridge and loan."""
    values = ["tco.tax_rate=21 %", "tco.depreciation=macrs_5", "tco.delivery=6 months"]
    values += ["tco.loan.rate=8 %", "tco.loan.term=48 months", "tco.loan.share=50 %"]
    assert finance.compare(BLUEPRINT, values, draws=10, seed=1, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)["after_tax"]
    assert answer["delivery_months"] == 6
    by_key = {entry["key"]: entry for entry in answer["options"]}
    late = by_key["onprem/bridged"]
    assert late["npv_after_tax_usd"] > by_key["onprem"]["npv_after_tax_usd"]
    assert answer["financed"]["financed_usd"] == pytest.approx(
        (answer["books"][0]["depreciation_usd"] + answer["books"][0]["book_value_usd"]) / 2
    )
    assert finance.compare(BLUEPRINT, [*values, "tco.bonus_depreciation=law"], draws=100, seed=1, as_json=False) == 0
    text = capsys.readouterr().out
    assert "with 100 % at once" in text
    assert "at work after 6 months" in text
    assert "loan of" in text
    said = " ".join(text.split())
    assert "or it cannot be there before its delivery." in said
    assert "on premises; on premises, rented until delivery cannot do the work of" in said
    after_tax = text.partition("After tax, over the draws")[2].partition("\n\n")[0]
    dashes = {line.split("  ")[1]: line.endswith("–") for line in after_tax.splitlines()[1:]}
    assert dashes["Azure, spot"]
    assert dashes["on premises"]
    assert not dashes["on premises, rented until delivery"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["tco.tax_rate=100 %"], "less than 1"),
        (["tco.tax_rate=-1 %"], "greater than or equal to 0"),
        (["tco.delivery=36 months"], "end of the horizon"),
        (["tco.bonus_depreciation=120 %"], "is no share"),
        (["tco.loan.rate=8 %", "tco.loan.term=12 months", "tco.lease.rate=8 %"], "not both"),
        (["tco.depreciation=macrs_6"], "did you mean 'macrs_"),
        (["tco.tax=1"], "no key 'tax'"),
    ],
)
def test_wrong_section(values: list[str], message: str) -> None:
    """What cannot be counted with is told, with its place in the blueprint."""
    with pytest.raises(BlueprintError) as caught:
        finance.compare(BLUEPRINT, values, draws=10, seed=1, as_json=False)
    assert message in caught.value.render()
    assert caught.value.exit_code == 2
