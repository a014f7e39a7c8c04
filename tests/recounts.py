"""What the ways of a plan cost with other values of its inputs, by a cash flow of their own."""

from collections.abc import Mapping
from dataclasses import replace

from clusterwright.finance.what_if import HORIZON, POWER, RENT, RESALE, WORK, WhatIf
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.ledger.priced_lines import is_by_term


def recounted_usd(
    plan: Plan, book: PriceBook, found: WhatIf, setting: Mapping[str, float]
) -> dict[str, tuple[float, float] | None]:
    """Return present value and cash by key; None where what is owned cannot do the work."""
    months, economics = setting[HORIZON], plan.economics
    growth = economics.growth
    mean = 1.0 if plan.workload.unit.always_on else growth.mean_work(months) / economics.growth_factor
    share = found.resale_share[found.values.get(HORIZON, (months,)).index(months)]
    changed = replace(
        economics,
        horizon_months=months,
        utilisation=economics.utilisation if found.runs_given else setting[WORK],
        runs=setting[WORK] * months * mean if found.runs_given else None,
        power_price_usd_per_kwh=setting[POWER],
        overrides=(*economics.overrides, ("resale_fraction", min(1.0, setting[RESALE] * share))),
    )
    candidates = [way.candidate for way in plan.ranked if way.key in found.keys and way.candidate is not None]
    lines = Ledger(candidates, economics, book, scenarios=("base",)).lines
    rented = [
        replace(
            candidate,
            rates=(
                *candidate.rates,
                *(
                    (line.line.sku, (line.unit_usd or 0.0) * setting[RENT])
                    for line in lines[candidate.key]
                    if is_by_term(line.line)
                ),
            ),
        )
        for candidate in candidates
    ]
    costs = Ledger(rented, changed, book, scenarios=("base",)).costs()
    return {
        cost.key: None if cost.npv_usd is None or cost.horizon_usd is None else (cost.npv_usd, cost.horizon_usd)
        for cost in costs
    }
