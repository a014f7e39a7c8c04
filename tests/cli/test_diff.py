"""diff, as a user runs it: blueprints, plans, revisions; text, JSON, Markdown."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clusterwright.assets import root
from clusterwright.cli.planning import plan_of
from clusterwright.cli.render.diff import _delta
from clusterwright.cli.written import diff
from clusterwright.diff.causes import causes
from clusterwright.diff.differences import Change, differences
from clusterwright.errors import InputError
from clusterwright.plan.currency import Currency
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"
ONE_TARGET = [f"targets.{name}=null" for name in ("azure", "gcp")]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan of two targets."""
    return plan_of(BLUEPRINT, ONE_TARGET)


@pytest.fixture(scope="module")
def other() -> Plan:
    """The same, used less and with other prices of electricity."""
    values = [*ONE_TARGET, "economics.utilisation=60 %", "site.power_price=0.1 USD/kWh"]
    return plan_of(BLUEPRINT, values)


def test_terms_of_money_are_inputs(plan: Plan) -> None:
    """What the blueprint says of growth, delivery, tax, contracts and charges is compared as it was counted."""
    terms = (
        "tco.refresh=2 years",
        "tco.tax_rate=21 %",
        "tco.contracts=[{target: aws, term: reserved_1y}]",
        "tco.delivery=6 months",
        "tco.cloud={egress: 10 TB}",
        "tco.carbon={grid: us-va}",
    )
    found = {
        change.name: change.after
        for change in differences(plan, plan_of(BLUEPRINT, [*ONE_TARGET, *terms]), ("a", "b")).inputs
    }
    assert found["economics.growth.refresh_months"] == pytest.approx(24.0)
    assert found["onprem/bridged.delivery_months"] == pytest.approx(6.0)
    assert found["finance.taxes.tax_rate"] == pytest.approx(0.21)
    assert found["finance.carbon.grid"] == "us-va"
    assert found["aws/reserved_1y/contract.contract.period_months"] == pytest.approx(12.0)
    assert found["aws.charges.0.bytes_per_month"] == pytest.approx(10e12)
    assert not [name for name in found if name.startswith("economics.given")]


