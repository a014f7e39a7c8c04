"""Cloud charges by volume (`tco/metered_tiers.csv`) and by share of the spend (`tco/cloud_support.csv`)."""

import csv
import datetime as dt
from functools import cache

from clusterwright.assets import root
from clusterwright.tco.terms.contracts import Charge, SupportPlan, Tier, charge_of_tiers

UNIT_BYTES = {"GiB": 2.0**30, "GB": 1e9}
#: Services charged by volume, with their names in outputs.
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
    """Return a provider's monthly charge for a volume by marginal tiers; None if no price is known.

    Args:
        provider: `aws`, `azure`, `gcp`, or another provider in the table.
        service: one of `SERVICES`.
        bytes_per_month: volume per month.
        day: day of the price; the newest price up to this day applies.
    """
    rows = _in_force(provider, service, day)
    if not rows:
        return None
    amount = bytes_per_month / UNIT_BYTES[rows[0]["unit"]]
    reached = [row for row in rows if float(row["from_amount"]) <= amount]
    return Charge(
        category="traffic",
        item=SERVICES[service],
        bytes_per_month=bytes_per_month,
        usd=charge_of_tiers(amount, [(float(row["from_amount"]), float(row["usd"])) for row in rows]),
        basis="documented" if all("from-memory" not in row["source"] for row in reached) else "assumed",
        source=reached[-1]["source"],
        price_date=rows[0]["effective_from"],
        confidence=reached[-1]["confidence"],
    )


def metered_tiers(provider: str, service: str, day: dt.date) -> tuple[str, tuple[tuple[float, float], ...]]:
    """Return the unit of a provider's price by volume, one of `UNIT_BYTES`, and its marginal tiers as (start, USD).

    Args:
        provider: provider for which `metered_charge` returns a price.
        service: one of `SERVICES`.
        day: day of the price, as in `metered_charge`.
    """
    rows = _in_force(provider, service, day)
    return rows[0]["unit"], tuple((float(row["from_amount"]), float(row["usd"])) for row in rows)


def _in_force(provider: str, service: str, day: dt.date) -> list[dict[str, str]]:
    """Return the tiers of a provider's service in force on a day, lowest first; empty if no price is known."""
    known = [
        row
        for row in _rows("metered_tiers.csv")
        if (row["provider"], row["service"]) == (provider, service) and row["effective_from"] <= day.isoformat()
    ]
    newest = max((row["effective_from"] for row in known), default="")
    return sorted((row for row in known if row["effective_from"] == newest), key=lambda row: float(row["from_amount"]))


def support_plan(provider: str, plan: str) -> SupportPlan | None:
    """Return a provider's support plan; None if there is no plan of that name or its price is unknown."""
    rows = [row for row in _rows("cloud_support.csv") if (row["provider"], row["plan"]) == (provider, plan)]
    if not rows:
        return None
    weakest = max(rows, key=lambda row: ("high", "medium", "low").index(row["confidence"]))
    return SupportPlan(
        item=rows[0]["item"],
        tiers=tuple(Tier(from_usd=float(row["from_usd"]), fraction=float(row["fraction"])) for row in rows),
        minimum_usd=float(rows[0]["minimum_usd"]),
        basis="assumed" if "from-memory" in weakest["source"] else "documented",
        source=weakest["source"],
        price_date=weakest["date"],
        confidence=weakest["confidence"],
    )


def support_share(fraction: float) -> SupportPlan:
    """Return a support plan that costs one share of the whole spend."""
    return SupportPlan(item="Support plan", tiers=(Tier(from_usd=0.0, fraction=fraction),))
