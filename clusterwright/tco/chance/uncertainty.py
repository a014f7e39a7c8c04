"""Uncertain inputs: their bands, and draws from them (Latin hypercube). `drawing` calculates the costs."""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.assets import root
from clusterwright.errors import InputError
from clusterwright.tco.chance.distributions import OptionBand, UncertainInput, check, quantiles
from clusterwright.tco.terms.records import Parameter
from clusterwright.units import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Correlation of resale with the rental price: the resale value of old GPUs follows the rent that they earn.
RESALE_WITH_RENT = 0.7
#: Correlation of the errors in the run time on different clusters (estimate): most of the error comes from the same
#: formulas, model and job, the rest from the cluster itself.
_COMMON_ERROR = 0.8
_MAX_DRAWS = 1_000_000
_ROUNDING = 1e-9
_RESALE = "resale_fraction"
#: Inputs that determine the amount of work.
_WORK_INPUTS = ("run_time", "utilisation")
SEED = 20261121


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnBand:
    """Band of one input given by the user, in the unit of the input (`utilisation`) or as a factor (prices, run time).

    Attributes:
        key: key of the input.
        spread: distance of both ends from the value, as a share of it; 0 makes the input certain. None if the ends are
            given.
        low, high, distribution, values, shares: as in `UncertainInput`, but not divided by the base value.
    """

    key: str
    spread: float | None = None
    low: float = 0.0
    high: float = 0.0
    distribution: str = "triangular"
    values: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()


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
    run_times: Sequence[OptionBand] = (),
    own: Sequence[OwnBand] = (),
) -> tuple[UncertainInput, ...]:
    """Return the uncertain inputs of a comparison as factors on their base values.

    Args:
        parameters: parameters of the cash flow with the bands of their assumptions; a value given by the user is
            certain.
        utilisation: base value, which limits the high end to 100 %.
        purchase_band: lowest and highest purchase over the base value, from assumed prices; it widens the shipped band.
        run_times: the plan's P10 and P90 of the run time over the base value, by option.
        own: bands given by the user, which replace all others.

    Raises:
        InputError: a user's band names no input or does not fit it; `path` names the band.
    """
    inputs = dict(_bands())
    most = 1 / utilisation
    inputs["utilisation"] = replace(
        inputs["utilisation"], high=max(1.0, min(inputs["utilisation"].high, most)), most=most
    )
    purchase = inputs["purchase_price"]
    inputs["purchase_price"] = replace(
        purchase, low=min(purchase.low, *purchase_band), high=max(purchase.high, *purchase_band)
    )
    if run_times:
        inputs["run_time"] = UncertainInput(
            key="run_time",
            low=min(band.low for band in run_times),
            high=max(band.high for band in run_times),
            reason="error of the plan's run times, P10 to P90; from one model, so most of it is common to all options",
            source="plan",
            distribution="two_sided",
            bands=tuple(run_times),
            correlation=_COMMON_ERROR,
        )
    values = {"utilisation": utilisation}
    for parameter in parameters:
        values[parameter.key] = parameter.value
        ends = sorted(
            1.0 if not parameter.value else end / parameter.value
            for end in (parameter.low, parameter.value, parameter.high)
        )
        inputs[parameter.key] = UncertainInput(
            key=parameter.key, low=ends[0], high=ends[2], reason=parameter.reason, source=parameter.source
        )
    for band in own:
        inputs[band.key] = _of_user(band, inputs, values)
    return tuple(inputs.values())


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
        raise InputError(f"{band.key} is 0, which has no relative band", help="give it a value first", path=path)
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
            f"{band.key} of {percent(drawn.high * value)} exceeds 100 %", help="give at most 100 %", path=path
        )
    within = drawn.certain or (drawn.low <= 1 + _ROUNDING and drawn.high >= 1 - _ROUNDING)
    if drawn.distribution in ("triangular", "beta") and not within:
        raise InputError(
            f"{band.key} is {value:g}, outside its band from {band.low:g} to {band.high:g}",
            help="the peak of the distribution is the value itself: extend the band to it, or use distribution: normal",
            path=path,
        )
    if band.key in _WORK_INPUTS and (drawn.high == 0 or 0 in drawn.values):
        raise InputError(f"{band.key} of 0 means that no work is done", help="give values above 0", path=path)
    try:
        check(drawn)
    except InputError as error:
        raise InputError(error.message, help=error.help, path=path) from None
    return drawn


