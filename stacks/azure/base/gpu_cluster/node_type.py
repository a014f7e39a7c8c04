"""What one GPU node is, how nodes are spread over scale sets, and what its size forbids."""

from dataclasses import dataclass

from gpu_cluster.config_values import Values
from gpu_cluster.images import NO_IMAGE, Image, check_image, image, is_arm, size

# Microsoft, "Set up InfiniBand on HPC virtual machines", 2026-09-25: 100 virtual machines by default, 300 on request.
DEFAULT_NODES_PER_SCALE_SET = 100
MOST_NODES_PER_SCALE_SET = 300
# 18 machines of 4 GPUs are one NVLink domain and one rack (Microsoft, ND GB200 v6).
NVLINK_DOMAIN_NODES = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """What one GPU node is."""

    instance_type: str
    gpus_per_node: int
    gpu_type: str
    fabric: str
    fabric_interfaces: int
    max_nodes_per_scale_set: int
    image: Image


def node_type(values: Values, *, with_image: bool = True) -> NodeType:
    """Read the section `nodeType`; managed Kubernetes has images of its own, and the record's stays empty."""
    fields = values.section("nodeType")
    fabric = fields.choice("fabric", ("infiniband", "none"))
    gpus_per_node = fields.whole("gpusPerNode", 1, 16)
    fields.refuse_unknown(
        ("instanceType", "gpuType", "cpus", "memoryMib", "fabricInterfaces", "maxNodesPerScaleSet", "image")
    )
    told = len(fields.problems)
    most = fields.whole("maxNodesPerScaleSet", 1, MOST_NODES_PER_SCALE_SET, DEFAULT_NODES_PER_SCALE_SET)
    found = NodeType(
        instance_type=size(fields, "instanceType"),
        gpus_per_node=gpus_per_node,
        gpu_type=fields.text("gpuType", r"[a-z][a-z0-9_]*", "a Slurm GPU type such as h100"),
        fabric=fabric,
        # Every ND size with InfiniBand has one adapter for each GPU (Microsoft, ND size series pages).
        fabric_interfaces=fields.whole("fabricInterfaces", 0, 16, gpus_per_node) if fabric == "infiniband" else 0,
        # A limit that cannot be read is one problem, and not a second one about the number of nodes.
        max_nodes_per_scale_set=most if len(fields.problems) == told else MOST_NODES_PER_SCALE_SET,
        image=image(fields, "image") if with_image else NO_IMAGE,
    )
    if with_image:
        check_image(fields, "image", found.image, found.instance_type)
    return found


def even_split(nodes: int, most: int, multiple: int = 1) -> tuple[int, ...]:
    """Split `nodes` over as few sets of at most `most` as possible, as evenly as whole `multiple`s allow.

    >>> even_split(101, 100)
    (51, 50)
    >>> even_split(0, 100)
    (0,)
    >>> even_split(108, 100, multiple=18)
    (54, 54)
    """
    if nodes <= most:
        return (nodes,)
    units, most_units = nodes // multiple, most // multiple
    sets = max(1, -(-units // most_units))
    return tuple(multiple * (units // sets + (1 if index < units % sets else 0)) for index in range(sets))


def scale_set_sizes(nodes: int, kind: NodeType) -> tuple[int, ...]:
    """Return the nodes of each scale set. One scale set is one InfiniBand domain; a rack of GB200 is never divided."""
    rack = NVLINK_DOMAIN_NODES if is_arm(kind.instance_type) else 1
    most = kind.max_nodes_per_scale_set
    return even_split(nodes, most, rack if most >= rack and nodes % rack == 0 else 1)


def check_count(values: Values, nodes: int, kind: NodeType, *, allow_split_fabric: bool) -> None:
    """Refuse a number of nodes that the fabric cannot join, or that is no number of whole racks."""
    most = kind.max_nodes_per_scale_set
    if nodes > most and kind.fabric == "infiniband" and not allow_split_fabric:
        values.fail(
            "nodeCount",
            f"{nodes} nodes need {len(scale_set_sizes(nodes, kind))} scale sets of at most {most}, and "
            "InfiniBand does not reach from one scale set to another, so no job could use all nodes. Ask Azure support "
            f"for larger scale sets (up to {MOST_NODES_PER_SCALE_SET}) and raise nodeType.maxNodesPerScaleSet, take "
            "fewer nodes, or set allowSplitFabric: true if every job fits into one scale set",
        )
    if is_arm(kind.instance_type) and nodes > NVLINK_DOMAIN_NODES and nodes % NVLINK_DOMAIN_NODES:
        lower = nodes // NVLINK_DOMAIN_NODES * NVLINK_DOMAIN_NODES
        values.fail(
            "nodeCount",
            f"{nodes} is not a number of whole racks: an NVLink domain has {NVLINK_DOMAIN_NODES} machines; "
            f"write {lower} or {lower + NVLINK_DOMAIN_NODES}",
        )
