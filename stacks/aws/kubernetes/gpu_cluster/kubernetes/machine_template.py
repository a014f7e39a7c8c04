"""What the launch templates of all node groups share: encrypted disk, token for the metadata service, tags."""

from collections.abc import Mapping, Sequence

import pulumi_aws as aws
from pulumi import Input

# Amazon Linux 2023 names its system disk so.
ROOT_DEVICE = "/dev/xvda"


def metadata_options() -> aws.ec2.LaunchTemplateMetadataOptionsArgs:
    """One hop: pods get rights by their service account, never those of the node."""
    return aws.ec2.LaunchTemplateMetadataOptionsArgs(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )


def root_volume(size_gib: int, key_arn: Input[str]) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    """The system disk, under the cluster's key."""
    return [
        aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=ROOT_DEVICE,
            ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                volume_type="gp3",
                volume_size=size_gib,
                encrypted="true",
                kms_key_id=key_arn,
                delete_on_termination="true",
            ),
        )
    ]


def launched_tags(
    tags: Mapping[str, str], kinds: Sequence[str] = ("instance", "volume", "network-interface")
) -> list[aws.ec2.LaunchTemplateTagSpecificationArgs]:
    """The tags of what is launched: the provider's own reach the template itself only."""
    return [aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=dict(tags)) for kind in kinds]
