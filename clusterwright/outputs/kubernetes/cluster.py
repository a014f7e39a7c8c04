"""What Kubernetes files are made from: names of resources by vendor, places of nodes, charts with their versions."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterwright import assets
from clusterwright.catalog.records import System
from clusterwright.catalog.software.node import Software
from clusterwright.catalog.software.table import software as software_table
from clusterwright.errors import MissingFactError
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.inventory import Inventory
from clusterwright.plan.tenants import Tenant

NAMESPACE = "workload"
QUEUE = "gpu"
UNIT_LABEL = "topology.gpu-cluster/unit"
RACK_LABEL = "topology.gpu-cluster/rack"
RAIL_RESOURCE = "nvidia.com/rail"
#: Under which name each vendor's device plugin offers accelerators to pods.
GPU_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "habana.ai/gaudi"}
#: A way to share GPUs that has a chart of its own.
_BY_CHART = "hami"
#: Share of a node's processors and memory that jobs may ask for; the rest is for daemons. An assumption.
JOB_SHARE = 0.9


def slice_resource(profile: str) -> str:
    """Return under which name NVIDIA's device plugin offers instances of a profile, with the strategy `mixed`.

    >>> slice_resource("1g.10gb+me")
    'nvidia.com/mig-1g.10gb.me'
    """
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """One Helm chart in one version, with the file of its values; empty where it needs none."""

    vendor: str
    chart: str
    version: str
    repository: str
    namespace: str
    values: str
    source: str

    @property
    def command(self) -> str:
        """The command that installs it."""
        oci = self.repository.startswith("oci://")
        what = self.repository if oci else f"{self.chart} --repo {self.repository}"
        values = f" -f {self.values}" if self.values else ""
        return (
            f"helm upgrade --install {self.chart} {what} --version {self.version} --namespace {self.namespace} "
            f"--create-namespace{values}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedNode:
    """A node with its scalable unit and its rack."""

    name: str
    unit: str
    rack: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesCluster:
    """A cluster on premises as Kubernetes sees it.

    Attributes:
        system: of the nodes; vendor: of their accelerators; gpu_resource: what pods ask for.
        nodes: hosts with their places, compute trays where a system is a whole rack; gpus_per_node, rails: of one host.
        cpus, memory_gib: of one host that jobs may ask for.
        infiniband, mellanox: kind of the compute ports; routed: each leaf has a network of its own, on Ethernet without
            planes; rack_scale: a system is a whole rack.
        storage_bytes: capacity that the shared claim names; posix: files can be mounted.
        software: releases on the nodes; the newest offered of each if None.
        tenants: who shares it; empty where one queue has it all.
    """

    system: System
    vendor: str
    gpu_resource: str
    nodes: tuple[PlacedNode, ...]
    gpus_per_node: int
    rails: int
    cpus: int
    memory_gib: int
    infiniband: bool
    mellanox: bool
    rack_scale: bool
    storage_bytes: float
    posix: bool
    routed: bool = False
    software: Software | None = None
    tenants: tuple[Tenant, ...] = ()

    @property
    def divided_nodes(self) -> int:
        """Nodes with slices of GPUs, the last ones."""
        return 0 if self.software is None or not self.operators else self.software.divided_of(len(self.nodes))

    @property
    def divided(self) -> frozenset[str]:
        """Their names."""
        return frozenset(node.name for node in self.nodes[len(self.nodes) - self.divided_nodes :])

    @property
    def shared_nodes(self) -> int:
        """Nodes with GPUs that pods share, the last ones."""
        return 0 if self.software is None or not self.operators else self.software.shared_of(len(self.nodes))

    @property
    def shared(self) -> frozenset[str]:
        """Their names."""
        return frozenset(node.name for node in self.nodes[len(self.nodes) - self.shared_nodes :])

    @property
    def whole_gpus(self) -> int:
        """GPUs of the cluster that are neither divided nor shared."""
        each = 0 if self.software is None else self.software.divided_gpus
        others = self.divided_nodes * each + self.shared_nodes * self.gpus_per_node
        return len(self.nodes) * self.gpus_per_node - others

    @property
    def parts(self) -> dict[str, int]:
        """Parts of shared GPUs by the resource that a pod asks for; HAMi and virtual machines have no such one."""
        if self.software is None or not self.shared_nodes or self.software.sharing not in {"mps", "time-slicing"}:
            return {}
        return {f"{self.gpu_resource}.shared": self.shared_nodes * self.gpus_per_node * self.software.shared_parts}

    @property
    def slices(self) -> dict[str, int]:
        """Instances of the cluster by the resource that a pod asks for, `nvidia.com/mig-3g.40gb`."""
        if self.software is None or not self.divided_nodes:
            return {}
        return {
            slice_resource(profile): count * self.divided_nodes for profile, count in self.software.instances.items()
        }

    @property
    def operators(self) -> bool:
        """Whether NVIDIA's two operators run here."""
        return self.vendor == "NVIDIA"

    @property
    def rail_resources(self) -> dict[str, int]:
        """Compute ports of a node by what a pod asks for: a resource of its own for each that has its own network."""
        if not self.hands_out_rails:
            return {}
        if not self.routed:
            return {RAIL_RESOURCE: self.rails}
        return {f"{RAIL_RESOURCE}-{rail}": 1 for rail in range(1, self.rails + 1)}

    @property
    def hands_out_rails(self) -> bool:
        """Whether pods get compute ports as a resource."""
        return self.operators and self.mellanox and self.rails > 0


