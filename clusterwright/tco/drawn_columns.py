"""What follows from the inputs of a draw: hours worked by option, and quantities that follow the work by steps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clusterwright.tco.engine import Ledger
from clusterwright.tco.stages import lot_sizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Slack for shares that are 1 but for rounding.
ROUNDING = 1e-9
#: How long a run takes, of all options or, with a key behind the stroke, of one.
RUN_TIME = "run_time"


def works(ledger: Ledger, draws: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return the hours worked on each candidate over those of the base, by key."""
    times = run_times(ledger, draws)
    utilisation = draws.get("utilisation")
    return {key: time if utilisation is None else utilisation * time for key, time in times.items()}


def run_times(ledger: Ledger, draws: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return the time of a run on each candidate over that of the base, by key."""
    every = draws.get(RUN_TIME, draws["number"] * 0.0 + 1.0)
    return {candidate.key: draws.get(f"{RUN_TIME}/{candidate.key}", every) for candidate in ledger.candidates}


def owners_busy(ledger: Ledger, draws: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return which share of the hours the work of the first year takes on each owned candidate; above 1 is too much."""
    busy = ledger.busy_fractions()
    work = works(ledger, draws)
    return {entry.key: busy[entry.key] * work[entry.key] for entry in ledger.candidates if entry.owned}


def derived(ledger: Ledger, draws: "Mapping[str, Column]") -> "dict[str, Column]":
    """Return the columns of a draw that its inputs make, by name as in `drawn_flow`.

    `run_time/KEY`: factor of the option. `committed_hours/KEY`: nodes that are committed over those of the base: all
    that the cluster has, or more where the work takes more hours. `lot/KEY/MONTH`: capacity that is bought in that
    month to grow, over the first purchase.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and only comparisons under uncertainty need it

    busy = ledger.busy_fractions()
    found = {f"{RUN_TIME}/{key}": time for key, time in run_times(ledger, draws).items()}
    for candidate in ledger.candidates:
        work = busy[candidate.key] * works(ledger, draws)[candidate.key]
        if not candidate.owned:
            found[f"committed_hours/{candidate.key}"] = np.maximum(1.0, work) / max(1.0, busy[candidate.key])
            continue
        sizes = lot_sizes(
            ledger.economics.pace,
            horizon_months=ledger.economics.horizon_months,
            busy_fraction=work if candidate.expands else 0.0 * work,
            nodes=max(1, candidate.nodes),
        )
        found |= {f"lot/{candidate.key}/{month:.0f}": size + 0.0 * work for month, size in sizes.items()}
    return found
