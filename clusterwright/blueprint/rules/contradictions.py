"""Constraints of one blueprint that no cluster can meet together, found before anything is sized."""

from collections.abc import Iterable, Iterator

from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.blueprint.sections.directory import directory_problems
from clusterwright.blueprint.sections.jobs import job_problems
from clusterwright.blueprint.sections.tenants import tenant_problems
from clusterwright.blueprint.sections.users import user_problems
from clusterwright.blueprint.sizes import Multiple, Sizes
from clusterwright.blueprint.workloads.finetuning import Finetune
from clusterwright.blueprint.workloads.serving import Serve
from clusterwright.blueprint.workloads.training import Train
from clusterwright.catalog.records import Model
from clusterwright.clouds import CLOUDS

_PARALLELISM: Path = ("workload", "parallelism")


def contradictions(blueprint: Blueprint) -> list[Problem]:
    """Return every pair of constraints that exclude each other, at the place of the one to change."""
    problems: list[Problem] = []
    for name in TARGETS:
        target = getattr(blueprint.targets, name)
        if target is not None:
            problems += _sizes(("targets", name), target)
    cluster = blueprint.cluster
    problems += user_problems(
        cluster.users,
        cluster.groups,
        cluster.identity if "identity" in cluster.model_fields_set else None,
        joined=cluster.directory is not None,
    )
    closed = [name for name, cloud in CLOUDS.items() if cloud.names_ways_out and _boots_machines(blueprint, name)]
    problems += directory_problems(cluster.directory, cluster.users, cluster.groups, closed)
    problems += tenant_problems(
        blueprint.tenants, cluster.users, cluster.partition, joined=cluster.directory is not None
    )
    problems += job_problems(cluster.jobs, [name for name in TARGETS if _places_pods(blueprint, name)])
    if isinstance(blueprint.workload, Train):
        problems += [*_layout(blueprint.workload), *_batch(blueprint.workload)]
    return problems


def _sizes(path: Path, target: Sizes) -> Iterator[Problem]:
    least, most, rule = target.min_nodes or 1, target.max_nodes, target.nodes_must_be
    if most is None:
        return
    if least > most:
        yield Problem(
            path=(*path, "min_nodes"),
            message=f"min_nodes {least} is more than max_nodes {most}",
            help="lower min_nodes or raise max_nodes",
        )
    elif rule is not None and not _any_holds(rule, least, most):
        yield Problem(
            path=(*path, "nodes_must_be"),
            message=f"no number of nodes from {least} to {most} is a {rule}",
            help="raise max_nodes, or leave nodes_must_be out",
        )


def _places_pods(blueprint: Blueprint, name: str) -> bool:
    target = getattr(blueprint.targets, name)
    return target is not None and target.scheduler == "kubernetes"


def _boots_machines(blueprint: Blueprint, name: str) -> bool:
    """Tell whether a target has machines of Slurm, which ask a directory."""
    return getattr(blueprint.targets, name) is not None and not _places_pods(blueprint, name)


def _any_holds(rule: Multiple, least: int, most: int) -> bool:
    if rule.power_of_two:
        return 1 << (least - 1).bit_length() <= most
    return -(-least // rule.of) * rule.of <= most


def _layout(workload: Train) -> Iterator[Problem]:
    fixed = workload.parallelism
    if fixed.tensor is not None and fixed.max_tensor is not None and fixed.tensor > fixed.max_tensor:
        yield Problem(
            path=(*_PARALLELISM, "tensor"),
            message=f"tensor {fixed.tensor} is more than max_tensor {fixed.max_tensor}",
            help="lower tensor, or raise max_tensor",
        )
    if fixed.data is not None and fixed.data_must_be is not None and not fixed.data_must_be.holds(fixed.data):
        yield Problem(
            path=(*_PARALLELISM, "data"),
            message=f"data {fixed.data} is not a {fixed.data_must_be}",
            help="change data, or leave data_must_be out",
        )
    if fixed.context is not None and fixed.context > 1 and workload.sequence_length % (2 * fixed.context):
        yield Problem(
            path=(*_PARALLELISM, "context"),
            message=(
                f"a sequence of {workload.sequence_length} tokens does not divide into two equal parts for each of "
                f"{fixed.context} context-parallel ranks"
            ),
            help=f"make workload.sequence_length a multiple of {2 * fixed.context}, or change context",
        )


def _batch(workload: Train) -> Iterator[Problem]:
    """Yield what the global batch does not divide into; of several parts only the first that fails."""
    fixed, batch = workload.parallelism, workload.global_batch
    rule = fixed.data_must_be
    parts: Iterable[tuple[str, int, str]] = (
        ("data", fixed.data or 1, f"{fixed.data} data-parallel replicas"),
        ("micro_batch", fixed.micro_batch or 1, f"micro-batches of {fixed.micro_batch}"),
        (
            "micro_batch",
            (fixed.data or 1) * (fixed.micro_batch or 1),
            f"micro-batches of {fixed.micro_batch} on {fixed.data} data-parallel replicas",
        ),
        ("data_must_be", 1 if rule is None else rule.of, f"a {rule} of data-parallel replicas"),
    )
    for name, size, said in parts:
        if batch % size:
            yield Problem(
                path=(*_PARALLELISM, name),
                message=f"a global batch of {batch} sequences does not divide into {said}",
                help=f"make workload.global_batch a multiple of {size}, or change {name}",
            )
            return


def contradictions_of_model(workload: Train | Finetune | Serve, model: Model) -> list[Problem]:
    """Return what the workload asks of a model that cannot have it."""
    expert = workload.parallelism.expert if isinstance(workload, Train) else None
    if expert is None or expert == 1 or (model.experts and model.experts % expert == 0):
        return []
    said = f"{model.experts} experts, which do not divide over {expert} GPUs" if model.experts else "no experts"
    return [
        Problem(
            path=(*_PARALLELISM, "expert"),
            message=f"{model.name} has {said}",
            help="choose a divisor of its experts" if model.experts else "leave expert out",
        )
    ]
