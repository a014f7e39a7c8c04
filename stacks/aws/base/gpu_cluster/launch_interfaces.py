"""The network interfaces of a launch template, from those that the instance type wants."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from gpu_cluster.interfaces import InterfaceSlot


def launch_interfaces(
    slots: Sequence[InterfaceSlot], security_group_id: pulumi.Input[str]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Return one entry for each interface; security groups go on each, never beside them."""
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=slot.network_card,
            device_index=slot.device,
            interface_type=slot.interface_type,
            security_groups=[security_group_id],
            delete_on_termination="true",
            # EC2 refuses the parameter on nodes with several interfaces; those never get a public address anyway.
            associate_public_ip_address="false" if len(slots) == 1 else None,
        )
        for slot in slots
    ]
