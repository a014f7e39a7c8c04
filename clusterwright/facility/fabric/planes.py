"""Planes: equal fabrics side by side, each a network of its own, that the ports of every node are shared out over."""

from dataclasses import dataclass

#: How planes share a node's ports: every port is split into one per plane, or whole rails go to each plane.
SPLIT_PORTS, WHOLE_RAILS = "ports", "rails"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plane:
    """One plane.

    Attributes:
        number: from 0; count: of all planes; split: `ports` or `rails`.
    """

    number: int = 0
    count: int = 1
    split: str = SPLIT_PORTS

    def node_port(self, port: int, ports_per_node: int) -> int:
        """Return the port of a node (from 0, over all planes) that is its n-th in this plane.

        >>> Plane(number=1, count=2, split="ports").node_port(2, 8)
        5
        >>> Plane(number=1, count=2, split="rails").node_port(2, 4)
        6

        Args:
            port: of the node within this plane.
            ports_per_node: in this plane.
        """
        if self.split == SPLIT_PORTS:
            return port * self.count + self.number
        return self.number * ports_per_node + port

    def named(self, device: str) -> str:
        """Return the name of a device of this plane: `p2-leaf-01-1`; with one plane the name as it is."""
        return f"p{self.number + 1}-{device}" if self.count > 1 else device
