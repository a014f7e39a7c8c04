"""The plan of a blueprint with several workloads: each planned alone, then all on one cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.blueprint.shared import Member, SharedBlueprint, in_file, load_shared, with_values
from clusterwright.errors import EXIT_RULE_FAILED, InputError
from clusterwright.interface.planning import decided, open_facts
from clusterwright.interface.results import PlanResult
from clusterwright.plan.decide import Progress
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.sharing.decide import shared_plan
from clusterwright.sharing.record import SharedPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedResult:
    """A plan of several workloads, with that of each alone.

    Attributes:
        blueprint: of all; plan: of the shared cluster.
        alone: of every workload by its name, on a cluster of its own.
        facts: prices and catalogue behind them.
    """

    blueprint: SharedBlueprint
    plan: SharedPlan
    alone: Mapping[str, PlanResult]
    facts: Facts

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Failed rules, of the sharing and of every workload alone."""
        own = tuple(
            Problem(path=item.path, message=item.message, help=item.help, id=item.id) for item in self.plan.findings
        )
        of_members = tuple(
            in_file(
                Problem(path=item.path, message=f"{member.name}: {item.message}", help=item.help, id=item.id), member
            )
            for member in self.blueprint.members
            for item in self.alone[member.name].findings
        )
        return (*own, *of_members)

    @property
    def error(self) -> BlueprintError | None:
        """What is to be shown of failed rules, at their places; None where none failed."""
        problems = self.problems
        return self.blueprint.error(problems, exit_code=EXIT_RULE_FAILED) if problems else None


def plan_shared(
    path: Path | str,
    *,
    overrides: tuple[str, ...] = (),
    facts: Facts | None = None,
    progress: Progress = lambda _: None,
) -> SharedResult:
    """Return the plan of a blueprint with several workloads.

    Args:
        path: the YAML file.
        overrides: `path=value`; `workloads.NAME.path=value` for one of the workloads.
        facts: from `open_facts`; opened for this plan if None.
        progress: called with a few words before each longer piece of work.

    Raises:
        InputError, BlueprintError: the blueprint is wrong, or one of its workloads fits nowhere.
        MissingFactError: a fact or a price is missing without which there is no answer.
    """
    shared = load_shared(Path(path), overrides)
    known = facts or open_facts()
    alone: dict[str, PlanResult] = {}
    problems: list[Problem] = []
    code = None
    for member in shared.members:
        progress(f"planning {member.name}")
        try:
            alone[member.name] = _decided(member.loaded, known)
        except BlueprintError as error:
            problems += [in_file(problem, member) for problem in error.problems]
            code = error.exit_code if code is None else min(code, error.exit_code)
    if problems:
        raise shared.error(tuple(dict.fromkeys(problems)), exit_code=code)

    def replan(member: Member, values: Mapping[tuple[str, ...], Any]) -> Plan | None:
        progress(f"planning {member.name} on shared nodes")
        try:
            return _decided(with_values(member, values), known).plan
        except (BlueprintError, InputError):
            return None

    plans = {name: result.plan for name, result in alone.items()}
    return SharedResult(blueprint=shared, plan=shared_plan(shared, plans, replan), alone=alone, facts=known)


def _decided(loaded: LoadedBlueprint, facts: Facts) -> PlanResult:
    return decided(loaded, loaded, facts)
