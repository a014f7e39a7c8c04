"""Writing deliverables: whole or not at all, and never over the user's changes."""

from pathlib import Path

import pytest

from clusterwright.errors import InputError
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File, text, write

FILES = {"plan.json": text("{}"), "aws/run.sh": File(content=b"#!/bin/sh\n", executable=True)}


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    """Files, sub-folders, modes and manifest are there, and nothing else."""
    written = write(tmp_path / "out", FILES)
    assert written.files == 2
    assert sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    ) == [
        ".written.json",
        "aws/run.sh",
        "plan.json",
    ]
    assert (tmp_path / "out/aws/run.sh").stat().st_mode & 0o111
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    """Writing the same files again replaces none."""
    write(tmp_path / "out", FILES)
    assert write(tmp_path / "out", FILES).changed == 0


def test_files_changed_by_the_user_are_kept(tmp_path: Path) -> None:
    """A changed file stops the whole write, names the file, and --force overrides."""
    out = tmp_path / "out"
    write(out, FILES)
    (out / "plan.json").write_text("mine")
    with pytest.raises(InputError, match=r"changed since they were written: plan\.json"):
        write(out, FILES | {"plan.json": text("new"), "aws/run.sh": text("new")})
    assert (out / "plan.json").read_text() == "mine"
    assert (out / "aws/run.sh").read_text() == "#!/bin/sh\n"
    write(out, FILES, force=True)
    assert (out / "plan.json").read_text() == "{}\n"


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    """A folder with other files is refused; with --force, its own files stay."""
    (tmp_path / "notes.txt").write_text("keep")
    with pytest.raises(InputError, match="did not write"):
        write(tmp_path, FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    write(tmp_path, FILES, force=True)
    assert (tmp_path / "notes.txt").read_text() == "keep"


def test_files_added_by_the_user_survive(tmp_path: Path) -> None:
    """A rewrite keeps files that it does not know, and removes its own stale ones."""
    out = tmp_path / "out"
    write(out, FILES)
    (out / "aws" / "mine.py").write_text("x")
    write(out, {"plan.json": text("{}")})
    assert (out / "aws" / "mine.py").exists()
    assert not (out / "aws" / "run.sh").exists()


def test_an_interrupted_rewrite_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the files replaced and the old manifest: the same write again completes without --force."""
    out = tmp_path / "out"
    write(out, FILES)
    new = {"plan.json": text("new"), "aws/run.sh": text("new")}
    original = folder._replace
    calls = []

    def failing(path: Path, file: File) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(path, file)

    monkeypatch.setattr(folder, "_replace", failing)
    with pytest.raises(KeyboardInterrupt):
        write(out, new)
    monkeypatch.setattr(folder, "_replace", original)
    write(out, new)
    assert (out / "aws/run.sh").read_text() == "new\n"


def test_an_interrupted_first_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails half-way, no folder and no partial folder stays."""

    def failing(path: Path, file: File) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_replace", failing)
    with pytest.raises(InputError, match="No space left"):
        write(tmp_path / "out", FILES)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_hold_a_folder_are_refused(tmp_path: Path) -> None:
    """A file in the way, as the folder or as its parent, is refused in words."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        write(tmp_path / "file", FILES)
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "out", FILES)
    with pytest.raises(InputError, match="cannot be written"):
        write(Path("/proc/nothing/out"), FILES)


def test_a_damaged_manifest_is_not_trusted(tmp_path: Path) -> None:
    """Without a readable manifest nothing is replaced."""
    out = tmp_path / "out"
    write(out, FILES)
    (out / ".written.json").write_text("[")
    with pytest.raises(InputError, match="damaged"):
        write(out, FILES)


@pytest.mark.parametrize("name", ["../x", "/etc/x", ".written.json"])
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    """A relative path that would leave the folder is a bug, not a write."""
    with pytest.raises(ValueError, match="leave"):
        write(tmp_path / "out", {name: text("x")})
