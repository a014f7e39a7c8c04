"""The transceivers on the switches of a fabric: cages that hold at least one used port."""

from dataclasses import replace
from math import ceil

from clusterwright.facility.fabric.counts import Fabric


def with_optics(bare: Fabric) -> Fabric:
    """Fill in the transceivers of switches: downlinks take cages from the first port, uplinks up to the last."""
    spine_leaves = [0] * bare.groups
    for leaf in range(bare.leaf):
        spine_leaves[bare.group_of(leaf)] += 1
    trunk = bare.uplinks_per_leaf // bare.spine_per_group if bare.spine_per_group else 0
    cages = sum(_cages(bare, bare.down_ports(leaf), bare.uplinks_per_leaf) for leaf in range(bare.leaf))
    cages += sum(bare.spine_per_group * _cages(bare, leaves * trunk, bare.uplinks_per_spine) for leaves in spine_leaves)
    if bare.core:
        least, more = divmod(bare.spine_core_cables, bare.core)
        cages += more * _cages(bare, least + 1, 0) + (bare.core - more) * _cages(bare, least, 0)
    return replace(bare, switch_optics=cages)


def _cages(fabric: Fabric, down: int, up: int) -> int:
    cage = fabric.ports_per_switch_cage
    first_up = (fabric.radix - up) // cage
    shared = 1 if up and ceil(down / cage) > first_up else 0
    return ceil(down / cage) + (ceil(fabric.radix / cage) - first_up if up else 0) - shared
