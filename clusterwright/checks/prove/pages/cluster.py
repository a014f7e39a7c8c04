"""Pages of the cluster: nodes, GPUs and ports of Kubernetes before a job starts, and the tenants of Slurm."""

import re
from collections.abc import Callable, Sequence

from clusterwright.checks.prove.jobs.blocks import counted_gpus
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.plan.tenants import gpus_of
from clusterwright.units import counted, percent

FILE = "kubernetes/README.md"
TENANTS = "tenants.md"
_RAILS = "kubernetes/network/rails.yaml"
_RESOURCE = re.compile(r"allocatable `([\w.]+/(?:gpu|gaudi))` of (?:every node|the nodes that share no GPU)")

#: Ways to share GPUs whose parts have a resource of their own.
_RENAMED = ("mps", "time-slicing")


def _hosts(hall: Hall) -> list[str]:
    return hall.inventory.hosts()


def _ports(hall: Hall) -> str | None:
    """Return the compute ports of a host, None where no pod gets them as a resource."""
    if not (hall.papers.documents.site / _RAILS).is_file():
        return None
    return str((hall.system.fabric_ports or 0) // hall.inventory.hosts_per_node)


def _routed(hall: Hall) -> bool:
    """Tell whether each rail has a network of its own, and its ports a resource of their own."""
    return hall.inventory.compute_network != INFINIBAND_NETWORK and hall.inventory.planes == 1


def _shared_ports(hall: Hall) -> str | None:
    return None if _routed(hall) else _ports(hall)


def _own_ports(hall: Hall) -> str | None:
    return _ports(hall) if _routed(hall) else None


def _rows(hall: Hall) -> Sequence[Sequence[str | None]]:
    hosts = len(_hosts(hall))
    rows: list[Sequence[str | None]] = [
        ("`kubectl get nodes -l node-kind=gpu`", f"{counted(hosts, 'node')}, all Ready")
    ]
    software = hall.papers.documents.plan.software_of(hall.papers.documents.option.target)
    resource = _RESOURCE.search(hall.papers.text(FILE))
    # Where GPUs are divided, as many fewer are whole; shared ones have a name of their own.
    if resource is not None and (software is None or not software.instances):
        gpus, shared = hall.inventory.gpus // hosts, 0 if software is None else software.shared_of(hosts)
        of = "the nodes that share no GPU" if shared else "every node"
        rows.append((f"allocatable `{resource[1]}` of {of}", f"{gpus}; {gpus * (hosts - shared):,} in all"))
        if software is not None and shared and software.sharing in _RENAMED:
            parts = gpus * software.shared_parts
            of = f"allocatable `{resource[1]}.shared` of the nodes that share GPUs"
            rows.append((of, f"{parts:,}; {parts * shared:,} in all"))
    if _ports(hall) is not None:
        if _routed(hall):
            own = f"allocatable `nvidia.com/rail-1` to `nvidia.com/rail-{_ports(hall)}` of a node"
            rows.append((own, f"1 of each of the {_ports(hall)} on every node"))
        else:
            rows.append(("allocatable `nvidia.com/rail` of a node", f"{_ports(hall)} on every node"))
    return rows


def _values(*found: Callable[[Hall], object]) -> Callable[[Hall], Sequence[str] | None]:
    def values(hall: Hall) -> Sequence[str] | None:
        said = [one(hall) for one in found]
        return None if None in said else [str(one) for one in said]

    return values


def _tenants(hall: Hall) -> Sequence[Sequence[str | None]]:
    """Return what each tenant has; longest jobs and fair shares are those of Slurm's files, which have their rules."""
    listed = hall.papers.documents.plan.cluster.tenants
    own = gpus_of(listed, counted_gpus(hall.papers))
    return [
        (
            tenant.name,
            percent(tenant.share),
            str(own[tenant.name] if tenant.share else 0),
            None,
            "none" if tenant.most_gpus_per_user is None else f"{tenant.most_gpus_per_user:,}",
            None,
            None,
            str(len(tenant.users)),
        )
        for tenant in listed
    ]


def _count(hall: Hall) -> int:
    return len(_hosts(hall))


SAID: tuple[Sentence | Table, ...] = (
    Sentence(
        file=FILE,
        text="# Kubernetes on {} × {}\n",
        values=_values(_count, lambda hall: hall.system.name),
        rule="the inventory has them",
    ),
    Sentence(
        file=FILE,
        text="What belongs on a cluster with {} nodes called {} to {}, as in",
        values=_values(_count, lambda hall: _hosts(hall)[0], lambda hall: _hosts(hall)[-1]),
        rule="racks.csv has these hosts",
    ),
    Sentence(
        file=FILE,
        text="the {} compute ports of a node as `nvidia.com/rail`",
        values=_values(_shared_ports),
        rule="the fabric joins as many ports of a node",
    ),
    Sentence(
        file=FILE,
        text="if a node offers more than {} `nvidia.com/rail`",
        values=_values(_shared_ports),
        rule="the fabric joins as many ports of a node",
    ),
    Sentence(
        file=FILE,
        text="names `rail1` to `rail{}` of the compute",
        values=_values(_own_ports),
        rule="the fabric joins as many ports of a node",
    ),
    Table(file=FILE, head=("do", "expected"), rows=_rows, rule="the inventory has them"),
    Table(
        file=TENANTS,
        head=("tenant", "share", "GPUs", "borrows", "GPUs of a user", "longest job", "fair share", "users"),
        rows=_tenants,
        rule="the plan gives the tenants as much",
    ),
)
