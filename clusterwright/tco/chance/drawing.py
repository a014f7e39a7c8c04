"""Every option in every draw of the uncertain inputs: what it costs, and what came out over all draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from clusterwright.errors import ClusterwrightError
from clusterwright.pricing.statements import files
from clusterwright.tco.chance.drawn_bills import Bills, Factors
from clusterwright.tco.chance.drawn_breakevens import Breakevens, DrawnBreakeven
from clusterwright.tco.chance.drawn_columns import Works, derived, owners_fit
from clusterwright.tco.chance.price_paths import AT_ONCE, PathDraws, shares_of
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import Taxes, tax_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Draws whose costs are handed out one by one: tornado and heat map are small sets of chosen draws.
MOST_ROWS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnOption:
    """An option over all draws; a cost is positive. None where it can do the work of no draw.

    Attributes:
        key: of the option.
        npv_usd_p10, npv_usd_p50, npv_usd_p90: quantiles of the present value of its cost.
        npv_usd_dearest_tenth: mean of the dearest tenth of the draws (conditional value at risk).
        regret_usd: mean of what it costs above the cheapest ranked option of each draw, never below 0; None for an
            option that is not ranked.
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
    """All options over all draws, what a wrong choice costs, when owning pays, and the costs of the first draws."""

    options: tuple[DrawnOption, ...]
    regrets: tuple[DrawnRegret, ...]
    costs: tuple[DrawnCost, ...]
    breakevens: tuple[DrawnBreakeven, ...] = ()


def drawn(
    ledger: Ledger,
    draws: "Mapping[str, Column]",
    *,
    taxes: Taxes | None = None,
    paths: PathDraws | None = None,
    breakevens: bool = False,
) -> Drawn:
    """Return the present value of every option in every draw of the uncertain inputs.

    The cash flow is a sum of products of inputs, so that a draw scales the present value of the terms that are products
    of the same inputs; a path of prices enters as the mean of its months, weighted by what is paid at the price of
    each. Taxes are linear in the cash flow, and so scale with it. What follows whole bills is valued from the bills
    of each draw (`drawn_bills`).

    Args:
        ledger: the cash flow.
        draws: a column of factors (1 is the base) per input, and `number`; inputs without a column stay at 1.
        taxes: None counts before tax alone.
        paths: of the rental price of every accelerator, one per draw; None keeps it.
        breakevens: whether to count the months to breakeven of each draw too.

    Raises:
        ClusterwrightError: the figures over all draws do not reconcile, which is a bug.
    """
    ledger.create("taxed_term", "tco/sql/stg_taxed_term.sql", {})
    if taxes is not None:
        tax_terms(ledger, taxes)
    ledger.create("drawn_present", "tco/sql/drawn_present.sql", {})
    products = {row["place"]: row["inputs"] for row in ledger.query("tco/sql/drawn_product.sql", {})}
    shares = price_shares(ledger)
    bills = Bills(ledger)
    months = Breakevens(ledger, bills) if breakevens else None
    blocks = repeat(None) if paths is None else paths.blocks()
    for first, markets in zip(range(0, len(draws["number"]), AT_ONCE), blocks, strict=False):
        block = {name: column[first : first + AT_ONCE] for name, column in draws.items()}
        works = Works(ledger, block)
        path = None if paths is None or markets is None else paths.of_candidates(markets)
        factors = Factors(block | derived(ledger, works), path)
        fits = owners_fit(ledger, works)
        if months is not None:
            months.add(factors, fits)
        # One product each: the digits of one option do not hang on how many others there are.
        levels = {} if path is None else {name: path[key] @ share for (name, key), share in shares.items()}
        factors.add(levels | bills.columns(factors))
        with (
            ledger.holding(
                "drawn_factor", _as_table(block["number"], {place: factors.of(products[place]) for place in products})
            ),
            ledger.holding("drawn_fit", _as_table(block["number"], fits)),
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
        costs=tuple(DrawnCost(**row) for row in ledger.query("tco/sql/drawn_cost_row.sql", {"most": MOST_ROWS})),
        breakevens=() if months is None else tuple(months.found()),
    )


def price_shares(ledger: Ledger) -> "dict[tuple[str, str], Column]":
    """Return which share of the present value that each option pays is at prices agreed at the start of each month.

    Returns:
        Shares by name of the column of a draw (one per term whose price is agreed again) and candidate whose nodes are
        paid: one per month (the first is paid at today's price) and one more for the end of the horizon.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

    rows: list[dict[str, Any]] = ledger.query("tco/sql/price_weight.sql", {})
    months = math.ceil(ledger.economics.horizon_months) + 1
    weights: dict[tuple[str, str], Column] = {}
    for row in rows:
        of_term = weights.setdefault((row["price_path"], row["part_key"]), np.zeros(months))
        of_term[row["agreed_month"]] += row["usd"]
    return {name: shares_of(of_term) for name, of_term in weights.items()}


def _as_table(number: "Column", columns: "Mapping[Any, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return columns by key as a table of number, key and value."""
    import numpy as np  # noqa: PLC0415

    return {
        "number": np.tile(number, len(columns)),
        "key": np.repeat(np.array(list(columns)) if columns else np.array([], dtype=str), len(number)),
        "value": np.concatenate(list(columns.values())) if columns else np.empty(0),
    }
