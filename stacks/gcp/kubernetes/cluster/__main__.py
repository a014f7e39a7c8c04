"""Composes the cluster layer: managed Kubernetes, its system nodes, add-ons and networks for pods."""

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_gcp import organizations

from gpu_cluster import roles
from gpu_cluster.encryption import KeyUse
from gpu_cluster.identity_record import record_identity
from gpu_cluster.kubernetes.accelerators import REPORTS_IMAGE, pod_networks
from gpu_cluster.kubernetes.busy_reports import DCGM_OF_GKE, BusyReports, BusyReportsArgs
from gpu_cluster.kubernetes.charts import Charts, ChartsArgs, queue
from gpu_cluster.kubernetes.control_plane import ControlPlane, ControlPlaneArgs
from gpu_cluster.kubernetes.node_rights import NodeRights, NodeRightsArgs
from gpu_cluster.kubernetes.pod_networks import PodNetworks, PodNetworksArgs
from gpu_cluster.kubernetes.system_pool import SystemPool, SystemPoolArgs
from gpu_cluster.kubernetes.workload import FileSystemVolume, Workload, WorkloadArgs
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.place import CLUSTER_LABEL
from gpu_cluster.provider import gcp_provider
from gpu_cluster.settings_cluster import config_values, read_settings

settings = read_settings(config_values())
record_identity(cluster=settings.place.cluster_name, place=settings.place.region)
place = settings.place
cluster, labels = place.cluster_name, dict(place.labels)
foundation = OtherLayer(settings.foundation_stack)
key_id, account_email = foundation.text("key_id"), foundation.text("compute_service_account_email")
networks = pod_networks(settings.node_type)

provider = gcp_provider(place)
in_gcp = pulumi.ResourceOptions(providers=[provider])
services = roles.ProjectServices(
    "services", roles.ProjectServicesArgs(project=place.project, services=("container",)), in_gcp
)
# GKE itself encrypts the secrets of the cluster, by an account that comes with the service.
key_rights = KeyUse(key_id=key_id, granted=settings.grant_key_use).by_agent(
    f"{cluster}-gke", "container", place.project, pulumi.ResourceOptions(parent=services), services.services
)
node_rights = NodeRights(
    "node-rights",
    NodeRightsArgs(
        cluster_name=cluster,
        project=place.project,
        project_number=organizations.get_project_output(
            project_id=place.project, opts=pulumi.InvokeOptions(provider=provider)
        ).number,
        account_email=account_email,
        bucket_name=foundation.text("bucket_name"),
        reports_busy_gpus=settings.stop_when_idle_minutes > 0,
    ),
    in_gcp,
)
control_plane = ControlPlane(
    "control-plane",
    ControlPlaneArgs(
        cluster_name=cluster,
        project=place.project,
        region=place.region,
        zone=place.zone,
        kubernetes_version=settings.kubernetes_version,
        multi_networking=bool(networks),
        network_id=foundation.text("network_id"),
        subnetwork_id=foundation.text("subnetwork_id"),
        key_id=key_id,
        account_email=account_email,
        pod_range_prefix=settings.pod_range_prefix,
        pods_per_node=settings.pods_per_node,
        operator_cidrs=settings.operator_cidrs,
        dns_endpoint=settings.api_from_outside,
        deletion_protection=settings.deletion_protection,
        labels=labels,
        after=[*services.services, *key_rights, *node_rights.given],
    ),
    in_gcp,
)
may_report = node_rights.grant_to_pods(control_plane.cluster)
system_pool = SystemPool(
    "system-pool",
    SystemPoolArgs(
        cluster=control_plane.cluster,
        cluster_name=cluster,
        region=place.region,
        zone=place.zone,
        machine_type=settings.system_instance_type,
        node_count=settings.system_node_count,
        account_email=account_email,
        key_id=key_id,
        labels=labels,
    ),
    in_gcp,
)
if settings.install_charts:
    inside = pulumi.ResourceOptions(
        providers=[
            kubernetes.Provider(
                "kubernetes",
                kubeconfig=control_plane.kubeconfig(),
                # Another way to the same cluster is no other cluster.
                cluster_identifier=control_plane.cluster.id,
            )
        ]
    )
    Charts("charts", ChartsArgs(charts=[queue()], after=[system_pool.pool]), inside)
    PodNetworks(
        "pod-networks",
        PodNetworksArgs(networks=networks, gpu_networks=foundation.objects("gpu_networks"), after=[system_pool.pool]),
        inside,
    )
    # Instance id `projects/P/locations/Z/instances/N` and mount source `ADDRESS@tcp:/NAME`: the driver wants the parts.
    source = foundation.text("file_system_mount_source")
    volume = FileSystemVolume(
        driver="lustre.csi.storage.gke.io",
        handle=foundation.text("file_system_id").apply(lambda text: "/".join(text.split("/")[1::2])),
        attributes={
            "ip": source.apply(lambda text: text.partition("@")[0]),
            "filesystem": source.apply(lambda text: text.rpartition("/")[2]),
        },
        capacity_gib=settings.shared_storage_gib,
    )
    Workload(
        "workload",
        WorkloadArgs(
            volume=volume if settings.shared_storage_gib else None,
            identity={},
            labels={CLUSTER_LABEL: cluster},
            after=[system_pool.pool],
        ),
        inside,
    )
    if may_report is not None:
        BusyReports(
            "reports",
            BusyReportsArgs(
                cluster_name=cluster,
                cloud="gcp",
                image=REPORTS_IMAGE,
                exporter=DCGM_OF_GKE,
                gpus_per_node=settings.node_type.gpus_per_node,
                variables={},
                labels={CLUSTER_LABEL: cluster},
                after=[system_pool.pool, may_report],
            ),
            inside,
        )

pulumi.export("cluster_name", control_plane.cluster.name)
pulumi.export("endpoint", control_plane.endpoint)
pulumi.export("pod_networks", [one.name for one in networks])
pulumi.export(
    "connect",
    pulumi.Output.concat(
        "gcloud container clusters get-credentials ",
        control_plane.cluster.name,
        f" --location {place.region} --project {place.project}{' --dns-endpoint' if settings.api_from_outside else ''}",
    ),
)
