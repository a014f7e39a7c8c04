"""Writing deliverables: whole or not at all, and never over the user's changes."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


def test_a_part_leaves_the_others_of_the_same_plan(tmp_path: Path) -> None:
    """A part brings its new files and removes its old ones; other parts stay recorded, changed by the user or not."""
    out = tmp_path / "out"
    merged = File(content=b"gcp: 1\n", merge=lambda *_: folder.Merged(content=b"", kept=()))
    whole = FILES | {
        "aws/old.sh": text("old"),
        "gcp/Pulumi.yaml": merged,
        "gcp/run.sh": text("gcp"),
        "README.md": text("r"),
    }
    write(out, whole)
    (out / "gcp/run.sh").write_text("mine")
    part = {"plan.json": FILES["plan.json"], "aws/run.sh": text("new")}
    assert write(out, part, parts=("aws",)).changed == 2
    assert not (out / "aws/old.sh").exists()
    assert (out / "aws/run.sh").read_text() == "new\n"
    assert (out / "gcp/run.sh").read_text() == "mine"
    record = json.loads((out / folder.MANIFEST).read_text())
    assert set(record["files"]) == {"plan.json", "aws/run.sh", "gcp/Pulumi.yaml", "gcp/run.sh", "README.md"}
    assert record["merged"] == {"gcp/Pulumi.yaml": "gcp: 1\n"}
    with pytest.raises(InputError, match=r"changed since they were written: gcp/run\.sh"):
        write(out, whole)


def test_parts_of_two_plans_do_not_go_together(tmp_path: Path) -> None:
    """A part of another plan is refused, and so is one after a write that was broken off; nothing changes."""
    out = tmp_path / "out"
    write(out, FILES)
    with pytest.raises(InputError, match=r"another plan\.json"):
        write(out, {"plan.json": text("other"), "aws/run.sh": text("new")}, parts=("aws",))
    assert (out / "aws/run.sh").read_text() == "#!/bin/sh\n"
    (out / ".writing").mkdir()
    (out / ".writing" / folder.MANIFEST).write_text((out / folder.MANIFEST).read_text())
    with pytest.raises(InputError, match="broken off"):
        write(out, FILES, parts=("aws",))
    assert write(out, FILES).changed == 0


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


def test_an_interrupted_first_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails half-way, no folder and no partial folder stays."""

    def failing(tree: object, name: str, file: File) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder._Tree, "create", failing)
    with pytest.raises(InputError, match="No space left"):
        write(tmp_path / "out", FILES)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails while a rewrite is staged, every file is as it was and the stage is gone."""
    out = tmp_path / "out"
    write(out, FILES)
    before = contents(out)
    original = folder._Tree.create

    def failing(tree: folder._Tree, name: str, file: File) -> None:
        if name.endswith("000001"):
            raise OSError(28, "No space left on device")
        original(tree, name, file)

    monkeypatch.setattr(folder._Tree, "create", failing)
    with pytest.raises(InputError, match="No space left"):
        write(out, OTHER)
    assert contents(out) == before


def contents(out: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


#: What another blueprint writes: a file changed, one removed, one new in a new folder.
OTHER = {"plan.json": text("other"), "gcp/main.py": text("x"), "gcp/deep/er.py": text("y")}
#: Operations on the disk, before each of which a run may be killed.
OPERATIONS = ("create", "create_record", "move", "remove")


def killed(out: Path, files: Mapping[str, File], *, before: int) -> bool:
    """Write in a process of its own that dies before its n-th operation on the disk; tell whether it died."""
    child = os.fork()
    if child == 0:
        count = 0

        def dying(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
                nonlocal count
                count += 1
                if count == before:
                    os._exit(9)
                return method(*arguments, **named)

            return call

        for name in OPERATIONS:
            setattr(folder._Tree, name, dying(getattr(folder._Tree, name)))
        try:
            write(out, files)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("existing", [None, FILES], ids=["new", "existing"])
@pytest.mark.parametrize("then", [OTHER, FILES], ids=["the same", "another"])
def test_a_killed_write_costs_nothing(
    tmp_path: Path, existing: Mapping[str, File] | None, then: Mapping[str, File]
) -> None:
    """Wherever a run is killed, the next one succeeds without --force; nothing of it is left over, and no file lost."""
    died = 0
    for before in range(1, 60):
        place = tmp_path / str(before)
        place.mkdir()
        out = place / "out"
        (place / ".out.mine").write_text("the user's")
        if existing is not None:
            write(out, existing)
            (out / "aws" / ".hidden").write_text("the user's")
        died += killed(out, OTHER, before=before)
        write(out, then)
        left = contents(place)
        assert left.pop(".out.mine") == b"the user's"
        assert left.pop("out/aws/.hidden", b"the user's") == b"the user's"
        del left["out/.written.json"]
        assert left == {f"out/{name}": file.content for name, file in then.items()}
        assert not list(out.glob(".writing"))
    assert died > 8, "no run was killed in its middle"


def test_what_the_user_changes_after_a_kill_is_kept(tmp_path: Path) -> None:
    """A file that is neither of the last write nor of the interrupted one is the user's."""
    out = tmp_path / "out"
    write(out, FILES)
    assert killed(out, OTHER, before=10)
    (out / "plan.json").write_text("mine")
    with pytest.raises(InputError, match=r"changed since they were written: plan\.json"):
        write(out, OTHER)
    assert (out / "plan.json").read_text() == "mine"


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """While a folder is being written, a second run is refused in words and changes nothing."""
    out = tmp_path / "out"
    write(out, FILES)
    before = contents(tmp_path)
    with folder._opened(out, out), pytest.raises(InputError, match="another run is writing"):
        write(out, OTHER)
    assert contents(tmp_path) == before


