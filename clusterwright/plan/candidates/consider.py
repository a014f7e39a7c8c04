"""What can be chosen from: each target's sizes with their bills, the first stage of an alternative."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding, RuleError
from clusterwright.facility.bill import Bill
from clusterwright.facility.cloud_bill import cloud_bill
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.storage.file_system import FileSystem, choose_file_system
from clusterwright.plan.booking import Booked, booked_of, with_booking
from clusterwright.plan.bounds import bounds_of
from clusterwright.plan.candidates.cloud_limits import asked_of, cloud_findings
from clusterwright.plan.engine import Engine
from clusterwright.plan.facts import Facts
from clusterwright.plan.owned.design import HallLimit, hall_limit, owned_design
from clusterwright.plan.target_network import with_levels
from clusterwright.plan.work import owned_hours_suffice
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.tco.terms.records import Candidate
from clusterwright.units import SECONDS_PER_DAY

#: Terms under which rented compute nodes are paid, by how their capacity is obtained.
TERM_OF_CAPACITY = {
    "on-demand": "on_demand",
    "spot": "spot",
    "reservation": "on_demand",
    "capacity-block": "capacity_block",
    "block-reservation": "on_demand",
    "flex-start": "flex_start",
}
#: Owned clusters are billed up to this many times the nodes of the smallest, and this many sizes; see `consider`.
OWNED_NODES_MARGIN = 1.5
OWNED_SIZES = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedAlternative:
    """A size of a target's hardware with its bill: an alternative before it is costed.

    Attributes:
        resolved: target and hardware.
        point: size, as the engine of the workload gave it.
        candidate: the same as cost takes it: bill, time of a unit of work, terms of payment.
        design: on premises, file_system: of clouds; None for the other.
        meets_goal: whether the goals are met with their confidence.
        booked: booking that is paid whole; None where the hours of the work alone are paid.
    """

    resolved: ResolvedTarget
    point: SizedPoint
    candidate: Candidate
    design: OnPremDesign | None
    file_system: FileSystem | None
    meets_goal: bool
    booked: Booked | None = None

    @property
    def key(self) -> str:
        """Name of the candidate where sizes are costed."""
        return self.candidate.key

    @property
    def term(self) -> str | None:
        """Term under which rented nodes are paid; None for what is owned."""
        return self.candidate.term

    @property
    def compared(self) -> "SizedAlternative":
        """It as sizes are compared: done the fastest way; what is booked is paid whole and costs the same."""
        fastest = self.point.fastest
        if fastest is None or self.booked is not None:
            return self
        candidate = candidate_of(fastest, self.candidate.bill, key=f"{self.key}/fastest", term=self.term)
        return replace(self, point=fastest, candidate=candidate)

    def under(self, term: str) -> "SizedAlternative":
        """Return the same size paid under a commitment; nothing is booked for a unit of work then."""
        key = key_of(self.resolved, self.point, term)
        return replace(self, candidate=candidate_of(self.point, self.candidate.bill, key=key, term=term), booked=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Considered:
    """What was looked at of one target's hardware.

    Attributes:
        points: sizes that meet the goal and can be had, fewest nodes first; the fastest one where none meets it.
        sized: those of them that were billed, in the same order.
        missing: sizes that do not meet the goal, fewest nodes first.
    """

    points: tuple[SizedPoint, ...]
    sized: tuple[SizedAlternative, ...]
    missing: tuple[SizedPoint, ...] = ()


def consider(blueprint: Blueprint, facts: Facts, engine: Engine, target: ResolvedTarget) -> Considered:
    """Return the sizes of a target that meet the goals, or the one nearest to them where none does, and the bills.

    Renting is billed for every size. Owning is billed for the sizes that can cost least over the horizon: all sizes do
    the same work there, and what is bought rises with the number of nodes, so a size with `OWNED_NODES_MARGIN` times
    the nodes of the smallest cannot win by the energy that it saves. At most `OWNED_SIZES` are billed, because each
    takes a whole design with all its cables.

    Raises:
        RuleError: the job does not fit, or every size is refused.
    """
    asked = getattr(blueprint.targets, target.target)
    wrong = cloud_findings(blueprint, facts, target)
    if wrong:
        raise RuleError(tuple(wrong))
    target = replace(target, node=with_levels(blueprint, target.node, facts.catalogue))
    front, target = _front_in_hall(blueprint, facts, engine, target)
    front = tuple(_as_taken(blueprint, target, point) for point in front)
    meeting = [point for point in front if engine.meets_goals(blueprint, point)]
    missing = tuple(point for point in front if not engine.meets_goals(blueprint, point))
    meeting = _fast_enough(blueprint, target, _within_capacity(target, meeting))
    # Where no size meets the goals, the nearest that can be had is shown with what is missing. So it is where the hall
    # holds none of those that meet it.
    met = {point.nodes for point in meeting}
    slower = [point for point in front if point.nodes not in met]
    if meeting and target.system is None:
        slower = []
    term = None if target.system else TERM_OF_CAPACITY[asked.capacity]
    unit = engine.workload(blueprint).unit
    sized: list[SizedAlternative] = []
    left: list[SizedPoint] = []
    refused: list[Finding] = []
    for point in (*meeting, *sorted(slower, key=lambda point: engine.shortfall(point.compared))):
        meets = point.nodes in met
        if sized and not meets:
            break
        if target.system is not None and _beyond(point, sized):
            left.append(point)
            continue
        try:
            bill, design, file_system = _bill(blueprint, facts.catalogue, target, point)
        except RuleError as error:
            refused += error.findings
            continue
        if design is not None and design.findings:
            refused += design.findings
            continue
        left.append(point)
        booked = booked_of(target, point)
        paid = with_booking(bill, booked, nodes=point.nodes, calendar_days=point.calendar_days, unit=unit.name)
        key = key_of(target, point, term)
        sized.append(
            SizedAlternative(
                resolved=target,
                point=point,
                candidate=candidate_of(point, paid, key=key, term=term, booked=booked is not None),
                design=design,
                file_system=file_system,
                meets_goal=meets,
                booked=booked,
            )
        )
    if not sized:
        # Every size is refused for the same rule; the first one's numbers are those of the smallest cluster.
        raise RuleError((refused[0],))
    return Considered(points=tuple(left), sized=tuple(sized), missing=missing)


def _front_in_hall(
    blueprint: Blueprint, facts: Facts, engine: Engine, target: ResolvedTarget
) -> tuple[tuple[SizedPoint, ...], ResolvedTarget]:
    """Return the sizes that the hall holds, and the target with that limit; rented hardware has none.

    Raises:
        RuleError: not even one node fits, or the job needs more nodes than fit (`HAL005`), or as `Engine.front`.
    """
    limit = None if target.system is None else hall_limit(blueprint, facts.catalogue, target.system, target.node)
    if limit is None:
        return _front(blueprint, engine, target), target
    within = replace(target, hall_nodes=limit.nodes, hall_keys=limit.words)
    try:
        return _front(blueprint, engine, within), within
    except RuleError:
        needed = min(point.nodes for point in _front(blueprint, engine, target))
        if needed <= limit.nodes:
            raise
        raise RuleError((_hall_too_small(limit, needed, target, blueprint),)) from None


def _front(blueprint: Blueprint, engine: Engine, target: ResolvedTarget) -> tuple[SizedPoint, ...]:
    """Return the sizes of a target's hardware that no size beats, within what the target allows."""
    return tuple(engine.front(blueprint, target, bounds_of(blueprint, target)))


