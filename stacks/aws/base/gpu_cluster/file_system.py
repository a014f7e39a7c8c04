"""The Lustre file system, which mirrors two folders of the bucket."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.settings_foundation import SharedStorage

LUSTRE_VERSION = "2.15"
LUSTRE_LOG_DAYS = 30
# Data sets appear on Lustre as they are put into the bucket; checkpoints go the other way as they are written. A file
# deleted on Lustre stays in the bucket, so that clearing scratch space never loses a checkpoint.
IMPORT_EVENTS = ("NEW", "CHANGED", "DELETED")
EXPORT_EVENTS = ("NEW", "CHANGED")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystemArgs:
    """What the file system needs.

    Attributes:
        after: the rules of its security groups: without the Lustre ports it is refused, after minutes.
        links_after: whatever settles the access to the bucket.
    """

    cluster_name: str
    key_arn: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    lustre_group_id: pulumi.Input[str]
    cluster_group_id: pulumi.Input[str]
    storage: SharedStorage
    bucket_name: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    links_after: Sequence[pulumi.Resource]


class FileSystem(pulumi.ComponentResource):
    """FSx for Lustre with its log and its links to the bucket; protected from deletion."""

    def __init__(self, name: str, args: FileSystemArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:FileSystem", name, None, opts)
        file_system = self._file_system(name, args)
        imported = aws.fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=IMPORT_EVENTS)
        exported = aws.fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=EXPORT_EVENTS)
        # One after the other, and only on a bucket whose access is settled: FSx fails links that are made at once.
        datasets = _link(
            f"{name}-datasets",
            file_system,
            args.bucket_name,
            aws.fsx.DataRepositoryAssociationS3Args(auto_import_policy=imported),
            pulumi.ResourceOptions(parent=self, depends_on=args.links_after),
        )
        _link(
            f"{name}-checkpoints",
            file_system,
            args.bucket_name,
            aws.fsx.DataRepositoryAssociationS3Args(auto_export_policy=exported),
            pulumi.ResourceOptions(parent=self, depends_on=[*args.links_after, datasets]),
        )
        self.id: pulumi.Output[str] = file_system.id
        self.mount_source: pulumi.Output[str] = pulumi.Output.format(
            "{0}@tcp:/{1}", file_system.dns_name, file_system.mount_name
        )
        self.register_outputs({"id": self.id, "mount_source": self.mount_source})

    def _file_system(self, name: str, args: FileSystemArgs) -> aws.fsx.LustreFileSystem:
        logs = aws.cloudwatch.LogGroup(
            f"{name}-log",
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
    bucket_name: pulumi.Input[str],
    mirrored: aws.fsx.DataRepositoryAssociationS3Args,
    opts: pulumi.ResourceOptions,
) -> aws.fsx.DataRepositoryAssociation:
    """Mirror on the file system the folder of the bucket that the last word of the name says."""
    folder = name.rsplit("-", 1)[1]
    return aws.fsx.DataRepositoryAssociation(
        name,
        file_system_id=file_system.id,
        file_system_path=f"/{folder}",
        data_repository_path=pulumi.Output.concat("s3://", bucket_name, f"/{folder}"),
        batch_import_meta_data_on_create=True,
        delete_data_in_filesystem=False,
        s3=mirrored,
        opts=opts,
    )
