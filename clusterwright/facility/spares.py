"""Spares and lead times by kind of part, and which kind a line of the bill is."""

from dataclasses import dataclass, fields
from math import ceil

from clusterwright.catalog.records import Catalogue

#: Kind of part of a catalogue part, by the catalogue's kind; what is not named here is a cable.
_KIND_OF_PART = {
    "optic": "transceivers",
    "pdu": "pdus",
    "rack": "racks",
    "storage": "storage",
    "management": "management",
}
WEEK_S = 7 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Spares:
    """Share of each kind of part that is bought to lie in stock, 0 to 1. All shares are assumptions of the buyer."""

    nodes: float = 0.0
    switches: float = 0.0
    transceivers: float = 0.02
    cables: float = 0.02
    pdus: float = 0.0
    storage: float = 0.0
    management: float = 0.0

    def share(self, kind: str) -> float:
        """Return the share of a kind; 0 for kinds of which none is kept."""
        return float(getattr(self, kind, 0.0))

    def count(self, kind: str, quantity: int) -> int:
        """Return how many of a kind are bought on top: the share of the quantity, rounded up.

        >>> Spares().count("cables", 1016), Spares().count("nodes", 127)
        (21, 0)
        """
        # The product is rounded first, since 0.02 x 50 is a little more than 1 in binary.
        return ceil(round(quantity * self.share(kind), 9))


@dataclass(frozen=True, kw_only=True, slots=True)
class LeadTimes:
    """From order to delivery in s, by kind of part, as the user gave them; None is unknown."""

    nodes: float | None = None
    switches: float | None = None
    transceivers: float | None = None
    cables: float | None = None
    pdus: float | None = None
    racks: float | None = None
    storage: float | None = None
    management: float | None = None

    def seconds(self, kind: str) -> float | None:
        """Return the lead time of a kind in s; None where it is unknown."""
        found: float | None = getattr(self, kind, None)
        return found


#: Kinds of part in the order in which documents name them.
KINDS = tuple(entry.name for entry in fields(LeadTimes))


def kind_of_part(sku: str, catalogue: Catalogue) -> str:
    """Return which of `KINDS` a price key on premises is."""
    if sku in catalogue.systems:
        return "nodes"
    if sku in catalogue.switches:
        return "switches"
    part = catalogue.parts.get(sku)
    return "cables" if part is None else _KIND_OF_PART.get(part.kind, "cables")
