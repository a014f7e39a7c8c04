"""Proof that every file of the folder is well-formed: each is read by a parser of its own language."""

import csv
import json
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.parsers import expat

from clusterwright.checks.prove.records import Documents, Result, found, judged
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_documents

_PART = "all files"
#: Columns of a table may start with one of these only if the cell is a number.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MOST = 20


class _WrongError(Exception):
    """A file is not well-formed; the text says where."""


def prove_files(documents: Documents) -> Result:
    """Return what holds of the form of every file on premises, the cost report's folder included."""
    roots = dict.fromkeys((documents.site, documents.root / "tco"))
    paths = [path for root in roots for path in sorted(root.rglob("*")) if path.is_file() and path.suffix in READERS]
    wrong: list[str] = []
    for path in paths:
        try:
            READERS[path.suffix](path)
        except _WrongError as error:
            wrong.append(f"{documents.name(path)}:{error}")
        except (OSError, UnicodeDecodeError) as error:
            wrong.append(f"{documents.name(path)}: {error}")
    findings = [found("FIL001", said, "write the folder again, or correct the file") for said in wrong[:_MOST]]
    kinds = Counter(path.suffix[1:] for path in paths)
    facts = [f"{len(paths)} files: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}"]
    return judged(_PART, (), "parsers of XML, YAML, JSON, CSV, ZIP and bash", facts, findings)


def _xml(path: Path) -> None:
    parser = expat.ParserCreate()
    # A picture needs no entities of its own; files that expand without end do.
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise _WrongError(f"{error.lineno}:{error.offset + 1}: {expat.ErrorString(error.code)}") from None


def _refuse_entities(*_: object) -> None:
    raise _WrongError("1:1: it declares entities")


def _yaml(path: Path) -> None:
    try:
        yaml_documents(path.read_text(encoding="utf-8"))
    except YamlTextError as error:
        raise _WrongError(f" {str(error)[:200]}") from None


def _json(path: Path) -> None:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise _WrongError(f"{error.lineno}:{error.colno}: {error.msg}") from None


def _csv(path: Path) -> None:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            for row in reader:
                if row and len(row) != len(header):
                    raise _WrongError(f"{reader.line_num}:1: {len(row)} cells, the header has {len(header)}")
                cell = next((cell for cell in row if cell.startswith(_FORMULA_STARTS) and not _is_number(cell)), None)
                if cell is not None:
                    raise _WrongError(f"{reader.line_num}:1: a cell that spreadsheets run as a formula: {cell[:40]!r}")
        except csv.Error as error:
            raise _WrongError(f"{reader.line_num}:1: {error}") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _zip(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        raise _WrongError(f" {error}") from None
    if damaged:
        raise _WrongError(f" {damaged} in it is damaged")


def _shell(path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        return
    done = subprocess.run([bash, "-n", str(path)], capture_output=True, text=True, check=False)  # noqa: S603 - reads only
    if done.returncode:
        raise _WrongError(f" {done.stderr.strip().splitlines()[0]}")


READERS: Mapping[str, Callable[[Path], None]] = {
    ".svg": _xml,
    ".xml": _xml,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
    ".csv": _csv,
    ".xlsx": _zip,
    ".sh": _shell,
    ".sbatch": _shell,
}
