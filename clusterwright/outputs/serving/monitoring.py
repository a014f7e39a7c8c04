"""What watches a service: rules of Prometheus on the goals of the blueprint, and a dashboard for Grafana.

A goal is met by a share of requests, its percentile; the rest is its budget of errors. Alerts are on how fast the
budget is used up, over a long and a short window each (Google, The Site Reliability Workbook, chapter 5, "Multiwindow,
Multi-Burn-Rate Alerts": 14.4 times over 1 h and 5 min, 6 times over 6 h and 30 min, once over 3 d and 6 h).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.outputs.serving.engine import Engine, Metric, query_text
from clusterwright.outputs.serving.pools import NAME_LABEL, Pool
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.units import SECONDS_PER_HOUR

#: Long window, short window, how many times as fast as the budget allows, and how urgent that is.
_WINDOWS = (("1h", "5m", 14.4, "page"), ("6h", "30m", 6.0, "page"), ("3d", "6h", 1.0, "ticket"))
#: Share of keys and values beyond which sequences are likely to be put off, and how long; assumptions.
_CACHE_SHARE, _CACHE_FOR = 0.9, "10m"
_WAITING_FOR = "5m"
_MILLION = 1e6
_PERCENT = 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """One goal as Prometheus can measure it.

    Attributes:
        field: of the engine's metrics; words: for people; goal_s: as the blueprint has it.
        bound_s: the upper end of the bucket that is counted: the largest not above the goal, so that none who misses it
            is counted as good.
        budget: share of the requests that may miss it.
    """

    field: str
    words: str
    goal_s: float
    bound_s: float
    budget: float
    metric: Metric


def goals(plan: ServingPlan, engine: Engine, unseen_s: float = 0.0) -> tuple[Goal, ...]:
    """Return the goals of a plan that buckets of the engine can tell; none where all buckets are above a goal.

    Args:
        plan: with the goals.
        engine: with the buckets.
        unseen_s: of a first token, what comes after those workers that measure it.
    """
    asked = plan.goals
    found = []
    for field, words, goal, after_s in (
        ("first_token_s", "first token", asked.first_token_s, unseen_s),
        ("time_per_token_s", "time per token", asked.time_per_token_s, 0.0),
    ):
        metric = engine.metrics.get(field)
        least = 0.0 if goal is None else goal * (1 + 1e-9) - after_s
        bounds = [] if metric is None or goal is None else [one for one in metric.bounds if one <= least]
        if metric is not None and goal is not None and bounds:
            found.append(
                Goal(
                    field=field,
                    words=words,
                    goal_s=goal,
                    bound_s=bounds[-1],
                    budget=1.0 - asked.percentile / _PERCENT,
                    metric=metric,
                )
            )
    return tuple(found)


def _missed(plan: ServingPlan, engine: Engine, goal: Goal, window: str) -> str:
    """Return the share of requests in a window that missed a goal, as PromQL."""
    model = plan.workload.model
    within = engine.series(goal.field, model, suffix="_bucket", further=f'le="{goal.bound_s!r}"')
    of_all = engine.series(goal.field, model, suffix="_count")
    return f"1 - sum(rate({within}[{window}])) / sum(rate({of_all}[{window}]))"


def _rule_name(field: str) -> str:
    return f"service:{field.removesuffix('_s')}_missed:ratio_rate"


def rules(
    plan: ServingPlan, option: ServingOption, engine: Engine, *, unseen_s: float = 0.0, before: Pool | None = None
) -> dict[str, Any]:
    """Return the groups of rules, as a file of Prometheus has them.

    Args:
        plan: with the goals.
        option: the target.
        engine: of the replicas, or of the workers that decode.
        unseen_s: of a first token, what comes after those workers that measure it.
        before: the workers that prefill, where there are any.
    """
    measured = goals(plan, engine, unseen_s)
    windows = list(dict.fromkeys(window for long, short, *_ in _WINDOWS for window in (long, short)))
    service = {"service": plan.name}
    records: list[dict[str, Any]] = [
        {
            "record": f"{_rule_name(goal.field)}{window}",
            "expr": _missed(plan, engine, goal, window),
            "labels": dict(service),
        }
        for goal in measured
        for window in windows
    ]
    price = price_query(plan, option, engine)
    if price:
        records.append({"record": "service:usd_per_million_output_tokens:rate1h", "expr": price, "labels": service})
    return {
        "groups": [
            {"name": f"{plan.name}-records", "interval": "30s", "rules": records},
            {
                "name": f"{plan.name}-alerts",
                "rules": [*_burning(plan, measured), *_filling(plan, option, engine), *_inputs(plan, before)],
            },
        ]
    }


def _burning(plan: ServingPlan, measured: Sequence[Goal]) -> Iterator[dict[str, Any]]:
    of = f"{{service={query_text(plan.name)}}}"
    for goal in measured:
        name = "".join(word.capitalize() for word in goal.words.split())
        for long, short, times, severity in _WINDOWS:
            most = f"{times * goal.budget:.6g}"
            record = _rule_name(goal.field)
            yield {
                "alert": f"{name}BudgetBurns",
                "expr": f"{record}{long}{of} > {most} and {record}{short}{of} > {most}",
                "labels": {"service": plan.name, "severity": severity, "window": long},
                "annotations": {
                    "summary": (
                        f"{goal.words} is above {goal.bound_s:g} s for more than {times:g} times the share that the "
                        f"goal of P{plan.goals.percentile:g} allows, over {long} and {short}"
                    ),
                },
            }


def _filling(plan: ServingPlan, option: ServingOption, engine: Engine) -> Iterator[dict[str, Any]]:
    waiting, running, cache = (
        engine.series(field, plan.workload.model) for field in ("requests_waiting", "requests_running", "cache_share")
    )
    planned = option.performance.in_flight * option.performance.replicas
    labels = {"service": plan.name, "severity": "ticket"}
    yield {
        "alert": "RequestsWait",
        "expr": f"sum({waiting}) > 0.1 * sum({running})",
        "for": _WAITING_FOR,
        "labels": {**labels, "severity": "page"},
        "annotations": {"summary": "more than a tenth as many requests wait as run: replicas are too few or too slow"},
    }
    yield {
        "alert": "KeysAndValuesFull",
        "expr": f"max({cache}) > {_CACHE_SHARE:g}",
        "for": _CACHE_FOR,
        "labels": dict(labels),
        "annotations": {"summary": "a replica's memory of keys and values is nearly full: sequences will be put off"},
    }
    yield {
        "alert": "LoadAbovePlan",
        "expr": f"sum({running}) + sum({waiting}) > {planned:.6g}",
        "for": "15m",
        "labels": dict(labels),
        "annotations": {
            "summary": f"more requests are in flight than the {planned:,.0f} that the plan meets its goals with"
        },
    }


def _inputs(plan: ServingPlan, before: Pool | None) -> Iterator[dict[str, Any]]:
    """Yield the alert on inputs that wait for workers which prefill: twice as many as at the planned peak."""
    if before is None:
        return
    running, waiting = (
        before.engine.series(field, plan.workload.model) for field in ("requests_running", "requests_waiting")
    )
    performance = before.option.performance
    yield {
        "alert": "InputsWait",
        "expr": f"sum({running}) + sum({waiting}) > {2.0 * performance.in_flight * performance.replicas:.6g}",
        "for": _WAITING_FOR,
        "labels": {"service": plan.name, "severity": "page"},
        "annotations": {"summary": "twice as many inputs as planned are at the workers that prefill: they are too few"},
    }


def price_query(plan: ServingPlan, option: ServingOption, engine: Engine) -> str:
    """Return the dollars of a million output tokens now, as PromQL; empty where the price of a month is unknown.

    The plan's month is paid whole, so that tokens are dear while few are asked for.
    """
    usd = option.money.usd_per_million_tokens.output
    if usd is None or "output_tokens" not in engine.metrics:
        return ""
    per_month = usd * option.performance.output_tokens_per_month / _MILLION
    per_s = per_month / plan.workload.month_s
    return f"{per_s * _MILLION:.6g} / sum(rate({engine.series('output_tokens', plan.workload.model)}[1h]))"


def prometheus_rule(plan: ServingPlan, namespace: str, groups: dict[str, Any]) -> dict[str, Any]:
    """Return the rules as a resource of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": plan.name, "namespace": namespace, "labels": {"app.kubernetes.io/name": plan.name}},
        "spec": groups,
    }


def pod_monitor(name: str, namespace: str, labels: dict[str, str], *, port: str = "http") -> dict[str, Any]:
    """Return what has the Prometheus operator read the figures of every pod with some labels."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": name, "namespace": namespace, "labels": {NAME_LABEL: labels[NAME_LABEL]}},
        "spec": {
            "selector": {"matchLabels": labels},
            "podMetricsEndpoints": [{"port": port, "path": "/metrics", "interval": "15s"}],
        },
    }


def usd_per_hour(plan: ServingPlan, option: ServingOption) -> float | None:
    """Return what the plan's month costs for each of its hours."""
    usd = option.money.usd_per_million_tokens.output
    if usd is None:
        return None
    return usd * option.performance.output_tokens_per_month / _MILLION / (plan.workload.month_s / SECONDS_PER_HOUR)
