"""Slurm's files for a cluster on premises: slurm.conf, gres.conf, topology.conf, cgroup.conf, and slurmdbd.conf."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from clusterwright.blueprint import names
from clusterwright.catalog.software.accelerators import DeviceFiles
from clusterwright.catalog.software.node import slice_partition
from clusterwright.facility.fabric.hop_groups import HopGroup
from clusterwright.outputs.onprem.slurm.releases import BLOCK, Features, block_sizes, features
from clusterwright.outputs.onprem.slurm.tenants import Account, partition_lines
from clusterwright.outputs.templates import render

#: In the order in which an operator reads them.
FILES = ("slurm.conf", "gres.conf", "topology.conf", "cgroup.conf")
#: Written where accounting is kept. The password of its database is in another file, which is in no folder of ours.
ACCOUNTING_FILE = "slurmdbd.conf"

#: Written beside them: what a job has of its own.
JOB_FOLDERS_FILE = "job_container.conf"
#: Where every machine has the scripts of `node/`.
SCRIPTS = "/opt/gpu-cluster"

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_GRES_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,30}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TopologySwitch:
    """One line of topology.conf.

    Attributes:
        name: of the entry.
        nodes, switches: below it, one of the two; nodes are numbers from 1.
        hops: switches of the fabric between two nodes of it on one rail, at most.
    """

    name: str
    nodes: tuple[int, ...] = ()
    switches: tuple[str, ...] = ()
    hops: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class DividedNodes:
    """Nodes all of whose GPUs are divided by MIG: the last of the cluster.

    Attributes:
        nodes: of them.
        instances: of a node, by profile of nvidia-smi.
        shares: of a GPU that an instance is billed with, by profile.
    """

    nodes: int
    instances: tuple[tuple[str, int], ...]
    shares: tuple[tuple[str, float], ...]

    @property
    def gres(self) -> str:
        """What a node offers, for slurm.conf."""
        return ",".join(f"gpu:{profile}:{count}" for profile, count in self.instances)

    @property
    def weights(self) -> str:
        """What an instance counts for, in whole GPUs."""
        return ",".join(f"GRES/gpu:{profile}={share:.4g}" for profile, share in self.shares)


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedNodes:
    """Nodes whose GPUs several jobs use at a time: the last of the cluster.

    Attributes:
        nodes: of them.
        kind: what a job asks for, `mps` (per cent of a GPU) or `shard` (turns of a GPU).
        parts: jobs on one GPU at most.
    """

    nodes: int
    kind: str
    parts: int

    def count(self, gpus: int) -> int:
        """Return how much of it a node has: 100 of a GPU by MPS, a part each otherwise."""
        return gpus * (100 if self.kind == "mps" else self.parts)

    @property
    def least(self) -> int:
        """What one part of a GPU is."""
        return 100 // self.parts if self.kind == "mps" else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SlurmCluster:
    """What Slurm has to know of a cluster on premises.

    Attributes:
        cluster_name, partition, controller_host: names; `host_prefix` plus a number is a node's host name.
        node_count: compute nodes, numbered from 1.
        sockets, cores_per_socket, threads_per_core: of one node; together they give its CPUs.
        memory_mib: of one node that jobs may use. Slurm drains a node that reports less, so this has to be below what
            the operating system shows.
        gpus_per_node, gres_type: GPUs of one node and their Slurm type, for example `h100`.
        devices: device files of the GPUs; gres_flags: of gres.conf, None for none.
        topology: leaf entries first, then what is above them; every node in exactly one leaf entry.
        accounting_host: host of slurmdbd, None for no accounting.
        backup_host: second controller, which takes over when the first is gone; None for none.
        state_folder: of the queue; on a file system that both controllers mount where there are two.
        divided: nodes with slices of GPUs, None for none.
        shared: nodes whose GPUs jobs share, None for none; not beside `divided`.
        accounts: of tenants; empty where all users share the cluster alike.
        domain_nodes: nodes of one NVLink domain, where a system is a whole rack; 1 where each is one.
        version: of Slurm; None where it is not known.
    """

    cluster_name: str
    controller_host: str
    host_prefix: str
    node_count: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gpus_per_node: int
    gres_type: str
    devices: DeviceFiles
    partition: str
    topology: tuple[TopologySwitch, ...]
    accounting_host: str | None = None
    backup_host: str | None = None
    state_folder: str = "/var/lib/slurm/slurmctld"
    divided: DividedNodes | None = None
    shared: SharedNodes | None = None
    accounts: tuple[Account, ...] = ()
    domain_nodes: int = 1
    version: str | None = None
    gres_flags: str | None = None

    def __post_init__(self) -> None:
        """Refuse what Slurm would refuse, or worse, only warn of in its log.

        Raises:
            ValueError: a name that could break a file, a count that is not positive, or a topology that is not one
                tree over all nodes.
        """
        names.cluster_name(self.cluster_name)
        names.partition_name(self.partition)
        names.host_prefix(self.host_prefix)
        for host in (
            self.controller_host,
            *(host for host in (self.accounting_host, self.backup_host) if host is not None),
        ):
            if _HOST.fullmatch(host) is None:
                raise ValueError(f"{host!r} is not a host name")
        if _GRES_TYPE.fullmatch(self.gres_type) is None:
            raise ValueError(f"{self.gres_type!r} is not a Slurm gres type")
        for count in ("node_count", "sockets", "cores_per_socket", "threads_per_core", "memory_mib", "gpus_per_node"):
            if getattr(self, count) < 1:
                raise ValueError(f"{count} is {getattr(self, count)}; it has to be 1 or more")
        _check_topology(self.topology, self.node_count)
        if self.divided is not None and not 1 <= self.divided.nodes <= self.node_count:
            raise ValueError(f"{self.divided.nodes} of {self.node_count} nodes are divided; it has to be 1 to all")

    @property
    def whole_nodes(self) -> int:
        """Nodes whose GPUs are whole: the first of the cluster."""
        others = (0 if self.divided is None else self.divided.nodes) + (0 if self.shared is None else self.shared.nodes)
        return self.node_count - others

    @property
    def slice_partition(self) -> str:
        """The partition of divided nodes: one of their own where others are whole."""
        return slice_partition(self.partition) if self.whole_nodes else self.partition

    @property
    def features(self) -> Features:
        """What its release of Slurm takes."""
        return features(self.version, rack_scale=self.domain_nodes > 1)

    @property
    def domains(self) -> tuple[tuple[int, ...], ...]:
        """Nodes of each NVLink domain that is a rack, numbered from 1; empty where each node is one."""
        if self.domain_nodes == 1:
            return ()
        starts = range(1, self.node_count + 1, self.domain_nodes)
        return tuple(tuple(range(start, start + self.domain_nodes)) for start in starts)

    @property
    def counted_gpus(self) -> int:
        """GPUs as Slurm counts them: whole ones, and each slice of a divided one."""
        slices = 0 if self.divided is None else self.divided.nodes * sum(count for _, count in self.divided.instances)
        shared = 0 if self.shared is None else self.shared.nodes
        return (self.whole_nodes + shared) * self.gpus_per_node + slices

    @property
    def cpus(self) -> int:
        """Hardware threads of one node, which Slurm calls CPUs: sockets x cores per socket x threads per core."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def digits(self) -> int:
        """Digits of a node's number: at least three, so that names stay sorted when the cluster grows."""
        return max(3, len(str(self.node_count)))


