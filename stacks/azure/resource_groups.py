"""Three resource groups, so that deleting GPU nodes can never reach the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization, resources


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroupsArgs:
    """Where the groups are and what they are tagged with."""

    location: str
    tags: Mapping[str, str]


class ResourceGroups(pulumi.ComponentResource):
    """`network` and `data` live long, `nodes` comes and goes."""

    network: pulumi.Output[str]
    data: pulumi.Output[str]
    nodes: pulumi.Output[str]
    data_id: pulumi.Output[str]

    def __init__(self, name: str, args: ResourceGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:azure:ResourceGroups", name, {}, opts)

        def group(purpose: str, *, protect: bool) -> resources.ResourceGroup:
            return resources.ResourceGroup(
                f"{name}-{purpose}",
                location=args.location,
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self, protect=protect),
            )

        data = group("data", protect=True)
        self.network = group("network", protect=False).name
        self.data = data.name
        self.data_id = data.id
        self.nodes = group("nodes", protect=False).name
        self.register_outputs({"network": self.network, "data": self.data, "nodes": self.nodes})


def lock_data_group(
    name: str, groups: ResourceGroups, after: Sequence[pulumi.Resource]
) -> authorization.ManagementLockByScope:
    """Forbid deletion of anything in the data group, also by people in the portal.

    A lock would stop the deletion of role assignments below it too, so it is made after everything in the group and is
    the first to go on `pulumi destroy`; what must survive that is protected in the state.
    """
    return authorization.ManagementLockByScope(
        f"{name}-data-lock",
        scope=groups.data_id,
        level=authorization.LockLevel.CAN_NOT_DELETE,
        notes="Data sets, checkpoints and keys of the cluster. Remove this lock only to delete them for good.",
        opts=pulumi.ResourceOptions(parent=groups, depends_on=list(after)),
    )
