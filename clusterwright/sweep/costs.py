"""What a run costs at the points of a sweep: rented on demand, or its share of owning what is bought."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError, InputError, MissingFactError, RuleError
from clusterwright.facility.cloud_bill import cloud_bill
from clusterwright.facility.storage.file_system import choose_file_system
from clusterwright.plan.decide import economics_of
from clusterwright.plan.facts import Facts
from clusterwright.plan.owned.design import owned_design
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sweep.records import TERM, Question, SweptPoint
from clusterwright.tco.ledger.engine import cost
from clusterwright.tco.on_demand import RunCost, run_costs
from clusterwright.tco.terms.records import Candidate, CandidateCost

#: Nodes of all designs of one front together: a design lays every cable, which takes 0.6 ms a node on one core.
DESIGNED_NODES = 1_000
NOT_DESIGNED = "not designed: a front is designed up to 1,000 nodes in all; ask for this size with --nodes"
Place = tuple[int, int]


def with_costs(
    questions: Sequence[Question],
    fronts: Sequence[Sequence[SizedPoint]],
    swept: Sequence[Sequence[SweptPoint]],
    facts: Facts,
) -> list[tuple[SweptPoint, ...]]:
    """Return the points of every front with their cost, or with the reason why there is none.

    What is bought is counted in one cash flow; what is rented on demand needs none.

    Args:
        questions: of one scenario.
        fronts: of each, as sizing gives them.
        swept: the same points as a sweep shows them.
        facts: catalogue and prices.
    """
    costed, reasons = costs_of(questions, fronts, [[point.meets_goal for point in points] for points in swept], facts)

    def shown(place: Place, point: SweptPoint) -> SweptPoint:
        return _with_cost(point, costed[place]) if place in costed else replace(point, cost_note=reasons[place])

    return [
        tuple(shown((position, index), point) for index, point in enumerate(points))
        for position, points in enumerate(swept)
    ]


def costs_of(
    questions: Sequence[Question],
    fronts: Sequence[Sequence[SizedPoint]],
    met: Sequence[Sequence[bool | None]],
    facts: Facts,
) -> tuple[dict[Place, CandidateCost | RunCost], dict[Place, str]]:
    """Return what each point of each front costs, by place of question and point, and why others have no cost.

    Args:
        questions: of one scenario.
        fronts: of each, as sizing gives them.
        met: whether each point meets the goals.
        facts: catalogue and prices.
    """
    candidates: dict[Place, Candidate] = {}
    reasons: dict[Place, str] = {}
    for position, (question, front) in enumerate(zip(questions, fronts, strict=True)):
        offers = _owned if question.place.target == "onprem" else _rented
        for index, offer in offers(question, facts.catalogue, front, met[position]):
            if isinstance(offer, str):
                reasons[position, index] = offer
            else:
                candidates[position, index] = replace(offer, key=f"{position}/{index}")
    economics = economics_of(questions[0].scenario.blueprint, facts.book)
    costed: dict[Place, CandidateCost | RunCost] = {}
    for owned, counted in ((True, cost), (False, run_costs)):
        alike = {place: entry for place, entry in candidates.items() if entry.owned is owned}
        if alike:
            costed |= zip(alike, counted(list(alike.values()), economics, facts.book), strict=True)

    return costed, reasons


def _rented(
    question: Question, _catalogue: Catalogue, front: Sequence[SizedPoint], _: Sequence[bool | None]
) -> Iterator[tuple[int, Candidate | str]]:
    place = question.place
    asked = getattr(question.scenario.blueprint.targets, place.target, None)
    for index, point in enumerate(front):
        try:
            file_system = choose_file_system(cloud=place.target, need=point.storage)
        except RuleError as error:
            yield index, error.findings[0].message
            continue
        yield (
            index,
            Candidate(
                key="",
                target=place.target,
                bill=cloud_bill(
                    cloud=place.target,
                    region=place.region,
                    scheduler=asked.scheduler if asked else "slurm",
                    point=point,
                    file_system=file_system,
                ),
                nodes=point.nodes,
                gpus=point.gpus,
                calendar_days=point.calendar_days,
                run_time_low=point.calendar_days_low / point.calendar_days,
                run_time_high=point.calendar_days_high / point.calendar_days,
                term=TERM,
            ),
        )


def _owned(
    question: Question, catalogue: Catalogue, front: Sequence[SizedPoint], meets: Sequence[bool | None]
) -> Iterator[tuple[int, Candidate | str]]:
    """Yield designs in the order in which owners ask: from the smallest that meets the goal up, then the rest."""
    first = next((index for index, met in enumerate(meets) if met is not False), max(len(front) - 1, 0))
    left = DESIGNED_NODES
    hopeless = ""
    for index in (*range(first, len(front)), *range(first - 1, -1, -1)):
        point = front[index]
        if hopeless or (point.nodes > left and left < DESIGNED_NODES):
            yield index, hopeless or NOT_DESIGNED
            continue
        left -= point.nodes
        try:
            yield index, _bought(question, catalogue, point)
        except (InputError, MissingFactError) as error:
            hopeless = error.message  # whatever the size
            yield index, hopeless
        except ClusterwrightError as error:
            yield index, error.message


def _bought(question: Question, catalogue: Catalogue, point: SizedPoint) -> Candidate | str:
    system = catalogue.systems[question.place.node.id]
    design = owned_design(question.scenario.blueprint, catalogue, system, point)
    if design.findings:
        return "; ".join(finding.message for finding in design.findings)
    return Candidate(
        key="",
        target="onprem",
        bill=design.bill,
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        run_time_low=point.calendar_days_low / point.calendar_days,
        run_time_high=point.calendar_days_high / point.calendar_days,
    )


def _with_cost(point: SweptPoint, found: CandidateCost | RunCost) -> SweptPoint:
    missing = "; ".join(dict.fromkeys(f"{price.item}: {price.reason}" for price in found.missing))
    return replace(
        point,
        run_usd=_rounded(found.run_usd, 2),
        run_usd_low=_rounded(found.run_usd_low, 2),
        run_usd_high=_rounded(found.run_usd_high, 2),
        capex_usd=_rounded(found.capex_usd, 2) if isinstance(found, CandidateCost) else None,
        usd_per_gpu_hour=_rounded(found.usd_per_gpu_hour, 6),
        priced_share=_rounded(found.priced_share, 6),
        cost_note=missing,
    )


def _rounded(value: float | None, digits: int) -> float | None:
    """Return a sum without the last digits, which depend on what else was summed in the same query."""
    return None if value is None else round(value, digits)