def _check_topology(topology: tuple[TopologySwitch, ...], node_count: int) -> None:
    switch_names = [switch.name for switch in topology]
    for name in switch_names:
        names.cluster_name(name)
    if len(set(switch_names)) != len(switch_names):
        raise ValueError("two switches of the topology have the same name")
    for switch in topology:
        if bool(switch.nodes) == bool(switch.switches):
            raise ValueError(f"switch {switch.name} needs either nodes or switches below it")
    nodes = sorted(node for switch in topology for node in switch.nodes)
    if nodes != list(range(1, node_count + 1)):
        raise ValueError(f"the topology has to hold each of the {node_count} nodes exactly once")
    children = [child for switch in topology for child in switch.switches]
    roots = set(switch_names) - set(children)
    if len(children) != len(set(children)) or set(children) - set(switch_names) or len(roots) != 1:
        raise ValueError("the topology has to be one tree: one switch at the top, every other below exactly one")


def host_list(prefix: str, numbers: Iterable[int], *, digits: int) -> str:
    """Return Slurm's short form of numbered names.

    >>> host_list("dgx", [1, 2, 3, 7], digits=3)
    'dgx[001-003,007]'
    >>> host_list("dgx", [4], digits=3)
    'dgx004'
    >>> host_list("su", [1, 2], digits=1)
    'su[1-2]'

    Args:
        prefix: of every name.
        numbers: at least one, in any order.
        digits: of each number, filled with zeros.
    """
    ordered = sorted(numbers)
    breaks = [index for index, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1]
    runs = [ordered[start:end] for start, end in pairwise([0, *breaks, len(ordered)])]
    spans = [f"{run[0]:0{digits}d}" + (f"-{run[-1]:0{digits}d}" if len(run) > 1 else "") for run in runs]
    if len(ordered) == 1:
        return f"{prefix}{spans[0]}"
    return f"{prefix}[{','.join(spans)}]"


def gpu_groups(devices: DeviceFiles, *, gpus: int, sockets: int, cores_per_socket: int) -> tuple[dict[str, str], ...]:
    """Return which device files go with which core numbers: GPUs in order, in equal shares per socket.

    Worked example: a DGX H100 (8 GPUs, 2 x 56 cores) has GPUs 0-3 on cores 0-55 and 4-7 on cores 56-111 (NVIDIA DGX
    H100 user guide, system topology). With GPUs that the sockets cannot share evenly, all of them may use all cores.

    Args:
        devices: of the node.
        gpus: of one node.
        sockets: CPU sockets of one node.
        cores_per_socket: cores, not hardware threads.
    """
    shares = sockets if gpus % sockets == 0 else 1
    gpus_per_share, cores_per_share = gpus // shares, sockets * cores_per_socket // shares

    def span(first: int, count: int) -> str:
        return f"{first}-{first + count - 1}" if count > 1 else f"{first}"

    return tuple(
        {
            "files": devices.files(share * gpus_per_share, gpus_per_share),
            "cores": span(share * cores_per_share, cores_per_share),
        }
        for share in range(shares)
    )


