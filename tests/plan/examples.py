"""Blueprints and plans that the tests of plan, command line and documents share."""

from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.record import TrainingPlan

SHIPPED = assets.root() / "blueprints" / "train-gpt3-175b.yaml"

#: Without a limit of nodes.
SMALL = (Path(__file__).parents[1] / "small.yaml").read_text(encoding="utf-8").replace("    max_nodes: 8\n", "")


def plan_of(path: Path, *overrides: str) -> TrainingPlan:
    """Return the plan of a blueprint file."""
    blueprint = load(path, overrides).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, Facts.open())


@cache
def shipped(*overrides: str) -> TrainingPlan:
    """Return the plan of the shipped blueprint."""
    return plan_of(SHIPPED, *overrides)
