"""Mixes of candidates that share the work: an owned base with rented peaks, rented nodes until delivery."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.tco.formulas.payments import Financing
from clusterwright.tco.terms.stages import GrowthSchedule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_YEAR = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Contribution of one candidate to a mix: shares of its fixed and variable costs in a period.

    Attributes:
        key: key of the candidate.
        fixed_share: share of the costs that do not depend on the hours worked: purchases, space, permanent services.
        variable_share: share of the costs that are proportional to the hours worked; equal to the share of the work.
        from_month, to_month: the shares apply to rows paid after `from_month` up to `to_month`; None is the end. A row
            of month 0 belongs to the part that starts there. Purchases and sales belong to the part that ends last.
    """

    key: str
    fixed_share: float
    variable_share: float
    from_month: float = 0.0
    to_month: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """An alternative that splits the work over several candidates: an owned base and rented capacity.

    Attributes:
        key: name of the mix, different from every candidate's.
        target: target that its costs are reported under.
        nodes, gpus: number of owned nodes and GPUs.
        parts: shares of the candidates' costs; several parts of one candidate follow one another in time.
        delivery_months: months from the order of the owned nodes until they work.
        deposit: share of the first purchase that is paid with the order; the rest is paid at delivery.
        rented_key: key of the candidate that does the remaining work; empty if the shares of the work are fixed.
        most_work: capacity of the owned nodes over the work of a month of the first year, if they do not grow with the
            work; None if they do.
        financing: loan or lease for the purchases; None for payment in cash.
        utilisation: largest share of the time that the owned nodes work; None for that of a whole owned cluster.
    """

    key: str
    target: str
    nodes: int
    gpus: int
    parts: tuple[Part, ...]
    delivery_months: float = 0.0
    deposit: float = 1.0
    rented_key: str = ""
    most_work: float | None = None
    financing: Financing | None = None
    utilisation: float | None = None

    @property
    def rents_more(self) -> bool:
        """Whether more capacity is rented when there is more work; otherwise every part does a fixed share of it."""
        return self.most_work is not None


def owned_share(most_work: float | None, work: "float | Column") -> "float | Column":
    """Return the share of the work that owned nodes do, which is as much as they can.

    Args:
        most_work: capacity of the owned nodes; None for unlimited capacity.
        work: work of a month in the same unit, or a column with the work in each draw.

    >>> owned_share(0.6, 1.2)
    0.5
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws pass columns

    if most_work is None:
        return 1.0 + 0.0 * work
    return np.minimum(1.0, most_work / work) if isinstance(work, np.ndarray) else min(1.0, most_work / work)


def owned_and_rented(
    owned_key: str,
    rented_key: str,
    *,
    nodes_share: float,
    most_work: float,
    growth: GrowthSchedule,
    horizon_months: float,
    expands: bool = False,
    delivery_months: float = 0.0,
) -> tuple[Part, ...]:
    """Return the parts of a mix in which owned nodes do as much of the work as they can, and the rest is rented.

    Rented share of a month's work = max(0, work - capacity of the owned nodes) / work; before delivery all of it. Costs
    between runs are rented for the share of the nodes that is not owned.

    Args:
        owned_key: key of the candidate that is bought.
        rented_key: key of the candidate that does the remaining work.
        nodes_share: share of the owned candidate's nodes that is bought.
        most_work: capacity of these nodes over the work of a month of the first year.
        growth: growth of the work from year to year.
        horizon_months: length of the horizon.
        expands: whether the owned nodes grow with the work, of which they then do the same share in every year.
        delivery_months: months until the purchased nodes work.

    >>> growth = GrowthSchedule(growth_per_year=0.5)
    >>> parts = owned_and_rented("own", "rent", nodes_share=0.5, most_work=0.6, growth=growth, horizon_months=24)
    >>> [(part.key, part.to_month, round(part.variable_share, 3)) for part in parts]
    [('own', 12.0, 0.6), ('rent', 12.0, 0.4), ('own', None, 0.4), ('rent', None, 0.6)]
    """
    parts: list[Part] = []
    for start, end in _spans(growth, horizon_months, delivery_months):
        delivered = start >= delivery_months
        work = growth.work(start)
        owned = 0.0 if not delivered else most_work if expands else float(owned_share(most_work, work))
        to_month = None if end >= horizon_months else end
        shares = [(owned_key, nodes_share, owned)] if delivered else []
        shares.append((rented_key, 1.0 - nodes_share if delivered else 1.0, 1.0 - owned))
        parts += [
            Part(key=key, fixed_share=fixed, variable_share=variable, from_month=start, to_month=to_month)
            for key, fixed, variable in shares
            if fixed or variable
        ]
    return tuple(parts)


def _spans(growth: GrowthSchedule, horizon_months: float, delivery_months: float) -> Iterator[tuple[float, float]]:
    """Yield the periods, as start and end month, in which neither the work nor the delivered capacity changes."""
    years = range(1, math.ceil(horizon_months / _YEAR)) if growth.growth_per_year else ()
    ends = sorted({*(year * _YEAR for year in years), delivery_months, horizon_months} - {0.0})
    yield from zip((0.0, *ends), ends, strict=False)
