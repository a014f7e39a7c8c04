"""Rate of fine-tuning and its time to a target.

A frozen matrix costs the forward pass and the gradient of its input, `4 N` FLOP per token; a trained one the gradient
of itself too, `6 N`; recomputation adds `2 N` (Kaplan et al. 2020, arXiv 2001.08361, section 2.1, counted by pass).
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.finetuning.columns import Factors, Task
from clusterwright.sizing.finetuning.memory import base_bytes, kept_bytes_per_token, weights_inside
from clusterwright.sizing.serving.columns import ServingDevice
from clusterwright.workload.inference import ServedModel

#: Forward and backward pass of attention over its forward pass, scores recomputed in the kernel.
_ATTENTION_PASSES = 3.5
_BLEND = 4.0


def passes(task: Task) -> Values:
    """Return the passes over the weights of a token's training: forward, inputs' gradients, weights', again."""
    found: Array = 2 + np.asarray(task.full) + np.asarray(task.recomputed)
    return found


def attention_flop_per_token(model: ServedModel, task: Task) -> Values:
    """Return FLOP of causal attention per token, all passes: `7/2 + r` times `L s (widths of keys and values)`."""
    reach = np.minimum(task.tokens, 2 * np.asarray(model.attended_limit))
    full = np.asarray(model.full_layers) * reach
    narrow = np.asarray(model.window_layers) * np.minimum(task.tokens, 2 * np.asarray(model.window))
    found: Array = (_ATTENTION_PASSES + np.asarray(task.recomputed)) * (full + narrow) * model.score_width
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenTime:
    """Seconds of one token on one accelerator, by what takes them, and their sum.

    Attributes:
        multiplied: multiplications and attention, or reading the weights if that takes longer; streamed: element-wise
            kernels; unpacked: weights of packed formats to 16 bits; waiting: gathers of divided weights beyond all
            that; interpreted: what is lost without compiled kernels; shared: all-reduces of tensor parallelism; hosted:
            states in host memory; update: of the weights.
        total: of one token that counts: padding is in it, and not in the parts.
    """

    multiplied: Array
    streamed: Array
    unpacked: Array
    waiting: Array
    interpreted: Array
    shared: Array
    hosted: Array
    update: Array
    total: Array


def tokens_per_s(model: ServedModel, device: ServingDevice, task: Task, factors: Factors) -> Array:
    """Return tokens per second and accelerator, see `token_time`."""
    found: Array = np.asarray(1.0 / token_time(model, device, task, factors).total)
    return found


def token_time(model: ServedModel, device: ServingDevice, task: Task, factors: Factors) -> TokenTime:
    """Return the seconds of a token on an accelerator by what takes them.

    Multiplications and attention at their shares of the peak or at what the board's power sustains, or reading the
    weights if that takes longer; element-wise kernels at the memory's bandwidth; unpacking of packed weights once per
    pass; all-reduces of tensor parallelism, two per layer and pass, `2 (t-1)/t` of a layer's output each; gathers of
    sharded weights where they take longer than all that; a fixed time of an update for every further node.
    """
    eight = np.asarray(task.bits) == 8  # noqa: PLR2004 - bits
    four = np.asarray(task.bits) == 4  # noqa: PLR2004 - bits
    rated = device.power_w * task.flop_per_joule
    sixteen = _sustained(device.flop_per_s_16 * factors.efficiency_16, rated * factors.power_share_16)
    rate = np.select(
        [four, eight],
        [
            _sustained(device.flop_per_s_4 * factors.efficiency_4, 4 * rated * factors.power_share_4),
            _sustained(device.flop_per_s_8 * factors.efficiency_8, 2 * rated * factors.power_share_8),
        ],
        sixteen,
    )
    turns, parallel = passes(task), np.asarray(task.model_parallel)
    pass_tokens = task.sequences * task.tokens
    flop = 2 * turns * model.active_weights
    multiplied = (flop / rate + attention_flop_per_token(model, task) / sixteen) / parallel
    memory_rate = device.hbm_bytes_per_s * factors.bandwidth_share
    read = turns * base_bytes(model, task) / parallel / pass_tokens / memory_rate
    streamed = factors.passes * model.layers * kept_bytes_per_token(model, task, factors) / parallel / memory_rate
    unpacked = np.asarray(task.packed) * turns * weights_inside(model) * 4 / parallel / pass_tokens / memory_rate
    inside = np.where(
        parallel <= np.asarray(device.scale_up_gpus), device.scale_up_bytes_per_s, device.network_bytes_per_s
    )
    shared = 2 * turns * model.layers * 2 * (parallel - 1) / parallel * 2 * model.hidden / (inside * factors.link_share)
    busy = np.maximum(multiplied, read) + streamed + unpacked
    split = np.asarray(task.shards)
    links = np.where(
        split * parallel <= np.asarray(device.scale_up_gpus), device.scale_up_bytes_per_s, device.network_bytes_per_s
    )
    moved = turns * base_bytes(model, task) / parallel * (split - 1) / split
    gathered = moved / pass_tokens / (links * factors.link_share)
    compiled = np.maximum(busy, gathered) / np.where(np.asarray(task.eager) > 0, factors.eager_share, 1.0)
    work = compiled + shared
    update = factors.step_s * np.maximum(task.nodes - 1.0, 0.0) / (task.global_batch * task.tokens)
    per_token = work / np.where(np.asarray(task.host_states) > 0, factors.host_share, 1.0) * parallel
    return TokenTime(
        multiplied=np.asarray(np.maximum(multiplied, read) * parallel),
        streamed=np.asarray(streamed * parallel),
        unpacked=np.asarray(unpacked * parallel),
        waiting=np.asarray(np.maximum(gathered - busy, 0.0) * parallel),
        interpreted=np.asarray((compiled - np.maximum(busy, gathered)) * parallel),
        shared=np.asarray(shared * parallel),
        hosted=np.asarray(per_token - work * parallel),
        update=np.asarray(update * task.gpus),
        total=np.asarray((per_token + update * task.gpus) / task.filled),
    )


def minutes_to_target(samples_to_target: Values, *, samples_per_s: Values) -> Array:
    """Return minutes until the target, evaluations included, from the samples that stand for both."""
    return np.asarray(samples_to_target / samples_per_s / 60.0)


def _sustained(by_peak: Values, by_power: Values) -> Array:
    """Return the FLOP/s that both bounds leave; near each other, both slow down: `(a^-4 + b^-4)^(-1/4)`.

    Accelerators of equal peaks differ by their power: MI325X is 1.36 times as fast as MI300X, at 1.33 times its power.
    """
    found: Array = (np.asarray(by_peak) ** -_BLEND + np.asarray(by_power) ** -_BLEND) ** (-1 / _BLEND)
    return found
