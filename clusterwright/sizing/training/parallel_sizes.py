"""Which sizes of each kind of parallelism a job and a node type allow, before they are combined to layouts."""

import math
from collections.abc import Callable

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import FULL, NONE, RECOMPUTE, SELECTIVE
from clusterwright.sizing.hardware.devices import TORUS
from clusterwright.sizing.hardware.software_layouts import runs_of
from clusterwright.sizing.model.shapes import trained_layers
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.constraints import allowed_data_parallel

#: Sizes looked at when neither the user nor the fabric sets a limit.
DEFAULT_MAX_NODES = 2048
LARGEST_MICRO_BATCH = 16
LARGEST_TENSOR_PARALLEL = 16
LARGEST_CONTEXT_PARALLEL = 64
LARGEST_EXPERT_PARALLEL = 128
#: Stages of the longest pipeline that was published (1 T parameters: Korthikanti et al. 2022, table 3).
MOST_STAGES = 64
#: Sequences from here on may be split over accelerators.
CONTEXT_PARALLEL_FROM_TOKENS = 8192
#: Beyond this many parts of a sequence, each keeps at least as many tokens: attention waits for all others.
_MANY_PARTS, _TOKENS_OF_MANY_PARTS = 16, 32_768
#: Which (stages, chunks) a schedule can have, and the column that it makes.
_SCHEDULED: dict[str | None, Callable[[int, int], bool]] = {
    None: lambda _, __: True,
    "1f1b": lambda _, chunks: chunks == 1,
    "interleaved": lambda _, chunks: chunks > 1,
    "zero-bubble": lambda _, chunks: chunks == 1,
    "dualpipe": lambda stages, chunks: chunks == 1 and stages % 2 == 0,
}
#: Schedules that compute gradients of weights apart, for which a layer's activations must still be there.
SPLIT_BACKWARD = ("zero-bubble", "dualpipe")


