"""Commands behind the end of a script: found wherever they are, and in none of the scripts that are written."""

from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.preflight.files.shell import unreached
from clusterwright.checks.preflight.trials.booting import FAULTS

from .test_trials_boot import booted

SCRIPTS = sorted(path for path in (assets.root() / "templates").rglob("*.sh"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a\nexit 0\nb\n", [(2, 3)]),
        ("f() {\n  return 0\n  b\n}\n", [(2, 3)]),
        ("exec true\nb\n", [(1, 2)]),
        ("say done; exit 0\nb\n", [(1, 2)]),
        ("if a; then\n  exit 0\nelse\n  b\nfi\nc\n", []),
        ("case a in\nb)\n  exit 1\n  ;;\nesac\n", []),
        ("exec 3>file\nexec >log\na\n", []),
        ("exec 9>&1\na\n", []),
        ("exec a || b\nc\n", []),
        ("cat <<END\nexit 0\nb\nEND\nc\n", []),
        ("a &&\n  exit 0\nb\n", []),
        ("exit 0\n# nothing\n", []),
    ],
)
def test_what_is_never_run_is_found(script: str, expected: list[tuple[int, int]]) -> None:
    """Lines of the end and of what comes behind it, in functions too; blocks, redirections and texts are no ends."""
    assert [(end.number, following.number) for end, following in unreached(script)] == expected


def test_no_written_script_has_commands_that_are_never_run() -> None:
    """All scripts of nodes, jobs and services."""
    assert len(SCRIPTS) > len(FAULTS)
    found = [(path.name, end.number) for path in map(Path, SCRIPTS) for end, _ in unreached(path.read_text())]
    assert found == []


def test_a_fault_that_a_boot_does_not_meet_is_said() -> None:
    """A boot that installs nothing is not taken for one that stops where packages cannot be installed."""
    assert booted("aws").untried == ()
    skipped = booted("aws", (("bootstrap.sh", 'then bash "$here/install_packages.sh"; fi', "then :; fi"),))
    assert "keyring" in skipped.untried or "packages" in skipped.untried