def _hall_too_small(limit: HallLimit, needed: int, target: ResolvedTarget, blueprint: Blueprint) -> Finding:
    owned = blueprint.targets.onprem
    asked = None if owned is None else owned.min_nodes
    # Where the user asked for this many, another system would not help: the number would.
    other = "choose a system with more memory per node"
    if asked is not None and asked > limit.nodes:
        other = "lower targets.onprem.min_nodes"
    return Finding(
        id="HAL005",
        path=("site", "hall") if "hall" in limit.words else ("site", *limit.words.split(".")[1:2]),
        message=(
            f"the job needs at least {needed} × {target.node.id}, the hall holds {limit.nodes} with their networks "
            f"({limit.words})"
        ),
        help=f"raise {limit.words} until {needed} nodes fit, or {other}",
    )


def _within_capacity(target: ResolvedTarget, points: list[SizedPoint]) -> list[SizedPoint]:
    """Return the sizes whose run ends while their capacity lasts; all of them where none does."""
    capacity = target.capacity
    if capacity is None or capacity.most_days is None:
        return points
    lasting = [point for point in points if capacity.lasts(point.calendar_days_high) is not None]
    return lasting or points


def _as_taken(blueprint: Blueprint, target: ResolvedTarget, point: SizedPoint) -> SizedPoint:
    """Return a size done the fastest way where another one would be booked for longer, or leave too few hours."""
    fastest, capacity = point.fastest, target.capacity
    if fastest is None:
        return point
    booked_alike = booked_of(target, point) == booked_of(target, fastest)
    if capacity is not None and capacity.lasts(point.calendar_days_high) is None:
        booked_alike &= capacity.lasts(fastest.calendar_days_high) is None
    hours = target.system is None or owned_hours_suffice(blueprint, point.calendar_days)
    return point if booked_alike and (hours or not owned_hours_suffice(blueprint, fastest.calendar_days)) else fastest


