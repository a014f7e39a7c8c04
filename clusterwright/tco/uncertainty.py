"""Uncertain inputs: their bands, draws from them (Latin hypercube), and what came out. Valued by `drawn_cost.sql`."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.assets import root
from clusterwright.errors import InputError
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
SEED = 20261121


@dataclass(frozen=True, kw_only=True, slots=True)
class UncertainInput:
    """An input as factors on its base value: triangular from low over 1 to high. Equal ends mean that it is certain.

    Attributes:
        key: name of the column; reason, source: why the ends are where they are.
    """

    key: str
    low: float
    high: float
    reason: str
    source: str


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
            )
            for row in csv.DictReader(lines)
        }


def uncertain_inputs(
    parameters: Sequence[Parameter],
    *,
    utilisation: float,
    purchase_band: tuple[float, float] = (1.0, 1.0),
    run_time_band: tuple[float, float] | None = None,
) -> tuple[UncertainInput, ...]:
    """Return the uncertain inputs of a comparison as factors on their base values.

    Args:
        parameters: of the cash flow; their bands are those of the assumptions, none where the user gave the value.
        utilisation: share of the hours, so that the high end is at most all of them.
        purchase_band: cheapest and dearest purchase over the base, from assumed prices; widens the shipped band.
        run_time_band: shortest and longest run over the base, of the plan.
    """
    found = dict(_bands())
    found["utilisation"] = _with(
        found["utilisation"], found["utilisation"].low, min(found["utilisation"].high, 1 / utilisation)
    )
    bought = found["purchase_price"]
    found["purchase_price"] = _with(bought, min(bought.low, purchase_band[0]), max(bought.high, purchase_band[1]))
    if run_time_band is not None:
        found["run_time"] = _with(found["run_time"], *run_time_band)
    for parameter in parameters:
        ends = sorted(
            1.0 if not parameter.value else end / parameter.value
            for end in (parameter.low, parameter.value, parameter.high)
        )
        found[parameter.key] = UncertainInput(
            key=parameter.key, low=ends[0], high=ends[2], reason=parameter.reason, source=parameter.source
        )
    return tuple(found.values())


def _with(known: UncertainInput, low: float, high: float) -> UncertainInput:
    return UncertainInput(
        key=known.key, low=min(low, 1.0), high=max(high, 1.0), reason=known.reason, source=known.source
    )


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
    columns = {entry.key: triangular(shares[entry.key], entry.low, entry.high) for entry in inputs}
    return {"number": np.arange(draws, dtype=float), **columns}


def triangular(share: "Column", low: float, high: float) -> "Column":
    """Return the quantiles of a triangular distribution from low over a peak at 1 to high.

    >>> import numpy as np
    >>> triangular(np.array([0.0, 0.5, 1.0]), 0.5, 1.5).tolist()
    [0.5, 1.0, 1.5]
    """
    import numpy as np  # noqa: PLC0415

    width = high - low
    if width <= 0:
        return np.ones_like(share)
    peak = (1.0 - low) / width
    rising = low + np.sqrt(share * width * (1.0 - low))
    falling = high - np.sqrt((1.0 - share) * width * (high - 1.0))
    return np.where(share < peak, rising, falling)


def one_at_a_time(inputs: Sequence[UncertainInput], quantiles: tuple[float, float] = (0.1, 0.9)) -> dict[str, "Column"]:
    """Return draws for a tornado: number 0 is the base, then each input alone at its low and at its high quantile."""
    import numpy as np  # noqa: PLC0415

    rows = 1 + 2 * len(inputs)
    columns = {entry.key: np.ones(rows) for entry in inputs}
    for place, entry in enumerate(inputs):
        columns[entry.key][1 + 2 * place : 3 + 2 * place] = triangular(np.array(quantiles), entry.low, entry.high)
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