def test_one_first_run_at_a_time(tmp_path: Path) -> None:
    """A folder that another run is making is not written by a second one."""
    partial = tmp_path / ".out.partial"
    partial.mkdir()
    with folder._opened(partial, partial), pytest.raises(InputError, match="another run is writing"):
        write(tmp_path / "out", FILES)


@pytest.mark.parametrize(
    "name", ["/absolute", "../above", "a/../../above", "./plan.json", "a//b", ".writing/x", "", "a\ud800"]
)
@pytest.mark.parametrize("force", [False, True])
def test_a_manifest_of_somebody_else_removes_nothing(tmp_path: Path, name: str, force: bool) -> None:
    """A record that names a file outside the folder is refused, whatever its hash, and the file stays."""
    out = tmp_path / "out"
    write(out, FILES)
    victim = tmp_path / "above"
    victim.write_text("victim")
    named = str(victim) if name == "/absolute" else name
    digest = hashlib.sha256(b"victim").hexdigest()
    record = json.loads((out / ".written.json").read_text())
    (out / ".written.json").write_text(json.dumps(record | {"files": record["files"] | {named: digest}}))
    with pytest.raises(InputError, match="no file below this folder"):
        write(out, FILES, force=force)
    assert victim.read_text() == "victim"


@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path, force: bool) -> None:
    """A sub-folder that is a link to another place is refused, with its name; the other place stays as it was."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir()
    (out / "aws").symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"aws is a symbolic link"):
        write(out, FILES, force=True)
    assert list(elsewhere.iterdir()) == []
    (out / "aws").unlink()
    write(out, FILES, force=True)
    (elsewhere / "run.sh").write_text("victim")
    (out / "aws" / "run.sh").unlink()
    (out / "aws").rmdir()
    (out / "aws").symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"aws is a symbolic link"):
        write(out, {"plan.json": text("{}")}, force=force)
    assert (elsewhere / "run.sh").read_text() == "victim"


def test_a_link_in_the_place_of_a_file_is_the_users(tmp_path: Path) -> None:
    """A file that became a link stops the write; --force replaces the link and never what it leads to."""
    out, victim = tmp_path / "out", tmp_path / "victim"
    write(out, FILES)
    victim.write_text("victim")
    (out / "plan.json").unlink()
    (out / "plan.json").symlink_to(victim)
    with pytest.raises(InputError, match="changed since they were written"):
        write(out, FILES)
    write(out, FILES, force=True)
    assert victim.read_text() == "victim"
    assert not (out / "plan.json").is_symlink()


def test_a_changed_file_that_is_no_longer_written_is_kept(tmp_path: Path) -> None:
    """With --force too, a file of an earlier write that the user changed is not removed."""
    out = tmp_path / "out"
    write(out, FILES)
    (out / "aws/run.sh").write_text("mine")
    write(out, {"plan.json": text("{}")}, force=True)
    assert (out / "aws/run.sh").read_text() == "mine"


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    """Nothing is replaced when one of the files cannot be."""
    out = tmp_path / "out"
    write(out, FILES)
    (out / "gcp/main.py").mkdir(parents=True)
    with pytest.raises(InputError, match=r"main\.py is a folder"):
        write(out, OTHER, force=True)
    assert (out / "plan.json").read_text() == "{}\n"


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
