"""One machine of the cluster's own - controller or login - restarted by AWS when its host fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account
from gpu_cluster.settings_cluster import MachineSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineArgs:
    """What a machine needs.

    Attributes:
        purpose: of the machine, for people.
        user_data_base64: from the machine's own address, which is known before the machine exists.
    """

    account: Account
    settings: MachineSettings
    purpose: str
    image_id: pulumi.Input[str]
    image_changes_to_ignore: Sequence[str]
    subnet_id: pulumi.Input[str]
    security_group_id: pulumi.Input[str]
    profile_name: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    user_data_base64: Callable[[pulumi.Output[str]], pulumi.Input[str]]
    alert_topic_arn: pulumi.Input[str]
    tags: dict[str, str]
    after: Sequence[pulumi.Resource]


class Machine(pulumi.ComponentResource):
    """EC2 instance at an address that outlives it, with an alarm that recovers it."""

    def __init__(self, name: str, args: MachineArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Machine", name, None, opts)
        tags = {**args.tags, "Name": name}
        # An interface of its own: address, subnet and security group stay when the machine is replaced. It has no
        # public address and cannot get one.
        interface = aws.ec2.NetworkInterface(
            f"{name}-address",
            subnet_id=args.subnet_id,
            security_groups=[args.security_group_id],
            description=f"Address of the {args.purpose}",
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        instance = aws.ec2.Instance(
            f"{name}-instance",
            ami=args.image_id,
            instance_type=args.settings.instance_type,
            primary_network_interface=aws.ec2.InstancePrimaryNetworkInterfaceArgs(network_interface_id=interface.id),
            iam_instance_profile=args.profile_name,
            ebs_optimized=True,
            monitoring=True,
            metadata_options=aws.ec2.InstanceMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            root_block_device=aws.ec2.InstanceRootBlockDeviceArgs(
                volume_type="gp3",
                volume_size=args.settings.root_volume_gib,
                encrypted=True,
                kms_key_id=args.key_arn,
                delete_on_termination=True,
                tags=tags,
            ),
            user_data_base64=args.user_data_base64(interface.private_ip),
            tags=tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                # cloud-init runs once, so new user-data would only stop and start the machine; and an interface is
                # attached to one machine at a time, so a replacement can come only after it is gone.
                ignore_changes=["user_data", "user_data_base64", *args.image_changes_to_ignore],
                delete_before_replace=True,
                depends_on=args.after,
            ),
        )
        recover = pulumi.Output.format("arn:{0}:automate:{1}:ec2:recover", args.account.partition, args.account.region)
        aws.cloudwatch.MetricAlarm(
            f"{name}-host-failure",
            alarm_description=f"The host of the {args.purpose} failed; AWS moves the machine to another host",
            namespace="AWS/EC2",
            metric_name="StatusCheckFailed_System",
            dimensions={"InstanceId": instance.id},
            statistic="Maximum",
            period=60,
            evaluation_periods=2,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            alarm_actions=[recover, args.alert_topic_arn],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.private_ip: pulumi.Output[str] = interface.private_ip
        self.instance_id: pulumi.Output[str] = instance.id
        self.register_outputs({"instance_id": self.instance_id})
