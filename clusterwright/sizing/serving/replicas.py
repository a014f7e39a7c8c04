"""Replicas for a rate: behind a router, spare ones for failures, pools that prefill and decode at equal rates."""

import math
from dataclasses import dataclass

import numpy as np

from clusterwright.errors import InputError
from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Array, Values

#: No fleet is larger; a search that goes on beyond it would not end.
_MOST_REPLICAS = 1_000_000


@formula(
    "⌈{requests_per_s} / {replica_requests_per_s}⌉",
    source="clusterwright/sizing/serving/search.py",
    requests_per_s=Term("requests/s at the peak, while answers take as long as they may", ",.4g"),
    replica_requests_per_s=Term("requests/s of one then", ",.4g"),
)
def replicas_needed(*, requests_per_s: Values, replica_requests_per_s: Values) -> Array:
    """Return the fewest replicas, or workers of a pool, that carry a rate: one or more."""
    # A rate that is a whole number of replicas but for rounding takes no further one.
    return np.maximum(np.ceil(np.asarray(requests_per_s) / replica_requests_per_s - 1e-9), 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """How many replicas: needed for the rate, kept besides against failures; load: of a needed one."""

    needed: int
    spare: int
    load: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Pools:
    """Workers that prefill and that decode, and the share of its largest rate that each pool works at."""

    prefill_workers: int
    decode_workers: int
    prefill_load: float
    decode_load: float


def replicas(
    *, requests_per_s: float, replica_requests_per_s: float, replica_availability: float = 1.0, goal: float = 0.0
) -> Fleet:
    """Return the replicas that meet their goals at a rate, and a given number of spare ones that enough of them are up.

    Each replica is given the rate at which it meets the goals under Poisson arrivals (`largest_rate`). Routers
    that send requests in turn, or to the least loaded, make arrivals at each replica more regular than that, so that
    the count is on the safe side; the tests hold it to the simulated fleet.

    Args:
        requests_per_s: at the peak.
        replica_requests_per_s: that one replica takes.
        replica_availability: share of the time in which one replica is up.
        goal: share of the time in which at least the needed ones are, 0 for no spare ones.

    Raises:
        InputError: a replica takes no requests, or no number of spare ones reaches the goal.
    """
    if not replica_requests_per_s > 0 or not math.isfinite(requests_per_s) or requests_per_s < 0:
        raise InputError(
            f"{replica_requests_per_s:g} requests/s of a replica never make {requests_per_s:g}/s",
            help="relax the goals of latency, or take a replica that meets them when idle",
        )
    found = replicas_needed(requests_per_s=requests_per_s, replica_requests_per_s=replica_requests_per_s)
    needed = int(found) if requests_per_s > 0 else 0
    if needed > _MOST_REPLICAS:
        raise InputError(f"{needed:,} replicas are more than {_MOST_REPLICAS:,}", help="lower the peak rate")
    load = requests_per_s / (needed * replica_requests_per_s) if needed else 0.0
    return Fleet(needed=needed, spare=spare_replicas(needed, availability=replica_availability, goal=goal), load=load)


def spare_replicas(needed: int, *, availability: float, goal: float) -> int:
    """Return the fewest spare replicas k with which at least `needed` of n + k are up for a share `goal` of the time.

    Replicas fail on their own: the number that is up is binomial, `sum over j >= n of C(n+k, j) a^j (1-a)^(n+k-j)`.

    Raises:
        InputError: no number reaches the goal.
    """
    if not (0 < availability <= 1 and 0 <= goal < 1) and not (availability == 1 and goal == 1):
        raise InputError(
            f"replicas that are up for {availability:.5g} of the time cannot be {goal:.5g} together",
            help="give an availability above 0 and a goal below 1",
        )
    spare = 0
    while enough_up(needed, spare=spare, availability=availability) < goal:
        spare += 1
        if spare > needed + 1000:
            raise InputError(
                f"{spare:,} spare replicas do not reach {goal:.6g} with replicas up {availability:.3g} of the time",
                help="give a more available replica or a lower goal",
            )
    return spare


def enough_up(needed: int, *, spare: int, availability: float) -> float:
    """Return the share of the time in which at least `needed` of `needed + spare` replicas are up."""
    if availability >= 1:
        return 1.0
    count = needed + spare
    down = 0.0
    # Summed over the failed ones, of which few count; in logarithms, since binomial coefficients of many overflow.
    for failed in range(spare + 1):
        ways = math.lgamma(count + 1) - math.lgamma(failed + 1) - math.lgamma(count - failed + 1)
        down += math.exp(ways + failed * math.log1p(-availability) + (count - failed) * math.log(availability))
    return min(down, 1.0)


def matched_pools(*, requests_per_s: float, prefill_requests_per_s: float, decode_requests_per_s: float) -> Pools:
    """Return the workers of pools apart, each of which takes the rate: `n_p r_p >= rate <= n_d r_d`.

    Args:
        requests_per_s: of the whole.
        prefill_requests_per_s: that one worker prefills within its goals.
        decode_requests_per_s: that one worker decodes within its goals.

    Raises:
        InputError: one of the workers takes no requests.
    """
    prefill = replicas(requests_per_s=requests_per_s, replica_requests_per_s=prefill_requests_per_s)
    decode = replicas(requests_per_s=requests_per_s, replica_requests_per_s=decode_requests_per_s)
    return Pools(
        prefill_workers=prefill.needed,
        decode_workers=decode.needed,
        prefill_load=prefill.load,
        decode_load=decode.load,
    )
