"""Parts of GPUs beside the planned work: what of the work finds no whole GPU, and where nothing divides them."""

from collections.abc import Iterator, Sequence

from clusterwright.catalog.software.node import Software
from clusterwright.errors import Finding
from clusterwright.plan.record import Option
from clusterwright.plan.text.words import on_target

_PATH, _SHARED_PATH = ("software", "mig"), ("software", "sharing")
#: Ways of the device plugin of Kubernetes: a node with them offers parts alone, under another name than whole GPUs.
_RENAMED = frozenset({"mps", "time-slicing"})


def slice_warnings(nodes: Sequence[Software | None], options: Sequence[Option]) -> Iterator[Finding]:
    """Yield warnings of targets whose GPUs a blueprint divides or shares.

    `MIG005`: nodes that the plan is sized with are divided; `MIG006`: the project of a cloud divides none; `SHR004`:
    nodes that the plan is sized with offer no whole GPUs to Kubernetes, or are in a partition of their own.

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
                message=f"{on_target(option.target)} no GPU is divided: the project of a cloud has no step for it",
                help="divide them by an image of your own, or plan the slices on premises",
            )
            continue
        hosts = len(option.design.facility.inventory.hosts())
        divided = software.divided_of(hosts)
        yield Finding(
            id="MIG005",
            path=_PATH,
            message=f"{on_target(option.target)} {divided:,} of {hosts:,} nodes are divided; the plan is sized for all",
            help=f"add nodes for the slices: targets.{option.target}.min_nodes above what the plan has without mig",
        )


def _shared(software: Software, option: Option) -> Iterator[Finding]:
    slurm = option.deployment.scheduler == "slurm"
    if option.design.facility is None or not (slurm or software.sharing in _RENAMED):
        return
    hosts = len(option.design.facility.inventory.hosts())
    shared = software.shared_of(hosts)
    if not shared or (slurm and shared == hosts):
        return
    what = "are in a partition of their own, as their GPUs are shared" if slurm else "offer parts of GPUs alone"
    yield Finding(
        id="SHR004",
        path=_SHARED_PATH,
        message=f"{on_target(option.target)} {shared:,} of {hosts:,} nodes {what}; the plan is sized for all",
        help=f"add nodes for the parts: targets.{option.target}.min_nodes above what the plan has without sharing",
    )
