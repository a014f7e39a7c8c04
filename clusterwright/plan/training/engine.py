"""The engine of training: a run over tokens, sized by `sizing.training`, that is to end within calendar time."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.rules.hardware import CLOUDS, ResolvedTarget
from clusterwright.blueprint.schema import Blueprint, train_of
from clusterwright.blueprint.workloads.training import ModelFile, Parallelism
from clusterwright.catalog.claims import claims_of
from clusterwright.catalog.host import UPDATES
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.bounds import NodeBounds, bounds_of
from clusterwright.plan.facts import Facts
from clusterwright.plan.late_runs import EndingRun
from clusterwright.plan.record import Constraint, FrontPoint, Option, Plan, parts
from clusterwright.plan.training.job import front_of, training_job
from clusterwright.plan.training.loading import waiting
from clusterwright.plan.training.record import (
    TrainingFrontPoint,
    TrainingOption,
    TrainingPerformance,
    TrainingPlan,
    TrainingWorkload,
    training_option,
)
from clusterwright.plan.training.reliability import goodputs_by_capacity, spot_assumption
from clusterwright.plan.without_effect import given, no_effect
from clusterwright.sizing.hardware.bands import (
    LONG,
    LONG_FROM_TOKENS,
    NEW_ACCELERATOR,
    NEW_FAMILY,
    NEW_GENERATION,
    NEW_VENDOR,
    Bands,
    band_of,
)
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.hardware.software import parts_of_job
from clusterwright.sizing.hardware.training_software import as_measured, software_parts
from clusterwright.sizing.records.job import TrainingJob, TrainingPoint
from clusterwright.sizing.records.loading import Loading
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.training.compute_terms import compute_time
from clusterwright.sizing.training.constraints import THIS_TARGET
from clusterwright.sizing.training.memory import reserved_bytes
from clusterwright.sizing.training.memory_margin import fit_probability, margin, residuals_of
from clusterwright.sizing.training.stage_table import memory_by_stage
from clusterwright.sizing.training.traffic import traffic_of
from clusterwright.tco.terms.records import Parameter
from clusterwright.units import BANDWIDTH, parse, percent
from clusterwright.workload.transformer import parameters, training_flops_per_token


def training_engine(blueprint: Blueprint, resolved: Resolved, facts: Facts) -> "TrainingEngine":
    """Return the engine of a blueprint that trains."""
    return TrainingEngine(facts=facts, job=training_job(blueprint, resolved))


_HELP = (
    "treat the days as a first estimate, or measure: `clusterwright probe` on one node, and `clusterwright calibrate` "
    "with runs of your own"
)


def unmeasured(
    job: TrainingJob, options: Sequence[TrainingOption], *, catalogue: Catalogue, calibration: Calibration
) -> Iterator[Finding]:
    """Yield a warning for every accelerator without a measured run behind its days, and for such software.

    `EVD001` is of an accelerator, on as many targets as have it, `EVD002` of a framework.
    """
    seen = calibration.measured()
    if NEW_FAMILY in software_parts(job.framework, seen):
        narrow = seen.families and f"; measured are {', '.join(sorted(seen.families))}"
        yield Finding(
            id="EVD002",
            path=("workload", "framework"),
            message=f"no run under {job.framework} was measured: the band is that of software left out",
            help=f"measure a run and calibrate (clusterwright calibrate){narrow}",
        )
    targets: dict[str, list[str]] = {}
    for option in options:
        targets.setdefault(option.cluster.accelerator, []).append(option.target)
    for accelerator, alike in targets.items():
        module = catalogue.accelerators.get(accelerator)
        if module is None:
            continue
        missing = seen.hardware_parts(accelerator=module.id, generation=module.generation, vendor=module.vendor)
        if not missing:
            continue
        what = {
            NEW_ACCELERATOR: f"No run on {module.name} was measured, only on others of its generation",
            NEW_GENERATION: f"No {module.vendor} run of this generation ({module.generation}) was measured",
            NEW_VENDOR: f"No {module.vendor} run was measured",
        }[missing[0]]
        parts = parts_of_job(job, module, calibration)
        faster, slower = _beside_the_median(calibration.bands, parts)
        several = f"{', '.join(alike)}: " if len(alike) > 1 else ""
        long = f", with sequences of {LONG_FROM_TOKENS:,} tokens and more" if LONG in parts else ""
        yield Finding(
            id="EVD001",
            path=("targets",) if several else ("targets", *alike),
            message=(
                f"{several}{what}{long}: days {percent(faster, signed=True)} to {percent(slower, signed=True)} (80 %)"
            ),
            help=_HELP,
        )


def _beside_the_median(bands: Bands, parts: Sequence[str]) -> tuple[float, float]:
    """Return how much shorter and longer than the median the days are at P10 and P90."""
    band = band_of(bands, parts)
    return math.exp(band.p50 - band.p90) - 1, math.exp(band.p50 - band.p10) - 1


#: Keys of `data` that speak of drives to which data is copied only with staging.
_STAGED = ("local_nvme", "local_nvme_bandwidth")


def without_effect(blueprint: Blueprint, options: Sequence[TrainingOption]) -> list[Finding]:
    """Return a warning for every key that was given and changes nothing of a run (`EFF001` to `EFF005`).

    Args:
        blueprint: as loaded, with all its targets.
        options: what was planned of it.
    """
    return [*_checkpoints(blueprint), *_staging(blueprint), *_failures(blueprint, options)]


def _checkpoints(blueprint: Blueprint) -> Iterator[Finding]:
    checkpoint = blueprint.reliability.checkpoint
    path = ("reliability", "checkpoint")
    if given(checkpoint, "flush_every") and checkpoint.strategy != "memory":
        yield no_effect(
            1,
            (*path, "flush_every"),
            f"checkpoints of strategy {checkpoint.strategy} go to storage each time",
            "set reliability.checkpoint.strategy to memory, or remove flush_every",
        )
    if given(checkpoint, "changed") and checkpoint.strategy != "incremental":
        yield no_effect(
            2,
            (*path, "changed"),
            f"checkpoints of strategy {checkpoint.strategy} are written whole",
            "set reliability.checkpoint.strategy to incremental, or remove changed",
        )


def _staging(blueprint: Blueprint) -> Iterator[Finding]:
    if blueprint.data.staging != "none":
        return
    for name in _STAGED:
        if given(blueprint.data, name):
            yield no_effect(
                3,
                ("data", name),
                "no data is copied to local drives",
                f"set data.staging to nvme, or remove {name}",
            )


def _failures(blueprint: Blueprint, options: Sequence[TrainingOption]) -> Iterator[Finding]:
    asked = blueprint.reliability
    clouds = (getattr(blueprint.targets, cloud) for cloud in CLOUDS)
    spot = any(target is not None and target.capacity == "spot" for target in clouds)
    if given(asked, "spot_interruptions_per_1000_node_days") and not spot:
        yield no_effect(
            4,
            ("reliability", "spot_interruptions_per_1000_node_days"),
            "no target takes spot capacity",
            "set the capacity of a target to spot, or remove it",
        )
    if asked.elastic and options and all(option.performance.failures.elastic_nodes is None for option in options):
        yield no_effect(
            5,
            ("reliability", "elastic"),
            "no cluster that is planned can go on with fewer replicas",
            "let the layout have more than one replica, or remove elastic",
        )


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
        bounds = bounds_of(blueprint, target)

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
        if any(entry.deployment.capacity == "spot" for entry in options):
            found.append(spot_assumption(blueprint, self.facts.calibration))
        needs = [need for entry in options if (need := training_option(entry).performance.offload) is not None]
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
            framework=as_measured(train.framework),
            architecture=model,
            # Its name alone: the same blueprint gives the same plan wherever it lies.
            model_file=PurePath(train.model.config).name if isinstance(train.model, ModelFile) else "",
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Option) -> TrainingOption:
        """Return a chosen size with its layout, memory, step and data."""
        run, calibration = trained(point), self.facts.calibration
        performance = TrainingPerformance(
            **parts(common.performance),
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
            faster=run.faster,
            fit_probability=fit_probability(run.memory.total, target.node.hbm_bytes_per_gpu, residuals_of(self.job)),
            memory_confidence=self.job.memory_confidence,
            memory_margin=margin(self.job),
        )
        return TrainingOption(**parts(common) | {"performance": performance})

    def front_point(self, point: SizedPoint, common: FrontPoint) -> TrainingFrontPoint:
        """Return a size that was considered, with its MFU."""
        return TrainingFrontPoint(**parts(common), mfu=trained(point).mfu)

    def plan(self, common: Plan) -> TrainingPlan:
        """Return the plan of a training run."""
        return TrainingPlan(**parts(common))


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
