"""The identity of the login machine: people work on it, so it has fewer rights than the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount, storage

from gpu_cluster.roles import machine_account


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginAccountArgs:
    """What the account is for."""

    cluster_name: str
    project: str
    bucket_name: pulumi.Input[str]
    services: Sequence[pulumi.Resource]


class LoginAccount(pulumi.ComponentResource):
    """An account that writes logs and metrics and uses the cluster's bucket."""

    account: serviceaccount.Account

    def __init__(self, name: str, args: LoginAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:LoginAccount", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.account = machine_account("login", args.cluster_name, args.project, child, args.services)
        storage.BucketIAMMember(
            f"{args.cluster_name}-login-bucket",
            bucket=args.bucket_name,
            role="roles/storage.objectUser",
            member=self.account.member,
            opts=child,
        )
        self.register_outputs({"email": self.account.email})
