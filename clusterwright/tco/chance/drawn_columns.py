"""What follows from the inputs of a draw: hours worked by option, and quantities that follow the work by steps."""

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

#: Slack for shares that are 1 but for rounding.
ROUNDING = 1e-9
#: How long a run takes.
RUN_TIME = "run_time"
#: Inputs whose column in a draw is of all options or, with a key behind the stroke, of one.
BY_OPTION = (RUN_TIME, "cloud_price", "resale_fraction")


class Works:
    """The work of each draw on every candidate.

    Attributes:
        by_option: factors of the inputs that options have of their own, by name of the column.
        run_times: time of a run over that of the base, by key.
        over_base: hours worked over those of the base, by key.
        busy: share of the hours that the work of the first year takes, by key; above 1 is too much for an owner.
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


def owners_fit(ledger: Ledger, works: Works) -> "dict[str, NDArray[np.bool_]]":
    """Return in which draws each owned option has hours enough for the work, by key.

    A mix that rents what is too much for its own nodes always has.
    """
    fits = {entry.key: works.busy[entry.key] <= 1.0 + ROUNDING for entry in ledger.candidates if entry.owned}
    for mix in ledger.mixes:
        if not mix.rents_more:
            owned = [part for part in mix.parts if part.key in fits]
            for part in owned:
                busy = part.variable_share * works.busy[part.key]
                fits[mix.key] = busy <= part.fixed_share + ROUNDING
    return fits


def derived(ledger: Ledger, works: Works) -> "dict[str, Column]":
    """Return the columns of a draw that its inputs make, by name as in `drawn_flow`.

    `run_time/KEY`, and so for each of `BY_OPTION`: factor of the option. `commitment/KEY/MONTH`: nodes that are
    committed from that month on, over those of the base's first month. `lot/KEY/MONTH`: capacity that is bought in that
    month to grow, over the first purchase. `share/MIX/KEY/MONTH`: share of the work from that month on that a mix does
    on that candidate.
    """
    found = dict(works.by_option)
    for candidate in ledger.candidates:
        found |= _lots(ledger, candidate, works) if candidate.owned else _commitments(ledger, candidate, works)
    for mix in ledger.mixes:
        found |= dict(_shares(ledger, mix, works))
    return found


def _lots(ledger: Ledger, candidate: Candidate, works: Works) -> "dict[str, Column]":
    busy = works.busy[candidate.key] * (1.0 if candidate.expands else 0.0)
    sizes = lot_sizes(
        ledger.economics.pace,
        horizon_months=ledger.economics.horizon_months,
        busy_fraction=busy,
        nodes=max(1, candidate.nodes),
    )
    return {f"lot/{candidate.key}/{month:.0f}": size + 0.0 * busy for month, size in sizes.items()}


def _commitments(ledger: Ledger, candidate: Candidate, works: Works) -> "dict[str, Column]":
    months = committed_months(candidate, ledger.economics)
    if months is None:
        return {}
    nodes = committed_nodes(
        ledger.economics.pace,
        horizon_months=ledger.economics.horizon_months,
        busy_fraction=works.busy[candidate.key],
        period_months=months,
    )
    none, first = 0.0 * works.busy[candidate.key], max(1.0, ledger.busy_fractions[candidate.key])
    return {f"commitment/{candidate.key}/{start:.0f}": number / first + none for start, number in nodes.items()}


def _shares(ledger: Ledger, mix: Mix, works: Works) -> "Iterator[tuple[str, Column]]":
    owned = next((part.key for part in mix.parts if part.key != mix.rented_key), None)
    for part in mix.parts:
        none = 0.0 * works.over_base[part.key]
        share = part.variable_share + none
        if mix.rents_more and owned is not None and part.from_month >= mix.delivery_months:
            work = ledger.economics.pace.work(part.from_month) * works.over_base[owned]
            owns = owned_share(mix.most_work, work) + none
            share = 1.0 - owns if part.key == mix.rented_key else owns
        yield f"share/{mix.key}/{part.key}/{part.from_month:.0f}", share
