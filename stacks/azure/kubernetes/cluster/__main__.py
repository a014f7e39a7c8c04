"""Cluster: managed Kubernetes, its system nodes and its add-ons. It outlives the GPU nodes."""

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_azure_native import authorization, managedidentity

from gpu_cluster.cluster_identity import CLUSTER_TAG
from gpu_cluster.identity_record import record_identity
from gpu_cluster.kubernetes.accelerator_charts import Infiniband, InfinibandArgs, charts
from gpu_cluster.kubernetes.api_access import TUNNEL_PORT
from gpu_cluster.kubernetes.api_server_subnet import ApiServerSubnet, ApiServerSubnetArgs
from gpu_cluster.kubernetes.busy_reports import DCGM_CHART, BusyReports, BusyReportsArgs
from gpu_cluster.kubernetes.charts import Charts, ChartsArgs
from gpu_cluster.kubernetes.cluster_identities import ClusterIdentities, ClusterIdentitiesArgs
from gpu_cluster.kubernetes.control_plane import CLOSED_TO_JOBS, ControlPlane, ControlPlaneArgs
from gpu_cluster.kubernetes.reports_identity import IMAGE, POD_LABELS, ReportsIdentity, ReportsIdentityArgs
from gpu_cluster.kubernetes.workload import (
    NAMESPACE,
    SERVICE_ACCOUNT,
    FileSystemVolume,
    Workload,
    WorkloadArgs,
)
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import azure_provider
from gpu_cluster.resource_groups import LayerGroup, LayerGroupArgs
from gpu_cluster.settings_cluster import load_settings

settings = load_settings()
record_identity(cluster=settings.cluster_name, place=settings.location)
foundation = OtherLayer(settings.foundation_stack)
provider = azure_provider(settings.location)
in_azure = pulumi.ResourceOptions(providers=[provider])
client = authorization.get_client_config(opts=pulumi.InvokeOptions(provider=provider))
name = settings.cluster_name
node_subnet_id, key_vault_id = foundation.text("node_subnet_id"), foundation.text("key_vault_id")
disk_encryption_set_id, kubelet_id = foundation.text("disk_encryption_set_id"), foundation.text("compute_identity_id")

