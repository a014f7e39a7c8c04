"""Explanations of choices: the hardware that a target left open, and what the blueprint holds of size and layout."""

from clusterwright.explain.records import Explanation, Input
from clusterwright.plan.record import Hardware, Option
from clusterwright.plan.text.money import money


def held(option: Option, part: str) -> tuple[Input, ...]:
    """Return what the blueprint holds of a target, where its path has this part: `nodes` or `parallelism`."""
    return tuple(
        Input(name=entry.path.rpartition(".")[2], value=entry.value, source=f"blueprint, {entry.path}")
        for entry in option.constraints
        if part in entry.path
    )


def explain_hardware(option: Option) -> tuple[Explanation, ...]:
    """Return how the hardware was chosen; nothing where the blueprint names it."""
    if not option.considered:
        return ()
    of = "the work of the horizon" if option.facility is not None else "one run"
    chosen = option.considered[0]
    return (
        Explanation(
            number="hardware",
            title="instance type or system that was chosen",
            value=chosen.name,
            equation=(
                f"of the hardware that meets the goal, the best size of each compared, the cheapest for {of}",
                f"{chosen.name}: {money(chosen.usd)}",
            ),
            inputs=tuple(
                Input(name=entry.name, value=_value(entry), source=entry.reason or "chosen")
                for entry in option.considered
            ),
            sources=("clusterwright/plan/decide.py; clusterwright/plan/candidates/hardware.py",),
        ),
    )


def _value(entry: Hardware) -> str:
    if entry.nodes is None or entry.calendar_days_high is None:
        return "not sized"
    return f"{entry.nodes:,} nodes, {entry.calendar_days_high:.1f} days at most, {money(entry.usd)}"
