"""Where and how a cloud target asks for its nodes, compared with what the cloud has."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.sections.clouds import OFFERED_BY, CloudTarget
from clusterwright.catalog.offerings import known_regions, listed_regions, verdict, zone_verdict
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.clouds import CLOUDS

#: How each cloud names a reservation of capacity: (pattern, example).
RESERVATION_IDS = {
    "aws": (r"cr-[0-9a-f]{8,17}", "cr-0123456789abcdef0"),
    "azure": (
        r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+",
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/capacityReservationGroups/NAME",
    ),
    "gcp": (
        r"[a-z][a-z0-9-]*|projects/[a-z0-9-]+/reservations/[a-z0-9-]+(/reservationBlocks/[a-z0-9-]+)?",
        "my-reservation, or projects/PROJECT/reservations/NAME",
    ),
}
#: What a zone of a region is called, by cloud.
_ZONES = {
    "aws": "a zone is the region and a letter, for example {region}a; nodes, fabric and file system share one zone",
    "azure": "zones of Azure are 1, 2 and 3; nodes, fabric and file system share one",
    "gcp": "a zone is the region and a letter, such as {region}-b; nodes, fabric and file system share one zone",
}
#: Kinds of capacity that one cloud alone has, in a sentence.
_OFFERS = {
    "capacity-block": "capacity blocks are an offer of AWS",
    "block-reservation": "block capacity reservations are an offer of Azure",
    "flex-start": "flex-start is an offer of Google Cloud",
}


def place_problems(cloud: str, asked: CloudTarget) -> list[Problem]:
    """Return what is wrong with zone, capacity and reservation, whatever the instance type.

    `PLC003`: a zone of another region; `CAP001`: capacity of another cloud; `CAP002`: no id of a reservation.
    """
    path: Path = ("targets", cloud)
    problems = []
    if asked.zone is not None and not CLOUDS[cloud].fits_region(asked.zone, asked.region):
        problems.append(
            Problem(
                id="PLC003",
                path=(*path, "zone"),
                message=f"zone {asked.zone!r} is not in region {asked.region!r}",
                help=_ZONES[cloud].format(region=asked.region),
            )
        )
    shape, example = RESERVATION_IDS[cloud]
    if OFFERED_BY.get(asked.capacity, cloud) != cloud:
        problems.append(
            Problem(
                id="CAP001",
                path=(*path, "capacity"),
                message=f"{_OFFERS[asked.capacity]}, not of {cloud}",
                help=f"{cloud} has on-demand, spot, reservation and {_own_offer(cloud)}",
            )
        )
    elif asked.reservation is not None and re.fullmatch(shape, asked.reservation) is None:
        problems.append(
            Problem(
                id="CAP002",
                path=(*path, "reservation"),
                message=f"{asked.reservation!r} is not the id of a reservation of {cloud}",
                help=f"for example {example}",
            )
        )
    return problems


def zone_problems(catalogue: Catalogue, cloud: str, asked: CloudTarget) -> list[Problem]:
    """Return `PLC006` for a zone that the region does not have, as all sources that know the region say.

    A zone of another region is `PLC003` and nothing here; one that a single source leaves out is a warning. Where no
    zone is named, the region has to have one at all.
    """
    if asked.zone is not None and not CLOUDS[cloud].fits_region(asked.zone, asked.region):
        return []
    says = zone_verdict(catalogue, cloud, asked.region, asked.zone or "")
    if not says.refused or (asked.zone is None and says.known):
        return []
    sources = " and ".join(says.left_out_by)
    if says.known:
        message = f"{asked.region!r} has no zone {asked.zone!r}, say {sources}"
        advice = f"choose one of {', '.join(says.known)}"
    else:
        message = f"{asked.region!r} has no availability zones, say {sources}"
        advice = "choose a region that has them: the stacks put nodes and file system into one zone"
    field = "region" if asked.zone is None else "zone"
    return [Problem(id="PLC006", path=("targets", cloud, field), message=message, help=advice)]


def offer_problems(catalogue: Catalogue, cloud: str, asked: CloudTarget, instance: Instance) -> list[Problem]:
    """Return why an instance type cannot be had where and as the target asks.

    `CAP001`: not by this kind of capacity; `PLC001`: not in this region. A region that only one source leaves out is
    doubtful and no problem, except for a type that was left to choose: there it means another one. A region in which no
    source lists any type at all is taken for a slip of the pen.
    """
    path: Path = ("targets", cloud)
    problems = []
    kinds = [catalogue.capacity_objects[key].kind for key in instance.capacity_objects]
    if asked.capacity not in kinds and OFFERED_BY.get(asked.capacity, cloud) == cloud:
        other = catalogue.capacity_objects.get(f"{cloud}-{asked.capacity}")
        reason = f": it {other.note.split(';')[0]}" if other is not None and other.placement == "none" else ""
        problems.append(
            Problem(
                id="CAP001",
                path=(*path, "capacity"),
                message=f"{instance.id} cannot be had as {asked.capacity}{reason}",
                help=f"choose {' or '.join(kinds)}",
            )
        )
    found = verdict(catalogue, instance, asked.region)
    left_to_choose = asked.allowed_instances is not None
    listed = listed_regions(catalogue, instance)
    nowhere = asked.region not in known_regions(catalogue, cloud)
    if nowhere or found.refused or (left_to_choose and found.left_out_by and not found.listed_by):
        problems.append(
            Problem(
                id="PLC001",
                path=(*path, "region"),
                message=f"no source lists {instance.id} in {asked.region!r}",
                help=_meant(catalogue, cloud, asked.region, listed)
                + f"it is listed in {', '.join(listed) or 'no region that is known'}",
            )
        )
    return problems


def _meant(catalogue: Catalogue, cloud: str, region: str, listed: Sequence[str]) -> str:
    """Return which of the listed regions one that no source knows may have been meant for, as the beginning of a help.

    Nothing where the region is known; of a region of another cloud, that it is.
    """
    known = known_regions(catalogue, cloud)
    if region in known:
        return ""
    for other in sorted(set(RESERVATION_IDS) - {cloud}):
        if region in known_regions(catalogue, other):
            return f"{region} is a region of {other}; "
    close = get_close_matches(region.lower(), listed, n=2)
    return f"did you mean {' or '.join(repr(name) for name in close)}? " if close else ""


def _own_offer(cloud: str) -> str:
    return next(kind for kind, owner in OFFERED_BY.items() if owner == cloud)
