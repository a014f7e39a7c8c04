"""The foundation: network, key, roles, bucket, file system, budget and alerts. Slow, cheap and lasting things."""

import pulumi

from gpu_cluster.alerts import Alerts, AlertsArgs
from gpu_cluster.bucket import Bucket, BucketArgs
from gpu_cluster.endpoints import Endpoints, EndpointsArgs
from gpu_cluster.existing import look_up_bucket, look_up_key, look_up_network
from gpu_cluster.file_system import FileSystem, FileSystemArgs
from gpu_cluster.flow_logs import FlowLogs, FlowLogsArgs
from gpu_cluster.identity_record import record_identity
from gpu_cluster.keys import Keys, KeysArgs
from gpu_cluster.layer import aws_provider
from gpu_cluster.network import Network, NetworkArgs
from gpu_cluster.permissions import look_up_account
from gpu_cluster.roles import MachineRole, MachineRoleArgs
from gpu_cluster.security import SecurityGroups, SecurityGroupsArgs
from gpu_cluster.settings_foundation import config_values, read_settings

settings = read_settings(config_values())
record_identity(cluster=settings.layer.cluster_name, place=settings.layer.region)
name, region = settings.layer.cluster_name, settings.layer.region
existing = settings.existing
provider = aws_provider(settings.layer)
look_up = pulumi.InvokeOptions(provider=provider)
account = look_up_account(provider, region)
in_region = pulumi.ResourceOptions(providers=[provider])

key_arn = (
    look_up_key(existing.key_arn, look_up)
    if existing.key_arn
    else Keys(f"{name}-keys", KeysArgs(cluster_name=name, account=account), in_region).key_arn
)
made_network: list[pulumi.Resource] = []
if existing.vpc:
    network = look_up_network(
        existing.vpc,
        availability_zone=settings.availability_zone,
        addresses=settings.addresses_needed,
        options=look_up,
    )
else:
    made = Network(
        f"{name}-network",
        NetworkArgs(
            region=region,
            availability_zone=settings.availability_zone,
            second_availability_zone=settings.second_availability_zone,
            addresses=settings.addresses,
        ),
        in_region,
    )
    made_network.append(made)
    network = made.ids
groups = SecurityGroups(f"{name}-security", SecurityGroupsArgs(vpc_id=network.vpc_id), in_region)
if not existing.vpc:
    # Whoever runs an existing network logs it and gives it endpoints: a second one of a service clashes by name.
    FlowLogs(f"{name}-flows", FlowLogsArgs(account=account, vpc_id=network.vpc_id, key_arn=key_arn), in_region)
    Endpoints(
        f"{name}-endpoints",
        EndpointsArgs(
            region=region,
            vpc_id=network.vpc_id,
            subnet_id=network.node_subnet_id,
            security_group_id=groups.cluster_id,
        ),
        in_region,
    )
bucket = (
    look_up_bucket(existing.bucket_name, region, look_up)
    if existing.bucket_name
    else Bucket(f"{name}-bucket", BucketArgs(cluster_name=name, key_arn=key_arn), in_region).ids
)
file_system = FileSystem(
    f"{name}-lustre",
    FileSystemArgs(
        cluster_name=name,
        key_arn=key_arn,
        subnet_id=network.node_subnet_id,
        lustre_group_id=groups.lustre_id,
        cluster_group_id=groups.cluster_id,
        storage=settings.shared_storage,
        bucket_name=bucket.name,
        # The file system is refused at creation, after minutes, while its group lacks the Lustre ports.
        after=[*made_network, groups],
        links_after=bucket.settled,
    ),
    in_region,
)
controller, login, compute = (
    MachineRole(
        f"{name}-{role}",
        MachineRoleArgs(account=account, key_arn=key_arn, role=role, cluster_name=name),
        in_region,
    )
    for role in ("controller", "login", "compute")
)
alerts = Alerts(
    f"{name}-alerts",
    AlertsArgs(cluster_name=name, account=account, key_arn=key_arn, settings=settings.alerts),
    in_region,
)

pulumi.export("region", region)
pulumi.export("node_addresses", network.node_addresses.apply(lambda room: room - settings.other_addresses))
pulumi.export("availability_zone", settings.availability_zone)
pulumi.export("vpc_id", network.vpc_id)
pulumi.export("node_subnet_id", network.node_subnet_id)
pulumi.export("service_subnet_ids", network.service_subnet_ids)
pulumi.export("cluster_security_group_id", groups.cluster_id)
pulumi.export("key_arn", key_arn)
pulumi.export("bucket_name", bucket.name)
pulumi.export("file_system_id", file_system.id)
pulumi.export("file_system_mount_source", file_system.mount_source)
pulumi.export("file_system_mount_path", settings.shared_storage.mount_path)
pulumi.export("controller_role_name", controller.role_name)
pulumi.export("controller_instance_profile_name", controller.profile_name)
pulumi.export("login_role_name", login.role_name)
pulumi.export("login_instance_profile_name", login.profile_name)
pulumi.export("compute_role_name", compute.role_name)
pulumi.export("compute_role_arn", compute.role_arn)
pulumi.export("compute_instance_profile_arn", compute.profile_arn)
pulumi.export("alert_topic_arns", alerts.topic_arns)
