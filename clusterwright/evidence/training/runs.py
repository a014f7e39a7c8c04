"""Published or own training runs as the engine sees them: one row of a CSV file becomes one run with its layout.

What a source does not state (micro-batch, chunks per pipeline stage, recomputation) is taken as the search would take
it: the fastest choice that fits into memory.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from clusterwright.catalog.precisions import PRECISIONS
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import InputError
from clusterwright.evidence.rows import Cells, NotExpressed, NotPublishedError, WrongCellError, read_cells
from clusterwright.evidence.training.architecture import model_of
from clusterwright.evidence.training.nodes import node_named
from clusterwright.sizing.columns import FULL, SELECTIVE, Array, Device, Layouts, Shape, Traits
from clusterwright.sizing.hardware.calibration import DENSE, EXPERTS, FSDP, MEGATRON, architecture_of
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software_layouts import runs_of
from clusterwright.sizing.hardware.training_software import Software, family_of, software_of
from clusterwright.sizing.hardware.traits import traits_of
from clusterwright.sizing.model.shapes import shape_of, trained_layers
from clusterwright.sizing.training.parallel_sizes import divisors
from clusterwright.workload.transformer import training_flops_per_token

#: What files call the precisions of the engine, by how the name starts; the longer of two such names first.
SPOKEN_PRECISIONS = tuple(sorted(PRECISIONS, key=lambda name: -len(name)))
#: Recomputation of the file to that of the engine: attention kernels keep no scores today, so that `none` is selective.
#: Any other word (`unknown`, a stack's own policy) leaves it open.
RECOMPUTATION = {"none": (SELECTIVE,), "selective": (SELECTIVE,), "full": (FULL,)}
OPEN_RECOMPUTATION = (SELECTIVE, FULL)
#: What a published peak counts: tensors; with what the allocator holds in reserve; with the contexts of driver and
#: collective library; and the words of the column `mem_kind` that tell it, the wider count first.
DEVICE, RESERVED, ALLOCATED, UNKNOWN = COUNTS = ("device", "reserved", "allocated", "unknown")
_WORDS_OF_COUNTS = (
    (DEVICE, ("smi", "device")),
    (ALLOCATED, ("alloc", "active")),
    (RESERVED, ("reserv", "max_memory", "cache", "printed")),
)
#: What the column `outcome` holds of a layout that was published as too large.
OUT_OF_MEMORY = "oom"
#: Layouts that are tried where none is published, with the batch where that is not published either.
_POWERS_OF_TWO = (1, 2, 4, 8)
OPEN_BATCH_TOKENS = 4e6
#: The network of a node in a note; of two that are reported with `or`, none.
_NETWORK = re.compile(r"(?<! or )(?<![\d.])(?:(\d+) ?x ?)?(\d+) Gb/s(?: [\w-]+){0,2} per node")
_GPUS_OF_NODE = re.compile(r"nodes? of (\d+)\b")
_BYTES_PER_GIGABIT = 1e9 / 8
#: A repository and the commit or place in it.
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)@")
_MICRO_BATCHES = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One measured run.

    Attributes:
        group: runs of one group are never split between fitting and judging; source: who published it, and publisher:
            the repository or site, where the row names one.
        kind: `dense` or `moe`; vendor, accelerator: its maker and its id in the catalogue;
            architecture: what its effect is known by.
        candidates: the layout, or several where the source leaves something open.
        tokens_per_s_per_gpu: measured, NaN where only memory is published; mfu: of the peak in its precision, with full
            attention.
        memory_bytes: peak measured on the fullest GPU, None if not published; counted: what the peak counts, one of
            `COUNTS`.
        out_of_memory: published as too large for its GPUs; device_bytes: of one GPU, by the source or its datasheet.
        sharding_open: the source does not say how states are sharded; selective: it names selective recomputation.
        known: what is known of its software, None for nothing.
    """

    id: str
    group: str
    source: str
    publisher: str
    gpu: str
    precision: str
    software: str
    generation: str
    stack: str
    kind: str
    vendor: str
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
    counted: str
    out_of_memory: bool
    device_bytes: float
    sharding_open: bool
    selective: bool
    known: Software | None

    @property
    def left_out_as(self) -> str:
        """Return what is left out as a whole where sources are: its publisher's runs of one family of software."""
        return f"{self.publisher or self.source}|{family_of(self.software)}"

    @property
    def laid_out(self) -> bool:
        """Tell whether its tensor and pipeline sizes are published."""
        return len({(one.tp, one.pp) for one in self.candidates}) == 1

    @property
    def traits(self) -> Traits:
        """Return what its software does to the numbers of its stack."""
        return traits_of(self.known, generation=self.generation)

    @property
    def keeps_scores(self) -> bool:
        """Tell whether its attention writes its scores to memory, and they are not recomputed by themselves."""
        return self.known is not None and self.known.keeps_attention_scores and not self.selective

    @property
    def timed(self) -> bool:
        """Tell whether its throughput is published."""
        return not math.isnan(self.tokens_per_s_per_gpu)


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
    runs, skipped = read_measurements(path, nodes, known)
    untimed = [
        NotExpressed(
            id=run.id, reason="tokens_per_s_per_gpu is not published", gpu=run.gpu, experts=run.kind == EXPERTS
        )
        for run in runs
        if not run.timed
    ]
    return [run for run in runs if run.timed], [*skipped, *untimed]


