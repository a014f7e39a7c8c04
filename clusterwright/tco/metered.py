"""What clouds charge by volume or by share: tiers of `tco/metered_tiers.csv`, plans of `tco/cloud_support.csv`."""

import csv
import datetime as dt
from functools import cache

from clusterwright.assets import root
from clusterwright.tco.contracts import Charge, SupportPlan, Tier, charge_of_tiers

_UNIT_BYTES = {"GiB": 2.0**30, "GB": 1e9}
#: Services that are charged by volume, with the names people read.
SERVICES = {
    "egress": "Egress to the internet",
    "between_zones": "Data between zones",
    "nat": "Data through NAT gateways",
}


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    with (root() / "tco" / name).open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def metered_charge(provider: str, service: str, bytes_per_month: float, day: dt.date) -> Charge | None:
    """Return what a volume a month costs with a provider, by marginal tiers; None where no price is known.

    Args:
        provider: `aws`, `azure`, `gcp`, or another one of the table.
        service: one of `SERVICES`.
        bytes_per_month: volume.
        day: on which the newest price before it holds.
    """
    of_service = [row for row in _rows("metered_tiers.csv") if (row["provider"], row["service"]) == (provider, service)]
    days = [row["effective_from"] for row in of_service if row["effective_from"] <= day.isoformat()]
    if not days:
        return None
    rows = sorted(
        (row for row in of_service if row["effective_from"] == max(days)), key=lambda row: float(row["from_amount"])
    )
    amount = bytes_per_month / _UNIT_BYTES[rows[0]["unit"]]
    reached = [row for row in rows if float(row["from_amount"]) <= amount]
    return Charge(
        category="traffic",
        item=SERVICES[service],
        usd=charge_of_tiers(amount, [(float(row["from_amount"]), float(row["usd"])) for row in rows]),
        basis="documented" if all("from-memory" not in row["source"] for row in reached) else "assumed",
        source=reached[-1]["source"],
        price_date=max(days),
        confidence=reached[-1]["confidence"],
    )


def support_plan(provider: str, plan: str) -> SupportPlan | None:
    """Return a provider's plan of support, None where it has none of that name or its price is not known."""
    rows = [row for row in _rows("cloud_support.csv") if (row["provider"], row["plan"]) == (provider, plan)]
    if not rows:
        return None
    least = max(rows, key=lambda row: ("high", "medium", "low").index(row["confidence"]))
    return SupportPlan(
        item=rows[0]["item"],
        tiers=tuple(Tier(from_usd=float(row["from_usd"]), fraction=float(row["fraction"])) for row in rows),
        minimum_usd=float(rows[0]["minimum_usd"]),
        basis="assumed" if "from-memory" in least["source"] else "documented",
        source=least["source"],
        price_date=least["date"],
        confidence=least["confidence"],
    )


def support_share(fraction: float) -> SupportPlan:
    """Return a support plan of one share of everything that is spent."""
    return SupportPlan(item="Support plan", tiers=(Tier(from_usd=0.0, fraction=fraction),))
