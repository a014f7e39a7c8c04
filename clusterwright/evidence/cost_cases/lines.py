"""What an option of a case is charged: lines with a price and, where it is not charged all the time, their months."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusterwright.evidence.cost_cases.case import Option
from clusterwright.evidence.cost_cases.counts import bought, gpus_had, nameplate_kw, of_year, purchase_usd, servers
from clusterwright.evidence.cost_cases.fields import units_of
from clusterwright.evidence.cost_cases.sections import Cost
from clusterwright.tco.formulas.finance import loan_payment

_HOURLY = {"hour": "cluster", "used_hour": "nodes"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the bill of an option.

    Attributes:
        item, category: of the rows it becomes.
        usd: of each of `quantity`, per what `charge` says: `hourly`, `monthly`, or `once` at the start.
        scales_with: `nodes` for hours worked, `cluster` for all hours.
        from_month, to_month: charged after the one up to the other; None is the end of the horizon.
    """

    item: str
    category: str
    usd: float
    quantity: float = 1.0
    charge: str = "monthly"
    scales_with: str = "cluster"
    from_month: float = 0.0
    to_month: float | None = None


def lines(option: Option, horizon_months: float) -> Iterator[Line]:
    """Yield every line of an option, shares of other lines (support plan, lost work) left out."""
    for item, quantity, usd in bought(option):
        yield Line(item=item, category="purchase", usd=usd, quantity=quantity, charge="once")
    if option.purchase is not None:
        paid, given = purchase_usd(option), option.purchase
        # The simple charge on the average balance, which is half of the purchase.
        for category, share in (
            ("support", given.support_fraction_per_year),
            ("capital", given.capital_charge_per_year / 2.0),
        ):
            if share:
                yield Line(item=category, category=category, usd=paid * share / 12.0)
    yield from _rented(option)
    for category, usd in option.monthly.items():
        yield Line(item=category, category=category, usd=usd)
    for item, usd in option.one_time.items():
        yield Line(item=item, category="one_time", usd=usd, charge="once")
    for cost in option.costs:
        yield from _more(option, cost, horizon_months)


def _rented(option: Option) -> Iterator[Line]:
    rent = option.rent
    if rent is None:
        return
    gpus = gpus_had(option)
    for item, quantity, charge, usd in (
        ("GPU-hours", gpus, "hourly", rent.usd_per_gpu_hour),
        ("Server-hours", servers(option) or 0.0, "hourly", rent.usd_per_server_hour),
        ("Hours", 1.0, "hourly", rent.usd_per_hour),
        ("GPU-months", gpus, "monthly", rent.usd_per_gpu_month),
        ("Months", 1.0, "monthly", rent.usd_per_month),
    ):
        if usd is not None:
            scales = "nodes" if charge == "hourly" and rent.pays == "used_hours" else "cluster"
            paid = usd * (1.0 - rent.discount)
            yield Line(item=item, category="gpu", usd=paid, quantity=quantity, charge=charge, scales_with=scales)


def _more(option: Option, cost: Cost, horizon_months: float) -> Iterator[Line]:
    period = units_of(cost.per)[1]
    line = Line(
        item=cost.name,
        category=cost.category,
        usd=cost.usd,
        quantity=_quantity(option, cost),
        from_month=cost.from_month,
        to_month=cost.to_month,
    )
    if cost.annuity is not None:
        owed = cost.usd * cost.annuity.residual_fraction
        yield replace(line, usd=loan_payment(cost.usd, cost.annuity.rate_per_year, cost.annuity.months, owed))
    elif period == "once":
        category = cost.category if "category" in cost.model_fields_set else "one_time"
        for month in _months(cost, horizon_months):
            at = {"from_month": month - 1.0, "to_month": month} if month else {"charge": "once", "to_month": None}
            yield replace(line, category=category if month else "one_time", **at)
    elif period in _HOURLY:
        yield replace(line, charge="hourly", scales_with=_HOURLY[period])
    else:
        yield replace(line, usd=cost.usd / (12.0 if period == "year" else 1.0))


def _months(cost: Cost, horizon_months: float) -> Iterator[float]:
    """Yield the months at whose ends a cost is paid that is paid at single moments."""
    last = horizon_months if cost.to_month is None else min(cost.to_month, horizon_months)
    if cost.every_months is None:
        last = min(last, cost.from_month)
    month = cost.from_month
    while month <= last:
        yield month
        month += cost.every_months or math.inf


def _quantity(option: Option, cost: Cost) -> float:
    """Return how many of what a cost is counted by the option has."""
    amounts = {
        "": 1.0,
        "gpu": gpus_had(option),
        "server": servers(option) or 0.0,
        "kw": nameplate_kw(option),
        "purchase": purchase_usd(option),
    }
    return cost.quantity * amounts[units_of(cost.per)[0]]


def paid_once(option: Option) -> Iterator[tuple[Cost, float]]:
    """Yield each of the further costs that is paid at the start, with its USD."""
    for cost in option.costs:
        if cost.once and not cost.from_month:
            yield cost, cost.usd * _quantity(option, cost)


def factor(option: Option, category: str, month: float) -> float:
    """Return what a running cost of a category comes to in the year of a month, over that of the first year."""
    given = option.by_year.get(category, 0.0)
    if isinstance(given, list):
        return of_year(tuple(given), month)
    return float((1.0 + given) ** (month // 12.0))