def topology_of(groups: Iterable[HopGroup]) -> tuple[TopologySwitch, ...]:
    """Return an entry for each group of nodes by the switches between them; an entry is no switch that exists.

    In a rail-optimised fabric a node has a port on every leaf of its unit, so for Slurm the unit is the leaf switch.

    Args:
        groups: of a fabric, leaves first.
    """
    return tuple(
        TopologySwitch(
            name=group.name,
            nodes=tuple(node + 1 for node in group.nodes),
            switches=group.members,
            hops=group.switches,
        )
        for group in groups
    )


def slurm_texts(cluster: SlurmCluster) -> dict[str, str]:
    """Return the files by name: four, and a fifth where accounting is kept."""

    def hosts(first: int, last: int) -> str:
        return host_list(cluster.host_prefix, range(first, last + 1), digits=cluster.digits) if first <= last else ""

    values = {
        "cluster": cluster,
        "nodes": hosts(1, cluster.whole_nodes),
        "divided_nodes": hosts(cluster.whole_nodes + 1, cluster.node_count) if cluster.divided else "",
        "shared_nodes": hosts(cluster.whole_nodes + 1, cluster.node_count) if cluster.shared else "",
        "cpus": cluster.cpus,
        "gpu_count": cluster.node_count * cluster.gpus_per_node,
        "memory_mib_per_cpu": cluster.memory_mib // cluster.cpus,
        "accounting": _accounting_lines(cluster),
        "tenant_partitions": partition_lines(
            cluster.accounts, hosts(1, cluster.whole_nodes or cluster.node_count), cluster.features.whole_nodes
        ),
        "gpu_groups": gpu_groups(
            cluster.devices,
            gpus=cluster.gpus_per_node,
            sockets=cluster.sockets,
            cores_per_socket=cluster.cores_per_socket,
        ),
        "flags": f" Flags={cluster.gres_flags}" if cluster.gres_flags else "",
        "hops": _hops(cluster.topology),
        "lines": [_topology_line(switch, cluster) for switch in cluster.topology],
        "blocks": block_lines(cluster),
        "scripts": SCRIPTS,
    }
    files = FILES if cluster.accounting_host is None else (*FILES, ACCOUNTING_FILE)
    return {name: render("slurm", f"{name}.j2", **values) for name in (*files, JOB_FOLDERS_FILE)}


def block_lines(cluster: SlurmCluster) -> list[str]:
    """Return the blocks of topology.conf: an NVLink domain each; none where the release or the nodes have none."""
    if cluster.features.topology != BLOCK:
        return []
    digits = len(str(len(cluster.domains)))
    lines = [
        f"BlockName=nvl{number:0{digits}d} Nodes={host_list(cluster.host_prefix, nodes, digits=cluster.digits)}"
        for number, nodes in enumerate(cluster.domains, start=1)
    ]
    sizes = block_sizes(cluster.domain_nodes, len(cluster.domains))
    return [*lines, f"BlockSizes={','.join(map(str, sizes))}"]


def _accounting_lines(cluster: SlurmCluster) -> list[str]:
    host, divided = cluster.accounting_host, cluster.divided
    kinds = ["gres/gpu"] if divided is None else ["gres/gpu", *(f"gres/gpu:{name}" for name, _ in divided.instances)]
    if host is None:
        return ["# No accounting: jobs of the past are not kept.", "AccountingStorageType=accounting_storage/none"]
    # AccountingStorageTRES without slurmdbd is fatal to slurmctld.
    return [
        "# Jobs of the past are kept by slurmdbd (slurmdbd.conf); while it is away, slurmctld keeps its reports.",
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={host}",
        f"AccountingStorageTRES={','.join(kinds)}",
        "JobAcctGatherType=jobacct_gather/cgroup",
    ]


def _hops(topology: tuple[TopologySwitch, ...]) -> list[tuple[str, int]]:
    """Return which entries hold nodes how many switches apart: `su1 to su4` and 1, `spine` and 3."""
    named: dict[tuple[str, int], list[str]] = {}
    for switch in topology:
        named.setdefault((switch.name.rstrip("0123456789"), switch.hops), []).append(switch.name)
    return [(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}", hops) for (_, hops), names in named.items()]


def _topology_line(switch: TopologySwitch, cluster: SlurmCluster) -> str:
    if switch.switches:
        return f"SwitchName={switch.name} Switches={','.join(switch.switches)}"
    return f"SwitchName={switch.name} Nodes={host_list(cluster.host_prefix, switch.nodes, digits=cluster.digits)}"
