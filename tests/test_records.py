"""Answers of blueprints that differ, against what was recorded of them: a number changes only on purpose.

After a change that is meant, `python benchmarks/answers.py --record` records the answers again; with
`--against COMMIT` it shows what of them differs from those of a commit.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def answers() -> ModuleType:
    """The module that makes the records."""
    spec = importlib.util.spec_from_file_location("answers", _ROOT / "benchmarks" / "answers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(path.stem for path in (_ROOT / "tests" / "records").glob("*.yaml")))
def test_the_answers_are_those_recorded(answers: ModuleType, name: str) -> None:
    """Plan, comparison, explanations and files of a blueprint have the figures and digests of `records.csv`."""
    known, made = answers.read()[name], answers.records(answers.FOLDER / f"{name}.yaml")
    changed = {key: (known.get(key), made.get(key)) for key in known | made if known.get(key) != made.get(key)}
    assert not changed, (
        f"as recorded, as answered; see: python benchmarks/answers.py tests/records/{name}.yaml --against COMMIT"
    )
