"""What a design may ask of its compute fabric; what it leaves open follows from the system."""

from dataclasses import dataclass

#: A leaf per rail, or every node with all its ports on one leaf.
RAIL, PLAIN = "rail", "plain"
#: Kinds of network that a compute fabric may be.
INFINIBAND, ROCE = "infiniband", "roce"


@dataclass(frozen=True, kw_only=True, slots=True)
class FabricChoice:
    """Wishes for a compute fabric.

    Attributes:
        switch: catalogue id; the first of the kind with ports fast enough if None.
        kind: `infiniband` or `roce`; that of the switch, else of the system, if None.
        topology: `rail` or `plain`.
        rail_groups: `all-units` or `per-unit` forces three levels; None leaves it to the size.
        planes: equal fabrics that the ports are shared out over.
        buy_for_units: scalable units whose leaves and spines are bought now, for growth; no more than needed if None.
    """

    switch: str | None = None
    kind: str | None = None
    topology: str = RAIL
    rail_groups: str | None = None
    planes: int = 1
    buy_for_units: int | None = None
