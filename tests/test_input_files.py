"""Files that a user, or somebody whose file the user has, names: within limits, from the folder, and never shown."""

import io
import os
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from clusterwright import input_files
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.parts_file import read_parts
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.reading.table import read_table
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import InputError

BLUEPRINT = Path(__file__).parents[1] / "blueprints" / "train-gpt3-175b.yaml"


def read(path: Path, most_bytes: int = 100) -> bytes:
    """Read a file with a limit."""
    return input_files.read_bytes(path, most_bytes=most_bytes, what="a list", advice="name another")


def test_what_is_read(tmp_path: Path) -> None:
    """A regular file is read up to the limit, and one byte more is refused before it is looked at."""
    path = tmp_path / "list"
    path.write_bytes(b"x" * 100)
    assert read(path) == b"x" * 100
    with pytest.raises(InputError, match="is larger than 0 kB, so it is not a list"):
        read(path, 99)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/dev/zero", "is not a regular file"),
        ("pipe", "is not a regular file"),
        (".", "is a folder, not a list"),
        ("none", "there is no file"),
        ("a\0b", "cannot be read"),
        ("x" * 300, "cannot be read"),
    ],
)
def test_what_is_no_file(tmp_path: Path, name: str, said: str) -> None:
    """Devices, pipes, folders and names that cannot be are refused at once, in words."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=said):
        read(tmp_path / name)


def test_a_file_that_says_it_is_empty(tmp_path: Path) -> None:
    """Files of /proc have no size: what they hold counts."""
    with pytest.raises(InputError, match="is larger than"):
        read(Path("/proc/self/maps"))


def workbook(path: Path, row: int, column: int) -> Path:
    """Write a workbook with one cell."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.cell(row=row, column=column, value="x")
    book.save(path)
    return path


@pytest.mark.parametrize(("row", "column"), [(1_048_576, 1), (1, 16_384), (100_001, 1), (1, 1_001)])
def test_a_cell_far_away_is_refused(tmp_path: Path, row: int, column: int) -> None:
    """One cell in the last row or column makes a sheet that takes minutes and gigabytes."""
    path = workbook(tmp_path / "far.xlsx", row, column)
    with pytest.raises(InputError, match="reaches to row"):
        input_files.read_workbook(path, what="a workbook", advice="send less")


def test_a_workbook_of_usual_size_is_read(tmp_path: Path) -> None:
    """The last row and column that are allowed are read."""
    path = workbook(tmp_path / "large.xlsx", 100_000, 1_000)
    book = input_files.read_workbook(path, what="a workbook", advice="send less")
    assert book.worksheets[0].cell(row=100_000, column=1_000).value == "x"


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A small archive that unpacks to much is refused by what it says of itself; one that lies is damaged."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 300_000_000)
    path = tmp_path / "bomb.xlsx"
    path.write_bytes(content.getvalue())
    assert path.stat().st_size < 400_000
    with pytest.raises(InputError, match="unpacks to 300 MB"):
        input_files.read_workbook(path, what="a workbook", advice="send less")
    lying = content.getvalue().replace((300_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    path.write_bytes(lying)
    with pytest.raises(InputError, match="is no workbook"):
        input_files.read_workbook(path, what="a workbook", advice="send less")


def blueprint(folder: Path, *lines: str) -> Path:
    """Write the shipped blueprint with further lines below `targets.onprem`."""
    text = BLUEPRINT.read_text()
    place = "    system: dgx-h100\n"
    assert place in text
    path = folder / "blueprint.yaml"
    path.write_text(text.replace(place, place + "".join(f"    {line}\n" for line in lines)))
    return path


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "/proc/self/environ", "../secret.csv", "link.csv", "sub/../../secret.csv"]
)
def test_a_blueprint_names_files_of_its_folder(tmp_path: Path, name: str) -> None:
    """A path that leaves the blueprint's folder, by itself or by a link, is refused at its place and never read."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("part,price_usd\nsecret,1\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(BlueprintError) as error:
        load(blueprint(folder, f"parts: {name}"))
    (problem,) = error.value.problems
    assert problem.message == f"{name!r} is outside the blueprint's folder"
    assert problem.position is not None
    assert "secret,1" not in error.value.render()


def test_the_user_may_name_any_file(tmp_path: Path) -> None:
    """What is typed on the command line is the user's own word; a link inside the folder is fine."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    outside = tmp_path / "parts.csv"
    outside.write_text("part,price_usd\n")
    (folder / "link.csv").symlink_to(folder / "sub")
    loaded = load(blueprint(folder), (f"targets.onprem.parts={outside}",))
    assert loaded.blueprint.targets.onprem is not None
    assert loaded.blueprint.targets.onprem.parts == str(outside)
    load(blueprint(folder, "parts: link.csv"))


def test_what_is_no_table_is_not_shown(tmp_path: Path) -> None:
    """A file without a column of parts is named; its lines, which may be secrets, are not."""
    path = tmp_path / ".env"
    path.write_text("TOKEN=hidden\nPASSWORD=hidden\n")
    with pytest.raises(InputError, match="is no table of parts") as error:
        read_parts(path, load_catalogue())
    assert "hidden" not in f"{error.value.message}{error.value.help}"


def test_a_large_table_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A sparse file of a gigabyte takes no memory."""
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(InputError, match="is larger than 20 MB"):
        read_table(path, what="parts")
