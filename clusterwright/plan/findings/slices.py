"""Parts of GPUs beside the planned work: where every node has them, and where nothing divides GPUs."""

from collections.abc import Iterator, Sequence

from clusterwright.catalog.software.node import Software
from clusterwright.errors import Finding
from clusterwright.plan.record import Option
from clusterwright.plan.text.words import on_target
from clusterwright.units import counted

_PATH, _SHARED_PATH = ("software", "mig"), ("software", "sharing")
#: Ways of the device plugin of Kubernetes: a node with them offers parts alone, under another name than whole GPUs.
_RENAMED = frozenset({"mps", "time-slicing"})


def slice_warnings(nodes: Sequence[Software | None], options: Sequence[Option]) -> Iterator[Finding]:
    """Yield warnings of targets whose GPUs a blueprint divides or shares.

    `MIG005`: nodes that the plan is sized with are divided; `MIG006`: the project of a cloud divides none; `SHR004`:
    nodes that the plan is sized with offer no whole GPUs to Kubernetes; `SHR005`: the project of a cloud shares none.
    A count of such nodes is beside the work, and needs no word.

    Args:
        nodes: software of each target's nodes.
        options: what was planned there, in the same order.
    """
    for software, option in zip(nodes, options, strict=True):
        if software is None:
            continue
        yield from _shared(software, option)
        if not software.geometry:
            continue
        if option.design.facility is None:
            yield Finding(
                id="MIG006",
                path=_PATH,
                message=f"{on_target(option.target)} no GPU is divided: the project of a cloud has no step for it"
                f"{_beside(option)}",
                help="divide them by an image of your own, or plan the slices on premises",
            )
            continue
        hosts = len(option.design.facility.inventory.hosts())
        divided = software.divided_of(hosts)
        if divided <= _hosts_beside(option):
            continue
        yield Finding(
            id="MIG005",
            path=_PATH,
            message=f"{on_target(option.target)} {divided:,} of {hosts:,} nodes are divided; the plan is sized for all",
            help="set software.mig.nodes: as many nodes are added beside the work, and divided",
        )


def _shared(software: Software, option: Option) -> Iterator[Finding]:
    if not software.sharing:
        return
    if option.design.facility is None:
        yield Finding(
            id="SHR005",
            path=_SHARED_PATH,
            message=f"{on_target(option.target)} no GPU is shared: the project of a cloud has no step for it"
            f"{_beside(option)}",
            help="set it up on nodes that are up, or plan the parts on premises",
        )
        return
    hosts = len(option.design.facility.inventory.hosts())
    shared = software.shared_of(hosts)
    # Slurm's nodes that are all shared offer whole GPUs too, in the partition of the job.
    if shared <= _hosts_beside(option) or option.deployment.scheduler == "slurm" or software.sharing not in _RENAMED:
        return
    yield Finding(
        id="SHR004",
        path=_SHARED_PATH,
        message=f"{on_target(option.target)} {shared:,} of {hosts:,} nodes offer parts of GPUs alone; the plan is "
        "sized for all",
        help="set software.sharing.nodes: as many nodes are added beside the work, and shared",
    )


def _hosts_beside(option: Option) -> int:
    """Return the hosts beside the work that parts of GPUs are on."""
    facility = option.design.facility
    return 0 if facility is None else option.cluster.divided_nodes * facility.inventory.hosts_per_node


def _beside(option: Option) -> str:
    beside = option.cluster.divided_nodes
    return (
        f"; {counted(beside, 'node')} beside the work {'is' if beside == 1 else 'are'} rented whole" if beside else ""
    )
