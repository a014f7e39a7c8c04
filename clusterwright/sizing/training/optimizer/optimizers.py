"""Optimizers: what they keep per parameter, what an update moves and computes, and what a checkpoint saves of it.

Every optimizer here keeps an fp32 copy of the weights (4 bytes) beside its moments, and fp32 gradients (4 bytes), as
Megatron-LM does; with the bf16 weights (2) Adam needs 18 bytes per parameter. Sources:

- Adam: Kingma and Ba, arXiv 1412.6980: two moments. With bf16 moments as DeepSeek-V3 (arXiv 2412.19437, section 3.3.3)
- Adafactor: Shazeer and Stern, arXiv 1804.04235, sections 3 and 4: sums by row and by column instead of a second
  moment, no first one
- Muon: Jordan et al. 2024 (kellerjordan.github.io/posts/muon) and Moonlight, arXiv 2502.16982: one moment and its
  orthogonalisation by five Newton-Schulz iterations for matrices inside layers, Adam for tables and output matrix
"""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import Device, Layouts, Shape, Tuning, Values
from clusterwright.sizing.training.practice import STANDARD, Practice


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimizer:
    """One optimizer.

    Attributes:
        moment_bytes: per parameter of matrices inside layers; table_moment_bytes: of token and position tables and
            output matrix. Where `factored`, per row and per column of a matrix instead.
        gradient_reads: times that an update reads the gradient.
        iterations: of Newton-Schulz.
    """

    name: str
    moment_bytes: float
    table_moment_bytes: float
    factored: bool = False
    gradient_reads: float = 1.0
    iterations: int = 0


OPTIMIZERS = {
    optimizer.name: optimizer
    for optimizer in (
        Optimizer(name="adam", moment_bytes=8.0, table_moment_bytes=8.0),
        Optimizer(name="adam-bf16", moment_bytes=4.0, table_moment_bytes=4.0),
        # It reads gradients for the sums, for the size of the update, and for the update.
        Optimizer(name="adafactor", moment_bytes=4.0, table_moment_bytes=4.0, factored=True, gradient_reads=3.0),
        Optimizer(name="muon", moment_bytes=4.0, table_moment_bytes=8.0, iterations=5),
    )
}
ADAM = OPTIMIZERS["adam"]


def table_share(shape: Shape) -> float:
    """Return the share of a model's parameters that are in token and position tables and in the output matrix."""
    tables = shape.table_parameters + shape.untied * shape.head_parameters
    inside = shape.layers * (shape.layer_parameters + shape.expert_parameters)
    return float(tables / (tables + inside))


def moment_bytes(optimizer: Optimizer, shape: Shape) -> float:
    """Return the bytes of moments per parameter, on average over the model.

    Adam 8, or 4 in bf16; Muon 4 for matrices inside layers and 8 elsewhere; Adafactor `4 (r + c) / (r c)` for matrices
    of `r` rows and `c` columns, here `8/h` as for square ones, which is next to nothing.
    """
    share = table_share(shape)
    mean = (1 - share) * optimizer.moment_bytes + share * optimizer.table_moment_bytes
    return float(mean * 2 / shape.hidden) if optimizer.factored else mean


def moments_under(optimizer: Optimizer, shape: Shape, practice: Practice = STANDARD) -> float:
    """Return the bytes of moments per parameter under a software's practice, which may keep Adam's in 16 bits."""
    return min(moment_bytes(optimizer, shape), float(practice.optimizer_bytes))


def master_bytes(practice: Practice = STANDARD) -> float:
    """Return the bytes per parameter that a practice keeps beside weights, gradients and Adam's moments: 4 in fp32.

    0 where the weights are their own master copy (`fully_shard` of fp32 weights, or of pure bf16).
    """
    return max(0.0, float(practice.optimizer_bytes) - ADAM.moment_bytes)


def state_bytes(optimizer: Optimizer, shape: Shape, practice: Practice = STANDARD) -> float:
    """Return the bytes that an optimizer keeps per parameter: the fp32 weights and its moments; 12 for Adam."""
    return master_bytes(practice) + moments_under(optimizer, shape, practice)


def practice_of(optimizer: Optimizer, shape: Shape, *, practice: Practice = STANDARD) -> Practice:
    """Return a practice of memory with an optimizer's bytes per parameter."""
    return replace(practice, optimizer_bytes=state_bytes(optimizer, shape, practice))


