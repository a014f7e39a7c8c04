"""Takes GPU nodes down when their time is over or nothing has run on them: a scheduled workflow of Azure Logic Apps.

What it does is in `watchdog.json`, step by step. Every ten minutes it looks at each scale set: after the time in the
tag `expires-at`, or when all nodes have said for `stopWhenIdleMinutes` that no GPU is busy, it deletes the machines.
Nodes that say nothing are not idle.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pulumi
from pulumi_azure_native import authorization, logic

_DEFINITION = Path(__file__).with_name("watchdog.json")
_MANAGEMENT = "https://management.azure.com"
# To look at a scale set and its metrics, and to delete its machines; not to change what they are.
_ACTIONS = (
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Insights/metrics/read",
)


def expires_at(now: datetime, hours: int) -> str:
    """Return when the time to live ends: RFC 3339, whole hours, so that the tag reads well.

    >>> expires_at(datetime(2026, 11, 21, 15, 20, tzinfo=UTC), 24)
    '2026-11-22T16:00:00Z'
    """
    full_hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return (full_hour + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def definition() -> Mapping[str, object]:
    """Return the workflow."""
    return cast("Mapping[str, object]", json.loads(_DEFINITION.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogArgs:
    """What is watched.

    Attributes:
        idle_minutes: without a busy GPU after which nodes are taken down; None for never.
    """

    resource_group_name: pulumi.Input[str]
    resource_group_id: pulumi.Input[str]
    location: str
    scale_set_ids: Sequence[pulumi.Input[str]]
    idle_minutes: int | None
    tags: Mapping[str, str]


class Watchdog(pulumi.ComponentResource):
    """The workflow, with an identity that may do nothing else and nowhere else."""

    def __init__(self, name: str, args: WatchdogArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Watchdog", name, {}, opts)
        workflow = logic.Workflow(
            f"{name}-watchdog",
            resource_group_name=args.resource_group_name,
            location=args.location,
            state=logic.WorkflowState.ENABLED,
            identity=logic.ManagedServiceIdentityArgs(type=logic.ManagedServiceIdentityType.SYSTEM_ASSIGNED),
            definition=definition(),
            parameters={
                "management": logic.WorkflowParameterArgs(value=_MANAGEMENT),
                "scaleSetIds": logic.WorkflowParameterArgs(value=list(args.scale_set_ids)),
                "idleMinutes": logic.WorkflowParameterArgs(value=args.idle_minutes or 0),
            },
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        role = authorization.RoleDefinition(
            f"{name}-watchdog",
            scope=args.resource_group_id,
            assignable_scopes=[args.resource_group_id],
            # Names of roles are unique in the tenant.
            role_name=pulumi.Output.format("watchdog of {0}", args.resource_group_id),
            role_type="CustomRole",
            description="Looks at GPU scale sets and deletes their machines when they expire or idle",
            permissions=[authorization.PermissionArgs(actions=list(_ACTIONS), not_actions=[])],
            opts=pulumi.ResourceOptions(parent=self),
        )
        for index, scale_set_id in enumerate(args.scale_set_ids):
            authorization.RoleAssignment(
                f"{name}-watchdog-{index}",
                principal_id=workflow.identity.apply(lambda identity: identity.principal_id if identity else ""),
                principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,
                role_definition_id=role.id,
                scope=scale_set_id,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
