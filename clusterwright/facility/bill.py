"""The bill: what any target consists of, as lines of (sku, quantity, unit). No money here."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class BillLine:
    """One line of a bill.

    Attributes:
        sku: price key. Cloud: `<cloud>/<product>` such as `aws/p5.48xlarge` or `aws/fsx-lustre-ssd-125`; on premises: a
            catalogue id such as `dgx-h100` or `qm9700`.
        item: the name people read.
        category: `compute`, `network`, `storage`, `power`, `rack`, `management`, `software`, `service`.
        quantity: how many units.
        unit: `node`, `each`, `GB` (1e9 bytes), `GiB`, `IP`.
        charge: `hourly` and `monthly` are rented per unit, `once` is bought.
        scales_with: `nodes` when the line exists for the run only (GPU nodes), `cluster` when it stays between runs.
        region: cloud region, empty on premises.
        note: how the quantity was found.
        lengths: of cables that are ordered by length: metres and how many of the quantity; empty for all else.
    """

    sku: str
    item: str
    category: str
    quantity: float
    unit: str
    charge: str
    scales_with: str
    region: str = ""
    note: str = ""
    lengths: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """All lines of one target, and the electrical load that energy is charged on.

    Attributes:
        it_power_w: sum of the IT load at nameplate in W, None for rented targets (energy is in the price) .
        unknown_power_items: names of parts whose power is not known and thus not in the sum.
    """

    target: str
    lines: tuple[BillLine, ...]
    it_power_w: float | None = None
    unknown_power_items: tuple[str, ...] = ()
