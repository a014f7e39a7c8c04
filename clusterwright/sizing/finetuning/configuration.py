"""What is configured of a fine-tuning run: model, accelerators, method, formats and practice, as columns."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np

from clusterwright import assets
from clusterwright.catalog.records import Accelerator
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.columns import TENSORS, Factors, Task, task_columns
from clusterwright.sizing.finetuning.memory import STORED, WEIGHT_BYTES, PeakMemory, lora_parameters, peak
from clusterwright.sizing.serving.columns import ServingDevice, stacked
from clusterwright.sizing.serving.configuration import device_of
from clusterwright.workload.inference import NamedModel, ServedModel

FULL, LORA, QLORA, DORA, ADAPTER, PROMPT, INFERENCE = METHODS = (
    "full",
    "lora",
    "qlora",
    "dora",
    "adapter",
    "prompt",
    "inference",
)
#: Formats that QLoRA stores its base in (arXiv 2305.14314, and bitsandbytes' and GPTQ's kernels).
QLORA_FORMATS = ("nf4", "nf4-dq", "int4", "int8", "fp4")
QUERY, KEY, VALUE, OUTPUT, MLP = "query", "key", "value", "output", "mlp"
EVERY_MATRIX = frozenset({QUERY, KEY, VALUE, OUTPUT, MLP})
#: How layers are recomputed: all, none, all if it does not fit otherwise, as many as it takes to fit.
ALWAYS, NEVER, WHOLE, PARTLY = "always", "never", "whole", "partly"
#: The family of frameworks that share layers between accelerators by themselves: NeMo and Megatron.
MEGATRON = "benchmark"
#: Tokens that tensors may take of an accelerator; the rest is the context's and the allocator's.
_USABLE_SHARE = 0.93
#: Trained tokens of prompt tuning (Lester et al. 2021, arXiv 2104.08691, figure 3), bottleneck of an adapter (Houlsby
#: et al. 2019, arXiv 1902.00751, section 3.1), where none is stated.
_PROMPT_TOKENS, _ADAPTER_WIDTH = 100.0, 64.0
#: Format and rated FLOP per joule of a generation that the table lacks.
_UNKNOWN_GENERATION = ("bf16", 1e12)


@dataclass(frozen=True, kw_only=True, slots=True)
class Practice:
    """What a framework does where a configuration says nothing.

    Attributes:
        framework: its name; names: parts of what people write for it.
        compiled: whether element-wise kernels are fused; logit_bytes: per logit, plain_logit_bytes: where a list of
            options names no chunked loss.
        adapter_bytes: of a trained weight beside a frozen base, with gradient and moments; gradient_bytes,
            optimizer_bytes: per weight of full fine-tuning, listed_optimizer_bytes: where options are listed.
        recompute: one of the constants above; output_packed: quantises the output matrix too; inputs_kept: its
            quantised matrices keep their inputs; double_quantised: what
            its `nf4` means; sharded: several accelerators divide the weights.
        rank, targets: of LoRA.
    """

    framework: str
    names: tuple[str, ...]
    compiled: bool
    logit_bytes: float
    plain_logit_bytes: float
    adapter_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    listed_optimizer_bytes: float
    recompute: str
    output_packed: bool
    inputs_kept: bool
    double_quantised: bool
    sharded: bool
    rank: float
    targets: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """One fine-tuning run.

    Attributes:
        framework: a family of the table of practices, empty if unknown; method: one of `METHODS`; precision: of the
            base weights, a key of `WEIGHT_BYTES`.
        sequences: of one pass; model_parallel: accelerators that share it; tokens: of the longest sequence; filled:
            tokens that count over those of sequences of that length.
        trained_parameters: beside frozen weights, None for what rank and targets give.
        optimizer_bytes, logit_bytes, compiled, recompute: of the options, None for the practice's.
        streamed: optimizer in the backward pass; host_states, host_activations: kept in host memory.
        memory_counted: of `columns.TENSORS`, `RESERVED`, `DEVICE`.
        shards: groups of accelerators that weights and states are divided over, None for the practice's.
        assumed: sentences on what nobody stated.
    """

    accelerator: Accelerator
    model: NamedModel
    framework: str
    method: str
    precision: str
    gpus: float
    nodes: float
    sequences: float
    model_parallel: float
    tokens: float
    filled: float
    global_batch: float
    rank: float | None = None
    targets: frozenset[str] | None = None
    trained_parameters: float | None = None
    optimizer_bytes: float | None = None
    logit_bytes: float | None = None
    compiled: bool | None = None
    recompute: str | None = None
    streamed: bool = False
    host_states: bool = False
    host_activations: bool = False
    memory_counted: int = TENSORS
    shards: float | None = None
    assumed: tuple[str, ...] = ()

    @property
    def practice(self) -> Practice:
        """What the framework does where nothing is stated."""
        return practices()[self.framework or "other"]


@cache
def practices() -> dict[str, Practice]:
    """Return the practices of frameworks by name."""
    with (assets.root() / "catalog" / "finetuning_practices.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["framework"]: Practice(
                framework=row["framework"],
                names=tuple(row["names"].split()),
                compiled=row["compiled"] == "1",
                logit_bytes=float(row["logit_bytes"]),
                plain_logit_bytes=float(row["plain_logit_bytes"]),
                adapter_bytes=float(row["adapter_bytes"]),
                gradient_bytes=float(row["gradient_bytes"]),
                optimizer_bytes=float(row["optimizer_bytes"]),
                listed_optimizer_bytes=float(row["listed_optimizer_bytes"]),
                recompute=row["recompute"],
                output_packed=row["output_packed"] == "1",
                inputs_kept=row["inputs_kept"] == "1",
                double_quantised=row["double_quantised"] == "1",
                sharded=row["sharded"] == "1",
                rank=float(row["rank"]),
                targets=targets_of(row["targets"]),
            )
            for row in csv.DictReader(file)
        }


def framework_of(name: str) -> str:
    """Return the family of the table of practices that a framework is of, empty for one that is not known."""
    spoken = name.lower()
    return next(
        (family for family, practice in practices().items() if any(part in spoken for part in practice.names)), ""
    )


def targets_of(words: str) -> frozenset[str]:
    """Return the matrices that words name, all for `all`."""
    return EVERY_MATRIX if words == "all" else frozenset(words.split())


@cache
def _formats() -> dict[tuple[str, str], tuple[str, float]]:
    """Return format and rated FLOP per joule by generation and benchmark round, empty for any."""
    with (assets.root() / "catalog" / "finetuning_formats.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["generation"], row["benchmark_round"]): (row["format"], float(row["flop_per_joule"]))
            for row in csv.DictReader(file)
        }


def default_format(accelerator: Accelerator, *, benchmark_round: str = "") -> str:
    """Return the format that a generation of accelerators is trained in where a choice is left."""
    known = _formats()
    generation = accelerator.generation
    return (known.get((generation, benchmark_round)) or known.get((generation, ""), _UNKNOWN_GENERATION))[0]


class Trained(Protocol):
    """What says which weights are trained: a configuration, or a run of any layout."""

    @property
    def model(self) -> NamedModel:
        """The model."""

    @property
    def method(self) -> str:
        """One of `METHODS`."""

    @property
    def rank(self) -> float | None:
        """As in `Configuration`."""

    @property
    def targets(self) -> frozenset[str] | None:
        """As in `Configuration`."""

    @property
    def trained_parameters(self) -> float | None:
        """As in `Configuration`."""

    @property
    def practice(self) -> Practice:
        """As in `Configuration`."""


def adapter_parameters(row: Trained) -> float:
    """Return what is trained beside frozen weights: as stated, or what the method adds to each layer.

    LoRA `r (inputs + outputs)` per matrix; DoRA the size of each output besides; adapters two of `2 h w` after
    attention and MLP; prompts `h` per token.
    """
    if row.trained_parameters is not None:
        return row.trained_parameters
    if row.method in (FULL, INFERENCE):
        return 0.0
    shape = row.model.shape
    hidden, layers = float(shape.hidden), float(shape.layers)
    if row.method == PROMPT:
        return (row.rank or _PROMPT_TOKENS) * hidden
    if row.method == ADAPTER:
        return layers * 4 * hidden * (row.rank or _ADAPTER_WIDTH)
    rank = row.rank or row.practice.rank
    targets = row.targets or row.practice.targets
    found = 0.0
    for target, (inputs, outputs, count) in matrices(shape).items():
        if target in targets:
            found += count * float(lora_parameters(rank=rank, inputs=inputs, outputs=outputs))
            found += count * outputs * (row.method == DORA)
    return layers * found


def matrices(shape: ServedModel) -> dict[str, tuple[float, float, float]]:
    """Return inputs, outputs and how many of the matrices of one layer that adapters attach to."""
    hidden, width = float(shape.hidden), float(shape.score_width) / 2
    cached = float(shape.cache_elements) / 2
    count = float(shape.mlp_matrices)
    ffn = float(shape.dense_ffn_weights) / (hidden * count)
    return {
        QUERY: (hidden, width, 1.0),
        KEY: (hidden, cached, 1.0),
        VALUE: (hidden, cached, 1.0),
        OUTPUT: (width, hidden, 1.0),
        MLP: (hidden, ffn, count),
    }


def narrowest_width(shape: ServedModel) -> float:
    """Return the shortest side of a matrix that adapters attach to; no rank above it says more."""
    return min(min(inputs, outputs) for inputs, outputs, _ in matrices(shape).values())


def bits_of(accelerator: Accelerator, precision: str) -> float:
    """Return the bits that a format multiplies in on an accelerator; stored formats multiply in 16."""
    if precision in STORED or precision in ("bf16", "fp16", "fp32"):
        return 16.0
    if precision in ("nvfp4", "mxfp4") and accelerator.dense_fp4_flop_per_s:
        return 4.0
    return 8.0 if accelerator.dense_fp8_flop_per_s else 16.0


def task_of(row: Configuration) -> Task:
    """Return a run as the formulas need it, nothing recomputed unless that is settled."""
    practice = row.practice
    full = row.method == FULL
    stored = row.precision in STORED
    packed = WEIGHT_BYTES[row.precision]
    compiled = practice.compiled if row.compiled is None else row.compiled
    optimizer = practice.optimizer_bytes if row.optimizer_bytes is None else row.optimizer_bytes
    recompute = row.recompute or practice.recompute
    groups = max(row.gpus / row.model_parallel, 1.0) if practice.sharded else 1.0
    return Task(
        gpus=row.gpus,
        nodes=row.nodes,
        sequences=row.sequences,
        tokens=row.tokens,
        filled=row.filled,
        model_parallel=row.model_parallel,
        shards=groups if row.shards is None else row.shards,
        global_batch=row.global_batch,
        full=float(full),
        adapter_parameters=adapter_parameters(row),
        adapter_bytes=practice.adapter_bytes,
        weight_bytes=packed,
        head_bytes=packed if practice.output_packed and stored else 2.0,
        packed=float(stored),
        head_packed=float(stored and practice.output_packed),
        inputs_kept=float(practice.inputs_kept),
        bits=bits_of(row.accelerator, row.precision),
        flop_per_joule=_formats().get((row.accelerator.generation, ""), _UNKNOWN_GENERATION)[1],
        gradient_bytes=practice.gradient_bytes,
        optimizer_bytes=optimizer,
        streamed=float(row.streamed),
        host_states=float(row.host_states),
        host_activations=float(row.host_activations),
        recomputed=float(recompute == ALWAYS),
        eager=float(not compiled),
        logit_bytes=practice.logit_bytes if row.logit_bytes is None else row.logit_bytes,
        inference=float(row.method == INFERENCE),
        memory_counted=float(row.memory_counted),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Configurations as columns of the formulas."""

    model: ServedModel
    device: ServingDevice
    task: Task


