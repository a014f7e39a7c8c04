"""Which projects are proven: every stack × instance type × size, and the ways to buy capacity."""

import os
from collections.abc import Sequence
from dataclasses import replace

from .projects import INSTANCES, SCHEDULERS, Case, has_stack

_BLOCK = (("capacity", "capacity-block"), ("reservationId", "cr-0123456789abcdef0"))
_FLEX = (("capacity", "flex-start"),)
#: Types that are not sold as capacity blocks (EC2 DescribeInstanceTypes).
_NO_BLOCK = ("g6e.48xlarge",)
#: The most that a program takes at all where no object of the cloud has a lower limit.
_PROGRAM_LIMIT = 4096


def limit_of(cloud: str, instance: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the most nodes of a type, and the configuration in which that limit binds.

    A capacity block holds 64 instances, an InfiniBand scale set 300 machines (288 in whole racks of 18 would be the
    most for GB200, whose next size is 306), a flex-start request on A3 256 nodes; elsewhere the program's own limit.
    """
    if cloud == "aws":
        return (_PROGRAM_LIMIT, ()) if instance in _NO_BLOCK else (64, _BLOCK)
    if cloud == "azure":
        return (288 if "GB200" in instance else 300), ()
    return (256, _FLEX) if instance.startswith("a3-") else (_PROGRAM_LIMIT, ())


def stacks() -> list[tuple[str, str]]:
    """Return cloud and scheduler of every stack."""
    return [(cloud, scheduler) for cloud in INSTANCES for scheduler in SCHEDULERS if has_stack(cloud, scheduler)]


def compact() -> list[Case]:
    """Return what continuous integration runs: one node, and each type's limit."""
    return [
        Case(cloud=cloud, instance=instance, nodes=nodes, scheduler=scheduler, changes=changes)
        for cloud, scheduler in stacks()
        for instance in INSTANCES[cloud]
        for nodes, changes in ((1, ()), limit_of(cloud, instance))
    ]


def beyond() -> list[Case]:
    """Return the same types with one node too many (for GB200 one rack)."""
    return [
        Case(
            cloud=cloud,
            instance=instance,
            nodes=nodes + (18 if "GB200" in instance else 1),
            scheduler=scheduler,
            changes=changes,
        )
        for cloud, scheduler in stacks()
        for instance in INSTANCES[cloud]
        for nodes, changes in (limit_of(cloud, instance),)
    ]


def full() -> list[Case]:
    """Return the long matrix: sizes up to 2,048 nodes and every way to buy capacity."""
    sizes = (2, 8, 64, 65, 128, 256, 300, 512, 1024, 2048)
    cases: list[Case] = []
    for cloud, scheduler in stacks():
        for instance in INSTANCES[cloud]:
            one = Case(cloud=cloud, instance=instance, nodes=8, scheduler=scheduler)
            for nodes in sizes:
                racks = -(-nodes // 18) * 18 if "GB200" in instance and nodes > 18 else nodes
                split = (
                    (("allowSplitFabric", True),) if cloud == "azure" and racks > limit_of(cloud, instance)[0] else ()
                )
                cases.append(replace(one, nodes=racks, changes=split))
            cases.append(replace(one, changes=(("capacity", "spot"),)))
            cases += [replace(one, changes=changes) for changes in _reserved(cloud)]
    return [case for case in cases if case.cloud != "aws" or case.changes != _BLOCK or case.instance not in _NO_BLOCK]


def _reserved(cloud: str) -> Sequence[tuple[tuple[str, str], ...]]:
    if cloud == "aws":
        return (_BLOCK, (("capacity", "reservation"), ("reservationId", "cr-0123456789abcdef0")))
    if cloud == "gcp":
        return (_FLEX, (("capacity", "reservation"), ("reservationId", "dense-1")))
    return ()


def chosen() -> list[Case]:
    """Return the compact matrix, or with `CLUSTERWRIGHT_FULL_MATRIX=1` the full one after it."""
    return compact() + (full() if os.environ.get("CLUSTERWRIGHT_FULL_MATRIX") == "1" else [])
