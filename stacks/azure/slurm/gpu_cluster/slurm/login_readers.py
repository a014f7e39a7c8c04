"""Who comes through Bastion: Azure asks its directory first, and the login machine for the SSH key of the list then."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization

from gpu_cluster.roles import BuiltinRole, grant


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginReadersArgs:
    """Who may see what they connect to.

    Attributes:
        object_ids: of users in Entra.
        bastion_name: empty without Bastion.
    """

    object_ids: Sequence[str]
    subscription_id: str
    machine_id: pulumi.Output[str]
    interface_id: pulumi.Output[str]
    bastion_name: pulumi.Output[str]
    bastion_group_name: pulumi.Output[str]


class LoginReaders(pulumi.ComponentResource):
    """Reader on the login machine, its interface and Bastion, and on nothing else.

    Bastion's native client needs these three (Microsoft, "Connect to a VM using Bastion and the Windows native client",
    prerequisites).
    """

    def __init__(self, name: str, args: LoginReadersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:LoginReaders", name, {}, opts)
        bastion_id = pulumi.Output.format(
            "/subscriptions/{0}/resourceGroups/{1}/providers/Microsoft.Network/bastionHosts/{2}",
            args.subscription_id,
            args.bastion_group_name,
            args.bastion_name,
        )

        def let_see(what: str, scope: pulumi.Output[str]) -> None:
            for object_id in args.object_ids:
                grant(
                    f"{name}-{what}-reader-{object_id}",
                    role=BuiltinRole.READER,
                    principal_id=object_id,
                    principal_type=authorization.PrincipalType.USER,
                    scope=scope,
                    subscription_id=args.subscription_id,
                    parent=self,
                )

        def let_through(bastion_name: str) -> None:
            if bastion_name:
                let_see("bastion", bastion_id)

        let_see("login", args.machine_id)
        let_see("login-interface", args.interface_id)
        # The foundation stands when this layer is previewed, so that the name is known there too.
        args.bastion_name.apply(let_through)
        self.register_outputs({})
