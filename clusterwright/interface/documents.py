"""Answers as JSON documents, units in the keys."""

from dataclasses import asdict
from typing import Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.finance.finances import Finances
from clusterwright.plan.record import Plan

#: Of each option, what `compare --json` prints.
COMPARED = (
    "target",
    "instance",
    "nodes",
    "gpus",
    "calendar_days",
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
        "economics": asdict(plan.economics),
        "options": [
            {name: getattr(option, name) for name in COMPARED}
            | {"basis": None if option.basis is None else asdict(option.basis)}
            for option in plan.options
        ],
        "breakevens": [asdict(entry) for entry in plan.breakevens],
    }


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
        "ranked": [asdict(way) | {"probability_best": drawn.get(way.key)} for way in plan.ranked],
        "not_ranked": [asdict(way) for way in plan.ranking if not way.ranked],
    }
