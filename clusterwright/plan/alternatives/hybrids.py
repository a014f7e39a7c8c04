"""Owning a part of the nodes and renting for the rest of the work, from the start or until delivery: a plan's mixes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from clusterwright.blueprint.sections.contracts import Hybrid
from clusterwright.blueprint.sections.finances import Financing as FinancingSection
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.errors import InputError
from clusterwright.plan.alternatives.contracted import cost_candidate, paid_as
from clusterwright.plan.alternatives.offers import HARDWARE
from clusterwright.plan.record import Alternative, Plan
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.formulas.payments import Financing
from clusterwright.tco.renting.mixes import Mix, owned_and_rented
from clusterwright.tco.terms.records import CandidateCost, Economics

#: Target of a mix that the blueprint asks for.
HYBRID = "hybrid"
_CHEAPEST = "cheapest"
_MONTH_S = 730 * 3600.0
#: Ends the key of an option that is rented until delivery.
BRIDGED = "/bridged"
#: Ends the key of a cluster that keeps its size, which is a part of mixes alone.
BASE = "/base"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mixed:
    """The mixes of a plan.

    Attributes:
        mixes: each an option.
        bases: clusters that keep their size, which these need beside the plan's options.
    """

    mixes: tuple[Mix, ...] = ()
    bases: tuple[Alternative, ...] = ()


def mixed(
    section: TcoSection, economics: Economics, found: Sequence[Alternative], costs: Sequence[CandidateCost]
) -> Mixed:
    """Return the mixes that a blueprint asks for, and what is owned with late delivery and by each way to pay.

    Of the owned cluster's nodes a share is bought, in whole nodes. They do `share x their utilisation / utilisation of
    the whole cluster` of the first year's work, all of it at most, and no more when the work grows (unless `expand`
    buys more of them); the rest is rented by the hour. What is between runs is rented for the share of the nodes
    that is not owned. Until delivery everything is rented.

    Args:
        section: `tco` of the blueprint.
        economics: of the cash flow.
        found: what can be mixed.
        costs: of these, cheapest first.

    Raises:
        InputError: nothing is owned, the rest cannot be rented as asked, or delivery takes the whole horizon; with its
            place in the blueprint.
    """
    owned = [cost for cost in costs if cost.owned]
    months = float(math.ceil(section.delivery / _MONTH_S - 1e-9))
    open_ones = _open(found, costs)
    bridge = next((cost for cost in open_ones if cost.competes), None)
    late = months if owned and bridge is not None else 0.0
    if late >= economics.horizon_months:
        raise InputError(
            f"delivery after {months:g} months is no sooner than the end of the horizon, "
            f"{economics.horizon_months:g} months",
            help="lengthen economics.horizon, or shorten tco.delivery",
            path=("tco", "delivery"),
        )
    maker = _Maker(section=section, economics=economics, costs=costs, open_ones=open_ones, delivery_months=late)
    hybrids: dict[str, Mix] = {}
    for place, hybrid in enumerate(section.hybrid):
        mix = maker.hybrid(hybrid, ("tco", "hybrid", place))
        if mix.key in hybrids:
            raise InputError(
                f"mix {place + 1} buys as many nodes, for as much work, as one before it",
                help="remove one of the two, or change the share that is owned",
                path=("tco", "hybrid", place),
            )
        hybrids[mix.key] = mix
    whole = {cost.key: maker.whole(cost, bridge) for cost in owned}
    bridged = [replace(mix, key=key + BRIDGED) for key, mix in whole.items() if late]
    borrowed = [
        replace(mix, key=f"{key}/{name}", financing=financing)
        for key, mix in whole.items()
        if HARDWARE not in key
        for name, financing in financings(section.financing).items()
    ]
    used = {part.key for mix in hybrids.values() for part in mix.parts}
    bases = [
        paid_as(way, replace(cost_candidate(way), key=way.key + BASE, expands=False, listed=False))
        for way in found
        if way.key + BASE in used
    ]
    return Mixed(mixes=(*hybrids.values(), *bridged, *borrowed), bases=tuple(bases))


def has_contracts_or_mixes(plan: Plan) -> bool:
    """Tell whether the blueprint asks for ways that no other table than the ranking shows."""
    return any(
        way.target == HYBRID or (way.candidate is not None and way.candidate.contract is not None)
        for way in plan.alternatives
    )


def _open(found: Sequence[Alternative], costs: Sequence[CandidateCost]) -> list[CandidateCost]:
    """Return the rented options that bind to nothing, so that they can take what is left over."""
    contracts = {way.key: cost_candidate(way).contract for way in found}

    def binds(cost: CandidateCost) -> bool:
        contract = contracts.get(cost.key)
        return cost.term in COMMITTED_TERMS or (
            contract is not None and (contract.period_months is not None or contract.committed_usd_per_year > 0)
        )

    return [cost for cost in costs if not cost.owned and not binds(cost)]


def financings(asked: Sequence[FinancingSection]) -> dict[str, Financing]:
    """Return the ways to pay later for what is bought, by the end of the key of their options."""
    found: dict[str, Financing] = {}
    for way in asked:
        if way.kind == "buy":
            continue
        number = 1 + sum(entry.kind == way.kind for entry in found.values())
        found[way.kind if number == 1 else f"{way.kind}_{number}"] = Financing(
            kind=way.kind,
            rate_per_year=way.rate or 0.0,
            share=1.0 if way.share is None else way.share,
            months=None if way.term is None else max(1, round(way.term / _MONTH_S)),
            residual=way.residual or 0.0,
        )
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Maker:
    """What all mixes of a plan have in common."""

    section: TcoSection
    economics: Economics
    costs: Sequence[CandidateCost]
    open_ones: Sequence[CandidateCost]
    delivery_months: float

    def hybrid(self, asked: Hybrid, path: tuple[str | int, ...]) -> Mix:
        """Return one mix of `tco.hybrid`, at `path` in the blueprint."""
        owned = next((cost for cost in self.costs if cost.owned), None)
        if owned is None:
            raise InputError(
                "nothing can be owned: the plan has no hardware to buy with all its prices",
                help="add targets.onprem, or remove tco.hybrid",
                path=path,
            )
        burst = self._burst(asked, path)
        nodes = math.ceil(asked.owned * owned.nodes - 1e-9)
        share = nodes / owned.nodes
        busy = owned.busy_fraction if asked.utilisation is None else asked.utilisation
        grows = self.economics.growth.growth_per_year > 0
        expands = grows and asked.expand
        return self._mix(
            f"hybrid-{nodes}-at-{round(100 * busy)}{'-growing' if expands else ''}/{burst.key}",
            owned,
            burst,
            owned_key=owned.key + BASE if grows and not expands else owned.key,
            target=HYBRID,
            nodes=nodes,
            most_work=min(1.0, share * busy / owned.busy_fraction),
            expands=expands,
            utilisation=asked.utilisation,
        )

    def whole(self, owned: CandidateCost, bridge: CandidateCost | None) -> Mix:
        """Return an owned option as it is: rented until delivery, where that takes time."""
        return self._mix(
            owned.key,
            owned,
            bridge or owned,
            owned_key=owned.key,
            target=owned.target,
            nodes=owned.nodes,
            most_work=1.0,
            expands=True,
        )

    def _mix(
        self,
        key: str,
        owned: CandidateCost,
        rented: CandidateCost,
        *,
        owned_key: str,
        target: str,
        nodes: int,
        most_work: float,
        expands: bool,
        utilisation: float | None = None,
    ) -> Mix:
        return Mix(
            key=key,
            target=target,
            nodes=nodes,
            gpus=owned.gpus * nodes // owned.nodes,
            parts=owned_and_rented(
                owned_key,
                rented.key,
                nodes_share=nodes / owned.nodes,
                most_work=most_work,
                expands=expands,
                growth=self.economics.growth,
                horizon_months=self.economics.horizon_months,
                delivery_months=self.delivery_months,
            ),
            delivery_months=self.delivery_months,
            deposit=self.section.deposit if self.delivery_months else 1.0,
            rented_key=rented.key,
            most_work=None if expands else most_work,
            utilisation=utilisation,
        )

    def _burst(self, asked: Hybrid, path: tuple[str | int, ...]) -> CandidateCost:
        """Return the option that takes the rest: the one that is named, or the cheapest that binds to nothing."""
        if asked.burst == _CHEAPEST:
            whole = [cost for cost in self.open_ones if cost.competes]
            if not whole:
                raise InputError("nothing can be rented for the rest of the work", help="add a cloud target", path=path)
            return whole[0]
        options = [cost.key for cost in self.open_ones]
        named = next((cost for cost in self.costs if not cost.owned and cost.key == asked.burst), None)
        if named is None:
            close = get_close_matches(asked.burst, options, n=1)
            raise InputError(
                f"no rented option with a known price is called {asked.burst!r}",
                help=f"did you mean {close[0]!r}?" if close else f"one of {', '.join(options)}, or cheapest",
                path=(*path, "burst"),
            )
        if named not in self.open_ones:
            raise InputError(
                f"{asked.burst} is paid whether it is used or not, so that it cannot take what is left over",
                help=f"name one of {', '.join(options)}, or cheapest",
                path=(*path, "burst"),
            )
        return named
