"""The columns that sizing computes on: one value or one array per quantity, so that a formula serves one layout or all.

Every field is a float or an array; arrays of one record broadcast against each other. Symbols as in
`clusterwright.workload.transformer`.
"""

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import InputError
from clusterwright.workload import transformer

Array = npt.NDArray[np.float64]
Values = float | Array

RECOMPUTE = ("none", "selective", "full")
NONE, SELECTIVE, FULL = range(3)

_Columns = TypeVar("_Columns", bound="Shape | Device | Layouts | Tuning")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A dense transformer's dimensions and the sequence length it is trained at.

    Attributes:
        query, key_value: width of all queries, and of all keys.
        mlp_matrices: 3 if gated, else 2.
        layer_parameters: of an average layer.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One accelerator and its links, as the time and memory formulas need them.

    Attributes:
        peak_flop_per_s: dense, in the job's precision; attention runs at peak_bf16_flop_per_s.
        scale_up_bytes_per_s, network_bytes_per_s: of one accelerator, one direction, nominal.
        scale_up_gpus: accelerators that reach each other at the scale-up bandwidth.
        eight_bit: 1 where the matrix multiplications are in eight bits or fewer, else 0.
    """

    peak_flop_per_s: Values
    peak_bf16_flop_per_s: Values
    eight_bit: Values
    hbm_bytes: Values
    hbm_bytes_per_s: Values
    scale_up_bytes_per_s: Values
    scale_up_gpus: Values
    network_bytes_per_s: Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Layouts:
    """Layouts as columns; the fields are those of `Layout`, recompute as an index into `RECOMPUTE`."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """The few calibrated numbers of one accelerator generation under one software stack.

    Attributes:
        gemm_efficiency, gemm_efficiency_eight_bit: share of the dense peak that a very large multiplication reaches.
        rows_half, width_half: tokens per micro-batch, and narrow dimension of the sharded matrix, at which half of it
            is reached.
        attention_efficiency: share of the bf16 peak, on causal FLOPs.
        memory_passes: times that each activation byte crosses the memory bus.
        tensor_overlap, data_overlap, pipeline_overlap: share of that traffic which computation hides at best.
        scale_up_fraction, network_fraction: share of the nominal bandwidth that collectives reach.
        scale_up_latency_s, network_latency_s: per step of a collective.
        layer_overhead_s: per layer and micro-batch, forward and backward (launches, casts).
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


def take(columns: _Columns, index: Any) -> _Columns:  # noqa: ANN401 - whatever NumPy takes as an index
    """Return the same record with every array indexed; scalars stay as they are."""
    picked = {field.name: _picked(getattr(columns, field.name), index) for field in fields(columns)}
    return type(columns)(**picked)


def _picked(value: Values, index: Any) -> Values:  # noqa: ANN401
    if isinstance(value, np.ndarray) and value.ndim:
        chosen: Array = value[index]
        return chosen
    return value


def stack(records: "list[_Columns]") -> _Columns:
    """Return one record whose columns hold the values of all `records`, in their order."""
    first = records[0]
    columns = {field.name: np.array([getattr(record, field.name) for record in records]) for field in fields(first)}
    return type(first)(**columns)


def shape_of(model: Model, *, sequence_length: int) -> Shape:
    """Return the dimensions of a dense model at a sequence length.

    Raises:
        InputError: the model is a mixture of experts, which the training engine does not size yet.
    """
    if model.experts:
        raise InputError(
            f"training of mixture-of-experts models such as {model.name} cannot be sized yet",
            help="choose a dense model",
        )
    return Shape(
        layers=float(model.layers),
        hidden=float(model.hidden),
        query=float(transformer.query_width(model)),
        key_value=float(transformer.key_value_width(model)),
        ffn=float(model.ffn_hidden),
        mlp_matrices=float(transformer.mlp_matrices(model)),
        heads=float(model.heads),
        vocab=float(model.vocab),
        sequence=float(sequence_length),
        layer_parameters=transformer.layer_parameters(model),
        table_parameters=float(transformer.embedding_parameters(model)),
        head_parameters=float(model.hidden * model.vocab),
        untied=0.0 if model.tied_embeddings else 1.0,
    )


def device_of(node: NodeType, *, precision: str) -> Device:
    """Return what the formulas need of a node's accelerator and links, for a precision.

    Raises:
        InputError: the accelerator has no documented peak in that precision, or its memory bandwidth is unknown.
    """
    accelerator = node.accelerator
    peaks = {
        "bf16": accelerator.dense_bf16_flop_per_s,
        "fp16": accelerator.dense_fp16_flop_per_s,
        "fp8": accelerator.dense_fp8_flop_per_s,
    }
    peak = peaks.get(precision)
    if peak is None:
        known = ", ".join(name for name, value in peaks.items() if value is not None) or "none"
        raise InputError(
            f"{accelerator.name} has no {precision} matrix multiplication that is documented",
            help=f"known for it: {known}",
        )
    if accelerator.hbm_bytes_per_s is None:
        raise InputError(f"the memory bandwidth of {accelerator.name} is unknown", help="choose another accelerator")
    domain = max(accelerator.scale_up_domain_gpus or 1, 1)
    scale_up = accelerator.scale_up_bytes_per_s_per_gpu_one_way
    if scale_up is None:
        domain, scale_up = 1, node.network_bytes_per_s_per_gpu_one_way
    return Device(
        peak_flop_per_s=peak,
        peak_bf16_flop_per_s=accelerator.dense_bf16_flop_per_s or peak,
        eight_bit=1.0 if precision == "fp8" else 0.0,
        hbm_bytes=node.hbm_bytes_per_gpu,
        hbm_bytes_per_s=accelerator.hbm_bytes_per_s,
        scale_up_bytes_per_s=scale_up,
        scale_up_gpus=float(domain),
        network_bytes_per_s=node.network_bytes_per_s_per_gpu_one_way,
    )
