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
    MEGATRON,
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
    Rollouts,
    RolloutSize,
)
from clusterwright.sizing.finetuning.memory import CONTEXT_BYTES, PeakMemory, base_bytes, peak
from clusterwright.sizing.finetuning.rollouts import Generation, generation_of, longest_of
from clusterwright.sizing.finetuning.throughput import TokenTime, passes, token_time
from clusterwright.sizing.serving.calibration import VAGUE_WIDENING, logarithms, memberships_of
from clusterwright.sizing.serving.sizes import Predicted

#: Sequences of a pass and group that are looked at, and accelerators that share a layer.
_MICRO_BATCHES = (1, 2, 4, 8, 16, 32, 64)
_TENSOR = (1, 2, 4, 8)
#: Cards of one node that are looked at where no node is given.
_CARDS = (1, 2, 4, 8)
_MOST_NODES = 1024
_Z90 = NormalDist().inv_cdf(0.9)
#: No band is narrower, and no probability nearer to 0 or 1.
_NARROWEST = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """Layouts with what the formulas say of each.

    Attributes:
        memory: bytes of one accelerator by term, as `FinetuneMemory`; held: their sum, as predicted.
        time: of a token; added: seconds of generating and scoring, over those of training (parts of `FinetuneStep`).
        rate: tokens per second of all accelerators.
        generation: of answers, None where all are given; trained_tokens: of a sequence with its padding.
    """

    rows: Sequence[Configuration]
    columns: Columns
    layouts: Sequence[FinetuneLayout]
    memory: dict[str, Array]
    held: Array
    probability: Array
    time: TokenTime
    added: dict[str, Array]
    rate: Array
    level: str
    memory_band: tuple[float, float]
    rate_band: tuple[float, float]
    generation: Generation | None
    trained_tokens: Array


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
            id=chip.id,
            accelerator=chip,
            gpus=count,
            hbm_bytes_per_gpu=held / count,
            network_kind="none",
            network_bytes_per_s_per_gpu_one_way=0.0,
        )
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
    if job.framework != MEGATRON:
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
        ways = product(
            _shardings(job, node, groups=groups, tensor=tensor), batches, _recomputed(job), _generating(job, node, gpus)
        )
        for (sharding, shards), batch, again, together_generating in ways:
            if each % batch == 0:
                yield FinetuneLayout(
                    gpus=gpus,
                    tensor=tensor,
                    data=groups,
                    sharding=sharding,
                    shards=shards,
                    micro_batch=batch,
                    accumulation=each // batch,
                    recompute=again,
                    generation_tensor=together_generating,
                )


def _generating(job: FinetuneJob, node: NodeType, gpus: int) -> tuple[int, ...]:
    """Return the accelerators that may generate together: of one node, each with whole heads, all workers alike."""
    if job.rollouts is None:
        return (1,)
    heads, inside = float(job.model.shape.query_heads), math.gcd(gpus, node.gpus)
    return tuple(
        size for size in _TENSOR if inside % size == 0 and heads % size == 0 and job.global_batch * size % gpus == 0
    )


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
    """Yield what weights and states are divided over. All trained weights are, where there is more than one group.

    Beside adapters, frozen weights are whole where answers are generated, unless they are held otherwise: adapters are
    merged into whole matrices that the engine loads (trl/generation/vllm_generation.py of release 1.16.0).
    """
    inside = max(node.gpus // tensor, 1)
    divides = job.method == FULL or (job.practice.sharded and job.rollouts is None)
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
    level = calibration.level_of(rows[0])
    memory_band = calibration.band_of(rows[0], level, MEMORY)
    generation = None
    if job.rollouts is not None:
        free = _most_bytes(job, node, memory_band) - np.asarray(sum(terms.values()))
        generation = generation_of(job, layouts, node.accelerator, columns.device, calibration.serving, free=free)
        terms |= {"serving_weights": generation.weights, "serving_cache": generation.cache}
    held: Array = np.asarray(sum(terms.values()))
    room = np.log(node.hbm_bytes_per_gpu / held)
    spread = np.where(room >= 0, memory_band[1], -memory_band[0]) / _Z90
    probability = np.array([NormalDist().cdf(one) for one in room / np.maximum(spread, _NARROWEST)])
    columns = _as_trained(job, columns, layouts)
    time = token_time(columns.model, columns.device, columns.task, factors)
    time = _with_reduction(job, node, time, columns, layouts)
    faster = np.exp(given["throughput_scale"][0])
    added = _added(job, columns, time.total / faster, layouts, generation)
    rate = faster / time.total / (1.0 + np.asarray(sum(added.values())))
    return _Found(
        rows=rows,
        columns=columns,
        layouts=layouts,
        memory=terms,
        held=held,
        probability=probability,
        time=time,
        added=added,
        rate=rate * np.array([layout.gpus for layout in layouts]),
        level=level,
        memory_band=memory_band,
        rate_band=calibration.band_of(rows[0], level, THROUGHPUT),
        generation=generation,
        trained_tokens=np.broadcast_to(np.asarray(columns.task.tokens), len(rows)),
    )


def _most_bytes(job: FinetuneJob, node: NodeType, band: tuple[float, float]) -> float:
    """Return the bytes of an accelerator that a prediction may have to fit with the probability that is asked for."""
    score = NormalDist().inv_cdf(min(max(job.memory_confidence, _NARROWEST), 1.0 - _NARROWEST))
    spread = max(band[1] if score >= 0 else -band[0], _NARROWEST) / _Z90
    return node.hbm_bytes_per_gpu * math.exp(-score * spread)


def _as_trained(job: FinetuneJob, columns: Columns, layouts: Sequence[FinetuneLayout]) -> Columns:
    """Return columns whose sequences have the padding with which they are trained on.

    Generated answers are padded to the longest of those that a group has of a batch; memory is that of the longest
    there can be.
    """
    if job.rollouts is None:
        return columns
    own = np.array([job.global_batch / layout.data for layout in layouts])
    padded = np.minimum(job.rollouts.prompt_tokens + longest_of(job.rollouts, own), job.sequence_tokens)
    filled = job.rollouts.sequence_tokens / padded
    return replace(columns, task=replace(columns.task, tokens=padded, filled=filled))


def _added(
    job: FinetuneJob, columns: Columns, trained_s: Array, layouts: Sequence[FinetuneLayout], found: Generation | None
) -> dict[str, Array]:
    """Return what comes on top of the training of a token, over its seconds, by part of a step.

    A forward pass is one of `passes`. What is done once for a batch of answers counts for all of its updates. The
    probabilities of generated answers are computed again before the first update, whatever follows: the engine's own
    are not quite those of what is trained (`vllm_importance_sampling_correction`, by default true in TRL 0.28 to 1.16).
    """
    updates = 1.0 if job.rollouts is None else float(job.rollouts.updates)
    forward = 1.0 / np.asarray(passes(columns.task)) / updates
    nothing = np.zeros(len(layouts))
    added = {
        "reference": forward if job.has_reference else nothing,
        "scoring": nothing if found is None else forward,
        "generating": nothing,
    }
    if job.rollouts is not None and found is not None:
        gpus = np.array([layout.gpus for layout in layouts])
        token_s = found.time.total_s * gpus / (job.global_batch * job.rollouts.sequence_tokens * updates)
        added["generating"] = np.asarray(token_s / trained_s)
    return added


def _terms(job: FinetuneJob, columns: Columns, memory: PeakMemory, scale: float) -> dict[str, Array]:
    """Return bytes by term, as `FinetuneMemory`, corrected as measurements say.

    A frozen reference is a second copy of the weights where all are trained; beside adapters it is the base itself.
    """
    terms = {field.name: getattr(memory, field.name) for field in fields(memory)}
    if job.has_reference and job.method == FULL:
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
    added = moved / links * gpus / (job.global_batch * task.tokens)
    return replace(time, update=np.asarray(time.update + added), total=np.asarray(time.total + added / task.filled))


def _order(found: _Found, index: int) -> tuple[float, int, int]:
    """Return what the better of two layouts has less of: time, then accelerators, then passes of an update."""
    layout = found.layouts[index]
    return -round(float(found.rate[index]), 6), layout.gpus, layout.accumulation


def _size(job: FinetuneJob, node: NodeType, found: _Found, index: int) -> FinetuneSize:
    layout = found.layouts[index]
    rate = _rate(found, index)
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
        rollouts=None if job.rollouts is None else _rollout_size(job, job.rollouts, node, found, index),
    )


