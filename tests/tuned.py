"""Plans of fine-tuning from values, and the files of their jobs."""

from collections.abc import Mapping
from typing import Any

from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.outputs.finetuning.launch import launch
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.finetuning.record import FinetuningPlan, finetuning_plan


def tuning_plan(values: Mapping[str, Any], overrides: tuple[str, ...]) -> FinetuningPlan:
    """Return the plan of a blueprint of fine-tuning."""
    blueprint = load_values(values, overrides, name="tune.yaml").blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return finetuning_plan(decide(blueprint, resolved, Facts.open()))


def launch_files(plan: FinetuningPlan) -> dict[str, str]:
    """Return the files that start the job of the first option, by name."""
    found = launch(plan, plan.options[0], load_catalogue(), {})
    return {name: file.content.decode() for name, file in found.items()}
