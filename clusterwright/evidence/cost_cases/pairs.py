"""What one option of a case saves against another one, and when."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.evidence.cost_cases.candidates import shares
from clusterwright.evidence.cost_cases.case import TcoCase
from clusterwright.evidence.cost_cases.counts import gpus_had, utilisation
from clusterwright.tco.formulas import returns
from clusterwright.tco.taxes.after_tax import AfterTax
from clusterwright.tco.terms.records import Breakeven, CandidateCost

#: Figures by name; None is none, with the reason in the second mapping.
Figures = dict[str, float | None]
_ALMOST = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Paid:
    """One option as it came out of the cash flow: its cost, what it pays by month, and what is left of it after tax."""

    key: str
    cost: CandidateCost
    flows: Mapping[float, float]
    after_tax: AfterTax | None


def pair(
    case: TcoCase, horizon_months: float, mine: Paid, theirs: Paid, breakeven: Breakeven
) -> tuple[Figures, dict[str, str]]:
    """Return the figures of one option against another one by name, and why those that are None are."""
    months = sorted({*mine.flows, *theirs.flows})
    flows = [(month, theirs.flows.get(month, 0.0) - mine.flows.get(month, 0.0)) for month in months]
    rates = returns.internal_rates(flows)
    back = breakeven.months
    found: Figures = {
        "npv_saving_usd": returns.present_value(flows, case.rate),
        "irr_per_year": rates.per_year,
        "discounted_payback_months": returns.payback_month(flows, case.rate),
        "saving_usd_per_month": ((theirs.cost.horizon_usd or 0.0) - (mine.cost.horizon_usd or 0.0)) / horizon_months,
        "breakeven_months": back,
        "breakeven_hours": None if back is None else back * case.hours_per_month,
        "payback_month": None if back is None else float(math.ceil(back - _ALMOST)),
        "breakeven_utilisation": breakeven.utilisation,
        "breakeven_rent_usd_per_gpu_hour": _breakeven_rent(case, mine.cost, theirs.cost),
    }
    if mine.after_tax and theirs.after_tax:
        found["npv_after_tax_saving_usd"] = theirs.after_tax.npv_after_tax_usd - mine.after_tax.npv_after_tax_usd
    not_back = f"the money is not back within the horizon of {horizon_months:g} months"
    why = {
        "irr_per_year": rates.reason,
        "discounted_payback_months": "the discounted money is not back within the horizon",
        **dict.fromkeys(("breakeven_months", "breakeven_hours", "payback_month"), not_back),
        "breakeven_utilisation": f"{theirs.key} costs less however much is used, or from some utilisation on",
        "breakeven_rent_usd_per_gpu_hour": f"{theirs.key} rents no GPUs by the hour, or its other costs are above",
    }
    return found, {name: reason for name, reason in why.items() if found[name] is None}


def _breakeven_rent(case: TcoCase, mine: CandidateCost, theirs: CandidateCost) -> float | None:
    """Return the price of a rented GPU-hour at which both cost the same; shares of it (support, lost work) follow."""
    option = case.options[theirs.key]
    categories = {part.category: part.usd for part in theirs.horizon_breakdown}
    rent = categories.get("gpu", 0.0)
    hours = (option.horizon_months or case.horizon_months) * case.hours_per_month
    paid = hours * (utilisation(case, option) if option.rent and option.rent.pays == "used_hours" else 1.0)
    if option.rent is None or not rent or set(option.by_year) & set(shares(option)):
        return None
    factor = 1.0 + sum(fraction for fraction, of in shares(option).values() if "gpu" in of)
    others = (theirs.horizon_usd or 0.0) - rent * factor
    price = ((mine.horizon_usd or 0.0) - others) / factor / (paid * gpus_had(option))
    return price if price >= 0 else None
