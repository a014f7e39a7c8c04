"""The table of docs/clouds.md has every rule of clouds that the program has, and no other."""

import re

from clusterwright import assets

_RULE = r"\b(?:PLC|CAP|USR|JOB|ADR|EXI|EFF)\d{3}\b"


def test_every_rule_is_in_the_table() -> None:
    """Ids in the code and rows of the table are the same."""
    package = assets.root() / "clusterwright"
    code = "\n".join(path.read_text() for path in package.rglob("*.py") if "checks" not in path.parts)
    known = set(re.findall(rf'"({_RULE})"', code)) | {f"EFF{number:03}" for number in _effects(code)}
    table = re.findall(
        rf"^\| `({_RULE})` \| (error|warning) \|", (assets.root() / "docs" / "clouds.md").read_text(), re.M
    )
    assert {rule for rule, _ in table} == known
    assert len(table) == len(known)


def _effects(code: str) -> set[int]:
    return {int(number) for number in re.findall(r"yield no_effect\(\s*(\d+),", code)}


def test_every_rule_of_the_hall_is_in_its_table() -> None:
    """Ids in the code of halls and racks, and those of the table in docs/hall.md, are the same."""
    rule = r"(?:HAL|RCK|PWR|CLG|CBL)\d{3}"
    package = assets.root() / "clusterwright"
    code = {
        found
        for layer in ("facility", "plan")
        for path in (package / layer).rglob("*.py")
        for found in re.findall(rf'id="({rule})"', path.read_text())
    }
    lines = (assets.root() / "docs" / "hall.md").read_text().splitlines()
    table = [found for line in lines if line.startswith("| `") for found in re.findall(rf"`({rule})`", line)]
    assert sorted(table) == sorted(code)


def test_every_rule_of_fine_tuning_is_in_its_table() -> None:
    """Ids of fine-tuning in the code, and those of the table in docs/finetuning.md, are the same."""
    package = assets.root() / "clusterwright"
    code = {
        found
        for layer in ("blueprint", "plan")
        for path in (package / layer).rglob("*.py")
        for found in re.findall(r'"(FTN\d{3})"', path.read_text())
    }
    table = re.findall(r"^\| `(FTN\d{3})` \|", (assets.root() / "docs" / "finetuning.md").read_text(), re.M)
    assert sorted(table) == sorted(code)


def test_every_rule_of_evidence_is_in_its_table() -> None:
    """Ids of missing evidence in the code, and those of the table in docs/independent.md, are the same."""
    package = assets.root() / "clusterwright"
    code = {
        found for path in (package / "plan").rglob("*.py") for found in re.findall(r'"(EVD\d{3})"', path.read_text())
    }
    table = re.findall(r"^\| `(EVD\d{3})` \|", (assets.root() / "docs" / "independent.md").read_text(), re.M)
    assert sorted(table) == sorted(code)


def test_every_rule_of_sharing_is_in_its_table() -> None:
    """Ids of shared clusters in the code, and those of the table in docs/sharing.md, are the same."""
    package = assets.root() / "clusterwright"
    code = {
        found
        for layer in ("blueprint", "sharing")
        for path in (package / layer).rglob("*.py")
        for found in re.findall(r'"(WRK\d{3})"', path.read_text())
    }
    table = re.findall(r"^\| `(WRK\d{3})` \|", (assets.root() / "docs" / "sharing.md").read_text(), re.M)
    assert sorted(table) == sorted(code)
