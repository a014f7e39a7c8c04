"""The cluster layer's configuration as frozen records, checked as a whole before any resource is registered."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_aws import rds

from gpu_cluster import directory, layer, users
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.directory_settings import Directory
from gpu_cluster.job_environment import JOB_ENVIRONMENT, read_job_environment
from gpu_cluster.node_type import IMAGE, NodeType, read_instance_type, read_node_type

STACK = r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"
SCALAR_KEYS = (
    *layer.SCALAR_KEYS,
    "foundationStack",
    "partition",
    "controllerInstanceType",
    "controllerImage",
    "controllerRootVolumeGib",
    "loginInstanceType",
    "loginRootVolumeGib",
    "accountingDatabase",
    "accountingDatabaseInstanceClass",
    "accountingDatabaseDeletionProtection",
)
OBJECT_KEYS = (*layer.OBJECT_KEYS, "nodeType", JOB_ENVIRONMENT, directory.DIRECTORY, *users.OBJECT_KEYS)


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineSettings:
    """Instance type and system disk of the controller or of the login machine."""

    instance_type: str
    root_volume_gib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountingSettings:
    """Instance class of the accounting database, and whether it is kept from being deleted."""

    instance_class: str
    deletion_protection: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that the cluster layer's program needs to know.

    Attributes:
        machine_image: of controller and login machine.
        login: None for no login machine.
        accounting: None for no accounting database.
        directory: that machines are joined to; None for none.
    """

    layer: layer.Layer
    foundation_stack: str
    partition: str
    node_type: NodeType
    job_environment: str
    machine_image: str
    controller: MachineSettings
    login: MachineSettings | None
    accounting: AccountingSettings | None
    users: users.Users
    directory: Directory | None


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi, `region` among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=layer.OF_PROVIDER)


def read_settings(raw: Mapping[str, object]) -> Settings:
    """Check the raw configuration and turn it into records.

    Raises:
        ConfigError: with every problem at once.
    """
    values = Values(values=raw)
    node_type = read_node_type(values.section("nodeType"))
    settings = Settings(
        layer=layer.read_layer(values, "cluster"),
        foundation_stack=values.text("foundationStack", STACK, "a stack as ORGANIZATION/PROJECT/STACK"),
        partition=values.text("partition", layer.NAME, f"a name like {layer.NAME}", "gpu"),
        node_type=node_type,
        job_environment=read_job_environment(values),
        machine_image=values.optional_text("controllerImage", IMAGE, "ami-... or an SSM parameter path")
        or node_type.image,
        controller=MachineSettings(
            instance_type=read_instance_type(values, "controllerInstanceType", "m7i.2xlarge"),
            root_volume_gib=values.whole("controllerRootVolumeGib", 100, 16384, default=100),
        ),
        login=_login(values),
        accounting=_accounting(values),
        users=users.read_users(values),
        directory=directory.read_directory(values, needs_networks=True),
    )
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS))
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _login(values: Values) -> MachineSettings | None:
    root_volume_gib = values.whole("loginRootVolumeGib", 100, 16384, default=200)
    if values.values.get("loginInstanceType") == "":
        return None
    return MachineSettings(
        instance_type=read_instance_type(values, "loginInstanceType", "m7i.xlarge"), root_volume_gib=root_volume_gib
    )


def _accounting(values: Values) -> AccountingSettings | None:
    wanted = values.flag("accountingDatabase", default=True)
    settings = AccountingSettings(
        instance_class=values.choice(
            "accountingDatabaseInstanceClass", [known.value for known in rds.InstanceType], "db.t4g.medium"
        ),
        deletion_protection=values.flag("accountingDatabaseDeletionProtection", default=True),
    )
    return settings if wanted else None
