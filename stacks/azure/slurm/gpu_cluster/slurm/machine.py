"""Controller and login machine: small virtual machines without a public address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import compute, network

from gpu_cluster.images import Image
from gpu_cluster.slurm.access import Access, linux_configuration

_DISK_GIB = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineArgs:
    """What one machine runs on.

    Attributes:
        private_address: None leaves the choice to Azure.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    instance_type: str
    image: Image
    subnet_id: pulumi.Input[str]
    private_address: pulumi.Input[str] | None
    identity_ids: Sequence[pulumi.Input[str]]
    disk_encryption_set_id: pulumi.Input[str]
    encryption_at_host: bool
    access: Access
    custom_data: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    tags: Mapping[str, str]


class Machine(pulumi.ComponentResource):
    """A machine, and an interface with its address that outlives it.

    Attributes:
        private_address: None where Azure did not say which one it chose.
    """

    private_address: pulumi.Output[str | None]
    machine_id: pulumi.Output[str]
    machine_name: pulumi.Output[str]
    interface_id: pulumi.Output[str]

    def __init__(self, name: str, args: MachineArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Machine", name, {}, opts)
        interface = network.NetworkInterface(
            name,
            resource_group_name=args.resource_group_name,
            location=args.location,
            enable_accelerated_networking=True,
            ip_configurations=[
                network.NetworkInterfaceIPConfigurationArgs(
                    name="private",
                    primary=True,
                    subnet=network.SubnetArgs(id=args.subnet_id),
                    private_ip_allocation_method=network.IPAllocationMethod.DYNAMIC
                    if args.private_address is None
                    else network.IPAllocationMethod.STATIC,
                    private_ip_address=args.private_address,
                )
            ],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        machine = compute.VirtualMachine(
            name,
            resource_group_name=args.resource_group_name,
            location=args.location,
            zones=[args.zone],
            hardware_profile=compute.HardwareProfileArgs(vm_size=args.instance_type),
            identity=compute.VirtualMachineIdentityArgs(
                type=compute.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=list(args.identity_ids)
            ),
            network_profile=compute.NetworkProfileArgs(
                network_interfaces=[compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True)]
            ),
            os_profile=compute.OSProfileArgs(
                computer_name=name,
                admin_username=args.access.admin_username,
                custom_data=args.custom_data,
                linux_configuration=linux_configuration(args.access),
            ),
            storage_profile=compute.StorageProfileArgs(
                image_reference=compute.ImageReferenceArgs(
                    publisher=args.image.publisher,
                    offer=args.image.offer,
                    sku=args.image.sku,
                    version=args.image.version,
                ),
                os_disk=compute.OSDiskArgs(
                    create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                    delete_option=compute.DiskDeleteOptionTypes.DELETE,
                    disk_size_gb=_DISK_GIB,
                    managed_disk=compute.ManagedDiskParametersArgs(
                        storage_account_type=compute.StorageAccountTypes.PREMIUM_LRS,
                        disk_encryption_set=compute.DiskEncryptionSetParametersArgs(id=args.disk_encryption_set_id),
                    ),
                ),
            ),
            security_profile=compute.SecurityProfileArgs(encryption_at_host=True) if args.encryption_at_host else None,
            # Without a storage account the console log goes to one that Azure manages.
            diagnostics_profile=compute.DiagnosticsProfileArgs(
                boot_diagnostics=compute.BootDiagnosticsArgs(enabled=True)
            ),
            tags=args.tags,
            # Azure cannot change custom data of a machine that exists, and a new controller has no queue: other custom
            # data waits for the next machine. That one takes over the interface, so the old one has to go first.
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                ignore_changes=["osProfile.customData"],
                delete_before_replace=True,
            ),
        )
        self.machine_id = machine.id
        self.machine_name = machine.name
        self.interface_id = interface.id
        self.private_address = interface.ip_configurations.apply(
            lambda found: next((one.private_ip_address for one in found or []), None)
        )
        self.register_outputs({"machine_id": self.machine_id})
