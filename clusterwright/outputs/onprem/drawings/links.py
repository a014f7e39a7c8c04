"""What the drawings say of links: how many a tier has, at which rate, over which medium and transceivers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.facility.cabling.cables import Cable


@dataclass(frozen=True, kw_only=True, slots=True)
class Medium:
    """Links of one tier that are of the same parts.

    Attributes:
        network, tier: as in the cable list; count: links of all planes.
        kind: of the cable; parts: names of cable and transceivers, from end to end.
    """

    network: str
    tier: str
    count: int
    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """How the legend says it."""
        return f"{self.tier.replace('-', '–')}: {self.count:,} × {self.kind}, {', '.join(self.parts)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """The links of a cluster as its fabric drawing names them.

    Attributes:
        media: of every tier; gbit_per_s: rate of a port, by network.
    """

    media: tuple[Medium, ...]
    gbit_per_s: Mapping[str, int]

    def of(self, network: str) -> Iterator[Medium]:
        """Yield the media of a network, tier by tier."""
        return (medium for medium in self.media if medium.network == network)

    def count(self, network: str, tier: str) -> int:
        """Return the links of a tier."""
        return sum(medium.count for medium in self.of(network) if medium.tier == tier)


def links_of(cables: Sequence[Cable], names: Mapping[str, str], gbit_per_s: Mapping[str, int]) -> Links:
    """Return what a cable list holds, by network, tier and parts.

    Args:
        cables: of all networks.
        names: of parts, by price key; a part without one is called by its key.
        gbit_per_s: rate of a port, by network.
    """
    counts = Counter(
        (cable.network, cable.tier, cable.kind, cable.from_optic, cable.sku, cable.to_optic) for cable in cables
    )
    media = tuple(
        Medium(
            network=network,
            tier=tier,
            count=count,
            kind=kind,
            # In brackets after a name is the vendor's number, which the cable list has.
            parts=tuple(dict.fromkeys(names.get(part, part).partition(" (")[0] for part in parts if part)),
        )
        for (network, tier, kind, *parts), count in sorted(counts.items())
    )
    return Links(media=media, gbit_per_s=gbit_per_s)
