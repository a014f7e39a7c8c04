"""How many ports of a leaf go up, and the spines these need: equal trunks, few switches."""

from math import ceil, floor


def spines_for(*, leaves: int, uplinks: int, spine_down_ports: int) -> int | None:
    """Return the fewest spines with equal trunks: smallest n >= ceil(L*u / d) that divides u, or None if u < that.

    Worked example: 24 leaves with 32 uplinks on 64-port spines need 12, but 12 does not divide 32, so 16 are bought, as
    the DGX H100 SuperPOD's table for 3 scalable units says.

    >>> spines_for(leaves=24, uplinks=32, spine_down_ports=64)
    16

    Args:
        leaves: that share these spines.
        uplinks: of each leaf.
        spine_down_ports: ports of a spine that face leaves.
    """
    least = ceil(leaves * uplinks / spine_down_ports)
    return next((count for count in range(least, uplinks + 1) if uplinks % count == 0), None)


def uplinks_of(radix: int, oversubscription: float) -> int:
    """Return a switch's ports upwards: `floor(R/(1+o))`, half of them without oversubscription.

    >>> uplinks_of(64, 1.0), uplinks_of(64, 2.0), uplinks_of(64, 3.0)
    (32, 21, 16)
    """
    return max(1, floor(radix / (1 + oversubscription)))


def uplinks_with(
    *, oversubscription: float, radix: int, leaf_per_unit: int, links_per_rail: int, unit_ports: int, units: int | None
) -> int:
    """Return the uplinks per leaf, `uplinks_of` or more, that take the fewest switches per port of nodes.

    Spines divide the uplinks of a leaf, so an awkward number of them costs spines: 32 leaves with 21 uplinks need 11
    of 64 ports, and only 21 divide 21; with 22 uplinks 11 are bought, and the leaves are less oversubscribed.

    >>> uplinks_with(
    ...     oversubscription=2.0, radix=64, leaf_per_unit=8, links_per_rail=1, unit_ports=8 * 168, units=None
    ... )
    22

    Args:
        oversubscription: the most downlinks over uplinks, above 1.
        radix: ports of a leaf and of a spine.
        leaf_per_unit: leaves of a unit.
        links_per_rail: ports that a node takes on a leaf.
        unit_ports: ports of all nodes and subnet managers.
        units: to be bought; what counts then is the ports of these.
    """

    def switches_per_port(uplinks: int) -> tuple[float, int]:
        downlinks = (radix - uplinks) // links_per_rail * links_per_rail
        if not downlinks:
            return float("inf"), uplinks
        needed = ceil(unit_ports / (downlinks * leaf_per_unit))
        if units is not None and needed > units:
            return float("inf"), uplinks
        leaves = (units or needed) * leaf_per_unit
        spines = spines_for(leaves=leaves, uplinks=uplinks, spine_down_ports=radix) if leaves <= radix else None
        # Above two levels every uplink goes through a spine and half a core.
        above = spines if spines is not None else leaves * uplinks / radix * 3
        # Of units that are bought for growth, what counts is the ports that they will have.
        return (leaves + above) / (leaves * downlinks if units else unit_ports), uplinks

    return min(range(uplinks_of(radix, oversubscription), radix // 2 + 1), key=switches_per_port)


def trimmed_uplinks(*, needed: int, leaves: int, most: int, radix: int) -> int:
    """Return the uplinks per leaf, from `needed` up, that need the fewest spines, and the fewest cables for those."""

    def spines(uplinks: int) -> int:
        return spines_for(leaves=leaves, uplinks=uplinks, spine_down_ports=radix) or radix

    return min(range(needed, most + 1), key=lambda uplinks: (spines(uplinks), uplinks))
