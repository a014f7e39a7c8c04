"""Every option of a comparison in one table, best first, and what the comparison can be repeated from."""

from typing import Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.cli.text_table import table
from clusterwright.outputs.markdown import markdown_table
from clusterwright.plan.chance_words import not_called
from clusterwright.plan.finances import Finances
from clusterwright.plan.money import money, told, told_code
from clusterwright.plan.record import Plan
from clusterwright.plan.words import term_text
from clusterwright.units import percent

_SHORT = 12


def scenario(loaded: LoadedBlueprint, plan: Plan) -> dict[str, str]:
    """Return what gives the same numbers again: blueprint with its overrides, program, facts, day of the prices."""
    return {
        "blueprint_sha256": loaded.fingerprint,
        "clusterwright": plan.clusterwright,
        "catalogue": plan.catalogue,
        "as_of": plan.as_of,
    }


def scenario_line(loaded: LoadedBlueprint, plan: Plan) -> str:
    """Return the same as a line for a terminal."""
    return (
        f"  Scenario: blueprint {loaded.fingerprint[:_SHORT]}, Clusterwright {plan.clusterwright}, "
        f"catalogue {plan.catalogue}; with economics.as_of: {plan.as_of} they give the same numbers again."
    )


def ranking_lines(plan: Plan, found: Finances) -> list[str]:
    """Return every option over all targets, hardware, terms, contracts and mixes, the cheapest present value first."""
    if not found.costs:
        return []
    columns = [(title, "" if place else "left") for place, title in enumerate(_titles(plan))]
    return [table(columns, _rows(found)), _legend(found)]


def ranking_markdown(plan: Plan, found: Finances) -> list[str]:
    """Return the same as Markdown where the blueprint has contracts or mixes, which no other table of it shows."""
    if not (plan.tco.contracts or plan.tco.hybrid) or not found.costs:
        return []
    return ["", *markdown_table(_titles(plan), _rows(found)), "", _legend(found).strip()]


def _titles(plan: Plan) -> tuple[str, ...]:
    months = f"{plan.economics.horizon_months:.0f} months"
    return ("Every way, best first", "nodes", "days", "this run", months, "NPV", f"{told_code()}/GPU-h", "best in")


def _rows(found: Finances) -> list[list[str]]:
    drawn = {entry.key: entry for entry in found.drawn}
    return [
        [
            term_text(cost.key),
            f"{cost.nodes:,}",
            f"{cost.calendar_days:.1f}",
            money(cost.run_usd),
            money(cost.horizon_usd),
            money(cost.npv_usd),
            "unknown" if cost.usd_per_gpu_hour is None else f"{told(cost.usd_per_gpu_hour):.2f}",
            percent(drawn[cost.key].probability_cheapest) if cost.competes and cost.key in drawn else "–",
        ]
        for cost in found.costs
    ]


def _legend(found: Finances) -> str:
    legend = (
        "  best first: by NPV, the present value of what is paid; "
        f"best in: share of {found.draws:,} draws of the assumptions in which it costs least"
    )
    why = not_called(found)
    return f"{legend}; –: {why}" if why else legend


def ranking_document(found: Finances) -> list[dict[str, Any]]:
    """Return the same for programs, best first."""
    drawn = {entry.key: entry.probability_cheapest for entry in found.drawn}
    names = (
        "key", "target", "term", "owned", "mixed", "competes", "nodes", "gpus", "calendar_days", "run_usd",
        "horizon_usd", "npv_usd", "usd_per_gpu_hour",
    )  # fmt: skip
    return [
        {name: getattr(cost, name) for name in names}
        | {
            "instance": found.offers[cost.key].instance if cost.key in found.offers else "",
            "accelerator": found.offers[cost.key].accelerator if cost.key in found.offers else "",
            "note": found.offers[cost.key].note if cost.key in found.offers else "",
            "probability_best": drawn.get(cost.key) if cost.competes else None,
        }
        for cost in found.costs
    ]
