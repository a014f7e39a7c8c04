"""Address ranges: private, clear of what is taken, closed to the world, and of existing networks by id."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Network, ip_network

from clusterwright.blueprint.rules.existing import existing_problems
from clusterwright.blueprint.sections.cloud_ids import SHAPES
from clusterwright.checks.preflight.configuration.storage import configured
from clusterwright.checks.preflight.configuration.targets import existing_keys, outcomes_of, target_of
from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import NETWORK_RANGE, Subject
from clusterwright.clouds import has_service_range
from clusterwright.plan.candidates.cloud_addresses import RDMA_NETWORK, RULES, addresses_of_nodes, overlap_findings

#: Ranges that something on the nodes already uses: (range, whose, clouds).
_TAKEN = (
    (RDMA_NETWORK, "the RDMA network of Azure", ("azure",), "FAIL"),
    # Docker's default bridge: a node cannot reach what lies behind it.
    (IPv4Network("172.17.0.0/16"), "Docker's bridge on the nodes", ("aws", "azure", "gcp"), "WARN"),
    (
        IPv4Network("169.254.0.0/16"),
        "link-local addresses, the metadata service among them",
        ("aws", "azure", "gcp"),
        "FAIL",
    ),
    (IPv4Network("100.64.0.0/10"), "carrier-grade translation, which providers use themselves", ("aws", "gcp"), "WARN"),
)
_WILDCARDS = re.compile(r"^(0\.0\.0\.0/\d+|\d+\.\d+\.\d+\.\d+/0|::/0|::0/0|\*|any|internet)$", re.IGNORECASE)
#: Keys that say who may come in; a wildcard anywhere else in a list of ranges is refused too.
_RANGE_KEYS = re.compile(r"(?i)cidr|range|prefix|source|network|address|allow")


def ranges(subject: Subject) -> Iterator[Outcome]:
    """Check that the network's range is private IPv4, starts where it says, and lies clear of what is taken."""
    existing = subject.existing_network
    if existing is not None:
        yield passed("an existing network is used", existing.place)
        return
    setting = subject.project.setting(NETWORK_RANGE[subject.cloud])
    if setting is None:
        yield Outcome(status="FAIL", message=f"{NETWORK_RANGE[subject.cloud]} is not set")
        return
    try:
        network = ip_network(text(setting.value))
    except ValueError as error:
        yield _outcome(setting, f"{setting.name} is no network: {error}", "write one such as 10.64.0.0/16")
        return
    if not isinstance(network, IPv4Network) or not network.is_private:
        yield _outcome(
            setting, f"{network} is not a private IPv4 range", "take one of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16"
        )
        return
    good = True
    for taken, whose, clouds, status in _TAKEN:
        if subject.cloud in clouds and network.overlaps(taken):
            good = False
            yield Outcome(
                status="FAIL" if status == "FAIL" else "WARN",
                message=f"{network} overlaps {taken}: {whose}",
                fix="take another range, for example 10.64.0.0/16",
                place=setting.place,
            )
    others = list(_other_ranges(subject, network))
    yield from others
    if good and not others:
        yield passed(f"{network}, {network.num_addresses:,} addresses", setting.place)


def _other_ranges(subject: Subject, network: IPv4Network) -> Iterator[Outcome]:
    """Hold ranges of Kubernetes that are chosen against the network: services outside it, the API server inside."""
    if not has_service_range(subject.cloud) or subject.project.scheduler != "kubernetes" or subject.instance is None:
        return
    services, inside = subject.project.setting("serviceCidr"), subject.project.setting("apiServerCidr")
    for given in (services, inside):
        if given is not None and not _is_range(text(given.value)):
            yield _outcome(
                given, f"{given.name} is no network: {text(given.value)!r}", "write one such as 10.132.0.0/20"
            )
            return
    yield from outcomes_of(subject, overlap_findings(subject.cloud, target_of(subject), subject.instance), "ADR002")
    if inside is not None and not IPv4Network(text(inside.value)).subnet_of(network):
        yield _outcome(
            inside,
            f"{text(inside.value)} is outside the network, {network}",
            f"take a free part of it, for example {network.broadcast_address - 15}/28",
        )


def _is_range(value: str) -> bool:
    try:
        return isinstance(ip_network(value), IPv4Network)
    except ValueError:
        return False


def open_to_everyone(subject: Subject) -> Iterator[Outcome]:
    """Find configuration that lets everybody in."""
    looked_at = 0
    for setting in subject.project.leaves():
        names = [setting.key.rpartition(":")[2], *(str(part) for part in setting.path)]
        if not any(_RANGE_KEYS.search(name) for name in names):
            continue
        looked_at += 1
        if isinstance(setting.value, str) and _WILDCARDS.match(setting.value.strip()):
            yield _outcome(
                setting,
                f"{setting.name} is {setting.value}: the whole Internet",
                "name the ranges that your people work from, or leave it empty and use the private way in (README.md)",
            )
    yield passed(f"{looked_at} address settings, none for everybody")