def _fast_enough(blueprint: Blueprint, target: ResolvedTarget, points: list[SizedPoint]) -> list[SizedPoint]:
    """Return the sizes that have hours enough for the runs of the horizon; the fastest where none does."""
    if target.system is None:
        return points
    enough = [point for point in points if owned_hours_suffice(blueprint, point.calendar_days)]
    return enough or sorted(points, key=lambda point: point.calendar_days)[:1]


def key_of(target: ResolvedTarget, point: SizedPoint, term: str | None) -> str:
    """Return what names a target's size under a term where candidates are costed: `aws/p5.48xlarge/48/on_demand`."""
    return f"{target.target}/{target.node.id}/{point.nodes}/{term or 'purchase'}"


def _beyond(point: SizedPoint, billed: Sequence[SizedAlternative]) -> bool:
    return bool(billed) and (len(billed) >= OWNED_SIZES or point.nodes > OWNED_NODES_MARGIN * billed[0].point.nodes)


def _bill(
    blueprint: Blueprint, catalogue: Catalogue, target: ResolvedTarget, point: SizedPoint
) -> tuple[Bill, OnPremDesign | None, FileSystem | None]:
    if target.system is None:
        asked: CloudTarget = getattr(blueprint.targets, target.target)
        file_system = choose_file_system(
            cloud=target.target,
            need=point.storage,
            asked=asked_of(asked),
        )
        bill = cloud_bill(
            cloud=target.target,
            region=asked.region,
            scheduler=asked.scheduler,
            point=point,
            file_system=file_system,
        )
        return bill, None, file_system
    design = owned_design(blueprint, catalogue, target.system, point)
    return design.bill, design, None


def candidate_of(point: SizedPoint, bill: Bill, *, key: str, term: str | None, booked: bool = False) -> Candidate:
    """Return a size as cost takes it; a booking is paid whole, however long the work takes."""
    return Candidate(
        key=key,
        target=bill.target,
        bill=bill,
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        run_time_low=1.0 if booked else point.calendar_days_low / point.calendar_days,
        run_time_high=1.0 if booked else point.calendar_days_high / point.calendar_days,
        term=term,
    )


def days(seconds: float | None) -> float | None:
    """Return seconds as days; None where there is no value."""
    return None if seconds is None else seconds / SECONDS_PER_DAY
