"""A cloud's other capacities and commitments beside what the blueprint asks for, each considered under its limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.rules.cloud_places import RESERVATION_IDS
from clusterwright.blueprint.rules.hardware import CLOUDS, ResolvedTarget, is_choice
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import OFFERED_BY, RESERVED, CloudTarget
from clusterwright.errors import ClusterwrightError, RuleError
from clusterwright.plan.candidates.consider import TERM_OF_CAPACITY, Considered, SizedAlternative, consider
from clusterwright.plan.engine import Engine
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import WorkloadSummary
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.units import days_text

#: Kinds of capacity with a price of their own that are planned where a blueprint leaves the capacity open.
_KINDS = ("on-demand", "capacity-block", "flex-start")


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherCapacity:
    """One cloud under another capacity or commitment than the blueprint's.

    Attributes:
        key: of its way in the ranking: target and term.
        blueprint: with that capacity.
        several: what was considered, one for each hardware; empty where nothing can be had.
        set_values: overrides of the blueprint that ask for it.
        held: why it cannot be ranked, empty where it can.
    """

    key: str
    blueprint: Blueprint
    several: tuple[Considered, ...]
    set_values: tuple[str, ...]
    held: str


def other_capacities(
    blueprint: Blueprint, facts: Facts, engine: Engine, considered: dict[str, Sequence[Considered]]
) -> list[OtherCapacity]:
    """Return the clouds under each capacity and commitment that the blueprint does not ask for.

    A blueprint that writes `capacity` down holds it: the others are considered and cannot be ranked.

    Args:
        blueprint: with the clouds' sections.
        facts: catalogue, prices and calibrated constants.
        engine: of the workload.
        considered: of each target as the blueprint asks for it.
    """
    found: list[OtherCapacity] = []
    for name in CLOUDS:
        if name not in considered:
            continue
        asked: CloudTarget = getattr(blueprint.targets, name)
        held = f"targets.{name}.capacity holds {asked.capacity}" if "capacity" in asked.model_fields_set else ""
        base_term = TERM_OF_CAPACITY[asked.capacity]
        listed = OtherCapacity(key=name, blueprint=blueprint, several=tuple(considered[name]), set_values=(), held="")
        for kind in _KINDS:
            if OFFERED_BY.get(kind, name) != name or TERM_OF_CAPACITY[kind] == base_term:
                continue
            other = _under(blueprint, facts, engine, name=name, kind=kind, held=held)
            found.append(other)
            if kind == "on-demand":
                listed = other
        found += [
            replace(
                listed,
                key=f"{name}/{term}",
                several=tuple(_committed(entry, term) for entry in listed.several),
                held=held if base_term != "on_demand" else "",
            )
            for term in COMMITTED_TERMS
        ]
    return found


def _under(blueprint: Blueprint, facts: Facts, engine: Engine, *, name: str, kind: str, held: str) -> OtherCapacity:
    """Return what a cloud has under a kind of capacity, or why it has nothing."""
    asked: CloudTarget = getattr(blueprint.targets, name)
    reservation = RESERVATION_IDS[name][1] if kind in RESERVED else None
    section = asked.model_copy(update={"capacity": kind, "reservation": reservation})
    changed = blueprint.model_copy(update={"targets": blueprint.targets.model_copy(update={name: section})})
    set_values = [f"targets.{name}.capacity={kind}"]
    if (asked.reservation, reservation) != (None, None):
        set_values.append(f"targets.{name}.reservation={reservation or 'null'}")
    several: list[Considered] = []
    resolved = resolve(changed, facts.catalogue)
    reasons: list[str] = []
    if isinstance(resolved, tuple):
        reasons = [problem.message for problem in resolved]
    else:
        for target in resolved.targets:
            if target.target != name:
                continue
            try:
                several.append(consider(changed, facts, engine, target))
            except RuleError as error:
                reasons += [finding.message for finding in error.findings]
            except ClusterwrightError as error:
                reasons.append(error.message)
    if not several:
        held = next(iter(reasons), f"{name} has no {kind}")
    return OtherCapacity(
        key=f"{name}/{TERM_OF_CAPACITY[kind]}",
        blueprint=changed,
        several=tuple(several),
        set_values=tuple(set_values),
        held=held,
    )


def _committed(considered: Considered, term: str) -> Considered:
    """Return the same sizes, paid under a commitment."""
    return replace(considered, sized=tuple(entry.under(term) for entry in considered.sized))


def pinned(other: OtherCapacity, sized: SizedAlternative) -> tuple[str, ...]:
    """Return the overrides that make a size the plan's option: of its capacity, and for a commitment its nodes.

    A plan sizes what is rented for one run; what is committed is sized for the horizon, which takes its number of
    nodes to be named.
    """
    name = sized.resolved.target
    if sized.term not in COMMITTED_TERMS:
        return other.set_values
    section = f"targets.{name}"
    hardware: tuple[str, ...] = ()
    if is_choice(getattr(other.blueprint.targets, name)):
        hardware = (f"{section}.allowed_instances=[{sized.point.node.id}]",)
    nodes = sized.point.nodes
    return (*other.set_values, *hardware, f"{section}.min_nodes={nodes}", f"{section}.max_nodes={nodes}")


def too_short(target: ResolvedTarget, days_high: float, workload: WorkloadSummary) -> str:
    """Return why capacity does not last for a unit of work, with the goal's confidence; empty where it does."""
    capacity, unit = target.capacity, workload.unit
    if capacity is None or capacity.most_days is None:
        return ""
    if workload.always_on:
        # The next one would have to begin when one ends, for which there is no assurance.
        return f"the service is always on, one {capacity.name} lasts at most {capacity.most_days} days"
    if capacity.lasts(days_high) is not None:
        return ""
    return f"the {unit.name} takes up to {days_text(days_high)}, one {capacity.name} lasts at most {capacity.most_days}"
