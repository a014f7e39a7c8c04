"""From a provider's answers to outcomes: enough quota, offered here, a reservation that holds, images that exist."""

import datetime as dt
from collections.abc import Iterable, Iterator

from clusterwright.blueprint.sections.clouds import RESERVED
from clusterwright.checks.preflight.configuration.quotas import ask, networks_needed
from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.online.answers import Provider, Quota, Reservation, Subnet
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

#: Instances of a Capacity Block start to terminate so long before it ends (Amazon EC2 User Guide, Capacity Blocks).
_BLOCK_ENDS_EARLY = dt.timedelta(minutes=30)
_OTHER_MACHINES = ("controllerInstanceType", "loginInstanceType", "systemInstanceType")
_IMAGES = ("nodeType.image", "controllerImage", "loginImage", "systemImage")


def account(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Tell whose account is asked."""
    yield passed(f"{subject.cloud}: {provider.account()}")


def quota(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Hold what is left of the quota against what the nodes use."""
    needed = ask(subject)
    if needed is None:
        return
    yield _enough(provider.quota(needed), needed.amount, needed.unit, subject.project.setting("nodeCount"), needed.more)


def networks(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Hold what is left of the quota of networks against what the project makes."""
    count = networks_needed(subject)
    found = provider.network_quota() if count else None
    if found is not None:
        yield _enough(found, count, "networks", None, "ask for it under IAM & Admin, Quotas")


def _enough(found: Quota, amount: int, unit: str, setting: Setting | None, command: str) -> Outcome:
    place = setting.place if setting else None
    if found.limit is None:
        return Outcome(
            status="UNKNOWN", message=f"the provider does not say how much of {found.name} there is", place=place
        )
    left = found.limit - (found.used or 0.0)
    used = f", {found.used:,.0f} used" if found.used is not None else ""
    have = f"{found.name} is {found.limit:,.0f}{used}"
    if left < amount:
        return Outcome(
            status="FAIL", message=f"{have}; {amount:,} {unit} are needed", fix=f"ask for more: {command}", place=place
        )
    unsaid = "" if found.used is not None else " (the provider does not say how much of it is used)"
    return passed(f"{have}; {amount:,} {unit} are needed{unsaid}", place)


def offered(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Check that the type can be had in the zone, by this account."""
    offer = provider.offer(subject.instance_type)
    setting = subject.zone_setting
    place = setting.place if setting else None
    for restriction in offer.restrictions:
        yield Outcome(
            status="FAIL",
            message=f"{subject.instance_type}: {restriction}",
            fix="ask the provider's support to lift it, or take another region",
            place=place,
        )
    if subject.zone not in offer.zones:
        where = ", ".join(offer.zones) or f"no zone of {subject.region}"
        yield Outcome(
            status="FAIL",
            message=f"{subject.instance_type} is not offered in {subject.zone}, but in {where}",
            fix=f"set the zone in every layer to one of {where}" if offer.zones else "take another region",
            place=place,
        )
    elif not offer.restrictions:
        yield passed(f"{subject.instance_type} is offered in {', '.join(offer.zones)}", place)
    seen: set[str] = set()
    for key in _OTHER_MACHINES:
        for machine in subject.project.settings(key):
            name = text(machine.value)
            if name and name not in seen and subject.zone not in provider.offer(name).zones:
                yield Outcome(
                    status="FAIL",
                    message=f"{machine.name}: {name} is not offered in {subject.zone}",
                    fix=f"./cluster.sh set {machine.name} …",
                    place=machine.place,
                )
            seen.add(name)


def reservation(subject: Subject, provider: Provider, now: dt.datetime) -> Iterator[Outcome]:
    """Check that the reservation exists, is of this type and zone, has enough free, and lasts."""
    if subject.capacity not in RESERVED or not subject.reservation:
        return
    setting = subject.project.setting("reservationId")
    place = setting.place if setting else None
    found = provider.reservation(subject.reservation, subject.zone)
    if not found:
        yield Outcome(
            status="FAIL",
            message=f"there is no {subject.reservation} in {subject.region}",
            fix="take the id from the provider's list of reservations",
            place=place,
        )
        return
    fitting = [entry for entry in found if entry.instance_type in ("", subject.instance_type)]
    problems = [_wrong(subject, entry) for entry in (fitting or found)]
    wrong = [problem for several in problems for problem in several]
    free = sum(entry.free for entry in fitting if entry.usable)
    wanted = subject.node_count or 0
    if not wrong and free < wanted:
        wrong.append(f"{free:,} of {sum(entry.total for entry in fitting):,} are free, {wanted:,} nodes are wanted")
    wrong += [late for entry in fitting if (late := _too_short(subject, entry, now))]
    for problem in wrong:
        yield Outcome(
            status="FAIL",
            message=f"{subject.reservation}: {problem}",
            fix="take a reservation that fits, or fewer nodes; nothing is bought for you",
            place=place,
        )
    if not wrong:
        until = ", ".join(f"until {entry.ends:%Y-%m-%d %H:%M} UTC" for entry in fitting if entry.ends)
        yield passed(f"{free:,} free, {wanted:,} wanted{f', {until}' if until else ''}", place)


def _wrong(subject: Subject, entry: Reservation) -> list[str]:
    found = []
    if entry.instance_type and entry.instance_type != subject.instance_type:
        found.append(f"it holds {entry.instance_type}, the nodes are {subject.instance_type}")
    if entry.zone and entry.zone != subject.zone:
        found.append(f"it is in {entry.zone}, the nodes are in {subject.zone}")
    if not entry.usable:
        found.append(f"it is {entry.state}")
    return found


def _too_short(subject: Subject, entry: Reservation, now: dt.datetime) -> str:
    if entry.ends is None:
        return ""
    ends = entry.ends - _BLOCK_ENDS_EARLY if subject.capacity == "capacity-block" else entry.ends
    if ends <= now:
        return f"it ended {entry.ends:%Y-%m-%d %H:%M} UTC"
    days = subject.option.performance.calendar_days_high if subject.option else None
    left = (ends - now).total_seconds() / 86400
    if days is not None and left < days:
        return f"it lasts {left:.1f} more days, the run takes up to {days:.1f}"
    return ""


def images(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Look images up, and print the command that pins one that moves."""
    instance = subject.instance
    seen: set[tuple[str, str]] = set()
    for key in _IMAGES:
        for setting in subject.project.settings(key):
            reference = text(setting.value)
            if not reference or (key, reference) in seen:
                continue
            seen.add((key, reference))
            found = provider.image(reference)
            if found is None:
                yield Outcome(
                    status="FAIL",
                    message=f"there is no image {reference} in {subject.region}",
                    fix="take one that exists: README.md, Image",
                    place=setting.place,
                )
                continue
            wanted = instance.architecture if instance and key == "nodeType.image" else ""
            if wanted and found.architecture and found.architecture != wanted:
                yield Outcome(
                    status="FAIL",
                    message=f"{found.pinned} is for {found.architecture}, {subject.instance_type} is {wanted}",
                    fix="take the image of this type: README.md, Image",
                    place=setting.place,
                )
            elif found.pinned == reference:
                yield passed(f"{reference} exists", setting.place)
            else:
                yield Outcome(
                    status="WARN",
                    message=f"{setting.name} moves; today it is {found.pinned}",
                    fix=f"./cluster.sh set {setting.name} {found.pinned}",
                    place=setting.place,
                )


def existing_network(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Check that the ids of an existing network exist, lie in the zone, and have room for the nodes."""
    setting = subject.existing_network
    if setting is None:
        return
    given = setting.value
    network = text(
        given.get("vpcId") or given.get("virtualNetworkId") or given.get("network") or given.get("networkId")
    )
    if not network:
        return
    wrong = list(provider.network_problems(network))
    nodes = text(given.get("nodeSubnetId") or given.get("subnetwork") or given.get("subnetworkId"))
    lists = ("serviceSubnetIds", "gpuSubnetworks", "gpuSubnetworkIds")
    others = [text(item) for key in lists for item in _list(given, key)]
    others += [text(given[key]) for key in ("serviceSubnetId", "lustreSubnetId") if given.get(key)]
    for name in filter(None, (nodes, *others)):
        found = provider.subnet(name)
        if found is None:
            wrong.append(f"there is no subnet {name}")
        elif name == nodes:
            wrong += _unfit(subject, found, network)
    for problem in wrong:
        yield Outcome(
            status="FAIL", message=problem, fix="README.md lists what a network must hold", place=setting.place
        )
    if not wrong:
        yield passed(f"{network}: {1 + len(others) if nodes else len(others)} subnets exist", setting.place)


def _unfit(subject: Subject, subnet: Subnet, network: str) -> list[str]:
    """Return why nodes cannot be in a subnet."""
    wrong, nodes = [], subject.node_count or 0
    if subnet.zone and subnet.zone != subject.zone:
        wrong.append(f"{subnet.id} is in {subnet.zone}, the nodes are in {subject.zone}")
    if subnet.free_addresses is not None and subnet.free_addresses < nodes:
        wrong.append(f"{subnet.id} has {subnet.free_addresses:,} free addresses for {nodes:,} nodes")
    if subnet.network and subnet.network != network:
        wrong.append(f"{subnet.id} is of {subnet.network}, not of {network}")
    return wrong


def _list(given: dict[str, object], key: str) -> Iterable[object]:
    value = given.get(key)
    return value if isinstance(value, list) else ()


def groups(subject: Subject, provider: Provider) -> Iterator[Outcome]:
    """Check that the security groups of machines that run already let the fabric through."""
    instance = subject.instance
    if subject.cloud != "aws" or instance is None or instance.fabric_kind != "efa":
        return
    cluster = subject.project.setting("clusterName")
    found = provider.groups(text(cluster.value) if cluster else "")
    if not found:
        yield passed("no security group yet; the first `up` makes them")
        return
    good = [entry.id for entry in found if entry.from_itself and entry.to_itself]
    if good:
        yield passed(f"{', '.join(good)}: everything from and to itself")
        return
    for entry in found:
        missing = " and ".join(
            word for word, there in (("from", entry.from_itself), ("to", entry.to_itself)) if not there
        )
        yield Outcome(
            status="FAIL",
            message=f"{entry.id} does not let all traffic {missing} itself through: EFA falls back to TCP, or fails",
            fix="put the rules back with `./cluster.sh up`; protocol -1, from and to the group itself",
        )
