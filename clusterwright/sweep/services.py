"""A service on every node type: the replicas and nodes that meet its goals, and what a month of them costs.

Nothing is chosen here. All node types of a scenario are sized in one pass of the formulas.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.rules.kinds import format_problems
from clusterwright.blueprint.schema import serve_of
from clusterwright.errors import RuleError
from clusterwright.plan.facts import Facts
from clusterwright.plan.serving.engine import serving_engine
from clusterwright.plan.serving.job import requests_of
from clusterwright.plan.serving.record import Outcome, ServingPoint
from clusterwright.pricing.lake import Reach
from clusterwright.sizing.serving.sizes import RatePoint
from clusterwright.sweep.costs import costs_of
from clusterwright.sweep.fronts import facts
from clusterwright.sweep.records import NotSized, Question
from clusterwright.tco.terms.records import CandidateCost


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptService:
    """One node type with the fewest nodes that meet the goals, or the nearest.

    Attributes:
        blueprint, varied: the scenario; target, region, node_type, accelerator: where.
        replicas: that the peak needs; replica_gpus: of each; nodes, gpus: with the spare replicas.
        outcome, confidence, probability: as in `ServingOption`.
        first_token_s, time_per_token_s: at the percentile of the goals and the peak.
        tokens_per_s_per_user, tokens_per_s_per_gpu: output at the peak, of an accelerator that serves; None where one
            pass over the input answers.
        month_usd: rented on demand, or the share of owning that a month takes; None where a price is unknown, with
            the reason in cost_note. capex_usd: paid at the start for what is bought.
        rate_front: as in `ServingOption`.
        unbeaten: no other node type that is rented, or bought, as this one is answers as fast for less.
    """

    blueprint: str
    varied: tuple[tuple[str, str], ...]
    target: str
    region: str
    node_type: str
    accelerator: str
    nodes: int
    gpus: int
    replicas: int
    replica_gpus: int
    outcome: Outcome
    confidence: float
    probability: float
    first_token_s: float
    time_per_token_s: float
    tokens_per_s_per_user: float | None
    tokens_per_s_per_gpu: float | None
    rate_front: tuple[RatePoint, ...]
    month_usd: float | None = None
    capex_usd: float | None = None
    cost_note: str = ""
    unbeaten: bool = False

    @property
    def speed(self) -> float:
        """Tokens per second of a user, or answers per second of one who asks again at once, where one pass answers."""
        return 1.0 / self.first_token_s if self.tokens_per_s_per_user is None else self.tokens_per_s_per_user


def swept_services(
    questions: Sequence[Question], reach: Reach | None = None
) -> tuple[tuple[SweptService, ...], tuple[NotSized, ...]]:
    """Return every node type of the questions, and those that cannot serve, with the reason.

    Args:
        questions: of services.
        reach: lists object storage; without it prices there cannot be read.
    """
    known = facts(reach)
    points: list[SweptService] = []
    missing: list[NotSized] = []
    for _, group in groupby(questions, key=lambda question: id(question.scenario)):
        found, without = _of_scenario(list(group), known)
        points += found
        missing += without
    return tuple(points), tuple(missing)


def _of_scenario(questions: list[Question], known: Facts) -> tuple[list[SweptService], list[NotSized]]:
    scenario = questions[0].scenario
    workload, _ = serve_of(scenario.blueprint)
    targets = [ResolvedTarget(target=question.place.target, node=question.place.node) for question in questions]
    unable = {
        target.node.id: "; ".join(problem.message for problem in format_problems(workload, [target]))
        for target in targets
    }
    able = tuple(target for target in targets if not unable[target.node.id])
    engine = serving_engine(scenario.blueprint, Resolved(model=scenario.model, targets=able), known)
    sized: list[tuple[Question, ServingPoint]] = []
    missing: list[NotSized] = []
    for question, target in zip(questions, targets, strict=True):
        reason = unable[target.node.id]
        if not reason:
            try:
                sized += ((question, point) for point in engine.front(scenario.blueprint, target, question.bounds))
            except RuleError as error:
                reason = "; ".join(finding.message for finding in error.findings)
        if reason:
            missing.append(
                NotSized(
                    blueprint=scenario.name,
                    varied=scenario.varied,
                    node_type=target.node.id,
                    accelerator=target.node.accelerator.id,
                    reason=reason,
                )
            )
    if not sized:
        return [], missing
    costed, reasons = costs_of(
        [question for question, _ in sized],
        [[point] for _, point in sized],
        [[point.outcome is Outcome.MET] for _, point in sized],
        known,
    )
    shown = []
    for position, (question, point) in enumerate(sized):
        entry = _shown(question, point, engine.found.fronts.get(point.node.id, ()))
        cost = costed.get((position, 0))
        shown.append(
            replace(entry, cost_note=reasons.get((position, 0), "no price"))
            if cost is None
            else replace(
                entry,
                month_usd=None if cost.run_usd is None else round(cost.run_usd, 2),
                capex_usd=cost.capex_usd if isinstance(cost, CandidateCost) and cost.capex_usd else None,
                cost_note="" if cost.run_usd is not None else "a price is not documented",
            )
        )
    return _marked(shown), missing


def _shown(question: Question, point: ServingPoint, front: tuple[RatePoint, ...]) -> SweptService:
    size, place = point.size, question.place
    generates = serve_of(question.scenario.blueprint)[0].task == "generate"
    outputs = size.requests_per_s * requests_of(question.scenario.blueprint).outputs.mean
    return SweptService(
        blueprint=question.scenario.name,
        varied=question.scenario.varied,
        target=place.target,
        region=place.region,
        node_type=place.node.id,
        accelerator=place.node.accelerator.id,
        nodes=point.nodes,
        gpus=point.gpus,
        replicas=size.replicas,
        replica_gpus=size.layout.gpus,
        outcome=point.outcome,
        confidence=size.confidence,
        probability=size.probability,
        first_token_s=size.first_token_s.value,
        time_per_token_s=size.time_per_token_s.value,
        tokens_per_s_per_user=1.0 / size.mean_time_per_token_s if generates else None,
        tokens_per_s_per_gpu=outputs / size.gpus if generates else None,
        rate_front=front,
    )


def _marked(points: list[SweptService]) -> list[SweptService]:
    """Mark the points that no other one beats in speed for a user and cost; rented and bought apart."""
    unbeaten = set()
    for owned in (False, True):
        least = float("inf")
        same = [
            (-point.speed, point.month_usd, index)
            for index, point in enumerate(points)
            if (point.target == "onprem") is owned and point.month_usd and point.outcome is Outcome.MET
        ]
        for _, usd, index in sorted(same):
            if usd < least:
                least = usd
                unbeaten.add(index)
    return [replace(point, unbeaten=index in unbeaten) for index, point in enumerate(points)]


def services_document(
    points: Sequence[SweptService], missing: Sequence[NotSized], *, catalogue: str, as_of: Sequence[str]
) -> dict[str, Any]:
    """Return the whole sweep for `--json`; units are in the keys."""
    return {
        "schema": 1,
        "catalogue": catalogue,
        "prices_as_of": list(as_of),
        "points": [{**asdict(point), "varied": dict(point.varied)} for point in points],
        "not_sized": [{**asdict(entry), "varied": dict(entry.varied)} for entry in missing],
    }


#: Columns of the table that `--parquet` writes, with DuckDB's types; `varied` and `rate_front` are JSON.
COLUMNS = MappingProxyType(
    {
        "blueprint": "varchar",
        "varied": "varchar",
        "target": "varchar",
        "region": "varchar",
        "node_type": "varchar",
        "accelerator": "varchar",
        "nodes": "bigint",
        "gpus": "bigint",
        "replicas": "bigint",
        "replica_gpus": "bigint",
        "outcome": "varchar",
        "confidence": "double",
        "probability": "double",
        "first_token_s": "double",
        "time_per_token_s": "double",
        "tokens_per_s_per_user": "double",
        "tokens_per_s_per_gpu": "double",
        "month_usd": "double",
        "capex_usd": "double",
        "cost_note": "varchar",
        "unbeaten": "boolean",
        "rate_front": "varchar",
        "not_sized_reason": "varchar",
    }
)


def services_rows(points: Sequence[SweptService], missing: Sequence[NotSized]) -> list[dict[str, str]]:
    """Return a row of texts for each point and each node type that cannot serve; empty where nothing is known."""
    sized = [asdict(point) for point in points]
    unsized = [
        {**asdict(entry), "target": "", "not_sized_reason": entry.reason, "unbeaten": False} for entry in missing
    ]
    return [{name: _text(name, values.get(name)) for name in COLUMNS} for values in (*sized, *unsized)]


def _text(name: str, value: Any) -> str:  # noqa: ANN401 - whatever a point has
    if value is None:
        return ""
    if name == "varied":
        return json.dumps(dict(value))
    return json.dumps(value, allow_nan=False) if name == "rate_front" else str(value)
