"""The hardware that a target leaves to choose: what was best of each, and why the others were not chosen."""

from collections.abc import Mapping, Sequence

from clusterwright.blueprint.rules.hardware import Unusable, is_choice
from clusterwright.blueprint.schema import Blueprint
from clusterwright.plan.candidates.consider import Considered, SizedAlternative
from clusterwright.plan.engine import Engine
from clusterwright.plan.record import Hardware
from clusterwright.tco.terms.records import CandidateCost


def hardware_field(blueprint: Blueprint, target: str) -> str:
    """Return the key of a target's section that names its hardware."""
    one, several = ("system", "allowed_systems") if target == "onprem" else ("instance", "allowed_instances")
    return several if is_choice(getattr(blueprint.targets, target)) else one


def chosen_by_usd(cost: CandidateCost) -> float | None:
    """Return the cost that a size is chosen by: of one run in cash; else, owned or committed, of the horizon's work."""
    return cost.npv_usd if cost.shared else cost.run_usd


def best_of_each(
    chosen: SizedAlternative, several: Sequence[Considered], costs: Mapping[str, CandidateCost]
) -> list[SizedAlternative]:
    """Return the best size of each hardware that was considered, the chosen one first, then the least cost.

    Args:
        chosen: the size that was chosen.
        several: what was considered, one for each hardware.
        costs: of the sizes that were billed, by key.
    """

    def order(entry: SizedAlternative) -> tuple[bool, bool, float, str]:
        return entry is not chosen, not entry.meets_goal, _usd(entry, costs), entry.point.node.id

    return sorted((chosen if chosen in entry.sized else _cheapest(entry.sized, costs) for entry in several), key=order)


def hardware(
    blueprint: Blueprint,
    chosen: SizedAlternative,
    several: Sequence[Considered],
    costs: Mapping[str, CandidateCost],
    refused: Sequence[Unusable],
) -> tuple[Hardware, ...]:
    """Return everything that a target left to choose from, the chosen one first; nothing where it named one.

    Args:
        blueprint: for what was asked of the target.
        chosen: the size that was chosen.
        several: what was considered, one for each hardware.
        costs: of the sizes that were billed, by key.
        refused: hardware that could not be used, of this target and of others.
    """
    target = chosen.resolved.target
    if not is_choice(getattr(blueprint.targets, target)):
        return ()
    unusable = sorted((entry for entry in refused if entry.target == target), key=lambda entry: entry.name)
    return (
        *(_record(entry, chosen, costs) for entry in best_of_each(chosen, several, costs)),
        *(_refused(entry) for entry in unusable),
    )


def _cheapest(sized: Sequence[SizedAlternative], costs: Mapping[str, CandidateCost]) -> SizedAlternative:
    return min(sized, key=lambda entry: (_usd(entry.compared, costs), entry.point.nodes))


def _usd(entry: SizedAlternative, costs: Mapping[str, CandidateCost]) -> float:
    usd = chosen_by_usd(costs[entry.key])
    return float("inf") if usd is None else usd


def rented_shares(blueprint: Blueprint, sized: SizedAlternative, engine: Engine) -> tuple[float | None, float | None]:
    """Return the useful share of a size's time on nodes that are kept and on spot nodes; None twice if owned."""
    if sized.resolved.system is not None:
        return None, None
    return engine.useful_shares_by_capacity(blueprint, sized.point)


def _record(entry: SizedAlternative, chosen: SizedAlternative, costs: Mapping[str, CandidateCost]) -> Hardware:
    point = entry.point
    return Hardware(
        name=point.node.id,
        accelerator=point.node.accelerator.id,
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        calendar_days_high=point.calendar_days_high,
        meets_goal=entry.meets_goal,
        usd=chosen_by_usd(costs[entry.key]),
        reason="" if entry is chosen else _why_not(entry, chosen, costs),
    )


def _why_not(entry: SizedAlternative, chosen: SizedAlternative, costs: Mapping[str, CandidateCost]) -> str:
    if not entry.meets_goal:
        return "misses the goal by more" if not chosen.meets_goal else "misses the goal"
    if entry.design is not None and entry.design.findings:
        return "; ".join(finding.message for finding in entry.design.findings)
    missing = costs[entry.key].missing
    if missing:
        return f"no price of {', '.join(dict.fromkeys(price.item for price in missing))}"
    dearer = _usd(entry.compared, costs) > _usd(chosen.compared, costs)
    return "costs more" if dearer else "costs as much with more nodes"


def _refused(entry: Unusable) -> Hardware:
    return Hardware(
        name=entry.name,
        accelerator="",
        nodes=None,
        gpus=None,
        calendar_days=None,
        calendar_days_high=None,
        meets_goal=None,
        usd=None,
        reason=entry.reason,
    )
