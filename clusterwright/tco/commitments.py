"""Commitments of a candidate over the horizon: which nodes are committed when, and each of them for how long."""

import math
from dataclasses import dataclass

from clusterwright.tco.stages import Pace

#: Slack for products that are whole but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitmentLot:
    """Nodes that are committed from one month on, for one term.

    Attributes:
        key: of the candidate.
        start_month: at whose end the term starts; 0 is the start of the horizon.
        nodes: over those that are committed at the start of the horizon.
    """

    key: str
    start_month: float
    nodes: float


def commitment_lots(
    key: str, pace: Pace, *, horizon_months: float, busy_fraction: float, period_months: float
) -> tuple[CommitmentLot, ...]:
    """Return the nodes that a candidate commits to, by the month in which their term starts.

    The whole cluster is committed, and more of it where the work takes more than all of its hours. Nodes that the work
    needs later are commitments of their own. When a term ends, what is then needed is committed again.

    Args:
        key: of the candidate.
        pace: how the work changes.
        horizon_months: no term starts at its end or later.
        busy_fraction: share of the hours of the cluster that the work of the first year takes.
        period_months: length of a term, whole months.

    >>> [(lot.start_month, lot.nodes) for lot in commitment_lots(
    ...     "aws", Pace(growth_per_year=0.5), horizon_months=30, busy_fraction=1.0, period_months=24)]
    [(0.0, 1.0), (12.0, 0.5), (24.0, 1.75)]
    """
    first = max(1.0, busy_fraction)
    found: list[CommitmentLot] = []
    for month in range(math.ceil(horizon_months)):
        held = sum(lot.nodes for lot in found if month < lot.start_month + period_months)
        wanted = max(1.0, busy_fraction * pace.work(month)) / first
        if wanted > held + _ROUNDING:
            found.append(CommitmentLot(key=key, start_month=float(month), nodes=wanted - held))
    return tuple(found)
