"""Seconds of one engine step: decoding a batch, and prefilling tokens, by roofline with calibrated factors."""

from dataclasses import dataclass

import numpy as np

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.memory import touched_adapters, touched_experts, weight_bytes
from clusterwright.workload.inference import ServedModel

#: How sharply the larger of two overlapping times wins: of equal ones the sum of powers is 1.26 times each.
_SHARPNESS = 3.0
#: Bytes of one element of the activations that collectives carry.
_ACTIVATION_BYTES = 2.0
#: Tokens of inputs that a step carries where others wait, in the engines that were measured.
_PREFILLED = 8192.0
#: By how much requests of low-rank adapters lengthen steps and prefills beside reading their weights: 8 to 24 % less
#: throughput of Llama 3.1 8B on TPU v6e (vLLM, pull request 15655, 2025-07), 34 % of Llama 2 7B on A100 with an older
#: engine (pull request 11267, 2024-12). Low, base and high of the time.
ADAPTER_SLOWDOWN = (1.08, 1.2, 1.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTime:
    """Seconds of a step by what takes them.

    Attributes:
        compute, weights: multiplying, and reading the weights; products: both, with what overlaps counted once.
        factor: of the sum of products, cache, network and overhead: drafts, and what was measured of whole steps.
        total: of the step.
    """

    compute: Array
    weights: Array
    products: Array
    cache: Array
    network: Array
    overhead: Array
    factor: Array
    total: Array


@formula(
    "({products_s} + {cache_s} + {network_s} + {overhead_s}) × {factor}",
    source="roofline of computing and reading, (t_c³ + t_w³)^(1/3); clusterwright/sizing/serving/step.py",
    products_s=Term("matrix products", ",.3f", "ms", 1e3),
    cache_s=Term("keys and values", ",.3f", "ms", 1e3),
    network_s=Term("collectives", ",.3f", "ms", 1e3),
    overhead_s=Term("fixed times", ",.3f", "ms", 1e3),
    factor=Term("drafts and calibration", ",.4f"),
)
def step_s(*, products_s: Values, cache_s: Values, network_s: Values, overhead_s: Values, factor: Values) -> Values:
    """Return the seconds of one step from those of its parts."""
    return (products_s + cache_s + network_s + overhead_s) * factor


def decode_step(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    sequences: Values,
    context: Values,
) -> StepTime:
    """Return the time of one decode step of one worker.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout and formats.
        factors: calibrated.
        sequences: in flight on the worker; each advances by one token, or verifies its draft.
        context: tokens of a sequence, on average.
    """
    each = 1.0 + place.draft_tokens
    tokens = np.maximum(sequences, 1.0) * each
    ranks = place.gpus / place.attention_tp
    own = np.maximum(tokens / ranks, each)
    own_sequences = own / each
    shards = np.minimum(place.attention_tp, model.cache_heads)
    read = model.full_layers * np.minimum(context, model.attended_limit) * model.cache_elements
    read = read + model.full_layers * context * model.index_elements * (model.index_elements > 0)
    read = read + model.window_layers * np.minimum(context, model.window) * model.cache_elements
    read = read * place.cache_bytes + model.linear_layers * model.state_elements * 4.0 * 2.0
    cache = own_sequences * read / (shards * _bandwidth(device, factors) * factors.cache_share)
    attended = model.full_layers * np.minimum(context, model.attended_limit) + model.window_layers * np.minimum(
        context, model.window
    )
    scoring = 2.0 * own * attended * model.absorbed_width / place.attention_tp
    scoring = scoring / (device.flop_per_s_16 * factors.attention_efficiency)
    cache = _either(cache, scoring)
    dense_compute, dense_weights = _dense(model, device, place, factors, own)
    expert_compute, expert_weights = _experts(model, device, place, factors, tokens, together=tokens)
    products = _either(dense_compute, dense_weights) + _either(expert_compute, expert_weights)
    products = products + _adapters(device, place, factors, sequences=own_sequences, tokens=own)
    products = products * _slowdown(place) + _from_host(model, device, place)
    network = _collectives(model, device, place, factors, own=own, tokens=tokens, fixed=1.0)
    overhead = (
        model.layers * factors.layer_s
        + model.expert_layers * factors.expert_layer_s
        + factors.step_s
        + sequences * factors.sequence_s
    )
    each_draft = np.where(np.asarray(place.draft_step_share) > 0, place.draft_step_share, factors.draft_cost)
    factor = (1.0 + place.draft_tokens * each_draft) * factors.step_scale
    total = step_s(products_s=products, cache_s=cache, network_s=network, overhead_s=overhead, factor=factor)
    return StepTime(
        compute=np.asarray(dense_compute + expert_compute),
        weights=np.asarray(dense_weights + expert_weights),
        products=np.asarray(products),
        cache=np.asarray(cache),
        network=np.asarray(network),
        overhead=np.asarray(overhead),
        factor=np.asarray(factor),
        total=np.asarray(total),
    )


def tokens_per_step(place: Deployment, factors: Factors) -> Array:
    """Return the tokens that a sequence gains in a step: the accepted length, or calibrated `(1 - a^(k+1)) / (1 - a)`.

    `k` tokens are drafted, each of them accepted with the share `a` if the one before it was (Leviathan, Kalman and
    Matias 2023, Fast inference from transformers via speculative decoding, equation 1).
    """
    share = factors.accepted_share
    calibrated = (1.0 - share ** (place.draft_tokens + 1.0)) / (1.0 - share)
    stated = np.asarray(place.accepted_length)
    return np.where(stated > 0, stated, calibrated)


def prefill_time(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, *, tokens: Values
) -> Array:
    """Return the seconds that the input of one request adds to the steps of a worker.

    `2 A S` for the matrices and `2 S (S / 2) (d_k + d_v) heads` for causal attention; linear attention and windows
    attend to what they keep. Chunked prefill rides in steps that decode too, whose fixed costs are theirs.
    """
    dense_compute, _ = _dense(model, device, place, factors, tokens / (place.gpus / place.attention_tp))
    expert_compute, _ = _experts(model, device, place, factors, tokens, together=np.maximum(tokens, _PREFILLED))
    half = _before(model, tokens, place)
    attended = model.full_layers * np.minimum(half, model.attended_limit) + model.window_layers * np.minimum(
        half, model.window
    )
    scoring = 2.0 * tokens * attended * model.score_width / place.gpus
    scoring = scoring / (device.flop_per_s_16 * factors.attention_efficiency)
    own = tokens / (place.gpus / place.attention_tp)
    network = _collectives(model, device, place, factors, own=own, tokens=tokens, fixed=0.0)
    products = (dense_compute + expert_compute) * _slowdown(place)
    products = products + _encoding(device, place, factors, own)
    # Weights are read once for a step, whose decode half has read them already.
    return np.asarray((products + scoring + network) * factors.prefill_scale)


def prefill_alone(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, *, tokens: Values
) -> Array:
    """Return the seconds of a step that prefills the input of one request, which one rank of attention does alone.

    The rate of `prefill_time` counts all ranks, since others prefill beside it; a single request has no others. The
    weights are read for it, and kernels are launched one by one, as no recorded graph has its length: the longest of
    the three takes the time.
    """
    dense_compute, dense_read = _dense(model, device, place, factors, tokens)
    expert_compute, expert_read = _experts(model, device, place, factors, tokens, together=tokens)
    half = _before(model, tokens, place)
    attended = model.full_layers * np.minimum(half, model.attended_limit) + model.window_layers * np.minimum(
        half, model.window
    )
    scoring = 2.0 * tokens * attended * model.score_width / place.attention_tp
    scoring = scoring / (device.flop_per_s_16 * factors.attention_efficiency)
    network = _collectives(model, device, place, factors, own=tokens, tokens=tokens, fixed=0.0)
    products = _either(dense_compute, dense_read) + _either(expert_compute, expert_read)
    products = (
        products * _slowdown(place) + _encoding(device, place, factors, tokens) + _from_host(model, device, place)
    )
    return _either((products + scoring + network) * factors.prefill_scale, prefill_launch(model, factors))


def _before(model: ServedModel, tokens: Values, place: Deployment) -> Values:
    """Return the tokens that one of those computed attends to on average: what was in memory, and half of them.

    In an encoder it is all of them.
    """
    return tokens * (1.0 + model.both_ways) / 2 + tokens * place.prefix_share / (1.0 - place.prefix_share)


def prefill_launch(model: ServedModel, factors: Factors) -> Values:
    """Return the seconds that launching the kernels of a step outside of recorded graphs takes."""
    return (model.layers + model.expert_layers) * factors.prefill_layer_s


def _slowdown(place: Deployment) -> Array:
    return np.where(np.asarray(place.adapters) > 0, ADAPTER_SLOWDOWN[1], 1.0)


def _adapters(
    device: ServingDevice, place: Deployment, factors: Factors, *, sequences: Values, tokens: Values
) -> Array:
    """Return the seconds in which the adapters of a batch are read, and its tokens multiplied by them."""
    read = touched_adapters(place, sequences) * place.adapter_weights * 2.0 / place.attention_tp
    compute = 2.0 * tokens * place.adapter_weights / place.attention_tp * (np.asarray(place.adapters) > 0)
    computing = np.asarray(compute) / (device.flop_per_s_16 * factors.efficiency_16)
    return _either(read / _bandwidth(device, factors), np.asarray(computing))


def _from_host(model: ServedModel, device: ServingDevice, place: Deployment) -> Values:
    """Return the seconds in which each accelerator reads its part of the weights that the host's memory keeps."""
    return place.host_weight_share * weight_bytes(model, place) / (place.gpus * device.host_bytes_per_s)


def _encoding(device: ServingDevice, place: Deployment, factors: Factors, tokens: Values) -> Values:
    """Return the seconds in which one rank encodes the images in its tokens: `2 W` FLOP for each patch, in 16 bits."""
    flop = 2.0 * place.encoder_weights * place.encoded_share * tokens
    return flop / (device.flop_per_s_16 * factors.efficiency_16 * place.attention_tp)


def _bandwidth(device: ServingDevice, factors: Factors) -> Values:
    return device.hbm_bytes_per_s * factors.bandwidth_share


def _either(first: Values, second: Values) -> Array:
    """Return the time of two works that overlap: the larger, and of alike ones 1.26 times each."""
    return np.asarray((first**_SHARPNESS + second**_SHARPNESS) ** (1 / _SHARPNESS))


def _rate(device: ServingDevice, factors: Factors, bits: Values) -> Array:
    sixteen = device.flop_per_s_16 * factors.efficiency_16
    eight = device.flop_per_s_8 * factors.efficiency_8
    four = device.flop_per_s_4 * factors.efficiency_4
    return np.where(bits >= 16, sixteen, np.where(bits >= 8, eight, four))  # noqa: PLR2004 - bits of the formats


def _dense(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, own: Values
) -> tuple[Values, Values]:
    """Return compute and reading time of attention and dense MLPs, for the tokens of one attention rank."""
    weights = model.layers * (model.attention_weights + model.dense_ffn_weights)
    rate = _rate(device, factors, place.attention_bits)
    compute = 2.0 * own * weights / (place.attention_tp * rate)
    compute = compute + 2.0 * own * model.head_weights / (
        place.attention_tp * device.flop_per_s_16 * factors.efficiency_16
    )
    read = (weights * place.attention_bytes + model.head_weights * 2.0) / place.attention_tp
    return compute, read / _bandwidth(device, factors)


def _experts(
    model: ServedModel, device: ServingDevice, place: Deployment, factors: Factors, tokens: Values, *, together: Values
) -> tuple[Values, Values]:
    """Return compute and reading time of the routed experts, on the fullest rank.

    An expert multiplies the tokens that come to it; few of them fill no tile of a matrix unit: `m / (m + m_0)` of the
    rate at `m = T K / E` tokens.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout and formats.
        factors: calibrated.
        tokens: whose time is asked for.
        together: tokens of the steps that carry them, `T`.
    """
    rate = _rate(device, factors, place.expert_bits) * factors.expert_efficiency
    skew = 1.0 + factors.imbalance * (1.0 - 1.0 / np.maximum(place.expert_parallel, 1.0))
    layers = model.expert_layers
    of_one = np.maximum(together, 1.0) * model.experts_per_token / np.maximum(model.experts, 1.0)
    filled = of_one / (of_one + factors.expert_rows)
    compute = 2.0 * tokens * model.experts_per_token * model.expert_weights * layers * skew
    compute = compute / (place.gpus * rate * np.maximum(filled, 1e-6))
    read = touched_experts(model, tokens) * model.expert_weights * place.expert_bytes * layers / place.gpus
    return compute, read * skew / (_bandwidth(device, factors) * factors.expert_bandwidth_share)


def _collectives(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    own: Values,
    tokens: Values,
    fixed: float,
) -> Values:
    """Return the time of collectives: two all-reduces a layer for tensor parallelism, all-to-all for spread experts.

    All-reduce: `2 (n - 1) / n` of the activations per accelerator. All-to-all sends each token's hidden vector to its
    experts and back.
    """
    link = np.where(place.gpus > device.scale_up_gpus, device.network_bytes_per_s, device.scale_up_bytes_per_s)
    link = link * factors.link_share
    tensor = place.attention_tp
    steps = np.log2(np.maximum(tensor, 1.0))
    each = own * model.hidden * _ACTIVATION_BYTES
    split = tensor > 1
    reduced = 2.0 * (1.0 - 1.0 / np.maximum(tensor, 1.0)) * each / link
    per_layer = np.where(split, 2.0 * (fixed * factors.collective_s * (1.0 + steps) / 2.0 + reduced), 0.0)
    spread = (place.gpus > place.attention_tp) & (model.expert_layers > 0)
    wide = np.log2(np.maximum(place.gpus, 1.0))
    sent = tokens / place.gpus * np.minimum(model.experts_per_token, place.gpus) * model.hidden * _ACTIVATION_BYTES
    scattered = 2.0 * (fixed * factors.collective_s * (1.0 + wide) + sent / link)
    stages = (place.pipeline - 1.0) * (fixed * factors.collective_s + each / link)
    return model.layers * per_layer + np.where(spread, model.expert_layers * scattered, 0.0) + stages
