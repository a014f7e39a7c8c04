"""A project's configuration as the section of a blueprint that it stands for: the rules of `plan` hold for both."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.sections.clouds import (
    AwsExisting,
    AwsNetwork,
    AwsTarget,
    AzureExisting,
    AzureNetwork,
    AzureTarget,
    CloudTarget,
    GcpExisting,
    GcpNetwork,
    GcpTarget,
)
from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.subject import NETWORK_RANGE, REGION, ZONE, Subject
from clusterwright.clouds import has_service_range
from clusterwright.errors import Finding

_CLOUDS: dict[str, tuple[type[CloudTarget], Any, Any]] = {
    "aws": (AwsTarget, AwsNetwork, AwsExisting),
    "azure": (AzureTarget, AzureNetwork, AzureExisting),
    "gcp": (GcpTarget, GcpNetwork, GcpExisting),
}
#: Fields of the blueprint's section whose key in a project has another name than in camel case.
_OTHER_NAMES = {"networkId": "network", "subnetworkId": "subnetwork", "gpuSubnetworkIds": "gpuSubnetworks"}


def existing_keys(cloud: str) -> dict[str, str]:
    """Return the fields of an existing network in the blueprint, with their keys in a project's configuration."""
    fields = _CLOUDS[cloud][2].model_fields
    camel = {name: re.sub(r"_([a-z])", lambda found: found.group(1).upper(), name) for name in fields}
    return {name: _OTHER_NAMES.get(key, key) for name, key in camel.items()}


def target_of(subject: Subject) -> CloudTarget:
    """Return the section of a blueprint that a project stands for, unchecked: the rules are what checks it."""
    target, network, existing = _CLOUDS[subject.cloud]
    cidr, services = subject.project.setting(NETWORK_RANGE[subject.cloud]), subject.project.setting("serviceCidr")
    values: dict[str, Any] = {
        "instance": subject.instance_type,
        "region": subject.region,
        "zone": subject.zone or None,
        "capacity": subject.capacity,
        "reservation": subject.reservation or None,
        "scheduler": subject.project.scheduler,
        "network": network.model_construct(
            cidr=text(cidr.value) if cidr and not _existing(subject) else None,
            existing=_existing_section(subject, existing),
            **(
                {"service_cidr": text(services.value) if services else None} if has_service_range(subject.cloud) else {}
            ),
        ),
    }
    return target.model_construct(**values)


def _existing(subject: Subject) -> dict[str, Any]:
    setting = subject.existing_network
    return setting.value if setting is not None else {}


def _existing_section(subject: Subject, section: Any) -> Any:  # noqa: ANN401 - of any cloud
    given = _existing(subject)
    if not given:
        return None
    return section.model_construct(
        **{field: given.get(key) or None for field, key in existing_keys(subject.cloud).items()}
    )


def outcomes_of(subject: Subject, found: Iterable[Problem | Finding], *ids: str) -> Iterator[Outcome]:
    """Return failed rules as outcomes at the settings they speak of.

    Args:
        subject: what is checked.
        found: by rules of `plan`.
        ids: of those that belong here; none means all.
    """
    for rule in found:
        if ids and rule.id not in ids:
            continue
        setting = _setting(subject, tuple(str(part) for part in rule.path[2:]))
        yield Outcome(
            status="FAIL",
            message=rule.message,
            fix=rule.help or "",
            place=setting.place if setting else None,
            rule=rule.id or "",
        )


def _setting(subject: Subject, path: tuple[str, ...]) -> Setting | None:
    """Return the setting that a path of the blueprint, below the target's section, stands for."""
    cloud, project = subject.cloud, subject.project
    keys = {
        "instance": "nodeType.instanceType",
        "region": REGION[cloud],
        "zone": ZONE[cloud],
        "capacity": "capacity",
        "reservation": "reservationId",
        "file_system": "sharedStorage",
    }
    if path[:2] == ("network", "existing"):
        key = existing_keys(cloud).get(path[-1], "")
        return project.setting(f"existingNetwork.{key}") or project.setting("existingNetwork")
    if path == ("network", "service_cidr"):
        return project.setting("serviceCidr")
    if path[:1] == ("network",):
        return project.setting(NETWORK_RANGE[cloud])
    return project.setting(keys.get(path[0], "")) if path else None
