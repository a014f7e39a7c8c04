"""The load test of a plan: the requests that it is sized for, and the same as arguments of known benchmarks."""

import json
import math
import shlex
from dataclasses import replace

from clusterwright.outputs.folder import File, text
from clusterwright.outputs.serving.engine import fields_of, longest_tokens
from clusterwright.outputs.templates import render
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.sizing.serving.service import Lengths

#: Long enough for a fleet to fill, and for a percentile of 95 to rest on hundreds of requests.
_LEAST_REQUESTS, _LIFETIMES = 1000, 20.0
_MOST_REQUESTS = 20_000


def expected(plan: ServingPlan, option: ServingOption) -> dict[str, object]:
    """Return what a load test asks, and what the plan says of it, for one replica at the peak."""
    performance = option.performance
    work, goals = plan.workload, plan.goals
    rate = performance.peak_requests_per_s / performance.replicas
    lasting = performance.mean_first_token_s + work.output_tokens * performance.mean_time_per_token_s
    requests = min(max(_LIFETIMES * lasting * rate, _LEAST_REQUESTS), _MOST_REQUESTS)
    return {
        "schema": 1,
        "service": plan.name,
        "target": option.target,
        "model": work.model,
        "replicas": performance.replicas,
        "requests_per_s_per_replica": rate,
        "requests_per_replica": math.ceil(requests),
        "input_tokens": {"mean": work.input_tokens, "p95": work.input_tokens_p95},
        "output_tokens": {"mean": work.output_tokens, "p95": work.output_tokens_p95},
        "longest_tokens": longest_tokens(plan),
        "prefix_cache_hit": work.prefix_cache_hit,
        "percentile": goals.percentile,
        "first_token_s": _band(performance.first_token_s),
        "time_per_token_s": _band(performance.time_per_token_s),
        "output_tokens_per_s_per_replica": {
            name: value / performance.replicas for name, value in _band(performance.output_tokens_per_s).items()
        },
    }


def _band(figure: object) -> dict[str, float]:
    return {name: getattr(figure, name) for name in ("value", "low", "high")}


def load_test_files(plan: ServingPlan, option: ServingOption) -> dict[str, File]:
    """Return the folder `loadtest` by name within it."""
    asked = expected(plan, option)
    scripts = {
        "load.py": render("serving", "load.py.j2"),
        "vllm_bench.sh": _script("vllm_bench.sh.j2", plan, option, asked),
        "aiperf.sh": _script("aiperf.sh.j2", plan, option, asked),
    }
    return {
        "plan.json": text(json.dumps(asked, indent=1, allow_nan=False)),
        **{name: replace(text(body.rstrip("\n")), executable=True) for name, body in scripts.items()},
        "README.md": text(render("serving", "README_loadtest.md.j2", target=option.target, title=plan.name)),
    }


def _script(name: str, plan: ServingPlan, option: ServingOption, asked: dict[str, object]) -> str:
    work, goals = plan.workload, plan.goals
    inputs = Lengths(mean=work.input_tokens, p95=work.input_tokens_p95)
    outputs = Lengths(mean=work.output_tokens, p95=work.output_tokens_p95)
    good = {"ttft": goals.first_token_s, "tpot": goals.time_per_token_s}
    return render(
        "serving",
        name,
        model=shlex.quote(work.model),
        rate=f"{option.performance.peak_requests_per_s / option.performance.replicas:.6g}",
        requests=asked["requests_per_replica"],
        shared_tokens=round(work.input_tokens * work.prefix_cache_hit),
        own_tokens=max(round(work.input_tokens * (1 - work.prefix_cache_hit)), 1),
        input_tokens=round(work.input_tokens),
        input_deviation=round(work.input_tokens * math.sqrt(inputs.variation)),
        output_tokens=round(work.output_tokens),
        output_deviation=round(work.output_tokens * math.sqrt(outputs.variation)),
        percentile=f"{goals.percentile:g}",
        goodput=" ".join(f"{key}:{seconds * 1e3:g}" for key, seconds in good.items() if seconds is not None),
        chunk=fields_of(plan, option)["chunk_tokens"],
    )
