"""What a fabric cannot exceed, as findings with the binding limit; who knows a nearer design that works adds it.

`NET001`: LIDs of an InfiniBand subnet. `NET002`: ports of three levels of switches. `NET003`: downlinks of a leaf.
`NET004`: the units that are to be bought have too few ports. `NET005`: a topology that rail rules do not fit. `NET006`:
a switch whose ports are slower than the nodes'.
"""

from math import inf

from clusterwright.errors import Finding, InputError, RuleError

#: Unicast LIDs of an InfiniBand subnet, for node ports and switches together (InfiniBand specification, 0x0001-0xBFFF).
INFINIBAND_LIDS = 49_151

_PATH = ("targets", "onprem", "fabric")


class FabricLimitError(RuleError, InputError):
    """A fabric that no switches of the kind can make: one finding, whose help names what would work.

    Attributes:
        most_nodes: end systems that would fit, infinite where their number is not what binds.
    """

    def __init__(self, *, rule: str, message: str, help: str, most_nodes: float = inf) -> None:  # noqa: A002 - as its parents
        super().__init__((Finding(id=rule, path=_PATH, message=message, help=help),))
        self.help = help
        self.most_nodes = most_nodes

    @property
    def finding(self) -> Finding:
        """The one finding."""
        return self.findings[0]


def too_many_lids(*, lids: int, per_node: int, switches_per_node: float) -> FabricLimitError:
    """Return the error of a subnet with more ports and switches than LIDs; `NET001`.

    Args:
        lids: that the fabric needs.
        per_node: ports of an end system.
        switches_per_node: switches over end systems of that fabric, for an estimate of what fits.
    """
    most = int(INFINIBAND_LIDS / (per_node + switches_per_node))
    return FabricLimitError(
        rule="NET001",
        message=f"the fabric needs {lids:,} LIDs (node ports and switches), an InfiniBand subnet has "
        f"{INFINIBAND_LIDS:,}",
        help=f"about {most:,} nodes fit one subnet; split the cluster into several planes, or use Ethernet",
        most_nodes=most,
    )


def too_many_units(*, units: int, most: int, unit_nodes: int, radix: int) -> FabricLimitError:
    """Return the error of a tree that would need a fourth level; `NET002`."""
    return FabricLimitError(
        rule="NET002",
        message=f"{units} units exceed three levels of {radix}-port switches",
        help=f"at most {most} units ({most * unit_nodes:,} nodes) fit; use switches with more ports or several planes",
        most_nodes=most * unit_nodes,
    )


def too_few_downlinks(*, unit_nodes: int, needed: int, downlinks: int, most: int) -> FabricLimitError:
    """Return the error of a unit larger than its leaves; `NET003`."""
    unit = f"{unit_nodes} node{'s' if unit_nodes != 1 else ''}"
    return FabricLimitError(
        rule="NET003",
        message=f"a unit of {unit} needs {needed} downlinks per leaf, a leaf has {downlinks}",
        help=f"use units of at most {most} nodes",
    )


def ports_exhausted(*, asked: str, units: int, per_unit: int, fitting: str) -> FabricLimitError:
    """Return the error of units without the ports that are asked of them; `NET004`."""
    return FabricLimitError(
        rule="NET004",
        message=f"{asked} do not fit {units} unit{'s' if units != 1 else ''} of {per_unit}",
        help=fitting,
    )


def no_such_topology(*, what: str, reason: str) -> FabricLimitError:
    """Return the error of a topology that rail rules do not fit, by its name; `NET005`."""
    return FabricLimitError(
        rule="NET005", message=f"{what}: {reason}", help="ask for rail (a leaf per rail) or plain (a fat-tree)"
    )


def slower_ports(*, system: str, rate: float, switch: str, splits: bool) -> FabricLimitError:
    """Return the error of a switch whose ports are slower than the nodes'; planes help where ports split; `NET006`."""
    return FabricLimitError(
        rule="NET006",
        message=f"{system} has ports of {rate * 8e-9:.0f} Gb/s, {switch} has slower ones",
        help=f"choose a switch with ports at least as fast{', or more planes' if splits else ''}",
    )
