"""A Slurm GPU cluster on Google Cloud: reads the configuration and composes the parts."""

from dataclasses import replace
from pathlib import Path

import pulumi
from pulumi_gcp import organizations

import rules
from budget import ClusterBudget, ClusterBudgetArgs
from controller import Controller, ControllerArgs
from data import ClusterData, ClusterDataArgs
from network import ClusterNetwork, ClusterNetworkArgs
from nodes import GpuNodes, GpuNodesArgs
from provider import gcp_provider
from roles import (
    ClusterAccounts,
    ClusterAccountsArgs,
    DataAccess,
    DataAccessArgs,
    ProjectServices,
    ProjectServicesArgs,
)
from settings import config_values, read_settings
from user_data import NodeEnvironment, read_scripts, render_user_data

settings = read_settings(config_values())
for warning in settings.warnings:
    pulumi.log.warn(warning)
scripts = read_scripts(Path(__file__).parent / "node")
cluster = settings.cluster_name
labels = dict(settings.labels)

provider = gcp_provider(project=settings.project, region=settings.region, zone=settings.zone, labels=labels)
in_gcp = pulumi.ResourceOptions(providers=[provider])
services = ProjectServices(
    "services", ProjectServicesArgs(project=settings.project, with_budget=settings.spending is not None), in_gcp
).services
project_number = organizations.get_project_output(
    project_id=settings.project, opts=pulumi.InvokeOptions(provider=provider)
).number

network = ClusterNetwork(
    "network",
    ClusterNetworkArgs(
        cluster_name=cluster,
        project=settings.project,
        region=settings.region,
        zone=settings.zone,
        node_type=settings.node_type,
        subnets=settings.subnets,
        with_storage=settings.shared_storage is not None,
        labels=labels,
        services=services,
    ),
    in_gcp,
)
data = ClusterData(
    "data",
    ClusterDataArgs(
        cluster_name=cluster,
        project=settings.project,
        project_number=project_number,
        region=settings.region,
        zone=settings.zone,
        shared_storage=settings.shared_storage,
        network=network.network.id,
        storage_peering=network.storage_peering,
        protect=settings.protect_data,
        labels=labels,
        services=services,
    ),
    in_gcp,
)
accounts = ClusterAccounts(
    "accounts", ClusterAccountsArgs(cluster_name=cluster, project=settings.project, services=services), in_gcp
)
access = DataAccess(
    "access",
    DataAccessArgs(cluster_name=cluster, accounts=accounts, bucket=data.bucket, secret=data.secret),
    in_gcp,
)


def user_data(role: str) -> pulumi.Output[str]:
    """User data of a role, once the bucket, the secret and the file system have their names."""

    def render(names: list[str]) -> str:
        secret_id, bucket, shared_source = names
        return render_user_data(
            replace(environment, secret_id=secret_id, bucket=bucket, shared_source=shared_source), scripts
        )

    environment = NodeEnvironment(
        role=role,
        cluster_name=cluster,
        partition=settings.partition,
        controller_address=str(settings.controller_address),
        region=settings.region,
        secret_id="",
        node_count=settings.node_count,
        gpus_per_node=settings.node_type.gpus_per_node,
        gpu_type=settings.node_type.gpu_type,
        fabric=settings.node_type.fabric,
        fabric_interfaces=settings.node_type.fabric_interfaces,
        shared_source="",
        shared_path=settings.shared_storage.mount_path if settings.shared_storage else "",
        bucket="",
    )
    return pulumi.Output.all(data.secret.id, data.bucket.url, data.shared_source).apply(render)


controller = Controller(
    "controller",
    ControllerArgs(
        cluster_name=cluster,
        region=settings.region,
        zone=settings.zone,
        machine=settings.controller,
        address=str(settings.controller_address),
        network=network.network.id,
        subnetwork=network.subnetwork.id,
        account=accounts.controller,
        disk_key=data.key.id,
        disk_encryption=data.disk_encryption,
        user_data=user_data("controller"),
        operators=settings.operators,
        labels={**labels, "role": "controller"},
    ),
    opts=pulumi.ResourceOptions(providers=[provider], depends_on=[access]),
)
nodes = GpuNodes(
    "nodes",
    GpuNodesArgs(
        cluster_name=cluster,
        region=settings.region,
        zone=settings.zone,
        node_count=settings.node_count,
        node_type=settings.node_type,
        capacity=settings.capacity,
        compact_placement=rules.has_compact_placement(settings),
        workload_policy=rules.has_workload_policy(settings),
        boot_disk_gb=settings.node_boot_disk_gb,
        interfaces=network.interfaces,
        account=accounts.compute,
        disk_key=data.key.id,
        disk_encryption=data.disk_encryption,
        user_data=user_data("compute"),
        labels={**labels, "role": "compute"},
    ),
    opts=pulumi.ResourceOptions(providers=[provider], depends_on=[access]),
)
if settings.spending is not None:
    ClusterBudget(
        "budget",
        ClusterBudgetArgs(
            cluster_name=cluster, project_number=project_number, spending=settings.spending, services=services
        ),
        in_gcp,
    )

pulumi.export("controllerName", controller.instance.name)
pulumi.export("controllerAddress", str(settings.controller_address))
pulumi.export(
    "login",
    pulumi.Output.concat(
        "gcloud compute ssh ", controller.instance.name, f" --tunnel-through-iap --zone {settings.zone}",
        f" --project {settings.project}",
    ),
)  # fmt: skip
pulumi.export("nodeGroup", nodes.group.name)
pulumi.export("bucket", data.bucket.url)
pulumi.export("sharedSource", data.shared_source)
pulumi.export("secret", data.secret.id)
