"""The inputs on the sheet Summary: what decides most, in yellow; the sheets Inputs and Bill take them from there.

A value typed over its cell on Inputs or Bill counts as well, since formulas read the cells there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.outputs.workbook.writing.formula import Figure
from clusterwright.outputs.workbook.writing.shared import Workbook, bill_label, label_of, option_of
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
#: Columns of the sheet in characters: two of texts, the others of figures.
_WIDTHS = (30, 32, *(14,) * 9)
#: Rows that the chart beside the inputs takes, with an empty one below it.
_CHART_ROWS = 18


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """An input as the sheet Inputs states it, with its row there; `counted` where a formula finds it."""

    name: str
    value: float | str
    unit: str
    row: int
    counted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RentedNode:
    """A kind of node that an option rents by the hour.

    Attributes:
        label: of the option on the sheet Bill.
        sku: of the node; usd: USD per node-hour.
        where: the option as people read it; discounted: whether a contract takes a discount off this price.
    """

    label: str
    sku: str
    usd: float
    where: str
    discounted: bool


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
    page.widths(*_WIDTHS)
    page.text(head - 1, 0, "Change a yellow cell: every sheet follows", "bold")
    page.head(head, ("input", "value", "in effect"))
    page.text(head, _IN_EFFECT + 1, "unit", "after")
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


def rented_nodes(work: Workbook) -> tuple[RentedNode, ...]:
    """Return every kind of node that an option rents by the hour at a known price, the options of a cloud together."""
    targets = [option.target for option in work.plan.options]
    rented = [cost for cost in work.found.costs if not cost.owned and not cost.mixed]
    found: dict[RentedNode, None] = {}
    for cost in sorted(rented, key=lambda cost: (*targets, cost.target).index(cost.target)):
        option, candidate = option_of(work.plan, cost), work.found.ways[cost.key].candidate
        contract = candidate.contract if candidate else None
        for line in option.money.lines if option else cost.lines:
            if line.line.category == "compute" and line.line.charge == "hourly" and line.unit_usd is not None:
                node = RentedNode(
                    label=bill_label(work, cost),
                    sku=line.line.sku,
                    usd=line.unit_usd,
                    where=label_of(cost.key),
                    discounted=contract is not None and contract.discount > 0,
                )
                found[node] = None
    return tuple(found)


def write_prices(work: Workbook) -> dict[RentedNode, Figure]:
    """Write the price of every kind of rented node on Summary; return the cells."""
    page, head, nodes = work.page("Summary"), _prices_head(work), rented_nodes(work)
    if not nodes:
        return {}
    page.head(head, ("price of a rented node", "value", "in effect"))
    page.text(head, _IN_EFFECT + 1, "unit", "after")
    limit = {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": "A price of 0 or more."}
    page.sheet.data_validation(head + 1, 1, head + len(nodes), 1, limit)
    return {node: page.number(row, 1, node.usd, "input") for row, node in enumerate(nodes, start=head + 1)}


def lead_to_bill(work: Workbook, prices: Mapping[RentedNode, Figure]) -> None:
    """Write beside the prices on Summary what the sheet Bill counts with.

    Args:
        work: the workbook.
        prices: cells of Bill, in the order of `write_prices`.
    """
    page = work.page("Summary")
    for row, (node, price) in enumerate(prices.items(), start=_prices_head(work) + 1):
        page.link(row, 0, "Bill", price.text.partition("!")[2].replace("$", ""), node.where)
        page.put(row, _IN_EFFECT, price, "number")
        unit = f"USD per hour of {node.sku.partition('/')[2]}"
        page.text(row, _IN_EFFECT + 1, unit + (", before the discount on Contracts" if node.discounted else ""), "text")


def _prices_head(work: Workbook) -> int:
    """Return the row of the head of the prices, below the inputs."""
    return below_options(work) + 3 + 1 + len(_NAMES) + 1


def below_inputs(work: Workbook) -> int:
    """Return the row below the inputs and the prices on Summary, and below the chart beside them."""
    return max(below_options(work) + 3 + _CHART_ROWS, _prices_head(work) + len(rented_nodes(work)) + 2)
