"""A dashboard for Grafana: the goals with what the plan predicts, queue, keys and values, tokens and their price."""

from collections.abc import Callable, Sequence
from typing import Any

from clusterwright.outputs.serving.engine import Engine
from clusterwright.outputs.serving.monitoring import price_query
from clusterwright.outputs.serving.pools import Pool
from clusterwright.plan.serving.record import ServingOption, ServingPerformance, ServingPlan

#: Of dashboards that Grafana 10 and newer read as they are (its JSON model, `schemaVersion`).
_SCHEMA = 39
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 24
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard(plan: ServingPlan, option: ServingOption, engine: Engine, before: Pool | None = None) -> dict[str, Any]:
    """Return the dashboard; its variable `source` is the data source with the service's figures.

    Args:
        plan: with the goals.
        option: the target.
        engine: of the replicas, or of the workers that decode.
        before: the workers that prefill, where there are any.
    """
    panels = [
        {
            **panel,
            "id": number + 1,
            "gridPos": {
                "h": _HEIGHT,
                "w": _WIDTH,
                "x": number * _WIDTH % _COLUMNS,
                "y": number * _WIDTH // _COLUMNS * _HEIGHT,
            },
        }
        for number, panel in enumerate([*_panels(plan, option, engine), *_of_inputs(plan, before)])
    ]
    return {
        "title": f"{plan.name}: service against its plan",
        "uid": plan.name,
        "schemaVersion": _SCHEMA,
        "version": 1,
        "editable": True,
        "tags": ["serving"],
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "annotations": {"list": []},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": panels,
    }


def _panels(plan: ServingPlan, option: ServingOption, engine: Engine) -> list[dict[str, Any]]:
    performance = option.performance
    share, goals = plan.goals.percentile / 100.0, plan.goals
    at = f"P{plan.goals.percentile:g}"

    def of(field: str, suffix: str = "") -> str:
        return engine.series(field, plan.workload.model, suffix=suffix)

    def quantile(field: str) -> str:
        return f"histogram_quantile({share:g}, sum by (le) (rate({of(field, '_bucket')}[5m])))"

    panels = [
        _panel(
            f"First token, {at}",
            [
                (at, quantile("first_token_s")),
                ("planned at the peak", f"vector({performance.first_token_s.value:.6g})"),
            ],
            unit="s",
            limit=goals.first_token_s,
        ),
        _panel(
            f"Time per token, {at}",
            [
                (at, quantile("time_per_token_s")),
                ("planned at the peak", f"vector({performance.time_per_token_s.value:.6g})"),
            ],
            unit="s",
            limit=goals.time_per_token_s,
        ),
        _in_flight("Requests in flight", of, performance),
        _panel(
            "Keys and values, share of each replica's memory",
            [("mean", f"avg({of('cache_share')})"), ("fullest", f"max({of('cache_share')})")],
            unit="percentunit",
            limit=0.9,
        ),
        _panel(
            "Tokens per second",
            [
                ("output", f"sum(rate({of('output_tokens')}[5m]))"),
                ("input", f"sum(rate({of('input_tokens')}[5m]))"),
                ("output planned at the peak", f"vector({performance.output_tokens_per_s.value:.6g})"),
            ],
            unit="short",
        ),
        _answering("Replicas that answer", "replicas", of, performance),
    ]
    price = price_query(plan, option, engine)
    if price:
        planned = option.money.usd_per_million_tokens.output
        panels.append(
            _panel(
                "USD per million output tokens, the last hour",
                [("now", price), ("planned at the mean traffic", f"vector({planned:.6g})")],
                unit="currencyUSD",
            )
        )
    return panels


def _of_inputs(plan: ServingPlan, before: Pool | None) -> list[dict[str, Any]]:
    """Return the panels of the workers that prefill."""
    if before is None:
        return []
    performance = before.option.performance

    def of(field: str) -> str:
        return before.engine.series(field, plan.workload.model)

    return [
        _in_flight("Inputs at the workers that prefill", of, performance),
        _answering("Workers that prefill", "workers", of, performance),
    ]


def _in_flight(title: str, of: Callable[[str], str], performance: ServingPerformance) -> dict[str, Any]:
    queries = [
        ("running", f"sum({of('requests_running')})"),
        ("waiting", f"sum({of('requests_waiting')})"),
        ("planned at the peak", f"vector({performance.in_flight * performance.replicas:.6g})"),
    ]
    return _panel(title, queries, unit="short")


def _answering(title: str, unit: str, of: Callable[[str], str], performance: ServingPerformance) -> dict[str, Any]:
    queries = [
        (unit, f"count({of('requests_running')})"),
        ("planned", f"vector({performance.replicas + performance.spare_replicas})"),
    ]
    return _panel(title, queries, unit="short")


def _panel(title: str, queries: Sequence[tuple[str, str]], *, unit: str, limit: float | None = None) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if limit is not None:
        steps.append({"color": "red", "value": limit})
    return {
        "type": "timeseries",
        "title": title,
        "datasource": dict(_SOURCE),
        "fieldConfig": {
            "defaults": {
                "unit": unit,
                "min": 0,
                "thresholds": {"mode": "absolute", "steps": steps},
                "custom": {"thresholdsStyle": {"mode": "line" if limit is not None else "off"}},
            },
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": dict(_SOURCE), "expr": query, "legendFormat": legend}
            for at, (legend, query) in enumerate(queries)
        ],
    }
