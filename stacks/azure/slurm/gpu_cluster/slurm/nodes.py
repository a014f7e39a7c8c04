"""GPU nodes: one scale set is one InfiniBand domain, so a cluster is one scale set wherever that is possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import compute

from gpu_cluster.capacity import Capacity
from gpu_cluster.node_type import NodeType
from gpu_cluster.roles import BuiltinRole, grant
from gpu_cluster.slurm.access import Access, linux_configuration
from gpu_cluster.watchdog import EXPIRY_TAG

# To look at a scale set and its metrics, and to delete its machines; not to change what they are.
WATCHDOG_ACTIONS = (
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Insights/metrics/read",
)
_DISK_GIB = 128
# Azure waits this long before it deletes a node, so that the node can leave Slurm (5 to 15 minutes are possible).
_NOTICE = "PT5M"
# A computer name is the prefix and six characters; the prefix may have 15.
_NAME_LETTERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesArgs:
    """What the GPU nodes are, how many, and how they are obtained.

    Attributes:
        expires_at: when the watchdog takes them down (RFC 3339); None for never.
        publishes_metric: whether they may publish how many GPUs are busy.
    """

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    node_type: NodeType
    scale_set_sizes: tuple[int, ...]
    capacity: Capacity
    subnet_id: pulumi.Input[str]
    identity_ids: Sequence[pulumi.Input[str]]
    identity_principal_id: pulumi.Input[str]
    subscription_id: str
    disk_encryption_set_id: pulumi.Input[str]
    encryption_at_host: bool
    access: Access
    custom_data: pulumi.Input[str]
    expires_at: str | None
    publishes_metric: bool
    tags: Mapping[str, str]


class Nodes(pulumi.ComponentResource):
    """Uniform scale sets: equal machines from one model, changed only when asked."""

    scale_set_names: list[pulumi.Output[str]]
    scale_set_ids: list[pulumi.Output[str]]

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Nodes", name, {}, opts)
        expiry = {EXPIRY_TAG: args.expires_at} if args.expires_at else {}
        sets = [
            compute.VirtualMachineScaleSet(
                f"{name}-nodes-{index}",
                resource_group_name=args.resource_group_name,
                location=args.location,
                zones=[args.zone],
                orchestration_mode=compute.OrchestrationMode.UNIFORM,
                # A reservation on demand cannot be combined with a single placement group; InfiniBand needs one.
                single_placement_group=args.capacity.single_placement_group,
                # Surplus machines would join Slurm and then vanish.
                overprovision=False,
                upgrade_policy=compute.UpgradePolicyArgs(mode=compute.UpgradeMode.MANUAL),
                sku=compute.SkuArgs(name=args.node_type.instance_type, tier="Standard", capacity=size),
                identity=compute.VirtualMachineScaleSetIdentityArgs(
                    type=compute.ResourceIdentityType.USER_ASSIGNED,
                    user_assigned_identities=list(args.identity_ids),
                ),
                virtual_machine_profile=_profile(f"{name[:_NAME_LETTERS].rstrip('-')}-g{index}", args),
                tags={**args.tags, **expiry},
                # The first `up` sets the expiry; a later one must not put it off.
                opts=pulumi.ResourceOptions(parent=self, ignore_changes=[f'tags["{EXPIRY_TAG}"]'] if expiry else []),
            )
            for index, size in enumerate(args.scale_set_sizes)
        ]
        self.scale_set_names = [one.name for one in sets]
        self.scale_set_ids = [one.id for one in sets]
        if args.publishes_metric:
            for index, one in enumerate(sets):
                grant(
                    f"{name}-nodes-{index}-metric",
                    role=BuiltinRole.MONITORING_METRICS_PUBLISHER,
                    principal_id=args.identity_principal_id,
                    scope=one.id,
                    subscription_id=args.subscription_id,
                    parent=self,
                )
        self.register_outputs({"scale_set_names": self.scale_set_names})


def _profile(computer_name_prefix: str, args: NodesArgs) -> compute.VirtualMachineScaleSetVMProfileArgs:
    spot = args.capacity.kind == "spot"
    reservation = compute.SubResourceArgs(id=args.capacity.reservation_id) if args.capacity.reservation_id else None
    return compute.VirtualMachineScaleSetVMProfileArgs(
        priority=compute.VirtualMachinePriorityTypes.SPOT if spot else compute.VirtualMachinePriorityTypes.REGULAR,
        eviction_policy=compute.VirtualMachineEvictionPolicyTypes(args.capacity.spot_eviction_policy) if spot else None,
        # -1: pay up to the on-demand price, so that a node is evicted for capacity only.
        billing_profile=compute.BillingProfileArgs(max_price=-1) if spot else None,
        capacity_reservation=compute.CapacityReservationProfileArgs(capacity_reservation_group=reservation)
        if reservation
        else None,
        scheduled_events_profile=compute.ScheduledEventsProfileArgs(
            terminate_notification_profile=compute.TerminateNotificationProfileArgs(
                enable=True, not_before_timeout=_NOTICE
            )
        ),
        # No trusted launch: Microsoft's pages of the ND sizes do not list it.
        security_profile=compute.SecurityProfileArgs(encryption_at_host=True) if args.encryption_at_host else None,
        os_profile=compute.VirtualMachineScaleSetOSProfileArgs(
            computer_name_prefix=computer_name_prefix,
            admin_username=args.access.admin_username,
            custom_data=args.custom_data,
            linux_configuration=linux_configuration(args.access),
        ),
        storage_profile=compute.VirtualMachineScaleSetStorageProfileArgs(
            image_reference=compute.ImageReferenceArgs(
                publisher=args.node_type.image.publisher,
                offer=args.node_type.image.offer,
                sku=args.node_type.image.sku,
                version=args.node_type.image.version,
            ),
            os_disk=compute.VirtualMachineScaleSetOSDiskArgs(
                create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                caching=compute.CachingTypes.READ_ONLY,
                disk_size_gb=_DISK_GIB,
                managed_disk=compute.VirtualMachineScaleSetManagedDiskParametersArgs(
                    storage_account_type=compute.StorageAccountTypes.PREMIUM_LRS,
                    disk_encryption_set=compute.DiskEncryptionSetParametersArgs(id=args.disk_encryption_set_id),
                ),
            ),
        ),
        diagnostics_profile=compute.DiagnosticsProfileArgs(boot_diagnostics=compute.BootDiagnosticsArgs(enabled=True)),
        # One Ethernet interface. InfiniBand adapters are no network resource: Azure attaches them to machines of one
        # scale set by itself (Microsoft, "Set up InfiniBand on HPC virtual machines").
        network_profile=compute.VirtualMachineScaleSetNetworkProfileArgs(
            network_interface_configurations=[
                compute.VirtualMachineScaleSetNetworkConfigurationArgs(
                    name="ethernet",
                    primary=True,
                    # Listed as supported on the ND A100 v4, H100 v5, H200 v5 and MI300X v5 size pages.
                    enable_accelerated_networking=True,
                    enable_ip_forwarding=False,
                    ip_configurations=[
                        compute.VirtualMachineScaleSetIPConfigurationArgs(
                            name="private",
                            primary=True,
                            subnet=compute.ApiEntityReferenceArgs(id=args.subnet_id),
                        )
                    ],
                )
            ]
        ),
    )
