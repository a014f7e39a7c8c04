"""What is configured of a replica: model, accelerator, framework, formats, layout and load, as columns."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import Accelerator
from clusterwright.sizing.serving.columns import Deployment, ServingDevice, stacked, taken
from clusterwright.sizing.serving.memory import WEIGHT_BYTES
from clusterwright.workload.inference import NamedModel, ServedModel

#: 400 Gb/s per accelerator, which all systems of the measurements have.
_NETWORK_BYTES_PER_S = 50e9
#: What an accelerator without a link of its own to others reaches: PCIe 5.0 x16.
_HOST_LINK_BYTES_PER_S = 63e9
#: Board power where no document states it.
_POWER_W = 400.0
#: What no framework holds more of on one replica, where as many as fit are asked for.
_MOST_SEQUENCES = 4096.0
#: What of a configuration `place_of` reads: its layout, and its load, which alone differs along a curve.
_LAYOUT = attrgetter(
    "precision",
    "cache_precision",
    "gpus",
    "gpus_per_worker",
    "workers",
    "attention_tp",
    "expert_parallel",
    "pipeline",
    "prefill_gpus_per_worker",
    "prefill_workers",
    "prefill_attention_tp",
    "prefill_expert_parallel",
    "speculative",
    "static",
)
_LOAD = attrgetter(
    "input_tokens",
    "output_tokens",
    "reserved_tokens",
    "concurrency",
    "most_sequences",
    "shortest_share",
    "waves",
    "first_token_limit_s",
    "time_per_token_limit_s",
)
_Row = TypeVar("_Row", bound="Configuration")

#: Families of frameworks by a part of the name, the first that is found.
_FRAMEWORKS = (
    ("sglang", "sglang"),
    ("vllm", "vllm"),
    ("trt", "trt"),
    ("tensorrt", "trt"),
    ("nim", "trt"),
    ("neuron", "neuron"),
    ("llm-d", "vllm"),
    ("mango", "vllm"),
    ("llmboost", "vllm"),
    ("tgi", "tgi"),
)


#: The version at the end of a framework's name.
_VERSION = re.compile(r"[\s_=@-]+v?\d[\w.+-]*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """One replica, or one system of alike replicas, before its load is known to be held.

    Attributes:
        framework: its family, or its own name; precision, cache_precision: of weights and of keys and values; each
            empty if not stated.
        gpus: of the whole; gpus_per_worker, workers, prefill_gpus_per_worker, prefill_workers: as `Deployment`, 0
            workers where only the system is stated.
        speculative: how tokens are drafted, empty for not at all.
        concurrency: infinite for as many as fit.
        static: all sequences of a batch start together; waves: as `Deployment`.
        scenario: of a benchmark that loads the replica in its own way, else empty.
        release: of the framework, its name and the first two numbers of its version; empty if not stated.
        first_token_limit_s, time_per_token_limit_s: as `Deployment`.
    """

    accelerator: Accelerator
    model: NamedModel
    framework: str
    precision: str
    cache_precision: str
    gpus: float
    gpus_per_worker: float
    workers: float
    attention_tp: float
    expert_parallel: float = 1.0
    pipeline: float = 1.0
    prefill_gpus_per_worker: float = 0.0
    prefill_workers: float = 0.0
    prefill_attention_tp: float = 1.0
    prefill_expert_parallel: float = 1.0
    decode_gpus: float
    speculative: str = ""
    input_tokens: float
    output_tokens: float
    reserved_tokens: float
    shortest_share: float
    concurrency: float
    most_sequences: float
    static: bool
    waves: float
    scenario: str = ""
    release: str = ""
    first_token_limit_s: float = np.inf
    time_per_token_limit_s: float = np.inf

    @property
    def disaggregated(self) -> bool:
        """Whether prefill has a pool of its own."""
        return self.prefill_workers > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Configurations as columns of the formulas."""

    model: ServedModel
    device: ServingDevice
    place: Deployment


