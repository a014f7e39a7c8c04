"""The secrets of the cluster: Slurm's key, made by the controller itself, and the password of its database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import secretmanager

from gpu_cluster.directory_settings import Directory, settings_text
from gpu_cluster.encryption import KeyUse

READER = "roles/secretmanager.secretAccessor"
WRITER = "roles/secretmanager.secretVersionAdder"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSecretsArgs:
    """What the secrets depend on, and the service accounts of the three kinds of machine."""

    cluster_name: str
    project: str
    region: str
    key: KeyUse
    controller_email: pulumi.Input[str]
    compute_email: pulumi.Input[str]
    login_email: pulumi.Input[str]
    database_password: pulumi.Input[str] | None
    user_list: str
    directory: Directory | None
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ClusterSecrets(pulumi.ComponentResource):
    """Secrets in one region, encrypted with the cluster's key; nobody but the named machines reads them."""

    slurm_key: secretmanager.Secret
    user_list: secretmanager.Secret
    directory: pulumi.Output[str] | None
    database_password: secretmanager.Secret | None

    def __init__(self, name: str, args: ClusterSecretsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterSecrets", name, None, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        self._encryption = args.key.by_agent(
            f"{args.cluster_name}-secretmanager", "secretmanager", args.project, self._child, args.services
        )
        # Only the container: the controller makes the value at its first boot, so that it is never in Pulumi's state.
        self.slurm_key = self._secret("munge-key")
        # Beside the key, so that machines read both by the same few lines; a new version replaces no machine.
        self.user_list = self._secret("users")
        self._let_machines_read("munge-key", self.slurm_key)
        self._let_machines_read("users", self.user_list)
        self._give("users", self.user_list, args.user_list)
        self._grant("munge-key", self.slurm_key, "controller-writer", WRITER, args.controller_email)
        self.directory = None if args.directory is None else self._directory(args.directory)
        self.database_password = None
        if args.database_password is not None:
            self.database_password = self._password(args.database_password)
        self.register_outputs({"slurm_key": self.slurm_key.id})

    def _let_machines_read(self, what: str, secret: secretmanager.Secret) -> None:
        for role, email in (
            ("controller", self._args.controller_email),
            ("compute", self._args.compute_email),
            ("login", self._args.login_email),
        ):
            self._grant(what, secret, f"{role}-reader", READER, email)

    def _directory(self, directory: Directory) -> pulumi.Output[str]:
        """Make the settings, and a place for the password that an administrator stores; name both."""
        place: pulumi.Input[str] = ""
        if directory.bind_dn:
            password = self._secret("directory-password")
            self._let_machines_read("directory-password", password)
            self._grant("directory-password", password, "controller-writer", WRITER, self._args.controller_email)
            place = password.id
        settings = self._secret("directory")
        self._let_machines_read("directory", settings)
        self._give("directory", settings, settings_text(directory))
        return pulumi.Output.concat(settings.id, " ", place)

    def _password(self, value: pulumi.Input[str]) -> secretmanager.Secret:
        secret = self._secret("database-password")
        self._grant("database-password", secret, "controller-reader", READER, self._args.controller_email)
        self._give("database-password", secret, value)
        return secret

    def _give(self, what: str, secret: secretmanager.Secret, value: pulumi.Input[str]) -> None:
        secretmanager.SecretVersion(
            f"{self._args.cluster_name}-{what}", secret=secret.id, secret_data=value, opts=self._child
        )

    def _secret(self, what: str) -> secretmanager.Secret:
        args = self._args
        replica = secretmanager.SecretReplicationUserManagedReplicaArgs(
            location=args.region,
            customer_managed_encryption=secretmanager.SecretReplicationUserManagedReplicaCustomerManagedEncryptionArgs(
                kms_key_name=args.key.key_id
            ),
        )
        return secretmanager.Secret(
            f"{args.cluster_name}-{what}",
            secret_id=f"{args.cluster_name}-{what}",
            replication=secretmanager.SecretReplicationArgs(
                user_managed=secretmanager.SecretReplicationUserManagedArgs(replicas=[replica])
            ),
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=self._encryption),
        )

    def _grant(self, what: str, secret: secretmanager.Secret, suffix: str, role: str, email: pulumi.Input[str]) -> None:
        secretmanager.SecretIamMember(
            f"{self._args.cluster_name}-{what}-{suffix}",
            secret_id=secret.id,
            role=role,
            member=pulumi.Output.concat("serviceAccount:", email),
            opts=self._child,
        )
