"""The JSON of commands holds to the schemas that `schema` prints."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clusterwright.assets import root
from clusterwright.cli import answer, start
from clusterwright.cli.compare import finance
from clusterwright.cli.planning import plan_of
from clusterwright.cli.written import actual, diff
from clusterwright.errors import InputError
from clusterwright.outputs.exports.focus import focus_csv
from clusterwright.plan.document import dumps
from tests.opened import focus_rows

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"
SET = ["targets.azure=null", "targets.gcp=null"]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """A function that runs a command and returns its JSON."""

    def of(command: Callable[..., object], *arguments: object, **options: object) -> Any:  # noqa: ANN401 - JSON
        command(*arguments, **options)
        return json.loads(capsys.readouterr().out)

    return of


def test_json_of_commands(told: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each command prints is valid, and is refused with a key missing or of another kind."""
    monkeypatch.setattr(answer, "DRAWS", 20)
    plan = plan_of(BLUEPRINT, SET)
    before, after, export = (tmp_path / name for name in ("before.json", "after.json", "focus.csv"))
    before.write_text(dumps(plan), encoding="utf-8")
    after.write_text(dumps(dataclasses.replace(plan, as_of="2026-01-01")), encoding="utf-8")
    export.write_text(focus_csv(focus_rows(plan)), encoding="utf-8")
    asked = {"tag": None, "cost": "effective", "rates": [], "count_repeated": False, "as_csv": False}
    documents = {
        "compare": told(answer.compare, BLUEPRINT, SET, as_json=True),
        "finance": told(finance.compare, BLUEPRINT, SET, draws=20, seed=1, as_json=True),
        "diff": told(diff.diff, str(before), str(after), as_json=True, markdown=False),
        "actual": told(actual.actual, before, [export], as_json=True, **asked),
    }
    assert set(documents) == set(start.ANSWERS)
    for name, document in documents.items():
        schema = told(start.schema, name)
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(document)] == []
        assert not validator.is_valid({**document, "schema": 2})
        for key in schema["required"]:
            assert not validator.is_valid({other: value for other, value in document.items() if other != key}), key


def test_no_such_schema() -> None:
    """Another name is refused, with those that there are."""
    with pytest.raises(InputError) as error:
        start.schema("sweep")
    assert "actual" in (error.value.help or "")