def test_nothing_changed(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan is the same as itself, in every form."""
    assert differences(plan, plan, ("a", "b")).same
    path = tmp_path / "plan.json"
    path.write_text(dumps(plan), encoding="utf-8")
    for markdown in (False, True):
        assert diff.diff(str(path), str(path), as_json=False, markdown=markdown) == 0
        assert "othing changed" in capsys.readouterr().out


def test_changes_and_why(plan: Plan, other: Plan) -> None:
    """The inputs that changed, and the dollars by category, which add up to the change of the total."""
    found = differences(plan, other, ("a", "b"))
    inputs = {change.name: (change.before, change.after) for change in found.inputs}
    assert inputs == {
        "economics.utilisation": (0.8, 0.6),
        "economics.power_price_usd_per_kwh": (pytest.approx(0.08), pytest.approx(0.1)),
    }
    owned = next(entry for entry in found.targets if entry.target == "onprem")
    total = next(change for change in owned.figures if change.name == "horizon_usd")
    assert sum(change.delta or 0.0 for change in owned.categories) == pytest.approx(total.delta)
    assert found.breakevens[0].name == "onprem against aws, months"
    back = differences(other, plan, ("b", "a"))
    assert [change.delta for change in back.breakevens] == [
        pytest.approx(-(change.delta or 0.0)) for change in found.breakevens
    ]


def test_target_added_and_removed(plan: Plan) -> None:
    """A target that one plan lacks is told as added or removed."""
    less = dataclasses.replace(plan, options=plan.options[:1], breakevens=())
    (removed,) = differences(plan, less, ("a", "b")).targets
    (added,) = differences(less, plan, ("a", "b")).targets
    assert (removed.presence, added.presence) == ("removed", "added")
    assert {change.after for change in removed.figures} == {None}


def test_json_and_markdown(plan: Plan, other: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON for programs; Markdown in which names are no markup."""
    paths = []
    for name, entry in (("before", plan), ("a|b<img>", other)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(dumps(entry), encoding="utf-8")
    assert diff.diff(*map(str, paths), as_json=True, markdown=False) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is False
    assert {entry["name"] for entry in told["inputs"]} >= {"economics.utilisation"}
    assert diff.diff(*map(str, paths), as_json=False, markdown=True) == 0
    text = capsys.readouterr().out
    assert "a\\|b\\<img\\>" in text
    assert "| economics.utilisation | 0.8 | 0.6 |" in text
    title, _, answers, _, *table = text.partition("<details>")[0].strip().split("\n")
    assert title.startswith("### Cost of ")
    kept = [entry.alternative(entry.recommended_horizon_key) for entry in (plan, other)]
    amounts = " → ".join(USD.text(way.money.npv_usd) for way in kept if way is not None)
    assert "; present value of 36 months " in answers
    assert amounts in answers
    assert sum(line.startswith("| runs in horizon |") for line in table) == len(differences(plan, other, ("", "")).work)
    assert all(line.startswith("|") for line in table)
    assert text.rstrip().endswith("</details>")
    with pytest.raises(InputError, match="exclude"):
        diff.diff(*map(str, paths), as_json=True, markdown=True)


def test_revision(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of a revision is compared with the one at hand; a revision that is not there is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(dumps(plan), encoding="utf-8")
    author = ["-c", "user.name=maintainers", "-c", "user.email=maintainers@example.org"]
    for arguments in (["init", "-q"], ["add", "plan.json"], [*author, "commit", "-q", "-m", "plan"]):
        subprocess.run(["git", *arguments], check=True)
    changed = dataclasses.replace(plan, as_of="2026-01-01")
    (tmp_path / "plan.json").write_text(dumps(changed), encoding="utf-8")
    assert diff.diff("HEAD:plan.json", "plan.json", as_json=False, markdown=False) == 0
    assert f"as of: {plan.as_of} → 2026-01-01" in capsys.readouterr().out
    for wrong in ("HEAD:absent.json", "nowhere:plan.json", "--output=x:plan.json"):
        with pytest.raises(InputError, match="git does not know"):
            diff.diff(wrong, "plan.json", as_json=False, markdown=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "plan.json"]


def numbered(plan: Plan, *, nodes: int, run_usd: float | None) -> Plan:
    """Return the plan with other figures of its first option."""
    changed = dataclasses.replace(
        plan.options[0],
        cluster=dataclasses.replace(plan.options[0].cluster, nodes=nodes),
        money=dataclasses.replace(plan.options[0].money, run_usd=run_usd, horizon_usd=10 * (run_usd or 0.0)),
    )
    return dataclasses.replace(plan, options=(changed,))


def test_causes_are_told_apart(plan: Plan) -> None:
    """Each change is tried alone; what they do together is what is left, so that all add up to the difference."""

    def replan(values: dict[str, Any]) -> Plan:
        tokens, price = values["workload"]["tokens"], values.get("price", 2)
        return numbered(plan, nodes=tokens, run_usd=100.0 * tokens * price)

    before = {"name": "a", "workload": {"tokens": 3, "kind": "train"}, "price": 5}
    after = {"name": "b", "workload": {"tokens": 4, "kind": "train"}}
    found = causes((before, replan(before)), (after, replan(after)), replan)
    told = {cause.path: (cause.before, cause.after, cause.effects[0].run_usd) for cause in found.alone}
    assert told == {"workload.tokens": ("3", "4", 500.0), "price": ("5", None, -900.0)}
    assert found.left[0].run_usd == pytest.approx((800.0 - 1500.0) - (500.0 - 900.0))
    assert (found.alone[0].effects[0].nodes, found.left[0].nodes) == (1, 0)


def test_causes_that_cannot_stand_alone(plan: Plan) -> None:
    """A change that has no plan of its own says why, and is part of what is left; one change is all of it."""

    def replan(values: dict[str, Any]) -> Plan:
        if values["a"] != values["b"]:
            raise InputError("a and b must agree")
        return numbered(plan, nodes=values["a"], run_usd=None if values["a"] > 5 else 1.0)

    before, after = {"a": 1, "b": 1}, {"a": 2, "b": 2}
    found = causes((before, replan(before)), (after, replan(after)), replan)
    assert {cause.reason for cause in found.alone} == {"not without the other changes: a and b must agree"}
    assert found.left[0].nodes == 1
    (only,) = causes(({"a": 1}, plan), ({"a": 7}, numbered(plan, nodes=99, run_usd=None)), replan).alone
    assert (only.effects[0].nodes, only.effects[0].run_usd) == (99 - plan.options[0].cluster.nodes, None)
    assert causes(({"name": "x"}, plan), ({"name": "y"}, plan), replan).reason


def test_many_changes_are_tried_by_section(plan: Plan) -> None:
    """With many changes, those of a section are one; nothing is tried more often than there are sections."""
    tried: list[dict[str, Any]] = []

    def replan(values: dict[str, Any]) -> Plan:
        tried.append(values)
        return plan

    before = {"a": dict.fromkeys("abcd", 1), "b": dict.fromkeys("abcd", 1)}
    after = {"a": dict.fromkeys("abcd", 2), "b": dict.fromkeys("abcd", 3)}
    found = causes((before, plan), (after, plan), replan)
    assert [cause.path for cause in found.alone] == ["a", "b"]
    assert tried == [{**before, "a": after["a"]}, {**before, "b": after["b"]}]


def test_two_blueprints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two blueprints: the changes with what each does, in every form; the parts are those of the figures."""
    text = BLUEPRINT.read_text(encoding="utf-8")
    paths = [tmp_path / "before.yaml", tmp_path / "after.yaml"]
    one_target = re.sub(r"(?m)^  (azure|gcp|onprem):.*\n(    .*\n|\s*#.*\n)*", "", text)
    paths[0].write_text(one_target, encoding="utf-8")
    changed = one_target.replace("tokens: 300e9", "tokens: 330e9").replace("utilisation: 80 %", "utilisation: 70 %")
    paths[1].write_text(changed, encoding="utf-8")
    assert diff.diff(*map(str, paths), as_json=True, markdown=False) == 0
    told = json.loads(capsys.readouterr().out)
    alone = told["causes"]["alone"]
    assert [cause["path"] for cause in alone] == ["workload.tokens", "economics.utilisation"]
    (target,) = told["targets"]
    run = next(figure for figure in target["figures"] if figure["name"] == "run_usd")
    parts = [*(cause["effects"][0] for cause in alone), *told["causes"]["left"]]
    assert sum(part["run_usd"] for part in parts) == pytest.approx(run["after"] - run["before"])
    present = next(figure for figure in target["figures"] if figure["name"] == "npv_usd")
    assert sum(part["npv_usd"] for part in parts) == pytest.approx(present["after"] - present["before"])
    assert diff.diff(*map(str, paths), as_json=False, markdown=True) == 0
    assert "| workload.tokens: 3e+11 → 3.3e+11 | AWS |" in capsys.readouterr().out


def test_dollars_are_told_in_the_currency_of_the_second(
    plan: Plan, other: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text and Markdown follow it, with the rate; JSON stays in USD and gives the rate beside."""
    euro = {"code": "EUR", "usd": 1.25, "day": "2026-10-01", "source": "ECB"}
    told = dataclasses.replace(other, currency=Currency(**euro))
    paths = [tmp_path / name for name in ("before.json", "dollars.json", "euros.json")]
    for path, made in zip(paths, (plan, other, told), strict=True):
        path.write_text(dumps(made), encoding="utf-8")
    printed = []
    for after in paths[1:]:
        diff.diff(str(paths[0]), str(after), as_json=True, markdown=False)
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[1].pop("currency") == euro
    assert printed[1]["targets"] == printed[0]["targets"]
    for markdown in (False, True):
        diff.diff(str(paths[0]), str(paths[2]), as_json=False, markdown=markdown)
        text = capsys.readouterr().out
        assert "$" not in text
        assert "1 EUR = 1.25 USD on 2026-10-01" in text


@pytest.mark.parametrize("name", ["absent.yaml", "absent.json"])
def test_absent_file(name: str, tmp_path: Path) -> None:
    """A file that is not there is told."""
    with pytest.raises(InputError):
        diff.diff(str(tmp_path / name), str(BLUEPRINT), as_json=False, markdown=False)


def test_the_difference_of_two_shares_is_in_points() -> None:
    """From 20 to 29 % is 9 points, which is not 9 % of either."""
    shares = Change(name="busy_fraction", unit="share", before=0.201, after=0.292)
    assert _delta(shares, USD) == "+9.1 points"
