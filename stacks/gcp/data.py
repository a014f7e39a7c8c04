"""What outlives the GPU nodes: encryption key, bucket, file system and the container of the cluster's secret."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import kms, lustre, projects, secretmanager, storage

from settings import SharedStorage

ENCRYPT_AND_DECRYPT = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
ROTATION_PERIOD = f"{90 * 24 * 3600}s"
# At most eight letters and digits.
FILESYSTEM = "lustrefs"
OLD_VERSION_DAYS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterDataArgs:
    """What the data depends on."""

    cluster_name: str
    project: str
    project_number: pulumi.Output[str]
    region: str
    zone: str
    shared_storage: SharedStorage | None
    network: pulumi.Output[str]
    storage_peering: pulumi.Resource | None
    protect: bool
    labels: dict[str, str]
    services: Sequence[pulumi.Resource]


class ClusterData(pulumi.ComponentResource):
    """Data resources, all encrypted with one key, protected from deletion and apart from the machines."""

    key: kms.CryptoKey
    bucket: storage.Bucket
    file_system: lustre.Instance | None
    secret: secretmanager.Secret
    disk_encryption: kms.CryptoKeyIAMMember

    def __init__(self, name: str, args: ClusterDataArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:ClusterData", name, None, opts)
        self._args = args
        self._deletion_policy = "PREVENT" if args.protect else "DELETE"
        self.key = self._make_key()
        self.disk_encryption = self._let_service_use_key(
            "compute", pulumi.Output.concat("service-", args.project_number, "@compute-system.iam.gserviceaccount.com")
        )
        self.bucket = self._make_bucket()
        self.secret = self._make_secret()
        self.file_system = self._make_file_system(args.shared_storage) if args.shared_storage else None
        self.register_outputs({"bucket": self.bucket.url, "secret": self.secret.id, "key": self.key.id})

    @property
    def shared_source(self) -> pulumi.Output[str]:
        """Lustre mount source, empty where there is no file system."""
        return self.file_system.mount_point if self.file_system else pulumi.Output.from_input("")

    def _make_key(self) -> kms.CryptoKey:
        args = self._args
        ring = kms.KeyRing(
            f"{args.cluster_name}-data",
            location=args.region,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, depends_on=args.services),
        )
        return kms.CryptoKey(
            f"{args.cluster_name}-data",
            key_ring=ring.id,
            rotation_period=ROTATION_PERIOD,
            deletion_policy=self._deletion_policy,
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect),
        )

    def _let_service_use_key(self, service: str, email: pulumi.Input[str]) -> kms.CryptoKeyIAMMember:
        return kms.CryptoKeyIAMMember(
            f"{self._args.cluster_name}-{service}-encryption",
            crypto_key_id=self.key.id,
            role=ENCRYPT_AND_DECRYPT,
            member=pulumi.Output.concat("serviceAccount:", email),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _let_agent_use_key(self, service: str) -> kms.CryptoKeyIAMMember:
        agent = projects.ServiceIdentity(
            f"{self._args.cluster_name}-{service}-agent",
            project=self._args.project,
            service=f"{service}.googleapis.com",
            opts=pulumi.ResourceOptions(parent=self, depends_on=self._args.services),
        )
        return self._let_service_use_key(service, agent.email)

    def _make_bucket(self) -> storage.Bucket:
        args = self._args
        agent = storage.get_project_service_account_output(
            project=args.project, opts=pulumi.InvokeOutputOptions(parent=self, depends_on=args.services)
        )
        encryption = self._let_service_use_key("storage", agent.email_address)
        return storage.Bucket(
            f"{args.cluster_name}-data",
            location=args.region.upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            versioning=storage.BucketVersioningArgs(enabled=True),
            encryption=storage.BucketEncryptionArgs(default_kms_key_name=self.key.id),
            lifecycle_rules=[
                # A checkpoint that was overwritten is worth keeping for a week, not for ever.
                storage.BucketLifecycleRuleArgs(
                    action=storage.BucketLifecycleRuleActionArgs(type="Delete"),
                    condition=storage.BucketLifecycleRuleConditionArgs(
                        days_since_noncurrent_time=OLD_VERSION_DAYS, with_state="ARCHIVED"
                    ),
                ),
                storage.BucketLifecycleRuleArgs(
                    action=storage.BucketLifecycleRuleActionArgs(type="AbortIncompleteMultipartUpload"),
                    condition=storage.BucketLifecycleRuleConditionArgs(age=OLD_VERSION_DAYS),
                ),
            ],
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, depends_on=[encryption]),
        )

    def _make_secret(self) -> secretmanager.Secret:
        # Only the container: the controller makes the value at its first boot, so that it is never in Pulumi's state.
        args = self._args
        encryption = self._let_agent_use_key("secretmanager")
        replica = secretmanager.SecretReplicationUserManagedReplicaArgs(
            location=args.region,
            customer_managed_encryption=secretmanager.SecretReplicationUserManagedReplicaCustomerManagedEncryptionArgs(
                kms_key_name=self.key.id
            ),
        )
        return secretmanager.Secret(
            f"{args.cluster_name}-munge-key",
            secret_id=f"{args.cluster_name}-munge-key",
            replication=secretmanager.SecretReplicationArgs(
                user_managed=secretmanager.SecretReplicationUserManagedArgs(replicas=[replica])
            ),
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[encryption]),
        )

    def _make_file_system(self, storage_settings: SharedStorage) -> lustre.Instance:
        args = self._args
        encryption = self._let_agent_use_key("lustre")
        return lustre.Instance(
            f"{args.cluster_name}-lustre",
            instance_id=f"{args.cluster_name}-lustre",
            filesystem=FILESYSTEM,
            location=args.zone,
            network=args.network,
            # The service takes both numbers as strings.
            capacity_gib=str(storage_settings.capacity_gib),
            per_unit_storage_throughput=str(storage_settings.throughput_mb_per_s_per_tib),
            gke_support_enabled=False,
            kms_key=self.key.id,
            deletion_policy=self._deletion_policy,
            labels=args.labels,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=args.protect,
                depends_on=[encryption, *([args.storage_peering] if args.storage_peering else [])],
            ),
        )
