"""Rules for rights: named permissions on single resources, for named people and accounts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reading import mapping, texts
from rule import UNKNOWN, Rule

PROJECT_GRANT = "gcp:projects/iAMMember:IAMMember"
EVERYBODY = ("allUsers", "allAuthenticatedUsers")
# What may be granted on the whole project: to write logs and metrics, and what nodes of GKE need (Google's guide
# "Harden your cluster": its default role of a node, and reading images).
PROJECT_ROLES = (
    "roles/artifactregistry.reader",
    "roles/container.defaultNodeServiceAccount",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
)


# Roles that give power over a service, its resources or who may use them: `roles/owner`, `roles/storage.admin`.
POWERS = re.compile(r"roles/(.*[aA]dmin|(.*\.)?[oO]wner|(.*\.)?[eE]ditor|iam\.serviceAccountTokenCreator)(\.v[0-9]+)?")
# Grants that take away what others have: of a whole policy, or of a role on something that is not the cluster's own.
REPLACING = re.compile(
    r"gcp:(projects|folder|organizations)/i[aA][mM](Policy|Binding):.*|gcp:.*/\w*[iI][aA][mM]Policy:.*"
)


def _named_people(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    members = [str(inputs.get("member")), *texts(inputs.get("members"))]
    return [f"grants {inputs.get('role')} to {member}" for member in members if member in EVERYBODY and kind]


def _small_grants(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != PROJECT_GRANT:
        return []
    role = str(inputs.get("role"))
    if role.startswith("roles/") and role not in PROJECT_ROLES:
        return [f"grants {role} on the whole project: grant it on single resources"]
    if role.endswith("_scaler") and not mapping(inputs.get("condition")).get("expression"):
        return ["may resize every instance group of the project: add a condition on resource.name"]
    return []


def _no_power_for_machines(_kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    members = [str(inputs.get("member")), *texts(inputs.get("members"))]
    machines = [member for member in members if member.startswith("serviceAccount:") or member == UNKNOWN]
    role = str(inputs.get("role"))
    if not machines or POWERS.fullmatch(role) is None:
        return []
    return [f"gives {role} to an account of machines: name the role of what they do, such as storage.objectUser"]


def _adding_grants(kind: str, _inputs: Mapping[str, Any]) -> Sequence[str]:
    if REPLACING.fullmatch(kind) is None:
        return []
    return ["takes the rights of everybody else away: grant by members, one by one (IAMMember)"]


def _named_permissions(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:projects/iAMCustomRole:IAMCustomRole":
        return []
    return [f"allows {one}: name the permissions" for one in texts(inputs.get("permissions")) if "*" in one]


def _services_stay(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != "gcp:projects/service:Service" or inputs.get("disableOnDestroy") is False:
        return []
    return ["would be switched off for the whole project: set disableOnDestroy to false"]


RULES: Sequence[Rule] = (
    Rule(name="named-people", description="Nothing is granted to everybody.", check=_named_people),
    Rule(name="small-grants", description="Rights on the whole project are few.", check=_small_grants),
    Rule(
        name="no-power-for-machines",
        description="Accounts of machines administer nothing.",
        check=_no_power_for_machines,
    ),
    Rule(name="adding-grants", description="Grants take no right from anybody.", check=_adding_grants),
    Rule(name="named-permissions", description="Own roles name their permissions.", check=_named_permissions),
    Rule(name="services-stay", description="The project's services outlive the cluster.", check=_services_stay),
)
