"""A worksheet that writes formulas of old functions as they are.

XlsxWriter looks for each of thirty newer functions in every formula, to give it the prefix that Excel wants. That is
half of the time of a workbook with thousands of formulas, none of which names one.
"""

import re

from xlsxwriter.worksheet import Worksheet

#: What our formulas call, all of it known to Excel 2007; a formula with any other function takes XlsxWriter's way.
FUNCTIONS = frozenset({
    "ABS", "AND", "COUNTIF", "EXP", "IF", "IFERROR", "INDEX", "INT", "IPMT", "IRR", "MATCH", "MAX", "MIN", "MOD", "OR",
    "PMT", "ROUND", "ROUNDUP", "ROW", "SUM", "SUMIFS", "SUMPRODUCT",
})  # fmt: skip
_CALLED = re.compile(r"([A-Za-z][\w.]*)\(")


class PlainWorksheet(Worksheet):  # type: ignore[misc]  # XlsxWriter is untyped
    """XlsxWriter's worksheet, for `Workbook.add_worksheet(..., worksheet_class=PlainWorksheet)`."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        if formula.startswith("=") and FUNCTIONS.issuperset(_CALLED.findall(formula)):
            return formula[1:]
        prepared: str = super()._prepare_formula(formula, expand_future_functions)
        return prepared
