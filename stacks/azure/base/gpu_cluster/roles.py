"""Identities of the machines and what they may do. Every grant is on one resource, never on a group or subscription."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import pulumi
from pulumi_azure_native import authorization, managedidentity


class BuiltinRole(Enum):
    """Azure's own roles by their fixed definition id (Microsoft, "Azure built-in roles")."""

    KEY_VAULT_CONTRIBUTOR = "f25e0fa2-a7c8-4377-a976-54943a77a395"
    KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER = "e147488a-f6f5-4113-8e2d-b22465e65bf6"
    KEY_VAULT_CRYPTO_USER = "12338af0-0e69-4776-bea7-57ae8d297424"
    KEY_VAULT_SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
    KEY_VAULT_SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
    MANAGED_IDENTITY_OPERATOR = "f1a07417-d97a-45cb-824c-7a7467783830"
    MONITORING_METRICS_PUBLISHER = "3913510d-42f4-4e42-8a64-420c390055eb"
    NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
    READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
    STORAGE_ACCOUNT_CONTRIBUTOR = "17d1049b-9a84-46fb-8f53-869881c3d3ab"
    STORAGE_BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"


def grant(
    name: str,
    *,
    role: BuiltinRole,
    principal_id: pulumi.Input[str],
    scope: pulumi.Input[str],
    subscription_id: str,
    parent: pulumi.Resource,
    principal_type: authorization.PrincipalType = authorization.PrincipalType.SERVICE_PRINCIPAL,
) -> authorization.RoleAssignment:
    """Give an identity, or a person, one built-in role on one resource."""
    return authorization.RoleAssignment(
        name,
        principal_id=principal_id,
        # Said explicitly, so that Azure does not look up an identity that has not reached its directory yet.
        principal_type=principal_type,
        role_definition_id=f"/subscriptions/{subscription_id}/providers/Microsoft.Authorization/roleDefinitions/{role.value}",
        scope=scope,
        opts=pulumi.ResourceOptions(parent=parent),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RolesArgs:
    """What the machines get access to."""

    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    secret_vault_id: pulumi.Input[str]
    tags: Mapping[str, str]


class Roles(pulumi.ComponentResource):
    """One identity each for controller, login machine and GPU nodes: only the controller may write the secret."""

    controller: managedidentity.UserAssignedIdentity
    login: managedidentity.UserAssignedIdentity
    compute: managedidentity.UserAssignedIdentity

    def __init__(self, name: str, args: RolesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Roles", name, {}, opts)

        def identity(purpose: str, secret_role: BuiltinRole) -> managedidentity.UserAssignedIdentity:
            made = managedidentity.UserAssignedIdentity(
                f"{name}-{purpose}",
                resource_group_name=args.resource_group_name,
                location=args.location,
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            grant(
                f"{name}-{purpose}-secret",
                role=secret_role,
                principal_id=made.principal_id,
                scope=args.secret_vault_id,
                subscription_id=args.subscription_id,
                parent=self,
            )
            return made

        # On Azure a secret without a value does not exist, so the controller makes it at its first boot: it needs the
        # officer role, and the vault holds nothing else.
        self.controller = identity("controller", BuiltinRole.KEY_VAULT_SECRETS_OFFICER)
        self.login = identity("login", BuiltinRole.KEY_VAULT_SECRETS_USER)
        self.compute = identity("compute", BuiltinRole.KEY_VAULT_SECRETS_USER)
        self.register_outputs({"controller_identity_id": self.controller.id, "compute_identity_id": self.compute.id})
