"""Resource groups: one for the network and one for the data, so that deleting machines can never reach either."""

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
    """`network` and `data` live long; the layers `cluster` and `nodes` have a group each of their own."""

    network: pulumi.Output[str]
    data: pulumi.Output[str]
    data_id: pulumi.Output[str]

    def __init__(self, name: str, args: ResourceGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ResourceGroups", name, {}, opts)

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
        self.register_outputs({"network": self.network, "data": self.data})


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroupArgs:
    """Where the group of a layer is and what it is tagged with."""

    location: str
    tags: Mapping[str, str]


class LayerGroup(pulumi.ComponentResource):
    """The one resource group of a layer that comes and goes as a whole."""

    group_name: pulumi.Output[str]
    group_id: pulumi.Output[str]

    def __init__(self, name: str, args: LayerGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:LayerGroup", name, {}, opts)
        made = resources.ResourceGroup(
            name, location=args.location, tags=args.tags, opts=pulumi.ResourceOptions(parent=self)
        )
        self.group_name = made.name
        self.group_id = made.id
        self.register_outputs({"group_name": self.group_name})


def lock(
    name: str,
    *,
    scope: pulumi.Input[str],
    notes: str,
    after: Sequence[pulumi.Resource],
    parent: pulumi.Resource,
) -> authorization.ManagementLockByScope:
    """Forbid deletion of anything in a scope, also by people in the portal.

    A lock would stop the deletion of role assignments below it too, so it is made after everything in the scope and is
    the first to go on `pulumi destroy`; what must survive that is protected in the state.
    """
    return authorization.ManagementLockByScope(
        name,
        scope=scope,
        level=authorization.LockLevel.CAN_NOT_DELETE,
        notes=notes,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(after)),
    )
