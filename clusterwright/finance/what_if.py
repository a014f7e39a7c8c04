"""What every ranked way costs at other values of a few inputs: the cash flow as sums of terms in each of them.

A term of the cash flow is a product of inputs (`tco/sql/drawn_flow.sql`), proportional to the price of rented nodes, to
the price of power or to the resale value where it moves with one of them. Hours worked are linear up to steps, such as
nodes that are committed to or bought for more work: they are counted at every value. So is every horizon.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.drawn_bills import Factors, SpendCharges
from clusterwright.tco.chance.drawn_columns import DrawnWork, derived_columns, owned_feasible
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Candidate, Economics, Parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Inputs by which an amount is proportional; an amount is named by those that it moves with.
RENT, POWER, RESALE = "rent", "power", "resale"
#: Input that is linear in parts, and the one with a cash flow for each value.
WORK, HORIZON = "work", "horizon"

_POWER_PRICE, _RESALE_SHARE = "power_price_usd_per_kwh", "resale_fraction"
#: A parameter that the horizon sets when a blueprint is read, so that another horizon needs another plan.
_OF_HORIZON = "building_value_fraction"
_UTILISATIONS = tuple(share / 100.0 for share in range(5, 101, 5))
_RUNS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
_RENTS = tuple(share / 100.0 for share in range(40, 161, 5))
_POWER_PRICES = tuple(cents / 100.0 for cents in range(2, 31))
_RESALES = tuple(share / 100.0 for share in range(0, 201, 10))
_HORIZONS = (12.0, 24.0, 36.0, 48.0, 60.0, 72.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Amounts:
    """What one way costs over one horizon.

    Attributes:
        present_usd, paid_usd: by the inputs that the amount is proportional to, a value for each amount of work, with
            these inputs at the plan's values.
        bill_present_usd, bill_paid_usd: charges on whole bills, for each amount of work a row, for each price of rented
            nodes a value; empty where there are none.
        fits: for each amount of work, whether what is owned has hours enough for it.
    """

    present_usd: Mapping[tuple[str, ...], tuple[float, ...]]
    paid_usd: Mapping[tuple[str, ...], tuple[float, ...]]
    bill_present_usd: tuple[tuple[float, ...], ...]
    bill_paid_usd: tuple[tuple[float, ...], ...]
    fits: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """What the ranked ways of a plan cost at other values of its inputs.

    Attributes:
        values: of each input that can be set, the plan's own among them, in order: `work` as utilisation or as units of
            work a month, `horizon` in months, `rent` and `resale` over the plan's, `power` in USD per kWh.
        base: the plan's own values.
        runs_given: whether `work` is units a month, which the blueprint gives, and no utilisation.
        keys: of the ways, the cheapest at the plan's values first; left_out: of ranked ways that are mixes.
        resale_share: resale value over the price, by horizon; it is at most 1.
        amounts: by horizon and key.
    """

    values: Mapping[str, tuple[float, ...]]
    base: Mapping[str, float]
    runs_given: bool
    keys: tuple[str, ...]
    left_out: tuple[str, ...]
    resale_share: tuple[float, ...]
    amounts: tuple[Mapping[str, Amounts], ...]


def what_if(plan: Plan, book: PriceBook) -> WhatIf | None:
    """Return what a plan's ranked ways cost at other values; None where no way by itself is ranked.

    Args:
        plan: with its alternatives.
        book: documented prices.
    """
    ways = [
        way for way in plan.ranked if way.candidate is not None and way.mix is None and way.money.npv_usd is not None
    ]
    candidates = [way.candidate for way in ways if way.candidate is not None]
    if not candidates or plan.economics.reference_days is None:
        return None
    values, base = _values(plan, candidates, book)
    counted = [
        _counted(_at_horizon(plan, months), candidates, book, values, base)
        for months in values.get(HORIZON, (base[HORIZON],))
    ]
    followed = {
        name for _, amounts in counted for entry in amounts.values() for moves in entry.paid_usd for name in moves
    }
    return WhatIf(
        values={name: found for name, found in values.items() if name in followed or name not in (POWER, RESALE)},
        base=base,
        runs_given=plan.economics.runs is not None,
        keys=tuple(way.key for way in ways),
        left_out=tuple(way.key for way in plan.ranked if way not in ways),
        resale_share=tuple(share for share, _ in counted),
        amounts=tuple(amounts for _, amounts in counted),
    )


def _values(
    plan: Plan, candidates: Sequence[Candidate], book: PriceBook
) -> tuple[dict[str, tuple[float, ...]], dict[str, float]]:
    """Return the values of every input that something follows, and the plan's own."""
    economics = plan.economics
    parameters = {
        entry.key: entry.value for entry in Ledger(candidates, economics, book, scenarios=("base",)).parameters
    }
    months, owned = economics.horizon_months, any(candidate.owned for candidate in candidates)
    work = economics.utilisation if economics.runs is None else economics.runs / months
    base = {WORK: work, HORIZON: months, RENT: 1.0, POWER: parameters[_POWER_PRICE], RESALE: 1.0}
    values = {}
    if not plan.workload.unit.always_on:
        values[WORK] = _UTILISATIONS if economics.runs is None else tuple(work * factor for factor in _RUNS)
    if not any(entry.key == _OF_HORIZON for given in _given(economics, candidates) for entry in given):
        values[HORIZON] = _HORIZONS
    if not all(candidate.owned for candidate in candidates):
        values[RENT] = _RENTS
    if owned and base[POWER]:
        values[POWER] = _POWER_PRICES
    if owned and parameters[_RESALE_SHARE]:
        values[RESALE] = _RESALES
    return {name: tuple(sorted({*found, base[name]})) for name, found in values.items()}, base


