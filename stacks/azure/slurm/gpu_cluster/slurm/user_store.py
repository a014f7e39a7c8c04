"""The list of users in the cluster's vault; changing it replaces no machine."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import keyvault


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStoreArgs:
    """What the list is, and the vault that every machine may read.

    Attributes:
        text: the list in the form of `node/users.sh`; names and public keys, no secret.
    """

    vault_id: pulumi.Output[str]
    text: str
    tags: Mapping[str, str]


class UserStore(pulumi.ComponentResource):
    """The list beside the authentication key, so that machines read both by the same few lines and the same right."""

    secret_id: pulumi.Output[str]
    secret: keyvault.Secret

    def __init__(self, name: str, args: UserStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:UserStore", name, {}, opts)
        # .../resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/NAME
        self.secret = keyvault.Secret(
            f"{name}-users",
            resource_group_name=args.vault_id.apply(lambda vault: vault.split("/")[4]),
            vault_name=args.vault_id.apply(lambda vault: vault.split("/")[8]),
            secret_name=f"{name}-users",
            properties=keyvault.SecretPropertiesArgs(value=args.text, content_type="users of the cluster"),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.secret_id = self.secret.properties.apply(lambda properties: (properties.secret_uri or "").rstrip("/"))
        self.register_outputs({"secret_id": self.secret_id})
