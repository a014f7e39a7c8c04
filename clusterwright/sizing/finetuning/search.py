"""Layouts of a fine-tuning run on a kind of node: part of one, one, or many, in one pass of the formulas.

Every number of accelerators that the batch divides over is looked at, with copies of the model (data parallel), with
weights and states divided over a node or over all (FSDP, ZeRO-3), and with layers shared where the framework is built
for it. A layout is kept where memory fits with the probability asked for; of those on as many nodes the fastest is.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from statistics import NormalDist

import numpy as np

from clusterwright.catalog.records import Accelerator, NodeType
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.calibration import (
    MEMORY,
    NAMES,
    THROUGHPUT,
    Calibration,
    factors_of,
    levels_of,
)
from clusterwright.sizing.finetuning.columns import DEVICE
from clusterwright.sizing.finetuning.configuration import (
    ALWAYS,
    FULL,
    NEVER,
    Columns,
    Configuration,
    adapter_parameters,
    columns_of,
)
from clusterwright.sizing.finetuning.job import (
    ALL,
    NODE,
    NONE,
    FinetuneJob,
    FinetuneLayout,
    FinetuneMemory,
    FinetuneSize,
    FinetuneStep,
)
from clusterwright.sizing.finetuning.memory import CONTEXT_BYTES, PeakMemory, base_bytes, peak
from clusterwright.sizing.finetuning.throughput import TokenTime, passes, token_time
from clusterwright.sizing.serving.calibration import logarithms, memberships_of
from clusterwright.sizing.serving.sizes import Predicted

#: Sequences of a pass and group that are looked at, and accelerators that share a layer.
_MICRO_BATCHES = (1, 2, 4, 8, 16, 32, 64)
_TENSOR = (1, 2, 4, 8)
#: Cards of one node that are looked at where no node is given.
_CARDS = (1, 2, 4, 8)
_MOST_NODES = 1024
_Z90 = NormalDist().inv_cdf(0.9)
#: Frameworks that share layers between accelerators by themselves.
_SHARES_LAYERS = "benchmark"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """Layouts with what the formulas say of each.

    Attributes:
        memory: bytes of one accelerator by term, as `FinetuneMemory`; held: their sum, as predicted.
        time: of a token; reference: share of it that a frozen reference adds.
        rate: tokens per second of all accelerators.
    """

    rows: Sequence[Configuration]
    columns: Columns
    layouts: Sequence[FinetuneLayout]
    memory: dict[str, Array]
    held: Array
    probability: Array
    time: TokenTime
    reference: Array
    rate: Array
    level: str
    memory_band: tuple[float, float]
    rate_band: tuple[float, float]


def search(
    job: FinetuneJob, node: NodeType, counts: Iterable[int], calibration: Calibration
) -> tuple[FinetuneSize, ...]:
    """Return the fastest layout that fits on each number of nodes, fewest nodes first; none where nothing fits.

    Numbers of nodes without a known network between them are left out beyond one.
    """
    layouts = [layout for count in counts for layout in _layouts(job, node, count)]
    if not layouts:
        return ()
    found = _computed(job, node, layouts, calibration)
    best: dict[int, int] = {}
    for index in np.flatnonzero(found.probability >= job.memory_confidence).tolist():
        nodes = _nodes(found.layouts[index], node)
        if nodes not in best or _order(found, index) < _order(found, best[nodes]):
            best[nodes] = index
    return tuple(_size(job, node, found, best[nodes]) for nodes in sorted(best))


def node_counts(job: FinetuneJob, node: NodeType, *, most: int | None) -> tuple[int, ...]:
    """Return the numbers of nodes that a batch can be divided over, up to a number."""
    if job.gpus is not None:
        wanted = math.ceil(job.gpus / node.gpus)
        return (wanted,) if most is None or wanted <= most else ()
    widest = job.global_batch * max(_tensors(job, node))
    last = min(most or _MOST_NODES, _MOST_NODES, max(widest // node.gpus, 1))
    return tuple(count for count in range(1, last + 1) if count == 1 or node.reaches_others)


def fewest_cards(
    job: FinetuneJob, accelerators: Iterable[Accelerator], calibration: Calibration
) -> tuple[Accelerator, int] | None:
    """Return the accelerators with the least memory together, of one node of up to eight, that hold a run."""
    free = unheld(job)
    for held, count, _, chip in sorted(
        ((chip.hbm_bytes or 0.0) * count, count, chip.id, chip) for chip in accelerators for count in _CARDS
    ):
        node = NodeType(
            id=chip.id, accelerator=chip, gpus=count, hbm_bytes_per_gpu=held / count, network_kind="none",
            network_bytes_per_s_per_gpu_one_way=0.0,
        )  # fmt: skip
        if search(free, node, (1,), calibration):
            return chip, count
    return None


def unheld(job: FinetuneJob) -> FinetuneJob:
    """Return a job whose layout nothing holds."""
    return replace(job, gpus=None, tensor=None, sharding=None, micro_batch=None, recompute=None)


def trained_parameters(job: FinetuneJob) -> float:
    """Return the weights that a run trains: all, or those beside frozen ones."""
    if job.method == FULL:
        return float(job.model.shape.parameters)
    return adapter_parameters(job)


def _tensors(job: FinetuneJob, node: NodeType) -> tuple[int, ...]:
    if job.tensor is not None:
        return (job.tensor,)
    if job.framework != _SHARES_LAYERS:
        return (1,)
    heads = float(job.model.shape.query_heads)
    return tuple(size for size in _TENSOR if node.gpus % size == 0 and heads % size == 0)


def _layouts(job: FinetuneJob, node: NodeType, count: int) -> Iterator[FinetuneLayout]:
    """Yield what a job does not exclude on a given number of nodes; of one node also parts of it."""
    together = job.sequences_per_sample
    batches = [size * together for size in _MICRO_BATCHES] if job.micro_batch is None else [job.micro_batch]
    for gpus, tensor in product(_sizes(job, node, count), _tensors(job, node)):
        groups, rest = divmod(gpus, tensor)
        if rest or groups < 1 or job.global_batch % (groups * together):
            continue
        each = job.global_batch // groups
        ways = product(_shardings(job, node, groups=groups, tensor=tensor), batches, _recomputed(job))
        for (sharding, shards), batch, again in ways:
            if each % batch == 0:
                yield FinetuneLayout(
                    gpus=gpus, tensor=tensor, data=groups, sharding=sharding, shards=shards,
                    micro_batch=batch, accumulation=each // batch, recompute=again,
                )  # fmt: skip


def _sizes(job: FinetuneJob, node: NodeType, count: int) -> tuple[int, ...]:
    """Return the accelerators that may work on a given number of nodes."""
    if job.gpus is not None:
        return (job.gpus,) if math.ceil(job.gpus / node.gpus) == count else ()
    if count > 1:
        return (count * node.gpus,)
    return tuple(size for size in range(1, node.gpus + 1) if node.gpus % size == 0)


def _recomputed(job: FinetuneJob) -> tuple[bool, ...]:
    """Return whether layers may be computed again: as held, as the framework always does, or either."""
    if job.recompute is not None:
        return (job.recompute,)
    own = job.practice.recompute
    return (own == ALWAYS,) if own in (ALWAYS, NEVER) else (False, True)


def _shardings(job: FinetuneJob, node: NodeType, *, groups: int, tensor: int) -> Iterator[tuple[str, int]]:
    """Yield what weights and states are divided over. All trained weights are, where there is more than one group."""
    inside = max(node.gpus // tensor, 1)
    divides = job.practice.sharded or job.method == FULL
    known = {NONE: 1, NODE: min(inside, groups), ALL: groups}
    if groups == 1:
        yield NONE, 1
    elif job.sharding is not None:
        yield job.sharding, known[job.sharding]
    else:
        if job.method != FULL:
            yield NONE, 1
        if divides:
            yield ALL, groups
            if 1 < inside < groups and groups % inside == 0:
                yield NODE, inside


def _configuration(job: FinetuneJob, node: NodeType, layout: FinetuneLayout) -> Configuration:
    practice = job.practice
    moments = job.optimizer_bytes
    if moments is None and layout.gpus > 1:
        # A framework's recipes for one accelerator page or shrink the moments; those for several keep them.
        moments = practice.listed_optimizer_bytes
    return Configuration(
        accelerator=node.accelerator,
        model=job.model,
        framework=job.framework,
        method=job.method,
        precision=job.precision,
        gpus=float(layout.gpus),
        nodes=float(_nodes(layout, node)),
        sequences=float(layout.micro_batch),
        model_parallel=float(layout.tensor),
        tokens=job.sequence_tokens,
        filled=job.filled,
        global_batch=float(job.global_batch),
        rank=job.rank,
        targets=job.targets,
        trained_parameters=job.trained_parameters if job.method != FULL else None,
        optimizer_bytes=moments,
        recompute=ALWAYS if layout.recompute else NEVER,
        memory_counted=DEVICE,
        shards=float(layout.shards),
    )


def _nodes(layout: FinetuneLayout, node: NodeType) -> int:
    return math.ceil(layout.gpus / node.gpus)


def _computed(job: FinetuneJob, node: NodeType, layouts: Sequence[FinetuneLayout], calibration: Calibration) -> _Found:
    rows = [_configuration(job, node, layout) for layout in layouts]
    columns = columns_of(rows)
    inside = np.asarray(columns.device.scale_up_gpus)
    columns = replace(
        columns,
        device=replace(
            columns.device,
            # Cards without links of their own reach each other over PCIe within a node.
            scale_up_gpus=np.maximum(inside, float(node.gpus)),
            network_bytes_per_s=np.full(len(rows), max(node.network_bytes_per_s_per_gpu_one_way, 1.0)),
        ),
    )
    # Levels are those of hardware, model and framework, which all layouts share.
    given = logarithms(memberships_of([levels_of(rows[0])]), calibration.fitted, names=NAMES)
    factors = factors_of(given)
    scale = float(np.exp(given["memory_scale"][0]))
    terms = _terms(job, columns, peak(columns.model, columns.task, factors), scale)
    held: Array = np.asarray(sum(terms.values()))
    level = calibration.level_of(rows[0])
    memory_band = calibration.band_of(rows[0], level, MEMORY)
    room = np.log(node.hbm_bytes_per_gpu / held)
    spread = np.where(room >= 0, memory_band[1], -memory_band[0]) / _Z90
    probability = np.array([NormalDist().cdf(one) for one in room / np.maximum(spread, 1e-6)])
    time = token_time(columns.model, columns.device, columns.task, factors)
    time = _with_reduction(job, node, time, columns, layouts)
    turns = np.asarray(passes(columns.task))
    reference = 1.0 / turns if job.preference else np.zeros(len(rows))
    rate = np.exp(given["throughput_scale"][0]) / time.total / (1.0 + reference)
    return _Found(
        rows=rows,
        columns=columns,
        layouts=layouts,
        memory=terms,
        held=held,
        probability=probability,
        time=time,
        reference=reference,
        rate=rate * np.array([layout.gpus for layout in layouts]),
        level=level,
        memory_band=memory_band,
        rate_band=calibration.band_of(rows[0], level, THROUGHPUT),
    )


def _terms(job: FinetuneJob, columns: Columns, memory: PeakMemory, scale: float) -> dict[str, Array]:
    """Return bytes by term, as `FinetuneMemory`, corrected as measurements say.

    A frozen reference is a second copy of the weights where all are trained; beside adapters it is the base itself.
    """
    terms = {field.name: getattr(memory, field.name) for field in fields(memory)}
    if job.preference and job.method == FULL:
        split = columns.task.model_parallel * columns.task.shards
        terms["weights"] = terms["weights"] + base_bytes(columns.model, columns.task) / split
    terms["allocator"] = memory.reserved() - memory.total()
    terms["context"] = np.full_like(terms["allocator"], CONTEXT_BYTES)
    return {name: np.asarray(value) * scale for name, value in terms.items()}


def _with_reduction(
    job: FinetuneJob, node: NodeType, time: TokenTime, columns: Columns, layouts: Sequence[FinetuneLayout]
) -> TokenTime:
    """Return the time of a token with the all-reduce of gradients between copies, hidden by nothing.

    Copies of the model, or of the groups that share one, sum their gradients once an update: `2 (c-1)/c` of the bytes
    that an accelerator has of them cross its links (ring all-reduce).
    """
    task, device = columns.task, columns.device
    weights = np.where(np.asarray(task.full) > 0, columns.model.parameters, task.adapter_parameters)
    copies = np.array([layout.data / layout.shards for layout in layouts])
    moved = weights * task.gradient_bytes / task.model_parallel / task.shards * 2 * (copies - 1) / copies
    inside = np.array([layout.gpus <= node.gpus for layout in layouts])
    links = np.where(inside, device.scale_up_bytes_per_s, device.network_bytes_per_s)
    gpus = np.array([layout.gpus for layout in layouts])
    added = moved / links * gpus / (job.global_batch * job.sequence_tokens)
    return replace(time, update=np.asarray(time.update + added), total=np.asarray(time.total + added / job.filled))


def _order(found: _Found, index: int) -> tuple[float, int, int]:
    """Return what the better of two layouts has less of: time, then accelerators, then passes of an update."""
    layout = found.layouts[index]
    return -round(float(found.rate[index]), 6), layout.gpus, layout.accumulation


def _size(job: FinetuneJob, node: NodeType, found: _Found, index: int) -> FinetuneSize:
    layout = found.layouts[index]
    rate = _banded(float(found.rate[index]), found.rate_band)
    each = job.global_batch * job.sequence_tokens * job.filled
    steps = math.ceil(job.sequences / job.global_batch)
    stored = np.broadcast_to(np.asarray(base_bytes(found.columns.model, found.columns.task)), len(found.rows))
    return FinetuneSize(
        node=node,
        nodes=_nodes(layout, node),
        layout=layout,
        memory=FinetuneMemory(**{name: float(values[index]) for name, values in found.memory.items()}),
        memory_bytes=_banded(float(found.held[index]), found.memory_band),
        fit_probability=float(found.probability[index]),
        trained_parameters=trained_parameters(job),
        base_bytes=float(stored[index]),
        tokens_per_s=rate,
        step_s=each / rate.value,
        steps=steps,
        train_s=Predicted(value=steps * each / rate.value, low=steps * each / rate.high, high=steps * each / rate.low),
        step=_step(found, index),
        passes=float(np.asarray(passes(found.columns.task))[index]),
        level=found.level,
    )


def _banded(value: float, band: tuple[float, float]) -> Predicted:
    return Predicted(value=value, low=value * math.exp(band[0]), high=value * math.exp(band[1]))


def _step(found: _Found, index: int) -> FinetuneStep:
    time, extra = found.time, float(found.reference[index])
    parts = {
        "multiplying": time.multiplied, "element_wise": time.streamed, "unpacking": time.unpacked,
        "gathering": time.waiting, "uncompiled": time.interpreted, "tensor_parallel": time.shared,
        "host_memory": time.hosted, "updating": time.update,
    }  # fmt: skip
    seconds = {name: float(np.asarray(values)[index]) for name, values in parts.items()}
    total = sum(seconds.values())
    return FinetuneStep(
        **{name: value / total / (1.0 + extra) for name, value in seconds.items()}, reference=extra / (1.0 + extra)
    )
