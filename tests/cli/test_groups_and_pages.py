"""Commands in groups, pages of the documentation, blueprints on standard input, errors as JSON."""

import json
import subprocess
import sys
from pathlib import Path

import typer

from clusterwright.cli.main import app
from clusterwright.cli.reference.pages import pages
from clusterwright.cli.render.help_text import GROUPS

ROOT = Path(__file__).parents[2]


def run(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command as people do, with a text on standard input."""
    command = [sys.executable, "-c", "from clusterwright.cli.main import run; run()", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=ROOT, timeout=240, check=False)


def test_every_command_stands_in_one_group() -> None:
    """The help lists each command once, under what it is for."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(name for name, command in commands.items() if not command.hidden)
    shown = run("--help").stdout
    assert [line[:-1] for line in shown.splitlines() if line.endswith(":") and line[:1] != " "][-5:] == list(GROUPS)


def test_pages_are_shown_by_the_names_that_messages_have() -> None:
    """A page is found by its name, its path, a place in it and a name that it had; an unknown one with a suggestion."""
    shown = run("docs", "capacity").stdout
    assert shown.startswith("# Choose how nodes are rented\n")
    assert "<!--" not in shown, "a comment says how a page is made, not what a reader wants"
    for topic in ("docs/howto/capacity.md", "capacity.md#regions-and-zones", "docs/clouds.md"):
        assert run("docs", topic).stdout == shown
    listed = run("docs").stdout
    assert all(f"  {name} " in listed for name in pages())
    wrong = run("docs", "capacityy")
    assert wrong.returncode == 2
    assert "did you mean 'capacity'?" in wrong.stderr


def test_standard_input_is_planned_as_a_file_is() -> None:
    """`-` gives the plan of the same text in a file; overrides hold; too much text is refused."""
    text = (ROOT / "tests" / "small.yaml").read_text()
    piped = run("plan", "-", "--json", given=text)
    assert piped.returncode == 0, piped.stderr
    assert json.loads(piped.stdout) == json.loads(run("plan", "tests/small.yaml", "--json").stdout)
    large = run("plan", "-", given="#" * 200_000)
    assert large.returncode == 2
    assert "which is no blueprint" in large.stderr


def test_errors_are_json_for_who_asks_for_json() -> None:
    """With --json stdout holds the error with each problem's place, the exit code stays, and stderr has the words."""
    text = (ROOT / "tests" / "small.yaml").read_text() + "\ngoalz: 1\n"
    wrong = run("plan", "-", "--json", given=text)
    assert wrong.returncode == 2
    found = json.loads(wrong.stdout)
    assert found["exit_code"] == 2
    assert [problem["path"] for problem in found["problems"]] == ["goalz"]
    assert "goalz" in wrong.stderr
    absent = run("compare", "nothing.yaml", "--json")
    assert json.loads(absent.stdout)["error"] == "there is no file nothing.yaml"
    assert run("plan", "-", given=text).stdout == ""
