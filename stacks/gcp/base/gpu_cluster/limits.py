"""What Google's services accept, as tables with their sources. No cloud call is made here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class FabricPattern:
    """Network interfaces that one kind of GPU fabric needs on every node."""

    extra_gvnic_networks: int
    """VPC networks with a gVNIC besides the primary one."""
    mtu_bytes: int | None
    """Maximum transmission unit of every network, or None where any legal value will do."""
    rdma_subnets: int
    """Subnets of the RDMA network, one MRDMA interface each."""

    @property
    def fabric_interfaces(self) -> int:
        """Interfaces that carry traffic between GPUs."""
        return self.rdma_subnets or self.extra_gvnic_networks


# AI Hypercomputer guides "Create an AI-optimized MIG" for A3 High/Mega and for A4/A3 Ultra;
# GoogleCloudPlatform/cluster-toolkit @10470803 (2026-06-25), gke-node-pool gpu_direct.tf and gpu-rdma-vpc.
FABRICS: Final[Mapping[str, FabricPattern]] = MappingProxyType(
    {
        "none": FabricPattern(extra_gvnic_networks=0, mtu_bytes=None, rdma_subnets=0),
        "tcpx": FabricPattern(extra_gvnic_networks=4, mtu_bytes=8244, rdma_subnets=0),
        "tcpxo": FabricPattern(extra_gvnic_networks=8, mtu_bytes=8244, rdma_subnets=0),
        "roce": FabricPattern(extra_gvnic_networks=1, mtu_bytes=8896, rdma_subnets=8),
        # The chips of a TPU slice have a network of their own, outside any VPC.
        "ici": FabricPattern(extra_gvnic_networks=0, mtu_bytes=None, rdma_subnets=0),
    }
)
FABRIC_OF_MACHINE_TYPE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "a2-highgpu-8g": "none",
        "a2-megagpu-16g": "none",
        "a2-ultragpu-8g": "none",
        "a3-edgegpu-8g": "tcpx",
        "a3-highgpu-8g": "tcpx",
        "a3-megagpu-8g": "tcpxo",
        "a3-ultragpu-8g": "roce",
        "a3-ultragpu-8g-nolssd": "roce",
        "a4-highgpu-8g": "roce",
        "ct5p-hightpu-4t": "ici",
        "g2-standard-96": "none",
    }
)
# A4X is Arm, is placed by NVLink domain and its RDMA network has four subnets (or makes its own): another stack.
UNSUPPORTED_FAMILIES: Final = ("a4x",)

# Google Compute Engine: network MTU is 1300 to 8896 bytes (pulumi-gcp 10.2.0, compute.Network mtu).
MTU_MIN_BYTES: Final = 1300
MTU_MAX_BYTES: Final = 8896


# Compact placement policies: Google's "placement policy and workload policy" page; cluster-toolkit
# modules/compute/resource-policy @10470803: max_distance 1 to 3, and A3 does not support 1.
COMPACT_FAMILIES: Final = ("a2", "a3", "a4", "g2", "g4")
MAX_DISTANCE_MIN_A3: Final = 2
MAX_DISTANCE_MAX: Final = 3

# Flex-start: at most 7 days (compute.ResizeRequest requested_run_duration 604800 s); a managed instance group takes
# a workload policy on A3 Ultra and A4 only; cluster-toolkit docs/slurm-dws-flex.md caps an A3 request at 256 nodes.
FLEX_START_MAX_HOURS: Final = 168
FLEX_START_MAX_A3_NODES: Final = 256
FLEX_START_WORKLOAD_POLICY_TYPES: Final = ("a3-ultragpu-8g", "a3-ultragpu-8g-nolssd", "a4-highgpu-8g")
# The AI Hypercomputer guides for these types list reservation-bound, flex-start and spot, and no on-demand tab.
ON_DEMAND_NOT_LISTED_TYPES: Final = FLEX_START_WORKLOAD_POLICY_TYPES

# Provisioning model RESERVATION_BOUND: the AI Hypercomputer guides use it for A3 High to A4, whose reservations come
# from future or calendar requests; a reservation made at once keeps the standard model.
BOUND_RESERVATION_FAMILIES: Final = ("a3", "a4")

# A zonal managed instance group holds this many machines (Compute Engine reference, instanceGroupManagers).
GROUP_MAX_NODES: Final = 1000

# Families whose boot disk has to be Hyperdisk. A2 does not take Hyperdisk Balanced as boot disk [from memory].
HYPERDISK_FAMILIES: Final = ("a3", "a4", "c4", "c4a", "c4d", "n4")

# The ways to buy capacity, of which a cluster uses exactly one.
CAPACITIES: Final = ("on-demand", "spot", "reservation", "flex-start")

# Machine types that are hosts of TPU slices and are bought as a slice: see tpu_slices.py.
TPU_SLICES: Final = ("ct5p-hightpu-4t",)

# Projects in which Google or a distributor publishes images for everybody.
PUBLIC_IMAGE_PROJECTS: Final = frozenset(
    {
        "centos-cloud",
        "cos-cloud",
        "debian-cloud",
        "deeplearning-platform-release",
        "fedora-coreos-cloud",
        "ml-images",
        "rhel-cloud",
        "rocky-linux-accelerator-cloud",
        "rocky-linux-cloud",
        "suse-cloud",
        "ubuntu-os-accelerator-images",
        "ubuntu-os-cloud",
    }
)

# Identity-Aware Proxy forwards TCP from this range only (cloud.google.com/iap/docs/using-tcp-forwarding).
IAP_RANGE: Final = "35.235.240.0/20"
LUSTRE_PORT: Final = "988"
# Controller and login machine.
HEAD_MACHINES: Final = 2
# Google keeps the first two and the last two addresses of a subnet.
RESERVED_ADDRESSES_PER_SUBNET: Final = 4
# One metadata value holds at most 256 KiB (cloud.google.com/compute/docs/metadata).
METADATA_VALUE_MAX_BYTES: Final = 262_144


def family_of(machine_type: str) -> str:
    """Machine family of a machine type: the part before the first hyphen."""
    return machine_type.split("-", 1)[0]


def boot_disk_type_for(machine_type: str) -> str:
    """Boot disk type that a machine type accepts and that a person would choose."""
    return "hyperdisk-balanced" if family_of(machine_type) in HYPERDISK_FAMILIES else "pd-balanced"
