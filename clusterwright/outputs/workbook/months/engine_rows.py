"""What the engine pays and no formula of the workbook counts: amounts by month, shown as numbers and said to be so."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence

from clusterwright.outputs.workbook.writing.formula import Figure, figure
from clusterwright.outputs.workbook.writing.shared import Class, EngineCheck, Workbook

#: Smaller differences are rounding.
LEAST_USD = 0.004


def left_to_the_engine(
    work: Workbook, text: str, rest: Mapping[Class, Sequence[float]], formulas: Container[Class]
) -> None:
    """Hold that no class of amounts is left to the engine in part: where formulas count it, they count all of it.

    Args:
        work: the workbook, which gets a check for each class that is left in part.
        text: what is held.
        rest: amounts that the engine pays beside the formulas, by class.
        formulas: classes that formulas count.
    """
    for kind, amounts in rest.items():
        if kind in formulas:
            usd = figure(sum(abs(amount) for amount in amounts))
            what = f"{text}: amounts {kind} that its formulas do not count"
            work.engine_checks.append(EngineCheck(text=what, cell=usd, engine=0.0, within=LEAST_USD))


def class_of(category: str, capex_or_opex: str, fixed_or_variable: str) -> Class:
    """Return the class of a row of the cash flow; `kept` for every running cost that does not follow the hours."""
    if capex_or_opex == "financing":
        return "financed"
    if capex_or_opex == "capex":
        return "sold" if category == "resale" else "bought"
    return "used" if fixed_or_variable == "variable" else "kept"


def told(kind: Class) -> Class:
    """Return the class by which the engine's rows tell a class apart."""
    return "kept" if kind in ("committed", "standing") else kind


def paid_by_month(work: Workbook, key: str) -> Mapping[tuple[Class, float], float]:
    """Return what the engine pays for an option, by class and month."""
    found: dict[tuple[Class, float], float] = defaultdict(float)
    for row in work.found.rows.get(key, ()):
        found[class_of(row.category, row.capex_or_opex, row.fixed_or_variable), row.month] += row.usd
    return found


def by_class(
    work: Workbook,
    key: str,
    months: Sequence[object],
    kinds: Sequence[Class],
    rows: Sequence[Sequence[Figure]],
) -> dict[Class, list[float]]:
    """Return what is left of the engine's amounts after the formulas, by class, by row; classes without rest left out.

    Args:
        work: the workbook.
        key: of the option.
        months: end of the month of every row.
        kinds: class of every column of formulas.
        rows: the formulas' values.
    """
    paid = paid_by_month(work, key)
    found: dict[Class, list[float]] = {}
    for kind in ("used", "kept", "bought", "sold", "financed"):
        rest = [
            paid.get((kind, float(str(month))), 0.0)
            - sum(float(cell.value or 0.0) for cell, of in zip(row, kinds, strict=True) if told(of) == kind)
            for month, row in zip(months, rows, strict=True)
        ]
        if any(abs(usd) > LEAST_USD for usd in rest):
            found[kind] = rest
    return found
