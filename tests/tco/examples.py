"""Small bills, and economics with every extra cost of an owner switched off."""

import dataclasses

from clusterwright.facility.bill import Bill, BillLine
from clusterwright.tco.terms.records import Candidate, Economics

#: An owner who pays for equipment and energy alone: nameplate power at all times, nothing else, no resale.
BARE = (
    ("load_power_fraction", 1.0),
    ("idle_power_fraction", 1.0),
    ("colocation_usd_per_kw_month", 0.0),
    ("installation_fraction", 0.0),
    ("spares_fraction", 0.0),
    ("support_fraction_per_year", 0.0),
    ("staff_fte_per_gpu", 0.0),
    ("resale_fraction", 0.0),
)


def with_overrides(economics: Economics, **values: float) -> Economics:
    """Return the economics with more overrides; keys that are no names are written with two underscores for `-`."""
    more = {key.replace("__", "-"): value for key, value in values.items()}
    return dataclasses.replace(economics, overrides=tuple((dict(economics.overrides) | more).items()))


def bare(**changes: object) -> Economics:
    """Return economics of full use without discounting, for an owner who pays for equipment and energy alone."""
    plain = Economics(utilisation=1.0, discount_rate=0.0, pue=1.0, power_price_usd_per_kwh=0.1, overrides=BARE)
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def line(sku: str, **changes: object) -> BillLine:
    """Return a bill line of one rented GPU node with some fields changed."""
    plain = BillLine(
        sku=sku, item=sku, category="compute", quantity=1.0, unit="node", charge="hourly", scales_with="nodes"
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def bought(sku: str, quantity: float = 1.0, category: str = "compute") -> BillLine:
    """Return a bill line of bought equipment."""
    return line(sku, quantity=quantity, unit="each", charge="once", scales_with="cluster", category=category)


def stored(sku: str, gib: float, region: str) -> BillLine:
    """Return a bill line of storage that stays between runs."""
    return line(
        sku, quantity=gib, unit="GiB", charge="monthly", scales_with="cluster", category="storage", region=region
    )


def candidate(key: str, *lines: BillLine, it_power_w: float | None = None, **changes: object) -> Candidate:
    """Return a candidate of one 8-GPU node that takes 30 days for a run."""
    target = key.split("/", maxsplit=1)[0]
    plain = Candidate(
        key=key,
        target=target,
        bill=Bill(target=target, lines=lines, it_power_w=it_power_w),
        nodes=1,
        gpus=8,
        calendar_days=30.0,
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def p5(nodes: float = 1.0, *, key: str = "aws/p5", **changes: object) -> Candidate:
    """Return a candidate of rented p5.48xlarge nodes and nothing else."""
    return candidate(key, line("aws/p5.48xlarge", quantity=nodes, region="us-east-1"), **changes)
