"""Spares and lead times by kind of part, and which kind a line of the bill is."""

from collections.abc import Sequence
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


def spares_by_length(count: int, lengths: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Return which lengths the spares of a cable have: their shares of the cables, by largest remainder.

    Of equal remainders the longer cable is kept, since it can take the place of a shorter one. The sum is `count`.

    Args:
        count: spares of the part.
        lengths: metres and number of the cables that are laid.

    >>> spares_by_length(4, [(1.0, 52), (1.5, 104)])
    ((1.0, 1), (1.5, 3))
    """
    total = sum(number for _, number in lengths)
    if not total:
        return ()
    whole = {length: count * number // total for length, number in lengths}
    left = sorted(((count * number % total, length) for length, number in lengths), reverse=True)
    for _, length in left[: count - sum(whole.values())]:
        whole[length] += 1
    return tuple((length, number) for length, number in sorted(whole.items()) if number)
