"""What a configured cluster costs in a month, by the newest prices."""

from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.cloud_bill import bill_line, standing_lines
from clusterwright.plan.candidates.consider import TERM_OF_CAPACITY
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.priced_lines import price_lines
from clusterwright.tco.terms.assumptions import assumptions
from clusterwright.tco.terms.records import Candidate, Economics, PricedLine
from clusterwright.units import HOURS_PER_MONTH

_PER_MONTH = {"hourly": HOURS_PER_MONTH, "monthly": 1.0}


def month_of(
    book: PriceBook,
    *,
    cloud: str,
    scheduler: str,
    region: str,
    instance: str,
    nodes: int,
    capacity: str,
    others: tuple[BillLine, ...] = (),
) -> tuple[PricedLine, ...]:
    """Return the priced lines of a cluster: nodes, what the stacks create around them, and others.

    Args:
        book: prices in force.
        cloud: `aws`, `azure` or `gcp`.
        scheduler: `slurm` or `kubernetes`.
        region: that prices are of.
        instance: type of the GPU nodes.
        nodes: how many.
        capacity: how they are obtained.
        others: what else there is, for example the file system.
    """
    gpu_nodes = bill_line(f"{cloud}/{instance}", nodes, region=region, scales_with="nodes")
    around = standing_lines(cloud=cloud, scheduler=scheduler, region=region, instance=instance, nodes=nodes)
    bill = Bill(target=cloud, lines=(gpu_nodes, *around, *others) if nodes else (*around, *others))
    candidate = Candidate(
        key=cloud,
        target=cloud,
        bill=bill,
        nodes=nodes,
        gpus=0,
        calendar_days=0.0,
        term=TERM_OF_CAPACITY.get(capacity, "on_demand"),
    )
    return price_lines([candidate], Economics(), book, assumptions(), book.newest_day)[0]


def usd_per_month(line: PricedLine) -> float | None:
    """Return what a line costs in a month of 730 hours, None if its price is unknown or it is bought once."""
    months = _PER_MONTH.get(line.line.charge)
    return None if months is None or line.usd_per_period is None else line.usd_per_period * months


def usd_per_month_of(book: PriceBook, *, sku: str, region: str, quantity: float) -> float | None:
    """Return what an amount of one product costs in a month at list price; None if no price is known."""
    line = bill_line(sku, quantity, region=region)
    candidate = Candidate(
        key=sku, target="", bill=Bill(target="", lines=(line,)), nodes=0, gpus=0, calendar_days=0.0, term="on_demand"
    )
    return usd_per_month(price_lines([candidate], Economics(), book, assumptions(), book.newest_day)[0][0])
