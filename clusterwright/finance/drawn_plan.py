"""How sure a plan's ranking is: its options over draws of everything that is uncertain."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from clusterwright.catalog.load import load
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import gpu_products
from clusterwright.tco.chance.distributions import OptionBand, UncertainInput
from clusterwright.tco.chance.drawing import Drawn, simulate
from clusterwright.tco.chance.price_paths import MarketHistory, PathDraws, PathRule, market_histories
from clusterwright.tco.chance.uncertainty import latin_hypercube, uncertain_inputs
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import Taxes
from clusterwright.tco.terms.records import CandidateCost, Parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_CLOUD_PRICE = "cloud_price"
#: Scores below this one say nothing of the upper end of a band.
_LEAST_SCORE = 0.1
#: Points of the distribution that paths leave of the mean price, for the tornado.
_POINTS = 101
#: Paths that this distribution is taken from, however many draws there are.
_PATHS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class MarketPath:
    """Where the rental price of one accelerator goes in the draws.

    Attributes:
        accelerator: whose price it is.
        stands_in: whether the history is that of others, for want of its own.
        histories: accelerators, or price keys of their indices, whose monthly changes were drawn from.
        first_month, last_month, months: of these changes.
        volatility_per_year, drift_per_year: of ln(price) in that history.
        mean_level_p10, mean_level_p50, mean_level_p90: price over the horizon over today's, discounted mean.
    """

    accelerator: str
    stands_in: bool
    histories: tuple[str, ...]
    first_month: str
    last_month: str
    months: int
    volatility_per_year: float
    drift_per_year: float
    mean_level_p10: float
    mean_level_p50: float
    mean_level_p90: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PricePaths:
    """Where rental prices go in the draws.

    Attributes:
        source: `history`, or `band` where prices stay on one level over the horizon; `reason` says why.
        accelerators, first_month, last_month, months: whose monthly changes were drawn from, and how many there are.
        volatility_per_year, drift_per_year: of ln(price) in that history.
        block_months, drift, resale_correlation: how they were drawn, see `tco.price_paths.PathRule`.
        mean_level_p10, mean_level_p50, mean_level_p90: price over the horizon over today's, discounted mean.
            These and volatility and drift are None where accelerators differ: see `markets`.
        markets: the same of each accelerator.
    """

    source: str
    reason: str
    accelerators: tuple[str, ...] = ()
    first_month: str = ""
    last_month: str = ""
    months: int = 0
    volatility_per_year: float | None = None
    drift_per_year: float | None = None
    block_months: int = 0
    drift: str = ""
    resale_correlation: float = 0.0
    mean_level_p10: float | None = None
    mean_level_p50: float | None = None
    mean_level_p90: float | None = None
    markets: tuple[MarketPath, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPlan:
    """A plan over all draws: what was drawn, where prices went, and what came out."""

    inputs: tuple[UncertainInput, ...]
    price_paths: PricePaths
    drawn: Drawn


def drawn_plan(
    plan: Plan,
    ledger: Ledger,
    costs: Sequence[CandidateCost],
    book: PriceBook,
    taxes: Taxes,
    *,
    accelerators: Mapping[str, str],
    draws: int,
    seed: int,
) -> DrawnPlan:
    """Return a plan over draws of its uncertain inputs.

    Args:
        plan: with its bands and the rule of price paths.
        ledger: its cash flow.
        costs: of every option with a known price.
        book: the price history.
        taxes: for the figures after tax.
        accelerators: of every option, by key.
        draws: 1 to a million.
        seed: the same seed gives the same draws.

    Raises:
        InputError: draws are out of range, or a band of the blueprint fits no input.
    """
    inputs = plan_inputs(plan, ledger, costs, accelerators)
    rule = plan.finance.path_rule
    resale = rule.resale_correlation
    markets, reason = _markets(plan, ledger, book, set(accelerators.values()))
    if not markets:
        columns = latin_hypercube(inputs, draws, seed=seed, resale_correlation=resale)
        used = PricePaths(source="band", reason=reason, resale_correlation=resale)
        return DrawnPlan(inputs=inputs, price_paths=used, drawn=simulate(ledger, columns, taxes=taxes, breakevens=True))
    paths = PathDraws(
        markets=markets,
        accelerators=accelerators,
        rule=rule,
        months=math.ceil(ledger.economics.horizon_months),
        draws=draws,
        seed=seed,
    )
    mean = _mean_levels(paths, ledger)
    rented = {entry.key: accelerators[entry.key] for entry in ledger.candidates if not entry.owned}
    inputs = tuple(_as_drawn(entry, mean, rented) if entry.key == _CLOUD_PRICE else entry for entry in inputs)
    ends = paths.end_levels()
    levels = {entry.key: ends[accelerators[entry.key]] for entry in ledger.candidates if entry.owned}
    columns = latin_hypercube(inputs, draws, seed=seed, resale_correlation=resale, rent_levels=levels)
    # The price itself is in the paths: its columns, of all options or of one each, stay at the base.
    columns = {name: column for name, column in columns.items() if name.partition("/")[0] != _CLOUD_PRICE}
    return DrawnPlan(
        inputs=inputs,
        price_paths=_summary(markets, rule, mean),
        drawn=simulate(ledger, columns, taxes=taxes, paths=paths, breakevens=True),
    )


def _of_one(ledger: Ledger) -> Iterator[Parameter]:
    """Yield the uncertain parameters of single candidates, named as the cash flow names them: `key@candidate`."""
    for key, entries in ledger.own_parameters.items():
        yield from (replace(entry, key=f"{entry.key}@{key}") for entry in entries if entry.low != entry.high)


def plan_inputs(
    plan: Plan, ledger: Ledger, costs: Sequence[CandidateCost], accelerators: Mapping[str, str]
) -> tuple[UncertainInput, ...]:
    """Return the uncertain inputs of a plan, with the bands of its bill, its calendar days and its blueprint."""
    bought = next((cost for cost in costs if cost.owned and cost.capex_usd), None)
    band = (1.0, 1.0)
    if bought is not None and bought.capex_usd:
        band = (
            (bought.capex_usd_low or bought.capex_usd) / bought.capex_usd,
            (bought.capex_usd_high or bought.capex_usd) / bought.capex_usd,
        )
    return uncertain_inputs(
        (*ledger.parameters, *_of_one(ledger)),
        utilisation=ledger.economics.utilisation,
        purchase_band=band,
        run_times=tuple(_run_times(plan, ledger, accelerators)),
        own=plan.finance.uncertainty,
    )


def _run_times(plan: Plan, ledger: Ledger, accelerators: Mapping[str, str]) -> Iterator[OptionBand]:
    """Yield the band of each target's time of a run, with the options that share it.

    A provider that is no target has that of the target with the same accelerators, a rented one rather than an owned.
    """
    targets = {option.target: option for option in plan.options}
    alike = {
        option.cluster.accelerator: option
        for option in sorted(plan.options, key=lambda option: option.design.facility is None)
    }
    keys: dict[str, list[str]] = {}
    for candidate in ledger.candidates:
        found = targets.get(candidate.target) or alike.get(accelerators.get(candidate.key, "")) or plan.options[0]
        keys.setdefault(found.target, []).append(candidate.key)
    for target, of_target in keys.items():
        option = targets[target]
        # The upper end is at the confidence that the goals ask for; half of the runs or less say nothing of it.
        score = NormalDist().inv_cdf(plan.goals.confidence) / NormalDist().inv_cdf(0.9)
        low = option.performance.calendar_days_low / option.performance.calendar_days
        high = (
            (option.performance.calendar_days_high / option.performance.calendar_days) ** (1.0 / score)
            if score > _LEAST_SCORE
            else 1.0 / low
        )
        yield OptionBand(name=target, keys=tuple(of_target), low=low, high=high)


def _markets(
    plan: Plan, ledger: Ledger, book: PriceBook, accelerators: set[str]
) -> tuple[dict[str, MarketHistory], str]:
    """Return the price histories to draw from, by accelerator; none where prices stay on one level, and why."""
    if plan.finance.price_paths == "band":
        return {}, "the blueprint says so"
    if any(band.key == _CLOUD_PRICE for band in plan.finance.uncertainty):
        return {}, "the blueprint gives a band of cloud_price"
    found = market_histories(book, gpu_products(load()), accelerators, ledger.as_of)
    return found, "" if found else "no accelerator has two years of price history"


def _mean_levels(paths: PathDraws, ledger: Ledger) -> "dict[str, Column]":
    """Return the mean price of the horizon, discounted, over today's, of as many paths as are usually drawn."""
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

    even = (1.0 + ledger.economics.discount_rate) ** (-np.arange(1, paths.months + 1) / 12.0)
    return replace(paths, draws=_PATHS).levels(np.append(even, 0.0))


