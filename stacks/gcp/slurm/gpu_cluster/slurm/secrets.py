"""The secrets of the cluster: Slurm's key, made by the controller itself, and the password of its database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import secretmanager

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
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ClusterSecrets(pulumi.ComponentResource):
    """Secrets in one region, encrypted with the cluster's key; nobody but the named machines reads them."""

    slurm_key: secretmanager.Secret
    user_list: secretmanager.Secret
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
        for role, email in (
            ("controller", args.controller_email),
            ("compute", args.compute_email),
            ("login", args.login_email),
        ):
            self._grant("munge-key", self.slurm_key, f"{role}-reader", READER, email)
            self._grant("users", self.user_list, f"{role}-reader", READER, email)
        self._give("users", self.user_list, args.user_list)
        self._grant("munge-key", self.slurm_key, "controller-writer", WRITER, args.controller_email)
        self.database_password = None
        if args.database_password is not None:
            self.database_password = self._password(args.database_password)
        self.register_outputs({"slurm_key": self.slurm_key.id})

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
