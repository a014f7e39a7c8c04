"""Commitments of a candidate over the horizon: which nodes are committed when, and each of them for how long."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.terms.contracts import TERM_MONTHS
from clusterwright.tco.terms.records import Candidate, Economics
from clusterwright.tco.terms.stages import Pace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Slack for products that are whole but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitmentLot:
    """Nodes that are committed from one month on, for one term.

    Attributes:
        key: of the candidate.
        start_month: at whose end the term starts; 0 is the start of the horizon.
        nodes: over those that are committed at the start of the horizon; 0 where nothing is.
    """

    key: str
    start_month: float
    nodes: float


def committed_months(candidate: Candidate, economics: Economics) -> float | None:
    """Return the length of the terms that a candidate commits to in months, None where it commits to none."""
    term = candidate.term or economics.term
    if candidate.owned or term not in COMMITTED_TERMS:
        return None
    agreed = None if candidate.contract is None else candidate.contract.period_months
    return agreed or TERM_MONTHS[term]


def commitment_starts(*, horizon_months: float, period_months: float) -> tuple[float, ...]:
    """Return every month in which a term may start: with a year of more work, or when one that started so has ended."""
    years = range(math.ceil(horizon_months / 12))
    return tuple(
        sorted(
            {
                start
                for year in years
                for renewal in range(math.ceil(horizon_months / period_months))
                if (start := 12.0 * year + period_months * renewal) < horizon_months
            }
        )
    )


def committed_nodes(
    pace: Pace, *, horizon_months: float, busy_fraction: "float | Column", period_months: float
) -> "dict[float, float | Column]":
    """Return the nodes that a candidate commits to, over those of the cluster, by the month in which their term starts.

    The whole cluster is committed, and more of it where the work takes more than all of its hours. Nodes that the work
    needs later are commitments of their own. When a term ends, what is then needed is committed again.

    Args:
        pace: how the work changes.
        horizon_months: no term starts at its end or later.
        busy_fraction: share of the hours of the cluster that the work of the first year takes, or that of each draw.
        period_months: length of a term, whole months.

    >>> nodes = committed_nodes(Pace(growth_per_year=0.5), horizon_months=30, busy_fraction=1.0, period_months=24)
    >>> {start: float(number) for start, number in nodes.items()}
    {0.0: 1.0, 12.0: 0.5, 24.0: 1.75}
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws hand in columns

    found: dict[float, float | Column] = {}
    for month in commitment_starts(horizon_months=horizon_months, period_months=period_months):
        held = sum((nodes for start, nodes in found.items() if month < start + period_months), 0.0 * busy_fraction)
        wanted = np.maximum(1.0, busy_fraction * pace.work(month))
        found[month] = np.where(wanted > held + _ROUNDING, wanted - held, 0.0)
    return found


def commitment_lots(
    key: str, pace: Pace, *, horizon_months: float, busy_fraction: float, period_months: float
) -> tuple[CommitmentLot, ...]:
    """Return what a candidate commits to as lots; `committed_nodes` says how many."""
    nodes = committed_nodes(
        pace, horizon_months=horizon_months, busy_fraction=busy_fraction, period_months=period_months
    )
    first = max(1.0, busy_fraction)
    return tuple(
        CommitmentLot(key=key, start_month=start, nodes=float(number) / first) for start, number in nodes.items()
    )
