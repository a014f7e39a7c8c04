"""Published or own training runs as the engine sees them: one row of a CSV file becomes one run with its layout.

What a source does not state (micro-batch, chunks per pipeline stage, recomputation) is taken as the search would take
it: the fastest choice that fits into memory.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from clusterwright import assets
from clusterwright.catalog.precisions import PRECISIONS
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.evidence.architecture import model_of
from clusterwright.evidence.rows import Cells, NotExpressed, NotPublishedError, WrongCellError, read_cells
from clusterwright.sizing.calibration import DENSE, EXPERTS, FSDP, MEGATRON, architecture_of
from clusterwright.sizing.columns import FULL, SELECTIVE, Array, Device, Layouts, Shape
from clusterwright.sizing.devices import device_of
from clusterwright.sizing.parallel_sizes import divisors
from clusterwright.sizing.shapes import shape_of, trained_layers
from clusterwright.workload.transformer import training_flops_per_token

#: What files call the precisions of the engine, by how the name starts; the longer of two such names first.
SPOKEN_PRECISIONS = tuple(sorted(PRECISIONS, key=lambda name: -len(name)))
#: Recomputation of the file to that of the engine: attention kernels keep no scores today, so that `none` is selective.
#: Any other word (`unknown`, a stack's own policy) leaves it open.
RECOMPUTATION = {"none": (SELECTIVE,), "selective": (SELECTIVE,), "full": (FULL,)}
OPEN_RECOMPUTATION = (SELECTIVE, FULL)
_MICRO_BATCHES = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One measured run.

    Attributes:
        group: runs of one group are never split between fitting and judging.
        kind: `dense` or `moe`; accelerator: its id in the catalogue; architecture: what its effect is known by.
        candidates: the layout, or several where the source leaves something open.
        tokens_per_s_per_gpu: measured; mfu: of the peak in its precision, with full attention.
        memory_bytes: measured on the fullest GPU, None if not published; memory_allocated: without what the allocator
            holds in reserve.
        sharding_open: the source does not say how states are sharded; selective: it names selective recomputation.
        plain: its software does not overlap traffic inside layers (`catalog/calibration_software.csv`).
    """

    id: str
    group: str
    gpu: str
    precision: str
    software: str
    generation: str
    stack: str
    kind: str
    accelerator: str
    architecture: str
    gpus: float
    model: Model
    shape: Shape
    device: Device
    candidates: tuple[Layouts, ...]
    tokens_per_s_per_gpu: float
    mfu: float
    memory_bytes: float | None
    memory_allocated: bool
    sharding_open: bool
    selective: bool
    plain: bool


