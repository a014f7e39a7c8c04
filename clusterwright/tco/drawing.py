"""Every option in every draw of the uncertain inputs: what it costs, and what came out over all draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.tco.drawn_columns import derived, works
from clusterwright.tco.engine import Ledger
from clusterwright.tco.taxes import Taxes, tax_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Draws whose costs are handed out one by one: tornado and heat map are small sets of chosen draws.
MOST_ROWS = 1000
#: Draws that are valued at once, which bounds the memory.
_BLOCK = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnOption:
    """An option over all draws; a cost is positive. None where it can do the work of no draw.

    Attributes:
        key: of the option.
        npv_usd_p10, npv_usd_p50, npv_usd_p90: quantiles of the present value of its cost.
        npv_usd_dearest_tenth: mean of the dearest tenth of the draws (conditional value at risk).
        regret_usd: mean of what it costs above the cheapest of each draw.
        probability_cheapest: share of the draws in which it costs least.
        *_after_tax*: the same after tax; equal to those before it where no tax is counted.
        probability_too_slow: share of the draws whose work an owned cluster cannot do in the horizon; the other figures
            leave these draws out.
    """

    key: str
    npv_usd_p10: float | None
    npv_usd_p50: float | None
    npv_usd_p90: float | None
    npv_usd_dearest_tenth: float | None
    regret_usd: float | None
    probability_cheapest: float
    npv_after_tax_usd_p10: float | None
    npv_after_tax_usd_p50: float | None
    npv_after_tax_usd_p90: float | None
    npv_after_tax_usd_dearest_tenth: float | None
    regret_after_tax_usd: float | None
    probability_cheapest_after_tax: float
    probability_too_slow: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnRegret:
    """What it costs to have chosen one option where another one was right, before tax.

    Attributes:
        key: what was chosen; right_key: what was the cheapest.
        probability: share of the draws in which `right_key` was the cheapest.
        regret_usd: what `key` cost more in them on average; None where it could do the work of none.
    """

    key: str
    right_key: str
    probability: float
    regret_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCost:
    """The present value of an option's cost in one draw, before and after tax."""

    number: int
    key: str
    npv_usd: float
    npv_after_tax_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """All options over all draws, what a wrong choice costs, and the costs of the first draws one by one."""

    options: tuple[DrawnOption, ...]
    regrets: tuple[DrawnRegret, ...]
    costs: tuple[DrawnCost, ...]


def drawn(ledger: Ledger, draws: "Mapping[str, Column]", *, taxes: Taxes | None = None) -> Drawn:
    """Return the present value of every option in every draw of the uncertain inputs.

    The cash flow is a sum of products of inputs, so that a draw scales the present value of the terms that are products
    of the same inputs; draws never meet months. Taxes are linear in the cash flow, and so scale with it.

    Args:
        ledger: the cash flow.
        draws: a column of factors (1 is the base) per input, and `number`; inputs without a column stay at 1.
        taxes: None counts before tax alone.
    """
    ledger.create("taxed_term", "tco/sql/stg_taxed_term.sql", {})
    if taxes is not None:
        tax_terms(ledger, taxes)
    ledger.create("drawn_present", "tco/sql/drawn_present.sql", {})
    products = {row["place"]: row["input_keys"] for row in ledger.query("tco/sql/drawn_product.sql", {})}
    for first in range(0, len(draws["number"]), _BLOCK):
        block = {name: column[first : first + _BLOCK] for name, column in draws.items()}
        columns = block | derived(ledger, block)
        with (
            ledger.holding("drawn_factor", _factors(products, columns)),
            ledger.holding("draw_work", _owners_work(ledger, block)),
        ):
            ledger.create("drawn_cost", "tco/sql/drawn_cost.sql", {}, append=first > 0)
    return Drawn(
        options=tuple(DrawnOption(**row) for row in ledger.query("tco/sql/drawn_option.sql", {})),
        regrets=tuple(DrawnRegret(**row) for row in ledger.query("tco/sql/drawn_regret.sql", {})),
        costs=tuple(DrawnCost(**row) for row in ledger.query("tco/sql/drawn_cost_row.sql", {"most": MOST_ROWS})),
    )


def price_weights(ledger: Ledger) -> tuple[tuple[str, ...], "Column"]:
    """Return the present value that each option pays at prices agreed at the start of each month.

    Returns:
        Names of columns of a draw (one per term whose price is agreed anew), and for each a column of USD with one row
        per month (row 0 is paid at today's price) and one more for the end of the horizon.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

    rows: list[dict[str, Any]] = ledger.query("tco/sql/price_weight.sql", {})
    names = tuple(sorted({row["price_path"] for row in rows}))
    weights = np.zeros((math.ceil(ledger.economics.horizon_months) + 1, len(names)))
    for row in rows:
        weights[row["agreed_month"], names.index(row["price_path"])] += row["usd"]
    return names, weights


def _factors(products: Mapping[int, Sequence[str]], columns: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return the factor of each term in each draw, as columns of a table; an input that is not drawn has none."""
    import numpy as np  # noqa: PLC0415

    number = columns["number"]
    factors = [
        math.prod((columns[key] for key in keys if key in columns), start=np.ones(len(number)))
        for keys in products.values()
    ]
    return {
        "number": np.tile(number, len(products)),
        "place": np.repeat(np.array(list(products), dtype=np.int64), len(number)),
        "factor": np.concatenate([np.empty(0), *factors]),
    }


def _owners_work(ledger: Ledger, draws: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return the hours worked in each draw on each owned candidate over those of the base, as columns of a table."""
    import numpy as np  # noqa: PLC0415

    work = works(ledger, draws)
    owned = [candidate.key for candidate in ledger.candidates if candidate.owned]
    return {
        "number": np.tile(draws["number"], len(owned)),
        "key": np.repeat(np.array(owned, dtype=object), len(draws["number"])),
        "work": np.concatenate([np.empty(0), *(work[key] for key in owned)]),
    }
