"""The cluster layer: Slurm's controller with its authentication key, login machine and accounting database."""

from collections.abc import Callable
from pathlib import Path

import pulumi

from gpu_cluster.foundation_stack import foundation
from gpu_cluster.image import image_changes_to_ignore, resolve_image
from gpu_cluster.layer import aws_provider
from gpu_cluster.permissions import look_up_account
from gpu_cluster.settings_cluster import MachineSettings, config_values, read_settings
from gpu_cluster.slurm.accounting_database import AccountingDatabase, AccountingDatabaseArgs
from gpu_cluster.slurm.auth_key import AuthKey, AuthKeyArgs
from gpu_cluster.slurm.machine import Machine, MachineArgs
from gpu_cluster.slurm.machine_boot import MachineBoot
from gpu_cluster.slurm.user_data import read_scripts

settings = read_settings(config_values())
scripts = read_scripts(Path(__file__).parent.parent / "node")
name, region = settings.layer.cluster_name, settings.layer.region
tags = dict(settings.layer.tags)
provider = aws_provider(settings.layer)
account = look_up_account(provider, region)
in_region = pulumi.ResourceOptions(providers=[provider])
below = foundation(settings.foundation_stack)

auth_key = AuthKey(
    f"{name}-auth-key",
    AuthKeyArgs(
        cluster_name=name,
        account=account,
        key_arn=below.key_arn,
        controller_role_name=below.controller_role_name,
        login_role_name=below.login_role_name,
        compute_role_name=below.compute_role_name,
    ),
    in_region,
)
database = (
    AccountingDatabase(
        f"{name}-accounting",
        AccountingDatabaseArgs(
            settings=settings.accounting,
            vpc_id=below.vpc_id,
            subnet_ids=below.service_subnet_ids,
            cluster_security_group_id=below.cluster_security_group_id,
            key_arn=below.key_arn,
            controller_role_name=below.controller_role_name,
        ),
        in_region,
    )
    if settings.accounting
    else None
)
boot = MachineBoot(
    cluster_name=name,
    region=region,
    node_type=settings.node_type,
    node_count=settings.planned_nodes,
    scripts=scripts,
    foundation=below,
    partition=settings.partition,
    secret_id=auth_key.secret_arn,
)
image_id = resolve_image(settings.machine_image, provider)


def machine(
    role: str,
    machine_settings: MachineSettings,
    profile_name: pulumi.Input[str],
    user_data_base64: Callable[[pulumi.Output[str]], pulumi.Output[str]],
) -> Machine:
    """Make the machine of a role; one that boots before its permissions exist fails its bootstrap."""
    return Machine(
        f"{name}-{role}",
        MachineArgs(
            account=account,
            settings=machine_settings,
            purpose=f"{role} machine",
            image_id=image_id,
            image_changes_to_ignore=image_changes_to_ignore(settings.machine_image, "ami"),
            subnet_id=below.node_subnet_id,
            security_group_id=below.cluster_security_group_id,
            profile_name=profile_name,
            key_arn=below.key_arn,
            user_data_base64=user_data_base64,
            alert_topic_arn=below.alert_topic_arn,
            tags=tags,
            after=[auth_key, *([database] if database else [])],
        ),
        in_region,
    )


access = database.access if database else None
controller = machine(
    "controller",
    settings.controller,
    below.controller_instance_profile_name,
    lambda own: boot.user_data_base64("controller", own, database=access),
)
shell = "aws ssm start-session --region {0} --target {1}"
pulumi.export("controller_address", controller.private_ip)
pulumi.export("controller_instance_id", controller.instance_id)
pulumi.export("secret_id", auth_key.secret_arn)
pulumi.export("partition", settings.partition)
pulumi.export("connect_to_controller", pulumi.Output.format(shell, region, controller.instance_id))
if settings.login:
    login = machine(
        "login",
        settings.login,
        below.login_instance_profile_name,
        lambda _: boot.user_data_base64("login", controller.private_ip, database=access),
    )
    pulumi.export("connect", pulumi.Output.format(shell, region, login.instance_id))
else:
    pulumi.export("connect", pulumi.Output.format(shell, region, controller.instance_id))
if database:
    pulumi.export("accounting_database_host", database.access.host)
