"""What a unit of work costs on each option: tokens trained, model FLOPs, useful GPU-hours."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.plan.record import Alternative, Plan
from clusterwright.tco.formulas.finance import Levelisation, capital_recovery_factor
from clusterwright.tco.formulas.unit_cost import usd_per_million_tokens
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitCost:
    """What work costs on one option, in USD.

    Attributes:
        key: of the option.
        usd_per_million_tokens: trained, of one run.
        usd_per_effective_pflop_hour: of the model FLOPs of one run, which are those that training keeps.
        levelised_usd_per_gpu_hour: of a useful GPU-hour (hours worked x goodput), with the purchases charged as an
            annuity over the horizon.
    """

    key: str
    usd_per_million_tokens: float | None
    usd_per_effective_pflop_hour: float | None
    levelised_usd_per_gpu_hour: float | None


def unit_costs(
    plan: Plan, ledger: Ledger, costs: Sequence[CandidateCost], ways: Sequence[Alternative]
) -> tuple[UnitCost, ...]:
    """Return what units of work cost, in the order of `costs`; `ways` are behind them and their mixes."""
    goodputs = _goodputs(ways, ledger)
    economics = ledger.economics
    charge = capital_recovery_factor(economics.discount_rate, economics.horizon_months / 12.0)
    levelised = ledger.levelised(
        {
            cost.key: Levelisation(
                fixed_charge_rate=charge,
                useful_gpu_hours_per_year=cost.gpu_hours_per_run
                * cost.runs_in_horizon
                / (economics.horizon_months / 12.0)
                * goodputs[cost.key],
            )
            for cost in costs
        }
    )
    tokens, flops = plan.workload.unit_tokens, plan.workload.unit_flop
    return tuple(
        UnitCost(
            key=cost.key,
            usd_per_million_tokens=None
            if cost.run_usd is None or tokens is None
            else usd_per_million_tokens(usd=cost.run_usd, tokens=tokens),
            usd_per_effective_pflop_hour=None
            if cost.run_usd is None or flops is None
            else cost.run_usd / (flops / 1e15 / 3600.0),
            levelised_usd_per_gpu_hour=levelised[cost.key].usd_per_useful_gpu_hour if cost.key in levelised else None,
        )
        for cost in costs
    )


def _goodputs(ways: Sequence[Alternative], ledger: Ledger) -> dict[str, float]:
    """Return the productive share of the hours of every option; of a mix by the shares of its work."""
    by_key = {way.key: way.performance.goodput for way in ways if way.performance.goodput is not None}
    return by_key | {
        key: sum(by_key[part] * share for part, share in shares.items()) for key, shares in ledger.work_shares.items()
    }
