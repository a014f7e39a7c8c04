"""Commitments of a candidate over the horizon: the committed nodes, with start and length of their terms."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.terms.contracts import TERM_MONTHS
from clusterwright.tco.terms.records import Candidate, Economics
from clusterwright.tco.terms.stages import GrowthSchedule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Tolerance for products that are whole numbers except for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitmentLot:
    """Nodes committed from one month on, for one term.

    Attributes:
        key: key of the candidate.
        start_month: month at whose end the term starts; 0 is the start of the horizon.
        nodes: number of nodes over the number committed at the start of the horizon; 0 if none are committed.
    """

    key: str
    start_month: float
    nodes: float


def committed_months(candidate: Candidate, economics: Economics) -> float | None:
    """Return the length in months of the terms that a candidate commits to; None without a commitment."""
    term = candidate.term or economics.term
    if candidate.owned or term not in COMMITTED_TERMS:
        return None
    agreed = None if candidate.contract is None else candidate.contract.period_months
    return agreed or TERM_MONTHS[term]


def commitment_starts(*, horizon_months: float, period_months: float) -> tuple[float, ...]:
    """Return every month in which a term may start: with a year, or at the end of a term that started with a year."""
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
    growth: GrowthSchedule, *, horizon_months: float, busy_fraction: "float | Column", period_months: float
) -> "dict[float, float | Column]":
    """Return the committed nodes, over the nodes of the cluster, by the month in which their term starts.

    The whole cluster is committed, and more nodes if the work takes more than all its hours. Nodes that the work needs
    later are separate commitments. When a term ends, the nodes needed at that time are committed again.

    Args:
        growth: growth of the work.
        horizon_months: length of the horizon; no term starts at its end or later.
        busy_fraction: share of the cluster's hours that the work of the first year takes, or a column with this share
            in each draw.
        period_months: length of a term, in whole months.

    >>> growth = GrowthSchedule(growth_per_year=0.5)
    >>> nodes = committed_nodes(growth, horizon_months=30, busy_fraction=1.0, period_months=24)
    >>> {start: float(number) for start, number in nodes.items()}
    {0.0: 1.0, 12.0: 0.5, 24.0: 1.75}
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws pass columns

    by_start: dict[float, float | Column] = {}
    for month in commitment_starts(horizon_months=horizon_months, period_months=period_months):
        running = sum(
            (nodes for start, nodes in by_start.items() if month < start + period_months), 0.0 * busy_fraction
        )
        needed = np.maximum(1.0, busy_fraction * growth.work(month))
        by_start[month] = np.where(needed > running + _ROUNDING, needed - running, 0.0)
    return by_start


def commitment_lots(
    key: str, growth: GrowthSchedule, *, horizon_months: float, busy_fraction: float, period_months: float
) -> tuple[CommitmentLot, ...]:
    """Return the commitments of a candidate as lots, sized by `committed_nodes`."""
    nodes = committed_nodes(
        growth, horizon_months=horizon_months, busy_fraction=busy_fraction, period_months=period_months
    )
    first = max(1.0, busy_fraction)
    return tuple(
        CommitmentLot(key=key, start_month=start, nodes=float(number) / first) for start, number in nodes.items()
    )
