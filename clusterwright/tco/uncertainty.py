"""Uncertain inputs: their bands, draws from them (Latin hypercube), and what came out. Valued by `drawn_cost.sql`."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.assets import root
from clusterwright.errors import InputError
from clusterwright.tco.distributions import UncertainInput, check, quantiles
from clusterwright.tco.records import Parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Share of resale that moves with the rental price: what old GPUs fetch follows what renting them earns.
RESALE_WITH_RENT = 0.7
#: Draws whose costs are handed out one by one: tornado and heat map are small sets of chosen draws.
MOST_ROWS = 1000
_MOST_DRAWS = 1_000_000
_ROUNDING = 1e-9
SEED = 20261121


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnBand:
    """What a user says of one input, in the unit of the input (`utilisation`) or as a factor on it (prices, run time).

    Attributes:
        key: of the input.
        spread: both ends lie so far from the value, as a share of it; 0 makes it certain. None where ends are given.
        low, high, distribution, values, shares: as in `UncertainInput`, values not yet over the base.
    """

    key: str
    spread: float | None = None
    low: float = 0.0
    high: float = 0.0
    distribution: str = "triangular"
    values: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnOption:
    """A candidate over all draws; USD of present value, share of draws in which it is cheapest, mean regret."""

    key: str
    npv_usd_p10: float
    npv_usd_p50: float
    npv_usd_p90: float
    regret_usd: float
    probability_cheapest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCost:
    """The present value of a candidate's cost in one draw."""

    number: int
    key: str
    npv_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """All candidates over all draws, and the costs of the first draws one by one."""

    options: tuple[DrawnOption, ...]
    costs: tuple[DrawnCost, ...]


@cache
def _bands() -> Mapping[str, UncertainInput]:
    with (root() / "tco" / "uncertainty.csv").open(encoding="utf-8", newline="") as lines:
        return {
            row["key"]: UncertainInput(
                key=row["key"],
                low=float(row["low"]),
                high=float(row["high"]),
                reason=row["reason"],
                source=f"{row['source']}, {row['date']}",
                distribution=row["distribution"],
            )
            for row in csv.DictReader(lines)
        }


def uncertain_inputs(
    parameters: Sequence[Parameter],
    *,
    utilisation: float,
    purchase_band: tuple[float, float] = (1.0, 1.0),
    run_time_band: tuple[float, float] | None = None,
    own: Sequence[OwnBand] = (),
) -> tuple[UncertainInput, ...]:
    """Return the uncertain inputs of a comparison as factors on their base values.

    Args:
        parameters: of the cash flow; their bands are those of the assumptions, none where the user gave the value.
        utilisation: share of the hours, so that the high end is at most all of them.
        purchase_band: cheapest and dearest purchase over the base, from assumed prices; widens the shipped band.
        run_time_band: shortest and longest run over the base, of the plan.
        own: bands of the user, in the place of all others.

    Raises:
        InputError: a band of the user names no input, or does not fit it; `path` says which one.
    """
    found = dict(_bands())
    most = 1 / utilisation
    found["utilisation"] = replace(found["utilisation"], high=max(1.0, min(found["utilisation"].high, most)), most=most)
    bought = found["purchase_price"]
    found["purchase_price"] = replace(
        bought, low=min(bought.low, *purchase_band), high=max(bought.high, *purchase_band)
    )
    if run_time_band is not None:
        low, high = run_time_band
        found["run_time"] = replace(found["run_time"], low=min(low, 1.0), high=max(high, 1.0))
    values = {"utilisation": utilisation}
    for parameter in parameters:
        values[parameter.key] = parameter.value
        ends = sorted(
            1.0 if not parameter.value else end / parameter.value
            for end in (parameter.low, parameter.value, parameter.high)
        )
        found[parameter.key] = UncertainInput(
            key=parameter.key, low=ends[0], high=ends[2], reason=parameter.reason, source=parameter.source
        )
    for band in own:
        found[band.key] = _of_user(band, found, values)
    return tuple(found.values())


