"""What clouds charge by volume or by share: tiers of `tco/metered_tiers.csv`, plans of `tco/cloud_support.csv`."""

import csv
import datetime as dt
from functools import cache

from clusterwright.assets import root
from clusterwright.tco.terms.contracts import Charge, SupportPlan, Tier, charge_of_tiers

UNIT_BYTES = {"GiB": 2.0**30, "GB": 1e9}
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
    rows = _in_force(provider, service, day)
    if not rows:
        return None
    amount = bytes_per_month / UNIT_BYTES[rows[0]["unit"]]
    reached = [row for row in rows if float(row["from_amount"]) <= amount]
    return Charge(
        category="traffic",
        item=SERVICES[service],
        usd=charge_of_tiers(amount, [(float(row["from_amount"]), float(row["usd"])) for row in rows]),
        basis="documented" if all("from-memory" not in row["source"] for row in reached) else "assumed",
        source=reached[-1]["source"],
        price_date=rows[0]["effective_from"],
        confidence=reached[-1]["confidence"],
    )


def metered_tiers(provider: str, service: str, day: dt.date) -> tuple[str, tuple[tuple[float, float], ...]]:
    """Return the unit of a provider's price by volume, one of `UNIT_BYTES`, and its marginal tiers: (from, USD).

    Args:
        provider: as in `metered_charge`, which has found a price; likewise the others.
        service: one of `SERVICES`.
        day: on which the newest price before it holds.
    """
    rows = _in_force(provider, service, day)
    return rows[0]["unit"], tuple((float(row["from_amount"]), float(row["usd"])) for row in rows)


def _in_force(provider: str, service: str, day: dt.date) -> list[dict[str, str]]:
    """Return the newest tiers of a provider's service that hold on a day, lowest first; none where none are known."""
    known = [
        row
        for row in _rows("metered_tiers.csv")
        if (row["provider"], row["service"]) == (provider, service) and row["effective_from"] <= day.isoformat()
    ]
    newest = max((row["effective_from"] for row in known), default="")
    return sorted((row for row in known if row["effective_from"] == newest), key=lambda row: float(row["from_amount"]))


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
