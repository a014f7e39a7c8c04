"""The Slurm controller: one machine at a fixed private address, restarted by AWS when its host fails."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from policy import Account
from settings import ControllerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerArgs:
    """What the controller needs."""

    account: Account
    settings: ControllerSettings
    image_id: pulumi.Input[str]
    image_changes_to_ignore: Sequence[str]
    private_address: str
    subnet_id: pulumi.Input[str]
    security_group_id: pulumi.Input[str]
    profile_name: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    user_data_base64: pulumi.Input[str]
    alert_topic_arns: Sequence[pulumi.Input[str]]
    tags: dict[str, str]
    after: Sequence[pulumi.Resource]


class Controller(pulumi.ComponentResource):
    """EC2 instance that runs slurmctld, with an alarm that recovers it."""

    def __init__(self, name: str, args: ControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:aws:Controller", name, None, opts)
        tags = {**args.tags, "Name": name}
        instance = aws.ec2.Instance(
            f"{name}-instance",
            ami=args.image_id,
            instance_type=args.settings.instance_type,
            subnet_id=args.subnet_id,
            private_ip=args.private_address,
            associate_public_ip_address=False,
            vpc_security_group_ids=[args.security_group_id],
            iam_instance_profile=args.profile_name,
            ebs_optimized=True,
            monitoring=True,
            metadata_options=aws.ec2.InstanceMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2
            ),
            root_block_device=aws.ec2.InstanceRootBlockDeviceArgs(
                volume_type="gp3",
                volume_size=args.settings.root_volume_gib,
                encrypted=True,
                kms_key_id=args.key_arn,
                delete_on_termination=True,
                tags=tags,
            ),
            user_data_base64=args.user_data_base64,
            tags=tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                # cloud-init runs once, so new user-data would only stop and start the machine; and its address is
                # fixed, so a replacement can come only after it is gone.
                ignore_changes=["user_data_base64", *args.image_changes_to_ignore],
                delete_before_replace=True,
                depends_on=args.after,
            ),
        )
        aws.cloudwatch.MetricAlarm(
            f"{name}-host-failure",
            alarm_description="The controller's host failed; AWS moves the machine to another host",
            namespace="AWS/EC2",
            metric_name="StatusCheckFailed_System",
            dimensions={"InstanceId": instance.id},
            statistic="Maximum",
            period=60,
            evaluation_periods=2,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            alarm_actions=[
                pulumi.Output.format("arn:{0}:automate:{1}:ec2:recover", args.account.partition, args.account.region),
                *args.alert_topic_arns,
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.instance_id: pulumi.Output[str] = instance.id
        self.register_outputs({"instance_id": self.instance_id})
