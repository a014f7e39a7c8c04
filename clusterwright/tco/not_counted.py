"""What no total contains, and why: `tco/not_counted.csv`."""

import csv
from dataclasses import dataclass

from clusterwright.assets import root


@dataclass(frozen=True, kw_only=True, slots=True)
class NotCounted:
    """A cost that is left out: what, of which candidates (`rented`, `owned` or `all`), and why."""

    item: str
    applies_to: str
    why: str


def not_counted() -> tuple[NotCounted, ...]:
    """Return the costs that no total contains."""
    with (root() / "tco" / "not_counted.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(NotCounted(**row) for row in csv.DictReader(lines))