def columns_of(rows: Sequence[Configuration]) -> Columns:
    """Return the columns of configurations, with the recomputation that each needs to fit."""
    model, device = stacked([row.model.shape for row in rows]), stacked([device_of(row.accelerator) for row in rows])
    task = task_columns([task_of(row) for row in rows])
    most = _USABLE_SHARE * np.asarray(device.hbm_bytes)
    none, every = (
        peak(model, replace(task, recomputed=np.full(len(rows), share)), Factors()).total() for share in (0.0, 1.0)
    )
    kinds = np.array([row.recompute or row.practice.recompute for row in rows])
    saved = np.maximum(none - every, 1.0)
    needed = np.clip((none - most) / saved, 0.0, 1.0)
    recomputed: Array = np.select(
        [kinds == NEVER, kinds == ALWAYS, kinds == PARTLY],
        [np.zeros(len(rows)), np.ones(len(rows)), needed],
        needed > 0,
    ).astype(float)
    return Columns(model=model, device=device, task=replace(task, recomputed=recomputed))


def fits(memory: PeakMemory, device: ServingDevice) -> Array:
    """Return whether the tensors of runs fit their accelerators."""
    return np.asarray(memory.total() <= _USABLE_SHARE * np.asarray(device.hbm_bytes))


def nodes_of(gpus: float, accelerator: Accelerator) -> float:
    """Return nodes of at most eight accelerators."""
    return float(math.ceil(gpus / min(accelerator.scale_up_domain_gpus or 8.0, 8.0)))