def read_measurements(
    path: Path, nodes: Mapping[str, NodeType], known: Iterable[Model] = ()
) -> tuple[list[Run], list[NotExpressed]]:
    """Return the runs of a CSV file with those of which only memory is published; otherwise as `read_runs`."""
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
    # What is wrong with a row is reported before what it lacks.
    if row.uneven:
        raise WrongCellError(row.uneven)
    gpus, measured = row.whole("n_gpus"), row.number("tokens_per_s_per_gpu", 0.0)
    for column in ("gpu", "precision"):
        if not row.text(column):
            raise NotPublishedError(f"{column} is not published")
    usual = node_named(nodes, row.text("gpu"))
    if usual is None:
        raise NotPublishedError(f"no node type for {row.text('gpu')}")
    precision = row.text("precision").lower()
    spoken = next((name for name in SPOKEN_PRECISIONS if precision.startswith(name)), None)
    if spoken is None:
        raise NotPublishedError(f"precision {row.text('precision')}")
    node = _with_network(row, usual)
    model = model_of(row, known)
    try:
        device = device_of(node, precision=spoken)
    except InputError as error:
        raise WrongCellError(f"column precision: {error.message}") from error
    shape = shape_of(model, sequence_length=row.whole("seq_len"))
    gib = row.number("peak_mem_gib", 0.0) or row.number("mem_gib", 0.0)
    device_gib = row.number("device_mem_gib", 0.0)
    out_of_memory = row.text("outcome").lower() == OUT_OF_MEMORY
    # Of a run whose batch is not published memory is predicted, and no throughput.
    timed = bool(measured) and (_sharded(row) or bool(row.text("global_batch")) or not row.text("tp"))
    has_memory = bool(gib) or out_of_memory
    candidates = candidates_of(row, model, shape, timed=timed or not has_memory)
    if not measured and not has_memory:
        raise NotPublishedError("tokens_per_s_per_gpu is not published")
    measured = measured if timed else math.nan
    flops = training_flops_per_token(model, sequence_length=int(shape.sequence))
    return Run(
        id=row.text("id"),
        group=row.text("group") or row.text("id"),
        source=row.text("source"),
        publisher=_publisher(row),
        gpu=row.text("gpu"),
        precision=precision,
        software=row.text("software"),
        generation=node.accelerator.generation,
        stack=FSDP if _sharded(row) else MEGATRON,
        kind=EXPERTS if model.experts else DENSE,
        vendor=node.accelerator.vendor,
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
        counted=_counted(row),
        out_of_memory=out_of_memory,
        device_bytes=device_gib * 2**30 or float(device.hbm_bytes),
        sharding_open=not row.text("zero_or_fsdp"),
        selective=row.text("recompute") == "selective",
        known=software_of(row.text("software"), spoken),
    )


def _with_network(row: Cells, node: NodeType) -> NodeType:
    """Return the node with the network that the row states, else with that of its accelerator's usual nodes.

    Stated is the column `network_gbit_per_s_per_node`, or a note like `4 x 100 Gb/s per node`.
    """
    stated = row.number("network_gbit_per_s_per_node", 0.0)
    if not stated and (found := _NETWORK.search(row.text("notes"))):
        stated = float(found[1] or 1) * float(found[2])
    if not stated:
        return node
    of = _GPUS_OF_NODE.search(row.text("notes"))
    gpus = int(of[1]) if of else node.gpus
    return replace(node, network_bytes_per_s_per_gpu_one_way=stated * _BYTES_PER_GIGABIT / gpus)


def _publisher(row: Cells) -> str:
    found = _REPOSITORY.match(row.text("source_url_or_path"))
    return found[1] if found else row.text("source")


def _counted(row: Cells) -> str:
    said = row.text("mem_kind").lower()
    if not said:
        return ALLOCATED if "allocated" in row.text("notes") else UNKNOWN
    return next((count for count, words in _WORDS_OF_COUNTS if any(word in said for word in words)), UNKNOWN)


def _sharded(row: Cells) -> bool:
    sharding = row.text("zero_or_fsdp")
    return "fsdp" in sharding or sharding == "zero3"


