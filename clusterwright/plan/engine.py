"""What the house asks of a kind of workload. Everything else about a plan is the same for all kinds.

An engine is made for one blueprint (`plan.engines`). It sizes the work on a kind of node, and says which sizes meet the
goals; billing, design, cost and choice are not its matter.
"""

from collections.abc import Sequence
from typing import Protocol

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.errors import Finding
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.record import Constraint, FrontPoint, Option, Plan, WorkloadSummary
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.tco.terms.records import Parameter


class Engine(Protocol):
    """One workload, sized by the engine of its kind. A blueprint is an argument where its targets may be others."""

    def units_of_horizon(self, blueprint: Blueprint) -> float | None:
        """Return the units of work of the horizon that the kind fixes; None where `economics` says how many."""
        ...

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> Sequence[SizedPoint]:
        """Return the sizes of a target's hardware that no size beats, fewest nodes first.

        Raises:
            RuleError: no size within the bounds does the work.
        """
        ...

    def meets_goals(self, blueprint: Blueprint, point: SizedPoint) -> bool:
        """Tell whether a size meets what the blueprint asks of the work."""
        ...

    def shortfall(self, point: SizedPoint) -> float:
        """Return how sizes that miss the goals are ordered: the least is nearest to them."""
        ...

    def goal_findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> Sequence[Finding]:
        """Return what an option that misses the goals misses, and what would meet them."""
        ...

    def findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> Sequence[Finding]:
        """Return the failed rules of the kind for an option."""
        ...

    def warnings(self, blueprint: Blueprint, options: Sequence[Option]) -> Sequence[Finding]:
        """Return warnings of the kind, such as keys of its sections that have no effect."""
        ...

    def useful_share(self, point: SizedPoint) -> float:
        """Return the productive share of a size's time."""
        ...

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:
        """Return that share of a rented size on nodes that are kept, and on ones that the cloud takes back."""
        ...

    def assumptions(self, blueprint: Blueprint, options: Sequence[Option]) -> Sequence[Parameter]:
        """Return the values that the kind assumes, as entries of the plan's assumptions."""
        ...

    def constraints(self, blueprint: Blueprint) -> Sequence[Constraint]:
        """Return what the blueprint's workload holds fixed of how the work is done."""
        ...

    def workload(self, blueprint: Blueprint) -> WorkloadSummary:
        """Return the workload as it was sized."""
        ...

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Option) -> Option:
        """Return the record of a chosen size: what options of all kinds have in common, with what the kind adds."""
        ...

    def front_point(self, point: SizedPoint, common: FrontPoint) -> FrontPoint:
        """Return the record of a size that was considered, with what the kind adds."""
        ...

    def plan(self, common: Plan) -> Plan:
        """Return a plan as that of the kind, with what the kind adds."""
        ...
