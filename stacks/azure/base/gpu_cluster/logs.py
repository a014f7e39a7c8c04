"""Where logs go: a workspace for audit logs, and a closed storage account for flow logs of the network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import managedidentity, monitor, network, operationalinsights

from gpu_cluster.keys import Keys
from gpu_cluster.object_store import ClosedAccountArgs, ObjectStore, closed_account
from gpu_cluster.roles import BuiltinRole, grant

# Minutes between two looks of traffic analytics at the flow logs; 10 and 60 are possible.
_ANALYTICS_INTERVAL_MIN = 60
# The second version of the format counts bytes and packets.
_FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsArgs:
    """What is logged and for how long.

    Attributes:
        audited: resources whose audit logs are kept, by what they are for.
        retention_days: of logs in the workspace and of flow logs.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    audited: Mapping[str, pulumi.Input[str]]
    retention_days: int
    tags: Mapping[str, str]


class Logs(pulumi.ComponentResource):
    """The workspace, with the audit logs of the vaults."""

    workspace_id: pulumi.Output[str]

    def __init__(self, name: str, args: LogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Logs", name, {}, opts)
        workspace = operationalinsights.Workspace(
            f"{name}-logs",
            resource_group_name=args.resource_group_name,
            location=args.location,
            sku=operationalinsights.WorkspaceSkuArgs(name=operationalinsights.WorkspaceSkuNameEnum.PER_GB2018),
            retention_in_days=args.retention_days,
            # Readers sign in with Entra; the workspace's own keys are not used.
            features=operationalinsights.WorkspaceFeaturesArgs(disable_local_auth=True),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.workspace_id = workspace.id
        for what, resource_id in args.audited.items():
            monitor.DiagnosticSetting(
                f"{name}-{what}-audit",
                resource_uri=resource_id,
                workspace_id=workspace.id,
                logs=[monitor.DiagnosticsLogSettingsArgs(category_group="audit", enabled=True)],
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"workspace_id": self.workspace_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLogsArgs:
    """Which network is watched, and by whom.

    Attributes:
        watcher: resource group and name of the location's network watcher, which Azure makes by itself.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    virtual_network_id: pulumi.Input[str]
    watcher: str
    keys: Keys
    store: ObjectStore
    workspace_id: pulumi.Input[str]
    retention_days: int
    after: Sequence[pulumi.Resource]
    tags: Mapping[str, str]


class FlowLogs(pulumi.ComponentResource):
    """Flow logs of the whole virtual network, which Azure offers in place of those of security groups."""

    def __init__(self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:FlowLogs", name, {}, opts)
        account = closed_account(
            f"fl{name.replace('-', '')[:13]}",
            ClosedAccountArgs(
                resource_group_name=args.resource_group_name,
                location=args.location,
                sku="Standard_LRS",
                keys=args.keys,
                identity_id=args.store.encryption_identity_id,
                kept=False,
                account_key_allowed=False,
                after=[args.store.encryption_grant, *args.after],
                tags=args.tags,
            ),
            self,
        )
        # The account takes no signature of its own key, so the logs are written with an identity.
        writer = managedidentity.UserAssignedIdentity(
            f"{name}-flow-logs",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        may_write = grant(
            f"{name}-flow-logs-write",
            role=BuiltinRole.STORAGE_BLOB_DATA_CONTRIBUTOR,
            principal_id=writer.principal_id,
            scope=account.id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        watcher_group, _, watcher_name = args.watcher.partition("/")
        network.FlowLog(
            f"{name}-flow-logs",
            resource_group_name=watcher_group,
            network_watcher_name=watcher_name,
            location=args.location,
            target_resource_id=args.virtual_network_id,
            storage_id=account.id,
            enabled=True,
            format=network.FlowLogFormatParametersArgs(type=network.FlowLogFormatType.JSON, version=_FORMAT_VERSION),
            retention_policy=network.RetentionPolicyParametersArgs(enabled=True, days=args.retention_days),
            flow_analytics_configuration=network.TrafficAnalyticsPropertiesArgs(
                network_watcher_flow_analytics_configuration=network.TrafficAnalyticsConfigurationPropertiesArgs(
                    enabled=True,
                    traffic_analytics_interval=_ANALYTICS_INTERVAL_MIN,
                    workspace_resource_id=args.workspace_id,
                    workspace_region=args.location,
                )
            ),
            identity=network.ManagedServiceIdentityArgs(
                type=network.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[writer.id]
            ),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[may_write]),
        )
        self.register_outputs({})