def _of_user(band: OwnBand, known: Mapping[str, UncertainInput], values: Mapping[str, float]) -> UncertainInput:
    path = ("tco", "uncertainty", band.key)
    if band.key not in known:
        close = get_close_matches(band.key, sorted(known), n=1)
        raise InputError(
            f"there is no uncertain input {band.key!r}",
            help=f"did you mean {close[0]!r}?" if close else f"the inputs are {', '.join(sorted(known))}",
            path=path,
        )
    value = values.get(band.key, 1.0)
    if not value:
        raise InputError(f"{band.key} is 0, and no band is drawn around 0", help="give it a value first", path=path)
    if band.spread is not None:
        low, high = max(0.0, 1.0 - band.spread), 1.0 + band.spread
    elif band.values:
        low, high = min(band.values) / value, max(band.values) / value
    else:
        low, high = band.low / value, band.high / value
    drawn = UncertainInput(
        key=band.key,
        low=low,
        high=high,
        reason="given by the user",
        source="blueprint",
        distribution=band.distribution,
        values=tuple(entry / value for entry in band.values),
        shares=band.shares,
        most=known[band.key].most,
    )
    if drawn.most is not None and drawn.high > drawn.most + _ROUNDING and band.spread is None:
        raise InputError(
            f"{band.key} of {drawn.high * value:.0%} is more than there is", help="give at most 100 %", path=path
        )
    within = drawn.certain or (drawn.low <= 1 + _ROUNDING and drawn.high >= 1 - _ROUNDING)
    if drawn.distribution in ("triangular", "beta") and not within:
        raise InputError(
            f"{band.key} is {value:g}, outside of its band from {band.low:g} to {band.high:g}",
            help="its peak is the value itself: let the band hold it, or take distribution: normal",
            path=path,
        )
    try:
        check(drawn)
    except InputError as error:
        raise InputError(error.message, help=error.help, path=path) from None
    return drawn


def latin_hypercube(inputs: Sequence[UncertainInput], draws: int, *, seed: int = SEED) -> dict[str, "Column"]:
    """Return draws of every input as columns of factors; the same seed gives the same draws.

    Every input's distribution is cut into as many slices of equal probability as there are draws, and each slice is
    drawn once (McKay, Beckman, Conover 1979). Resale follows the rental price with a rank correlation near 0.7
    through normal scores.

    Raises:
        InputError: fewer than 1 or more than a million draws.
    """
    if not 1 <= draws <= _MOST_DRAWS:
        raise InputError(f"{draws} draws cannot be taken", help=f"take 1 to {_MOST_DRAWS:,}")
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need them
    from scipy import special  # noqa: PLC0415
    from scipy.stats import qmc  # noqa: PLC0415

    ranks = qmc.LatinHypercube(d=len(inputs), rng=np.random.default_rng(seed)).random(draws)
    shares = {entry.key: ranks[:, column] for column, entry in enumerate(inputs)}
    if "resale_fraction" in shares and "cloud_price" in shares:
        own, rent = special.ndtri(shares["resale_fraction"]), special.ndtri(shares["cloud_price"])
        shares["resale_fraction"] = special.ndtr(RESALE_WITH_RENT * rent + (1 - RESALE_WITH_RENT**2) ** 0.5 * own)
    columns = {entry.key: quantiles(entry, shares[entry.key]) for entry in inputs}
    return {"number": np.arange(draws, dtype=float), **columns}


def one_at_a_time(inputs: Sequence[UncertainInput], ends: tuple[float, float] = (0.1, 0.9)) -> dict[str, "Column"]:
    """Return draws for a tornado: number 0 is the base, then each input alone at its low and at its high quantile."""
    import numpy as np  # noqa: PLC0415

    rows = 1 + 2 * len(inputs)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    for place, entry in enumerate(inputs):
        columns[entry.key][1 + 2 * place : 3 + 2 * place] = quantiles(entry, np.array(ends))
    return {"number": np.arange(rows, dtype=float), **columns}


def grid(inputs: Sequence[UncertainInput], first: tuple[str, Sequence[float]], second: tuple[str, Sequence[float]]
         ) -> dict[str, "Column"]:  # fmt: skip
    """Return draws for a heat map: every pair of factors of two inputs, the second one fastest, all others at base."""
    import numpy as np  # noqa: PLC0415

    (one, ones), (other, others) = first, second
    rows = len(ones) * len(others)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    columns[one] = np.repeat(np.array(ones, dtype=float), len(others))
    columns[other] = np.tile(np.array(others, dtype=float), len(ones))
    return {"number": np.arange(rows, dtype=float), **columns}
