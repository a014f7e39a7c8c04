"""Who the pods that report busy GPUs are in Azure: an identity that may publish this cluster's metrics, no more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi_azure_native import managedidentity

from gpu_cluster.kubernetes.busy_reports import NAMESPACE, SERVICE_ACCOUNT
from gpu_cluster.roles import BuiltinRole, grant

# bash, curl and Python for both architectures, in one build (as named in public by whoever pulled it).
IMAGE: Final = "mcr.microsoft.com/azurelinux/base/python:3.12.14-1-azl3.0.20260909"
# By which AKS knows the pods that it gives a token of the identity (Microsoft, "Use workload identity with AKS").
POD_LABELS: Final = {"azure.workload.identity/use": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsIdentityArgs:
    """Where the identity is, and whose metrics it may publish."""

    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    cluster_id: pulumi.Input[str]
    issuer_url: pulumi.Input[str]
    tags: Mapping[str, str]


class ReportsIdentity(pulumi.ComponentResource):
    """The identity, the pods' service account as it, and its one grant."""

    client_id: pulumi.Output[str]
    grants: list[pulumi.Resource]

    def __init__(self, name: str, args: ReportsIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ReportsIdentity", name, {}, opts)
        identity = managedidentity.UserAssignedIdentity(
            name,
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        credential = managedidentity.FederatedIdentityCredential(
            name,
            resource_group_name=args.resource_group_name,
            resource_name_=identity.name,
            issuer=args.issuer_url,
            subject=f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}",
            audiences=["api://AzureADTokenExchange"],
            opts=pulumi.ResourceOptions(parent=self),
        )
        publish = grant(
            f"{name}-metrics",
            role=BuiltinRole.MONITORING_METRICS_PUBLISHER,
            principal_id=identity.principal_id,
            scope=args.cluster_id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        self.client_id = identity.client_id
        self.grants = [credential, publish]
        self.register_outputs({})
