"""The cluster layer: Slurm's controller with its authentication key, login machine and accounting database."""

from collections.abc import Callable
from pathlib import Path

import pulumi

from gpu_cluster.config_values import ConfigError
from gpu_cluster.directory import missing_script
from gpu_cluster.foundation_stack import foundation
from gpu_cluster.identity_record import record_identity
from gpu_cluster.image import image_changes_to_ignore, resolve_image
from gpu_cluster.layer import aws_provider
from gpu_cluster.permissions import look_up_account
from gpu_cluster.settings_cluster import MachineSettings, config_values, read_settings
from gpu_cluster.slurm.accounting_database import AccountingDatabase, AccountingDatabaseArgs
from gpu_cluster.slurm.auth_key import AuthKey, AuthKeyArgs
from gpu_cluster.slurm.directory_store import DirectoryStore, DirectoryStoreArgs
from gpu_cluster.slurm.machine import Machine, MachineArgs
from gpu_cluster.slurm.machine_boot import MachineBoot
from gpu_cluster.slurm.user_data import read_scripts
from gpu_cluster.slurm.user_store import Tunnel, TunnelArgs, UserStore, UserStoreArgs

settings = read_settings(config_values())
scripts = read_scripts(Path(__file__).parent.parent / "node")
if missing := missing_script(settings.directory, scripts):
    raise ConfigError([missing])
record_identity(cluster=settings.layer.cluster_name, place=settings.layer.region)
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
settings.users.mention_if_empty()
role_names = {
    "controller": below.controller_role_name,
    "login": below.login_role_name,
    "compute": below.compute_role_name,
}
user_store = UserStore(
    f"{name}-users",
    UserStoreArgs(cluster_name=name, key_arn=below.key_arn, text=settings.users.text, role_names=role_names),
    in_region,
)
directory_store = (
    DirectoryStore(
        f"{name}-directory",
        DirectoryStoreArgs(
            cluster_name=name,
            key_arn=below.key_arn,
            directory=settings.directory,
            role_names=role_names,
            security_group_id=below.cluster_security_group_id,
        ),
        in_region,
    )
    if settings.directory
    else None
)
joined = [directory_store] if directory_store else []
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
    scripts=scripts,
    foundation=below,
    partition=settings.partition,
    secret_id=auth_key.secret_arn,
    users_id=user_store.secret_arn,
    directory_places=directory_store.places if directory_store else "",
    login_role="login" if settings.login else "controller",
    job_environment=settings.job_environment,
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
            after=[auth_key, user_store, *joined, *([database] if database else [])],
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
pulumi.export("users_id", user_store.secret_arn)
pulumi.export("directory_places", directory_store.places if directory_store else "")
pulumi.export("connect_to_controller", pulumi.Output.format(shell, region, controller.instance_id))
login = (
    machine(
        "login",
        settings.login,
        below.login_instance_profile_name,
        lambda _: boot.user_data_base64("login", controller.private_ip, database=access),
    )
    if settings.login
    else controller
)
tunnel = Tunnel(
    f"{name}-tunnel",
    TunnelArgs(
        account=account,
        instance_id=login.instance_id,
        description=f"SSH to the login machine of cluster {name} with the own key, as the own user",
    ),
    in_region,
)
pulumi.export("connect", pulumi.Output.format(shell, region, login.instance_id))
# NAME is the user's own; `%h` and `%p` are ssh's words for host and port.
through = (
    "aws ssm start-session --region {0} --target %h --document-name AWS-StartSSHSession --parameters portNumber=%p"
)
pulumi.export(
    "connect_as_user", pulumi.Output.format(f'ssh -o ProxyCommand="{through}" NAME@{{1}}', region, login.instance_id)
)
pulumi.export("user_access_policy_arn", tunnel.policy_arn)
if database:
    pulumi.export("accounting_database_host", database.access.host)
