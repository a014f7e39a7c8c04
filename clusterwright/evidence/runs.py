"""Published or own training runs as the engine sees them: one row of a CSV file becomes one run with its layout.

What a source does not state (micro-batch, chunks per pipeline stage) is taken as the search would take it: the fastest
choice that fits into memory.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.sizing import memory, step
from clusterwright.sizing.calibration import FSDP, MEGATRON
from clusterwright.sizing.columns import FULL, SELECTIVE, Array, Device, Layouts, Shape, Tuning, device_of, stack
from clusterwright.sizing.layouts import divisors

REQUIRED = (
    "id", "group", "software", "gpu", "n_gpus", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden",
    "gated_mlp", "vocab", "seq_len", "global_batch", "precision", "recompute", "tp", "pp", "tokens_per_s_per_gpu",
)  # fmt: skip
#: Precisions of the file to those of the engine; block-scaled fp8 runs at the same peak.
PRECISIONS = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "mxfp8": "fp8"}
#: Software that changes the algorithm, so that fewer FLOPs than the model's are done.
OTHER_ALGORITHM = ("MegaScale",)
_MICRO_BATCHES = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One measured run.

    Attributes:
        group: runs of one group are never split between fitting and judging.
        candidates: the layout, or several where the source leaves something open.
        tokens_per_s_per_gpu: measured.
        memory_bytes: measured on the fullest GPU, None if not published.
    """

    id: str
    group: str
    gpu: str
    precision: str
    software: str
    generation: str
    stack: str
    gpus: float
    shape: Shape
    device: Device
    candidates: tuple[Layouts, ...]
    tokens_per_s_per_gpu: float
    memory_bytes: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NotExpressed:
    """A row that the engine cannot express, and why."""

    id: str
    reason: str


def read_runs(path: Path, nodes: Mapping[str, NodeType]) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of a CSV file and the rows that cannot be expressed.

    Args:
        path: a file with at least the columns of `REQUIRED`.
        nodes: the node type behind each name of the column `gpu`.

    Raises:
        InputError: the file cannot be read, or lacks columns.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path.name}: {error}", help="give a CSV file of runs") from error
    if missing:
        raise InputError(f"{path.name} lacks the columns {', '.join(missing)}", help="see docs/accuracy.md")
    runs: list[Run] = []
    skipped: list[NotExpressed] = []
    for line, row in enumerate(rows, start=2):
        try:
            runs.append(_run(row, nodes))
        except _SkippedError as error:
            skipped.append(NotExpressed(id=row["id"], reason=str(error)))
        except ClusterwrightError as error:
            skipped.append(NotExpressed(id=row["id"], reason=error.message))
        except ValueError as error:
            raise InputError(f"{path.name}:{line} ({row['id']}): {error}", help="correct the row") from error
    return runs, skipped


class _SkippedError(Exception):
    """A row that the engine cannot express."""


def _number(row: Mapping[str, str], name: str, default: float | None = None) -> float:
    text = row.get(name) or ""
    if text:
        return float(text)
    if default is None:
        raise _SkippedError(f"{name} is not published")
    return default


def _run(row: Mapping[str, str], nodes: Mapping[str, NodeType]) -> Run:
    if _number(row, "n_experts", 0.0):
        raise _SkippedError("mixture of experts")
    if row["precision"] not in PRECISIONS:
        raise _SkippedError(f"precision {row['precision']}")
    if row["software"] in OTHER_ALGORITHM:
        raise _SkippedError(f"{row['software']} changes the algorithm")
    if row["gpu"] not in nodes:
        raise _SkippedError(f"no node type for {row['gpu']}")
    node = nodes[row["gpu"]]
    shape, device = _shape(row), device_of(node, precision=PRECISIONS[row["precision"]])
    sharding = row.get("zero_or_fsdp") or ""
    sharded = "fsdp" in sharding or sharding == "zero3"
    gib = _number(row, "mem_gib", 0.0)
    return Run(
        id=row["id"],
        group=row["group"],
        gpu=row["gpu"],
        precision=row["precision"],
        software=row["software"],
        generation=node.accelerator.generation,
        stack=FSDP if sharded else MEGATRON,
        gpus=_number(row, "n_gpus"),
        shape=shape,
        device=device,
        candidates=_layouts(row, shape, sharded=sharded),
        tokens_per_s_per_gpu=_number(row, "tokens_per_s_per_gpu"),
        memory_bytes=gib * 2**30 if gib else None,
    )