def _outcome(setting: Setting, message: str, fix: str) -> Outcome:
    return Outcome(status="FAIL", message=message, fix=fix, place=setting.place)


#: What each id of an existing network is, by field of the blueprint.
_SHAPES = {
    "vpc_id": "aws-vpc",
    "node_subnet_id": "{cloud}-subnet",
    "service_subnet_ids": "aws-subnet",
    "key_arn": "aws-key",
    "bucket_name": "{cloud}-bucket",
    "virtual_network_id": "azure-network",
    "service_subnet_id": "azure-subnet",
    "lustre_subnet_id": "azure-subnet",
    "key_vault_id": "azure-vault",
    "key_url": "azure-key",
    "vault_zone_id": "azure-zone",
    "blob_zone_id": "azure-zone",
    "database_zone_id": "azure-zone",
    "storage_account_id": "azure-storage",
    "container_name": "azure-container",
    "network_id": "gcp-network",
    "subnetwork_id": "gcp-subnetwork",
    "gpu_subnetwork_ids": "gcp-subnetwork",
    "key_id": "gcp-key",
}


def existing_network(subject: Subject) -> Iterator[Outcome]:
    """Check the ids of an existing network: of the right form, complete, of one place."""
    setting = subject.existing_network
    if setting is None:
        return
    shaped = True
    for field, key in existing_keys(subject.cloud).items():
        value = setting.value.get(key)
        shape = SHAPES[_SHAPES[field].format(cloud=subject.cloud)]
        for item in _listed(value):
            if re.fullmatch(shape.pattern, text(item)) is None:
                shaped = False
                yield _outcome(
                    subject.project.setting(f"existingNetwork.{key}") or setting,
                    f"existingNetwork.{key}: {text(item)!r} is not {shape.what}",
                    f"for example {shape.example}",
                )
    # Ids of a wrong form would only make the rules between them complain too.
    if shaped:
        yield from outcomes_of(subject, existing_problems(subject.cloud, target_of(subject), subject.instance))
        # An id of Azure or Google Cloud is a path that names its network or project; one of AWS is a number.
        subnets = [
            text(item)
            for field, key in existing_keys(subject.cloud).items()
            if "subnet" in field
            for item in _listed(setting.value.get(key))
        ]
        numbers = [one for one in subnets if "/" not in one]
        if numbers:
            yield Outcome(
                status="UNKNOWN",
                message=f"whether {', '.join(numbers)} are subnets of the network cannot be seen from their ids",
                fix="run with --online",
                place=setting.place,
            )
        where = "" if numbers else " and of one place"
        yield passed(f"{len(setting.value)} ids, each of the right form{where}", setting.place)


def _listed(value: object) -> list[object]:
    """Return the items of a list, one value as a list of one, none for nothing."""
    return value if isinstance(value, list) else [value] if value else []


def room(subject: Subject) -> Iterator[Outcome]:
    """Check that the network has addresses for nodes and file servers, by the rule of `plan`."""
    setting, nodes = subject.project.setting(NETWORK_RANGE[subject.cloud]), subject.node_count
    try:
        network = ip_network(text(setting.value)) if setting else None
    except ValueError:
        return
    if setting is None or nodes is None or not isinstance(network, IPv4Network) or subject.existing_network:
        return
    rule, system = RULES[subject.cloud], configured(subject)
    of_nodes = addresses_of_nodes(subject.cloud, subject.project.scheduler, nodes)
    needed = rule.needed(nodes=of_nodes, file_system_gib=system.capacity_gib if system else 0)
    given = rule.given(network.prefixlen)
    smallest = rule.smallest(needed)
    if rule.shortest_prefix <= network.prefixlen <= rule.longest_prefix and given >= needed:
        yield passed(f"{network} gives {given:,} addresses, {needed:,} are needed", setting.place)
        return
    wide = network.prefixlen < rule.shortest_prefix
    # Of the largest network, without what file servers take.
    widest = rule.given(rule.shortest_prefix) - (needed - of_nodes)
    each = partial(addresses_of_nodes, subject.cloud, subject.project.scheduler)
    most = bisect_right(range(nodes), widest, key=each) - 1
    yield Outcome(
        status="FAIL",
        message=f"{network} is larger than a network may be (/{rule.shortest_prefix})"
        if wide
        else f"{network} gives {given:,} addresses to nodes and file servers, {needed:,} are needed",
        fix=f"take a /{rule.shortest_prefix} to /{smallest} network"
        if smallest
        else f"run {most:,} nodes or fewer, in a /{rule.shortest_prefix} network",
        place=setting.place,
        rule="ADR001",
    )