group = LayerGroup(f"{name}-cluster", LayerGroupArgs(location=settings.location, tags=settings.tags), in_azure)
subnet = ApiServerSubnet(
    f"{name}-api-server",
    ApiServerSubnetArgs(
        resource_group_name=group.group_name,
        location=settings.location,
        virtual_network_id=foundation.text("virtual_network_id"),
        cidr=settings.api_server_cidr,
        operator_cidrs=settings.operator_cidrs,
        tags=settings.tags,
    ),
    in_azure,
)
identities = ClusterIdentities(
    name,
    ClusterIdentitiesArgs(
        resource_group_name=group.group_name,
        location=settings.location,
        subscription_id=client.subscription_id,
        node_subnet_id=node_subnet_id,
        api_server_subnet_id=subnet.subnet_id,
        key_vault_id=key_vault_id,
        key_id=foundation.text("key_id"),
        disk_encryption_set_id=disk_encryption_set_id,
        kubelet_identity_id=kubelet_id,
        container_id=foundation.text("container_id"),
        tags=settings.tags,
    ),
    in_azure,
)
control_plane = ControlPlane(
    name,
    ControlPlaneArgs(
        resource_group_name=group.group_name,
        cluster_name=name,
        location=settings.location,
        zone=settings.zone,
        subscription_id=client.subscription_id,
        caller_object_id=client.object_id,
        kubernetes_version=settings.kubernetes_version,
        api_server_subnet_id=subnet.subnet_id,
        node_subnet_id=node_subnet_id,
        service_cidr=settings.service_cidr,
        operator_cidrs=settings.operator_cidrs,
        admin_group_object_ids=settings.admin_group_object_ids,
        system_instance_type=settings.system_instance_type,
        system_node_count=settings.system_node_count,
        encryption_at_host=settings.encryption_at_host,
        identity_id=identities.control_plane_id,
        kubelet_identity_id=kubelet_id,
        kubelet_client_id=foundation.text("compute_identity_client_id"),
        kubelet_principal_id=foundation.text("compute_identity_principal_id"),
        key_vault_id=key_vault_id,
        key_url=foundation.text("key_url"),
        disk_encryption_set_id=disk_encryption_set_id,
        log_workspace_id=foundation.text("log_workspace_id"),
        tags=settings.tags,
        after=identities.grants,
    ),
    in_azure,
)
# The jobs' service account signs in as an identity of Azure, without a secret.
managedidentity.FederatedIdentityCredential(
    f"{name}-jobs",
    resource_group_name=group.group_name,
    resource_name_=identities.jobs.name,
    issuer=control_plane.issuer_url,
    subject=f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}",
    audiences=["api://AzureADTokenExchange"],
    opts=pulumi.ResourceOptions(parent=identities),
)
reports = (
    ReportsIdentity(
        f"{name}-reports",
        ReportsIdentityArgs(
            resource_group_name=group.group_name,
            location=settings.location,
            subscription_id=client.subscription_id,
            cluster_id=control_plane.cluster.id,
            issuer_url=control_plane.issuer_url,
            tags=settings.tags,
        ),
        in_azure,
    )
    if settings.stop_when_idle_minutes
    else None
)
if settings.install_charts:
    inside = pulumi.ResourceOptions(
        providers=[
            kubernetes.Provider(
                "kubernetes",
                kubeconfig=control_plane.kubeconfig(tunnel=settings.api_from_outside),
                # Another way to the same cluster is no other cluster.
                cluster_identifier=control_plane.cluster.id,
            )
        ]
    )
    ready: list[pulumi.Resource] = [control_plane.cluster, control_plane.admin]
    installed = Charts("charts", ChartsArgs(charts=charts(settings.node_type), after=ready), inside)
    if settings.node_type.fabric_interfaces:
        Infiniband("infiniband", InfinibandArgs(node_type=settings.node_type, after=installed.releases), inside)
    source = foundation.text("file_system_mount_source")
    Workload(
        "workload",
        WorkloadArgs(
            volume=FileSystemVolume(
                driver="azurelustre.csi.azure.com",
                handle=f"{name}-shared",
                attributes={
                    "fs-name": source.apply(lambda text: text.rpartition("/")[2]),
                    "mgs-ip-address": source.apply(lambda text: text.partition("@")[0]),
                },
                capacity_gib=settings.shared_storage_gib,
            ),
            identity={"azure.workload.identity/client-id": identities.jobs.client_id},
            labels={CLUSTER_TAG: name},
            after=ready,
            closed=CLOSED_TO_JOBS,
        ),
        inside,
    )
    if reports is not None:
        BusyReports(
            "reports",
            BusyReportsArgs(
                cluster_name=name,
                cloud="azure",
                image=IMAGE,
                exporter=DCGM_CHART,
                gpus_per_node=settings.node_type.gpus_per_node,
                variables={"REGION": settings.location, "METRIC_RESOURCE": control_plane.cluster.id},
                labels={CLUSTER_TAG: name},
                after=[*installed.releases, *reports.grants],
                identity={"azure.workload.identity/client-id": reports.client_id},
                pod_labels=POD_LABELS,
            ),
            inside,
        )

pulumi.export("cluster_name", control_plane.cluster.name)
pulumi.export("cluster_id", control_plane.cluster.id)
pulumi.export("cluster_resource_group_name", group.group_name)
pulumi.export("cluster_resource_group_id", group.group_id)
pulumi.export("api_tunnel", str(TUNNEL_PORT) if settings.install_charts and settings.api_from_outside else "")
pulumi.export("endpoint", control_plane.cluster.fqdn if settings.operator_cidrs else control_plane.cluster.private_fqdn)
pulumi.export(
    "connect",
    pulumi.Output.concat(
        "az aks get-credentials --resource-group ", group.group_name, " --name ", control_plane.cluster.name
    ),
)
