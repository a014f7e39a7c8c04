"""Every figure of a case, by name, from the engine's cash flow. `docs/evidence/tco-cases.md` defines the names."""

import math
from collections.abc import Mapping
from itertools import permutations, product

from clusterwright.evidence.cost_cases.candidates import candidates
from clusterwright.evidence.cost_cases.case import Option, TcoCase
from clusterwright.evidence.cost_cases.counts import gpus_had, nameplate_kw, purchase_usd, servers, utilisation
from clusterwright.evidence.cost_cases.lines import paid_once
from clusterwright.evidence.cost_cases.pairs import Figures, Paid, pair
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.formulas import finance
from clusterwright.tco.formulas.finance import Levelisation
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import AfterTax, Taxes, after_tax
from clusterwright.tco.terms.records import CandidateCost

_ALMOST = 1e-9
_BY_CATEGORY = ("total.", "monthly.", "yearly.")
#: What is paid at the start without a method to write it off is written off in its first year.
_AT_ONCE = (1.0,)


def figures(case: TcoCase, book: PriceBook) -> tuple[Figures, dict[str, str]]:
    """Return every figure of a case by name, and why those that are None are.

    Raises:
        InputError: a value cannot be calculated with.
        ClusterwrightError: the cash flow does not reconcile, which is a bug.
    """
    found: Figures = {}
    reasons: dict[str, str] = {}
    totals: dict[str, float] = {}
    horizons = dict.fromkeys(option.horizon_months or case.horizon_months for option in case.options.values())
    for horizon_months in horizons:
        entered = candidates(case, horizon_months)
        ledger = Ledger(entered.candidates, entered.economics, book, entered.mixes).reconciled()
        costs = {cost.key: cost for cost in ledger.costs() if cost.key in case.options}
        levelised = ledger.levelised({name: _levelisation(case, name, horizon_months) for name in costs})
        taxed = _taxed(case, ledger, set(costs))
        paid = {}
        for name, cost in costs.items():
            option = case.options[name]
            totals[name] = cost.horizon_usd or 0.0
            flows = _flows(ledger, name)
            paid[name] = Paid(key=name, cost=cost, flows=flows, after_tax=taxed.get(name))
            found |= _prefixed(name, _option(case, option, cost, horizon_months))
            found |= _prefixed(name, _years(flows))
            if option.gpus_per_server is None:
                reasons[f"{name}.servers"] = "gpus_per_server is not given"
            if name in taxed:
                found[f"{name}.after_tax_usd"] = taxed[name].after_tax_usd
                found[f"{name}.npv_after_tax_usd"] = taxed[name].npv_after_tax_usd
            cost_of_use = levelised[name]
            found[f"{name}.fixed_charge_rate"] = cost_of_use.fixed_charge_rate
            found[f"{name}.levelised_capital_usd_per_year"] = cost_of_use.capital_usd_per_year
            found[f"{name}.levelised_usd_per_gpu_hour"] = cost_of_use.usd_per_useful_gpu_hour
        breakevens = {(each.owned_key, each.rented_key): each for each in ledger.breakevens(every_pair=True)}
        for mine, theirs in permutations(costs, 2):
            figures, why = pair(case, horizon_months, paid[mine], paid[theirs], breakevens[mine, theirs])
            found |= _prefixed(f"{mine}.vs.{theirs}", figures)
            reasons |= {f"{mine}.vs.{theirs}.{name}": reason for name, reason in why.items()}
    # What one option pays and another one does not is a figure of both.
    of_category = {figure for name in found for figure in [name.partition(".")[2]] if figure.startswith(_BY_CATEGORY)}
    for name, figure in product(case.options, sorted(of_category)):
        found.setdefault(f"{name}.{figure}", 0.0)
    for mine, theirs in permutations(totals, 2):
        saving = totals[theirs] - totals[mine]
        found[f"{mine}.vs.{theirs}.saving_usd"] = saving
        found[f"{mine}.vs.{theirs}.saving_fraction"] = saving / totals[theirs] if totals[theirs] else None
        if not totals[theirs]:
            reasons[f"{mine}.vs.{theirs}.saving_fraction"] = f"{theirs} costs nothing"
    return found, reasons


def _taxed(case: TcoCase, ledger: Ledger, names: set[str]) -> dict[str, AfterTax]:
    """Return each option after tax, each with its own depreciation; nothing without a tax rate."""
    found: dict[str, AfterTax] = {}
    if not case.tax_rate:
        return found
    ways = {name: _written_off(case.options[name]) for name in names}
    for way in dict.fromkeys(ways.values()):
        taxed, _ = after_tax(ledger, Taxes(tax_rate=case.tax_rate, depreciation=way))
        found |= {each.key: each for each in taxed if ways.get(each.key) == way}
    return found


def _written_off(option: Option) -> tuple[float, ...]:
    given = option.depreciation
    return finance.depreciation_fractions(given.method, bonus_fraction=given.bonus_fraction) if given else _AT_ONCE


def _flows(ledger: Ledger, name: str) -> dict[float, float]:
    """Return what is paid by month, in USD; resale is received."""
    flows: dict[float, float] = {}
    for row in ledger.cash_flow_rows(name):
        flows[row.month] = flows.get(row.month, 0.0) + row.usd
    return flows


def _prefixed(prefix: str, values: Mapping[str, float | None]) -> Figures:
    return {f"{prefix}.{name}": value for name, value in values.items()}


