"""The deployment tools that a plan can be exported to, in one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError
from clusterwright.outputs.exports.cluster_toolkit import cluster_toolkit
from clusterwright.outputs.exports.document import Exported, yaml_text
from clusterwright.outputs.exports.parallelcluster import parallelcluster
from clusterwright.outputs.exports.skypilot import skypilot
from clusterwright.plan.record import Option, Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """One tool: its name for people, the clouds it deploys to, and what writes its file."""

    tool: str
    clouds: tuple[str, ...]
    write: Callable[[Plan, Option, Catalogue], Exported]


FORMATS: Mapping[str, Format] = {
    "parallelcluster": Format(tool="AWS ParallelCluster", clouds=("aws",), write=parallelcluster),
    "cluster-toolkit": Format(tool="Google Cluster Toolkit", clouds=("gcp",), write=cluster_toolkit),
    "skypilot": Format(tool="SkyPilot", clouds=("aws", "azure", "gcp"), write=skypilot),
}


def export_text(plan: Plan, option: Option, catalogue: Catalogue, to: str) -> str:
    """Return a plan's option as the YAML file of another tool.

    Args:
        plan: the plan.
        option: one of its options.
        catalogue: facts of the instance type.
        to: a key of `FORMATS`.

    Raises:
        InputError: the tool does not deploy to the option's target, or cannot express it.
    """
    chosen = FORMATS[to]
    if option.target not in chosen.clouds:
        raise InputError(
            f"{chosen.tool} does not deploy to {option.target}", help=f"it deploys to {', '.join(chosen.clouds)}"
        )
    return yaml_text(plan, option, chosen.write(plan, option, catalogue))
