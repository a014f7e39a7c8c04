"""The GPU nodes: one instance template with every network interface, and zonal instance groups of equal machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute

from gpu_cluster import limits
from gpu_cluster.capacity import Capacity, has_compact_placement, has_workload_policy
from gpu_cluster.node_type import NodeType
from gpu_cluster.slurm.scheduling import reservation_affinity_for, scheduling_for
from gpu_cluster.slurm.user_data import metadata_with


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodesArgs:
    """What the nodes are made of."""

    cluster_name: str
    region: str
    zone: str
    node_count: int
    node_type: NodeType
    capacity: Capacity
    boot_disk_gb: int
    subnetwork_id: pulumi.Input[str]
    gpu_networks: pulumi.Output[Sequence[dict[str, str]]]
    account_email: pulumi.Input[str]
    key_id: pulumi.Input[str]
    user_data: pulumi.Output[str]
    labels: Mapping[str, str]


def group_sizes(node_count: int) -> tuple[int, ...]:
    """Nodes of each instance group: full ones first, so that a larger cluster only adds to the last or adds groups.

    >>> group_sizes(48), group_sizes(2048), group_sizes(0)
    ((48,), (1000, 1000, 48), (0,))
    """
    full, rest = divmod(node_count, limits.GROUP_MAX_NODES)
    return (*(limits.GROUP_MAX_NODES,) * full, *((rest,) if rest or not full else ()))


def interface_subnetworks(
    node_type: NodeType, subnetwork_id: pulumi.Input[str], gpu_networks: pulumi.Output[Sequence[dict[str, str]]]
) -> list[tuple[pulumi.Input[str], str]]:
    """Subnetwork and type of every interface, in the order of the machine: primary, gVNIC of the GPUs, RDMA.

    How many there are is known before anything is deployed, so that a plan shows them all.
    """
    kinds = node_type.further_nic_types

    def subnetwork(index: int) -> pulumi.Output[str]:
        return gpu_networks.apply(lambda networks: _subnetwork_of(networks, index, node_type))

    return [(subnetwork_id, "GVNIC"), *((subnetwork(index), kind) for index, kind in enumerate(kinds))]


def _subnetwork_of(networks: Sequence[Mapping[str, str]], index: int, node_type: NodeType) -> str:
    if len(networks) != len(node_type.further_nic_types):
        raise ValueError(
            f"nodeType: {node_type.instance_type} needs {len(node_type.further_nic_types)} networks beside the primary "
            f"one, and the foundation has {len(networks)}: give both layers the same nodeType"
        )
    return networks[index]["subnetwork"]


class GpuNodes(pulumi.ComponentResource):
    """Placement, template and instance groups; removing it leaves data, network and controller alone."""

    template: compute.InstanceTemplate
    groups: tuple[compute.InstanceGroupManager, ...]

    def __init__(self, name: str, args: GpuNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:GpuNodes", name, None, opts)
        self._args = args
        compact = self._compact_policy() if has_compact_placement(args.node_type, args.capacity) else None
        workload = self._workload_policy() if has_workload_policy(args.node_type, args.capacity) else None
        self.template = self._template(compact)
        self.groups = tuple(
            self._group(f"{args.cluster_name}-gpu" + (f"-{number}" if number > 1 else ""), size, workload)
            for number, size in enumerate(group_sizes(args.node_count), start=1)
        )
        self.register_outputs({"groups": [group.name for group in self.groups]})

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
        interfaces = interface_subnetworks(args.node_type, args.subnetwork_id, args.gpu_networks)
        return compute.InstanceTemplate(
            f"{args.cluster_name}-gpu",
            description=f"{args.node_type.instance_type} with {len(interfaces)} network interfaces",
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
                        kms_key_self_link=args.key_id
                    ),
                    labels=args.labels,
                )
            ],
            # The order is the machine's: primary network first, then the GPU networks. No public address anywhere.
            network_interfaces=[
                compute.InstanceTemplateNetworkInterfaceArgs(subnetwork=subnetwork, nic_type=nic_type)
                for subnetwork, nic_type in interfaces
            ],
            scheduling=scheduling_for(args.capacity),
            reservation_affinity=reservation_affinity_for(args.capacity),
            resource_policies=compact.self_link if compact else None,
            service_account=compute.InstanceTemplateServiceAccountArgs(
                email=args.account_email, scopes=["cloud-platform"]
            ),
            # No secure boot: fabric drivers built on the image (TCPXO, TCPX kernels) are not signed for it.
            shielded_instance_config=compute.InstanceTemplateShieldedInstanceConfigArgs(
                enable_secure_boot=False, enable_vtpm=True, enable_integrity_monitoring=True
            ),
            metadata=args.user_data.apply(metadata_with),
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _group(self, name: str, size: int, workload: compute.ResourcePolicy | None) -> compute.InstanceGroupManager:
        args = self._args
        is_flex_start = args.capacity.model == "flex-start"
        group = compute.InstanceGroupManager(
            name,
            zone=args.zone,
            base_instance_name=name,
            versions=[compute.InstanceGroupManagerVersionArgs(instance_template=self.template.self_link_unique)],
            # Flex-start machines come with the resize request, which then moves the target.
            target_size=0 if is_flex_start else size,
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
        if is_flex_start and size:
            # All nodes or none: a job cannot start on half of them.
            compute.ResizeRequest(
                f"{name}-{size}",
                instance_group_manager=group.name,
                zone=args.zone,
                resize_by=size,
                opts=pulumi.ResourceOptions(parent=self),
            )
        return group