def _rollout_size(job: FinetuneJob, rollouts: Rollouts, node: NodeType, found: _Found, index: int) -> RolloutSize:
    generation, layout = found.generation, found.layouts[index]
    assert generation is not None  # noqa: S101 - of a job with rollouts
    batch = job.global_batch * rollouts.sequence_tokens
    trained_s = batch * rollouts.updates / float(found.rate[index]) * _shares(found, index)["training"]
    return RolloutSize(
        workers=layout.gpus // layout.generation_tensor,
        answers=round(float(generation.workers.sequences[index])),
        slots=round(float(generation.slots[index])),
        longest_tokens=float(generation.longest[index]),
        trained_tokens=float(found.trained_tokens[index]),
        prefill_s=float(generation.time.prefill_s[index]),
        decode_s=float(generation.time.decode_s[index]),
        scoring_s=trained_s * float(found.added["scoring"][index] + found.added["reference"][index]),
        memory_share=float(generation.weights[index] + generation.cache[index]) / node.hbm_bytes_per_gpu,
    )


def _shares(found: _Found, index: int) -> dict[str, float]:
    """Return the shares of an update that training, generating and scoring take."""
    added = {name: float(values[index]) for name, values in found.added.items()}
    whole = 1.0 + sum(added.values())
    return {"training": 1.0 / whole, **{name: value / whole for name, value in added.items()}}


def _rate(found: _Found, index: int) -> Predicted:
    """Return tokens per second with their band.

    Where answers are generated, both engines are as far off as each is by itself, in the same direction. No such run
    was measured: the band of training is widened as that of a run with words that no measurement has.
    """
    value, band = float(found.rate[index]), found.rate_band
    if found.generation is None:
        return _banded(value, band)
    generating = _shares(found, index)["generating"]
    low, high = (
        value / ((1.0 - generating) * math.exp(-own * VAGUE_WIDENING) + generating * math.exp(-other))
        for own, other in zip(band, found.generation.workers.band, strict=True)
    )
    return Predicted(value=value, low=low, high=high)


def _banded(value: float, band: tuple[float, float]) -> Predicted:
    return Predicted(value=value, low=value * math.exp(band[0]), high=value * math.exp(band[1]))


def _step(found: _Found, index: int) -> FinetuneStep:
    time = found.time
    parts = {
        "multiplying": time.multiplied,
        "element_wise": time.streamed,
        "unpacking": time.unpacked,
        "gathering": time.waiting,
        "uncompiled": time.interpreted,
        "tensor_parallel": time.shared,
        "host_memory": time.hosted,
        "updating": time.update,
    }
    seconds = {name: float(np.asarray(values)[index]) for name, values in parts.items()}
    total, shares = sum(seconds.values()), _shares(found, index)
    training = shares.pop("training")
    return FinetuneStep(**{name: value / total * training for name, value in seconds.items()}, **shares)
