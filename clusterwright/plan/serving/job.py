"""The service of a blueprint as sizing takes it, and what it needs of storage."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint, serve_of
from clusterwright.blueprint.workloads.serving import ServedAdapters
from clusterwright.blueprint.workloads.traffic import TokenLengths, Traffic
from clusterwright.errors import InputError
from clusterwright.sizing.columns import Array
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.sizing.serving.arrivals.requests import POINTS, Requests, mix_of, rate_of, read_trace
from clusterwright.sizing.serving.configuration import framework_of
from clusterwright.sizing.serving.service import (
    Adapters,
    Batching,
    Drafting,
    Images,
    LatencyGoals,
    Lengths,
    Load,
    Running,
    Service,
    Sessions,
    Task,
    at_the_peak,
)
from clusterwright.sizing.serving.sizes import ServingSize
from clusterwright.units import HOURS_PER_YEAR, SECONDS_PER_HOUR
from clusterwright.workload.inference import ServedModel, inference_model

#: Versions of the weights on shared storage: the one that runs, and the one that replaces it.
_VERSIONS = 2.0
_PERCENT = 100.0
_P95 = 0.95
#: Of the standard normal distribution.
_NORMAL_P95 = 1.6448536
#: A step that carries whole inputs has no bound of tokens.
_WHOLE_INPUTS = 1e7
#: Patches that are merged into one token of the language model, two by two, as Qwen2-VL and Llama 4 do.
_PATCHES_OF_A_TOKEN = 4.0
#: At least the last token of an input is always computed.
_MOST_SHARED = 0.99
_ONE_PASS = Lengths(mean=1.0, p95=1.0)


def service_of(blueprint: Blueprint, resolved: Resolved) -> Service:
    """Return the blueprint's service at the peak of its last day, as sizing takes it."""
    workload, traffic = serve_of(blueprint)
    asked = requests_of(blueprint)
    options, fixed, goals = workload.options, workload.parallelism, blueprint.goals
    model = inference_model(resolved.model)
    return Service(
        model=model,
        framework=framework_of(workload.framework),
        precision=sixteen_bits(workload.precision),
        cache_precision=sixteen_bits(workload.kv_precision or ""),
        speculative="" if options.speculative == "none" else options.speculative,
        inputs=asked.inputs,
        outputs=asked.outputs,
        prefix_share=asked.prefix_share,
        load=load_of(blueprint, peak_over_mean=traffic.peak, growth=growth_factor(blueprint)),
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
        availability=None
        if blueprint.replicas.availability is None
        else (blueprint.replicas.availability, blueprint.replicas.replica_availability),
        task=Task(workload.task),
        running=Running(
            batching=Batching(options.batching),
            window_s=options.batch_window or 0.0,
            chunk_tokens=float(options.step_tokens) if options.chunked_prefill else _WHOLE_INPUTS,
            paged=options.paged_cache,
            host_weight_share=options.offload.weights,
            passes=traffic.documents or 1.0,
        ),
        drafting=Drafting(
            tokens=float(options.draft_tokens),
            accepted_length=options.accepted_length or 0.0,
            step_share=options.draft_share or 0.0,
        ),
        adapters=None if options.adapters is None else adapters_of(options.adapters, model.shape),
        images=images_of(traffic),
        sessions=asked.sessions,
        apart={"never": False, "always": True, "cheapest": None}[options.disaggregated],
        wide_expert=options.wide_expert_parallel,
        slices=options.mig_slices,
    )


def adapters_of(asked: ServedAdapters, shape: ServedModel) -> Adapters:
    """Return low-rank adapters as sizing takes them: `r (in + out)` weights of each adapted matrix (LoRA, section 4.1).

    Of a mixture of experts every expert has its own.
    """
    hidden, layers = float(shape.hidden), float(shape.layers)
    width = float(shape.query_heads) and float(shape.score_width) / 2.0
    cache = float(shape.cache_elements) / 2.0
    sides = layers * (2.0 * (hidden + width) + 2.0 * (hidden + cache))
    if asked.targets == "all":
        matrices = float(shape.mlp_matrices)
        dense = float(shape.dense_ffn_weights) / (matrices * hidden)
        sides += layers * matrices * (hidden + dense) * (dense > 0)
        if float(shape.experts):
            inner = float(shape.expert_weights) / (matrices * hidden)
            sides += float(shape.expert_layers) * float(shape.experts) * matrices * (hidden + inner)
    count = float(asked.count)
    return Adapters(count=count, weights=asked.rank * sides, resident=float(asked.resident or asked.count))


