"""Parts of GPUs beside the planned work: where every node has them, and where nothing divides GPUs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clusterwright.catalog.software.node import Software
from clusterwright.clouds import CLOUDS
from clusterwright.errors import Finding
from clusterwright.plan.record import Option
from clusterwright.plan.text.words import on_target
from clusterwright.units import counted

#: Ways of the device plugin of Kubernetes: a node with them offers parts alone, under another name than whole GPUs.
_RENAMED = frozenset({"mps", "time-slicing"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """A way to have parts of GPUs.

    Attributes:
        section: of `software`; done: to GPUs, a participle; offers: what nodes with it do.
        on_all, in_cloud: rules for all nodes of the work, and for projects of clouds; advice: for the latter.
    """

    section: str
    done: str
    offers: str
    on_all: str
    in_cloud: str
    advice: str


_SLICES = _Parts(
    section="mig",
    done="divided",
    offers="are divided",
    on_all="MIG005",
    in_cloud="MIG006",
    advice="use an image that does it; GKE, with one profile as often as it fits on nodes beside the work; or plan "
    "the slices on premises",
)
_SHARES = _Parts(
    section="sharing",
    done="shared",
    offers="offer parts of GPUs alone",
    on_all="SHR004",
    in_cloud="SHR005",
    advice="set it up on nodes that are up; use GKE, with mps or time-slicing on nodes beside the work; or plan the "
    "parts on premises",
)


def by_node_pools(software: Software, option: Option) -> bool:
    """Tell whether the cloud's own node pools make the parts of GPUs that are asked for, beside the work."""
    cloud = CLOUDS.get(option.target)
    managed = option.deployment.scheduler == "kubernetes" and cloud is not None and cloud.pools_divide_gpus
    return managed and option.cluster.divided_nodes > 0 and bool(software.pool_parts(option.cluster.gpus_per_node))


def slice_warnings(nodes: Sequence[Software | None], options: Sequence[Option]) -> Iterator[Finding]:
    """Yield warnings of targets whose GPUs a blueprint divides or shares.

    `MIG005`: nodes that the plan is sized with are divided; `MIG006`: the project of a cloud divides none; `SHR004`:
    nodes that the plan is sized with offer no whole GPUs to Kubernetes; `SHR005`: the project of a cloud shares none.
    Nodes with a count are beside the work: there is nothing to warn of.

    Args:
        nodes: software of each target's nodes.
        options: what was planned there, in the same order.
    """
    for software, option in zip(nodes, options, strict=True):
        if software is None or by_node_pools(software, option):
            continue
        if software.sharing:
            # Slurm's nodes that are all shared offer whole GPUs too, in the partition of the job.
            without_whole = option.deployment.scheduler != "slurm" and software.sharing in _RENAMED
            yield from _warned(_SHARES, option, software.shared_of if without_whole else lambda _hosts: 0)
        if software.geometry:
            yield from _warned(_SLICES, option, software.divided_of)


def _warned(parts: _Parts, option: Option, taken_of: Callable[[int], int]) -> Iterator[Finding]:
    """Yield the warning of a way to have parts of GPUs; `taken_of` gives the hosts of all that have no whole GPU."""
    path = ("software", parts.section)
    if option.design.facility is None:
        yield Finding(
            id=parts.in_cloud,
            path=path,
            message=f"{on_target(option.target)} no GPU is {parts.done}: the project of a cloud has no step for it"
            f"{_beside(option)}",
            help=parts.advice,
        )
        return
    hosts = len(option.design.facility.inventory.hosts())
    taken = taken_of(hosts)
    if taken > _hosts_beside(option):
        yield Finding(
            id=parts.on_all,
            path=path,
            message=f"{on_target(option.target)} {taken:,} of {hosts:,} nodes {parts.offers}; "
            "the plan is sized for all",
            help=f"set software.{parts.section}.nodes: as many nodes are added beside the work, and {parts.done}",
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
