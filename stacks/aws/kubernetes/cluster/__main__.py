"""Composes the cluster layer: managed Kubernetes, its system nodes and its add-ons."""

import pulumi
import pulumi_kubernetes as kubernetes

from gpu_cluster.identity_record import record_identity
from gpu_cluster.kubernetes.accelerator_charts import charts
from gpu_cluster.kubernetes.api_access import TUNNEL_PORT
from gpu_cluster.kubernetes.busy_reports import DCGM_CHART, BusyReports, BusyReportsArgs
from gpu_cluster.kubernetes.charts import Charts, ChartsArgs
from gpu_cluster.kubernetes.control_plane import ControlPlane, ControlPlaneArgs
from gpu_cluster.kubernetes.managed_add_ons import ManagedAddOns, ManagedAddOnsArgs
from gpu_cluster.kubernetes.reports_role import IMAGE, ReportsRole, ReportsRoleArgs
from gpu_cluster.kubernetes.system_nodes import SystemNodes, SystemNodesArgs
from gpu_cluster.kubernetes.workload import FileSystemVolume, Workload, WorkloadArgs
from gpu_cluster.kubernetes.workload_role import WorkloadRole, WorkloadRoleArgs
from gpu_cluster.layer import CLUSTER_TAG, aws_provider
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.permissions import look_up_account
from gpu_cluster.settings_cluster import config_values, read_settings

settings = read_settings(config_values())
record_identity(cluster=settings.layer.cluster_name, place=settings.layer.region)
name, region = settings.layer.cluster_name, settings.layer.region
foundation = OtherLayer(settings.foundation_stack)
provider = aws_provider(settings.layer)
account = look_up_account(provider, region)
in_region = pulumi.ResourceOptions(providers=[provider])
key_arn = foundation.text("key_arn")

control_plane = ControlPlane(
    f"{name}-control-plane",
    ControlPlaneArgs(
        account=account,
        cluster_name=name,
        kubernetes_version=settings.kubernetes_version,
        subnet_ids=foundation.texts("service_subnet_ids"),
        key_arn=key_arn,
        operator_cidrs=settings.operator_cidrs,
        admin_role_arns=settings.admin_role_arns,
        log_retention_days=settings.log_retention_days,
        deletion_protection=settings.deletion_protection,
    ),
    in_region,
)
first = ManagedAddOns(
    f"{name}-node-add-ons",
    ManagedAddOnsArgs(
        account=account, cluster=control_plane.cluster, before_nodes=True, versions=settings.add_on_versions
    ),
    in_region,
)
system_nodes = SystemNodes(
    f"{name}-system",
    SystemNodesArgs(
        account=account,
        cluster=control_plane.cluster,
        instance_type=settings.system_instance_type,
        node_count=settings.system_node_count,
        role_name=foundation.text("compute_role_name"),
        role_arn=foundation.text("compute_role_arn"),
        subnet_id=foundation.text("node_subnet_id"),
        security_group_ids=[control_plane.security_group_id, foundation.text("cluster_security_group_id")],
        key_arn=key_arn,
        tags=settings.layer.tags,
        after=first.add_ons,
    ),
    in_region,
)
later = ManagedAddOns(
    f"{name}-add-ons",
    ManagedAddOnsArgs(
        account=account,
        cluster=control_plane.cluster,
        before_nodes=False,
        versions=settings.add_on_versions,
        after=[system_nodes.group],
    ),
    in_region,
)
WorkloadRole(
    f"{name}-workload-role",
    WorkloadRoleArgs(
        account=account, cluster_name=control_plane.name, bucket_name=foundation.text("bucket_name"), key_arn=key_arn
    ),
    in_region,
)
reports_role = (
    ReportsRole(
        f"{name}-reports-role",
        ReportsRoleArgs(account=account, cluster_name=control_plane.name, metric_cluster=name),
        in_region,
    )
    if settings.stop_when_idle_minutes
    else None
)
if settings.install_charts:
    in_cluster = kubernetes.Provider(
        "kubernetes",
        kubeconfig=control_plane.kubeconfig(region, tunnel=settings.api_from_outside),
        # Another way to the same cluster is no other cluster.
        cluster_identifier=control_plane.arn,
    )
    inside = pulumi.ResourceOptions(providers=[in_cluster])
    installed = Charts(
        f"{name}-charts",
        ChartsArgs(charts=charts(settings.node_type), after=[system_nodes.group]),
        inside,
    )
    # The mount source is `name@tcp:/mount`, of which the driver wants both parts.
    source = foundation.text("file_system_mount_source")
    Workload(
        f"{name}-workload",
        WorkloadArgs(
            volume=FileSystemVolume(
                driver="fsx.csi.aws.com",
                handle=foundation.text("file_system_id"),
                attributes={
                    "dnsname": source.apply(lambda text: text.partition("@")[0]),
                    "mountname": source.apply(lambda text: text.rpartition("/")[2]),
                },
                capacity_gib=settings.shared_storage_gib,
            ),
            identity={},
            labels={CLUSTER_TAG: name},
            after=[system_nodes.group],
        ),
        inside,
    )
    if reports_role is not None:
        BusyReports(
            f"{name}-reports",
            BusyReportsArgs(
                cluster_name=name,
                cloud="aws",
                image=IMAGE,
                exporter=DCGM_CHART,
                gpus_per_node=settings.node_type.gpus_per_node,
                variables={"REGION": region},
                labels={CLUSTER_TAG: name},
                after=[*installed.releases, reports_role.association],
            ),
            inside,
        )

pulumi.export("cluster_name", control_plane.name)
pulumi.export("endpoint", control_plane.endpoint)
pulumi.export("cluster_security_group_id", control_plane.security_group_id)
pulumi.export("api_tunnel", str(TUNNEL_PORT) if settings.install_charts and settings.api_from_outside else "")
pulumi.export("system_node_group", system_nodes.group.node_group_name)
pulumi.export(
    "add_on_versions", pulumi.Output.all(first.versions, later.versions).apply(lambda found: {**found[0], **found[1]})
)
pulumi.export("kubernetes_version", settings.kubernetes_version)
pulumi.export(
    "connect",
    pulumi.Output.format("aws eks update-kubeconfig --region {0} --name {1}", region, control_plane.name),
)
