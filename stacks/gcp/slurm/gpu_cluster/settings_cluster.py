"""Reads the cluster layer's configuration into frozen records and checks all of it before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import directory, users
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.directory_settings import Directory
from gpu_cluster.job_environment import JOB_ENVIRONMENT, read_job_environment
from gpu_cluster.lustre_sizes import MOUNT_PATH
from gpu_cluster.node_type import MACHINE_TYPE, NodeType, read_node_type
from gpu_cluster.place import NAME, PLACE_KEYS, PLACE_OBJECTS, PROVIDER_VALUES, Place, read_place, read_stack

MEMBER = r"(user|group|serviceAccount):[^@\s,]+@[^@\s,]+"
DATABASE_TIER = r"db-[a-z0-9-]+"
MAX_DISK_GB = 65_536
ACCOUNTING_PASSWORD = "accountingPassword"  # noqa: S105 - the name of a key
PASSWORD_LETTERS = (16, 128)
SCALAR_KEYS = (
    *PLACE_KEYS,
    "foundationStack",
    "partition",
    "sharedPath",
    "controllerInstanceType",
    "controllerImage",
    "controllerBootDiskGb",
    "loginInstanceType",
    "accountingDatabase",
    "databaseTier",
    ACCOUNTING_PASSWORD,
    "grantKeyUse",
    "protectData",
)
OBJECT_KEYS = (
    *PLACE_OBJECTS,
    "nodeType",
    "operators",
    "tunnelMembers",
    *users.OBJECT_KEYS,
    directory.DIRECTORY,
    JOB_ENVIRONMENT,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadMachine:
    """The machine of the controller or of the people."""

    instance_type: str
    image: str
    boot_disk_gb: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings:
    """Everything that the cluster layer's components need to know.

    Attributes:
        tunnel_members: IAM members who reach the login machine's SSH besides operators: those that are named, else the
            accounts at Google of the list of users.
        directory: that machines are joined to; None for none.
    """

    place: Place
    foundation_stack: str
    node_type: NodeType
    partition: str
    job_environment: str
    shared_path: str
    controller: HeadMachine
    login: HeadMachine
    database_tier: str | None
    operators: tuple[str, ...]
    tunnel_members: tuple[str, ...]
    users: users.Users
    directory: Directory | None
    grant_key_use: bool
    protect_data: bool


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected stack, `project` and `region` of Google Cloud among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=PROVIDER_VALUES)


def read_settings(raw: Mapping[str, object]) -> ClusterSettings:
    """Check the raw configuration and turn it into records. Raises ConfigError with every problem at once."""
    values = Values(values=raw)
    place = read_place(values, "cluster")
    image = values.text("controllerImage", default="ubuntu-os-cloud/ubuntu-2404-lts-amd64")
    disk_gb = values.whole("controllerBootDiskGb", 50, MAX_DISK_GB, default=100)
    with_database = values.flag("accountingDatabase", default=True)
    operators = values.texts("operators", MEMBER, "an IAM member like group:hpc@example.com")
    listed = users.read_users(values)
    tunnel_members = values.texts("tunnelMembers", MEMBER, "an IAM member like group:hpc@example.com")
    tier = values.text("databaseTier", DATABASE_TIER, "a Cloud SQL tier", default="db-custom-2-7680")
    if with_database:
        _check_password(values)
    settings = ClusterSettings(
        place=place,
        foundation_stack=read_stack(values, "foundation"),
        node_type=read_node_type(values, with_image=False),
        partition=values.text("partition", NAME, "a name like 'gpu'", default="gpu"),
        job_environment=read_job_environment(values),
        shared_path=values.text("sharedPath", MOUNT_PATH, "a path", default="/shared"),
        controller=HeadMachine(
            instance_type=_machine(values, "controllerInstanceType", "n2-standard-16"),
            image=image,
            boot_disk_gb=disk_gb,
        ),
        login=HeadMachine(
            instance_type=_machine(values, "loginInstanceType", "n2-standard-8"), image=image, boot_disk_gb=disk_gb
        ),
        database_tier=tier if with_database else None,
        operators=operators,
        # One right cannot be given to one member twice: whoever took one of the two away would take both.
        tunnel_members=tuple(
            member
            for member in dict.fromkeys(tunnel_members or (f"user:{one}" for one in listed.google_accounts))
            if member not in operators
        ),
        users=listed,
        directory=directory.read_directory(values),
        grant_key_use=values.flag("grantKeyUse", default=True),
        protect_data=values.flag("protectData", default=True),
    )
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS, *PROVIDER_VALUES))
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _machine(values: Values, key: str, default: str) -> str:
    return values.text(key, MACHINE_TYPE, "a machine type", default=default)


def _check_password(values: Values) -> None:
    values.asked.add(ACCOUNTING_PASSWORD)
    password = values.values.get(ACCOUNTING_PASSWORD)
    least, most = PASSWORD_LETTERS
    # The value itself must not be shown, not even in a complaint.
    if (
        not isinstance(password, str)
        or not least <= len(password) <= most
        or any(sign in password for sign in "\"'\\#\n")
    ):
        values.fail(
            ACCOUNTING_PASSWORD,
            f"needs {least} to {most} characters without quotation marks, backslash and #; make one with "
            '`./cluster.sh set accountingPassword --secret <<<"$(openssl rand -hex 24)Aa1"`',
        )
