"""Settings of the layer `cluster`: Slurm controller, login machine, accounting database."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpu_cluster import cluster_identity, directory, users
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.directory_settings import Directory
from gpu_cluster.images import Image, check_image, image, size
from gpu_cluster.job_environment import JOB_ENVIRONMENT, read_job_environment
from gpu_cluster.node_type import NodeType, node_type
from gpu_cluster.slurm.access import Access, access

SCALARS = (
    "clusterName",
    "location",
    "zone",
    "foundationStack",
    "controllerInstanceType",
    "loginInstanceType",
    "controllerImage",
    "partition",
    "encryptionAtHost",
    "adminUsername",
    "adminSshPublicKey",
    "accountingEnabled",
    "accountingInstanceType",
    "accountingPassword",
)
OBJECTS = ("nodeType", "tags", JOB_ENVIRONMENT, directory.DIRECTORY, *users.OBJECT_KEYS)
_PASSWORD_LETTERS = (16, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The cluster around its nodes.

    Attributes:
        accounting_instance_type: of the database; None for no database.
        directory: that machines are joined to; None for none.
    """

    cluster_name: str
    location: str
    zone: str
    foundation_stack: str
    node_type: NodeType
    job_environment: str
    controller_instance_type: str
    login_instance_type: str
    controller_image: Image
    partition: str
    encryption_at_host: bool
    access: Access
    accounting_instance_type: str | None
    users: users.Users
    directory: Directory | None
    tags: Mapping[str, str]


def load_settings() -> ClusterSettings:
    """Read the stack's configuration.

    Raises:
        RunError: naming every value that cannot be used; Pulumi prints it without a traceback.
    """
    try:
        return read_settings(config_values())
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi."""
    return collect(SCALARS, OBJECTS)


def read_settings(given: Mapping[str, object]) -> ClusterSettings:
    """Turn configuration values into checked settings.

    Raises:
        ConfigError: naming every value that cannot be used.
    """
    # Pulumi.yaml declares optional texts with the default "", because a key without a default is required there.
    values = Values(values={key: value for key, value in given.items() if value not in (None, "")})
    values.refuse_unknown((*SCALARS, *OBJECTS))
    kind = node_type(values)
    controller_type = size(values, "controllerInstanceType", "Standard_D8s_v5")
    controller_image = image(values, "controllerImage") if values.has("controllerImage") else kind.image
    check_image(values, "controllerImage", controller_image, controller_type)
    settings = ClusterSettings(
        cluster_name=cluster_identity.cluster_name(values),
        location=cluster_identity.location(values),
        zone=cluster_identity.zone(values),
        foundation_stack=cluster_identity.stack_name(values, "foundationStack"),
        node_type=kind,
        job_environment=read_job_environment(values),
        controller_instance_type=controller_type,
        login_instance_type=size(values, "loginInstanceType", "Standard_D8s_v5"),
        controller_image=controller_image,
        partition=values.text("partition", cluster_identity.NAME, cluster_identity.NAME_MEANING, "gpu"),
        encryption_at_host=values.flag("encryptionAtHost", default=False),
        access=access(values),
        accounting_instance_type=_accounting(values),
        users=users.read_users(values),
        directory=directory.read_directory(values),
        tags=cluster_identity.tags(values, "cluster"),
    )
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _accounting(values: Values) -> str | None:
    instance_type = size(values, "accountingInstanceType", "Standard_D2ads_v5")
    if not values.flag("accountingEnabled", default=True):
        return None
    password = values.values.get("accountingPassword")
    least, most = _PASSWORD_LETTERS
    # The value itself must not be shown, not even in a complaint.
    if (
        not isinstance(password, str)
        or not least <= len(password) <= most
        or any(sign in password for sign in "\"'\\#\n")
    ):
        values.fail(
            "accountingPassword",
            f"needs {least} to {most} characters without quotation marks, backslash and #; make one with "
            '`./cluster.sh set accountingPassword --secret <<<"$(openssl rand -hex 24)Aa1"`',
        )
    return instance_type
