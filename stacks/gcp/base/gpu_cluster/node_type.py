"""The machine type of the compute nodes, the networks that it needs, and whether the two fit together."""

from dataclasses import dataclass

from gpu_cluster import limits
from gpu_cluster.config_values import Values

MACHINE_TYPE = r"[a-z][a-z0-9]*(-[a-z0-9]+)+"
GRES_TYPE = r"[a-z][a-z0-9_-]{0,30}"
MAX_NODES = 4096
#: The catalogue's word for traffic between GPUs over the one ordinary interface, which is no fabric of its own.
ORDINARY_NETWORK = "gvnic"
OWN_IMAGE = "projects/YOUR-PROJECT/global/images/YOUR-IMAGE"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeType:
    """The machine type of the compute nodes and the network pattern that it needs."""

    instance_type: str
    gpus_per_node: int
    gpu_type: str
    cpus: int
    memory_mib: int
    fabric: str
    image: str
    gpu_networks: int
    mtu_bytes: int
    rdma: bool
    rdma_subnets: int
    placement_max_nodes: int | None

    @property
    def fabric_interfaces(self) -> int:
        """Interfaces per node that carry traffic between GPUs."""
        return self.rdma_subnets if self.rdma else self.gpu_networks

    @property
    def further_nic_types(self) -> tuple[str, ...]:
        """Types of the interfaces beside the primary one, in the order of the machine."""
        return ("GVNIC",) * self.gpu_networks + ("MRDMA",) * (self.rdma_subnets if self.rdma else 0)

    @property
    def is_tpu(self) -> bool:
        """Whether the accelerators are TPUs, which come as slices and not as machines of a group."""
        return self.instance_type in limits.TPU_SLICES


def read_node_type(values: Values, *, with_image: bool) -> NodeType:
    """Read the section `nodeType`; the layer that makes the nodes needs their image too."""
    section = values.section("nodeType")
    fabric = section.choice("fabric", (*limits.FABRICS, ORDINARY_NETWORK))
    fabric = "none" if fabric == ORDINARY_NETWORK else fabric
    pattern = limits.FABRICS[fabric]
    nic_type = section.choice("nicType", ("GVNIC", "MRDMA"), default="GVNIC")
    node_type = NodeType(
        instance_type=section.text("instanceType", MACHINE_TYPE, "a machine type"),
        gpus_per_node=section.whole("gpusPerNode", 1, 64),
        gpu_type=section.text("gpuType", GRES_TYPE, "a Slurm GRES type like 'h100'"),
        cpus=section.whole("cpus", 1, 10_000),
        memory_mib=section.whole("memoryMib", 1, 1_000_000_000),
        fabric=fabric,
        # A missing image gets its message below, which says what kind of image the fabric needs.
        image=section.optional_text("image") or "",
        gpu_networks=section.whole("gpuNetworks", 0, 64, default=0),
        mtu_bytes=section.whole(
            "mtu", limits.MTU_MIN_BYTES, limits.MTU_MAX_BYTES, default=pattern.mtu_bytes or limits.MTU_MAX_BYTES
        ),
        rdma=section.flag("rdma", default=False),
        rdma_subnets=section.whole("rdmaSubnets", 0, 64, default=0),
        placement_max_nodes=section.optional_whole("placementMaxNodes", 1, MAX_NODES),
    )
    section.refuse_unknown()
    # What could not be read has its message already.
    if values.path == "" and not any(problem.startswith("nodeType") for problem in values.problems):
        _check_fabric(section, node_type, nic_type)
        if with_image and not node_type.is_tpu:
            _check_image(section, node_type)
    return node_type


def _check_fabric(section: Values, node_type: NodeType, nic_type: str) -> None:
    machine_type = node_type.instance_type
    if limits.family_of(machine_type) in limits.UNSUPPORTED_FAMILIES:
        section.fail("instanceType", f"{machine_type} needs NVLink-domain placement, which this program does not make")
        return
    expected = limits.FABRIC_OF_MACHINE_TYPE.get(machine_type, "none")
    if node_type.fabric != expected:
        section.fail("fabric", f"{machine_type} has the fabric {expected}, got {node_type.fabric}")
        return
    pattern = limits.FABRICS[expected]
    wanted = {
        "gpuNetworks": (pattern.extra_gvnic_networks, node_type.gpu_networks),
        "rdmaSubnets": (pattern.rdma_subnets, node_type.rdma_subnets),
        "rdma": (pattern.rdma_subnets > 0, node_type.rdma),
        "mtu": (pattern.mtu_bytes or node_type.mtu_bytes, node_type.mtu_bytes),
    }
    for key, (want, got) in wanted.items():
        if want != got:
            section.fail(key, f"{machine_type} needs {str(want).lower()}, got {str(got).lower()}")
    if nic_type == "MRDMA" and not pattern.rdma_subnets:
        section.fail("nicType", f"{machine_type} has no RDMA interfaces; use GVNIC")


def _check_image(section: Values, node_type: NodeType) -> None:
    if limits.FABRIC_OF_MACHINE_TYPE.get(node_type.instance_type) != "tcpx":
        if not node_type.image:
            wanted = "an image with the NVIDIA driver, on Ubuntu 24.04 or the like (README.md, Image)"
            section.fail("image", f"is required: {wanted}")
        return
    parts = node_type.image.removeprefix("https://www.googleapis.com/compute/v1/").split("/")
    project = parts[1] if parts[0] == "projects" and len(parts) > 1 else parts[0] if len(parts) > 1 else ""
    if not project or project in limits.PUBLIC_IMAGE_PROJECTS:
        section.fail(
            "image",
            "GPUDirect-TCPX needs a kernel that no public image has: build an image with it (README.md, Image), "
            f"and give it as {OWN_IMAGE}; got {node_type.image or 'nothing'}",
        )


def image_warnings(node_type: NodeType) -> list[str]:
    """What makes nodes differ although the configuration is the same."""
    if "/family/" not in node_type.image:
        return []
    return ["nodeType.image: an image family moves; name one image so that nodes made later are the same"]