def _shape(row: Mapping[str, str]) -> Shape:
    hidden, ffn, vocab = _number(row, "hidden"), _number(row, "ffn_hidden"), _number(row, "vocab")
    head = _number(row, "head_dim")
    query, key_value = _number(row, "heads") * head, _number(row, "kv_heads") * head
    matrices = 3.0 if row["gated_mlp"] == "1" else 2.0
    return Shape(
        layers=_number(row, "layers"),
        hidden=hidden,
        query=query,
        key_value=key_value,
        ffn=ffn,
        mlp_matrices=matrices,
        heads=_number(row, "heads"),
        vocab=vocab,
        sequence=_number(row, "seq_len"),
        layer_parameters=2 * hidden * (query + key_value) + matrices * hidden * ffn + 2 * hidden,
        table_parameters=hidden * vocab,
        head_parameters=hidden * vocab,
        # Models with gated MLPs (the Llama family) have an output matrix of their own, GPT's is the token table.
        untied=matrices - 2,
    )


def _layouts(row: Mapping[str, str], shape: Shape, *, sharded: bool) -> tuple[Layouts, ...]:
    tp, pp, cp = _number(row, "tp"), _number(row, "pp"), _number(row, "cp", 1.0)
    ranks = _number(row, "n_gpus") / (tp * pp * cp)
    batch = _number(row, "global_batch")
    stage = 2.0 if "shard_grad_op" in (row.get("zero_or_fsdp") or "") else 3.0
    micro_batches = [_number(row, "micro_batch")] if row.get("micro_batch") else list(_MICRO_BATCHES)
    chunks = [_number(row, "vpp")] if row.get("vpp") else _chunks(float(shape.layers), pp)
    found = tuple(
        Layouts(
            tp=tp,
            sp=_number(row, "sp", 0.0) if tp > 1 else 0.0,
            pp=pp,
            vpp=vpp,
            dp=ranks,
            cp=cp,
            zero_stage=stage if sharded else 1.0,
            micro_batch=size,
            micro_batches=batch / ranks / size,
            recompute=float(FULL if row["recompute"] == "full" else SELECTIVE),
        )
        for size in micro_batches
        for vpp in chunks
        if batch / ranks >= size
    )
    if not found:
        raise _SkippedError("fewer sequences than data-parallel ranks")
    return found


def _chunks(layers: float, stages: float) -> list[float]:
    return [float(count) for count in divisors(int(layers // stages))] if stages > 1 else [1.0]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunColumns:
    """All candidates of all runs as columns.

    Attributes:
        first: index of each run's first candidate; run_of: the run of each candidate.
        gpus: accelerators of each candidate's run.
    """

    shape: Shape
    device: Device
    layouts: Layouts
    first: npt.NDArray[np.intp]
    run_of: npt.NDArray[np.intp]
    gpus: Array


def columns_of(runs: Sequence[Run]) -> RunColumns:
    """Return the runs as columns."""
    sizes = [len(run.candidates) for run in runs]
    repeated = [run for run in runs for _ in run.candidates]
    return RunColumns(
        shape=stack([run.shape for run in repeated]),
        device=stack([run.device for run in repeated]),
        layouts=stack([layout for run in runs for layout in run.candidates]),
        first=np.cumsum([0, *sizes[:-1]]),
        run_of=np.repeat(np.arange(len(runs)), sizes),
        gpus=np.array([run.gpus for run in repeated]),
    )


def predicted_tokens_per_s_per_gpu(columns: RunColumns, tuning: Tuning) -> Array:
    """Return tokens/s per GPU of each run: of its layout, or of the fastest candidate that fits into memory.

    Args:
        columns: the runs.
        tuning: scalars, or one value per candidate.
    """
    shape, layouts = columns.shape, columns.layouts
    times = step.layer_times(shape, columns.device, tuning, layouts)
    seconds = step.step_columns(shape, columns.device, tuning, layouts, times).total_s()
    tokens = layouts.dp * layouts.micro_batch * layouts.micro_batches * shape.sequence
    rate = np.asarray(tokens / seconds / columns.gpus)
    needed = memory.per_gpu(shape, layouts, kept=times.kept_bytes, working=times.working_bytes).total()
    alone = np.bincount(columns.run_of)[columns.run_of] == 1
    fits = (np.asarray(needed) <= columns.device.hbm_bytes) | alone
    best = np.maximum.reduceat(np.where(fits, rate, 0.0), columns.first)
    return np.where(best > 0, best, np.maximum.reduceat(rate, columns.first))


def predicted_memory_bytes(columns: RunColumns, tuning: Tuning) -> Array:
    """Return bytes on the fullest GPU of each run's first candidate."""
    times = step.layer_times(columns.shape, columns.device, tuning, columns.layouts)
    needed = memory.per_gpu(columns.shape, columns.layouts, kept=times.kept_bytes, working=times.working_bytes)
    total: Array = np.asarray(needed.total())
    return total[columns.first]
