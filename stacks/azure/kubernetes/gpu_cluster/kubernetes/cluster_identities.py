"""Who the control plane is, who the jobs are, and what each may do. Every grant is on one resource."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import managedidentity

from gpu_cluster.roles import BuiltinRole, grant


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentitiesArgs:
    """What the control plane has to reach."""

    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    node_subnet_id: pulumi.Input[str]
    api_server_subnet_id: pulumi.Input[str]
    key_vault_id: pulumi.Input[str]
    key_id: pulumi.Input[str]
    disk_encryption_set_id: pulumi.Input[str]
    kubelet_identity_id: pulumi.Input[str]
    container_id: pulumi.Input[str]
    tags: Mapping[str, str]


class ClusterIdentities(pulumi.ComponentResource):
    """The control plane's identity with its grants, and that of the jobs with access to the container."""

    control_plane_id: pulumi.Output[str]
    jobs: managedidentity.UserAssignedIdentity
    grants: list[pulumi.Resource]

    def __init__(self, name: str, args: ClusterIdentitiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ClusterIdentities", name, {}, opts)

        def identity(purpose: str) -> managedidentity.UserAssignedIdentity:
            return managedidentity.UserAssignedIdentity(
                f"{name}-{purpose}",
                resource_group_name=args.resource_group_name,
                location=args.location,
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )

        control_plane = identity("control-plane")
        self.jobs = identity("jobs")
        wanted = {
            "node-subnet": (BuiltinRole.NETWORK_CONTRIBUTOR, args.node_subnet_id),
            "api-server-subnet": (BuiltinRole.NETWORK_CONTRIBUTOR, args.api_server_subnet_id),
            # To encrypt with the key, and to reach its vault past the closed door.
            "key": (BuiltinRole.KEY_VAULT_CRYPTO_USER, args.key_id),
            "vault": (BuiltinRole.KEY_VAULT_CONTRIBUTOR, args.key_vault_id),
            "disks": (BuiltinRole.READER, args.disk_encryption_set_id),
            "kubelet": (BuiltinRole.MANAGED_IDENTITY_OPERATOR, args.kubelet_identity_id),
        }
        self.grants = [
            grant(
                f"{name}-control-plane-{what}",
                role=role,
                principal_id=control_plane.principal_id,
                scope=scope,
                subscription_id=args.subscription_id,
                parent=self,
            )
            for what, (role, scope) in wanted.items()
        ]
        grant(
            f"{name}-jobs-bucket",
            role=BuiltinRole.STORAGE_BLOB_DATA_CONTRIBUTOR,
            principal_id=self.jobs.principal_id,
            scope=args.container_id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        self.control_plane_id = control_plane.id
        self.register_outputs({"control_plane_id": self.control_plane_id})
