"""Records from the rows of the metric queries; unknown values stay None."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.formulas.unit_cost import RunAmounts, RunPart, RunTotal, usd_per_gpu_hour
from clusterwright.tco.terms.records import (
    Breakeven,
    Candidate,
    CandidateCost,
    CategoryCost,
    CumulativePoint,
    Economics,
    MissingPrice,
    PricedLine,
)

Row = Mapping[str, Any]
#: Every assumption at its base value, at its low end, and at its high end.
SCENARIOS = ("base", "low", "high")


def candidate_costs(
    candidates: Sequence[Candidate],
    economics: Economics,
    lines: Mapping[str, tuple[PricedLine, ...]],
    *,
    work: Sequence[Row],
    totals: Sequence[Row],
    runs: Mapping[tuple[str, str], RunTotal],
    categories: Sequence[Row],
    mixed: Collection[str] = (),
) -> tuple[CandidateCost, ...]:
    """Return the cost of each candidate from its totals in all scenarios and its priced lines."""
    work_by_key = {row["key"]: row for row in work}
    total_by_key = {(row["key"], row["scenario"]): row for row in totals}
    categories_by_key: dict[str, list[Row]] = defaultdict(list)
    for row in categories:
        categories_by_key[row["key"]].append(row)
    return tuple(
        _candidate_cost(
            candidate,
            term=candidate.term or economics.term,
            lines=lines[candidate.key],
            work=work_by_key[candidate.key],
            totals={scenario: total_by_key.get((candidate.key, scenario), {}) for scenario in SCENARIOS},
            runs={scenario: runs.get((candidate.key, scenario)) for scenario in SCENARIOS},
            categories=categories_by_key[candidate.key],
            mixed=candidate.key in mixed,
        )
        for candidate in candidates
    )


def _candidate_cost(
    candidate: Candidate,
    *,
    term: str,
    lines: tuple[PricedLine, ...],
    work: Row,
    totals: Mapping[str, Row],
    runs: Mapping[str, RunTotal | None],
    categories: Sequence[Row],
    mixed: bool,
) -> CandidateCost:
    base, low, high = (totals[scenario] for scenario in SCENARIOS)
    feasible = work["fits"]
    run = runs["base"]
    run_usd, run_usd_low, run_usd_high = (
        None if total is None else total.usd for total in (runs[scenario] for scenario in SCENARIOS)
    )
    return CandidateCost(
        key=candidate.key,
        target=candidate.target,
        owned=candidate.owned,
        nodes=candidate.nodes,
        gpus=candidate.gpus,
        calendar_days=candidate.calendar_days,
        term="purchase" if candidate.owned else term,
        run_usd=run_usd,
        run_usd_low=run_usd_low,
        run_usd_high=run_usd_high,
        horizon_usd=base.get("horizon_usd") if feasible else None,
        horizon_usd_low=low.get("horizon_usd") if feasible else None,
        horizon_usd_high=high.get("horizon_usd") if feasible else None,
        capex_usd=base.get("capex_usd"),
        capex_usd_low=low.get("capex_usd"),
        capex_usd_high=high.get("capex_usd"),
        npv_usd=base.get("npv_usd") if feasible else None,
        npv_usd_low=low.get("npv_usd") if feasible else None,
        npv_usd_high=high.get("npv_usd") if feasible else None,
        usd_per_gpu_hour=None
        if run_usd is None
        else usd_per_gpu_hour(run_usd=run_usd, gpu_hours=work["gpu_hours_per_run"]),
        runs_in_horizon=work["runs"],
        busy_fraction=work["busy_fraction"],
        priced_share=None if run is None else run.priced_share,
        horizon_priced_share=base.get("horizon_priced_share") if feasible else None,
        capex_priced_share=base.get("capex_priced_share"),
        missing=tuple(
            MissingPrice(sku=line.line.sku, item=line.line.item, region=line.line.region, reason=line.note)
            for line in lines
            if line.unit_usd is None
        ),
        lines=lines,
        run_breakdown=_breakdown(categories, "run"),
        horizon_breakdown=_breakdown(categories, "horizon") if feasible else (),
        mixed=mixed,
        competes=candidate.competes,
        shared=mixed or candidate.binds or term in COMMITTED_TERMS,
        gpu_hours_per_run=work["gpu_hours_per_run"],
    )


def run_parts(rows: Sequence[Row]) -> dict[tuple[str, str], list[RunPart]]:
    """Return the parts of each option and scenario from the rows of `run_total`."""
    parts: dict[tuple[str, str], list[RunPart]] = defaultdict(list)
    for row in rows:
        parts[row["key"], row["scenario"]].append(
            RunPart(
                paid=_run_amounts(row, "usd"),
                absolute=_run_amounts(row, "absolute_usd"),
                priced=_run_amounts(row, "priced_usd"),
                runs=row["runs"],
                share_while_held=row["share_while_held"],
                share_while_running=row["share_while_running"],
            )
        )
    return parts


def _run_amounts(row: Row, column: str) -> RunAmounts:
    return RunAmounts(
        variable_usd=row[f"variable_{column}"], held_usd=row[f"held_{column}"], running_usd=row[f"running_{column}"]
    )


def _breakdown(categories: Sequence[Row], view: str) -> tuple[CategoryCost, ...]:
    costs = [
        CategoryCost(category=row["category"], usd=row[f"{view}_usd"], priced_usd=row[f"{view}_priced_usd"])
        for row in categories
    ]
    return tuple(sorted(costs, key=lambda cost: (-abs(cost.usd), cost.category)))


def breakevens(*, months: Sequence[Row], utilisations: Sequence[Row], horizon_months: float) -> tuple[Breakeven, ...]:
    """Return breakeven month and utilisation of each pair, with the reason if one of them is None."""
    by_pair: dict[tuple[str, str], dict[str, float | None]] = defaultdict(dict)
    for row in months:
        by_pair[row["owned_key"], row["rented_key"]][row["scenario"]] = row["months"]
    return tuple(_breakeven(row, by_pair[row["owned_key"], row["rented_key"]], horizon_months) for row in utilisations)


def _breakeven(row: Row, months: Mapping[str, float | None], horizon_months: float) -> Breakeven:
    utilisation = row["utilisation"]
    reasons = []
    if months["base"] is None:
        reasons.append(f"the purchase is not paid back within {horizon_months:g} months")
    if utilisation is None:
        reasons.append("renting costs less at every utilisation")
    elif utilisation > 1:
        reasons.append("renting costs less even at full utilisation")
    return Breakeven(
        owned_key=row["owned_key"],
        rented_key=row["rented_key"],
        months=months["base"],
        months_low=months["low"],
        months_high=months["high"],
        utilisation=None if utilisation is None or utilisation > 1 else utilisation,
        reason="; ".join(reasons),
    )


def cumulative_points(rows: Sequence[Row]) -> tuple[CumulativePoint, ...]:
    """Return one point for each candidate and month with the cash of all three scenarios."""
    by_point: dict[tuple[str, float], dict[str, float]] = defaultdict(dict)
    for row in rows:
        by_point[row["key"], row["month_end"]][row["scenario"]] = row["usd"]
    return tuple(
        CumulativePoint(key=key, month=month, usd=usd["base"], usd_low=usd["low"], usd_high=usd["high"])
        for (key, month), usd in sorted(by_point.items())
    )
