"""What changed from one plan to another, and which change of the blueprint causes how much."""

from dataclasses import asdict, dataclass
from typing import Any

from clusterwright.diff.causes import Causes, causes
from clusterwright.diff.differences import Differences, differences
from clusterwright.interface.planning import decide_values
from clusterwright.interface.results import PlanResult
from clusterwright.plan.record import Plan

_READ_BACK = "causes are told apart between two blueprints, not where a plan.json is compared"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanDifference:
    """What changed between two plans.

    Attributes:
        changes: of inputs, work, assumptions, targets and breakevens; empty groups where nothing changed.
        causes: what each change of the blueprint does alone, and what they do together.
    """

    changes: Differences
    causes: Causes

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        return self.changes.same

    def to_dict(self) -> dict[str, Any]:
        """Return what `clusterwright diff --json` prints, in USD."""
        return {"schema": 1, "same": self.same, **asdict(self.changes), "causes": asdict(self.causes)}


def diff(
    before: PlanResult | Plan, after: PlanResult | Plan, *, names: tuple[str, str] = ("before", "after")
) -> PlanDifference:
    """Return what changed from one plan to another, and why.

    Args:
        before: the result of `plan`, or a plan that was read; causes are known between two results alone.
        after: the same.
        names: of the two, for people.
    """
    first, second = _plan(before), _plan(after)
    changes = differences(first, second, names)
    if changes.same:
        return PlanDifference(changes=changes, causes=Causes())
    if not isinstance(before, PlanResult) or not isinstance(after, PlanResult):
        return PlanDifference(changes=changes, causes=Causes(reason=_READ_BACK))
    found = causes(
        (before.blueprint.document.value, first),
        (after.blueprint.document.value, second),
        lambda values: decide_values(after.blueprint, values, after.facts).plan,
    )
    return PlanDifference(changes=changes, causes=found)


def _plan(given: PlanResult | Plan) -> Plan:
    return given.plan if isinstance(given, PlanResult) else given