def cluster_of(
    inventory: Inventory, standing: Sequence[Rack], system: System, *, vendor: str, software: Software | None = None
) -> KubernetesCluster:
    """Return the cluster of an inventory.

    Args:
        inventory: nodes, units and storage.
        standing: racks, for the labels.
        system: of the nodes.
        vendor: of their accelerators.
        software: releases on the nodes.

    Raises:
        MissingFactError: the system's processors or memory are unknown, or pods cannot ask for the accelerators.
    """
    hosts = inventory.hosts_per_node
    threads = (system.cpu_sockets or 0) * (system.cpu_cores_per_socket or 0) * (system.cpu_threads_per_core or 1)
    if not threads or system.memory_bytes is None:
        raise MissingFactError(
            f"the processors or the memory of {system.name} are unknown, so quotas cannot be set",
            help="add them to catalog/systems.csv with their source",
        )
    if vendor not in GPU_RESOURCES:
        raise MissingFactError(
            f"how pods ask for accelerators of {vendor} is unknown", help="set targets.onprem.scheduler to slurm"
        )
    return KubernetesCluster(
        system=system,
        vendor=vendor,
        gpu_resource=GPU_RESOURCES[vendor],
        nodes=tuple(_placed(inventory, standing)),
        gpus_per_node=system.gpus // hosts,
        rails=(system.fabric_ports or 0) // hosts,
        cpus=int(threads / hosts * JOB_SHARE),
        memory_gib=int(system.memory_bytes / hosts * JOB_SHARE / 2**30),
        infiniband=inventory.compute_network == "infiniband",
        mellanox=inventory.compute_network == "infiniband" or system.vendor == "NVIDIA",
        routed=inventory.compute_network != "infiniband" and inventory.planes == 1,
        rack_scale=hosts > 1,
        storage_bytes=inventory.storage.usable_bytes or inventory.storage.capacity_bytes,
        posix=inventory.storage.kind != "object",
        software=software,
    )


def _placed(inventory: Inventory, standing: Iterable[Rack]) -> Iterable[PlacedNode]:
    racks = {placed.device.name: rack.name for rack in standing for placed in rack.placements}
    for unit, hosts in inventory.node_groups():
        for host in hosts:
            yield PlacedNode(name=host, unit=unit, rack=racks[host].lower())


def charts(vendor: str, software: Software | None = None) -> tuple[Chart, ...]:
    """Return the charts for accelerators of a vendor, in the order of installation.

    Args:
        vendor: of the accelerators.
        software: releases on the nodes; the newest offered of each by default.
    """
    path = assets.root() / "templates" / "kubernetes" / "charts.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["vendor"] in (vendor, "any")]
    if software is None or software.sharing != _BY_CHART:
        rows = [row for row in rows if row["chart"] != _BY_CHART]
    return tuple(
        Chart(version=row.pop("tag").format(version=release_of(row.pop("component"), software)), **row) for row in rows
    )


def release_of(component: str, software: Software | None) -> str:
    """Return the release of a component on the nodes, or the newest offered."""
    chosen = None if software is None else software.version(component)
    return chosen or software_table().newest(component)
