"""Names in the blueprint against the catalogue: what they mean, and what is wrong with them, all at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.rules.contradictions import contradictions, contradictions_of_model
from clusterwright.blueprint.rules.finetuning import method_problems, model_problems, precision_problems
from clusterwright.blueprint.rules.hardware import ResolvedTarget, Unusable, attempt, hardware_of, is_choice
from clusterwright.blueprint.rules.kinds import (
    context_problems,
    format_problems,
    kind_problems,
    layout_problems,
    not_of_text,
)
from clusterwright.blueprint.rules.models import model_of
from clusterwright.blueprint.rules.node_software import name_problems, software_problems
from clusterwright.blueprint.rules.stopping import stopping_problems
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.blueprint.workloads.finetuning import Finetune
from clusterwright.blueprint.workloads.serving import Serve
from clusterwright.blueprint.workloads.training import Train
from clusterwright.catalog import lookup
from clusterwright.catalog.precisions import known_precisions
from clusterwright.catalog.records import Catalogue, Model
from clusterwright.catalog.storage import storage_levels
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FACT_MISSING

#: This many reasons are shown where nothing of a choice can be used.
_REASONS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A blueprint's names, looked up.

    Attributes:
        targets: hardware to size; several of one target where the blueprint leaves the choice.
        unusable: what was left to choose from and cannot be, with the reason.
    """

    model: Model
    targets: tuple[ResolvedTarget, ...]
    unusable: tuple[Unusable, ...] = ()


def resolve(blueprint: Blueprint, catalogue: Catalogue) -> Resolved | tuple[Problem, ...]:
    """Return what the blueprint's names mean, or every problem with them.

    Problems found: an unknown model, instance or system, a region that does not
    offer the instance, a zone outside its region, a precision that the accelerator lacks, local
    drives of unknown size that data is to be copied to, an end of the nodes that nothing would bring about, software
    or slices of GPUs that the nodes cannot have.
    """
    problems: list[Problem] = []
    workload = blueprint.workload
    refused = None
    if isinstance(workload.model, str):
        images = blueprint.traffic is not None and blueprint.traffic.images is not None
        refused = not_of_text(workload.model, task=getattr(workload, "task", "generate"), images=images)
    if refused is not None:
        problems.append(refused)
    model = (
        None
        if refused is not None
        else attempt(problems, ("workload", "model"), lambda: model_of(catalogue, workload.model))
    )
    targets: list[ResolvedTarget] = []
    unusable: list[Unusable] = []
    for name in TARGETS:
        asked = getattr(blueprint.targets, name)
        if asked is None:
            continue
        found = hardware_of(problems, catalogue, name, asked)
        found = _suited(problems, blueprint, found, choice=is_choice(asked))
        fitting = [entry for entry in found if isinstance(entry, ResolvedTarget)]
        rest = [entry for entry in found if isinstance(entry, Unusable)]
        targets += fitting
        unusable += rest
        if rest and not fitting:
            problems.append(_none_usable(name, rest))
    _named_storage(problems, blueprint, catalogue)
    problems += [
        *kind_problems(blueprint),
        *name_problems(blueprint),
        *contradictions(blueprint),
        *(contradictions_of_model(workload, model) if model is not None else []),
    ]
    problems += _OF_WORKLOAD.get(type(workload), _nothing)(workload)
    problems += _OF_MODEL.get(type(workload), _nothing)(workload, model) if model is not None else ()
    if model is not None and blueprint.traffic is not None:
        problems += context_problems(blueprint.traffic, model)
    if problems or model is None:
        return tuple(dict.fromkeys(problems))  # targets with the same GPU can have the same problem
    return Resolved(model=model, targets=tuple(targets), unusable=tuple(unusable))


def _named_storage(problems: list[Problem], blueprint: Blueprint, catalogue: Catalogue) -> None:
    """Note a storage system or a level that the catalogue does not have."""
    storage = blueprint.targets.onprem.storage if blueprint.targets.onprem is not None else None
    if storage is None:
        return
    path = ("targets", "onprem", "storage")
    attempt(problems, (*path, "system"), lambda: lookup.storage_system(catalogue, storage.system))
    if storage.level is not None and storage.level not in storage_levels():
        problems.append(
            Problem(
                path=(*path, "level"),
                message=f"there is no level of storage bandwidth {storage.level!r}",
                help=f"one of {', '.join(storage_levels())}",
            )
        )


def _suited(
    problems: list[Problem], blueprint: Blueprint, found: Sequence[ResolvedTarget | Unusable], *, choice: bool
) -> list[ResolvedTarget | Unusable]:
    """Return hardware that has what the job asks of it; what has not is unusable in a choice, else wrong."""
    workload = blueprint.workload
    kept: list[ResolvedTarget | Unusable] = []
    for entry in found:
        lacking: list[Problem] = []
        if isinstance(entry, ResolvedTarget):
            lacking = [*_staging_problems(blueprint, (entry,)), *_stopping(blueprint, entry)]
            lacking += software_problems(blueprint, entry)
            lacking = [*_OF_HARDWARE.get(type(workload), _nothing)(workload, (entry,)), *lacking]
        if isinstance(entry, ResolvedTarget) and choice and lacking:
            reason = "; ".join(problem.message for problem in lacking)
            missing = all(problem.exit_code == EXIT_FACT_MISSING for problem in lacking)
            kept.append(Unusable(target=entry.target, name=entry.node.id, reason=reason, fact_missing=missing))
        else:
            kept.append(entry)
            problems += lacking
    return kept


