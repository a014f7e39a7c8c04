"""Ways to do the work on several candidates: an owned base, delivery that comes late, and the rest that is rented."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.tco.formulas.payments import Financing
from clusterwright.tco.terms.stages import Pace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_YEAR = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What one candidate gives to a mix: shares of its fixed and of its variable costs, by month.

    Attributes:
        key: of the candidate.
        fixed_share: of what is paid whatever is worked: purchases, space, standing services.
        variable_share: of what is paid by the hours worked, which is the share of those months' work done there.
        from_month, to_month: shares hold for rows paid after `from_month` up to `to_month`; None is the end. A row of
            month 0 belongs to the part that starts there. Purchases and sales belong to the part that ends last.
    """

    key: str
    fixed_share: float
    variable_share: float
    from_month: float = 0.0
    to_month: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """One way to do the work on several candidates: a base that is owned and the rest rented.

    Attributes:
        key: names it, unlike any candidate.
        target: of the costs it becomes.
        nodes, gpus: that are owned.
        parts: whose costs it shares; several of one candidate follow on each other.
        delivery_months: from the order of what is owned to its work.
        deposit: share of the first purchase that is paid at the order; the rest is paid at delivery.
        rented_key: of the candidate that does the rest; empty where shares of the work are fixed.
        most_work: that what is owned can do, over the whole work of a month of the first year, where it does not grow
            with the work; None where it does.
        financing: how the purchases are paid for; None at once.
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

    @property
    def rents_more(self) -> bool:
        """Whether more is rented where there is more work; else every part does its share of it."""
        return self.most_work is not None


def owned_share(most_work: float | None, work: "float | Column") -> "float | Column":
    """Return the share of the work that owned nodes do: all that they can.

    Args:
        most_work: that they can do; None is all of it.
        work: of a month, in the same unit, or that of each draw.

    >>> owned_share(0.6, 1.2)
    0.5
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only draws hand in columns

    if most_work is None:
        return 1.0 + 0.0 * work
    return np.minimum(1.0, most_work / work) if isinstance(work, np.ndarray) else min(1.0, most_work / work)


def owned_and_rented(
    owned_key: str,
    rented_key: str,
    *,
    nodes_share: float,
    most_work: float,
    pace: Pace,
    horizon_months: float,
    expands: bool = False,
    delivery_months: float = 0.0,
) -> tuple[Part, ...]:
    """Return the parts of a mix in which nodes that are owned do what they can, and the rest is rented.

    share of a month's work that is rented = max(0, work - what is owned can do) / work; before delivery all of it.
    What is between runs is rented for the share of the nodes that is not there.

    Args:
        owned_key: candidate that is bought.
        rented_key: candidate that does the rest.
        nodes_share: share of the owned candidate's nodes that is bought.
        most_work: that these can do, over the whole work of a month of the first year.
        pace: how the work changes from year to year.
        horizon_months: length of the view.
        expands: whether they grow with the work, of which they then do the same share in every year.
        delivery_months: until then nothing of what is bought works.

    >>> parts = owned_and_rented("own", "rent", nodes_share=0.5, most_work=0.6, pace=Pace(growth_per_year=0.5),
    ...                          horizon_months=24)
    >>> [(part.key, part.to_month, round(part.variable_share, 3)) for part in parts]
    [('own', 12.0, 0.6), ('rent', 12.0, 0.4), ('own', None, 0.4), ('rent', None, 0.6)]
    """
    found: list[Part] = []
    for start, end in _spans(pace, horizon_months, delivery_months):
        there = start >= delivery_months
        work = pace.work(start)
        owned = 0.0 if not there else most_work if expands else float(owned_share(most_work, work))
        to_month = None if end >= horizon_months else end
        shares = [(owned_key, nodes_share, owned)] if there else []
        shares.append((rented_key, 1.0 - nodes_share if there else 1.0, 1.0 - owned))
        found += [
            Part(key=key, fixed_share=fixed, variable_share=variable, from_month=start, to_month=to_month)
            for key, fixed, variable in shares
            if fixed or variable
        ]
    return tuple(found)


def _spans(pace: Pace, horizon_months: float, delivery_months: float) -> Iterator[tuple[float, float]]:
    """Yield the times in which neither the work nor what is delivered changes."""
    years = range(1, math.ceil(horizon_months / _YEAR)) if pace.growth_per_year else ()
    ends = sorted({*(year * _YEAR for year in years), delivery_months, horizon_months} - {0.0})
    yield from zip((0.0, *ends), ends, strict=False)
