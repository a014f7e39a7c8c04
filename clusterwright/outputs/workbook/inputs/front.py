"""The inputs on the sheet Summary: what decides most, in yellow; the sheet Inputs takes these values from there.

A value typed over its cell on Inputs counts as well, since formulas read the names of the cells there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.outputs.workbook.writing.formula import Figure
from clusterwright.outputs.workbook.writing.shared import Workbook
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.words import capital

#: Head of the four figures, and of the plan's options, as rows counted from zero.
FIGURES, OPTIONS = 5, 12
#: Names of the inputs on Summary, those that a workbook has, in this order.
_NAMES = (
    "utilisation",
    "horizon_months",
    "power_price_usd_per_kwh",
    "resale_fraction",
    "growth_fraction_per_year",
    "discount_rate",
    "tax_rate",
)
_IN_EFFECT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """An input as the sheet Inputs states it, with its row there; `counted` where a formula finds it."""

    name: str
    value: float | str
    unit: str
    row: int
    counted: bool


def below_options(work: Workbook) -> int:
    """Return the row below the plan's options on Summary."""
    return OPTIONS + 1 + len(work.plan.options) + 1


def write_front(work: Workbook, stated: Sequence[Stated]) -> dict[str, tuple[int, Figure]]:
    """Write the inputs on Summary; return the rows and cells that hold values, by name.

    Args:
        work: the workbook.
        stated: every input. One that a formula finds keeps its cell on Inputs, to which its row leads.
    """
    page, head = work.page("Summary"), below_options(work) + 3
    page.text(head - 1, 0, "Change a yellow cell: every sheet follows", "bold")
    page.head(head, ("input", "value", "in effect"))
    page.text(head, _IN_EFFECT + 1, "unit", "head")
    by_name = {entry.name: entry for entry in stated}
    chosen = [by_name[name] for name in _NAMES if name in by_name]
    cells: dict[str, tuple[int, Figure]] = {}
    for row, entry in enumerate(chosen, start=head + 1):
        page.link(row, 0, "Inputs", f"B{entry.row + 1}", capital(input_words(entry.name)))
        if entry.counted or isinstance(entry.value, str):
            page.text(row, 1, "counted: change it on Inputs", "text_right")
        else:
            cells[entry.name] = (row, page.number(row, 1, entry.value, "input"))
        page.put(row, _IN_EFFECT, Figure(entry.name, entry.value), "number")
        page.text(row, _IN_EFFECT + 1, entry.unit, "text")
    return cells


def below_inputs(work: Workbook) -> int:
    """Return the row below the inputs on Summary, and below the chart beside them."""
    return below_options(work) + 3 + len(_NAMES) + 11
