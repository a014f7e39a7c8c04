"""The public Python interface, which the commands use too: open `planning` for load and plan, `results` for answers.

`import clusterwright` gives the names below without loading anything before one is used. Nothing here prints or exits.
"""

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.errors import ClusterwrightError, Finding, InputError, MissingFactError, RuleError
from clusterwright.interface.differing import PlanDifference, diff
from clusterwright.interface.documented_prices import Prices, prices
from clusterwright.interface.planning import load, open_facts, plan, validate
from clusterwright.interface.results import Comparison, PlanResult
from clusterwright.interface.sweeping import SweepResult, sweep
from clusterwright.plan.facts import Facts

__all__ = [
    "BlueprintError",
    "ClusterwrightError",
    "Comparison",
    "Facts",
    "Finding",
    "InputError",
    "LoadedBlueprint",
    "MissingFactError",
    "PlanDifference",
    "PlanResult",
    "Prices",
    "Problem",
    "RuleError",
    "SweepResult",
    "diff",
    "load",
    "open_facts",
    "plan",
    "prices",
    "sweep",
    "validate",
]
