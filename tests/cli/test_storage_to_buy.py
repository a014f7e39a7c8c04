"""Storage to buy, as the commands show it: names, missing figures with their place, the count explained."""

from pathlib import Path

import pytest

from .conftest import SMALL, Command

OWNED = SMALL.replace("  aws:\n    instance: p5.48xlarge\n    region: us-east-1\n    max_nodes: 8\n", "")


def _write(folder: Path, storage: str) -> Path:
    path = folder / "stored.yaml"
    path.write_text(f"{OWNED}    storage:\n" + "".join(f"      {line}\n" for line in storage.splitlines()))
    return path


def test_names_are_refused_at_their_place(tmp_path: Path, command: Command) -> None:
    """A system and a level that are not there are both told, with line and column."""
    ended = command("plan", _write(tmp_path, "system: wekka\nlevel: bestest"))
    assert ended.code == 2
    assert "did you mean 'weka'?" in ended.err
    assert "stored.yaml:15:15" in ended.err
    assert "stored.yaml:16:14" in ended.err


def test_missing_figures_are_asked_for(tmp_path: Path, command: Command) -> None:
    """What nobody publishes ends with exit 3 and the field to fill; what is published is not asked for."""
    ended = command("plan", _write(tmp_path, "system: pure"))
    assert ended.code == 3
    assert "targets.onprem.storage.box.port_rate: 200 Gb/s" in ended.err
    assert "box.read" not in ended.err
    assert "stored.yaml:14:5" in ended.err


@pytest.mark.parametrize(
    "wrong", ["capacity: 100", "capacity: -1 TB", "box: {power: 3 TB}", "box: {colour: red}", "box: {height: 0 U}"]
)
def test_bad_values(tmp_path: Path, command: Command, wrong: str) -> None:
    """A value without a unit, of another kind or negative, and an unknown key are refused at their place."""
    ended = command("plan", _write(tmp_path, f"system: weka\n{wrong}"))
    assert ended.code == 2
    assert "stored.yaml:16:" in ended.err


def test_explained(tmp_path: Path, command: Command) -> None:
    """The count is explained with every demand, every rule, and what the blueprint said of a box."""
    figures = "system: weka\nlevel: per-gpu\nbox: {capacity: 100 TB, read: 40 GB/s, write: 3 GB/s}"
    ended = command("explain", _write(tmp_path, figures), "storage_boxes")
    assert ended.code == 0
    assert "level 1 GB/s per GPU" in ended.out
    assert "decided by" in ended.out
    assert "/ 3.00 GB/s" in ended.out
    assert "blueprint, targets.onprem.storage" in ended.out


def test_facts_show_a_system_with_its_boxes(command: Command) -> None:
    """A storage system is a fact as every other: its boxes, their sources, the claims that were rejected."""
    ended = command("facts", "weka")
    assert ended.code == 0
    assert "data box: wekapod-nitro" in ended.out
    assert "weka-docs" in ended.out or "WEKA documentation" in ended.out


def test_figures_without_effect(tmp_path: Path, command: Command) -> None:
    """Targets of Lustre and a second kind of box are told where the system has neither; no exit code changes."""
    box = "system: weka\nbox: {capacity: 100 TB, read: 40 GB/s, write: 3 GB/s}"
    without = command("plan", _write(tmp_path, box))
    assert without.code == 3, "nobody publishes what the boxes cost"
    ended = command("plan", _write(tmp_path, f"{box}\nfiles: 2e6\nfront_box: {{height: 1 U}}"))
    assert ended.code == without.code
    assert "has no effect" not in without.out + without.err
    for key in ("files", "front_box"):
        assert f"targets.onprem.storage.{key} has no effect" in ended.out + ended.err
    vast = "front_box: {read: 40 GB/s, write: 20 GB/s}\nbox: {read: 1 GB/s}"
    ended = command("plan", _write(tmp_path, f"system: vast\n{vast}"))
    assert "targets.onprem.storage.box.read has no effect" in ended.out + ended.err
