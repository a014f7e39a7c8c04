"""What the formulas say of each measurement, before and after the shipped calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from clusterwright.catalog.accelerator import Accelerator
from clusterwright.evidence.serving.measurements import (
    ENERGY,
    METRICS,
    OUTPUT,
    OUTPUT_PER_GPU,
    THROUGHPUT,
    TOTAL_PER_GPU,
    TPOT_MEDIAN,
    TTFT_MEAN,
    TTFT_MEDIAN,
    TTFT_P99,
    Measurement,
)
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.closed_loop import Served, serve
from clusterwright.sizing.serving.columns import Deployment, Factors, ServedModel, ServingDevice, stacked
from clusterwright.sizing.serving.memory import WEIGHT_BYTES

#: 400 Gb/s per accelerator, which all systems of the measurements have.
_NETWORK_BYTES_PER_S = 50e9
#: What an accelerator without a link of its own to others reaches: PCIe 5.0 x16.
_HOST_LINK_BYTES_PER_S = 63e9
#: Board power where no document states it.
_POWER_W = 400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Measurements as columns of the formulas."""

    model: ServedModel
    device: ServingDevice
    place: Deployment


def columns_of(rows: Sequence[Measurement]) -> Columns:
    """Return the columns of measurements."""
    return Columns(
        model=stacked([row.model.shape for row in rows]),
        device=stacked([device_of(row.accelerator) for row in rows]),
        place=stacked([place_of(row) for row in rows]),
    )


def device_of(accelerator: Accelerator) -> ServingDevice:
    """Return an accelerator as the formulas need it; a format that it does not multiply in runs in the next wider."""
    sixteen = accelerator.dense_bf16_flop_per_s or accelerator.dense_fp16_flop_per_s or 0.0
    eight = accelerator.dense_fp8_flop_per_s or sixteen
    return ServingDevice(
        flop_per_s_16=sixteen,
        flop_per_s_8=eight,
        # Four-bit weights without four-bit multiplications are unpacked to 16 bits.
        flop_per_s_4=accelerator.dense_fp4_flop_per_s or sixteen,
        hbm_bytes=accelerator.hbm_bytes or 0.0,
        hbm_bytes_per_s=accelerator.hbm_bytes_per_s or 0.0,
        scale_up_bytes_per_s=accelerator.scale_up_bytes_per_s_per_gpu_one_way or _HOST_LINK_BYTES_PER_S,
        scale_up_gpus=accelerator.scale_up_domain_gpus or 1.0,
        network_bytes_per_s=_NETWORK_BYTES_PER_S,
        power_w=accelerator.power_w or _POWER_W,
    )


def format_of(row: Measurement) -> str:
    """Return the format of a row's weights: the stated one, `fp4` as its maker's, none as fp8 where that runs."""
    if row.precision == "fp4":
        return "nvfp4" if row.accelerator.vendor == "NVIDIA" and row.accelerator.dense_fp4_flop_per_s else "mxfp4"
    return row.precision or ("fp8" if row.accelerator.dense_fp8_flop_per_s else "bf16")


def place_of(row: Measurement) -> Deployment:
    """Return the layout, formats and load of a measurement."""
    spoken = format_of(row)
    packed = WEIGHT_BYTES[spoken]
    four = spoken in ("nvfp4", "mxfp4", "int4")
    # Mixtures of experts are published in four bits with attention left in 16.
    attention = 2.0 if four and row.model.routed else packed
    bits = 4.0 if spoken in ("nvfp4", "mxfp4") else 8.0 if spoken in ("fp8", "int8") else 16.0
    if row.accelerator.dense_fp8_flop_per_s is None and bits == 8.0:  # noqa: PLR2004 - weights alone are packed
        bits = 16.0
    cache = WEIGHT_BYTES[row.cache_precision] if row.cache_precision else (1.0 if packed <= 1.0 else 2.0)
    gpus, workers, attention_tp = row.gpus_per_worker, row.workers, row.attention_tp
    if not workers:
        gpus, workers = _replicas(row, packed)
        attention_tp = gpus
    return Deployment(
        gpus=gpus,
        workers=workers,
        attention_tp=attention_tp,
        expert_parallel=row.expert_parallel,
        pipeline=row.pipeline,
        attention_bytes=attention,
        expert_bytes=packed,
        cache_bytes=cache,
        attention_bits=16.0 if four and (row.model.routed or spoken == "int4") else bits,
        expert_bits=bits,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        reserved_tokens=row.reserved_tokens,
        concurrency=row.concurrency,
        most_sequences=min(row.most_sequences, 4096.0) if not np.isfinite(row.concurrency) else row.most_sequences,
        prefill_gpus=row.prefill_gpus_per_worker,
        prefill_workers=row.prefill_workers,
        prefill_attention_tp=row.prefill_attention_tp,
        prefill_expert_parallel=row.prefill_expert_parallel,
        shortest_share=row.shortest_share,
        static=float(row.static),
        draft_tokens=3.0 if row.speculative else 0.0,
        waves=row.waves,
    )


def _replicas(row: Measurement, packed: float) -> tuple[float, float]:
    """Return GPUs per replica, and replicas, where only the system is stated: the fewest whose memory is half free."""
    weights = float(row.model.shape.parameters) * packed
    size = 1.0
    while size < min(row.gpus, 8.0) and weights > 0.6 * size * (row.accelerator.hbm_bytes or 0.0):
        size *= 2
    return size, max(row.gpus / size, 1.0)


def stated(rows: Sequence[Measurement], served: Served, factors: Factors, place: Deployment) -> dict[str, Array]:
    """Return what each metric of each row is by the formulas."""
    unit = np.array([row.unit for row in rows])
    gpus = np.array([row.gpus for row in rows])
    inputs, outputs = np.asarray(place.input_tokens), np.asarray(place.output_tokens)
    requests = served.requests_per_s * np.asarray(factors.drain_share)
    rate = np.select(
        [unit == TOTAL_PER_GPU, unit == OUTPUT_PER_GPU, unit == OUTPUT],
        [requests * (inputs + outputs) / gpus, requests * outputs / gpus, requests * outputs],
    )
    share = np.minimum(1.0 / np.asarray(place.waves), 1.0)
    median = served.first_token_s
    mean = (1.0 - share) * median + share * served.burst_first_token_s
    last = median + 2.0 * (served.burst_first_token_s - median)
    energy = served.power_w * gpus / (served.requests_per_s * outputs)
    return {
        THROUGHPUT: rate,
        TPOT_MEDIAN: served.time_per_token_s,
        TTFT_MEDIAN: median,
        TTFT_MEAN: mean,
        TTFT_P99: last,
        ENERGY: energy,
    }


def formulas(rows: Sequence[Measurement], columns: Columns, factors: Factors) -> tuple[Served, dict[str, Array]]:
    """Return what the formulas say of measurements under given factors."""
    served = serve(columns.model, columns.device, columns.place, factors)
    return served, stated(rows, served, factors, columns.place)


def measured_columns(rows: Sequence[Measurement]) -> dict[str, Array]:
    """Return what was measured by metric, NaN where it was not."""
    return {metric: np.array([row.measured.get(metric, np.nan) for row in rows]) for metric in METRICS}


def factors_with(base: Factors, logarithms: Mapping[str, Array | float]) -> Factors:
    """Return factors multiplied by the exponentials of logarithms."""
    names = {field.name for field in fields(base)}
    changed = {name: getattr(base, name) * np.exp(value) for name, value in logarithms.items() if name in names}
    return replace(base, **changed)