def images_of(traffic: Traffic) -> Images | None:
    """Return the images of a request as sizing takes them; None for none."""
    images = traffic.images
    if images is None:
        return None
    patches = images.patches or images.tokens * _PATCHES_OF_A_TOKEN
    return Images(encoder_weights=images.encoder_parameters, patches=images.per_request * patches)


def sixteen_bits(precision: str) -> str:
    """Return a format under the name that measurements have it by: fp16 is as wide and as fast as bf16."""
    return "bf16" if precision == "fp16" else precision


def growth_factor(blueprint: Blueprint) -> float:
    """Return the traffic at the end of the horizon over that of today."""
    _, traffic = serve_of(blueprint)
    years = blueprint.economics.horizon / (HOURS_PER_YEAR * SECONDS_PER_HOUR)
    return float((1.0 + traffic.growth) ** years)


def load_of(blueprint: Blueprint, *, peak_over_mean: float = 1.0, growth: float = 1.0) -> Load:
    """Return the load that the blueprint gives: the mean one of today, or that of a peak after a growth."""
    _, traffic = serve_of(blueprint)

    def busiest(mean: float) -> float:
        return at_the_peak(mean=mean, peak_over_mean=peak_over_mean, growth=growth)

    if traffic.users is None:
        return Load(requests_per_s=busiest(requests_of(blueprint).requests_per_s or 0.0))
    if traffic.active_share is not None:
        return Load(users=busiest(traffic.users * traffic.active_share))
    return Load(users=busiest(traffic.users), think_s=traffic.think_time or 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRequests:
    """What a service's requests are like.

    Attributes:
        prefix_share: of the input, that is in memory.
        requests_per_s: mean, of the blueprint or of its trace; None where users ask.
        sessions: of chats; prefix_share is then what earlier turns had.
        reasoning_tokens: mean, of the output, before the answer itself.
    """

    inputs: Lengths
    outputs: Lengths
    prefix_share: float
    requests_per_s: float | None
    sessions: Sessions | None = None
    reasoning_tokens: float = 0.0


def requests_of(blueprint: Blueprint) -> AskedRequests:
    """Return the requests that a blueprint describes, or those of its trace.

    Raises:
        InputError: the trace cannot be read, or has wrong lines; with its place in the blueprint.
    """
    workload, traffic = serve_of(blueprint)
    found = trace_of(blueprint)
    if traffic.trace is None or found is None:
        return _described(blueprint)
    rate = traffic.requests_per_s
    if rate is None and traffic.users is None:
        with _at_trace():
            rate = rate_of(found, Path(traffic.trace))
    cached = mix_of(found).cached_share
    return AskedRequests(
        inputs=_measured(found.input_tokens),
        outputs=_measured(found.output_tokens) if workload.task == "generate" else _ONE_PASS,
        prefix_share=traffic.prefix_cache_hit if "prefix_cache_hit" in traffic.model_fields_set else cached,
        requests_per_s=rate,
    )


def trace_of(blueprint: Blueprint) -> Requests | None:
    """Return the requests of the blueprint's trace; None where it describes them.

    Raises:
        InputError: the trace cannot be read, or has wrong lines; with its place in the blueprint.
    """
    _, traffic = serve_of(blueprint)
    if traffic.trace is None:
        return None
    path = Path(traffic.trace)
    with _at_trace():
        return _traced(path, path.stat().st_mtime_ns if path.exists() else 0)


@contextmanager
def _at_trace() -> Iterator[None]:
    """Give errors of a trace its place in the blueprint."""
    try:
        yield
    except InputError as error:
        error.path = error.path or ("traffic", "trace")
        raise


def _described(blueprint: Blueprint) -> AskedRequests:
    """Return requests whose lengths the blueprint gives as distributions."""
    workload, traffic = serve_of(blueprint)
    assert traffic.input_tokens is not None  # noqa: S101 - the blueprint has them or a trace
    inputs = _lengths(traffic.input_tokens)
    # One pass over the input answers: nothing is generated after it.
    answers = _ONE_PASS if traffic.output_tokens is None else _lengths(traffic.output_tokens)
    outputs, reasoning, shared = answers, traffic.reasoning_tokens, traffic.prefix_cache_hit
    if reasoning is not None:
        outputs = _sum_of(_lengths(reasoning), answers)
    if traffic.images is not None:
        inputs = _moved(inputs, traffic.images.per_request * traffic.images.tokens)
    sessions, chats = None, traffic.sessions
    if chats is not None:
        pause = chats.pause if chats.pause is not None else traffic.think_time
        assert pause is not None  # noqa: S101 - the blueprint has one of the two
        inputs, shared = _turns(inputs, answers, turns=chats.turns, system_tokens=chats.system_tokens)
        sessions = Sessions(history_share=shared, pause_s=pause, host_cache_bytes=workload.options.offload.cache or 0.0)
    return AskedRequests(
        inputs=inputs,
        outputs=outputs,
        prefix_share=shared,
        requests_per_s=traffic.requests_per_s,
        sessions=sessions,
        reasoning_tokens=0.0 if reasoning is None else reasoning.mean,
    )


def _sum_of(first: Lengths, second: Lengths) -> Lengths:
    """Return the log-normal lengths with the mean and variance of a sum of two that know nothing of each other."""
    mean = first.mean + second.mean
    variance = first.variation * first.mean**2 + second.variation * second.mean**2
    deviation = math.sqrt(math.log1p(variance / mean**2))
    return Lengths(mean=mean, p95=mean * math.exp(_NORMAL_P95 * deviation - deviation**2 / 2.0))


def _moved(lengths: Lengths, tokens: float) -> Lengths:
    """Return lengths that are all longer by a number of tokens, as equally likely ones."""
    points = [lengths.quantile(float(share)) + tokens for share in (np.arange(POINTS) + 0.5) / POINTS]
    return Lengths(
        mean=lengths.mean + tokens, p95=lengths.p95 + tokens, tokens=tuple(_with_mean(points, lengths.mean + tokens))
    )


def _turns(inputs: Lengths, answers: Lengths, *, turns: float, system_tokens: float) -> tuple[Lengths, float]:
    """Return the inputs of all turns of chats, and the share of them that an earlier turn had.

    The turn `k` sends what every chat begins with, `k - 1` inputs and answers, and its own. Numbers of turns are
    geometric with the mean given, so that a chat of any length goes on with the same probability.
    """
    going_on = 1.0 - 1.0 / turns
    most = max(math.ceil(math.log(1e-3) / math.log(going_on)), 1) if going_on > 0 else 1
    shares = going_on ** np.arange(most) * (1.0 - going_on) / (1.0 - going_on**most)
    each = inputs.mean + answers.mean
    history = system_tokens + each * np.arange(most)
    own = np.array([inputs.quantile(float(share)) for share in (np.arange(64) + 0.5) / 64])
    lengths, weights = (history[:, None] + own[None, :]).reshape(-1), np.repeat(shares / 64, 64)
    order = np.argsort(lengths)
    summed = np.cumsum(weights[order])
    points = np.interp((np.arange(POINTS) + 0.5) / POINTS, summed, lengths[order])
    before = float(shares @ history)
    mean = before + inputs.mean
    p95 = float(np.interp(_P95, summed, lengths[order]))
    found = Lengths(mean=mean, p95=max(p95, mean), tokens=tuple(_with_mean(list(points), mean)))
    return found, min(before / mean, _MOST_SHARED)


def _with_mean(points: list[float], mean: float) -> list[float]:
    """Return lengths scaled to a mean, which few points of a distribution miss a little."""
    return [float(one) * mean / (sum(points) / len(points)) for one in points]


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


def weight_bytes(blueprint: Blueprint, size: ServingSize) -> float:
    """Return the bytes of a replica's weights, those that stay in the host's memory too."""
    workload, _ = serve_of(blueprint)
    return size.memory.weights * size.layout.gpus / (1.0 - workload.options.offload.weights)


def storage_of(blueprint: Blueprint, size: ServingSize, *, nodes: int) -> StorageNeed:
    """Return what the weights take of shared storage, which all nodes read at once when the service starts.

    A node reads the weights of its replicas once; those on one node share what they read.
    """
    weights = weight_bytes(blueprint, size)
    readers = max(nodes * size.node.gpus / max(size.layout.gpus, size.node.gpus), 1.0)
    read = weights * readers / blueprint.replicas.start_time
    return StorageNeed(
        dataset_bytes=weights,
        checkpoint_bytes_kept=(_VERSIONS - 1.0) * weights,
        capacity_bytes=_VERSIONS * weights,
        read_bytes_per_s=blueprint.storage.read_bandwidth or read,
        write_bytes_per_s=weights / SECONDS_PER_HOUR,
        restart_read_bytes_per_s=read,
        weights_only=True,
    )