def candidates_of(row: Cells, model: Model, shape: Shape, *, timed: bool = True) -> tuple[Layouts, ...]:
    """Return the layout of a row, or several where it leaves something open.

    Args:
        row: a row of measured runs.
        model: that it trains.
        shape: of the model.
        timed: whether its throughput is predicted, which needs its batch; its memory does not.

    Raises:
        NotPublishedError: no layout divides the run; WrongCellError: the sizes do not divide what they split.
    """
    sharded = _sharded(row)
    if not row.text("tp") and not sharded:
        return _open_layouts(row, model, shape)
    tp, pp, cp = row.whole("tp", 1), row.whole("pp", 1), row.whole("cp", 1)
    gpus = row.whole("n_gpus")
    ranks = gpus / (tp * pp * cp)
    if ranks % 1:
        raise WrongCellError(f"column n_gpus: {gpus} GPUs are not divisible by tp {tp} x pp {pp} x cp {cp}")
    if model.heads % tp:
        raise WrongCellError(f"column tp: {model.heads} heads are not divisible by {tp}")
    if pp > trained_layers(model):
        raise WrongCellError(f"column pp: {pp} stages are more than {model.layers} layers")
    stated = row.whole("micro_batch", 0, least=0)
    chunked = pp * max(row.whole("vpp", 1, least=0), 1)
    # Memory does not depend on the batch beyond a full pipeline.
    full = int(ranks) * max(stated, 1) * (1 if timed else chunked)
    batch = row.whole("global_batch", full if sharded or not timed else None)
    if batch % ranks or (stated and batch / ranks % stated):
        told = f" x micro-batch {stated}" if stated else ""
        raise WrongCellError(f"column global_batch: {batch} is not divisible by {ranks:g} data-parallel ranks{told}")
    recomputation = RECOMPUTATION.get(row.text("recompute"), OPEN_RECOMPUTATION)
    sizes = [float(stated)] if stated else [size for size in _MICRO_BATCHES if batch / ranks >= size]
    interleaved = row.whole("vpp", 0, least=0)
    interleaves = runs_of(row.text("software")).interleaved
    open_chunks = _chunks(float(shape.layers), float(pp)) if interleaves else [1.0]
    chunks = [float(interleaved)] if interleaved else open_chunks
    sequence_parallel = ([row.number("sp", 0.0)] if row.text("sp") else [0.0, 1.0]) if tp > 1 else [0.0]
    ep, splits = _expert_sizes(row, model, ranks=tp * cp * int(ranks), tp=tp)
    sharding = 2.0 if "shard_grad_op" in row.text("zero_or_fsdp") else 3.0
    return tuple(
        Layouts(
            tp=float(tp),
            sp=sp,
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
        for size, vpp, mode, etp, sp in product(sizes, chunks, recomputation, splits, sequence_parallel)
    )


def _open_layouts(row: Cells, model: Model, shape: Shape) -> tuple[Layouts, ...]:
    """Return what a run whose layout is not published may have run with: powers of two of tensor and pipeline size.

    A batch that is not published either is `OPEN_BATCH_TOKENS`.
    """
    gpus = row.whole("n_gpus")
    found: list[Layouts] = []
    stated_pp = row.whole("pp", 0, least=0)
    for tp, pp in product(_POWERS_OF_TWO, [stated_pp] if stated_pp else _POWERS_OF_TWO):
        ranks = gpus / (tp * pp * row.whole("cp", 1))
        if ranks % 1 or model.heads % tp or trained_layers(model) % pp:
            continue
        tokens = OPEN_BATCH_TOKENS / float(shape.sequence)
        batch = row.whole("global_batch", int(ranks) * max(1, round(tokens / ranks)))
        cells = {**row.cells, "tp": str(tp), "pp": str(pp), "vpp": row.text("vpp") or "1", "global_batch": str(batch)}
        try:
            found += candidates_of(replace(row, cells=cells), model, shape)
        except WrongCellError:
            continue
    if not found:
        raise NotPublishedError("tp is not published, and no power of two divides the run")
    return tuple(found)


def _expert_sizes(row: Cells, model: Model, *, ranks: int, tp: int) -> tuple[int, tuple[int, ...]]:
    """Return the expert-parallel size, which sources state for their largest cluster, and what experts may be split by.

    Where no split is stated it is the tensor-parallel size, as Megatron Core takes it without the option, or none.
    """
    if not model.experts:
        return 1, (1,)
    ep = min(row.whole("ep", 1), ranks)
    if model.experts % ep:
        raise WrongCellError(f"column ep: {model.experts} experts are not divisible by {ep}")
    stated = row.whole("etp", 0, least=0)
    if stated not in (0, 1, tp):
        raise WrongCellError(f"column etp: {stated} is neither 1 nor the tensor-parallel size {tp}")
    splits = {stated} if stated else {1, tp}
    return ep, tuple(sorted(etp if ranks % (ep * etp) == 0 else 1 for etp in splits))


def _chunks(layers: float, stages: float) -> list[float]:
    return [float(count) for count in divisors(int(layers // stages))] if stages > 1 else [1.0]


def group_sizes(runs: Sequence[Run]) -> Array:
    """Return for each run how many runs its group has."""
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.group] = sizes.get(run.group, 0) + 1
    return np.array([float(sizes[run.group]) for run in runs])
