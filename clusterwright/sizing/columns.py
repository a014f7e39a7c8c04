"""The columns that sizing computes on: one value or one array per quantity, so that a formula serves one layout or all.

Every field is a float or an array; arrays of one record broadcast against each other. Symbols as in
`clusterwright.workload.transformer`.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Values = float | Array
Index = npt.NDArray[np.intp]

RECOMPUTE = ("none", "selective", "full")
NONE, SELECTIVE, FULL = range(3)
#: Pipeline schedules; the first is interleaved where a stage has more than one chunk.
SCHEDULES = ("1f1b", "zero-bubble", "dualpipe")
ONE_F_ONE_B, ZERO_BUBBLE, DUALPIPE = range(3)

_Columns = TypeVar("_Columns", bound="Shape | Device | Layouts | Tuning | Traits")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A transformer's dimensions and the sequence length it is trained at; `sizing.model.shapes` makes it.

    Attributes:
        layers: with the layers that predict further tokens; predictions: passes of the output matrix per token.
        query, key_value: width of all queries, and the mean of all keys and all values.
        value_out: width that attention puts out.
        latent_in: width of what latent attention compresses to, 0 for plain attention; latent_query, latent_key: the
            inputs of its expansions into queries, and into keys and values of width up_key_value.
        attended: keys that an average token attends to.
        mlp_matrices: 3 if gated, else 2.
        expert_share: layers with experts over layers; experts, experts_per_token, expert_ffn: of those layers.
        shared_ffn: width of all shared experts together.
        expert_imbalance: token copies that the fullest rank's experts receive over the mean; 1 where the router is
            balanced, as benchmarks force it to be.
        layer_parameters: of an average layer without routed experts; expert_parameters: of its routed experts.
        table_parameters: of the token and position tables; head_parameters: of the output matrix, `h V`.
        untied: 1 where the output matrix is not the token table again, else 0.
    """

    layers: Values
    hidden: Values
    query: Values
    key_value: Values
    ffn: Values
    mlp_matrices: Values
    heads: Values
    vocab: Values
    sequence: Values
    layer_parameters: Values
    table_parameters: Values
    head_parameters: Values
    untied: Values
    value_out: Values
    attended: Values
    predictions: Values = 1.0
    latent_in: Values = 0.0
    latent_query: Values = 0.0
    latent_key: Values = 0.0
    up_key_value: Values = 0.0
    expert_share: Values = 0.0
    experts: Values = 1.0
    experts_per_token: Values = 0.0
    expert_ffn: Values = 0.0
    shared_ffn: Values = 0.0
    expert_parameters: Values = 0.0
    expert_imbalance: Values = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One accelerator and its links, as the time and memory formulas need them.

    Attributes:
        peak_flop_per_s: dense, in the job's precision; attention runs at peak_bf16_flop_per_s.
        scale_up_bytes_per_s, network_bytes_per_s: of one accelerator, one direction, nominal.
        scale_up_gpus: accelerators that reach each other at the scale-up bandwidth.
        eight_bit, four_bit: 1 where the matrix multiplications are in eight bits, in four bits, else 0.
        block_scaled: 1 where software scales them by block, else 0.
        mesh_peers: accelerators that each one is joined to by links of their own, 0 behind a switch; torus_axes: of a
            torus, else 0, whose axes close from torus_wrap accelerators on.
        leaf_gpus, spine_gpus: accelerators below one leaf of each rail, and below one set of spines, whose downlinks
            over uplinks are leaf_oversubscription and spine_oversubscription.
        network_share, network_latency_factor: of the network's kind over those that calibration means.
        in_network, in_domain, flat, leafwise, tree: 1 where collectives may use them (`catalog.records.NodeNetwork`).
        speed: share of the peaks that a power cap leaves; the peaks above have it in them.
        matmul_share, matmul_share_bf16: what the fastest multiplication was measured to reach over the peak, in the
            job's precision and in bf16.
    """

    peak_flop_per_s: Values
    peak_bf16_flop_per_s: Values
    eight_bit: Values
    hbm_bytes: Values
    hbm_bytes_per_s: Values
    scale_up_bytes_per_s: Values
    scale_up_gpus: Values
    network_bytes_per_s: Values
    four_bit: Values = 0.0
    block_scaled: Values = 0.0
    mesh_peers: Values = 0.0
    torus_axes: Values = 0.0
    torus_wrap: Values = 4.0
    leaf_gpus: Values = np.inf
    spine_gpus: Values = np.inf
    leaf_oversubscription: Values = 1.0
    spine_oversubscription: Values = 1.0
    network_share: Values = 1.0
    network_latency_factor: Values = 1.0
    in_network: Values = 0.0
    in_domain: Values = 0.0
    flat: Values = 0.0
    leafwise: Values = 0.0
    tree: Values = 0.0
    speed: Values = 1.0
    matmul_share: Values = 0.77
    matmul_share_bf16: Values = 0.77


@dataclass(frozen=True, kw_only=True, slots=True)
class Layouts:
    """Layouts as columns; recompute is an index into `RECOMPUTE`, the other fields are those of `Layout`.

    Expert parallelism takes its ranks from those of tensor, context and data parallelism: `ep etp` divides
    `tp cp dp`, and `tp cp dp / (ep etp)` ranks hold the same experts.

    Attributes:
        recompute_layers: of each chunk of a stage, with full recomputation; infinite for all.
        replicas: groups over each of which the states are sharded; 1 shards them over all of `dp cp`.
        schedule: index into `SCHEDULES`.
    """

    tp: Values
    sp: Values
    pp: Values
    vpp: Values
    dp: Values
    cp: Values
    zero_stage: Values
    micro_batch: Values
    micro_batches: Values
    recompute: Values
    ep: Values = 1.0
    etp: Values = 1.0
    recompute_layers: Values = np.inf
    replicas: Values = 1.0
    schedule: Values = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """The few calibrated numbers of one accelerator generation under one software stack.

    Attributes:
        gemm_efficiency, gemm_efficiency_eight_bit, gemm_efficiency_four_bit: share of the fastest measured
            multiplication (`Device.matmul_share`) that a very large one reaches in training.
        rows_half, width_half: tokens per micro-batch, and narrow dimension of the sharded matrix, at which half of it
            is reached.
        attention_efficiency: share of what the attention kernel was measured at (attention_share, of the bf16 peak).
        memory_passes: times that each activation byte crosses the memory bus.
        tensor_overlap, data_overlap, pipeline_overlap: share of that traffic which computation hides at best.
        scale_up_fraction, network_fraction: share of the nominal bandwidth that collectives reach.
        scale_up_latency_s, network_latency_s: per step of a collective.
        layer_overhead_s: per layer and micro-batch, forward and backward (launches, casts).
        grouped_efficiency: of multiplications grouped by expert over that of plain ones.
        expert_rows_half: tokens per expert at which half of it is reached.
        expert_passes: times that each token copy crosses the memory bus on its way to its expert and back, forward.
        expert_overlap: share of the all-to-all that computation hides.
        expert_launch_s: time in which the processor can launch one expert's kernels of a layer, forward and backward; a
            layer is not faster than that of all experts of its rank.
        step_overhead_s: per step, whatever the model (processor, logging, optimizer launches).
        plain_overlap: share of tensor_overlap and expert_overlap that software reaches which has no overlapped kernels;
            plans assume software that has. eager_passes, compiled_passes: memory_passes of software that runs operation
            by operation, and of compiled software, over those of fused kernels.
        attention_share, scores_written, blocking, gathers_per_layer: of the software, see `Traits`.
    """

    gemm_efficiency: Values
    gemm_efficiency_eight_bit: Values
    rows_half: Values
    width_half: Values
    attention_efficiency: Values
    memory_passes: Values
    tensor_overlap: Values
    data_overlap: Values
    pipeline_overlap: Values
    scale_up_fraction: Values
    network_fraction: Values
    scale_up_latency_s: Values
    network_latency_s: Values
    layer_overhead_s: Values
    gemm_efficiency_four_bit: Values = 0.45
    grouped_efficiency: Values = 0.65
    expert_rows_half: Values = 64.0
    expert_passes: Values = 6.0
    expert_overlap: Values = 0.3
    expert_launch_s: Values = 3e-4
    plain_overlap: Values = 0.4
    eager_passes: Values = 2.2
    compiled_passes: Values = 0.8
    step_overhead_s: Values = 0.025
    attention_share: Values = 0.5
    scores_written: Values = 0.0
    blocking: Values = 0.0
    gathers_per_layer: Values = 1.0


def anywhere(value: Any) -> bool:  # noqa: ANN401 - numbers, flags, and arrays of either
    """Tell whether a column is not zero in some row; ten times as fast as `np.any` where it is a plain number."""
    return bool(value) if isinstance(value, float | int) else bool(np.any(value))


def take(columns: _Columns, index: Any) -> _Columns:  # noqa: ANN401 - whatever NumPy takes as an index
    """Return the same record with every array indexed; scalars stay as they are."""
    picked = {name: _picked(getattr(columns, name), index) for name in columns.__slots__}
    return type(columns)(**picked)


def _picked(value: Values, index: Any) -> Values:  # noqa: ANN401
    if isinstance(value, np.ndarray) and value.ndim:
        chosen: Array = value[index]
        return chosen
    return value


def stack(records: "list[_Columns]") -> _Columns:
    """Return one record whose columns hold the values of all `records`, in their order."""
    first = records[0]
    columns = {name: np.array([getattr(record, name) for record in records]) for name in first.__slots__}
    return type(first)(**columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What software does to the numbers of its stack, as columns; the defaults are those of tuned software.

    Attributes:
        plain: 1 where traffic inside layers is not overlapped; exposes_data: 1 where that of gradients and sharded
            weights is not.
        eager, compiled: 1 where operations run one by one, or are fused by a compiler.
        attention_share: share of the bf16 peak that its attention kernel was measured at; scores_written: 1 where
            attention writes its scores to memory instead.
        blocking: 1 where pipeline stages wait for what they send to each other, through buffers of the host.
        gathers_per_layer: collectives with which ZeRO-3 gathers a layer.
    """

    attention_share: Values
    plain: Values = 0.0
    exposes_data: Values = 0.0
    eager: Values = 0.0
    compiled: Values = 0.0
    scores_written: Values = 0.0
    blocking: Values = 0.0
    gathers_per_layer: Values = 1.0


#: Fields of `Tuning` that a software brings, whatever the accelerator.
OF_SOFTWARE = ("attention_share", "scores_written", "blocking", "gathers_per_layer")


def under(tuning: Tuning, traits: Traits) -> Tuning:
    """Return the numbers of a stack as a software with these traits has them."""
    share = np.where(np.asarray(traits.plain) > 0, tuning.plain_overlap, 1.0)
    passes = np.where(np.asarray(traits.eager) > 0, tuning.eager_passes, 1.0)
    passes = np.where(np.asarray(traits.compiled) > 0, tuning.compiled_passes, passes)
    return replace(
        tuning,
        tensor_overlap=tuning.tensor_overlap * share,
        expert_overlap=tuning.expert_overlap * share,
        data_overlap=tuning.data_overlap * (1 - np.asarray(traits.exposes_data)),
        memory_passes=tuning.memory_passes * passes,
        **{name: getattr(traits, name) for name in OF_SOFTWARE},
    )
