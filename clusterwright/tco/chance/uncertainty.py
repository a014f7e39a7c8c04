"""Uncertain inputs: their bands, draws from them (Latin hypercube), and what came out. `drawing` values them."""

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

#: Share of resale that moves with the rental price: what old GPUs fetch follows what renting them earns.
RESALE_WITH_RENT = 0.7
#: Correlation of the errors in the time of a run on different clusters: most of it comes from the same formulas, the
#: same model and the same job, the rest from the cluster itself (estimate).
_COMMON_ERROR = 0.8
_MOST_DRAWS = 1_000_000
_ROUNDING = 1e-9
_RESALE = "resale_fraction"
#: What decides how much work there is to pay for.
_OF_TIME = ("run_time", "utilisation")
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
        parameters: of the cash flow; their bands are those of the assumptions, none where the user gave the value.
        utilisation: share of the hours, so that the high end is at most all of them.
        purchase_band: cheapest and dearest purchase over the base, from assumed prices; widens the shipped band.
        run_times: P10 and P90 of the time of a run over the base, of the plan, by option.
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
    if run_times:
        found["run_time"] = UncertainInput(
            key="run_time",
            low=min(band.low for band in run_times),
            high=max(band.high for band in run_times),
            reason="error of the plan's run times, P10 to P90; of one model, and so mostly the same for all options",
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
            f"{band.key} of {percent(drawn.high * value)} is more than there is", help="give at most 100 %", path=path
        )
    within = drawn.certain or (drawn.low <= 1 + _ROUNDING and drawn.high >= 1 - _ROUNDING)
    if drawn.distribution in ("triangular", "beta") and not within:
        raise InputError(
            f"{band.key} is {value:g}, outside of its band from {band.low:g} to {band.high:g}",
            help="its peak is the value itself: let the band hold it, or take distribution: normal",
            path=path,
        )
    if band.key in _OF_TIME and (drawn.high == 0 or 0 in drawn.values):
        raise InputError(f"{band.key} of 0 is no work at all", help="give values above 0", path=path)
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

    Every input's distribution is cut into as many slices of equal probability as there are draws, and each slice is
    drawn once (McKay, Beckman, Conover 1979). Resale follows the rental price through normal scores.

    An input's draws depend on the seed and on the name of the input alone: another input, before or after it, moves
    nothing that does not use it.

    Args:
        inputs: what is drawn.
        draws: how many, 1 to a million.
        seed: of chance.
        resale_correlation: correlation of the normal scores of resale and rental price, 0 to 1.
        rent_levels: rental price of each draw that the resale of an option follows, for example at the end of a path,
            by its key; without, all resale follows the input `cloud_price`. A price that is the same in all draws is
            not followed.

    Raises:
        InputError: fewer than 1 or more than a million draws.
    """
    if not 1 <= draws <= _MOST_DRAWS:
        raise InputError(f"{draws} draws cannot be taken", help=f"take 1 to {_MOST_DRAWS:,}")
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need them
    from scipy import special  # noqa: PLC0415 - not scipy.stats, which takes 0.6 s to load

    shares = {entry.key: slices(draws, entry.key, seed) for entry in inputs}

    def following(rent: "Column") -> "Column":
        mine = special.ndtri(shares[_RESALE])
        scores = resale_correlation * special.ndtri(rent) + (1 - resale_correlation**2) ** 0.5 * mine
        followed: Column = special.ndtr(scores)
        return followed

    columns = {"number": np.arange(draws, dtype=float)}
    for entry in inputs:
        own = {band.name: slices(draws, f"{entry.key}/{band.name}", seed) for band in entry.bands}
        share = shares[entry.key]
        if entry.key == _RESALE and rent_levels is not None:
            for key, levels in rent_levels.items():
                rent = None if float(np.ptp(levels)) == 0.0 else (ranks(levels) - 0.5) / draws
                columns[f"{_RESALE}/{key}"] = quantiles(entry, share if rent is None else following(rent))
        elif entry.key == _RESALE and "cloud_price" in shares:
            share = following(shares["cloud_price"])
        columns |= _factors(entry, share, own)
    return columns


def _factors(entry: UncertainInput, share: "Column", own: "Mapping[str, Column] | None" = None) -> "dict[str, Column]":
    """Return the factors of an input by name of the column: one, or one for each option that has a band of its own.

    Args:
        entry: the input.
        share: probability of each draw.
        own: probability of each draw that is a band's own, by its name; None moves all bands together.
    """
    from scipy import special  # noqa: PLC0415

    if not entry.bands:
        return {entry.key: quantiles(entry, share)}
    found: dict[str, Column] = {}
    for band in entry.bands:
        drawn = share
        if own is not None:
            # Each is the root of the correlation the common part's, so that two of them have the correlation.
            drawn = special.ndtr(
                entry.correlation**0.5 * special.ndtri(share)
                + (1.0 - entry.correlation) ** 0.5 * special.ndtri(own[band.name])
            )
        column = quantiles(replace(entry, low=band.low, high=band.high, values=band.values or entry.values), drawn)
        found |= {f"{entry.key}/{key}": column for key in band.keys}
    return found


def stream(name: str, seed: int) -> "np.random.Generator":
    """Return the generator of one input, seeded by the seed of all and a stable hash of its name."""
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest())])


def slices(draws: int, name: str, seed: int) -> "Column":
    """Return a Latin hypercube of one input: one point of every slice of [0, 1], in any order.

    The numbers are those of `scipy.stats.qmc.LatinHypercube` of one dimension with the generator of `stream`.
    """
    import numpy as np  # noqa: PLC0415

    chance = stream(name, seed).spawn(1)[0]
    within = chance.uniform(size=draws)
    points: Column = (chance.permuted(np.arange(1, draws + 1)) - within) / draws
    return points


def ranks(values: "Column") -> "Column":
    """Return the place of each value in ascending order, from 1; equal ones share the mean of their places.

    >>> import numpy as np
    >>> ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    import numpy as np  # noqa: PLC0415

    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    mean: Column = np.cumsum(count) - (count - 1) / 2.0
    return mean[group]


def one_at_a_time(inputs: Sequence[UncertainInput], ends: tuple[float, float] = (0.1, 0.9)) -> dict[str, "Column"]:
    """Return draws for a tornado: number 0 is the base, then each input alone at its low and at its high quantile."""
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
    """Return draws for a heat map: every pair of factors of two inputs, the second one fastest, all others at base."""
    import numpy as np  # noqa: PLC0415

    (one, ones), (other, others) = first, second
    rows = len(ones) * len(others)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    columns[one] = np.repeat(np.array(ones, dtype=float), len(others))
    columns[other] = np.tile(np.array(others, dtype=float), len(ones))
    return {"number": np.arange(rows, dtype=float), **columns}
