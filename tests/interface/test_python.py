"""The Python interface: what it answers, what it refuses, and that it stays quiet."""

import doctest
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

import clusterwright as cw
from clusterwright import assets
from clusterwright.blueprint.load import load as load_file
from clusterwright.cli.main import app
from clusterwright.plan.document import dumps

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
TWO_TARGETS: dict[str, Any] = {"targets.azure": None, "targets.gcp": None}


def as_dict() -> dict[str, Any]:
    """Return what the shipped blueprint holds."""
    return load_file(BLUEPRINT).to_dict()


@pytest.fixture(scope="module")
def result() -> cw.PlanResult:
    """Return the plan of the shipped blueprint on two targets."""
    return cw.plan(BLUEPRINT, overrides=TWO_TARGETS)


def test_the_documented_example_runs() -> None:
    """Every line of docs/howto/python.md gives what stands below it."""
    found = doctest.testfile(
        str(assets.root() / "docs" / "howto" / "python.md"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert found.attempted > 18
    assert found.failed == 0


def test_importing_loads_nothing_heavy() -> None:
    """`import clusterwright` alone loads no module that takes time."""
    code = "import sys, clusterwright as cw; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "pydantic", "duckdb", "ruamel", "typer", "scipy"):
        assert f"'{heavy}'" not in loaded


def test_the_package_and_the_function_share_a_name() -> None:
    """`clusterwright.plan` is called as the function, and holds the modules of the package."""
    code = (
        "import clusterwright as cw; import clusterwright.plan.record as record; "
        "from clusterwright.plan.record import Plan; print(callable(cw.plan), record.Plan is Plan)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["True", "True"]


def test_a_file_and_its_values_give_the_same_plan(result: cw.PlanResult) -> None:
    """A dictionary with what the file holds is planned like the file, to the last byte."""
    again = cw.plan(as_dict(), overrides=TWO_TARGETS, facts=result.facts)
    assert dumps(again.plan) == dumps(result.plan)
    assert result.to_dict() == json.loads(dumps(result.plan))


@pytest.mark.parametrize(
    "change",
    [
        {"goal": {"finish_within": "30 days"}},
        {"goals": {"finish_within": "30 parsecs"}},
        {"goals": ["30 days"]},
        {"workload": {"kind": "train", "model": "gpt3-175b", "tokens": True}},
        {"targets": {"aws": {"instance": 5, "region": "us-east-1"}}},
        {"economics": {"utilisation": "120 %", "horizn": 3}},
    ],
)
def test_mistakes_are_the_same_from_python_and_from_a_file(change: dict[str, Any], tmp_path: Path) -> None:
    """Unknown keys and wrong types are refused with the findings that the same text in a file gives."""
    values = as_dict() | change
    with pytest.raises(cw.BlueprintError) as from_python:
        cw.load(values)
    path = tmp_path / "same.yaml"
    path.write_text(json.dumps(values))
    with pytest.raises(cw.BlueprintError) as from_file:
        cw.load(path)

    def reported(error: cw.BlueprintError) -> list[tuple[object, ...]]:
        return [(problem.path, problem.message, problem.help, problem.id) for problem in error.problems]

    assert reported(from_python.value) == reported(from_file.value)
    assert all(problem.position is not None for problem in from_python.value.problems)
    assert from_python.value.problems[0].message in str(from_python.value)
    assert reported(from_python.value) == [
        (problem.path, problem.message, problem.help, problem.id) for problem in cw.validate(values)
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"workload": {"tokens": {1, 2}}}, "workload.tokens: a blueprint holds no set"),
        ({1: 2}, "the blueprint: the key 1 is no text"),
        ({"workload": {"model": object}}, "workload.model: a blueprint holds no type"),
    ],
)
def test_what_no_blueprint_holds_is_refused(values: dict[Any, Any], message: str) -> None:
    """A value of a type that no file could hold is named with its path."""
    with pytest.raises(cw.InputError) as error:
        cw.load(values)
    assert error.value.message == message
    assert error.value.help


def test_refused_calls() -> None:
    """What excludes each other, or does not exist, is an exception of ours."""
    loaded = cw.load(BLUEPRINT)
    with pytest.raises(cw.InputError, match="takes no overrides"):
        cw.plan(loaded, overrides={"workload.tokens": 1})
    with pytest.raises(cw.InputError, match="there is no target 'moon'"):
        cw.plan(loaded, on="moon")
    with pytest.raises(cw.InputError, match="--rate is for quotes"):
        cw.plan(loaded, rates=["EUR=1.08"])
    with pytest.raises(cw.InputError, match="holds no set"):
        cw.load(BLUEPRINT, overrides={"workload.tokens": {1}})
    with pytest.raises(cw.InputError, match="no product"):
        cw.prices("aws/p5.4xlarg")
    with pytest.raises(cw.InputError, match="is not a day"):
        cw.prices("aws/p5.48xlarge", as_of="yesterday")


def test_answers_are_frozen_and_print_nothing(result: cw.PlanResult, capsys: pytest.CaptureFixture[str]) -> None:
    """Results cannot be changed, and nothing is written on the terminal."""
    comparison = result.compare(draws=50)
    explanation = result.explain("mfu", on="aws")
    assert cw.validate(result.blueprint, facts=result.facts) == ()
    for record, name in ((result, "plan"), (comparison, "finances"), (explanation, "value")):
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(record, name, None)
    assert capsys.readouterr() == ("", "")
    assert explanation.to_dict()["number"] == "mfu"


