"""The tables of a site's documents as they were written, each row with its place, and findings that name it."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.own_facts import with_facts
from clusterwright.catalog.records import Catalogue
from clusterwright.checks.prove.records import Documents, Result, found, judged
from clusterwright.errors import ClusterwrightError, Finding

ENGINE = "relations between the documents"
HELP = "correct the row, or write the folder again from the blueprint"
#: Rows with the same fault that are named one by one; of the others there is a count.
_SHOWN = 5


class CellError(ClusterwrightError):
    """A cell that is no number where one has to be, or a column that is gone; the text names the row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row of a table: its file and line, and its cells by column, without spaces around them."""

    file: str
    line: int
    cells: Mapping[str, str]

    @property
    def place(self) -> str:
        """File and line, as editors take them."""
        return f"{self.file}:{self.line}"

    def __getitem__(self, column: str) -> str:
        """Return the text of a cell.

        Raises:
            CellError: there is no such column.
        """
        try:
            return self.cells[column]
        except KeyError:
            raise CellError(f"{self.file}:1: the column {column} is gone", help=HELP) from None

    def number(self, column: str) -> float:
        """Return the number of a cell.

        Raises:
            CellError: the cell is no number.
        """
        try:
            return float(self[column])
        except ValueError:
            raise CellError(
                f"{self.place}: {column} is {self[column]!r}, expected a number: sums are made of it", help=HELP
            ) from None

    def count(self, column: str) -> int:
        """Return the whole number of a cell.

        Raises:
            CellError: the cell is no whole number.
        """
        value = self.number(column)
        if value != int(value):
            raise CellError(f"{self.place}: {column} is {self[column]}, expected a whole number", help=HELP)
        return int(value)

    def known(self, column: str) -> float | None:
        """Return the number of a cell, None for an empty one, which is an unknown figure."""
        return self.number(column) if self[column] else None


def wrong(id_: str, row: Row, what: str, value: object, expected: object, rule: str) -> Finding:  # noqa: PLR0917 - in the order of the sentence
    """Return a finding that names row, value found, value expected and rule."""
    return found(id_, f"{row.place}: {what} is {_shown(value)}, expected {_shown(expected)}: {rule}", HELP)


def absent(id_: str, file: str, what: str, value: object, expected: object, rule: str) -> Finding:  # noqa: PLR0917 - as above
    """Return a finding about a whole table, or a row that it lacks."""
    return found(id_, f"{file}: {what} is {_shown(value)}, expected {_shown(expected)}: {rule}", HELP)


_ESCAPED = re.compile(r"\\(.)")


def plain(text: str) -> str:
    """Return the words of Markdown without escapes and with single spaces."""
    return " ".join(_ESCAPED.sub(r"\1", text).split())


def _shown(value: object) -> str:
    if value is None or value == "":
        return "nothing"
    return f"{value:,.10g}" if isinstance(value, float) else " ".join(str(value).split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Papers:
    """All tables of a folder.

    Attributes:
        documents: the folder and its plan; catalogue: ratings and sizes, with the user's own facts.
        tables: rows by path within the folder of the site; a file that is not there has no entry.
        standing: the row of `racks.csv` of every device, by name.
    """

    documents: Documents
    catalogue: Catalogue
    tables: Mapping[str, tuple[Row, ...]]
    standing: Mapping[str, Row]

    def rows(self, file: str) -> tuple[Row, ...]:
        """Return the rows of a table.

        Raises:
            CellError: there is no such file.
        """
        try:
            return self.tables[file]
        except KeyError:
            raise CellError(f"{file}: the file is gone", help=HELP) from None

    def text(self, file: str) -> str:
        """Return the text of a file.

        Raises:
            CellError: there is no such file.
        """
        try:
            return (self.documents.site / file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CellError(f"{file} cannot be read: {error}", help=HELP) from None

    def place(self, device: str) -> Row | None:
        """Return the row of `racks.csv` of a device; None for one that has none, such as a power strip."""
        return self.standing.get(device)


def read_papers(documents: Documents) -> Papers:
    """Return the tables of a folder and of its folder for NetBox; one that cannot be read is left out."""
    tables = {}
    for path in sorted([*documents.site.glob("*.csv"), *(documents.site / "netbox").glob("*.csv")]):
        name = path.relative_to(documents.site).as_posix()
        try:
            tables[name] = tuple(_read(path, name))
        except (OSError, UnicodeDecodeError, csv.Error):
            continue  # said by the proof of all files, and where the table is asked for
    return Papers(
        documents=documents,
        catalogue=with_facts(load_catalogue(), documents.plan.own_facts),
        tables=tables,
        standing={row.cells.get("device", ""): row for row in tables.get("racks.csv", ())},
    )


def _read(path: Path, name: str) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        for cells in reader:
            if not any(cells.values()):
                continue  # a spreadsheet's empty line
            # Cells of a row that is too short are None; the proof of all files names such a row.
            texts = {key: value.strip() if value else "" for key, value in cells.items() if key}
            yield Row(file=name, line=reader.line_num, cells=texts)


def read_rows(documents: Documents, name: str) -> tuple[Row, ...]:
    """Return the rows of a table in any folder of the site.

    Raises:
        CellError: it cannot be read.
    """
    try:
        return tuple(_read(documents.site / name, name))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CellError(f"{name} cannot be read: {error}", help=HELP) from None


Rule = Callable[[Papers], Iterator[Finding]]


def examined(part: str, papers: Papers, files: Sequence[str], rules: Iterable[Rule], facts: list[str]) -> Result:
    """Return the result of a part: every rule on its own, so that a bad cell hides nothing but its own rule."""
    findings: list[Finding] = []
    for rule in rules:
        try:
            findings += rule(papers)
        except CellError as error:
            findings.append(found("TAB001", error.message, error.help or HELP))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            # What nobody foresaw of a file from outside is a finding too; the other rules go on.
            said = (
                f"{', '.join(files) or part}: a value cannot be read or counted with: {type(error).__name__}: {error}"
            )
            findings.append(found("TAB001", said, HELP))
    unique = list(dict.fromkeys(findings))
    return judged(part, tuple(files), ENGINE, [] if unique else facts, summed(unique))


def summed(findings: Sequence[Finding]) -> list[Finding]:
    """Return the first findings of every rule one by one, and a count of the others."""
    by_id: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_id[finding.id].append(finding)
    shown: list[Finding] = []
    for id_, own in by_id.items():
        shown += own[:_SHOWN]
        if len(own) > _SHOWN:
            shown.append(found(id_, f"{len(own) - _SHOWN:,} more rows have the same fault", HELP))
    return shown
