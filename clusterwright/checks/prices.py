"""What a configured cluster costs in a month, by the newest prices."""

from dataclasses import dataclass

from clusterwright.catalog.skus import skus
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.cloud_bill import CLOUDS, CONTROLLER_DISK_GIB, NODE_DISK_GIB
from clusterwright.plan.candidates import TERM_OF_CAPACITY
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.assumptions import assumptions
from clusterwright.tco.priced_lines import price_lines
from clusterwright.tco.records import Candidate, Economics, PricedLine
from clusterwright.units import HOURS_PER_MONTH

_PER_MONTH = {"hourly": HOURS_PER_MONTH, "monthly": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """How much of what: a price key, an amount, and whether it is there for the GPU nodes only."""

    sku: str
    quantity: float
    per_node: bool = False


def month_of(
    *, cloud: str, region: str, instance: str, nodes: int, capacity: str, others: tuple[Quantity, ...] = ()
) -> tuple[PricedLine, ...]:
    """Return the priced lines of a cluster: nodes with their disks, controller, way out, and others.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        region: that prices are of.
        instance: type of the GPU nodes.
        nodes: how many.
        capacity: how they are obtained.
        others: what else there is, for example the file system.
    """
    parts = CLOUDS[cloud]
    quantities = (
        Quantity(sku=f"{cloud}/{instance}", quantity=nodes, per_node=True),
        Quantity(sku=parts.disk, quantity=nodes * NODE_DISK_GIB, per_node=True),
        Quantity(sku=f"{cloud}/{parts.controller}", quantity=1),
        Quantity(sku=parts.disk, quantity=CONTROLLER_DISK_GIB),
        Quantity(sku=parts.nat, quantity=1),
        *others,
    )
    bill = Bill(target=cloud, lines=tuple(_line(entry, region) for entry in quantities if entry.quantity))
    candidate = Candidate(
        key=cloud,
        target=cloud,
        bill=bill,
        nodes=nodes,
        gpus=0,
        calendar_days=0.0,
        term=TERM_OF_CAPACITY.get(capacity, "on_demand"),
    )
    book = PriceBook.open()
    try:
        return price_lines([candidate], Economics(), book, assumptions(), book.newest_day)[0]
    finally:
        book.close()


def usd_per_month(line: PricedLine) -> float | None:
    """Return what a line costs in a month of 730 hours, None if its price is unknown or it is bought once."""
    months = _PER_MONTH.get(line.line.charge)
    return None if months is None or line.usd_per_period is None else line.usd_per_period * months


def usd_per_month_of(*, sku: str, region: str, quantity: float) -> float | None:
    """Return what an amount of one product costs in a month at list price; None if no price is known."""
    line = _line(Quantity(sku=sku, quantity=quantity), region)
    candidate = Candidate(
        key=sku, target="", bill=Bill(target="", lines=(line,)), nodes=0, gpus=0, calendar_days=0.0, term="on_demand"
    )
    book = PriceBook.open()
    try:
        return usd_per_month(price_lines([candidate], Economics(), book, assumptions(), book.newest_day)[0][0])
    finally:
        book.close()


def _line(entry: Quantity, region: str) -> BillLine:
    known = skus().get(entry.sku)
    return BillLine(
        sku=entry.sku,
        item=known.item if known else f"GPU node {entry.sku.partition('/')[2]}",
        category=known.category if known else "compute",
        quantity=entry.quantity,
        unit=known.unit if known else "node",
        charge=known.charge if known else "hourly",
        scales_with="nodes" if entry.per_node else "cluster",
        region=region,
    )
