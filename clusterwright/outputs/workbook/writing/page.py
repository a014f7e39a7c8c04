"""One sheet to write on: every figure becomes a formula with its cached value, and gives a reference to its cell."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xlsxwriter.worksheet import Worksheet

from clusterwright.outputs.workbook.writing.formula import Figure, Value, figure, times

_USD = "USD"
#: Formats of money.
_MONEY = ("usd", "unit_usd", "total", "engine", "millions", "headline")
#: Formats of cells that may be changed.
_INPUTS = ("input", "input_text", "share_input", "factor_input")
_LINE = 15.0  # points: height of a row of text
_USUAL_WIDTH = 8.43  # characters
#: Characters of bold text take about so much more room.
_BOLD = 1.2
_CELL = re.compile(r"(?<![:!\w$])\$([A-Z]{1,3})\$(\d+)(?![:\d])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A sheet of the workbook.

    Attributes:
        sheet: XlsxWriter's worksheet; formats: its formats by name.
        errors: places of figures without a value, which would show as errors; none in a sound workbook.
        wide: widths of columns in characters.
        told: where money is shown in a currency that an input chooses: its code, and the USD for one unit. Cells show
            money in it; what they return is in USD like everything else.
        inputs: the cells that may be changed, with the values that were written, and whether they are formulas.
    """

    sheet: Any
    formats: Mapping[str, Any]
    errors: list[str] = field(default_factory=list)
    wide: dict[int, float] = field(default_factory=dict)
    told: tuple[Figure, Figure] | None = None
    inputs: list[tuple[Figure, bool]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name on the tab."""
        return str(self.sheet.get_name())

    def title(self, title: str, note: str = "") -> None:
        """Write the sheet's title and what it shows."""
        self.label(0, 0, title, "title")
        if note:
            self.label(1, 0, note, "note")

    def label(self, row: int, column: int, text: str, style: str | None = None) -> None:
        """Write a text of ours; where it says USD, the currency that the sheet shows money in takes its place."""
        if self.told is None or _USD not in text:
            self.text(row, column, text, style)
            return
        code = self.told[0]
        pieces = text.replace('"', '""').split(_USD)
        formula = "=" + f"&{code.text}&".join(f'"{piece}"' for piece in pieces)
        shown = text.replace(_USD, str(code.value))
        self.sheet.write_formula(row, column, formula, self.formats[style] if style else None, shown)

    def text(self, row: int, column: int, text: str, style: str | None = None) -> None:
        """Write a text; it never becomes a formula."""
        self._input(row, column, text, style)
        self.sheet.write_string(row, column, text, self.formats[style] if style else None)

    def link(self, row: int, column: int, sheet: str, cell: str, text: str) -> None:
        """Write a text that leads to a cell of another sheet of this workbook."""
        quoted = sheet.replace("'", "''")
        self.sheet.write_url(row, column, f"internal:'{quoted}'!{cell}", self.formats["link"], text)

    def head(self, row: int, titles: Sequence[str], *, texts: int = 1, column: int = 0) -> None:
        """Write titles of columns, the first few of them over texts, the others over numbers."""
        self.heighten(row, {column + place: title for place, title in enumerate(titles)}, _BOLD)
        for place, title in enumerate(titles):
            self.label(row, column + place, title, "head" if place < texts else "right")

    def number(self, row: int, column: int, value: float | None, style: str = "number") -> Figure:
        """Write a number, or `unknown`; return the cell."""
        self._input(row, column, value, style)
        if value is None:
            self.sheet.write_string(row, column, "unknown", self.formats["text_right"])
        elif self.told is not None and style in _MONEY:
            return self.put(row, column, figure(value), style)
        else:
            self.sheet.write_number(row, column, value, self.formats[style])
        return self.cell(row, column, value)

    def put(self, row: int, column: int, figure: Figure, style: str = "usd") -> Figure:
        """Write a figure as a formula with its cached value; return the cell."""
        self._input(row, column, figure.value, style, formula=True)
        if self.told is None or style not in _MONEY:
            self._write(row, column, figure, style)
            return self.cell(row, column, figure.value)
        shown = figure / self.told[1]
        if '"' in figure.text:  # a text stays one
            value = figure.value if isinstance(figure.value, str) else shown.value
            shown = Figure(f"IFERROR({shown.text},{figure.text})", value)
        self._write(row, column, shown, style)
        return self.money(row, column, figure.value)

    def _input(self, row: int, column: int, value: Value, style: str | None, *, formula: bool = False) -> None:
        if style is not None and style in _INPUTS and value is not None:
            self.inputs.append((self.cell(row, column, value), formula))

    def _write(self, row: int, column: int, figure: Figure, style: str) -> None:
        if figure.value is None:
            self.errors.append(f"{self.name}!{_letters(column)}{row + 1}: {figure.text}")
        value: Any = "" if figure.value is None else figure.value
        self.sheet.write_formula(row, column, f"={self._near(figure.text, row)}", self.formats[style], value)

    def cell(self, row: int, column: int, value: Any) -> Figure:  # noqa: ANN401 - what a cell shows
        """Return a reference to a cell that holds a value."""
        return Figure(f"'{self.name}'!${_letters(column)}${row + 1}", value)

    def money(self, row: int, column: int, usd: Any) -> Figure:  # noqa: ANN401 - what a cell shows
        """Return what a cell with money holds, in USD."""
        return times(self.cell(row, column, usd), self.told[1].text if self.told else "")

    def widths(self, *widths: float, rest: float = 0, columns: int = 0) -> None:
        """Set widths of the first columns, in characters, and of the rest up to a number of columns."""
        for column, width in enumerate(widths):
            self._wide(column, width)
        for column in range(len(widths), columns):
            self._wide(column, rest)

    def widths_at(self, first: int, *widths: float) -> None:
        """Set widths of some columns from a first one on, in characters."""
        for column, width in enumerate(widths, start=first):
            self._wide(column, width)

    def heighten(self, row: int, texts: Mapping[int, str], factor: float = 1.0) -> None:
        """Make a row high enough for texts by column that are wrapped at their column's width."""
        lines = [
            math.ceil(len(text) * factor / self.wide.get(column, _USUAL_WIDTH) + 1e-9) for column, text in texts.items()
        ]
        self.sheet.set_row(row, _LINE * max([1, *lines]) + 1)

    def _wide(self, column: int, width: float) -> None:
        self.wide[column] = width
        self.sheet.set_column(column, column, width)

    def _near(self, text: str, row: int) -> str:
        """Return a formula as people write it: no sheet of its own, and cells of the rows around it relative."""
        own = text.replace(f"'{self.name}'!", "")
        return _CELL.sub(
            lambda found: f"{found[1]}{found[2]}" if abs(int(found[2]) - 1 - row) <= 1 else f"${found[1]}${found[2]}",
            own,
        )


def _letters(column: int) -> str:
    """Return a column's letters (0 is A, 26 is AA)."""
    found = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


#: What our formulas call, all of it known to Excel 2007; a formula with any other function takes XlsxWriter's way.
FUNCTIONS = frozenset(
    {
        "ABS",
        "AND",
        "COUNTIF",
        "EXP",
        "IF",
        "IFERROR",
        "INDEX",
        "INT",
        "IPMT",
        "IRR",
        "MATCH",
        "MAX",
        "MIN",
        "MOD",
        "OR",
        "PMT",
        "ROUND",
        "ROUNDUP",
        "ROW",
        "SUM",
        "SUMIFS",
        "SUMPRODUCT",
    }
)
_CALLED = re.compile(r"([A-Za-z][\w.]*)\(")


class PlainWorksheet(Worksheet):  # type: ignore[misc]  # XlsxWriter is untyped
    """XlsxWriter's worksheet, for `Workbook.add_worksheet(..., worksheet_class=PlainWorksheet)`."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        if formula.startswith("=") and FUNCTIONS.issuperset(_CALLED.findall(formula)):
            return formula[1:]
        prepared: str = super()._prepare_formula(formula, expand_future_functions)
        return prepared
