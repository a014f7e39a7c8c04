"""Memory of fine-tuning on one accelerator, at the three moments of a step that can be its peak. Equations in bytes.

- At the loss, all activations and the logits are there, and of gradients only that of the output matrix.
- At the start of the backward pass, one layer is recomputed or unpacked and sharded layers are gathered.
- At its end, all gradients are there.

Sources: Korthikanti et al. 2022, arXiv 2205.05198 (activations); Hu et al. 2021, arXiv 2106.09685 (LoRA); Dettmers et
al. 2023, arXiv 2305.14314 (NF4, double quantisation, paged optimizers); Liu et al. 2024, arXiv 2402.09353 (DoRA);
Dettmers et al. 2022, arXiv 2110.02861 (8-bit moments); Rajbhandari et al. 2020, arXiv 1910.02054 (ZeRO).
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.finetuning.columns import Factors, Task
from clusterwright.sizing.serving import memory as serving
from clusterwright.sizing.training.practice import FRAGMENTATION
from clusterwright.workload.inference import ServedModel

#: Weights of one block of NF4 share a scale (arXiv 2305.14314, section 3); blocks of scales share one in turn.
NF4_BLOCK, NF4_SCALE_BLOCK = 64, 256
#: Bytes of one weight with its scales. NF4: 4 bits and a 32-bit scale for 64; double quantisation keeps the scales in 8
#: bits and a 32-bit scale for 256 of them.
WEIGHT_BYTES = MappingProxyType(
    {
        **serving.WEIGHT_BYTES,
        "nf4": 0.5 + 4 / NF4_BLOCK,
        "nf4-dq": 0.5 + 1 / NF4_BLOCK + 4 / (NF4_BLOCK * NF4_SCALE_BLOCK),
    }
)
#: Formats that a frozen weight is only stored in, and unpacked to 16 bits for every multiplication.
STORED = frozenset({"nf4", "nf4-dq", "int4", "int8"})
_WORKING_BYTES = 2.0
#: Of driver and libraries on one card; training over many nodes is charged more (`training.practice.CONTEXT_BYTES`).
CONTEXT_BYTES = 2.0**30


@dataclass(frozen=True, kw_only=True, slots=True)
class PeakMemory:
    """Bytes on one accelerator at its peak, by term."""

    weights: Array
    adapters: Array
    gradients: Array
    optimizer: Array
    activations: Array
    logits: Array
    buffers: Array

    def total(self) -> Array:
        """Return the sum of all terms: what tensors take at the peak."""
        kept = self.weights + self.adapters + self.gradients + self.optimizer
        total: Array = kept + self.activations + self.logits + self.buffers
        return total

    def reserved(self) -> Array:
        """Return what the allocator holds: tensors, and what it loses of those that come and go."""
        total: Array = self.total() + FRAGMENTATION * (self.activations + self.logits + self.buffers)
        return total

    def on_device(self, *, context_bytes: float = CONTEXT_BYTES) -> Array:
        """Return what the device shows: what the allocator holds, and the context."""
        return self.reserved() + context_bytes


def lora_parameters(*, rank: Values, inputs: Values, outputs: Values) -> Values:
    """Return what LoRA trains beside one matrix: `r (inputs + outputs)` (arXiv 2106.09685, section 4.1)."""
    return rank * (inputs + outputs)


def weights_inside(model: ServedModel) -> Values:
    """Return the matrix weights of all layers: all without token table and output matrix."""
    return model.parameters - model.head_weights - model.table_weights


def base_bytes(model: ServedModel, task: Task) -> Values:
    """Return the bytes of the weights: matrices and output matrix in their formats, a separate token table in 16 bits.

    An output matrix that is the token table too stays in 16 bits, because a lookup needs its rows.
    """
    tied = np.asarray(model.table_weights) <= 0
    head = np.where(tied, _WORKING_BYTES, task.head_bytes)
    inside = weights_inside(model) * task.weight_bytes
    return inside + model.head_weights * head + model.table_weights * _WORKING_BYTES


def kept_bytes_per_token(model: ServedModel, task: Task, factors: Factors) -> Values:
    """Return what one layer keeps of one token for its backward pass, nothing recomputed.

    All weights trained and kernels fused: `8 h + 2 (q + k + v + out) + 2 m f` (`layer_memory.layer_bytes`, whose 2
    bytes per element and terms these are; `m` matrices of the MLP). A frozen matrix needs no input for a gradient of
    its own: the outputs of both norms, `4 h`, and the input of the MLP's last matrix, `2 f`, go. A packed
    matrix keeps its input all the same where `inputs_kept` (bitsandbytes' autograd function). Eager kernels keep the
    activation function's output of gated MLPs, `2 f`, and `eager_bytes` per unit of width.
    """
    matrices = np.maximum(model.mlp_matrices, 1.0)
    routed = model.experts_per_token * model.expert_weights * model.expert_layers / model.layers
    width = (model.dense_ffn_weights + routed) / (model.hidden * matrices)
    whole = 8 * model.hidden + 2 * (model.score_width + model.cache_elements) + 2 * matrices * width
    frozen = (1 - np.asarray(task.full)) * (1 - np.asarray(task.packed * task.inputs_kept))
    kept = whole - frozen * (4 * model.hidden + 2 * width)
    gated = matrices > 2  # noqa: PLR2004 - gate, up, down
    eager = task.eager * (factors.eager_bytes * model.hidden + 2 * width * gated)
    found: Values = factors.activation_share * (kept + eager)
    return found


def peak(model: ServedModel, task: Task, factors: Factors) -> PeakMemory:
    """Return the memory at the moment of a step at which most is held."""
    train = 1 - np.asarray(task.inference)
    split = task.model_parallel * task.shards
    tokens = task.sequences * task.tokens / task.model_parallel
    resident = 1 - np.asarray(task.host_states)
    weights = base_bytes(model, task) / split * resident
    adapters = task.adapter_parameters * task.adapter_bytes / split
    trained = model.parameters * np.asarray(task.full) / split
    optimizer = trained * task.optimizer_bytes * resident
    all_gradients = trained * task.gradient_bytes * (1 - np.asarray(task.streamed)) * resident
    head = model.head_weights / task.model_parallel
    head_gradient = head * task.full * task.gradient_bytes

    layer = tokens * kept_bytes_per_token(model, task, factors)
    inputs = tokens * 2 * model.hidden
    share = np.asarray(task.recomputed)
    # What rests in host memory leaves two layers on the way there or back.
    layers = np.where(np.asarray(task.host_activations) > 0, np.minimum(2.0, model.layers), model.layers)
    kept = layers * (share * inputs + (1 - share) * layer) * train
    logits = factors.logit_share * tokens * (model.head_weights / model.hidden) * task.logit_bytes * train

    sharded = np.asarray(task.shards * (1 + np.asarray(task.host_states))) > 1
    gathered_head = sharded * head * _WORKING_BYTES
    inside = weights_inside(model) / model.layers / task.model_parallel
    gathered = sharded * 2 * inside * task.weight_bytes
    reduced = sharded * 2 * inside * task.full * task.gradient_bytes
    matrix, output = _unpacked(model, task, factors)
    again = np.where(share > 0, layer, 0.0) * train

    zero = np.zeros_like(weights + layer)
    moments = (
        (head_gradient, kept, logits, gathered_head + output),
        (head_gradient, kept + again, zero, gathered + reduced + np.maximum(matrix, output)),
        (all_gradients, again + inputs, zero, gathered + reduced),
    )
    totals = np.array([np.broadcast_to(sum(terms), zero.shape) for terms in moments])
    fullest = totals.argmax(axis=0)
    chosen = [
        np.choose(fullest, [np.broadcast_to(terms[index], zero.shape) for terms in moments]) for index in range(4)
    ]
    cache = serving.cache_bytes(model, task.tokens * task.sequences, cache_bytes=2.0) * np.asarray(task.inference)
    return PeakMemory(
        weights=weights + zero,
        adapters=adapters + zero,
        gradients=chosen[0],
        optimizer=optimizer + zero,
        activations=chosen[1] + cache,
        logits=chosen[2],
        buffers=chosen[3],
    )


def _unpacked(model: ServedModel, task: Task, factors: Factors) -> tuple[Values, Values]:
    """Return the bytes in 16 bits of the largest packed matrix of a layer, and those that a packed output matrix takes.

    The output matrix is beside its packed copy when it is packed, and is unpacked to multiply: `copies` of it.
    """
    matrices = np.maximum(model.mlp_matrices, 1.0)
    expert = np.asarray(model.expert_weights) / matrices
    inside = np.maximum(np.asarray(model.dense_ffn_weights) / matrices, expert) * task.packed
    untied = np.asarray(model.table_weights) > 0
    output = np.where((np.asarray(task.head_packed) > 0) & untied, model.head_weights, 0.0) * factors.copies
    each = _WORKING_BYTES / task.model_parallel
    return inside * each, output * each
