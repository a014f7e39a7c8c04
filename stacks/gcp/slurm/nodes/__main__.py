"""The GPU nodes of the cluster: nothing here holds data, so it can be destroyed and made again at any time."""

from pathlib import Path

import pulumi

from gpu_cluster import roles, watchdog
from gpu_cluster.identity_record import record_identity
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import gcp_provider
from gpu_cluster.settings_nodes import NodesSettings, config_values, read_settings
from gpu_cluster.slurm.machine_boot import BootValues, user_data
from gpu_cluster.slurm.node_alerts import NodeAlerts, NodeAlertsArgs
from gpu_cluster.slurm.node_groups import GpuNodes, GpuNodesArgs, group_sizes
from gpu_cluster.slurm.tpu_nodes import TpuNodes, TpuNodesArgs
from gpu_cluster.slurm.user_data import read_scripts

settings = read_settings(config_values())
for warning in settings.warnings:
    pulumi.log.warn(warning)
scripts = read_scripts(Path(__file__).parent.parent / "node")
record_identity(cluster=settings.place.cluster_name, place=settings.place.region)
place = settings.place
cluster, labels = place.cluster_name, {**place.labels, "role": "compute"}
foundation = OtherLayer(settings.foundation_stack)

provider = gcp_provider(place)
in_gcp = pulumi.ResourceOptions(providers=[provider])


def make_tpu_nodes(settings: NodesSettings) -> None:
    """One slice, or none at nodeCount 0."""
    if settings.tpu_slice is None:
        pulumi.export("node_groups", [])
        pulumi.export("slice", "")
        return
    services = roles.ProjectServices(
        "services", roles.ProjectServicesArgs(project=place.project, services=("tpu",)), in_gcp
    ).services
    nodes = TpuNodes(
        "nodes",
        TpuNodesArgs(
            cluster_name=cluster,
            zone=place.zone,
            slice=settings.tpu_slice,
            capacity=settings.capacity,
            network_id=foundation.text("network_id"),
            subnetwork_id=foundation.text_for_nodes("subnetwork_id", settings.node_count),
            account_email=foundation.text("compute_service_account_email"),
            bucket_name=foundation.text("bucket_name"),
            labels=labels,
        ),
        pulumi.ResourceOptions(providers=[provider], depends_on=services),
    )
    pulumi.export("node_groups", [])
    pulumi.export("slice", nodes.vm.name)
    pulumi.export("topology", settings.tpu_slice.topology)
    pulumi.export(
        "connect",
        pulumi.Output.concat(
            "gcloud compute tpus tpu-vm ssh ",
            nodes.vm.name,
            " --worker=all --tunnel-through-iap",
            f" --zone {place.zone} --project {place.project}",
        ),
    )


def make_gpu_nodes(settings: NodesSettings) -> None:
    """Instance groups, their alert, and the watchdog where something may end them."""
    head = OtherLayer(settings.cluster_stack)
    nodes = GpuNodes(
        "nodes",
        GpuNodesArgs(
            cluster_name=cluster,
            region=place.region,
            zone=place.zone,
            node_count=settings.node_count,
            node_type=settings.node_type,
            capacity=settings.capacity,
            boot_disk_gb=settings.boot_disk_gb,
            subnetwork_id=foundation.text_for_nodes("subnetwork_id", settings.node_count),
            gpu_networks=foundation.objects("gpu_networks"),
            account_email=foundation.text("compute_service_account_email"),
            key_id=foundation.text("key_id"),
            user_data=user_data(
                BootValues(
                    place=place,
                    node_type=settings.node_type,
                    partition=settings.partition,
                    shared_path=settings.shared_path,
                    controller_address=head.text("controller_address"),
                    secret_id=head.text("secret_id"),
                    users_id=head.text("users_id"),
                    directory_places=head.optional_text("directory_places"),
                    shared_source=foundation.text("file_system_mount_source"),
                    bucket_name=foundation.text("bucket_name"),
                    data_identity=head.text("data_identity"),
                    job_environment=settings.job_environment,
                ),
                "compute",
                scripts,
                spot=settings.capacity.model == "spot",
                busy_metric=bool(settings.stop_when_idle_minutes),
            ),
            labels=labels,
        ),
        in_gcp,
    )
    names = [group.name for group in nodes.groups]
    if settings.node_count:
        NodeAlerts(
            "alerts",
            NodeAlertsArgs(
                cluster_name=cluster,
                sizes=list(zip(names, group_sizes(settings.node_count), strict=True)),
                channels=foundation.texts("notification_channels"),
                labels=labels,
            ),
            in_gcp,
        )
    if settings.has_watchdog:
        services = roles.ProjectServices(
            "services", roles.ProjectServicesArgs(project=place.project, services=watchdog.SERVICES), in_gcp
        ).services
        watchdog.Watchdog(
            "watchdog",
            watchdog.WatchdogArgs(
                place=place,
                group_names=names,
                time_to_live_hours=settings.time_to_live_hours,
                stop_when_idle_minutes=settings.stop_when_idle_minutes,
                labels=labels,
                services=services,
            ),
            in_gcp,
        )
    pulumi.export("node_groups", names)


make = make_tpu_nodes if settings.node_type.is_tpu else make_gpu_nodes
make(settings)
