"""The directory's settings in the cluster's vault, and the name under which its password is there."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import keyvault

from gpu_cluster.directory_settings import Directory, settings_text


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryStoreArgs:
    """Which directory, and the vault that every machine may read and the controller write.

    Attributes:
        key_url: of Slurm's key in the same vault, which says the vault's address.
    """

    vault_id: pulumi.Output[str]
    key_url: pulumi.Input[str]
    directory: Directory
    tags: Mapping[str, str]


class DirectoryStore(pulumi.ComponentResource):
    """The settings beside the list of users; changing them replaces no machine.

    `places` names settings and password, with a blank between; nothing follows it where there is no password.

    The password is not among the resources: a secret without a value does not exist in a vault. An administrator
    stores it from the controller, so that it never passes through Pulumi's state.
    """

    places: pulumi.Output[str]

    def __init__(self, name: str, args: DirectoryStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:DirectoryStore", f"{name}-directory", {}, opts)
        # https://VAULT/secrets/NAME
        password: pulumi.Input[str] = ""
        if args.directory.bind_dn:
            password = pulumi.Output.from_input(args.key_url).apply(
                lambda url: f"{url.rpartition('/')[0]}/{name}-directory-password"
            )
        settings = keyvault.Secret(
            f"{name}-directory",
            resource_group_name=args.vault_id.apply(lambda vault: vault.split("/")[4]),
            vault_name=args.vault_id.apply(lambda vault: vault.split("/")[8]),
            secret_name=f"{name}-directory",
            properties=keyvault.SecretPropertiesArgs(
                value=settings_text(args.directory), content_type="directory of the cluster"
            ),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        place = settings.properties.apply(lambda properties: (properties.secret_uri or "").rstrip("/"))
        self.places = pulumi.Output.concat(place, " ", password)
        self.register_outputs({"places": self.places})
