"""The identity of the login machine: people work on it, so it has fewer rights than the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount

from gpu_cluster.roles import machine_account


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginAccountArgs:
    """What the account is for."""

    cluster_name: str
    project: str
    services: Sequence[pulumi.Resource]


class LoginAccount(pulumi.ComponentResource):
    """An account that writes logs and metrics."""

    account: serviceaccount.Account

    def __init__(self, name: str, args: LoginAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:LoginAccount", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.account = machine_account("login", args.cluster_name, args.project, child, args.services)
        self.register_outputs({"email": self.account.email})
