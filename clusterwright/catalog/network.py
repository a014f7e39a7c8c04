"""What a target says of its nodes' network and power, beside the catalogue's facts."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeNetwork:
    """Levels of the network above a node, and what its collectives may use.

    Attributes:
        leaf_gpus: accelerators below one leaf of each rail; spine_gpus: below one set of spines; None where the network
            is not given, and then not oversubscribed either.
        leaf_oversubscription, spine_oversubscription: downlinks over uplinks of a leaf and of a spine, at least 1.
        in_network: switches of the network reduce (InfiniBand SHARP); in_domain: those of the scale-up domain (NVLink
            SHARP).
        flat: collectives may go round one ring through all ranks; leafwise: leaf by leaf; tree: all-reduces may use
            trees.
    """

    leaf_gpus: float | None = None
    spine_gpus: float | None = None
    leaf_oversubscription: float = 1.0
    spine_oversubscription: float = 1.0
    in_network: bool = False
    in_domain: bool = False
    flat: bool = False
    leafwise: bool = False
    tree: bool = False