def test_tables_hold_the_records(result: cw.PlanResult) -> None:
    """Rows of the tables are the records' values, with their types."""
    options = result.table("options")
    assert options.project("target, nodes, calendar_days").fetchall() == [
        (option.target, option.cluster.nodes, option.performance.calendar_days) for option in result.options
    ]
    assert result.table("bill").count("*").fetchall() == [(sum(len(option.money.lines) for option in result.options),)]
    assert result.table("ranking").project("key").fetchall() == [(way.key,) for way in result.plan.ranking]
    assert {str(kind) for kind in options.types} <= {"VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE"}
    comparison = result.compare(draws=50)
    counted = comparison.table("cash_flow").project("key").distinct().fetchall()
    assert {key for (key,) in counted} == {key for key, rows in comparison.finances.rows.items() if rows}
    with pytest.raises(cw.InputError, match="there is no table 'bills'"):
        result.table("bills")


def test_a_missed_goal_is_a_finding(result: cw.PlanResult) -> None:
    """A plan that misses its goal is returned with the rule that failed, which `validate` returns with its place."""
    changes = TWO_TARGETS | {"goals.finish_within": "1 day", "targets.aws.max_nodes": 48, "targets.onprem": None}
    missed = cw.plan(BLUEPRINT, overrides=changes, facts=result.facts)
    (finding,) = missed.findings
    (problem,) = cw.validate(BLUEPRINT, overrides=changes, facts=result.facts)
    assert (problem.id, problem.message) == (finding.id, finding.message)


def test_the_command_prints_the_same(result: cw.PlanResult, capsys: pytest.CaptureFixture[str]) -> None:
    """`compare --json` is the comparison's document."""
    sets = [part for name in TWO_TARGETS for part in ("--set", f"{name}=null")]
    with pytest.raises(SystemExit):
        app(["compare", str(BLUEPRINT), *sets, "--json"])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(result.compare().to_dict()))


def test_a_sweep_from_python_is_the_commands_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    """The document of `cw.sweep` is what the command prints, for a mapping as for the file it came from."""
    swept = cw.sweep(as_dict(), vary={"workload.precision": ["bf16", "fp8"]}, instances=["p5.48xlarge"], nodes="40..60")
    options = ["--vary", "workload.precision=bf16,fp8", "--instances", "p5.48xlarge", "--nodes", "40..60", "--json"]
    app(["sweep", str(BLUEPRINT), *options, "--jobs", "1"], standalone_mode=False)
    assert swept.to_dict() == json.loads(capsys.readouterr().out)
    assert {point.calendar_days for point in swept.points} == {
        days for (days,) in swept.table().project("calendar_days").fetchall()
    }


def test_a_sweep_refuses_what_the_command_refuses() -> None:
    """Names and values that are wrong are findings before anything is computed."""
    with pytest.raises(cw.ClusterwrightError, match="h1oo"):
        cw.sweep(as_dict(), accelerators=["h1oo"])
    with pytest.raises(cw.BlueprintError):
        cw.sweep(as_dict(), vary={"workload.precission": ["bf16"]})


def test_a_difference_has_its_causes_and_a_plan_that_was_read_has_none(result: cw.PlanResult) -> None:
    """One change causes the whole difference; between records alone nothing can be planned again."""
    fewer = cw.plan(BLUEPRINT, overrides=TWO_TARGETS | {"workload.tokens": 150e9}, facts=result.facts)
    found = cw.diff(result, fewer, names=("more", "fewer"))
    (cause,) = found.causes.alone
    assert cause.path == "workload.tokens"
    assert {effect.target for effect in cause.effects} == {"aws", "onprem"}
    assert found.to_dict()["before"] == "more"
    read = cw.diff(result.plan, fewer.plan)
    assert read.changes.targets == found.changes.targets
    assert read.causes.alone == ()
    assert read.causes.reason
    assert cw.diff(result, result).same


def test_single_targets_are_written_as_the_whole_build_writes_them(result: cw.PlanResult, tmp_path: Path) -> None:
    """Project and documents are files of `build`, and only of targets that the plan has."""
    every = result.files()
    project = result.target_files("aws")
    assert {f"aws/{name}": file.content for name, file in project.items()}.items() <= {
        name: file.content for name, file in every.items()
    }.items()
    assert (result.onprem(tmp_path / "here").folder / "bill_of_materials.csv").is_file()
    with pytest.raises(cw.InputError, match="moon"):
        result.stack(tmp_path / "moon", "moon")
    with pytest.raises(cw.InputError, match="gcp"):
        result.stack(tmp_path / "gcp", "gcp")
    with pytest.raises(cw.InputError, match="terraform"):
        result.export("terraform", "aws")


def test_nothing_is_written_for_a_cluster_that_fails_a_rule(result: cw.PlanResult, tmp_path: Path) -> None:
    """Failed rules are an exception where files would be for use, with the rules' ids."""
    finding = cw.Finding(id="CAP004", path=("targets", "aws"), message="the run takes longer", help="ask for less")
    failed = replace(result, plan=replace(result.plan, findings=(finding,)))
    writers: tuple[Callable[[], object], ...] = (
        lambda: failed.stack(tmp_path / "aws", "aws"),
        lambda: failed.onprem(tmp_path / "onprem"),
        lambda: failed.export("skypilot", "aws"),
    )
    for write in writers:
        with pytest.raises(cw.BlueprintError) as caught:
            write()
        assert [problem.id for problem in caught.value.problems] == ["CAP004"]
    assert not list(tmp_path.iterdir())
