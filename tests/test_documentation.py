"""The documents name commands, options, files and rules that exist."""

import re
from pathlib import Path

import pytest

from clusterwright import assets, errors
from clusterwright.cli.main import app

ROOT = assets.root()
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "pricing/*.md", "stacks/*.md", "stacks/*/README.md", "catalog/*.md")
    for path in ROOT.glob(pattern)
)
COMMANDS = {entry.name or entry.callback.__name__ for entry in app.registered_commands if entry.callback}
COMMANDS |= {entry.name for entry in app.registered_groups if entry.name}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link has a file or folder at its other end."""
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_commands_exist(document: Path) -> None:
    """Every `clusterwright …` in code is a command."""
    text = document.read_text()
    code = "\n".join(re.findall(r"```.*?```", text, re.DOTALL) + re.findall(r"`[^`\n]+`", text))
    for word in re.findall(r"(?<!import )\bclusterwright ([a-z]\S*)", code):
        assert word.strip("`'\".,:;)") in COMMANDS, word


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_no_path_of_one_machine(document: Path) -> None:
    """Documents are about the project, not about the machine that they were written on."""
    assert not re.search(r"(?<![\w.])/(work|home|root|tmp)/", document.read_text())


def test_exit_codes_are_documented() -> None:
    """The README tells each exit code that the program has."""
    text = " ".join((ROOT / "README.md").read_text().split())
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    sentence = text.partition("Exit codes: ")[2].partition(". ")[0]
    assert {int(number) for number in re.findall(r"\b\d+\b", sentence)} == codes


def test_blueprints_start_with_the_schema_line() -> None:
    """Editors find the schema of every shipped blueprint."""
    for path in (ROOT / "blueprints").glob("*.yaml"):
        first = path.read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=./blueprint.schema.json"
        assert (path.parent / "blueprint.schema.json").is_file()