def _useful_share(case: TcoCase, option: Option) -> float:
    return utilisation(case, option) * option.availability * option.goodput


def _levelisation(case: TcoCase, name: str, horizon_months: float) -> Levelisation:
    option = case.options[name]
    asked = option.levelised
    rate = case.rate if asked is None or asked.rate is None else asked.rate
    years = horizon_months / 12.0 if asked is None or asked.years is None else asked.years
    if asked is not None and asked.fixed_charge_rate is not None:
        charge = asked.fixed_charge_rate
    else:
        written_off = (
            finance.depreciation_fractions(asked.depreciation, bonus_fraction=asked.bonus_fraction)
            if asked is not None and asked.depreciation is not None
            else ()
        )
        tax_rate = asked.tax_rate if asked is not None else 0.0
        charge = finance.fixed_charge_rate(rate, years, tax_rate=tax_rate, depreciation=written_off)
    hours = option.gpus * case.hours_per_month * 12.0 * _useful_share(case, option)
    return Levelisation(
        fixed_charge_rate=charge, useful_gpu_hours_per_year=hours, discount_rate=rate, life_months=years * 12.0
    )


def _option(case: TcoCase, option: Option, cost: CandidateCost, horizon_months: float) -> Figures:
    total = cost.horizon_usd or 0.0
    categories = _categories(option, cost)
    hours = horizon_months * case.hours_per_month
    used_gpu_hours = option.gpus * hours * utilisation(case, option)
    useful_gpu_hours = option.gpus * hours * _useful_share(case, option)
    capex = cost.capex_usd or 0.0
    resale = categories.get("resale", 0.0)
    found: Figures = {
        "gpus": option.gpus,
        "gpus_paid": gpus_had(option),
        "servers": servers(option),
        "nameplate_kw": nameplate_kw(option),
        "gpu_hours": option.gpus * hours,
        "used_gpu_hours": used_gpu_hours,
        "capex_usd": capex,
        "opex_usd": total - capex - resale,
        "opex_usd_per_month": (total - capex - resale) / horizon_months,
        "total_usd": total,
        "monthly_usd": total / horizon_months,
        "yearly_usd": total / horizon_months * 12.0,
        "npv_usd": cost.npv_usd,
        "depreciation_usd_per_month": (capex + resale) / horizon_months,
        "usd_per_gpu_hour": total / used_gpu_hours,
        "usd_per_available_gpu_hour": total / (option.gpus * hours),
        "usd_per_useful_gpu_hour": total / useful_gpu_hours,
        "usd_per_gpu_month": total / horizon_months / option.gpus,
    }
    for category, usd in categories.items():
        found[f"total.{category}_usd"] = usd
        found[f"monthly.{category}_usd"] = usd / horizon_months
        found[f"yearly.{category}_usd"] = usd / horizon_months * 12.0
    power = option.power
    if power is not None:
        drawn = power.idle + (power.load_fraction - power.idle) * utilisation(case, option)
        found["kwh_per_month"] = nameplate_kw(option) * drawn * power.pue * case.hours_per_month
    return found | _work(option, total, useful_gpu_hours) | _books(option, purchase_usd(option))


def _categories(option: Option, cost: CandidateCost) -> dict[str, float]:
    """Return what each category costs; what is paid once is in the category that the case gives it."""
    found = {part.category: part.usd for part in cost.horizon_breakdown}
    moved = [(entry.category, usd) for entry, usd in paid_once(option) if "category" in entry.model_fields_set]
    for category, usd in moved:
        found["one_time"] = found.get("one_time", 0.0) - usd
        found[category] = found.get(category, 0.0) + usd
    if moved and not option.one_time and len(moved) == len(list(paid_once(option))):
        found.pop("one_time", None)
    return found


def _work(option: Option, total_usd: float, useful_gpu_hours: float) -> Figures:
    found: Figures = {}
    if option.pflop_per_s_per_gpu is not None:
        pflop_hours = useful_gpu_hours * option.pflop_per_s_per_gpu * option.mfu
        found["usd_per_effective_pflop_hour"] = total_usd / pflop_hours
        found["usd_per_effective_pflop_year"] = total_usd / pflop_hours * 8760.0
    if option.tokens_per_s is not None:
        tokens = option.tokens_per_s * 3600.0 * useful_gpu_hours / option.gpus
        found["usd_per_million_tokens"] = total_usd / tokens * 1e6
    return found


def _books(option: Option, purchase_usd: float) -> Figures:
    found: Figures = {}
    if option.depreciation is not None:
        left = purchase_usd
        for year, fraction in enumerate(_written_off(option), start=1):
            left -= fraction * purchase_usd
            found[f"depreciation_year_{year}_usd"] = fraction * purchase_usd
            found[f"book_value_year_{year}_usd"] = max(0.0, left)
    if option.loan is not None:
        principal = purchase_usd if option.loan.usd is None else option.loan.usd
        owed = principal * option.loan.residual_fraction
        payment = finance.loan_payment(principal, option.loan.rate_per_year, option.loan.months, owed)
        found["loan_usd_per_month"] = payment
        found["loan_interest_usd"] = payment * option.loan.months + owed - principal
    return found


def _years(flows: Mapping[float, float]) -> Figures:
    years: Figures = {}
    for month, usd in flows.items():
        name = f"cash_year_{max(1, math.ceil(month / 12.0 - _ALMOST))}_usd"
        years[name] = (years.get(name) or 0.0) + usd
    return years
