"""The identity of jobs' data: the container of blobs and nothing else, apart from the identities of the machines."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import managedidentity

from gpu_cluster.roles import BuiltinRole, grant


@dataclass(frozen=True, slots=True, kw_only=True)
class DataIdentityArgs:
    """Where the identity is, and what it may use."""

    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    container_id: pulumi.Input[str]
    tags: Mapping[str, str]


class DataIdentity(pulumi.ComponentResource):
    """An identity that reads and writes the container, for the machines that mount it.

    On the machines only root may ask for it (`node/bucket_azure.sh`); users see the container as a folder.
    """

    identity: managedidentity.UserAssignedIdentity
    granted: pulumi.Resource

    def __init__(self, name: str, args: DataIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:DataIdentity", name, {}, opts)
        self.identity = managedidentity.UserAssignedIdentity(
            f"{name}-data",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.granted = grant(
            f"{name}-data-bucket",
            role=BuiltinRole.STORAGE_BLOB_DATA_CONTRIBUTOR,
            principal_id=self.identity.principal_id,
            scope=args.container_id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        self.register_outputs({"identity_id": self.identity.id})
