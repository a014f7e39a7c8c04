"""Runs LibreOffice to calculate a workbook again, from its formulas alone."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.errors import ClusterwrightError
from clusterwright.input_files import read_workbook

PROGRAM = "soffice"
_SECONDS = 300
#: Without this setting the program shows the stored values of files that it did not write itself.
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workbook:
    """A workbook read three ways: formulas, values as stored, values as calculated again; openpyxl workbooks."""

    formulas: Any
    stored: Any
    calculated: Any

    def formula_cells(self) -> Iterator[tuple[str, str]]:
        """Yield sheet and place of every formula."""
        for sheet in self.formulas:
            for row in sheet.iter_rows():
                for cell in row:
                    if isinstance(cell.value, str) and cell.value.startswith("="):
                        yield sheet.title, cell.coordinate


def missing_program() -> str:
    """Return why workbooks cannot be calculated here, empty if they can."""
    return "" if shutil.which(PROGRAM) else "not installed: soffice (Debian package libreoffice-calc)"


def version() -> str:
    """Return the program's name and version."""
    done = _run(["--version"], 60)
    return " ".join(done.stdout.split()[:2]) or "LibreOffice"


def calculate(path: Path) -> Workbook:
    """Return a workbook with all formulas calculated by LibreOffice.

    Raises:
        InputError: the file is no workbook; ClusterwrightError: the program failed or did not end.
    """
    advice = "write the folder again"
    formulas = read_workbook(path, what="a workbook", advice=advice)
    stored = read_workbook(path, what="a workbook", advice=advice, values=True)
    with tempfile.TemporaryDirectory(prefix="workbook-") as name:
        folder = Path(name)
        # A profile of its own: a second run beside it would hand its work to the first one.
        settings = folder / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS, encoding="utf-8")
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        made = folder / "calculated"
        target = ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(made), str(path.resolve())]
        done = _run([profile, "--headless", *target], _SECONDS)
        if not (made / path.name).is_file():
            raise ClusterwrightError(f"LibreOffice did not calculate {path.name}", help=done.stderr[-300:] or None)
        return Workbook(
            formulas=formulas,
            stored=stored,
            calculated=read_workbook(made / path.name, what="a workbook", advice=advice, values=True),
        )


def _run(arguments: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
    program = shutil.which(PROGRAM)
    if program is None:
        raise ClusterwrightError("LibreOffice is not installed", help=missing_program())
    try:
        return subprocess.run(  # noqa: S603 - a program by its full path; the file's name is one argument
            [program, *arguments], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise ClusterwrightError(f"LibreOffice did not end within {seconds} s") from None