def divisors(number: int) -> list[int]:
    """Return every divisor, smallest first."""
    small = [candidate for candidate in range(1, math.isqrt(number) + 1) if number % candidate == 0]
    return sorted({*small, *(number // candidate for candidate in small)})


def node_limit(job: TrainingJob, node: NodeType) -> int:
    """Return the largest cluster to look at: the least of the user's, the fabric's and the default limit.

    One node where no bandwidth to others is known.
    """
    if not node.reaches_others:
        return 1
    limits = [limit for limit in (job.max_nodes, node.placement_max_nodes) if limit is not None]
    return min(limits) if limits else DEFAULT_MAX_NODES


def tensor_parallel_sizes(job: TrainingJob, node: NodeType, *, usual: bool = True) -> list[int]:
    """Return the tensor-parallel sizes that divide heads and MLP, stay in the scale-up domain and align with nodes.

    Unless the user fixes another, those that are run: powers of two, on a torus any, and 1 under software without.
    """
    model, domain = job.model, max(node.accelerator.scale_up_domain_gpus or 1, 1)
    if job.tensor_parallel is None and not runs_of(job.framework).tensor:
        return [1]
    any_size = not usual or job.tensor_parallel is not None or node.accelerator.scale_up_topology == TORUS
    return [
        size
        for size in range(1, min(domain, job.tensor_parallel or LARGEST_TENSOR_PARALLEL) + 1)
        if model.heads % size == 0
        and model.ffn_hidden % size == 0
        and (model.kv_heads % size == 0 or size % model.kv_heads == 0)
        and (node.gpus % size == 0 or size % node.gpus == 0)
        and job.tensor_parallel in (None, size)
        and size <= (job.max_tensor_parallel or size)
        and (any_size or size & (size - 1) == 0)
    ]


def context_parallel_sizes(job: TrainingJob) -> list[int]:
    """Return 1, and for long sequences the powers of two that leave each rank two equal parts of the sequence.

    A size that the user fixes needs no long sequence.
    """
    if job.context_parallel is not None:
        fixed = job.context_parallel
        return [fixed] if fixed == 1 or job.sequence_length % (2 * fixed) == 0 else []
    if job.sequence_length < CONTEXT_PARALLEL_FROM_TOKENS or not runs_of(job.framework).context:
        return [1]
    most = min(max(job.sequence_length // _TOKENS_OF_MANY_PARTS, _MANY_PARTS), LARGEST_CONTEXT_PARALLEL)
    sizes = (2**exponent for exponent in range(most.bit_length()))
    return [size for size in sizes if job.sequence_length % (2 * size) == 0]


def is_run(stages: int) -> bool:
    """Tell whether pipelines of that many stages are run: up to 64, no prime factor above 7, and 7 only once.

    Published are 2 to 10, 12, 14 to 16, 18, 20, 24, 30, 32, 35, 48 and 64 stages (Korthikanti et al. 2022, table 3,
    for the last). Others divide the layers too, but for the sake of a few per cent nobody spreads a model over 41 or
    49.

    >>> [stages for stages in range(1, 51) if not is_run(stages)]
    [11, 13, 17, 19, 22, 23, 26, 29, 31, 33, 34, 37, 38, 39, 41, 43, 44, 46, 47, 49]
    """
    rest = stages // 7 if stages % 7 == 0 else stages
    for factor in (2, 3, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1 and stages <= MOST_STAGES


def pipelines(job: TrainingJob, *, usual: bool = True) -> list[tuple[int, int]]:
    """Return (stages, chunks per stage) that divide the layers, or the layers plus embedding and head.

    Of those with several stages, the ones that the job's schedule has: one chunk for all but the interleaved, and an
    even number of stages for DualPipe. Chunks have the layers of which the user wants that many recomputed. Unless the
    user fixes another, stages are of a number that is run (`is_run`) where they are to be `usual`, and as the named
    software has them.
    """
    found = set()
    runs = runs_of(job.framework)
    layers, least = trained_layers(job.model), job.recompute_layers or 1
    for parts in (layers, layers + 2):
        for stages in divisors(parts):
            if stages == 1 and parts == layers >= least:
                found.add((1, 1))
            elif 1 < stages <= layers:
                found |= {(stages, chunks) for chunks in divisors(parts // stages) if stages * chunks <= parts // least}
    if job.pipeline_parallel is None:
        found = {pair for pair in found if pair[0] == 1 or (runs.pipeline and (not usual or is_run(pair[0])))}
    if job.schedule is None and not runs.interleaved:
        found = {pair for pair in found if pair[1] == 1}
    fixed = (pair for pair in found if job.pipeline_parallel in (None, pair[0]))
    return sorted(pair for pair in fixed if pair[0] == 1 or _SCHEDULED[job.schedule](*pair))


def micro_batches(job: TrainingJob) -> list[tuple[int, int, int]]:
    """Return (sequences per micro-batch, micro-batches, data-parallel size) whose product is the global batch."""
    batch = job.global_batch_sequences
    sizes = [size for size in divisors(batch) if size <= LARGEST_MICRO_BATCH or size == job.micro_batch]
    return [
        (size, batch // size // ranks, ranks)
        for size in sizes
        if job.micro_batch in (None, size)
        for ranks in allowed_data_parallel(job, divisors(batch // size))
    ]


def recompute_modes(job: TrainingJob) -> list[int]:
    """Return the recomputation modes to look at, as indices into `RECOMPUTE`."""
    if job.recompute is not None:
        return [RECOMPUTE.index(job.recompute)]
    modes = [NONE, SELECTIVE] if job.schedule in SPLIT_BACKWARD else [NONE, SELECTIVE, FULL]
    return modes if runs_of(job.framework).selective else [mode for mode in modes if mode != SELECTIVE]


def expert_parallel_sizes(job: TrainingJob) -> list[int]:
    """Return the expert-parallel sizes that divide the experts, up to one expert per rank."""
    if job.expert_parallel is not None:
        return [size for size in divisors(job.model.experts or 1) if size == job.expert_parallel]
    if not runs_of(job.framework).expert:
        return [1]
    return [size for size in divisors(job.model.experts or 1) if size <= LARGEST_EXPERT_PARALLEL]