def _stopping(blueprint: Blueprint, entry: ResolvedTarget) -> list[Problem]:
    asked = getattr(blueprint.targets, entry.target)
    if entry.instance is None or not isinstance(asked, CloudTarget):
        return []
    return stopping_problems(blueprint.cluster, entry.target, asked, entry.instance)


def _none_usable(target: str, rest: Sequence[Unusable]) -> Problem:
    shown = "; ".join(f"{entry.name}: {entry.reason}" for entry in rest[:_REASONS])
    more = f"; and {len(rest) - _REASONS} more" if len(rest) > _REASONS else ""
    return Problem(
        path=("targets", target, "allowed_systems" if target == "onprem" else "allowed_instances"),
        message=f"none of these can be used: {shown}{more}",
        help="allow others, or change what the reasons speak of",
        exit_code=EXIT_FACT_MISSING if all(entry.fact_missing for entry in rest) else EXIT_BAD_INPUT,
    )


def _precision_problems(workload: Train, targets: Sequence[ResolvedTarget]) -> list[Problem]:
    wanted = workload.precision
    problems = []
    for target in targets:
        chip = target.node.accelerator
        known = known_precisions(chip)
        if wanted in known:
            continue
        other = f"another {'system' if target.system else 'instance'}"
        can = f"it has {', '.join(known)}; choose one of these, or {other}"
        problems.append(
            Problem(
                path=("workload", "precision"),
                message=f"{chip.name} ({target.target}) has no {wanted} multiplication that is documented",
                help=can if known else f"no precision of it is documented; choose {other}",
            )
        )
    return problems


def _memory_problems(workload: Train) -> list[Problem]:
    """Return what contradicts itself in what is to be offloaded."""
    memory, path = workload.memory, ("workload", "memory")
    if memory.optional and not memory.offload:
        return [
            Problem(
                path=(*path, "optional"),
                message="nothing is offloaded that could be optional",
                help="say what may be offloaded in memory.offload, or remove optional",
            )
        ]
    if "optimizer" in memory.offload and workload.optimizer == "muon":
        return [
            Problem(
                path=(*path, "offload"),
                message="muon cannot be updated on the host: its matrix multiplications need the accelerator",
                help="choose another optimizer, or leave optimizer out of memory.offload",
            )
        ]
    if "parameters" in memory.offload and workload.optimizer == "muon":
        return [
            Problem(
                path=(*path, "offload"),
                message="parameters can lie with the host where ZeRO-3 shards them, which parts the matrices of muon",
                help="choose another optimizer, or leave parameters out of memory.offload",
            )
        ]
    if memory.offload_to == "nvme" and not {"optimizer", "parameters"} & set(memory.offload):
        return [
            Problem(
                path=(*path, "offload_to"),
                message="nothing is offloaded that could lie on nvme",
                help="offload optimizer or parameters, or remove offload_to; activations lie in host memory",
            )
        ]
    if "parameters" in memory.offload and (workload.parallelism.pipeline or 1) > 1:
        return [
            Problem(
                path=("workload", "parallelism", "pipeline"),
                message="parameters can lie with the host where ZeRO-3 shards them, which comes without a pipeline",
                help="set pipeline: 1, or leave parameters out of memory.offload",
            )
        ]
    return []


def _staging_problems(blueprint: Blueprint, targets: tuple[ResolvedTarget, ...]) -> list[Problem]:
    if blueprint.data.staging == "none" or blueprint.data.local_nvme is not None:
        return []
    return [
        Problem(
            path=("data", "staging"),
            message=f"the local drives of {target.node.id} ({target.target}) are not known",
            help="give their size as data.local_nvme, for example 30 TB, or set data.staging to none",
            exit_code=EXIT_FACT_MISSING,
        )
        for target in targets
        if target.node.local_nvme_bytes is None
    ]


def _nothing(*_: object) -> Iterable[Problem]:
    return ()


#: What each kind of workload asks of its hardware, of itself and of its model, as problems where it cannot have that.
_OF_HARDWARE: Mapping[type, Callable[[Any, Sequence[ResolvedTarget]], Iterable[Problem]]] = {
    Train: _precision_problems,
    Finetune: precision_problems,
    Serve: format_problems,
}
_OF_WORKLOAD: Mapping[type, Callable[[Any], Iterable[Problem]]] = {
    Train: _memory_problems,
    Finetune: method_problems,
}
_OF_MODEL: Mapping[type, Callable[[Any, Model], Iterable[Problem]]] = {
    Finetune: model_problems,
    Serve: layout_problems,
}
