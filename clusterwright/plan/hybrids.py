"""Owning a part of the nodes and renting for the rest of the work: a plan's mixes."""

import math
from collections.abc import Sequence
from difflib import get_close_matches

from clusterwright.blueprint.contracts import Hybrid
from clusterwright.errors import InputError
from clusterwright.plan.contracted import Offer
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.contracts import Mix, Part
from clusterwright.tco.records import CandidateCost

_CHEAPEST = "cheapest"


def mixes(asked: Sequence[Hybrid], found: Sequence[Offer], costs: Sequence[CandidateCost]) -> tuple[Mix, ...]:
    """Return the mixes that a blueprint asks for.

    Of the owned cluster's nodes a share is bought, in whole nodes. They do `share x their utilisation / utilisation of
    the whole cluster` of the work, all of it at most; the rest is rented by the hour. What stands between runs is
    rented for the share of the nodes that is not owned.

    Args:
        asked: `tco.hybrid` of the blueprint.
        found: what can be mixed.
        costs: of these, cheapest first.

    Raises:
        InputError: nothing is owned, or the rest cannot be rented as asked; with its place in the blueprint.
    """
    return tuple(_mix(hybrid, place, found, costs) for place, hybrid in enumerate(asked))


def _mix(hybrid: Hybrid, place: int, found: Sequence[Offer], costs: Sequence[CandidateCost]) -> Mix:
    path: tuple[str | int, ...] = ("tco", "hybrid", place)
    owned = next((cost for cost in costs if cost.owned), None)
    if owned is None:
        raise InputError(
            "nothing can be owned: the plan has no hardware to buy with all its prices",
            help="add targets.onprem, or remove tco.hybrid",
            path=path,
        )
    burst = _burst(hybrid, path, found, costs)
    nodes = math.ceil(hybrid.owned * owned.nodes - 1e-9)
    share = nodes / owned.nodes
    busy = owned.busy_fraction if hybrid.utilisation is None else hybrid.utilisation
    work = min(1.0, share * busy / owned.busy_fraction)
    return Mix(
        key=f"hybrid-{nodes}-at-{round(100 * busy)}/{burst.key}",
        target="hybrid",
        nodes=nodes,
        gpus=owned.gpus * nodes // owned.nodes,
        parts=(
            Part(key=owned.key, fixed_share=share, variable_share=work),
            Part(key=burst.key, fixed_share=1.0 - share, variable_share=1.0 - work),
        ),
    )


def _burst(
    hybrid: Hybrid, path: tuple[str | int, ...], found: Sequence[Offer], costs: Sequence[CandidateCost]
) -> CandidateCost:
    """Return the rented option that takes the rest: the one that is named, or the cheapest that binds to nothing."""
    contracts = {offer.candidate.key for offer in found if offer.candidate.contract is not None}
    rented = [cost for cost in costs if not cost.owned]
    open_ones = [cost for cost in rented if cost.term not in COMMITTED_TERMS and cost.key not in contracts]
    if hybrid.burst == _CHEAPEST:
        whole = [cost for cost in open_ones if cost.competes]
        if not whole:
            raise InputError("nothing can be rented for the rest of the work", help="add a cloud target", path=path)
        return whole[0]
    named = next((cost for cost in rented if cost.key == hybrid.burst), None)
    if named is None:
        close = get_close_matches(hybrid.burst, [cost.key for cost in open_ones], n=1)
        options = ", ".join(cost.key for cost in open_ones)
        raise InputError(
            f"no rented option with a known price is called {hybrid.burst!r}",
            help=f"did you mean {close[0]!r}?" if close else f"one of {options}, or cheapest",
            path=(*path, "burst"),
        )
    if named not in open_ones:
        raise InputError(
            f"{hybrid.burst} is paid whether it is used or not, so that it cannot take what is left over",
            help=f"name one of {', '.join(cost.key for cost in open_ones)}, or cheapest",
            path=(*path, "burst"),
        )
    return named
