"""The engine of training: a run over tokens, sized by `sizing.training`, that is to end within calendar time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from clusterwright.blueprint.hardware import ResolvedTarget
from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.blueprint.workloads import ModelFile, Parallelism
from clusterwright.catalog.claims import claims_of
from clusterwright.catalog.host import UPDATES
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.bounds import NodeBounds, bounds_of, most_nodes, node_counts
from clusterwright.plan.facts import Facts
from clusterwright.plan.late_runs import EndingRun
from clusterwright.plan.record import (
    Constraint,
    Option,
    TrainingFrontPoint,
    TrainingOption,
    TrainingOtherOption,
    TrainingPlan,
    TrainingWorkload,
    training_option,
)
from clusterwright.plan.training.job import front_of, training_job
from clusterwright.plan.training.loading import waiting
from clusterwright.plan.training.reliability import goodputs_by_capacity, spot_assumption
from clusterwright.plan.training.unmeasured import unmeasured
from clusterwright.plan.training.without_effect import without_effect
from clusterwright.sizing.records.job import TrainingJob, TrainingPoint
from clusterwright.sizing.records.loading import Loading
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.training.compute_terms import compute_time
from clusterwright.sizing.training.constraints import THIS_TARGET
from clusterwright.sizing.training.memory import reserved_bytes
from clusterwright.sizing.training.memory_margin import fit_probability, margin, residuals_of
from clusterwright.sizing.training.stage_table import memory_by_stage
from clusterwright.sizing.training.traffic import traffic_of
from clusterwright.tco.records import Parameter
from clusterwright.units import BANDWIDTH, parse
from clusterwright.workload.transformer import parameters, training_flops_per_token


def training_engine(blueprint: Blueprint, resolved: Resolved, facts: Facts) -> "TrainingEngine":
    """Return the engine of a blueprint that trains."""
    return TrainingEngine(facts=facts, job=training_job(blueprint, resolved))


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingEngine(EndingRun):
    """A training run; the methods are those of `plan.engine.Engine`."""

    facts: Facts
    job: TrainingJob

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> tuple[TrainingPoint, ...]:
        """Return the sizes that no size beats in both nodes and calendar days; findings are placed in the target."""
        spot = target.system is None and getattr(blueprint.targets, target.target).capacity == "spot"
        try:
            return front_of(blueprint, self.facts.calibration, self.job, target.node, bounds=bounds, spot=spot).points
        except RuleError as error:
            raise RuleError(tuple(_in_target(finding, target.target) for finding in error.findings)) from None

    def findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> tuple[Finding, ...]:
        """Return what fails while training: it waits for its data."""
        most, _ = most_nodes(blueprint, target)
        bounds = bounds_of(getattr(blueprint.targets, target.target), most=most, counts=node_counts(target))

        def front(loading: Loading) -> Sequence[TrainingPoint]:
            other = replace(self, job=replace(self.job, loading=loading))
            return other.front(blueprint, target, bounds)

        return waiting(blueprint, training_option(option), loading=self.job.loading, node=target.node, front=front)

    def warnings(self, blueprint: Blueprint, options: Sequence[Option]) -> tuple[Finding, ...]:
        """Return a warning for every key that changes nothing, and for every accelerator that was never measured."""
        trained_on = [training_option(option) for option in options]
        facts = self.facts
        return (
            *without_effect(blueprint, trained_on),
            *unmeasured(self.job, trained_on, catalogue=facts.catalogue, calibration=facts.calibration),
        )

    def useful_share(self, point: SizedPoint) -> float:
        """Return the goodput of a size as it was planned."""
        return trained(point).goodput.fraction

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:
        """Return the goodput of a rented size on nodes that are kept, and on ones that the cloud takes back."""
        return goodputs_by_capacity(blueprint, self.facts.calibration, model=self.job.model, point=trained(point))

    def assumptions(self, blueprint: Blueprint, options: Sequence[Option]) -> list[Parameter]:
        """Return the rate at which spot nodes are taken back, and that of updates on the host, where they are used."""
        found: list[Parameter] = []
        if any(entry.capacity == "spot" for entry in options):
            found.append(spot_assumption(blueprint, self.facts.calibration))
        needs = [need for entry in options if (need := training_option(entry).offload) is not None]
        if any("optimizer" in need.what for need in needs):
            found.append(update_assumption(self.facts.catalogue))
        return found

    def constraints(self, blueprint: Blueprint) -> tuple[Constraint, ...]:
        """Return what the blueprint holds of the layout, in the order of the schema."""
        fixed = train_of(blueprint).parallelism
        return tuple(
            Constraint(path=f"workload.parallelism.{name}", value=str(value))
            for name in Parallelism.model_fields
            if (value := getattr(fixed, name)) is not None
        )

    def workload(self, blueprint: Blueprint) -> TrainingWorkload:
        """Return the workload as it was sized."""
        train, model = train_of(blueprint), self.job.model
        return TrainingWorkload(
            kind=train.kind,
            model=model.id,
            model_name=model.name,
            parameters=parameters(model),
            flop_per_token=training_flops_per_token(model, sequence_length=train.sequence_length, causal=False),
            tokens=train.tokens,
            sequence_length=train.sequence_length,
            global_batch_sequences=train.global_batch,
            precision=train.precision,
            optimizer=train.optimizer,
            framework=train.framework,
            architecture=model,
            # Its name alone: the same blueprint gives the same plan wherever it lies.
            model_file=PurePath(train.model.config).name if isinstance(train.model, ModelFile) else "",
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Mapping[str, Any]) -> TrainingOption:
        """Return a chosen size with its layout, memory, step and data."""
        run, calibration = trained(point), self.facts.calibration
        return TrainingOption(
            **common,
            layout=run.layout,
            memory_bytes_per_gpu=run.memory,
            memory_by_stage=memory_by_stage(self.job, run.layout, target.node),
            memory_allocated_bytes_per_gpu=run.memory.allocated,
            memory_reserved_bytes_per_gpu=reserved_bytes(run.memory),
            traffic=traffic_of(self.job, target.node, run.layout, calibration),
            compute=compute_time(self.job, target.node, run.layout, calibration),
            step=run.step,
            mfu=run.mfu,
            tokens_per_s_per_gpu=run.tokens_per_s_per_gpu,
            failures=run.goodput,
            data=run.data,
            offload=run.offload,
            fit_probability=fit_probability(run.memory.total, target.node.hbm_bytes_per_gpu, residuals_of(self.job)),
            memory_confidence=self.job.memory_confidence,
            memory_margin=margin(self.job),
        )

    def front_point(self, point: SizedPoint, common: Mapping[str, Any]) -> TrainingFrontPoint:
        """Return a size that was considered, with its MFU."""
        return TrainingFrontPoint(**common, mfu=trained(point).mfu)

    def other_option(self, common: Mapping[str, Any]) -> TrainingOtherOption:
        """Return another capacity or commitment that trains."""
        return TrainingOtherOption(**common)

    def plan(self, common: Mapping[str, Any]) -> TrainingPlan:
        """Return the plan of a training run."""
        return TrainingPlan(**common)


def trained(point: SizedPoint) -> TrainingPoint:
    """Return a point that the engine of training made."""
    assert isinstance(point, TrainingPoint)  # noqa: S101 - made by `front`
    return point


def _in_target(finding: Finding, target: str) -> Finding:
    path = tuple(target if part == THIS_TARGET else part for part in finding.path)
    return replace(finding, path=path, help=finding.help.replace(f"targets.{THIS_TARGET}", f"targets.{target}"))


def update_assumption(catalogue: Catalogue) -> Parameter:
    """Return the update rate of a node's processors as an entry of the plan's assumptions."""
    fact = next(fact for fact in claims_of(catalogue, UPDATES) if fact.attribute == "update_bytes_per_s")
    measured = [parse(f"{claim.value} {claim.unit}", BANDWIDTH) / 1e9 for claim in (fact.chosen, *fact.rejected)]
    return Parameter(
        key="host_update_gb_per_s_per_node",
        value=measured[0],
        low=min(measured),
        high=max(measured),
        unit="GB/s",
        basis="assumed",
        reason="the median of published measurements: processors, thread placement and software make the rest",
        source=f"clusterwright facts {UPDATES}",
    )