def read_runs(
    path: Path, nodes: Mapping[str, NodeType], known: Iterable[Model] = ()
) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of a CSV file and the rows that are not predicted, each with its reason.

    Args:
        path: a file with at least the columns of `rows.REQUIRED`.
        nodes: the node type behind each name of the column `gpu`.
        known: the catalogue's models.

    Raises:
        InputError: the file cannot be read, or lacks columns.
    """
    runs: list[Run] = []
    skipped: list[NotExpressed] = []
    models = tuple(known)
    for row in read_cells(path):
        try:
            runs.append(_run(row, nodes, models))
        except NotPublishedError as error:
            skipped.append(row.skipped(str(error)))
        except WrongCellError as error:
            skipped.append(row.skipped(f"line {row.line}, {error}", wrong=True))
        except InputError as error:
            skipped.append(row.skipped(f"line {row.line}: {error.message}", wrong=True))
    return runs, skipped


def _run(row: Cells, nodes: Mapping[str, NodeType], known: Sequence[Model]) -> Run:
    # What is wrong with a row is told before what it lacks.
    if row.uneven:
        raise WrongCellError(row.uneven)
    gpus, measured = row.whole("n_gpus"), row.number("tokens_per_s_per_gpu", 0.0)
    for column in ("gpu", "precision"):
        if not row.text(column):
            raise NotPublishedError(f"{column} is not published")
    if row.text("gpu") not in nodes:
        raise NotPublishedError(f"no node type for {row.text('gpu')}")
    precision = row.text("precision").lower()
    spoken = next((name for name in SPOKEN_PRECISIONS if precision.startswith(name)), None)
    if spoken is None:
        raise NotPublishedError(f"precision {row.text('precision')}")
    node = nodes[row.text("gpu")]
    model = model_of(row, known)
    try:
        device = device_of(node, precision=spoken)
    except InputError as error:
        raise WrongCellError(f"column precision: {error.message}") from error
    shape = shape_of(model, sequence_length=row.whole("seq_len"))
    candidates = candidates_of(row, model, shape)
    if not measured:
        raise NotPublishedError("tokens_per_s_per_gpu is not published")
    gib = row.number("mem_gib", 0.0)
    flops = training_flops_per_token(model, sequence_length=int(shape.sequence))
    return Run(
        id=row.text("id"),
        group=row.text("group") or row.text("id"),
        gpu=row.text("gpu"),
        precision=precision,
        software=row.text("software"),
        generation=node.accelerator.generation,
        stack=FSDP if _sharded(row) else MEGATRON,
        kind=EXPERTS if model.experts else DENSE,
        accelerator=node.accelerator.id,
        architecture=architecture_of(model),
        gpus=float(gpus),
        model=model,
        shape=shape,
        device=device,
        candidates=candidates,
        tokens_per_s_per_gpu=measured,
        mfu=measured * flops / float(device.peak_flop_per_s),
        memory_bytes=gib * 2**30 if gib else None,
        memory_allocated="allocated" in row.text("notes"),
        sharding_open=not row.text("zero_or_fsdp"),
        selective=row.text("recompute") == "selective",
        plain=any(row.text("software").startswith(name) for name in _plain_software()),
    )


@cache
def _plain_software() -> tuple[str, ...]:
    path = assets.root() / "catalog" / "calibration_software.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(row["software"] for row in csv.DictReader(file) if row["overlaps_tensor_traffic"] == "no")
    except (OSError, KeyError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


def _sharded(row: Cells) -> bool:
    sharding = row.text("zero_or_fsdp")
    return "fsdp" in sharding or sharding == "zero3"


def candidates_of(row: Cells, model: Model, shape: Shape) -> tuple[Layouts, ...]:
    """Return the layout of a row, or several where it leaves something open.

    Raises:
        NotPublishedError: a parallel size is not stated; WrongCellError: the sizes do not divide what they split.
    """
    sharded = _sharded(row)
    tp, pp, cp = row.whole("tp", 1 if sharded else None), row.whole("pp", 1), row.whole("cp", 1)
    gpus = row.whole("n_gpus")
    ranks = gpus / (tp * pp * cp)
    if ranks % 1:
        raise WrongCellError(f"column n_gpus: {gpus} GPUs are not divisible by tp {tp} x pp {pp} x cp {cp}")
    if model.heads % tp:
        raise WrongCellError(f"column tp: {model.heads} heads are not divisible by {tp}")
    if pp > trained_layers(model):
        raise WrongCellError(f"column pp: {pp} stages are more than {model.layers} layers")
    stated = row.whole("micro_batch", 0, least=0)
    batch = row.whole("global_batch", int(ranks) * max(stated, 1) if sharded else None)
    if batch % ranks or (stated and batch / ranks % stated):
        told = f" x micro-batch {stated}" if stated else ""
        raise WrongCellError(f"column global_batch: {batch} is not divisible by {ranks:g} data-parallel ranks{told}")
    recomputation = RECOMPUTATION.get(row.text("recompute"), OPEN_RECOMPUTATION)
    sizes = [float(stated)] if stated else [size for size in _MICRO_BATCHES if batch / ranks >= size]
    interleaved = row.whole("vpp", 0, least=0)
    chunks = [float(interleaved)] if interleaved else _chunks(float(shape.layers), float(pp))
    ep, etp = _expert_sizes(row, model, ranks=tp * cp * int(ranks), tp=tp)
    sharding = 2.0 if "shard_grad_op" in row.text("zero_or_fsdp") else 3.0
    return tuple(
        Layouts(
            tp=float(tp),
            sp=row.number("sp", 0.0) if tp > 1 else 0.0,
            pp=float(pp),
            vpp=vpp,
            dp=ranks,
            cp=float(cp),
            zero_stage=sharding if sharded else 1.0,
            micro_batch=size,
            micro_batches=batch / ranks / size,
            recompute=float(mode),
            ep=float(ep),
            etp=float(etp),
        )
        for size, vpp, mode in product(sizes, chunks, recomputation)
    )


def _expert_sizes(row: Cells, model: Model, *, ranks: int, tp: int) -> tuple[int, int]:
    """Return expert-parallel and expert-tensor-parallel sizes; sources state the first for their largest cluster."""
    if not model.experts:
        return 1, 1
    ep = min(row.whole("ep", 1), ranks)
    if model.experts % ep:
        raise WrongCellError(f"column ep: {model.experts} experts are not divisible by {ep}")
    etp = row.whole("etp", 1)
    if etp not in (1, tp):
        raise WrongCellError(f"column etp: {etp} is neither 1 nor the tensor-parallel size {tp}")
    return ep, etp if ranks % (ep * etp) == 0 else 1


def _chunks(layers: float, stages: float) -> list[float]:
    return [float(count) for count in divisors(int(layers // stages))] if stages > 1 else [1.0]


def group_sizes(runs: Sequence[Run]) -> Array:
    """Return for each run how many runs its group has."""
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.group] = sizes.get(run.group, 0) + 1
    return np.array([float(sizes[run.group]) for run in runs])
