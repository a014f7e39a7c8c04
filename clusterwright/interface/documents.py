"""Answers as JSON documents, units in the keys."""

from dataclasses import asdict
from typing import Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.finance.finances import Finances
from clusterwright.plan.record import Alternative, Plan
from clusterwright.tco.terms.records import Economics

#: Of each option, what `compare --json` prints beside its target, by the record that holds it.
COMPARED = {
    "cluster": ("instance", "nodes", "gpus"),
    "performance": ("calendar_days",),
    "money": (
        "run_usd",
        "run_usd_low",
        "run_usd_high",
        "run_share_usd",
        "horizon_usd",
        "horizon_usd_low",
        "horizon_usd_high",
        "capex_usd",
        "npv_usd",
        "npv_usd_low",
        "npv_usd_high",
        "usd_per_gpu_hour",
        "runs_in_horizon",
        "busy_fraction",
        "priced_share",
        "horizon_priced_share",
    ),
}


#: Of what money was counted with, what comparisons print.
ECONOMICS = (
    "horizon_months",
    "utilisation",
    "discount_rate",
    "hours_per_month",
    "power_price_usd_per_kwh",
    "pue",
    "runs",
    "reference_days",
    "reference_target",
    "growth_factor",
)


def comparison_document(plan: Plan) -> dict[str, Any]:
    """Return the comparison as JSON, units in the keys."""
    return {
        "schema": 1,
        "name": plan.name,
        "as_of": plan.as_of,
        "recommended": plan.recommended,
        "recommended_key": plan.recommended_key,
        "recommended_horizon": plan.recommended_horizon,
        "recommended_horizon_key": plan.recommended_horizon_key,
        "economics": economics_document(plan.economics),
        "options": [
            {"target": option.target}
            | {name: getattr(getattr(option, record), name) for record, names in COMPARED.items() for name in names}
            | {"basis": None if option.money.basis is None else asdict(option.money.basis)}
            for option in plan.options
        ],
        "breakevens": [asdict(entry) for entry in plan.breakevens],
    }


def economics_document(economics: Economics) -> dict[str, Any]:
    """Return what money was counted with, as far as it is one value each."""
    return {name: getattr(economics, name) for name in ECONOMICS}


def scenario(loaded: LoadedBlueprint, plan: Plan) -> dict[str, str]:
    """Return what gives the same numbers again: blueprint with its overrides, program, facts, day of the prices."""
    return {
        "blueprint_sha256": loaded.fingerprint,
        "clusterwright": plan.clusterwright,
        "catalogue": plan.catalogue,
        "as_of": plan.as_of,
    }


def ranking_document(plan: Plan, found: Finances) -> dict[str, Any]:
    """Return every way: `ranked` and `not_ranked`, each by present value."""
    drawn = {entry.key: entry.probability_cheapest for entry in found.drawn}
    return {
        "recommended": plan.recommended_key,
        "recommended_horizon": plan.recommended_horizon_key,
        "ranked": [_way(way) | {"probability_best": drawn.get(way.key)} for way in plan.ranked],
        "not_ranked": [_way(way) for way in plan.ranking if not way.ranked],
    }


def _way(way: Alternative) -> dict[str, Any]:
    """Return a way with the values of its records beside each other."""
    document = asdict(way)
    records = [document.pop(name) for name in ("cluster", "performance", "money")]
    del document["candidate"], document["mix"], records[1]["goodput"]
    return document | {"mixed": way.mixed} | {name: value for record in records for name, value in record.items()}
