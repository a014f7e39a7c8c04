"""The kinds of workload that can be planned, each with its engine."""

from collections.abc import Callable, Mapping

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint
from clusterwright.plan.engine import Engine
from clusterwright.plan.facts import Facts
from clusterwright.plan.finetuning.engine import finetuning_engine
from clusterwright.plan.serving.engine import serving_engine
from clusterwright.plan.training.engine import training_engine

ENGINES: Mapping[str, Callable[[Blueprint, Resolved, Facts], Engine]] = {
    "train": training_engine,
    "finetune": finetuning_engine,
    "serve": serving_engine,
}


def engine_of(blueprint: Blueprint, resolved: Resolved, facts: Facts) -> Engine:
    """Return the engine of a blueprint's workload."""
    return ENGINES[blueprint.workload.kind](blueprint, resolved, facts)
