"""How nodes are obtained: a kind the cloud has, one object that decides placement, enough of it for long enough."""

import re
from collections.abc import Iterator

from clusterwright.blueprint.cloud_places import RESERVATION_IDS
from clusterwright.checks.project import Setting
from clusterwright.checks.results import Outcome, passed
from clusterwright.checks.subject import CAPACITY_OBJECT, Subject
from clusterwright.checks.values import flag, text, whole

#: Kinds of capacity that programs take, by cloud.
KINDS = {
    "aws": ("on-demand", "spot", "reservation", "capacity-block"),
    "azure": ("on-demand", "spot", "reservation", "block-reservation"),
    "gcp": ("on-demand", "spot", "reservation", "flex-start"),
}
RESERVED = ("reservation", "capacity-block", "block-reservation")
#: Settings that ask for placement of one's own; a reservation brings its own.
_PLACEMENT = ("placementMaxDistance", "placementGroup", "placementGroupName", "proximityPlacementGroup", "placement")


def kind(subject: Subject) -> Iterator[Outcome]:
    """Check the kind of capacity, and that a reservation is named where one is meant and only there."""
    setting = subject.project.setting("capacity")
    capacity, known = subject.capacity, KINDS[subject.cloud]
    if capacity not in known:
        yield _outcome(setting, f"{subject.cloud} has no capacity of kind {capacity!r}", f"one of {', '.join(known)}")
        return
    named = subject.project.setting("reservationId")
    reservation, reserved = subject.reservation, capacity in RESERVED
    pattern, example = RESERVATION_IDS[subject.cloud]
    what = CAPACITY_OBJECT[subject.cloud]
    if reserved and not reservation:
        yield _outcome(
            setting,
            f"capacity is {capacity}, but no {what} is named",
            f"(cd nodes && pulumi config set reservationId {example}); nothing is bought for you",
        )
    elif reservation and not reserved:
        yield _outcome(
            named,
            f"a {what} is named, but capacity is {capacity}",
            "set capacity to reservation, or remove reservationId: one of the two would be ignored",
        )
    elif reservation and re.fullmatch(pattern, reservation) is None:
        yield _outcome(named, f"{reservation!r} is not the id of a {what}", f"for example {example}")
    else:
        yield passed(f"{capacity}{f' {reservation}' if reservation else ''}", setting.place if setting else None)


def placement(subject: Subject) -> Iterator[Outcome]:
    """Check that placement and reservation are not both asked for: together they end in insufficient capacity."""
    asked = [setting for key in _PLACEMENT for setting in subject.project.settings(key) if _asks(setting)]
    if subject.capacity in (*RESERVED, "flex-start") and asked:
        for setting in asked:
            yield _outcome(
                setting,
                f"{setting.name} asks for placement beside capacity {subject.capacity}, which brings its own",
                f"remove {setting.name}: together they end in insufficient capacity, with part of the nodes missing",
            )
        return
    own = subject.instance.placement_kind if subject.instance else None
    brought = {"flex-start": "the request", **dict.fromkeys(RESERVED, "the reservation")}
    decided = brought.get(subject.capacity, own or "nothing")
    yield passed(f"placement by {decided}")


def _asks(setting: Setting) -> bool:
    """Tell whether a value asks for placement: a number above 0, true, or a name."""
    number, switch = whole(setting.value), flag(setting.value)
    if number is not None:
        return number > 0
    return bool(text(setting.value)) if switch is None else switch


def _outcome(setting: Setting | None, message: str, fix: str) -> Outcome:
    return Outcome(status="FAIL", message=message, fix=fix, place=setting.place if setting else None)
