"""Columns derived from the inputs of a draw: hours worked by option, and quantities that follow the work in steps."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.commitments import committed_months, committed_nodes
from clusterwright.tco.renting.mixes import Mix, owned_share
from clusterwright.tco.terms.records import Candidate
from clusterwright.tco.terms.stages import lot_sizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

#: Tolerance for shares that are 1 except for rounding.
ROUNDING = 1e-9
#: Input with the time of a run.
RUN_TIME = "run_time"
#: Inputs with one column for all options (`name`) or with a column for each option (`name/KEY`).
BY_OPTION = (RUN_TIME, "cloud_price", "resale_fraction")


class DrawnWork:
    """Work of every candidate in each draw.

    Attributes:
        by_option: factors of the inputs in `BY_OPTION`, by name of the column.
        run_times: time of a run over the base value, by key.
        over_base: hours worked over the base value, by key.
        busy: share of the hours that the work of the first year takes, by key; above 1 exceeds an owned cluster.
    """

    def __init__(self, ledger: Ledger, draws: "Mapping[str, Column]") -> None:
        one = draws["number"] * 0.0 + 1.0
        utilisation = draws.get("utilisation", one)
        keys = [candidate.key for candidate in ledger.candidates]
        self.by_option = {
            f"{name}/{key}": draws.get(f"{name}/{key}", draws.get(name, one)) for name in BY_OPTION for key in keys
        }
        self.run_times = {key: self.by_option[f"{RUN_TIME}/{key}"] for key in keys}
        self.over_base = {key: utilisation * time for key, time in self.run_times.items()}
        self.busy = {key: share * self.over_base[key] for key, share in ledger.busy_fractions.items()}


def owned_feasible(ledger: Ledger, work: DrawnWork) -> "dict[str, NDArray[np.bool_]]":
    """Return the draws in which each owned option has enough hours for the work, by key.

    A mix that rents the work beyond its owned nodes is always feasible and is not in the result.
    """
    feasible = {entry.key: work.busy[entry.key] <= 1.0 + ROUNDING for entry in ledger.candidates if entry.owned}
    for mix in ledger.mixes:
        if not mix.rents_more:
            owned = [part for part in mix.parts if part.key in feasible]
            for part in owned:
                busy = part.variable_share * work.busy[part.key]
                feasible[mix.key] = busy <= part.fixed_share + ROUNDING
    return feasible


def derived_columns(ledger: Ledger, work: DrawnWork) -> "dict[str, Column]":
    """Return the columns derived from the inputs of a draw, by name as in `drawn_flow`.

    `NAME/KEY` for each name in `BY_OPTION`: factor of the option. `commitment/KEY/MONTH`: nodes committed from that
    month on, over those of the first month at base values. `lot/KEY/MONTH`: capacity bought for growth in that month,
    over the first purchase. `share/MIX/KEY/MONTH`: share of the work that a mix does on that candidate from that month
    on.
    """
    columns = dict(work.by_option)
    for candidate in ledger.candidates:
        columns |= _lots(ledger, candidate, work) if candidate.owned else _commitments(ledger, candidate, work)
    for mix in ledger.mixes:
        columns |= dict(_shares(ledger, mix, work))
    return columns


def _lots(ledger: Ledger, candidate: Candidate, work: DrawnWork) -> "dict[str, Column]":
    busy = work.busy[candidate.key] * (1.0 if candidate.expands else 0.0)
    sizes = lot_sizes(
        ledger.economics.growth,
        horizon_months=ledger.economics.horizon_months,
        busy_fraction=busy,
        nodes=max(1, candidate.nodes),
    )
    return {f"lot/{candidate.key}/{month:.0f}": size + 0.0 * busy for month, size in sizes.items()}


def _commitments(ledger: Ledger, candidate: Candidate, work: DrawnWork) -> "dict[str, Column]":
    months = committed_months(candidate, ledger.economics)
    if months is None:
        return {}
    nodes = committed_nodes(
        ledger.economics.growth,
        horizon_months=ledger.economics.horizon_months,
        busy_fraction=work.busy[candidate.key],
        period_months=months,
    )
    zeros, first = 0.0 * work.busy[candidate.key], max(1.0, ledger.busy_fractions[candidate.key])
    return {f"commitment/{candidate.key}/{start:.0f}": number / first + zeros for start, number in nodes.items()}


def _shares(ledger: Ledger, mix: Mix, work: DrawnWork) -> "Iterator[tuple[str, Column]]":
    owned = next((part.key for part in mix.parts if part.key != mix.rented_key), None)
    for part in mix.parts:
        zeros = 0.0 * work.over_base[part.key]
        share = part.variable_share + zeros
        if mix.rents_more and owned is not None and part.from_month >= mix.delivery_months:
            month_work = ledger.economics.growth.work(part.from_month) * work.over_base[owned]
            owned_part = owned_share(mix.most_work, month_work) + zeros
            share = 1.0 - owned_part if part.key == mix.rented_key else owned_part
        yield f"share/{mix.key}/{part.key}/{part.from_month:.0f}", share