def traffic_bytes(optimizer: Optimizer, shape: Shape, practice: Practice = STANDARD) -> float:
    """Return the bytes per parameter that an update moves over the memory bus: 30 for Adam.

    `4 reads + 2 (4 + moments) + 2`: gradients read, fp32 weights and moments read and written, bf16 weights written.
    Weights that are their own master copy are read too: 28 for fp32 weights, 14 where everything is in bf16.
    """
    weights = float(practice.weight_bytes) * (1.0 if master_bytes(practice) else 2.0)
    gradients = float(practice.gradient_bytes) * optimizer.gradient_reads
    return gradients + 2 * state_bytes(optimizer, shape, practice) + weights


def checkpoint_bytes_per_parameter(optimizer: Optimizer, shape: Shape, *, with_adam: float) -> float:
    """Return the bytes of a checkpoint per parameter: with Adam as published, less what this one keeps less.

    Args:
        optimizer: whose moments are saved.
        shape: the model.
        with_adam: published size with fp32 Adam, bytes per parameter.
    """
    return with_adam - moment_bytes(ADAM, shape) + moment_bytes(optimizer, shape)


def newton_schulz_flop(rows: Values, columns: Values, *, iterations: int = 5) -> Values:
    """Return the FLOPs that orthogonalise one matrix: `iterations x (4 a^2 b + 2 a^3)`, `a` the shorter side.

    An iteration multiplies `X X^T` (2 a^2 b), its square (2 a^3), and the sum of both by `X` (2 a^2 b); for a square
    matrix of side `m` in a batch of `B` tokens that is `iterations m / B` of the training FLOPs `6 m^2 B`, 0.7 % for
    NanoGPT and 0.5 % for Llama 405B (Jordan 2024, section on run time; from memory).
    """
    short, long = np.minimum(rows, columns), np.maximum(rows, columns)
    flop: Values = iterations * (4 * short**2 * long + 2 * short**3)
    return flop


def orthogonalisation_s(
    optimizer: Optimizer,
    shape: Shape,
    device: Device,
    tuning: Tuning,
    layouts: Layouts,
    *,
    stage_layers: Values,
    shards: Values,
    expert_shards: Values,
) -> Values:
    """Return seconds in which one rank orthogonalises its part of a stage's matrices; 0 without Newton-Schulz.

    Under tensor parallelism each rank takes its slice for a matrix of its own (Megatron's `--muon-tp-mode blockwise`,
    its default). The ranks that share an optimizer take whole matrices each, so that none is done sooner than one
    matrix. In bf16, at the rate that very large multiplications reach.

    Args:
        optimizer: the iterations.
        shape: the model.
        device: the accelerator.
        tuning: calibrated numbers.
        layouts: tensor and expert parallelism.
        stage_layers: layers of a stage.
        shards: ranks that share the optimizer of a stage, 1 if it is not sharded.
        expert_shards: ranks that share that of its routed experts.
    """
    if not optimizer.iterations:
        return 0.0
    tp, hidden, gated = layouts.tp, shape.hidden, shape.mlp_matrices

    def flop(rows: Values, columns: Values) -> Values:
        return newton_schulz_flop(rows, np.maximum(columns, 1e-9), iterations=optimizer.iterations)

    plain = flop(hidden, shape.query / tp) + 2 * flop(hidden, shape.key_value / tp)
    latent = (
        flop(hidden, shape.latent_in)
        + flop(np.maximum(shape.latent_query, 1e-9), shape.query / tp)
        + flop(np.maximum(shape.latent_key, 1e-9), shape.up_key_value / tp)
    )
    attention = np.where(np.asarray(shape.latent_in) > 0, latent, plain) + flop(hidden, shape.value_out / tp)
    widest = flop(hidden, shape.ffn / tp)
    dense = (1 - shape.expert_share) * gated * widest
    shared = shape.expert_share * gated * flop(hidden, shape.shared_ffn / tp)
    total = stage_layers * (attention + dense + shared)
    rate = device.peak_bf16_flop_per_s * tuning.gemm_efficiency
    time: Values = np.maximum(total / shards, np.maximum(widest, flop(hidden, shape.query / tp))) / rate
    if np.any(shape.expert_share):
        one = flop(hidden, shape.expert_ffn / layouts.etp)
        routed = stage_layers * shape.expert_share * gated * shape.experts / layouts.ep * one
        time = time + np.maximum(routed / expert_shards, one) / rate
    return time
