"""A recording says why there is none, ends in time, hands no login on, and is never taken for a pass."""

import os
import sys
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.checks.preflight import recording
from clusterwright.checks.preflight.files.project import project_of
from clusterwright.checks.preflight.files.shell import lines
from clusterwright.checks.preflight.judging import Recorded, recorded_project
from clusterwright.checks.preflight.offline import offline
from clusterwright.checks.preflight.recording import Recording, environment_of, record
from clusterwright.checks.preflight.subject import Subject
from clusterwright.pricing.book import PriceBook
from tests.checks.projects import files

RECORDED = ("PRE013", "PRE016", "PRE025", "PRE036", "PRE039")


def stand_in(folder: Path, body: str) -> Path:
    """Return a program that stands in for the interpreter of a project."""
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\n{body}\n")
    python.chmod(0o755)
    return python


def test_without_the_environment_nothing_passes(tmp_path: Path) -> None:
    """Every check of what was recorded is UNKNOWN, and says how to install what is missing."""
    project = project_of("here", files("aws"))
    recorded = recorded_project(project, tmp_path)
    subject = Subject(project=project, catalogue=load(), book=PriceBook.open(), recorded=recorded)
    found = {result.check: result.outcome for result in offline(subject, RECORDED)}
    assert {outcome.status for outcome in found.values()} == {"UNKNOWN"}
    assert "pip install --no-deps --require-hashes -r constraints.txt" in found["PRE013"].fix


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    """The time is bounded, and the answer says so."""
    python = stand_in(tmp_path, "import time\ntime.sleep(600)")
    found = record(tmp_path, layers=["foundation"], stack="small", python=python, timeout_s=0.5)
    assert found.run is None
    assert "did not end within" in found.missing


def test_no_login_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither variables of the providers nor the home folder reach the project's program."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "hidden")
    seen = tmp_path / "seen"
    python = stand_in(tmp_path, f"import os\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)))")
    record(tmp_path, layers=["foundation"], stack="small", python=python)
    assert "hidden" not in seen.read_text()
    assert f"'HOME': '{os.environ.get('HOME')}'" not in seen.read_text()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import sys\nsys.exit('No module named pulumi')", "lacks a part of the SDK"),
        ("import sys\nsys.exit(3)", "recorder ended"),
        ("print('no JSON')", "cannot be read"),
    ],
)
def test_what_is_no_answer_is_said(tmp_path: Path, body: str, words: str) -> None:
    """An environment without the SDK, or one that breaks, is a reason and no traceback."""
    found = record(tmp_path, layers=["foundation"], stack="small", python=stand_in(tmp_path, body))
    assert words in found.missing


def test_an_environment_that_cannot_start(tmp_path: Path) -> None:
    """A wrong path is said as it is."""
    found = record(tmp_path, layers=["foundation"], stack="small", python=tmp_path / "nothing")
    assert "cannot be started" in found.missing
    assert environment_of(tmp_path) is None


def test_a_program_that_was_not_run_on_purpose() -> None:
    """The owner's word stands in the answer."""
    project = project_of("here", files("gcp"))
    recorded = Recorded(recording=Recording(missing="--no-run was given"), folder=None, cloud="gcp")
    (result,) = offline(
        Subject(project=project, catalogue=load(), book=PriceBook.open(), recorded=recorded), ("PRE036",)
    )
    assert (result.outcome.status, "--no-run" in result.outcome.message) == ("UNKNOWN", True)
    assert recording.TIMEOUT_S <= 300


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("a \\\n  b # c\n", ["a b"]),
        ("a |\n  b", ["a | b"]),
        ("cat <<X\n# kept\nX\nb", ["cat <<X", "# kept", "b"]),
        ("echo '#no' \"${x#y}\" # yes", ["echo '#no' \"${x#y}\""]),
        ("", []),
    ],
)
def test_lines_of_scripts(script: str, texts: list[str]) -> None:
    """Comments go, here-documents stay, continued lines are one."""
    assert [line.text for line in lines(script)] == texts
