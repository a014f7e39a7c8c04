"""Who may do what: project services, one service account per role, and the fewest rights that work."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import projects, serviceaccount

ACCOUNT_ID_MAX_LENGTH = 30
# Cloud Logging, Monitoring and Storage are on in every new project.
FOUNDATION_SERVICES = (
    "cloudkms",
    "compute",
    "iam",
    "lustre",
    "servicenetworking",
)
BUDGET_SERVICE = "billingbudgets"
PROJECT_ROLES = ("roles/logging.logWriter", "roles/monitoring.metricWriter")


def account_id(cluster_name: str, role: str) -> str:
    """Service account id of a role: at most 30 characters, and different for different clusters."""
    room = ACCOUNT_ID_MAX_LENGTH - len(role) - 1
    if len(cluster_name) > room:
        digest = hashlib.sha256(cluster_name.encode()).hexdigest()[:6]
        cluster_name = f"{cluster_name[: room - 7].rstrip('-')}-{digest}"
    return f"{cluster_name}-{role}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectServicesArgs:
    """Which project, and the services that a layer needs."""

    project: str
    services: Sequence[str]


class ProjectServices(pulumi.ComponentResource):
    """The project's services that a layer needs; destroying the layer leaves them on for others."""

    services: list[projects.Service]

    def __init__(self, name: str, args: ProjectServicesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ProjectServices", name, None, opts)
        self.services = [
            projects.Service(
                f"{service}-service",
                project=args.project,
                service=f"{service}.googleapis.com",
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for service in args.services
        ]
        self.register_outputs({})


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAccountsArgs:
    """What the accounts depend on."""

    cluster_name: str
    project: str
    services: Sequence[pulumi.Resource]


class ClusterAccounts(pulumi.ComponentResource):
    """The identities of the controller and of the compute nodes."""

    controller: serviceaccount.Account
    compute: serviceaccount.Account

    def __init__(self, name: str, args: ClusterAccountsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterAccounts", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.controller = machine_account("controller", args.cluster_name, args.project, child, args.services)
        self.compute = machine_account("compute", args.cluster_name, args.project, child, args.services)
        self.register_outputs({"controller": self.controller.email, "compute": self.compute.email})


def machine_account(
    role: str,
    cluster_name: str,
    project: str,
    opts: pulumi.ResourceOptions,
    services: Sequence[pulumi.Resource] = (),
) -> serviceaccount.Account:
    """Make the account of a kind of machine, which may write logs and metrics and nothing else."""
    account = serviceaccount.Account(
        f"{cluster_name}-{role}",
        account_id=account_id(cluster_name, role),
        display_name=f"{cluster_name} {role}",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=services)),
    )
    for project_role in PROJECT_ROLES:
        projects.IAMMember(
            f"{cluster_name}-{role}-{project_role.rsplit('.', 1)[1]}",
            project=project,
            role=project_role,
            member=account.member,
            opts=opts,
        )
    return account
