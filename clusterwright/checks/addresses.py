"""Address ranges: private, clear of what is taken, closed to the world, and of existing networks by id."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network

from clusterwright.blueprint.cloud_ids import SHAPES
from clusterwright.checks.project import Setting
from clusterwright.checks.results import Outcome, passed
from clusterwright.checks.subject import NETWORK_RANGE, Subject
from clusterwright.checks.values import text

#: Ranges that something on the nodes already uses: (range, whose, clouds).
_TAKEN = (
    # Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25.
    (IPv4Network("172.16.0.0/16"), "the RDMA network of Azure", ("azure",), "FAIL"),
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
    setting = subject.project.setting(NETWORK_RANGE[subject.cloud])
    if setting is None:
        existing = subject.project.setting("existingNetwork")
        yield passed(
            "an existing network is used" if existing else "the program's own default range",
            existing.place if existing else None,
        )
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
    if good:
        yield passed(f"{network}, {network.num_addresses:,} addresses", setting.place)


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


#: Ids of an existing network by cloud: key of the configuration, and the shape of its ids.
_EXISTING = {
    "aws": {
        "vpcId": "aws-vpc",
        "nodeSubnetId": "aws-subnet",
        "serviceSubnetIds": "aws-subnet",
        "keyArn": "aws-key",
        "bucketName": "aws-bucket",
    },
    "azure": {
        "virtualNetworkId": "azure-network",
        "nodeSubnetId": "azure-subnet",
        "serviceSubnetId": "azure-subnet",
        "lustreSubnetId": "azure-subnet",
        "keyVaultId": "azure-vault",
        "keyUrl": "azure-key",
        "keyVaultKeyUrl": "azure-key",
        "storageAccountId": "azure-storage",
        "containerName": "azure-container",
    },
    "gcp": {
        "network": "gcp-network",
        "networkId": "gcp-network",
        "subnetwork": "gcp-subnetwork",
        "subnetworkId": "gcp-subnetwork",
        "gpuSubnetworks": "gcp-subnetwork",
        "gpuSubnetworkIds": "gcp-subnetwork",
        "keyId": "gcp-key",
        "bucketName": "gcp-bucket",
    },
}
#: Ids that come together: one without the others leaves the network half made.
_TOGETHER = {
    "aws": ("vpcId", "nodeSubnetId", "serviceSubnetIds"),
    "azure": ("virtualNetworkId", "nodeSubnetId"),
    "gcp": (),
}
_REGION_IN_ID = re.compile(r"/regions/([a-z0-9-]+)/|:kms:([a-z0-9-]+):|/locations/([a-z0-9-]+)/keyRings/")


def existing_network(subject: Subject) -> Iterator[Outcome]:
    """Check the ids of an existing network: of the right form, complete, and of the cluster's region."""
    setting = subject.project.setting("existingNetwork")
    if setting is None or not isinstance(setting.value, dict):
        return
    given = {key: value if isinstance(value, list) else [value] for key, value in setting.value.items() if value}
    good = True
    for key, shape in _EXISTING[subject.cloud].items():
        for item in given.get(key, ()):
            if re.fullmatch(SHAPES[shape].pattern, text(item)) is None:
                good = False
                yield _outcome(
                    setting,
                    f"existingNetwork.{key}: {text(item)!r} is not {SHAPES[shape].what}",
                    f"for example {SHAPES[shape].example}",
                )
            found = _REGION_IN_ID.search(text(item))
            region = next((part for part in found.groups() if part), "") if found else ""
            if region and subject.region and region not in (subject.region, "global"):
                good = False
                yield _outcome(
                    setting,
                    f"existingNetwork.{key} is in {region}, the cluster in {subject.region}",
                    "name one of the cluster's region",
                )
    together = _TOGETHER[subject.cloud]
    missing = [key for key in together if key not in given]
    if missing and len(missing) < len(together):
        good = False
        yield _outcome(
            setting, f"existingNetwork has no {' and no '.join(missing)}", f"{', '.join(together)} come together"
        )
    if subject.cloud == "aws" and len(given.get("serviceSubnetIds", ())) == 1:
        good = False
        yield _outcome(
            setting,
            "existingNetwork.serviceSubnetIds names one subnet",
            "name two, in two zones: databases and managed Kubernetes ask for that",
        )
    if good and given:
        yield passed(f"{len(given)} ids, each of the right form", setting.place)
