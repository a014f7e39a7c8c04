"""The bucket of data sets and checkpoints."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.existing import BucketIds
from gpu_cluster.permissions import Statement, document

NONCURRENT_DAYS = 30
UNFINISHED_UPLOAD_DAYS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketArgs:
    """Whose bucket, and the key that encrypts it."""

    cluster_name: str
    key_arn: pulumi.Input[str]


class Bucket(pulumi.ComponentResource):
    """A versioned, encrypted bucket that nothing can make public; protected from deletion."""

    def __init__(self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Bucket", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = aws.s3.Bucket(
            f"{name}-objects",
            bucket_prefix=f"{args.cluster_name}-data-",
            force_destroy=False,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        access_block = aws.s3.BucketPublicAccessBlock(
            f"{name}-settings",
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        aws.s3.BucketVersioning(
            f"{name}-settings",
            bucket=bucket.id,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
            opts=child,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-settings",
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
            f"{name}-settings",
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
            f"{name}-settings",
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
        self.ids = BucketIds(name=bucket.bucket, settled=(access,))
        self.register_outputs({"name": bucket.bucket, "arn": bucket.arn})
