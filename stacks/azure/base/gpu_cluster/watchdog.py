"""Takes GPU nodes down when their time is over or nothing has run on them: a scheduled workflow of Azure Logic Apps.

What it does is in `watchdog.json`, step by step. Every ten minutes it looks at each group of nodes (a scale set, or a
pool of AKS): after the time in the tag `expires-at`, or when all nodes have said for `stopWhenIdleMinutes` that no GPU
is busy, it deletes the machines. Nodes that say nothing are not idle.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pulumi
from pulumi_azure_native import authorization, logic

from gpu_cluster.config_values import Values

EXPIRY_TAG = "expires-at"
_DEFINITION = Path(__file__).with_name("watchdog.json")
_MANAGEMENT = "https://management.azure.com"
_YEAR_H = 8_760
# Six reports of a node, which makes one every 5 minutes.
_LEAST_IDLE_MIN = 30
_DAY_MIN = 1_440


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogSettings:
    """When nodes are taken down; None for never."""

    time_to_live_hours: int | None
    stop_when_idle_minutes: int | None

    @property
    def is_wanted(self) -> bool:
        """Whether there is anything to watch for."""
        return self.time_to_live_hours is not None or self.stop_when_idle_minutes is not None


def read_watchdog(values: Values) -> WatchdogSettings:
    """Read `timeToLiveHours` and `stopWhenIdleMinutes`; 0 or nothing is never."""
    return WatchdogSettings(
        time_to_live_hours=_optional(values, "timeToLiveHours", 1, _YEAR_H),
        stop_when_idle_minutes=read_stop_when_idle(values),
    )


def read_stop_when_idle(values: Values) -> int | None:
    """Read `stopWhenIdleMinutes`; None for never."""
    return _optional(values, "stopWhenIdleMinutes", _LEAST_IDLE_MIN, _DAY_MIN)


def _optional(values: Values, key: str, least: int, most: int) -> int | None:
    return None if values.values.get(key) in (None, 0, "0") else values.whole(key, least, most)


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
class Right:
    """What the workflow may do to some resources and to no others.

    Attributes:
        name: ends the names of the role and its grants; "" for the only one.
        to: ends the sentence that describes the role.
    """

    name: str
    to: str
    actions: Sequence[str]
    scopes: Sequence[pulumi.Input[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogArgs:
    """What is watched.

    Attributes:
        parameters: which groups of nodes there are, as the workflow names them.
        idle_minutes: without a busy GPU after which nodes are taken down; None for never.
    """

    resource_group_name: pulumi.Input[str]
    resource_group_id: pulumi.Input[str]
    location: str
    parameters: Mapping[str, pulumi.Input[str] | Sequence[pulumi.Input[str]]]
    rights: Sequence[Right]
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
                **{name: logic.WorkflowParameterArgs(value=value) for name, value in args.parameters.items()},
                "idleMinutes": logic.WorkflowParameterArgs(value=args.idle_minutes or 0),
            },
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        for right in args.rights:
            self._grant(name, args, right, workflow)
        self.register_outputs({})

    def _grant(self, name: str, args: WatchdogArgs, right: Right, workflow: logic.Workflow) -> None:
        suffix = f"-{right.name}" if right.name else ""
        role = authorization.RoleDefinition(
            f"{name}-watchdog{suffix}",
            scope=args.resource_group_id,
            assignable_scopes=[args.resource_group_id],
            # Names of roles are unique in the tenant.
            role_name=pulumi.Output.format("watchdog{0} of {1}", suffix, args.resource_group_id),
            role_type="CustomRole",
            description=right.to,
            permissions=[authorization.PermissionArgs(actions=list(right.actions), not_actions=[])],
            opts=pulumi.ResourceOptions(parent=self),
        )
        for index, scope in enumerate(right.scopes):
            authorization.RoleAssignment(
                f"{name}-watchdog{suffix}-{index}",
                principal_id=workflow.identity.apply(lambda identity: identity.principal_id if identity else ""),
                principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,
                role_definition_id=role.id,
                scope=scope,
                opts=pulumi.ResourceOptions(parent=self),
            )
