"""The front of one node type with its costs, and all fronts of a sweep put together. Nothing is chosen here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from clusterwright.blueprint.resolve import Resolved
from clusterwright.errors import ClusterwrightError, RuleError
from clusterwright.plan.candidates.consider import days
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.job import front_of, training_job
from clusterwright.pricing.lake import Reach
from clusterwright.sizing.records.job import Front, TrainingPoint
from clusterwright.sweep.costs import with_costs
from clusterwright.sweep.records import Answer, NotSized, Question, Scenario, Sweep, SweptPoint


@cache
def facts(reach: Reach | None = None) -> Facts:
    """Return the facts, opened once per process: questions are answered in several, or on several machines.

    Args:
        reach: lists object storage; without it prices there cannot be read.
    """
    return Facts.open(reach=reach)


def answers(questions: Sequence[Question], reach: Reach | None = None) -> list[Answer]:
    """Return the front of each question, costed together; the same wherever and with whichever others it is asked.

    A node type that cannot be sized gives a reason and no error, so that one does not end the others.

    Args:
        questions: of one scenario.
        reach: lists object storage; without it prices there cannot be read.
    """
    known = facts(reach)
    found = [_sized(question, known) for question in questions]
    shown = with_costs(questions, [entry.points for entry in found], [entry.swept for entry in found], known)
    return [
        Answer(points=points, not_sized=entry.not_sized, layouts_evaluated=entry.layouts_evaluated)
        for entry, points in zip(found, shown, strict=True)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sized:
    """A front before it is costed: its points as sizing gives them and as the sweep shows them."""

    points: tuple[TrainingPoint, ...] = ()
    swept: tuple[SweptPoint, ...] = ()
    not_sized: NotSized | None = None
    layouts_evaluated: int = 0


def _sized(question: Question, known: Facts) -> _Sized:
    try:
        front = _front(question, known)
    except RuleError as error:
        return _Sized(not_sized=_without(question, "; ".join(finding.message for finding in error.findings)))
    except ClusterwrightError as error:
        return _Sized(not_sized=_without(question, error.message))
    return _Sized(
        points=front.points,
        swept=tuple(_swept(question, point) for point in front.points),
        layouts_evaluated=front.layouts_evaluated,
    )


def _front(question: Question, known: Facts) -> Front:
    scenario = question.scenario
    job = training_job(scenario.blueprint, Resolved(model=scenario.model, targets=()))
    return front_of(scenario.blueprint, known.calibration, job, question.place.node, bounds=question.bounds, spot=False)


def _without(question: Question, reason: str) -> NotSized:
    return NotSized(
        blueprint=question.scenario.name,
        varied=question.scenario.varied,
        node_type=question.place.node.id,
        accelerator=question.place.node.accelerator.id,
        reason=reason,
    )


def _swept(question: Question, point: TrainingPoint) -> SweptPoint:
    place, scenario = question.place, question.scenario
    goal_days = days(scenario.blueprint.goals.finish_within)
    return SweptPoint(
        blueprint=scenario.name,
        varied=scenario.varied,
        target=place.target,
        region=place.region,
        node_type=place.node.id,
        accelerator=place.node.accelerator.id,
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        calendar_days_low=point.calendar_days_low,
        calendar_days_high=point.calendar_days_high,
        meets_goal=None if goal_days is None else point.calendar_days_high <= goal_days,
        tokens_per_s_per_gpu=point.tokens_per_s_per_gpu,
        mfu=point.mfu,
        goodput=point.goodput.fraction,
        memory_bytes_per_gpu=point.memory.total,
        hbm_bytes_per_gpu=place.node.hbm_bytes_per_gpu,
        layout=point.layout,
        slower_share=0.0 if point.faster is None else point.faster.slower_share,
    )


def gathered(
    scenarios: Sequence[Scenario],
    answers: Sequence[Answer],
    before: Sequence[NotSized],
    *,
    catalogue: str,
    reach: Reach | None = None,
) -> Sweep:
    """Return a sweep from the answers to its questions.

    Args:
        scenarios: that were asked about.
        answers: in the order of the questions, scenario by scenario.
        before: what was found not to be sizable before anything was asked.
        catalogue: version of the facts.
        reach: lists object storage; without it prices there cannot be read.
    """
    points = [point for entry in answers for point in entry.points]
    marked: list[SweptPoint] = []
    for _, group in groupby(points, key=lambda point: (point.blueprint, point.varied)):
        marked += _marked(list(group))
    newest = facts(reach).book.newest_day
    return Sweep(
        scenarios=tuple(scenarios),
        points=tuple(marked),
        not_sized=(*before, *(entry.not_sized for entry in answers if entry.not_sized is not None)),
        layouts_evaluated=sum(entry.layouts_evaluated for entry in answers),
        as_of=tuple((entry.blueprint.economics.as_of or newest).isoformat() for entry in scenarios),
        catalogue=catalogue,
    )


def _marked(points: list[SweptPoint]) -> list[SweptPoint]:
    """Mark the points of one scenario that no other one beats in calendar days and cost of the run.

    Rented points are compared with rented ones, bought against bought: a share of owning needs the work of a horizon.
    """
    priced = [
        (point.target == "onprem", point.compared_days, point.compared_usd, index)
        for index, point in enumerate(points)
        if point.compared_usd
    ]
    unbeaten = set()
    for _, same in groupby(sorted(priced), key=lambda entry: entry[0]):
        least = float("inf")
        for _, _, usd, index in same:
            if usd < least:
                least = usd
                unbeaten.add(index)
    return [replace(point, unbeaten=index in unbeaten) for index, point in enumerate(points)]
