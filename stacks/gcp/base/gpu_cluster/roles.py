"""Who may do what: project services, one service account per role, and the fewest rights that work."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import projects, secretmanager, serviceaccount, storage

ACCOUNT_ID_MAX_LENGTH = 30
SERVICES = (
    "cloudkms",
    "compute",
    "iam",
    "iap",
    "logging",
    "lustre",
    "monitoring",
    "oslogin",
    "secretmanager",
    "servicenetworking",
    "storage",
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
    """Which project, and whether the service for budgets is among what is switched on."""

    project: str
    with_budget: bool


class ProjectServices(pulumi.ComponentResource):
    """The project's services that the stack needs; destroying the stack leaves them on for others."""

    services: list[projects.Service]

    def __init__(self, name: str, args: ProjectServicesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:ProjectServices", name, None, opts)
        self.services = [
            projects.Service(
                f"{service}-service",
                project=args.project,
                service=f"{service}.googleapis.com",
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for service in ((*SERVICES, BUDGET_SERVICE) if args.with_budget else SERVICES)
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
        super().__init__("clusterwright:gcp:ClusterAccounts", name, None, opts)
        self.controller = self._account("controller", args)
        self.compute = self._account("compute", args)
        self.register_outputs({"controller": self.controller.email, "compute": self.compute.email})

    def _account(self, role: str, args: ClusterAccountsArgs) -> serviceaccount.Account:
        account = serviceaccount.Account(
            f"{args.cluster_name}-{role}",
            account_id=account_id(args.cluster_name, role),
            display_name=f"{args.cluster_name} {role}",
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        for project_role in PROJECT_ROLES:
            projects.IAMMember(
                f"{args.cluster_name}-{role}-{project_role.rsplit('.', 1)[1]}",
                project=args.project,
                role=project_role,
                member=account.member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        return account


@dataclass(frozen=True, kw_only=True, slots=True)
class DataAccessArgs:
    """Who gets access, and to what."""

    cluster_name: str
    accounts: ClusterAccounts
    bucket: storage.Bucket
    secret: secretmanager.Secret


class DataAccess(pulumi.ComponentResource):
    """Rights on this cluster's bucket and secret, on no other."""

    def __init__(self, name: str, args: DataAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:DataAccess", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        for role, account in (("controller", args.accounts.controller), ("compute", args.accounts.compute)):
            storage.BucketIAMMember(
                f"{args.cluster_name}-{role}-bucket",
                bucket=args.bucket.name,
                role="roles/storage.objectUser",
                member=account.member,
                opts=child,
            )
            secretmanager.SecretIamMember(
                f"{args.cluster_name}-{role}-secret-reader",
                secret_id=args.secret.id,
                role="roles/secretmanager.secretAccessor",
                member=account.member,
                opts=child,
            )
        # Only the controller may store a value; it does so once, when there is none.
        secretmanager.SecretIamMember(
            f"{args.cluster_name}-controller-secret-writer",
            secret_id=args.secret.id,
            role="roles/secretmanager.secretVersionAdder",
            member=args.accounts.controller.member,
            opts=child,
        )
        self.register_outputs({})
