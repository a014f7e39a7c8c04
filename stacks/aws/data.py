"""What outlives the nodes: the bucket and the Lustre file system that mirrors two of its folders."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from policy import Statement, document
from settings import SharedStorage

NONCURRENT_DAYS = 30
UNFINISHED_UPLOAD_DAYS = 7
LUSTRE_VERSION = "2.15"
LUSTRE_LOG_DAYS = 30
# Data sets appear on Lustre as they are put into the bucket; checkpoints go the other way as they are written. A file
# deleted on Lustre stays in the bucket, so that clearing scratch space never loses a checkpoint.
IMPORT_EVENTS = ("NEW", "CHANGED", "DELETED")
EXPORT_EVENTS = ("NEW", "CHANGED")


@dataclass(frozen=True, kw_only=True, slots=True)
class DataArgs:
    """What bucket and file system need."""

    cluster_name: str
    key_arn: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    lustre_group_id: pulumi.Input[str]
    cluster_group_id: pulumi.Input[str]
    storage: SharedStorage
    after: Sequence[pulumi.Resource]


class Data(pulumi.ComponentResource):
    """A versioned, encrypted bucket and an FSx for Lustre file system; both protected from deletion."""

    def __init__(self, name: str, args: DataArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:aws:Data", name, None, opts)
        bucket, access = self._bucket(name, args)
        file_system = self._file_system(name, args)
        imported = aws.fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=IMPORT_EVENTS)
        exported = aws.fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=EXPORT_EVENTS)
        # One after the other, and only on a bucket whose access is settled: FSx fails links that are made at once.
        datasets = _link(
            f"{name}-datasets",
            file_system,
            bucket,
            aws.fsx.DataRepositoryAssociationS3Args(auto_import_policy=imported),
            pulumi.ResourceOptions(parent=self, depends_on=[access]),
        )
        _link(
            f"{name}-checkpoints",
            file_system,
            bucket,
            aws.fsx.DataRepositoryAssociationS3Args(auto_export_policy=exported),
            pulumi.ResourceOptions(parent=self, depends_on=[access, datasets]),
        )
        self.bucket_name: pulumi.Output[str] = bucket.bucket
        self.bucket_arn: pulumi.Output[str] = bucket.arn
        self.file_system_id: pulumi.Output[str] = file_system.id
        self.mount_source: pulumi.Output[str] = pulumi.Output.format(
            "{0}@tcp:/{1}", file_system.dns_name, file_system.mount_name
        )
        self.register_outputs(
            {
                "bucket_name": self.bucket_name,
                "file_system_id": self.file_system_id,
                "mount_source": self.mount_source,
            }
        )

    def _bucket(self, name: str, args: DataArgs) -> tuple[aws.s3.Bucket, aws.s3.BucketPolicy]:
        child = pulumi.ResourceOptions(parent=self)
        bucket = aws.s3.Bucket(
            f"{name}-bucket",
            bucket_prefix=f"{args.cluster_name}-data-",
            force_destroy=False,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        access_block = aws.s3.BucketPublicAccessBlock(
            f"{name}-bucket",
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        aws.s3.BucketOwnershipControls(
            f"{name}-bucket",
            bucket=bucket.id,
            rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=child,
        )
        aws.s3.BucketVersioning(
            f"{name}-bucket",
            bucket=bucket.id,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
            opts=child,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-bucket",
            bucket=bucket.id,
            rules=[
                aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                    apply_server_side_encryption_by_default=aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
                        sse_algorithm="aws:kms", kms_master_key_id=args.key_arn
                    ),
                    # One data key per bucket and not per object: a sharded checkpoint would flood KMS with requests.
                    bucket_key_enabled=True,
                )
            ],
            opts=child,
        )
        aws.s3.BucketLifecycleConfiguration(
            f"{name}-bucket",
            bucket=bucket.id,
            rules=[
                aws.s3.BucketLifecycleConfigurationRuleArgs(
                    id="drop-leftovers",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    abort_incomplete_multipart_upload=aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                        days_after_initiation=UNFINISHED_UPLOAD_DAYS
                    ),
                    noncurrent_version_expiration=aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                        noncurrent_days=NONCURRENT_DAYS
                    ),
                )
            ],
            opts=child,
        )
        access = aws.s3.BucketPolicy(
            f"{name}-bucket",
            bucket=bucket.id,
            policy=document(
                Statement(
                    sid="OnlyEncryptedConnections",
                    effect="Deny",
                    principal={"AWS": "*"},
                    actions=["s3:*"],
                    resources=[bucket.arn, pulumi.Output.concat(bucket.arn, "/*")],
                    conditions={"Bool": {"aws:SecureTransport": "false"}},
                )
            ),
            # S3 refuses concurrent changes of a bucket's access settings.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[access_block]),
        )
        return bucket, access

    def _file_system(self, name: str, args: DataArgs) -> aws.fsx.LustreFileSystem:
        logs = aws.cloudwatch.LogGroup(
            f"{name}-lustre",
            name_prefix=f"/aws/fsx/{args.cluster_name}-",
            retention_in_days=LUSTRE_LOG_DAYS,
            kms_key_id=args.key_arn,
            opts=pulumi.ResourceOptions(parent=self),
        )
        groups = [args.lustre_group_id]
        if args.storage.efa_enabled:
            # With EFA the file servers are on the fabric: they need the group that allows all traffic to itself.
            groups.append(args.cluster_group_id)
        return aws.fsx.LustreFileSystem(
            f"{name}-lustre",
            subnet_ids=args.subnet_id,
            security_group_ids=groups,
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=args.storage.capacity_gib,
            per_unit_storage_throughput=args.storage.throughput_mb_per_s_per_tib,
            efa_enabled=args.storage.efa_enabled,
            metadata_configuration=aws.fsx.LustreFileSystemMetadataConfigurationArgs(mode="AUTOMATIC"),
            file_system_type_version=LUSTRE_VERSION,
            data_compression_type="LZ4",
            kms_key_id=args.key_arn,
            # Backups are refused while a file system is linked to a bucket; the bucket is the copy.
            automatic_backup_retention_days=0,
            log_configuration=aws.fsx.LustreFileSystemLogConfigurationArgs(level="WARN_ERROR", destination=logs.arn),
            tags={"Name": name},
            opts=pulumi.ResourceOptions(parent=self, protect=True, depends_on=args.after),
        )


def _link(
    name: str,
    file_system: aws.fsx.LustreFileSystem,
    bucket: aws.s3.Bucket,
    mirrored: aws.fsx.DataRepositoryAssociationS3Args,
    opts: pulumi.ResourceOptions,
) -> aws.fsx.DataRepositoryAssociation:
    """Mirror on the file system the folder of the bucket that the last word of the name says."""
    folder = name.rsplit("-", 1)[1]
    return aws.fsx.DataRepositoryAssociation(
        name,
        file_system_id=file_system.id,
        file_system_path=f"/{folder}",
        data_repository_path=pulumi.Output.concat("s3://", bucket.bucket, f"/{folder}"),
        batch_import_meta_data_on_create=True,
        delete_data_in_filesystem=False,
        s3=mirrored,
        opts=opts,
    )
