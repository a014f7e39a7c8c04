"""Owning, renting and a mix of both, before and after tax, against a model that reads the bill and knows no SQL."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from clusterwright.finance.finances import Finances, finances
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.formulas.finance import depreciation_fractions

from .examples import SMALL, plan_of

HOURS, RENTED = 730.0, "aws/on_demand"
OWNER = {
    "insurance_fraction_per_year": 0.01,
    "property_tax_fraction_per_year": 0.02,
    "installation_fraction": 0.04,
    "spares_fraction": 0.05,
    "freight_fraction": 0.02,
    "contingency_fraction": 0.05,
    "support_fraction_per_year": 0.06,
    "resale_fraction": 0.15,
    "software_usd_per_gpu_year": 4500,
    "software_usd_per_gpu": 2000,
    "transit_usd_per_month": 2500,
    "demand_usd_per_kw_month": 7,
    "decommission_fraction": 0.01,
    "decommission_usd_per_server": 500,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What differs between the runs; `owned` is the share of nodes that the mix owns, `used` how much they work."""

    months: int
    utilisation: float
    rate: float
    growth: float
    tax: float
    method: str
    bonus: float
    owned: float
    used: float

    def overrides(self) -> list[str]:
        """Return the values of the blueprint."""
        values = {
            "targets.aws.max_nodes": 8,
            "targets.onprem.max_nodes": 8,
            "economics.horizon": f"{self.months} months",
            "economics.utilisation": self.utilisation,
            "economics.discount_rate": self.rate,
            "tco.tax_rate": self.tax,
            "tco.depreciation": self.method,
            "tco.bonus_depreciation": self.bonus,
            "tco.growth": self.growth,
            "tco.hybrid": f"[{{owned: {self.owned}, utilisation: {self.used}, burst: {RENTED}}}]",
        } | {f"tco.owner.{key}": value for key, value in OWNER.items()}
        return [f"{key}={value}" for key, value in values.items()]


def _bill(found: Finances, key: str, *, owned: bool) -> tuple[float, float, float]:
    """Return what a bill comes to once, each month, and each month of full use."""
    once = fixed = used = 0.0
    for line in found.ledger.lines[key]:
        assert line.unit_usd is not None
        usd = line.line.quantity * line.unit_usd * (HOURS if line.line.charge == "hourly" else 1.0)
        if line.line.charge == "once":
            once += usd
        elif line.line.scales_with == "nodes" and not owned:
            used += usd
        else:
            fixed += usd
    return once, fixed, used


def _judge(found: Finances, key: str, case: Case, paid: np.ndarray, *, capex: float = 0.0, sold: float = 0.0) -> None:
    months = np.arange(case.months + 1)
    discount = (1 + case.rate) ** (-months / 12)
    taxed, left = paid * (1 - case.tax), capex
    taxed[0] += capex
    for year, share in enumerate(depreciation_fractions(case.method, bonus_fraction=case.bonus), start=1):
        if 12 * year <= case.months:
            taxed[12 * year] -= case.tax * share * capex
            left -= share * capex
    taxed[-1] += case.tax * (sold - left) - sold
    (cost,) = (entry for entry in found.costs if entry.key == key)
    (after,) = (entry for entry in found.taxed.options if entry.key == key)
    assert cost.horizon_usd == pytest.approx(capex + paid.sum() - sold, abs=0.005)
    assert cost.npv_usd == pytest.approx(capex + (paid * discount).sum() - sold * discount[-1], abs=0.005)
    assert after.npv_after_tax_usd == pytest.approx((taxed * discount).sum(), abs=0.005)


@pytest.mark.parametrize(
    "case",
    [
        Case(
            months=47,
            utilisation=0.6,
            rate=0.12,
            growth=0.25,
            tax=0.21,
            method="macrs_5",
            bonus=0.4,
            owned=0.5,
            used=0.7,
        ),
        Case(
            months=36,
            utilisation=0.8,
            rate=0.05,
            growth=-0.3,
            tax=0.35,
            method="straight_line_3",
            bonus=0.0,
            owned=0.7,
            used=0.95,
        ),
    ],
    ids=["growing", "shrinking"],
)
def test_owned_rented_and_mixed(tmp_path: Path, case: Case) -> None:
    """Totals and present values before and after tax to the cent; a mix rents what is above the nodes it owns."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    found = finances(plan_of(path, *case.overrides()), PriceBook.open(), draws=1, seed=1)
    candidates = {candidate.key: candidate for candidate in found.ledger.candidates}
    own, rented = candidates["onprem"], candidates[RENTED]
    of = {entry.key: entry.value for entry in found.ledger.parameters}
    assert own.bill.it_power_w is not None
    kw, price = own.bill.it_power_w / 1000, of["pue"] * of["power_price_usd_per_kwh"] * HOURS

    bought, fixed, _ = _bill(found, "onprem", owned=True)
    at_start = ("installation_fraction", "spares_fraction", "freight_fraction", "contingency_fraction")
    capex = bought * (1 + sum(OWNER[key] for key in at_start)) + own.gpus * OWNER["software_usd_per_gpu"]
    each_year = ("support_fraction_per_year", "insurance_fraction_per_year", "property_tax_fraction_per_year")
    fixed += (
        bought * sum(OWNER[key] for key in each_year) / 12
        + own.gpus * of["staff_fte_per_gpu"] * of["staff_usd_per_fte_year"] / 12
        + own.gpus * OWNER["software_usd_per_gpu_year"] / 12
        + OWNER["transit_usd_per_month"]
        + kw * (of["colocation_usd_per_kw_month"] + of["pue"] * OWNER["demand_usd_per_kw_month"])
        + kw * of["idle_power_fraction"] * price
    )
    drawn = kw * (of["load_power_fraction"] - of["idle_power_fraction"]) * price * case.utilisation
    sold = bought * OWNER["resale_fraction"]
    gone = own.nodes * OWNER["decommission_usd_per_server"] + bought * OWNER["decommission_fraction"]
    _, held, used = _bill(found, RENTED, owned=False)
    used *= case.utilisation * rented.calendar_days / own.calendar_days

    months = np.arange(case.months + 1)
    running = (months > 0).astype(float)
    work = (1 + case.growth) ** np.maximum(0, (months - 1) // 12)
    last = (months == case.months).astype(float)
    _judge(found, RENTED, case, (held + used * work) * running)
    if case.growth <= 0:
        _judge(found, "onprem", case, (fixed + drawn * work) * running + gone * last, capex=capex, sold=sold)
    (mix,) = (entry for entry in found.ledger.mixes if entry.key != "onprem/bridged")
    share = mix.nodes / own.nodes
    done = np.minimum(work, min(1.0, share * case.used / case.utilisation))
    paid = (share * fixed + drawn * done + (1 - share) * held + used * (work - done)) * running + share * gone * last
    _judge(found, mix.key, case, paid, capex=share * capex, sold=share * sold)