def _given(economics: Economics, candidates: Sequence[Candidate]) -> tuple[Sequence[Parameter], ...]:
    return (economics.given, *(candidate.given for candidate in candidates))


def _at_horizon(plan: Plan, months: float) -> Economics:
    """Return economics with another horizon, in each month of which as much work is done as before."""
    economics = plan.economics
    if economics.runs is None or months == economics.horizon_months:
        return replace(economics, horizon_months=months)
    per_month = economics.runs / economics.horizon_months
    if not plan.workload.unit.always_on:
        per_month *= economics.growth.mean_work(months) / economics.growth_factor
    return replace(economics, horizon_months=months, runs=per_month * months)


def _counted(
    economics: Economics,
    candidates: Sequence[Candidate],
    book: PriceBook,
    values: Mapping[str, tuple[float, ...]],
    base: Mapping[str, float],
) -> tuple[float, dict[str, Amounts]]:
    """Return the resale value over the price at the end of a horizon, and what every candidate costs over it."""
    import numpy as np  # noqa: PLC0415 - heavy, and only reports need it

    ledger = Ledger(candidates, economics, book, scenarios=("base",))
    work = np.array(values.get(WORK, (base[WORK],))) / base[WORK]
    draws = {"number": np.arange(len(work), dtype=float), "utilisation": work}
    drawn = DrawnWork(ledger, draws)
    columns = draws | derived_columns(ledger, drawn)
    factors, fits = Factors(columns, None), owned_feasible(ledger, drawn)
    present: dict[str, dict[tuple[str, ...], Column]] = {candidate.key: {} for candidate in candidates}
    paid: dict[str, dict[tuple[str, ...], Column]] = {candidate.key: {} for candidate in candidates}
    for row in ledger.query("tco/sql/what_if_term.sql", {}):
        key, moves = row["key"], _moves(row["inputs"], rented=row["rented"])
        amount = factors.product(row["inputs"])
        for found, usd in ((present, row["present_usd"]), (paid, row["paid_usd"])):
            found[key][moves] = found[key].get(moves, 0.0 * amount) + usd * amount
    rents, charges = values.get(RENT, (1.0,)), SpendCharges(ledger)
    bills: dict[str, tuple[Column, Column]] = {}
    for place, rent in enumerate(rents):
        for key, month, usd in charges.payments(Factors(columns, None, every_price=rent)):
            nothing = np.zeros((len(work), len(rents)))
            bill_present, bill_paid = bills.setdefault(key, (nothing, nothing.copy()))
            bill_present[:, place] += usd * (1.0 + economics.discount_rate) ** (-month / 12.0)
            bill_paid[:, place] += usd
    empty = np.empty((0, 0))
    share = next((entry.value for entry in ledger.parameters if entry.key == _RESALE_SHARE), 0.0)
    return share, {
        candidate.key: Amounts(
            present_usd=_by_moves(present[candidate.key]),
            paid_usd=_by_moves(paid[candidate.key]),
            bill_present_usd=_table(bills.get(candidate.key, (empty, empty))[0]),
            bill_paid_usd=_table(bills.get(candidate.key, (empty, empty))[1]),
            fits=tuple(bool(fit) for fit in fits.get(candidate.key, np.ones(len(work), dtype=bool))),
        )
        for candidate in candidates
    }


def _moves(inputs: Sequence[str], *, rented: bool) -> tuple[str, ...]:
    """Return which of the inputs that can be set a term is proportional to."""
    names = {name.partition("/")[0] for name in inputs}
    return tuple(
        name
        for name, moved in ((RENT, rented), (POWER, _POWER_PRICE in names), (RESALE, _RESALE_SHARE in names))
        if moved
    )


def _by_moves(columns: "Mapping[tuple[str, ...], Column]") -> dict[tuple[str, ...], tuple[float, ...]]:
    return {moves: tuple(float(usd) for usd in column) for moves, column in columns.items()}


def _table(column: "Column") -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(usd) for usd in row) for row in column)
