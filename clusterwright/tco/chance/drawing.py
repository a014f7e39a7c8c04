"""Monte Carlo simulation: cost of every option in every draw of the uncertain inputs, and statistics over the draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from clusterwright.errors import ClusterwrightError
from clusterwright.pricing.statements import files
from clusterwright.tco.chance.drawn_bills import Factors, SpendCharges
from clusterwright.tco.chance.drawn_breakevens import Breakevens, DrawnBreakeven
from clusterwright.tco.chance.drawn_columns import DrawnWork, derived_columns, owned_feasible
from clusterwright.tco.chance.price_paths import BLOCK_DRAWS, PathDraws, normalised
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import Taxes, tax_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Number of draws whose costs are returned individually, for tornado and heat map, which are small sets of chosen
#: draws.
MAX_ROWS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnOption:
    """Statistics of an option over all draws; a cost is positive. Values are None if it can do the work of no draw.

    Attributes:
        key: key of the option.
        npv_usd_p10, npv_usd_p50, npv_usd_p90: quantiles of the present value of the cost.
        npv_usd_dearest_tenth: mean of the most expensive tenth of the draws (conditional value at risk, CVaR 90).
        regret_usd: mean excess over the cheapest ranked option of each draw, never below 0; None for an option that is
            not ranked.
        probability_cheapest: share of the draws in which the option costs least.
        *_after_tax*: the same after tax; equal to the values before tax if no tax is calculated.
        probability_too_slow: share of the draws whose work an owned cluster cannot do within the horizon; the other
            figures exclude these draws.
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
    """Regret of choosing one option in the draws in which another option is the cheapest, before tax.

    Attributes:
        key: key of the chosen option.
        right_key: key of the cheapest option.
        probability: share of the draws in which `right_key` is the cheapest.
        regret_usd: mean excess cost of `key` in these draws; None if it can do the work of none of them.
    """

    key: str
    right_key: str
    probability: float
    regret_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCost:
    """Present value of the cost of an option in one draw, before and after tax."""

    number: int
    key: str
    npv_usd: float
    npv_after_tax_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """Result of a simulation: statistics of all options, regrets, breakevens, and the costs in the first draws."""

    options: tuple[DrawnOption, ...]
    regrets: tuple[DrawnRegret, ...]
    costs: tuple[DrawnCost, ...]
    breakevens: tuple[DrawnBreakeven, ...] = ()


def simulate(
    ledger: Ledger,
    draws: "Mapping[str, Column]",
    *,
    taxes: Taxes | None = None,
    paths: PathDraws | None = None,
    breakevens: bool = False,
) -> Drawn:
    """Calculate the present value of every option in every draw of the uncertain inputs.

    The cash flow is a sum of products of inputs, so a draw scales the present value of all terms that are products of
    the same inputs. A price path enters as the mean of its months, weighted by the payments at each month's price.
    Taxes are linear in the cash flow and scale with it. Charges that depend on a whole bill are calculated from the
    bills of each draw (`drawn_bills`).

    Args:
        ledger: cash flow.
        draws: a column of factors (1 is the base value) per input, and `number`; inputs without a column stay at 1.
        taxes: tax rate and depreciation; None calculates before tax only.
        paths: paths of the rental price of every accelerator, one per draw; None keeps the price constant.
        breakevens: whether to calculate the months to breakeven in each draw.

    Raises:
        ClusterwrightError: the figures over all draws do not reconcile, which is a bug.
    """
    ledger.create("taxed_term", "tco/sql/stg_taxed_term.sql", {})
    if taxes is not None:
        tax_terms(ledger, taxes)
    ledger.create("drawn_present", "tco/sql/drawn_present.sql", {})
    products = {row["place"]: row["inputs"] for row in ledger.query("tco/sql/drawn_product.sql", {})}
    shares = price_shares(ledger)
    spend_charges = SpendCharges(ledger)
    months = Breakevens(ledger, spend_charges) if breakevens else None
    blocks = repeat(None) if paths is None else paths.blocks()
    for first, markets in zip(range(0, len(draws["number"]), BLOCK_DRAWS), blocks, strict=False):
        block = {name: column[first : first + BLOCK_DRAWS] for name, column in draws.items()}
        work = DrawnWork(ledger, block)
        path = None if paths is None or markets is None else paths.of_candidates(markets)
        factors = Factors(block | derived_columns(ledger, work), path)
        feasible = owned_feasible(ledger, work)
        if months is not None:
            months.count_block(factors, feasible)
        # One matrix product per option, so that the digits of its result do not depend on the number of options.
        levels = {} if path is None else {name: path[key] @ share for (name, key), share in shares.items()}
        factors.add_columns(levels | spend_charges.columns(factors))
        with (
            ledger.registered(
                "drawn_factor",
                _as_table(block["number"], {place: factors.product(products[place]) for place in products}),
            ),
            ledger.registered("drawn_fit", _as_table(block["number"], feasible)),
        ):
            ledger.create("drawn_cost", "tco/sql/drawn_cost.sql", {}, append=first > 0)
    for name in ("drawn_option", "drawn_regret"):
        ledger.create(name, f"tco/sql/{name}.sql", {})
    for audit in files("tco/chance_audits"):
        broken = ledger.query(f"tco/chance_audits/{audit.name}", {})
        if broken:
            raise ClusterwrightError(
                f"the figures over all draws do not reconcile: {audit.stem}: {broken[0]}",
                help="report this with the blueprint",
            )
    return Drawn(
        options=tuple(DrawnOption(**row) for row in ledger.query("tco/sql/drawn_option_row.sql", {})),
        regrets=tuple(DrawnRegret(**row) for row in ledger.query("tco/sql/drawn_regret_row.sql", {})),
        costs=tuple(DrawnCost(**row) for row in ledger.query("tco/sql/drawn_cost_row.sql", {"most": MAX_ROWS})),
        breakevens=() if months is None else tuple(months.quantiles()),
    )


def price_shares(ledger: Ledger) -> "dict[tuple[str, str], Column]":
    """Return the shares of the present value of each term that are paid at prices agreed at the start of each month.

    Returns:
        Shares by name of the draw's column (one per term with a renegotiated price) and key of the candidate whose
        nodes are paid: one per month, the first at today's price, and one for the end of the horizon.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only simulations need it

    rows: list[dict[str, Any]] = ledger.query("tco/sql/price_weight.sql", {})
    months = math.ceil(ledger.economics.horizon_months) + 1
    weights: dict[tuple[str, str], Column] = {}
    for row in rows:
        by_month = weights.setdefault((row["price_path"], row["part_key"]), np.zeros(months))
        by_month[row["agreed_month"]] += row["usd"]
    return {name: normalised(by_month) for name, by_month in weights.items()}


def _as_table(number: "Column", columns: "Mapping[Any, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return columns by key as one table with the columns number, key and value."""
    import numpy as np  # noqa: PLC0415

    return {
        "number": np.tile(number, len(columns)),
        "key": np.repeat(np.array(list(columns)) if columns else np.array([], dtype=str), len(number)),
        "value": np.concatenate(list(columns.values())) if columns else np.empty(0),
    }
