"""The network between the nodes as a job meets it: its kind, the hosts of a node, and which adapters belong to it."""

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.outputs.launch.fabric import settings_for
from clusterwright.plan.record import Option

#: Which adapters NCCL uses; where no row of a system names them, the job looks for them by rate and number.
ADAPTERS = "NCCL_IB_HCA"
_BYTES_PER_S_OF_GBIT = 1e9 / 8


def fabric_of(option: Option, catalogue: Catalogue) -> str:
    """Return the kind of network between the nodes, `none` where there is none beside Ethernet."""
    if option.design.facility is not None:
        return "roce" if option.design.facility.inventory.compute_network == ETHERNET else "infiniband"
    return catalogue.instances[option.cluster.instance].fabric_kind


def hosts_per_node(option: Option) -> int:
    """Return how many hosts one node of a plan is: the compute trays of a system that is a whole rack, else 1."""
    return 1 if option.design.facility is None else option.design.facility.inventory.hosts_per_node


def adapters_text(option: Option, catalogue: Catalogue) -> str:
    """Return how a job on premises knows the adapters of the compute fabric from those of storage."""
    rows = settings_for(fabric=fabric_of(option, catalogue), target=option.target, instance=option.cluster.instance)
    for row in rows:
        if row.name == ADAPTERS:
            return f"Jobs use `{row.name}={row.value}`: {row.why} ({row.source})."
    found = adapters(option, catalogue)
    if found is None:
        return "The ports of this system are unknown: set `NCCL_IB_HCA` in the environment of `sbatch`."
    return (
        f"No document names this system's adapters here: when a job starts, each node looks for {found['count']} "
        f"active {found['link_layer']} ports of {found['rate_gb_per_s']} Gb/s, and stops with their names if it finds "
        "another number. Then set `NCCL_IB_HCA` in the environment of `sbatch`, for example `=mlx5_0,mlx5_1`."
    )


def adapters(option: Option, catalogue: Catalogue) -> dict[str, str | int] | None:
    """Return by what a node's adapters of the compute fabric are recognised; None where a cloud has no others."""
    design = option.design
    if design.facility is None:
        return None
    system = catalogue.systems[design.facility.system]
    ports, per_gpu = system.fabric_ports, system.fabric_bytes_per_s_per_gpu_one_way
    if not ports or per_gpu is None:
        return None
    return {
        "link_layer": "Ethernet" if design.facility.inventory.compute_network == ETHERNET else "InfiniBand",
        "rate_gb_per_s": round(per_gpu * system.gpus / ports / _BYTES_PER_S_OF_GBIT),
        "count": ports // hosts_per_node(option),
    }