def columns_of(rows: Sequence[Configuration]) -> Columns:
    """Return the columns of configurations."""
    models, of_model = distinct(rows, lambda row: id(row.model))
    devices, of_device = distinct(rows, lambda row: id(row.accelerator))
    layouts, of_layout = distinct(rows, lambda row: (id(row.model), id(row.accelerator), *_LAYOUT(row)))
    place = taken(stacked([place_of(row) for row in layouts]), of_layout)
    inputs, outputs, reserved, concurrency, most, shortest, waves, first_limit, token_limit = np.array(
        [_LOAD(row) for row in rows], dtype=float
    ).T
    return Columns(
        model=taken(stacked([row.model.shape for row in models]), of_model),
        device=taken(stacked([device_of(row.accelerator) for row in devices]), of_device),
        place=replace(
            place,
            input_tokens=inputs,
            output_tokens=outputs,
            reserved_tokens=reserved,
            concurrency=concurrency,
            most_sequences=np.where(np.isfinite(concurrency), most, np.minimum(most, _MOST_SEQUENCES)),
            shortest_share=shortest,
            waves=waves,
            first_token_limit_s=first_limit,
            time_per_token_limit_s=token_limit,
        ),
    )


def distinct(rows: Sequence[_Row], key: Callable[[_Row], Hashable]) -> tuple[list[_Row], npt.NDArray[np.intp]]:
    """Return the first row of each key, and the key of every row as an index into them."""
    places: dict[Hashable, int] = {}
    index = [places.setdefault(key(row), len(places)) for row in rows]
    _, first = np.unique(index, return_index=True)
    return [rows[one] for one in first], np.array(index, dtype=np.intp)


def framework_of(name: str) -> str:
    """Return the family of a framework; of one that is not known its own name, in small letters without its version.

    >>> framework_of("vLLM 0.9.1"), framework_of("LMDeploy v0.7"), framework_of("")
    ('vllm', 'lmdeploy', '')
    """
    spoken = name.lower()
    return next((family for part, family in _FRAMEWORKS if part in spoken), _VERSION.sub("", spoken).strip())


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
        host_bytes_per_s=accelerator.host_link_bytes_per_s_one_way or _HOST_LINK_BYTES_PER_S,
    )


def format_of(row: Configuration) -> str:
    """Return the format of the weights: the stated one, `fp4` as its maker's, none as fp8 where that runs."""
    if row.precision == "fp4":
        return "nvfp4" if row.accelerator.vendor == "NVIDIA" and row.accelerator.dense_fp4_flop_per_s else "mxfp4"
    return row.precision or ("fp8" if row.accelerator.dense_fp8_flop_per_s else "bf16")


def place_of(row: Configuration) -> Deployment:
    """Return the layout, formats and load of a configuration."""
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
        # A latent would be copied to every rank: as many as fit are served with a rank for each accelerator.
        attention_tp = 1.0 if row.model.latent else gpus
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
        most_sequences=row.most_sequences if np.isfinite(row.concurrency) else min(row.most_sequences, _MOST_SEQUENCES),
        prefill_gpus=row.prefill_gpus_per_worker,
        prefill_workers=row.prefill_workers,
        prefill_attention_tp=row.prefill_attention_tp,
        prefill_expert_parallel=row.prefill_expert_parallel,
        shortest_share=row.shortest_share,
        static=float(row.static),
        draft_tokens=3.0 if row.speculative else 0.0,
        waves=row.waves,
        first_token_limit_s=row.first_token_limit_s,
        time_per_token_limit_s=row.time_per_token_limit_s,
    )


def _replicas(row: Configuration, packed: float) -> tuple[float, float]:
    """Return GPUs per replica, and replicas, where only the system is stated: the fewest whose memory is half free."""
    weights = float(row.model.shape.parameters) * packed
    size = 1.0
    while size < min(row.gpus, 8.0) and weights > 0.6 * size * (row.accelerator.hbm_bytes or 0.0):
        size *= 2
    return size, max(row.gpus / size, 1.0)
