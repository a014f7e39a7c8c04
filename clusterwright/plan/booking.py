"""What is booked and paid whole for a run: nodes and days of a capacity block, more of both than the run needs."""

from dataclasses import dataclass, replace

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.facility.bill import Bill
from clusterwright.sizing.records.point import SizedPoint


@dataclass(frozen=True, kw_only=True, slots=True)
class Booked:
    """A booking that is paid whole, whether its time is used or not.

    Attributes:
        name: of what is booked, in words.
        nodes, days: of the booking.
    """

    name: str
    nodes: int
    days: int


def booked_of(target: ResolvedTarget, point: SizedPoint) -> Booked | None:
    """Return what must be booked for a run; None where capacity is paid for the hours of the run alone."""
    capacity = target.capacity
    if capacity is None or capacity.step_days is None:
        return None
    whole_days = capacity.lasts(point.calendar_days_high) or capacity.lasts(point.calendar_days)
    nodes = min((count for count in capacity.node_counts if count >= point.nodes), default=point.nodes)
    return None if whole_days is None else Booked(nodes=nodes, days=whole_days, name=capacity.name)


def with_booking(bill: Bill, booked: Booked | None, *, nodes: int, calendar_days: float, unit: str) -> Bill:
    """Return a bill with the nodes and days of a booking beyond those of the work, which are paid too.

    They stand as more of the nodes that the bill begins with, for the hours of a unit of work, by its name.
    """
    if booked is None:
        return bill
    beyond = booked.nodes * booked.days / calendar_days - nodes
    rest = replace(
        bill.lines[0],
        item=f"Rest of the {booked.name}",
        quantity=beyond,
        note=f"{booked.nodes:,} nodes for {booked.days} days are paid whole, in nodes for the time of the {unit}",
    )
    return replace(bill, lines=(bill.lines[0], rest, *bill.lines[1:]))


def without_booking(bill: Bill, booked: Booked | None) -> Bill:
    """Return a bill as it is where nothing is booked."""
    return bill if booked is None else replace(bill, lines=(bill.lines[0], *bill.lines[2:]))