def _as_drawn(entry: UncertainInput, mean: "Mapping[str, Column]", rented: Mapping[str, str]) -> UncertainInput:
    """Return the rental price as one input, with the spread of its paths, for the effect of one input at a time.

    Options with several accelerators have a band each.
    """
    import numpy as np  # noqa: PLC0415

    names = sorted(set(rented.values()))
    if not names:
        return entry
    points = {
        name: tuple(float(value) for value in np.quantile(mean[name], np.linspace(0.0, 1.0, _POINTS))) for name in names
    }
    bands = tuple(
        OptionBand(
            name=name,
            keys=tuple(key for key, accelerator in rented.items() if accelerator == name),
            low=points[name][0],
            high=points[name][-1],
            values=points[name],
        )
        for name in names
    )
    return replace(
        entry,
        low=min(band.low for band in bands),
        high=max(band.high for band in bands),
        distribution="empirical",
        values=bands[0].values,
        bands=bands if len(bands) > 1 else (),
        reason="mean over the horizon of paths from the price history",
        source="price history",
    )


def _summary(markets: Mapping[str, MarketHistory], path: PathRule, mean: "Mapping[str, Column]") -> PricePaths:
    """Return a summary of the price paths: the settings of all markets, and the spread of each."""
    paths = tuple(_of_market(name, history, mean[name]) for name, history in markets.items())
    without = [entry.accelerator for entry in paths if entry.stands_in and entry.accelerator]
    shared = PricePaths(
        source="history",
        reason=f"{', '.join(without)} has no two years of price history" if without else "",
        accelerators=tuple(dict.fromkeys(name for entry in paths for name in entry.histories)),
        first_month=min(entry.first_month for entry in paths),
        last_month=max(entry.last_month for entry in paths),
        months=sum(history.months for history in dict.fromkeys(markets.values())),
        block_months=path.block_months,
        drift=path.drift,
        resale_correlation=path.resale_correlation,
        markets=paths,
    )
    if len(paths) > 1:
        return shared
    return replace(
        shared,
        volatility_per_year=paths[0].volatility_per_year,
        drift_per_year=paths[0].drift_per_year,
        mean_level_p10=paths[0].mean_level_p10,
        mean_level_p50=paths[0].mean_level_p50,
        mean_level_p90=paths[0].mean_level_p90,
    )


def _of_market(name: str, history: MarketHistory, mean: "Column") -> MarketPath:
    import numpy as np  # noqa: PLC0415

    low, middle, high = (float(value) for value in np.quantile(mean, (0.1, 0.5, 0.9)))
    return MarketPath(
        accelerator=name,
        stands_in=not history.named,
        histories=history.accelerators,
        first_month=history.first_month.isoformat()[:7],
        last_month=history.last_month.isoformat()[:7],
        months=history.months,
        volatility_per_year=history.volatility_per_year,
        drift_per_year=history.drift_per_year,
        mean_level_p10=low,
        mean_level_p50=middle,
        mean_level_p90=high,
    )


def savings(ledger: Ledger, draws: "Mapping[str, Column]", owned_key: str, rented_key: str) -> list[float]:
    """Return what one option saves against another in each of a few chosen draws, in their order, before tax."""
    usd: dict[int, dict[str, float]] = {}
    for cost in simulate(ledger, draws).costs:
        usd.setdefault(cost.number, {})[cost.key] = cost.npv_usd
    return [row[rented_key] - row[owned_key] for _, row in sorted(usd.items())]
