"""What the other layers take from the foundation, by stack reference."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from gpu_cluster.other_layer import OtherLayer


@dataclass(frozen=True, kw_only=True, slots=True)
class Foundation:
    """Outputs of the foundation's stack."""

    availability_zone: pulumi.Output[str]
    vpc_id: pulumi.Output[str]
    node_subnet_id: pulumi.Output[str]
    service_subnet_ids: pulumi.Output[Sequence[str]]
    cluster_security_group_id: pulumi.Output[str]
    key_arn: pulumi.Output[str]
    bucket_name: pulumi.Output[str]
    file_system_mount_source: pulumi.Output[str]
    file_system_mount_path: pulumi.Output[str]
    controller_role_name: pulumi.Output[str]
    controller_instance_profile_name: pulumi.Output[str]
    login_role_name: pulumi.Output[str]
    login_instance_profile_name: pulumi.Output[str]
    compute_role_name: pulumi.Output[str]
    compute_role_arn: pulumi.Output[str]
    compute_instance_profile_arn: pulumi.Output[str]
    alert_topic_arn: pulumi.Output[str]


def foundation(stack: str, *, node_count: int = 0) -> Foundation:
    """Refer to the foundation's stack.

    Args:
        stack: full name, such as `organization/aws-gpu-foundation/production`.
        node_count: nodes that its network must have addresses for.
    """
    outputs = OtherLayer(stack)
    return Foundation(
        availability_zone=outputs.text("availability_zone"),
        vpc_id=outputs.text("vpc_id"),
        node_subnet_id=outputs.text_for_nodes("node_subnet_id", node_count),
        service_subnet_ids=outputs.texts("service_subnet_ids"),
        cluster_security_group_id=outputs.text("cluster_security_group_id"),
        key_arn=outputs.text("key_arn"),
        bucket_name=outputs.text("bucket_name"),
        file_system_mount_source=outputs.text("file_system_mount_source"),
        file_system_mount_path=outputs.text("file_system_mount_path"),
        controller_role_name=outputs.text("controller_role_name"),
        controller_instance_profile_name=outputs.text("controller_instance_profile_name"),
        login_role_name=outputs.text("login_role_name"),
        login_instance_profile_name=outputs.text("login_instance_profile_name"),
        compute_role_name=outputs.text("compute_role_name"),
        compute_role_arn=outputs.text("compute_role_arn"),
        compute_instance_profile_arn=outputs.text("compute_instance_profile_arn"),
        alert_topic_arn=outputs.texts("alert_topic_arns").apply(lambda arns: arns[0]),
    )
