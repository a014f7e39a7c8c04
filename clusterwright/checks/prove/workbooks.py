"""Proof of the workbooks: another program calculates them again and finds the engine's numbers, to the cent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from clusterwright.checks.prove.records import PLAN, Documents, Result, found, judged, skipped
from clusterwright.checks.prove.site.bill import planned_lines
from clusterwright.checks.prove.spreadsheets import Workbook, calculate, missing_program, version
from clusterwright.errors import ClusterwrightError, Finding
from clusterwright.units import counted

_ENGINE = "LibreOffice"
#: Largest difference of two amounts that are the same to the cent, in USD; and of other numbers, relative.
CENT_USD = 0.005
_RELATIVE = 1e-9
_SHOWN = 3
_HELP = "write the folder again; quotes are given with --quotes, so that every document follows them"
_BILL_SHEET = "Bill of materials"
_SUMMARY_SHEET = "Summary"

Value = str | float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Amount:
    """A number that the engine has: its words, where the workbook has it, and its value."""

    words: str
    shown: Value
    engine: float | None


def prove_workbooks(documents: Documents) -> Iterator[Result]:
    """Yield the proof of the bill of materials and, where the folder has one, of the cost workbook."""
    bill = documents.site / "bill_of_materials.xlsx"
    yield _proven("bill of materials", bill, documents, _bill)
    cost = documents.root / "tco" / "tco.xlsx"
    if cost.is_file():
        yield _proven("cost workbook", cost, documents, _cost)


def _proven(part: str, path: Path, documents: Documents, amounts: object) -> Result:
    files = (documents.name(path),)
    reason = missing_program()
    if reason:
        return skipped(part, files, _ENGINE, reason)
    try:
        book = calculate(path)
        engine = version()
        listed = list(amounts(book, documents))  # type: ignore[operator]
    except ClusterwrightError as error:
        return judged(part, files, _ENGINE, [], [found("WBK003", error.message, error.help or _HELP)])
    except (KeyError, IndexError, StopIteration) as error:
        return judged(
            part, files, _ENGINE, [], [found("WBK003", f"{files[0]}: a sheet or column is gone: {error}", _HELP)]
        )
    cells = list(book.formula_cells())
    findings = [*_stored(files[0], book, cells), *_engine(files[0], listed)]
    facts = [f"{len(cells):,} formulas calculated again, {len(listed):,} amounts equal to {PLAN}"]
    return judged(part, files, engine, facts, findings)


def _stored(file: str, book: Workbook, cells: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Compare what the formulas give with what the file shows before anybody calculates it."""
    wrong = []
    for sheet, place in cells:
        shown, again = book.stored[sheet][place].value, book.calculated[sheet][place].value
        if not _same(shown, again):
            wrong.append(f"{sheet}!{place} shows {_text(shown)}, its formula gives {_text(again)}")
    if wrong:
        yield found("WBK001", f"{file}: {counted(len(wrong), 'cell')}; {'; '.join(wrong[:_SHOWN])}", _HELP)


def _engine(file: str, amounts: Sequence[_Amount]) -> Iterator[Finding]:
    """Compare calculated amounts with the engine's."""
    wrong = [
        f"{amount.words} is {_text(amount.shown)}, the plan has {_text(amount.engine)}"
        for amount in amounts
        if not _same("unknown" if amount.engine is None else amount.engine, amount.shown)
    ]
    if wrong:
        yield found("WBK002", f"{file}: {counted(len(wrong), 'amount')}; {'; '.join(wrong[:_SHOWN])}", _HELP)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isclose(one, other, rel_tol=_RELATIVE, abs_tol=CENT_USD)
    return (one or "") == (other or "")


def _text(value: Value) -> str:
    return f"{value:,.2f}" if isinstance(value, int | float) else str(value)


def _columns(titles: Sequence[Value]) -> Mapping[str, int]:
    return {title: index for index, title in enumerate(titles) if isinstance(title, str)}


def _bill(book: Workbook, documents: Documents) -> Iterator[_Amount]:
    """Yield quantity and amount of every line, and the sum, from the sheet and from the plan."""
    rows = [[cell.value for cell in row] for row in book.calculated[_BILL_SHEET].iter_rows()]
    at = _columns(rows[0])
    known = 0.0
    for planned, row in zip(planned_lines(documents), rows[1:], strict=False):
        line = planned.line
        total = None if planned.unit_usd is None else planned.unit_usd * line.quantity
        known += total or 0.0
        words = f"line {row[0]} ({line.sku})" if planned.length_m is None else f"line {row[0]} ({line.item})"
        yield (
            _Amount(words=f"the part of {words}", shown=row[at["Part"]], engine=None)
            if row[at["Part"]] != line.sku
            else _Amount(words=f"the quantity of {words}", shown=row[at["Quantity"]], engine=line.quantity)
        )
        yield _Amount(words=f"the amount of {words}", shown=row[at["USD total"]], engine=total)
    summed = next(row for row in rows[1:] if "Sum of known prices" in row)
    yield _Amount(words="the sum", shown=summed[at["USD total"]], engine=known)


def _cost(book: Workbook, documents: Documents) -> Iterator[_Amount]:
    """Yield the figures of every option on the summary."""
    rows = [[cell.value for cell in row] for row in book.calculated[_SUMMARY_SHEET].iter_rows()]
    unit = documents.plan.workload.unit
    cash, share = f"{unit.asked}, USD", f"share of {unit.each}, USD"
    head = next(index for index, row in enumerate(rows) if cash in row)
    at = _columns(rows[head])
    for option, row in zip(documents.plan.options, rows[head + 1 :], strict=False):
        if option.money.missing:
            continue
        for title, value in (
            (cash, option.money.run_usd),
            (share, option.money.run_share_usd),
            ("horizon, USD", option.money.horizon_usd),
            ("present value, USD", option.money.npv_usd),
            ("buy now, USD", option.money.capex_usd),
            ("USD per GPU-hour", option.money.usd_per_gpu_hour),
        ):
            # A run is paid in cash or has a share of what is bought: the other cell holds a dash.
            if value is not None or title not in {cash, share}:
                yield _Amount(words=f"{title} of {option.target}", shown=row[at[title]], engine=value)
