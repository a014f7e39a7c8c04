"""Accounts and rights."""

from pathlib import Path

import pytest

from gpu_cluster.roles import account_id
from recording import scenario

CONTROLLER = "serviceAccount:gpt3-controller@my-gpu-project.iam.gserviceaccount.com"
LOGIN = "serviceAccount:gpt3-login@my-gpu-project.iam.gserviceaccount.com"
DATA = "serviceAccount:gpt3-data@my-gpu-project.iam.gserviceaccount.com"
COMPUTE = "serviceAccount:gpt3-compute@my-gpu-project.iam.gserviceaccount.com"


def test_rights_are_exactly_these(project: Path) -> None:
    """Each machine account may write logs and metrics and read the secret; one may also store it, none the bucket."""
    recording = scenario(project)
    project_rights = {
        (one.inputs["member"], one.inputs["role"]) for one in recording.of("gcp:projects/iAMMember:IAMMember")
    }
    assert project_rights == {
        (member, role)
        for member in (CONTROLLER, COMPUTE, LOGIN)
        for role in ("roles/logging.logWriter", "roles/monitoring.metricWriter")
    }
    bucket_rights = {
        (one.inputs["member"], one.inputs["role"], one.inputs["bucket"])
        for one in recording.of("gcp:storage/bucketIAMMember:BucketIAMMember")
        if "lustre" not in one.name
    }
    assert bucket_rights == {(DATA, "roles/storage.objectUser", "gpt3-data")}
    tokens = {
        (one.inputs["member"], one.inputs["role"], one.inputs["serviceAccountId"])
        for one in recording.of("gcp:serviceaccount/iAMMember:IAMMember")
    }
    account = f"projects/my-gpu-project/serviceAccounts/{DATA.removeprefix('serviceAccount:')}"
    assert {one for one in tokens if one[0].startswith("serviceAccount:")} == {
        (member, "roles/iam.workloadIdentityUser", account) for member in (LOGIN, COMPUTE)
    }
    assert all(role == "roles/iam.serviceAccountUser" for member, role, _ in tokens if member.startswith("group:"))
    secret_rights = {
        (one.inputs["member"], one.inputs["role"], one.inputs["secretId"])
        for one in recording.of("gcp:secretmanager/secretIamMember:SecretIamMember")
    }
    secret = "projects/my-gpu-project/secrets/gpt3-munge-key"
    assert secret_rights == {
        (CONTROLLER, "roles/secretmanager.secretAccessor", secret),
        (COMPUTE, "roles/secretmanager.secretAccessor", secret),
        (LOGIN, "roles/secretmanager.secretAccessor", secret),
        (CONTROLLER, "roles/secretmanager.secretAccessor", secret.replace("munge-key", "database-password")),
        (CONTROLLER, "roles/secretmanager.secretVersionAdder", secret),
        *(
            (member, "roles/secretmanager.secretAccessor", secret.replace("munge-key", "users"))
            for member in (CONTROLLER, COMPUTE, LOGIN)
        ),
    }


def test_no_basic_role_is_given(project: Path) -> None:
    """Nobody becomes owner, editor or administrator of anything but a login."""
    roles = {one.inputs["role"] for one in scenario(project).resources if "role" in one.inputs}
    assert not roles & {"roles/owner", "roles/editor", "roles/viewer"}
    assert {role for role in roles if "admin" in role.lower()} == {"roles/compute.osAdminLogin"}


