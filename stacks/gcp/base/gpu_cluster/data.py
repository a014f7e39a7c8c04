"""What outlives the GPU nodes: bucket and file system, both encrypted with the cluster's key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import lustre, projects, storage

from gpu_cluster.encryption import KeyUse
from gpu_cluster.lustre_sizes import FileSystemSize

# At most eight letters and digits.
FILESYSTEM = "lustrefs"
OLD_VERSION_DAYS = 7
# Reads and writes objects, and reads the bucket's own properties: what import and export need (from memory; Google's
# guide asks for Storage Admin on the bucket, which could also delete it).
REPOSITORY_ROLES = {"objects": "roles/storage.objectUser", "properties": "roles/storage.legacyBucketReader"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterBucketArgs:
    """What the bucket depends on."""

    cluster_name: str
    project: str
    region: str
    key: KeyUse
    protect: bool
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ClusterBucket(pulumi.ComponentResource):
    """Bucket for datasets and checkpoints: private, versioned, and never emptied by the program."""

    bucket: storage.Bucket

    def __init__(self, name: str, args: ClusterBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterBucket", name, None, opts)
        agent = storage.get_project_service_account_output(
            project=args.project, opts=pulumi.InvokeOutputOptions(parent=self, depends_on=args.services)
        )
        encryption = args.key.by_account(
            f"{args.cluster_name}-storage", agent.email_address, pulumi.ResourceOptions(parent=self)
        )
        self.bucket = storage.Bucket(
            f"{args.cluster_name}-data",
            location=args.region.upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            versioning=storage.BucketVersioningArgs(enabled=True),
            encryption=storage.BucketEncryptionArgs(default_kms_key_name=args.key.key_id),
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
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, depends_on=encryption),
        )
        self.register_outputs({"bucket": self.bucket.url})


@dataclass(frozen=True, kw_only=True, slots=True)
class ParallelFileSystemArgs:
    """What the file system depends on."""

    cluster_name: str
    project: str
    zone: str
    size: FileSystemSize
    network_id: pulumi.Input[str]
    peering: pulumi.Resource | None
    bucket_name: pulumi.Input[str]
    key: KeyUse
    protect: bool
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ParallelFileSystem(pulumi.ComponentResource):
    """Managed Lustre in the zone of the nodes, and its right to import from the bucket and to export to it."""

    instance: lustre.Instance

    def __init__(self, name: str, args: ParallelFileSystemArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ParallelFileSystem", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        agent = projects.ServiceIdentity(
            f"{args.cluster_name}-lustre-agent",
            project=args.project,
            service="lustre.googleapis.com",
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.services),
        )
        encryption = args.key.by_account(f"{args.cluster_name}-lustre", agent.email, child)
        for what, role in REPOSITORY_ROLES.items():
            storage.BucketIAMMember(
                f"{args.cluster_name}-lustre-{what}",
                bucket=args.bucket_name,
                role=role,
                member=agent.member,
                opts=child,
            )
        self.instance = lustre.Instance(
            f"{args.cluster_name}-lustre",
            instance_id=f"{args.cluster_name}-lustre",
            filesystem=FILESYSTEM,
            location=args.zone,
            network=args.network_id,
            # The service takes both numbers as strings.
            capacity_gib=str(args.size.capacity_gib),
            per_unit_storage_throughput=str(args.size.throughput_mb_per_s_per_tib),
            gke_support_enabled=False,
            kms_key=args.key.key_id,
            deletion_policy="PREVENT" if args.protect else "DELETE",
            labels=args.labels,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=args.protect,
                depends_on=[*encryption, *([args.peering] if args.peering else [])],
            ),
        )
        self.register_outputs({"mount": self.instance.mount_point})