def latin_hypercube(
    inputs: Sequence[UncertainInput],
    draws: int,
    *,
    seed: int = SEED,
    resale_correlation: float = RESALE_WITH_RENT,
    rent_levels: "Mapping[str, Column] | None" = None,
) -> dict[str, "Column"]:
    """Return draws of every input as columns of factors; the same seed gives the same draws.

    The distribution of every input is divided into as many strata of equal probability as there are draws, and each
    stratum is drawn once (McKay, Beckman, Conover 1979). Resale is correlated with the rental price through normal
    scores.

    The draws of an input depend only on the seed and the input's name, so adding another input changes nothing that
    does not use it.

    Args:
        inputs: inputs to draw.
        draws: number of draws, 1 to a million.
        seed: seed of the random numbers.
        resale_correlation: correlation of the normal scores of resale and rental price, 0 to 1.
        rent_levels: rental price in each draw that the resale of an option is correlated with, for example at the end
            of a path, by key of the option; None correlates all resale with the input `cloud_price`. A price that is
            equal in all draws is ignored.

    Raises:
        InputError: there are fewer than 1 or more than a million draws.
    """
    if not 1 <= draws <= _MAX_DRAWS:
        raise InputError(f"{draws} draws are not possible", help=f"use 1 to {_MAX_DRAWS:,}")
    import numpy as np  # noqa: PLC0415 - heavy, and only simulations need them
    from scipy import special  # noqa: PLC0415 - not scipy.stats, which takes 0.6 s to load

    shares = {entry.key: slices(draws, entry.key, seed) for entry in inputs}

    def correlated(rent: "Column") -> "Column":
        own_scores = special.ndtri(shares[_RESALE])
        scores = resale_correlation * special.ndtri(rent) + (1 - resale_correlation**2) ** 0.5 * own_scores
        resale: Column = special.ndtr(scores)
        return resale

    columns = {"number": np.arange(draws, dtype=float)}
    for entry in inputs:
        own = {band.name: slices(draws, f"{entry.key}/{band.name}", seed) for band in entry.bands}
        share = shares[entry.key]
        if entry.key == _RESALE and rent_levels is not None:
            for key, levels in rent_levels.items():
                rent = None if float(np.ptp(levels)) == 0.0 else (ranks(levels) - 0.5) / draws
                columns[f"{_RESALE}/{key}"] = quantiles(entry, share if rent is None else correlated(rent))
        elif entry.key == _RESALE and "cloud_price" in shares:
            share = correlated(shares["cloud_price"])
        columns |= _factors(entry, share, own)
    return columns


def _factors(entry: UncertainInput, share: "Column", own: "Mapping[str, Column] | None" = None) -> "dict[str, Column]":
    """Return the factors of an input by name of the column: one column, or one for each option with its own band.

    Args:
        entry: the input.
        share: probability of each draw.
        own: additional probability of each draw for a band, by its name; None moves all bands together.
    """
    from scipy import special  # noqa: PLC0415

    if not entry.bands:
        return {entry.key: quantiles(entry, share)}
    columns: dict[str, Column] = {}
    for band in entry.bands:
        drawn = share
        if own is not None:
            # The common part has the root of the correlation as its weight, so two bands have that correlation.
            drawn = special.ndtr(
                entry.correlation**0.5 * special.ndtri(share)
                + (1.0 - entry.correlation) ** 0.5 * special.ndtri(own[band.name])
            )
        column = quantiles(replace(entry, low=band.low, high=band.high, values=band.values or entry.values), drawn)
        columns |= {f"{entry.key}/{key}": column for key in band.keys}
    return columns


def stream(name: str, seed: int) -> "np.random.Generator":
    """Return the random number generator of one input, seeded by the common seed and a stable hash of its name."""
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest())])


def slices(draws: int, name: str, seed: int) -> "Column":
    """Return a Latin hypercube sample of one input: one point in every stratum of [0, 1], in random order.

    The numbers equal those of a one-dimensional `scipy.stats.qmc.LatinHypercube` with the generator of `stream`.
    """
    import numpy as np  # noqa: PLC0415

    chance = stream(name, seed).spawn(1)[0]
    within = chance.uniform(size=draws)
    points: Column = (chance.permuted(np.arange(1, draws + 1)) - within) / draws
    return points


def ranks(values: "Column") -> "Column":
    """Return the rank of each value in ascending order, from 1; equal values share their mean rank.

    >>> import numpy as np
    >>> ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    import numpy as np  # noqa: PLC0415

    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    mean: Column = np.cumsum(count) - (count - 1) / 2.0
    return mean[group]


def one_at_a_time(inputs: Sequence[UncertainInput], ends: tuple[float, float] = (0.1, 0.9)) -> dict[str, "Column"]:
    """Return draws for a tornado chart: number 0 is the base, then each input alone at its low and high quantile."""
    import numpy as np  # noqa: PLC0415

    rows = 1 + 2 * len(inputs)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    for place, entry in enumerate(inputs):
        for name, ends_of in _factors(entry, np.array(ends)).items():
            columns.setdefault(name, np.ones(rows))[1 + 2 * place : 3 + 2 * place] = ends_of
    return {"number": np.arange(rows, dtype=float), **columns}


def grid(
    inputs: Sequence[UncertainInput], first: tuple[str, Sequence[float]], second: tuple[str, Sequence[float]]
) -> dict[str, "Column"]:
    """Return draws for a heat map: all pairs of factors of two inputs, the second varying fastest, others at base."""
    import numpy as np  # noqa: PLC0415

    (one, ones), (other, others) = first, second
    rows = len(ones) * len(others)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    columns[one] = np.repeat(np.array(ones, dtype=float), len(others))
    columns[other] = np.tile(np.array(others, dtype=float), len(ones))
    return {"number": np.arange(rows, dtype=float), **columns}