@pytest.mark.parametrize("machine", ["controller", "login"])
def test_operators_log_in_to_the_head_machines_only(project: Path, machine: str) -> None:
    """An operator gets the tunnel, the login and the account of the machine, each on that one machine."""
    recording = scenario(project)
    operator = "group:ml-platform@example.com"
    rights = {
        one.inputs["role"]: one.inputs.get("instance")
        or one.inputs.get("instanceName")
        or one.inputs["serviceAccountId"]
        for one in recording.resources
        if one.inputs.get("member") == operator and f"-{machine}-" in one.name
    }
    account = f"projects/my-gpu-project/serviceAccounts/gpt3-{machine}@my-gpu-project.iam.gserviceaccount.com"
    assert rights == {
        "roles/iap.tunnelResourceAccessor": f"gpt3-{machine}",
        "roles/compute.osAdminLogin": f"gpt3-{machine}",
        "roles/iam.serviceAccountUser": account,
    }
    assert len([one for one in recording.resources if one.inputs.get("member") == operator]) == 6


@pytest.mark.parametrize(
    ("changes", "members"),
    [
        ({}, {"user:alice@example.com", "user:bob@example.com"}),
        ({"tunnelMembers": ["group:research@example.com"]}, {"group:research@example.com"}),
        ({"operators": ["user:bob@example.com"]}, {"user:alice@example.com"}),
    ],
)
def test_users_reach_ssh_of_the_login_machine_only(
    project: Path, changes: dict[str, list[str]], members: set[str]
) -> None:
    """Accounts of the list, or the members that are named, get the tunnel to one machine; an operator has it already."""
    accounts = {"alice": "alice@example.com", "bob": "bob@example.com", "carol": None}
    listed = [
        {"name": name, "uid": uid, "ssh_keys": [], **({"google_account": account} if account else {})}
        for uid, (name, account) in enumerate(accounts.items(), start=20001)
    ]
    recording = scenario(project, **{"users": listed, "groups": [], "tunnelMembers": [], "operators": [], **changes})
    tunnels = recording.of("gcp:iap/tunnelInstanceIAMMember:TunnelInstanceIAMMember")
    operators = set(changes.get("operators", ()))
    users = [one for one in tunnels if one.inputs["member"] not in operators]
    assert {one.inputs["member"] for one in users} == members
    assert {one.inputs["instance"] for one in users} == {"gpt3-login"}
    assert len(users) == len(members)
    assert all(one.inputs["role"] == "roles/iap.tunnelResourceAccessor" for one in tunnels)
    rights = [one for one in recording.resources if one.inputs.get("member") in members]
    assert len(rights) == len(members)


def test_services_stay_on_when_the_cluster_goes(project: Path) -> None:
    """The project's services are switched on, and never off, since others may use them."""
    services = scenario(project).of("gcp:projects/service:Service")
    assert {"compute.googleapis.com", "lustre.googleapis.com", "billingbudgets.googleapis.com"} <= {
        one.inputs["service"] for one in services
    }
    assert all(one.inputs["disableOnDestroy"] is False for one in services)


@pytest.mark.parametrize("name", ["a", "gpt3", "a" * 19, "a" * 20, "a" * 31, "a" * 11 + "-" * 20])
@pytest.mark.parametrize("role", ["controller", "compute", "login", "watchdog"])
def test_account_ids_fit(name: str, role: str) -> None:
    """An account id has 6 to 30 characters, whatever the cluster is called."""
    assert 6 <= len(account_id(name, role)) <= 30


def test_long_names_keep_different_accounts() -> None:
    """Two clusters whose long names differ at the end do not share an account."""
    assert account_id("a" * 30 + "b", "controller") != account_id("a" * 30 + "c", "controller")


def test_long_names_are_legal_everywhere(project: Path) -> None:
    """The longest cluster name gives names of at most 63 characters with room for Pulumi's suffix."""
    recording = scenario(project, clusterName="c" * 31, machine="a4-highgpu-8g")
    # Grants and policies have no name at Google.
    unnamed = ("IAMMember", "Policy")
    named = [
        one for one in recording.resources if one.type.startswith("gcp:compute/") and not one.type.endswith(unnamed)
    ]
    assert max(len(one.name) for one in named) <= 63 - 8
    assert len(recording.one("gcp:compute/instanceGroupManager:InstanceGroupManager").inputs["baseInstanceName"]) <= 58
