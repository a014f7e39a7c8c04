"""The clouds' parallel file systems: which sizes each throughput tier may have."""

import csv
from dataclasses import dataclass
from functools import cache
from math import ceil

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreTier:
    """One throughput tier of one cloud's managed Lustre.

    Attributes:
        mb_per_s_per_tib: throughput in 1e6 bytes/s per TiB of capacity; the tier's name at the provider.
        efa: the rules of an EFA-enabled file system (AWS only).
        smallest_gib, step_gib: a size is the smallest one or a multiple of the step.
        largest_gib: largest size without a support request; largest_on_request_gib: with one. None where none is
            stated.
        sku: price key.
    """

    cloud: str
    mb_per_s_per_tib: int
    efa: bool
    smallest_gib: int
    step_gib: int
    largest_gib: int | None
    largest_on_request_gib: int | None
    sku: str
    source: str
    source_date: str
    note: str

    def accepts(self, capacity_gib: int) -> bool:
        """Return whether the provider takes this size without a support request."""
        stepped = capacity_gib > 0 and capacity_gib % self.step_gib == 0
        within = self.largest_gib is None or capacity_gib <= self.largest_gib
        return within and (capacity_gib == self.smallest_gib or (stepped and capacity_gib >= self.smallest_gib))

    def nearest(self, capacity_gib: float) -> tuple[int | None, int | None]:
        """Return the largest size not above a capacity and the smallest not below it, as sold without a request.

        None where the tier has no size on that side.
        """
        largest = self.largest_gib
        above: int | None = self.size_for(capacity_gib)
        if largest is not None and above is not None and above > largest:
            above = None
        below: int | None = int(capacity_gib // self.step_gib) * self.step_gib
        if largest is not None and below is not None:
            below = min(below, largest // self.step_gib * self.step_gib)
        if below is not None and below < self.smallest_gib:
            below = self.smallest_gib if capacity_gib >= self.smallest_gib else None
        return below, above

    def size_for(self, capacity_gib: float) -> int:
        """Return the smallest size, in GiB, of at least this capacity; it may exceed `largest_gib`."""
        if capacity_gib <= self.smallest_gib:
            return self.smallest_gib
        return ceil(capacity_gib / self.step_gib) * self.step_gib

    def bytes_per_s(self, capacity_gib: float) -> float:
        """Return the throughput of a file system of this size in bytes/s: capacity in TiB times the tier."""
        return capacity_gib / 1024 * self.mb_per_s_per_tib * 1e6


@cache
def lustre_tiers() -> tuple[LustreTier, ...]:
    """Return the rows of `catalog/lustre_tiers.csv`.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "lustre_tiers.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return tuple(_tier(row) for row in csv.DictReader(stream))
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


def _tier(row: dict[str, str]) -> LustreTier:
    return LustreTier(
        cloud=row["cloud"],
        mb_per_s_per_tib=int(row["mb_per_s_per_tib"]),
        efa={"yes": True, "no": False}[row["efa"]],
        smallest_gib=int(row["smallest_gib"]),
        step_gib=int(row["step_gib"]),
        largest_gib=int(row["largest_gib"]) if row["largest_gib"] else None,
        largest_on_request_gib=int(row["largest_on_request_gib"]) if row["largest_on_request_gib"] else None,
        sku=row["sku"],
        source=row["source"],
        source_date=row["source_date"],
        note=row["note"],
    )
