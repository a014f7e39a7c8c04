"""The engine of fine-tuning: a run over given data, sized by `sizing.finetuning`, on one accelerator or many nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint, finetune_of
from clusterwright.blueprint.workloads.training import ModelFile
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.evidence_levels import level_text
from clusterwright.plan.facts import Facts
from clusterwright.plan.finetuning.findings import (
    capped_power,
    does_not_fit,
    idle_accelerators,
    too_few_nodes,
    unknown_framework,
    unlaunched,
    unmeasured_objective,
)
from clusterwright.plan.finetuning.job import (
    WEIGHT_BYTES,
    finetune_job,
    goodputs_of,
    is_packed,
    rank_of,
    reliability_of,
    run_tokens,
    samples,
    storage_of,
    targets_used,
)
from clusterwright.plan.finetuning.record import (
    FinetuningFrontPoint,
    FinetuningMoney,
    FinetuningOption,
    FinetuningPerformance,
    FinetuningPlan,
    FinetuningPoint,
    FinetuningWorkload,
    finetuning_option,
)
from clusterwright.plan.late_runs import EndingRun
from clusterwright.plan.record import Constraint, FrontPoint, Option, Plan, parts
from clusterwright.plan.training.reliability import spot_assumption
from clusterwright.sizing.finetuning.calibration import Calibration, load_calibration
from clusterwright.sizing.finetuning.configuration import FULL
from clusterwright.sizing.finetuning.job import FinetuneJob, FinetuneSize
from clusterwright.sizing.finetuning.search import node_counts, search, trained_parameters
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.reliability.goodput import run_days
from clusterwright.sizing.serving.calibration import load_calibration as load_serving
from clusterwright.tco.terms.records import Parameter
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_DAY, SECONDS_PER_HOUR, percent
from clusterwright.workload.transformer import parameters

#: Passes over the weights of a token: forward, gradients of inputs, and of weights where those are trained.
_FROZEN_PASSES, _FULL_PASSES = 2, 3
#: Shares of a step below this are not named as limits.
_WORTH_NAMING = 0.03
_LIMITS = {
    "multiplying": "multiplications and attention",
    "element_wise": "element-wise kernels",
    "unpacking": "unpacking weights",
    "gathering": "gathering divided weights",
    "uncompiled": "kernels that no compiler fuses",
    "tensor_parallel": "all-reduces of shared layers",
    "host_memory": "states in host memory",
    "updating": "sums of gradients and updates",
    "reference": "the frozen reference",
    "scoring": "scoring answers",
    "generating": "generating answers",
}


def finetuning_engine(blueprint: Blueprint, resolved: Resolved, facts: Facts) -> "FinetuningEngine":
    """Return the engine of a blueprint that fine-tunes."""
    job, calibration = finetune_job(blueprint, resolved), load_calibration()
    if job.rollouts is not None:
        calibration = replace(calibration, serving=load_serving())
    return FinetuningEngine(facts=facts, model=resolved.model, job=job, calibration=calibration)


@dataclass(frozen=True, kw_only=True, slots=True)
class FinetuningEngine(EndingRun):
    """A fine-tuning run; the methods are those of `plan.engine.Engine`."""

    facts: Facts
    model: Model
    job: FinetuneJob
    calibration: Calibration

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> tuple[FinetuningPoint, ...]:
        """Return the sizes that no size beats in both nodes and calendar days.

        Raises:
            RuleError: no layout fits (`FTN010`), or only on more nodes than there may be (`FTN011`).
        """
        node, spare = target.node, blueprint.reliability.spare_nodes
        most = None if bounds.most_work is None else bounds.most_work - spare
        wanted = [count for count in node_counts(self.job, node, most=most) if bounds.allow(count + spare)]
        sizes = search(self.job, node, wanted, self.calibration)
        if not sizes:
            every = search(self.job, node, node_counts(self.job, node, most=None), self.calibration)
            if every:
                raise RuleError((too_few_nodes(every[0].nodes + spare + bounds.divided, bounds, target),))
            raise RuleError((does_not_fit(self.job, self.model, node, self.facts.catalogue, self.calibration),))
        spot = target.system is None and getattr(blueprint.targets, target.target).capacity == "spot"
        reliability = self._reliability(blueprint, node, spot=spot)
        points: list[FinetuningPoint] = []
        for point in self._points(blueprint, reliability, sizes, divided=bounds.divided):
            if not points or point.calendar_days < points[-1].calendar_days:
                points.append(point)
        return tuple(points)

    def _reliability(self, blueprint: Blueprint, node: NodeType, *, spot: bool) -> Reliability:
        return reliability_of(
            blueprint,
            self.facts.calibration,
            model=self.model,
            node=node,
            spot=spot,
            trained_parameters=trained_parameters(self.job),
        )

    def _points(
        self, blueprint: Blueprint, reliability: Reliability, sizes: Sequence[FinetuneSize], *, divided: int
    ) -> list[FinetuningPoint]:
        """Return sizes as billing takes them: steps over goodput, after a start that loads the weights."""
        spare, start_s = blueprint.reliability.spare_nodes, reliability.numbers.restart_s
        failures = goodputs_of(reliability, nodes=[size.nodes for size in sizes], model=self.model)
        found = []
        for size, goodput in zip(sizes, failures, strict=True):
            train = size.train_s
            days = [
                float(
                    run_days(
                        steps=size.steps, step_s=seconds / size.steps, productive=goodput.fraction, startup_s=start_s
                    )
                )
                for seconds in (train.value, train.low, train.at(blueprint.goals.confidence))
            ]
            nodes = size.nodes + spare + divided
            found.append(
                FinetuningPoint(
                    node=size.node,
                    nodes=nodes,
                    gpus=nodes * size.node.gpus,
                    divided_nodes=divided,
                    storage=storage_of(blueprint, reliability, model=self.model, run_s=days[0] * SECONDS_PER_DAY),
                    calendar_days=days[0],
                    calendar_days_low=days[1],
                    calendar_days_high=days[2],
                    limited_by=_limits(size),
                    size=size,
                    failures=goodput,
                    start_s=start_s,
                    horizon_months=blueprint.economics.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR),
                )
            )
        return found

    def findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> tuple[Finding, ...]:  # noqa: ARG002 - of the protocol
        """Return nothing: what fails is a goal, or the memory of every layout."""
        return ()

    def warnings(self, blueprint: Blueprint, options: Sequence[Option]) -> tuple[Finding, ...]:
        """Return what widens the band, what is paid for and does not work, and caps that no prediction counts."""
        tuned = [finetuning_option(option) for option in options]
        return (
            *unknown_framework(blueprint, self.job, self.calibration),
            *unmeasured_objective(self.job),
            *idle_accelerators(tuned),
            *capped_power(blueprint),
            *unlaunched(self.workload(blueprint), tuned),
        )

    def useful_share(self, point: SizedPoint) -> float:
        """Return the goodput of a size as it was planned."""
        return tuned_point(point).failures.fraction

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:
        """Return the goodput of a rented size on nodes that are kept, and on ones that the cloud takes back."""
        nodes = [point.work_nodes - blueprint.reliability.spare_nodes]
        kept, spot = (
            goodputs_of(self._reliability(blueprint, point.node, spot=taken_back), nodes=nodes, model=self.model)[
                0
            ].fraction
            for taken_back in (False, True)
        )
        return kept, spot

    def assumptions(self, blueprint: Blueprint, options: Sequence[Option]) -> list[Parameter]:
        """Return the rate at which spot nodes are taken back, where there are any."""
        if any(entry.deployment.capacity == "spot" for entry in options):
            return [spot_assumption(blueprint, self.facts.calibration)]
        return []

    def constraints(self, blueprint: Blueprint) -> tuple[Constraint, ...]:
        """Return what the blueprint holds of the layout."""
        workload = finetune_of(blueprint)
        held = [
            *((f"parallelism.{name}", value) for name, value in workload.parallelism),
            ("gradient_checkpointing", workload.gradient_checkpointing),
        ]
        return tuple(Constraint(path=f"workload.{name}", value=str(value)) for name, value in held if value is not None)

    def workload(self, blueprint: Blueprint) -> FinetuningWorkload:
        """Return the workload as it was sized."""
        workload, job, model = finetune_of(blueprint), self.job, self.model
        rank = rank_of(job)
        active = float(np.asarray(job.model.shape.active_weights))
        return FinetuningWorkload(
            kind=workload.kind,
            model=model.id,
            model_name=model.name,
            parameters=parameters(model),
            precision=job.precision,
            architecture=model,
            model_file=PurePath(workload.model.config).name if isinstance(workload.model, ModelFile) else "",
            method=workload.method,
            objective=workload.objective,
            optimizer=workload.optimizer or "",
            framework=workload.framework,
            rank=rank,
            alpha=workload.alpha or 2.0 * rank,
            targets=targets_used(job) if rank else (),
            trained_parameters=trained_parameters(job),
            sequence_length=workload.sequence_length,
            global_batch_sequences=workload.global_batch,
            packing=is_packed(blueprint),
            tokens=run_tokens(blueprint),
            samples=samples(blueprint),
            epochs=workload.data.epochs,
            flop_per_token=2.0 * active * _passes(job),
            rollouts=job.rollouts,
            reward="" if workload.rollouts is None else workload.rollouts.reward or "",
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Option) -> FinetuningOption:
        """Return a chosen size with its layout, memory, times, and what a month of runs costs."""
        tuned = tuned_point(point)
        size = tuned.size
        horizon_usd = common.money.horizon_usd
        performance = FinetuningPerformance(
            **parts(common.performance),
            layout=size.layout,
            idle_gpus=size.nodes * target.node.gpus - size.layout.gpus,
            memory=size.memory,
            memory_bytes=size.memory_bytes,
            fit_probability=size.fit_probability,
            tokens_per_s=size.tokens_per_s,
            step_s=size.step_s,
            steps=size.steps,
            step=size.step,
            train_s=size.train_s,
            start_s=tuned.start_s,
            failures=tuned.failures,
            base_bytes=size.base_bytes,
            result_bytes=WEIGHT_BYTES * size.trained_parameters,
            merged_bytes=WEIGHT_BYTES * parameters(self.model),
            level=size.level,
            rollouts=size.rollouts,
            level_text=level_text(size.level, model=self.model.name, accelerator=target.node.accelerator.name),
        )
        month_usd = None if horizon_usd is None else horizon_usd / tuned.horizon_months
        money = FinetuningMoney(**parts(common.money), month_usd=month_usd)
        return FinetuningOption(**parts(common) | {"performance": performance, "money": money})

    def front_point(self, point: SizedPoint, common: FrontPoint) -> FinetuningFrontPoint:
        """Return a size that was considered, with its throughput."""
        return FinetuningFrontPoint(**parts(common), tokens_per_s=tuned_point(point).size.tokens_per_s.value)

    def plan(self, common: Plan) -> FinetuningPlan:
        """Return the plan of a fine-tuning run."""
        return FinetuningPlan(**parts(common))


def tuned_point(point: SizedPoint) -> FinetuningPoint:
    """Return a point that the engine of fine-tuning made."""
    assert isinstance(point, FinetuningPoint)  # noqa: S101 - made by `front`
    return point


def _passes(job: FinetuneJob) -> float:
    """Return the passes over the weights of a token that is trained on.

    Before the updates of generated answers, each token is scored, that of an answer is generated, and a prompt is
    computed once for all of its answers.
    """
    passes = (_FULL_PASSES if job.method == FULL else _FROZEN_PASSES) + job.preference
    rollouts = job.rollouts
    if rollouts is None:
        return passes
    generated = rollouts.answer_tokens + rollouts.prompt_tokens / rollouts.answers
    before = 1.0 + rollouts.reference + generated / rollouts.sequence_tokens
    return passes + before / rollouts.updates


def _limits(size: FinetuneSize) -> tuple[str, ...]:
    """Return the largest parts of a step beyond multiplying, in words."""
    shares = {name: getattr(size.step, name) for name in _LIMITS if name != "multiplying"}
    named = sorted(shares.items(), key=lambda part: -part[1])[:2]
    return tuple(f"{_LIMITS[name]} {percent(share)}" for name, share in named if share >= _WORTH_NAMING)
