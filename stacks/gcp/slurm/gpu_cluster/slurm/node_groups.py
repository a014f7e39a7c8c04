"""The GPU nodes: one instance template with every network interface, and a zonal instance group of equal machines."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute, serviceaccount

import limits
from network import NodeInterface
from settings import Capacity, NodeType

RESERVATION_NAME_KEY = "compute.googleapis.com/reservation-name"


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodesArgs:
    """What the nodes are made of."""

    cluster_name: str
    region: str
    zone: str
    node_count: int
    node_type: NodeType
    capacity: Capacity
    compact_placement: bool
    workload_policy: bool
    boot_disk_gb: int
    interfaces: Sequence[NodeInterface]
    account: serviceaccount.Account
    disk_key: pulumi.Output[str]
    disk_encryption: pulumi.Resource
    user_data: pulumi.Output[str]
    labels: dict[str, str]


class GpuNodes(pulumi.ComponentResource):
    """Placement, template and instance group; removing it leaves data, network and controller alone."""

    template: compute.InstanceTemplate
    group: compute.InstanceGroupManager

    def __init__(self, name: str, args: GpuNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:GpuNodes", name, None, opts)
        self._args = args
        compact = self._compact_policy() if args.compact_placement else None
        workload = self._workload_policy() if args.workload_policy else None
        self.template = self._template(compact)
        self.group = self._group(workload)
        if args.capacity.model == "flex-start" and args.node_count:
            # All nodes or none: a training job cannot start on half of them.
            compute.ResizeRequest(
                f"{args.cluster_name}-gpu-{args.node_count}",
                instance_group_manager=self.group.name,
                zone=args.zone,
                resize_by=args.node_count,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"group": self.group.name})

    def _compact_policy(self) -> compute.ResourcePolicy:
        args = self._args
        return compute.ResourcePolicy(
            f"{args.cluster_name}-compact",
            region=args.region,
            # No vm_count: with it the policy works for exactly that number of machines, and none could be replaced.
            group_placement_policy=compute.ResourcePolicyGroupPlacementPolicyArgs(
                collocation="COLLOCATED", max_distance=args.capacity.placement_max_distance
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _workload_policy(self) -> compute.ResourcePolicy:
        args = self._args
        return compute.ResourcePolicy(
            f"{args.cluster_name}-workload",
            region=args.region,
            workload_policy=compute.ResourcePolicyWorkloadPolicyArgs(type="HIGH_THROUGHPUT"),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _template(self, compact: compute.ResourcePolicy | None) -> compute.InstanceTemplate:
        args = self._args
        return compute.InstanceTemplate(
            f"{args.cluster_name}-gpu",
            description=f"{args.node_type.instance_type} with {len(args.interfaces)} network interfaces",
            region=args.region,
            machine_type=args.node_type.instance_type,
            # GPUs and local disks belong to the machine type and are not listed here.
            disks=[
                compute.InstanceTemplateDiskArgs(
                    boot=True,
                    auto_delete=True,
                    type="PERSISTENT",
                    source_image=args.node_type.image,
                    disk_type=limits.boot_disk_type_for(args.node_type.instance_type),
                    disk_size_gb=args.boot_disk_gb,
                    disk_encryption_key=compute.InstanceTemplateDiskDiskEncryptionKeyArgs(
                        kms_key_self_link=args.disk_key
                    ),
                    labels=args.labels,
                )
            ],
            # The order is the machine's: primary network first, then the GPU networks. No public address anywhere.
            network_interfaces=[
                compute.InstanceTemplateNetworkInterfaceArgs(
                    network=interface.network, subnetwork=interface.subnetwork, nic_type=interface.nic_type
                )
                for interface in args.interfaces
            ],
            scheduling=scheduling_for(args.capacity),
            reservation_affinity=reservation_affinity_for(args.capacity),
            resource_policies=compact.self_link if compact else None,
            service_account=compute.InstanceTemplateServiceAccountArgs(
                email=args.account.email, scopes=["cloud-platform"]
            ),
            # No secure boot: fabric drivers built on the image (TCPXO, TCPX kernels) are not signed for it.
            shielded_instance_config=compute.InstanceTemplateShieldedInstanceConfigArgs(
                enable_secure_boot=False, enable_vtpm=True, enable_integrity_monitoring=True
            ),
            metadata={
                "enable-oslogin": "TRUE",
                "block-project-ssh-keys": "TRUE",
                "serial-port-enable": "FALSE",
                "user-data": args.user_data,
            },
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.disk_encryption]),
        )

    def _group(self, workload: compute.ResourcePolicy | None) -> compute.InstanceGroupManager:
        args = self._args
        is_flex_start = args.capacity.model == "flex-start"
        return compute.InstanceGroupManager(
            f"{args.cluster_name}-gpu",
            zone=args.zone,
            base_instance_name=f"{args.cluster_name}-gpu",
            versions=[compute.InstanceGroupManagerVersionArgs(instance_template=self.template.self_link_unique)],
            # Flex-start machines come with the resize request, which then moves the target.
            target_size=0 if is_flex_start else args.node_count,
            # A new template must not stop running jobs: nodes take it when they are replaced.
            update_policy=compute.InstanceGroupManagerUpdatePolicyArgs(
                type="OPPORTUNISTIC",
                minimal_action="REPLACE",
                replacement_method="SUBSTITUTE",
                max_surge_fixed=0,
                max_unavailable_fixed=1,
            ),
            instance_lifecycle_policy=compute.InstanceGroupManagerInstanceLifecyclePolicyArgs(
                default_action_on_failure="DO_NOTHING" if is_flex_start else "REPAIR"
            ),
            # A stopped GPU machine gives its capacity back, so a pool of stopped ones would promise too much.
            standby_policy=compute.InstanceGroupManagerStandbyPolicyArgs(mode="MANUAL"),
            resource_policies=compute.InstanceGroupManagerResourcePoliciesArgs(workload_policy=workload.self_link)
            if workload
            else None,
            # GPU capacity can take hours to come; `pulumi up` does not wait for it.
            wait_for_instances=False,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["targetSize"] if is_flex_start else None),
        )


def scheduling_for(capacity: Capacity) -> compute.InstanceTemplateSchedulingArgs:
    """Scheduling of a way to buy capacity. GPU machines cannot move, so maintenance always ends them."""
    if capacity.model == "spot":
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="SPOT",
            preemptible=True,
            automatic_restart=False,
            instance_termination_action="DELETE",
            on_host_maintenance="TERMINATE",
        )
    if capacity.model == "flex-start":
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="FLEX_START",
            automatic_restart=False,
            instance_termination_action="DELETE",
            max_run_duration=compute.InstanceTemplateSchedulingMaxRunDurationArgs(
                seconds=capacity.flex_start_run_s or 0
            ),
            on_host_maintenance="TERMINATE",
        )
    if capacity.model == "reservation" and capacity.reservation_bound:
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="RESERVATION_BOUND",
            automatic_restart=True,
            instance_termination_action="DELETE",
            on_host_maintenance="TERMINATE",
        )
    return compute.InstanceTemplateSchedulingArgs(
        provisioning_model="STANDARD", automatic_restart=True, on_host_maintenance="TERMINATE"
    )


def reservation_affinity_for(capacity: Capacity) -> compute.InstanceTemplateReservationAffinityArgs:
    """Take the named reservation or none: an open one would bring a placement that fights the compact policy."""
    if capacity.reservation_id is None:
        return compute.InstanceTemplateReservationAffinityArgs(type="NO_RESERVATION")
    return compute.InstanceTemplateReservationAffinityArgs(
        type="SPECIFIC_RESERVATION",
        specific_reservation=compute.InstanceTemplateReservationAffinitySpecificReservationArgs(
            key=RESERVATION_NAME_KEY, values=[capacity.reservation_id]
        ),
    )
