"""The identity of jobs' data: the bucket and nothing else, apart from the identities of the machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount, storage

from gpu_cluster.roles import account_id

# Of the roles that give iam.serviceAccounts.getAccessToken the one that may not sign in the account's name.
TOKEN_ROLE = "roles/iam.workloadIdentityUser"  # noqa: S105 - the name of a role


@dataclass(frozen=True, kw_only=True, slots=True)
class DataAccountArgs:
    """What the account is for.

    Attributes:
        machines: e-mail addresses of the accounts whose machines mount the bucket, by role.
    """

    cluster_name: str
    bucket_name: pulumi.Input[str]
    machines: Mapping[str, pulumi.Input[str]]
    services: Sequence[pulumi.Resource]


class DataAccount(pulumi.ComponentResource):
    """An account that uses the cluster's bucket, and machines that may ask for its tokens.

    On the machines only root asks (`node/bucket_gcp.sh`); users see the bucket as a folder.
    """

    account: serviceaccount.Account

    def __init__(self, name: str, args: DataAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:DataAccount", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.account = serviceaccount.Account(
            f"{args.cluster_name}-data",
            account_id=account_id(args.cluster_name, "data"),
            display_name=f"{args.cluster_name} data of jobs",
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=args.services)),
        )
        storage.BucketIAMMember(
            f"{args.cluster_name}-data-bucket",
            bucket=args.bucket_name,
            role="roles/storage.objectUser",
            member=self.account.member,
            opts=child,
        )
        for role, email in args.machines.items():
            serviceaccount.IAMMember(
                f"{args.cluster_name}-{role}-data",
                service_account_id=self.account.name,
                role=TOKEN_ROLE,
                member=pulumi.Output.concat("serviceAccount:", email),
                opts=child,
            )
        self.register_outputs({"email": self.account.email})
