"""What a site says of its Ethernet: addresses, VLANs, links to the users' network, width of trunks."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteNetwork:
    """The site's Ethernet.

    Attributes:
        range: private IPv4 network that all addresses are taken from; first_vlan: id of the first VLAN.
        uplinks: links to the users' network; None for the reference's ratio, 0 for none.
        leaf_uplinks: links of an in-band leaf to each switch above it.
    """

    range: str = "10.64.0.0/12"
    first_vlan: int = 100
    uplinks: int | None = None
    leaf_uplinks: int = 2
