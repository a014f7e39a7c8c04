"""Slurm's head: controller, login machine and accounting database, in the foundation's network and under its key."""

from pathlib import Path

import pulumi

from gpu_cluster import roles
from gpu_cluster.config_values import ConfigError
from gpu_cluster.directory import missing_script
from gpu_cluster.encryption import KeyUse
from gpu_cluster.identity_record import record_identity
from gpu_cluster.other_layer import OtherLayer
from gpu_cluster.provider import gcp_provider
from gpu_cluster.settings_cluster import ACCOUNTING_PASSWORD, config_values, read_settings
from gpu_cluster.slurm.data_account import DataAccount, DataAccountArgs
from gpu_cluster.slurm.database import AccountingDatabase, AccountingDatabaseArgs
from gpu_cluster.slurm.head_machines import Head, HeadAddress, HeadMachineArgs
from gpu_cluster.slurm.login_account import LoginAccount, LoginAccountArgs
from gpu_cluster.slurm.machine_boot import BootValues, user_data
from gpu_cluster.slurm.secrets import ClusterSecrets, ClusterSecretsArgs
from gpu_cluster.slurm.user_data import NO_DATABASE, read_scripts

SERVICES = ("iamcredentials", "iap", "logging", "oslogin", "secretmanager")
DATABASE_SERVICE = "sqladmin"

settings = read_settings(config_values())
scripts = read_scripts(Path(__file__).parent.parent / "node")
if missing := missing_script(settings.directory, scripts):
    raise ConfigError([missing])
record_identity(cluster=settings.place.cluster_name, place=settings.place.region)
place = settings.place
cluster, labels = place.cluster_name, dict(place.labels)
foundation = OtherLayer(settings.foundation_stack)
controller_email = foundation.text("controller_service_account_email")
subnetwork_id = foundation.text("subnetwork_id")

provider = gcp_provider(place)
in_gcp = pulumi.ResourceOptions(providers=[provider])
password = pulumi.Config().require_secret(ACCOUNTING_PASSWORD) if settings.database_tier else None
services = roles.ProjectServices(
    "services",
    roles.ProjectServicesArgs(
        project=place.project, services=(*SERVICES, *((DATABASE_SERVICE,) if settings.database_tier else ()))
    ),
    in_gcp,
).services
key = KeyUse(key_id=foundation.text("key_id"), granted=settings.grant_key_use)
login_account = LoginAccount(
    "login-account",
    LoginAccountArgs(cluster_name=cluster, project=place.project, services=services),
    in_gcp,
).account
data = DataAccount(
    "data-account",
    DataAccountArgs(
        cluster_name=cluster,
        bucket_name=foundation.text("bucket_name"),
        machines={"login": login_account.email, "compute": foundation.text("compute_service_account_email")},
        services=services,
    ),
    in_gcp,
)
secrets = ClusterSecrets(
    "secrets",
    ClusterSecretsArgs(
        cluster_name=cluster,
        project=place.project,
        region=place.region,
        key=key,
        controller_email=controller_email,
        compute_email=foundation.text("compute_service_account_email"),
        login_email=login_account.email,
        database_password=password,
        user_list=settings.users.text,
        directory=settings.directory,
        labels=labels,
        services=services,
    ),
    in_gcp,
)
settings.users.mention_if_empty()
database = pulumi.Output.from_input(NO_DATABASE)
if settings.database_tier and password and secrets.database_password:
    accounting = AccountingDatabase(
        "accounting",
        AccountingDatabaseArgs(
            cluster_name=cluster,
            project=place.project,
            region=place.region,
            tier=settings.database_tier,
            network_id=foundation.text("network_id"),
            key=key,
            password=password,
            protect=settings.protect_data,
            labels=labels,
            services=services,
        ),
        in_gcp,
    )
    database = accounting.as_seen(secrets.database_password.id)

controller_address = HeadAddress(
    "controller-address",
    cluster_name=cluster,
    region=place.region,
    subnetwork_id=subnetwork_id,
    labels=labels,
    opts=in_gcp,
).address
boot = BootValues(
    place=place,
    node_type=settings.node_type,
    partition=settings.partition,
    shared_path=settings.shared_path,
    controller_address=controller_address,
    secret_id=secrets.slurm_key.id,
    users_id=secrets.user_list.id,
    directory_places="" if secrets.directory is None else secrets.directory,
    shared_source=foundation.text("file_system_mount_source"),
    bucket_name=foundation.text("bucket_name"),
    data_identity=data.account.email,
    job_environment=settings.job_environment,
)


def head(role: str, account_email: pulumi.Input[str], address: pulumi.Input[str] | None) -> Head:
    """Make a head machine, once its account may read what it needs at boot."""
    return Head(
        role,
        HeadMachineArgs(
            cluster_name=cluster,
            role=role,
            project=place.project,
            zone=place.zone,
            machine=settings.controller if role == "controller" else settings.login,
            subnetwork_id=subnetwork_id,
            account_email=account_email,
            key_id=foundation.text("key_id"),
            user_data=user_data(boot, role, scripts, database=database),
            administrators=settings.operators,
            tunnel_members=settings.tunnel_members if role == "login" else (),
            labels=labels,
        ),
        address=address,
        opts=pulumi.ResourceOptions(providers=[provider], depends_on=[secrets, data, *services]),
    )


controller = head("controller", controller_email, controller_address)
login = head("login", login_account.email, None)
through_proxy = f" --tunnel-through-iap --zone {place.zone} --project {place.project}"

pulumi.export("controller_name", controller.instance.name)
pulumi.export("controller_address", controller_address)
pulumi.export("login_name", login.instance.name)
pulumi.export("secret_id", secrets.slurm_key.id)
pulumi.export("users_id", secrets.user_list.id)
pulumi.export("directory_places", "" if secrets.directory is None else secrets.directory)
pulumi.export("data_identity", data.account.email)
pulumi.export("partition", settings.partition)
pulumi.export("connect", pulumi.Output.concat("gcloud compute ssh ", login.instance.name, through_proxy))
# NAME is the user's own; the host's name is only for ssh's list of known hosts.
pulumi.export(
    "connect_as_user",
    pulumi.Output.format(
        'ssh -o ProxyCommand="gcloud compute start-iap-tunnel {0} 22 --listen-on-stdin'
        ' --zone {1} --project {2}" NAME@{0}',
        login.instance.name,
        place.zone,
        place.project,
    ),
)
pulumi.export(
    "connect_controller", pulumi.Output.concat("gcloud compute ssh ", controller.instance.name, through_proxy)
)
