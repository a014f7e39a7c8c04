"""The hardware that a target leaves to choose: what was best of each, and why the others were not chosen."""

from collections.abc import Mapping, Sequence

from clusterwright.blueprint.rules.hardware import Unusable, is_choice
from clusterwright.blueprint.schema import Blueprint
from clusterwright.plan.candidates.consider import Choice, Considered
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


def hardware(
    blueprint: Blueprint,
    chosen: Choice,
    several: Sequence[Considered],
    costs: Mapping[str, CandidateCost],
    refused: Sequence[Unusable],
    *,
    engine: Engine,
) -> tuple[Hardware, ...]:
    """Return everything that a target left to choose from, the chosen one first; nothing where it named one.

    Args:
        blueprint: for what was asked of the target.
        chosen: the size that was chosen.
        several: what was considered, one for each hardware.
        costs: of the sizes that were billed, by key.
        refused: hardware that could not be used, of this target and of others.
        engine: of the workload.
    """
    target = chosen.resolved.target
    if not is_choice(getattr(blueprint.targets, target)):
        return ()
    best = [chosen if chosen in entry.choices else _cheapest(entry.choices, costs) for entry in several]
    known = sorted((_record(blueprint, engine, entry, chosen, costs) for entry in best), key=_order)
    return (*known, *sorted((_refused(entry) for entry in refused if entry.target == target), key=_order))


def _cheapest(choices: Sequence[Choice], costs: Mapping[str, CandidateCost]) -> Choice:
    return min(choices, key=lambda choice: (_paid(choice, costs), choice.point.nodes))


def _paid(choice: Choice, costs: Mapping[str, CandidateCost]) -> float:
    usd = chosen_by_usd(costs[choice.compared.key])
    return float("inf") if usd is None else usd


def rented_shares(blueprint: Blueprint, choice: Choice, engine: Engine) -> tuple[float | None, float | None]:
    """Return the useful share of a choice's time on nodes that are kept and on spot nodes; None twice if owned."""
    if choice.resolved.system is not None:
        return None, None
    return engine.useful_shares_by_capacity(blueprint, choice.point)


def _record(
    blueprint: Blueprint, engine: Engine, choice: Choice, chosen: Choice, costs: Mapping[str, CandidateCost]
) -> Hardware:
    point = choice.point
    other = choice is not chosen
    kept, spot = rented_shares(blueprint, choice, engine) if other else (None, None)
    return Hardware(
        name=point.node.id,
        accelerator=point.node.accelerator.id,
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        calendar_days_high=point.calendar_days_high,
        meets_goal=choice.meets_goal,
        usd=chosen_by_usd(costs[choice.key]),
        reason=_why_not(choice, chosen, costs) if other else "",
        bill=choice.bill if other else None,
        gpus_per_node=point.node.gpus if other else None,
        goodput=engine.useful_share(point) if other else None,
        kept_goodput=kept,
        spot_goodput=spot,
        booked=choice.booked if other else None,
    )


def _why_not(choice: Choice, chosen: Choice, costs: Mapping[str, CandidateCost]) -> str:
    if not choice.meets_goal:
        return "misses the goal by more" if not chosen.meets_goal else "misses the goal"
    if choice.design is not None and choice.design.findings:
        return "; ".join(finding.message for finding in choice.design.findings)
    missing = costs[choice.key].missing
    if missing:
        return f"no price of {', '.join(dict.fromkeys(price.item for price in missing))}"
    return "costs more" if _paid(choice, costs) > _paid(chosen, costs) else "costs as much with more nodes"


def _order(entry: Hardware) -> tuple[bool, bool, float, str]:
    return entry.reason != "", not entry.meets_goal, float("inf") if entry.usd is None else entry.usd, entry.name


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
