"""The service of a blueprint as sizing takes it, and what it needs of storage."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, serve_of
from clusterwright.blueprint.workloads.serving import TokenLengths
from clusterwright.errors import InputError
from clusterwright.sizing.columns import Array
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.sizing.serving.configuration import framework_of
from clusterwright.sizing.serving.requests import POINTS, Requests, mix_of, rate_of, read_trace
from clusterwright.sizing.serving.search import ServingSize
from clusterwright.sizing.serving.service import LatencyGoals, Lengths, Load, Service
from clusterwright.units import HOURS_PER_YEAR, SECONDS_PER_HOUR
from clusterwright.workload.inference import inference_model

#: Versions of the weights on shared storage: the one that runs, and the one that replaces it.
_VERSIONS = 2.0
_PERCENT = 100.0
_P95 = 0.95


def service_of(blueprint: Blueprint, resolved: Resolved) -> Service:
    """Return the blueprint's service at the peak of its last day, as sizing takes it."""
    workload, traffic = serve_of(blueprint)
    asked = requests_of(blueprint)
    options, fixed, goals = workload.options, workload.parallelism, blueprint.goals
    busiest = traffic.peak * growth_factor(blueprint)
    return Service(
        model=inference_model(resolved.model),
        framework=framework_of(workload.framework),
        precision=sixteen_bits(workload.precision),
        cache_precision=sixteen_bits(workload.kv_precision or ""),
        speculative="" if options.speculative == "none" else options.speculative,
        inputs=asked.inputs,
        outputs=asked.outputs,
        prefix_share=asked.prefix_share,
        load=load_of(blueprint, busiest),
        goals=LatencyGoals(
            first_token_s=goals.first_token,
            time_per_token_s=goals.time_per_token,
            percentile=goals.percentile / _PERCENT,
            confidence=goals.confidence,
        ),
        most_sequences=float("inf") if options.max_sequences is None else float(options.max_sequences),
        tensor=fixed.tensor,
        pipeline=fixed.pipeline,
        expert=fixed.expert,
        spread_attention=options.attention_data_parallel,
        spare_replicas=blueprint.replicas.spare,
    )


def sixteen_bits(precision: str) -> str:
    """Return a format under the name that measurements have it by: fp16 is as wide and as fast as bf16."""
    return "bf16" if precision == "fp16" else precision


def growth_factor(blueprint: Blueprint) -> float:
    """Return the traffic at the end of the horizon over that of today."""
    _, traffic = serve_of(blueprint)
    years = blueprint.economics.horizon / (HOURS_PER_YEAR * SECONDS_PER_HOUR)
    return float((1.0 + traffic.growth) ** years)


def load_of(blueprint: Blueprint, factor: float) -> Load:
    """Return a given number of times the mean load that the blueprint gives for today."""
    _, traffic = serve_of(blueprint)
    if traffic.users is None:
        return Load(requests_per_s=(requests_of(blueprint).requests_per_s or 0.0) * factor)
    users = (traffic.users or 0.0) * factor
    if traffic.active_share is not None:
        return Load(users=users * traffic.active_share)
    return Load(users=users, think_s=traffic.think_time or 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRequests:
    """What a service's requests are like.

    Attributes:
        prefix_share: of the input, that is in memory.
        requests_per_s: mean, of the blueprint or of its trace; None where users ask.
    """

    inputs: Lengths
    outputs: Lengths
    prefix_share: float
    requests_per_s: float | None


def requests_of(blueprint: Blueprint) -> AskedRequests:
    """Return the requests that a blueprint describes, or those of its trace.

    Raises:
        InputError: the trace cannot be read, or has wrong lines; with its place in the blueprint.
    """
    _, traffic = serve_of(blueprint)
    if traffic.trace is None:
        assert traffic.input_tokens is not None  # noqa: S101 - the blueprint has them or a trace
        assert traffic.output_tokens is not None  # noqa: S101
        return AskedRequests(
            inputs=_lengths(traffic.input_tokens),
            outputs=_lengths(traffic.output_tokens),
            prefix_share=traffic.prefix_cache_hit,
            requests_per_s=traffic.requests_per_s,
        )
    path = Path(traffic.trace)
    try:
        found = _traced(path, path.stat().st_mtime_ns if path.exists() else 0)
        rate = traffic.requests_per_s
        if rate is None and traffic.users is None:
            rate = rate_of(found, path)
    except InputError as error:
        error.path = error.path or ("traffic", "trace")
        raise
    cached = mix_of(found).cached_share
    return AskedRequests(
        inputs=_measured(found.input_tokens),
        outputs=_measured(found.output_tokens),
        prefix_share=traffic.prefix_cache_hit if "prefix_cache_hit" in traffic.model_fields_set else cached,
        requests_per_s=rate,
    )


@lru_cache(maxsize=4)
def _traced(path: Path, changed_ns: int) -> Requests:  # noqa: ARG001 - a file that changed is read again
    return read_trace(path)


def _measured(tokens: Array) -> Lengths:
    """Return lengths of single requests as equally likely ones, with their mean and P95."""
    shares = (np.arange(POINTS) + 0.5) / POINTS
    points = np.quantile(tokens, shares, method="linear") if len(tokens) > POINTS else np.sort(tokens)
    # Quantiles lose a little of the mean of few very long requests.
    points = points * (tokens.mean() / points.mean())
    return Lengths(
        mean=float(tokens.mean()),
        p95=float(max(np.quantile(tokens, _P95), tokens.mean())),
        tokens=tuple(float(one) for one in points),
    )


def _lengths(asked: TokenLengths) -> Lengths:
    return Lengths(mean=asked.mean, p95=asked.p95)


def storage_of(blueprint: Blueprint, size: ServingSize, *, nodes: int) -> StorageNeed:
    """Return what the weights take of shared storage, which all nodes read at once when the service starts.

    A node reads the weights of its replicas once; those on one node share what they read.
    """
    weights = size.memory.weights * size.layout.gpus
    readers = max(nodes * size.node.gpus / max(size.layout.gpus, size.node.gpus), 1.0)
    read = weights * readers / blueprint.replicas.start_time
    return StorageNeed(
        dataset_bytes=weights,
        checkpoint_bytes_kept=(_VERSIONS - 1.0) * weights,
        capacity_bytes=_VERSIONS * weights,
        read_bytes_per_s=blueprint.storage.read_bandwidth or read,
        write_bytes_per_s=weights / SECONDS_PER_HOUR,
        restart_read_bytes_per_s=read,
    )
