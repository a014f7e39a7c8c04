"""Foundation of the cluster: what is cheap, slow to make or holds data, and outlives controller and nodes."""

import pulumi
from pulumi_gcp import organizations

from gpu_cluster import roles
from gpu_cluster.alerts import ClusterAlerts, ClusterAlertsArgs
from gpu_cluster.budget import ClusterBudget, ClusterBudgetArgs
from gpu_cluster.data import ClusterBucket, ClusterBucketArgs, ParallelFileSystem, ParallelFileSystemArgs
from gpu_cluster.encryption import ClusterKey, ClusterKeyArgs, KeyUse
from gpu_cluster.identity_record import record_identity
from gpu_cluster.network import ClusterNetwork, ClusterNetworkArgs, NetworkIds
from gpu_cluster.provider import gcp_provider
from gpu_cluster.settings_foundation import config_values, read_settings

settings = read_settings(config_values())
for warning in settings.warnings:
    pulumi.log.warn(warning)
record_identity(cluster=settings.place.cluster_name, place=settings.place.region)
place, existing = settings.place, settings.existing
cluster, labels = place.cluster_name, dict(place.labels)

provider = gcp_provider(place)
in_gcp = pulumi.ResourceOptions(providers=[provider])
wanted_services = (*roles.FOUNDATION_SERVICES, *((roles.BUDGET_SERVICE,) if settings.spending else ()))
services = roles.ProjectServices(
    "services", roles.ProjectServicesArgs(project=place.project, services=wanted_services), in_gcp
).services
project_number = organizations.get_project_output(
    project_id=place.project, opts=pulumi.InvokeOptions(provider=provider)
).number

gateway_name = None
if existing.network is None:
    made = ClusterNetwork(
        "network",
        ClusterNetworkArgs(
            cluster_name=cluster,
            project=place.project,
            region=place.region,
            zone=place.zone,
            node_type=settings.node_type,
            subnets=settings.subnets,
            with_lustre=settings.file_system is not None,
            labels=labels,
            services=services,
        ),
        in_gcp,
    )
    network, gateway_name = NetworkIds.of(made), made.gateway.name
else:
    network = NetworkIds.look_up(existing.network, provider)

if existing.key_id is None:
    made_key = ClusterKey(
        "key",
        ClusterKeyArgs(
            cluster_name=cluster,
            region=place.region,
            protect=settings.protect_data,
            labels=labels,
            services=services,
        ),
        in_gcp,
    )
    key = KeyUse(key_id=made_key.key.id, granted=True)
    # Disks of every machine of the other layers are encrypted by this service.
    key.by_account(
        f"{cluster}-compute",
        pulumi.Output.concat("service-", project_number, "@compute-system.iam.gserviceaccount.com"),
        pulumi.ResourceOptions(parent=made_key),
    )
else:
    key = KeyUse(key_id=existing.key_id, granted=False)

if existing.bucket_name is None:
    bucket = ClusterBucket(
        "bucket",
        ClusterBucketArgs(
            cluster_name=cluster,
            project=place.project,
            region=place.region,
            key=key,
            protect=settings.protect_data,
            labels=labels,
            services=services,
        ),
        in_gcp,
    ).bucket
    bucket_name = bucket.name
else:
    bucket_name = pulumi.Output.from_input(existing.bucket_name)

file_system = None
if settings.file_system is not None:
    file_system = ParallelFileSystem(
        "file-system",
        ParallelFileSystemArgs(
            cluster_name=cluster,
            project=place.project,
            zone=place.zone,
            size=settings.file_system,
            network_id=network.network_id,
            peering=network.peering,
            bucket_name=bucket_name,
            key=key,
            protect=settings.protect_data,
            labels=labels,
            services=services,
        ),
        in_gcp,
    ).instance

accounts = roles.ClusterAccounts(
    "accounts", roles.ClusterAccountsArgs(cluster_name=cluster, project=place.project, services=services), in_gcp
)
channels: list[pulumi.Output[str]] = []
if settings.alert_email is not None:
    alerts = ClusterAlerts(
        "alerts",
        ClusterAlertsArgs(
            cluster_name=cluster,
            email=settings.alert_email,
            gateway_name=gateway_name,
            labels=labels,
            services=list(services),
        ),
        in_gcp,
    )
    channels.append(alerts.channel.name)
if settings.spending is not None:
    ClusterBudget(
        "budget",
        ClusterBudgetArgs(
            cluster_name=cluster,
            channels=channels,
            project_number=project_number,
            spending=settings.spending,
            services=services,
        ),
        in_gcp,
    )

pulumi.export("project", place.project)
pulumi.export("region", place.region)
pulumi.export("zone", place.zone)
pulumi.export("node_addresses", network.node_addresses)
pulumi.export("network_id", network.network_id)
pulumi.export("subnetwork_id", network.subnetwork_id)
pulumi.export("gpu_networks", [{"network": one.network, "subnetwork": one.subnetwork} for one in network.gpu_networks])
pulumi.export("key_id", key.key_id)
pulumi.export("bucket_name", bucket_name)
pulumi.export("file_system_id", file_system.id if file_system else "")
pulumi.export("file_system_mount_source", file_system.mount_point if file_system else "")
pulumi.export("controller_service_account_email", accounts.controller.email)
pulumi.export("compute_service_account_email", accounts.compute.email)
pulumi.export("notification_channels", channels)
