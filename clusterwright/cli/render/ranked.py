"""Every option of a comparison in one table, best first, and what the comparison can be repeated from."""

from collections.abc import Collection, Sequence

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.cli.render.text_table import Column, left_out, prose, table
from clusterwright.finance.finances import Finances
from clusterwright.outputs.markdown import markdown_table
from clusterwright.plan.alternatives.hybrids import has_contracts_or_mixes
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import (
    BAND,
    NONE,
    RANKED,
    again_text,
    answers_text,
    cash_text,
    days_shown,
    median_of,
    paper_title,
    paper_ways,
    rule_text,
    share_text,
    span_text,
    time_column,
)
from clusterwright.plan.text.words import term_text
from clusterwright.units import percent

_SHORT = 12
#: Title of the column with the share of draws in which a way is the cheapest.
_BEST = "best in"


def scenario_line(loaded: LoadedBlueprint, plan: Plan) -> str:
    """Return the same as a line for a terminal."""
    return (
        f"  Scenario: blueprint {loaded.fingerprint[:_SHORT]}, Clusterwright {plan.clusterwright}, "
        f"catalogue {plan.catalogue}; with economics.as_of: {plan.as_of} they give the same numbers again."
    )


def ranking_lines(plan: Plan, found: Finances, *, money: MoneyFormat, details: bool = False) -> list[str]:
    """Return every way over all targets, hardware, terms, contracts and mixes, and apart those that are not ranked.

    Args:
        plan: with its ranking.
        found: the plan in the terms of finance.
        details: also how each ranked way is planned again.
        money: how amounts are written.
    """
    if not plan.ranking:
        return []
    lines = []
    if plan.ranked:
        columns, rows = _columns(_titles(plan, RANKED, money)), _rows(plan, found, money)
        lines = [table(columns, rows), f"  {_legend(plan, found, left_out(columns, rows))}"]
        lines += _again_lines(plan) if details else ["  --details: how to plan each row again"]
    if paper_ways(plan):
        lines += [
            *([""] if lines else []),
            table(_columns(_paper_titles(plan, money)), _paper_rows(plan, money)),
            *_left_out(plan),
        ]
    return lines


def _again_lines(plan: Plan) -> list[str]:
    """Return what makes each ranked way the plan's option."""
    lines = ["", "  To plan a row again"]
    for way in plan.ranked:
        lines += [f"    {term_text(way.key)}", *prose(again_text(way), indent=6, hanging=8)]
    return lines


#: How soon a column is left out in a narrow terminal, by the begin of its title, the highest first; others never.
_DROP = {BAND: 3.0, _BEST: 2.0, "nodes": 1.5, "share of ": 1.0}
#: The same by the end of its title.
_DROP_BY_END = {"months": 5.0, "GPU-h": 5.0}


def _columns(titles: Sequence[str]) -> list[Column]:
    """Return columns of which the first has names, and reasons are prose."""
    return [
        Column(
            title,
            "left" if not place or title in {"why", "answer"} else "",
            drop=_drop(title),
            prose=title == "why",
        )
        for place, title in enumerate(titles)
    ]


def _drop(title: str) -> float:
    found = [drop for begin, drop in _DROP.items() if title.startswith(begin)]
    return max([*found, *(drop for end, drop in _DROP_BY_END.items() if title.endswith(end))], default=0.0)


def ranking_markdown(plan: Plan, found: Finances, money: MoneyFormat) -> list[str]:
    """Return the ranked ways as Markdown where the blueprint has contracts or mixes, which no other table shows."""
    if not has_contracts_or_mixes(plan) or not plan.ranking:
        return []
    return [
        "",
        *markdown_table(_titles(plan, RANKED, money), _rows(plan, found, money)),
        "",
        _legend(plan, found),
    ]


def _titles(plan: Plan, first: str, money: MoneyFormat) -> tuple[str, ...]:
    months = f"{plan.economics.horizon_months:.0f} months"
    per_hour = f"{money.code}/GPU-h"
    unit = plan.workload.unit
    return (
        first,
        "nodes",
        *days_shown(plan, time_column(plan.ranking)),
        unit.asked,
        BAND,
        f"share of {unit.each}",
        months,
        "NPV",
        BAND,
        per_hour,
        _BEST,
        "answer",
    )


def _rows(plan: Plan, found: Finances, money: MoneyFormat) -> list[list[str]]:
    drawn = {entry.key: entry for entry in found.drawn}
    return [
        [
            *_figures(plan, way, money=money),
            percent(drawn[way.key].probability_cheapest) if way.key in drawn else NONE,
            answers_text(plan, way.key),
        ]
        for way in plan.ranked
    ]


def _paper_titles(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    return (*(title for title in _titles(plan, paper_title(plan), money)[:-2] if title != BAND), "why")


def _paper_rows(plan: Plan, money: MoneyFormat) -> list[list[str]]:
    return [[*_figures(plan, way, bands=False, money=money), way.reason] for way in paper_ways(plan)]


def _figures(plan: Plan, way: Alternative, *, money: MoneyFormat, bands: bool = True) -> list[str]:
    of_run = span_text(way.money.run_usd, way.money.run_usd_low, way.money.run_usd_high, money)
    of_horizon = span_text(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high, money)
    return [
        term_text(way.key),
        f"{way.cluster.nodes:,}",
        *days_shown(plan, median_of(way, time_column(plan.ranking))),
        cash_text(way, money),
        *([of_run] if bands else []),
        share_text(way, money),
        money.text(way.money.horizon_usd),
        money.text(way.money.npv_usd),
        *([of_horizon] if bands else []),
        "unknown" if way.money.usd_per_gpu_hour is None else f"{money.amount(way.money.usd_per_gpu_hour):.2f}",
    ]


def _left_out(plan: Plan) -> list[str]:
    dearer = len(plan.ranking) - len(plan.ranked) - len(paper_ways(plan))
    return [f"  {dearer} dearer ways are not ranked either: compare --json has them"] if dearer else []


def _legend(plan: Plan, found: Finances, hidden: Collection[str] = ()) -> str:
    """Return what the columns say, but for those that are hidden, and for draws where none was made of a ranked way."""
    drawn = {entry.key for entry in found.drawn}.intersection(way.key for way in plan.ranked)
    share = f"share of {found.draws:,} draws of the assumptions in which its NPV is least"
    return rule_text(plan, hidden, {_BEST: share} if drawn else {})
