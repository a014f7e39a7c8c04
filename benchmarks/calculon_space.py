"""Every execution that Calculon searches for GPT-3 175B on 4,096 A100: `python benchmarks/calculon_space.py [REPEATS]`.

Calculon (Isaev et al., SC23; its `llm-optimal-execution` with a batch of 4,096 on its `a100_80g` system) goes through
7,126,368 executions of this job. They are counted here by the same rules, and each is held against memory and, where it
fits, timed. An execution is one of 6,426 layouts (tensor, pipeline and data parallelism whose product is 4,096,
interleaving, micro-batch, three modes of recomputation, optimizer sharded or not) with switches, which enter thus:

- tensor-parallel communication by all-reduce, with scattered transfers, or with sequence parallelism (the last with or
  without gathering again): sequence parallelism off, off, on, on; the rest has no counterpart in this engine
- tensor-parallel overlap none, ring, pipe: none, half and all of the calibrated share is hidden
- data-parallel overlap: none or the calibrated share is hidden
- weights, activations, optimizer in host memory: they take none of the accelerator's, and cross a link of 32 GB/s
  there and back per micro-batch, the optimizer per step, hidden by nothing
- NVLink or InfiniBand for each of the three kinds of parallelism: refused where what is on NVLink does not fit into its
  8 accelerators; pipeline traffic is timed on the network of the data parallelism

The planner's own search has no such switches: what software hides is calibrated, and the network follows from the
layout. How many layouts it looks at for the same job and accelerators is printed as well. Seconds are the least of
REPEATS (default 3) runs in one process on one core, with everything computed anew in each.
"""

import itertools
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.catalog import load, lookup
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import RECOMPUTE, Array, Layouts, take
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training import memory, step
from clusterwright.sizing.training.layouts import enumerate_space, gpu_counts
from clusterwright.sizing.training.parallel_sizes import divisors
from clusterwright.sizing.training.search import search

GPUS = 4096
BATCH = 4096
HOST_BYTES_PER_S = 32e9
#: Overlap of tensor-parallel traffic over the calibrated one; sequence parallelism by kind of communication.
TENSOR_OVERLAPS = (0.0, 0.5, 1.0)
SEQUENCE_PARALLEL = (0.0, 0.0, 1.0, 1.0)
OFF_ON = (0.0, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Executions:
    """Executions of one split of the accelerators: every layout of the first with every switch of the second.

    Attributes:
        layouts: a column per layout, without sharding and sequence parallelism.
        switches: one line per switch, one column per combination: sharded, sequence parallel, data and tensor overlap,
            weights, activations and optimizer in host memory, tensor, pipeline and data parallelism on InfiniBand.
    """

    layouts: Layouts
    switches: Array

    @property
    def count(self) -> int:
        """Layouts times switches."""
        return int(np.size(self.layouts.vpp)) * int(self.switches.shape[1])


def job_and_node() -> tuple[TrainingJob, NodeType]:
    """Return GPT-3 175B with a batch of 4,096 sequences, and a node of 8 A100 with 25 GB/s per accelerator."""
    catalogue = load.load()
    accelerator = lookup.accelerator(catalogue, "a100-sxm-80gb")
    node = NodeType(
        id="dgx-a100",
        accelerator=accelerator,
        gpus=8,
        hbm_bytes_per_gpu=accelerator.hbm_bytes or 0.0,
        network_kind="infiniband",
        network_bytes_per_s_per_gpu_one_way=25e9,
    )
    job = TrainingJob(
        model=lookup.model(catalogue, "gpt3-175b"),
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=BATCH,
        precision="bf16",
        finish_within_s=None,
        max_nodes=GPUS // 8,
    )
    return job, node


def executions(job: TrainingJob) -> Iterator[Executions]:
    """Yield the executions split by split and mode by mode."""
    model = job.model
    for tp in divisors(np.gcd(np.gcd(model.hidden, model.heads), GPUS)):
        for pp in divisors(np.gcd(model.layers, GPUS // tp)):
            dp = GPUS // tp // pp
            chunks = divisors(model.layers // pp) if pp > 1 else [1]
            sizes = [size for size in divisors(BATCH // dp) if size * job.sequence_length % tp == 0]
            vpp, micro_batch = np.array(list(itertools.product(chunks, sizes)), dtype=np.float64).T
            for mode in range(len(RECOMPUTE)):
                yield Executions(
                    layouts=Layouts(
                        tp=float(tp),
                        sp=0.0,
                        pp=float(pp),
                        vpp=vpp,
                        dp=float(dp),
                        cp=1.0,
                        zero_stage=0.0,
                        micro_batch=micro_batch,
                        micro_batches=BATCH / dp / micro_batch,
                        recompute=float(mode),
                    ),
                    switches=_switches(tp, pp, dp, kept=RECOMPUTE[mode] != "full"),
                )


def _switches(tp: int, pp: int, dp: int, *, kept: bool) -> Array:
    replicas, split, staged = (OFF_ON if size > 1 else (0.0,) for size in (dp, tp, pp))
    options = (
        replicas,
        SEQUENCE_PARALLEL if kept else SEQUENCE_PARALLEL[:3],
        replicas,
        TENSOR_OVERLAPS if tp > 1 else (0.0,),
        OFF_ON,
        OFF_ON if kept else (0.0,),
        OFF_ON,
        split,
        staged,
        replicas,
    )
    return np.array(list(itertools.product(*options)), dtype=np.float64).T


def evaluate(job: TrainingJob, node: NodeType) -> tuple[int, int, float]:
    """Return how many executions there are, how many fit, and the median seconds of the fastest one's step."""
    shape, device = shape_of(job.model, sequence_length=job.sequence_length), device_of(node, precision=job.precision)
    stack = stacks_of(load_calibration(), node, job)[0]
    count, fitting, best = 0, 0, np.inf
    for some in executions(job):
        count += some.count
        column = take(some.layouts, (slice(None), np.newaxis))
        zero, sp, data, tensor, weights, activations, optimizer, tensor_net, pipeline_net, data_net = some.switches
        held = replace(column, zero_stage=zero, sp=sp)
        needed = memory.per_gpu(shape, held, layer=layer_memory.layer_bytes(shape, held))
        moved = (needed.weights * weights, needed.activations * activations, needed.optimizer * optimizer)
        on_nvlink = [
            np.where(net, 1.0, size)
            for net, size in ((tensor_net, column.tp), (pipeline_net, column.pp), (data_net, column.dp))
        ]
        inside = on_nvlink[0] * on_nvlink[1] * on_nvlink[2] <= device.scale_up_gpus
        layout, switch = np.nonzero((needed.total() - sum(moved) <= device.hbm_bytes) & inside)
        if not layout.size:
            continue
        fitting += layout.size
        chosen = replace(take(some.layouts, layout), zero_stage=zero[switch], sp=sp[switch])
        tuning = replace(
            stack.tuning,
            tensor_overlap=stack.tuning.tensor_overlap * tensor[switch],
            data_overlap=stack.tuning.data_overlap * data[switch],
        )
        wire = np.where(tensor_net[switch], device.network_bytes_per_s, device.scale_up_bytes_per_s)
        times = step.layer_times(shape, replace(device, scale_up_bytes_per_s=wire), tuning, chosen)
        reached = np.where(data_net[switch], 1.0, GPUS)
        parts = step.step_columns(shape, replace(device, scale_up_gpus=reached), tuning, chosen, times)
        batches = column.micro_batches
        passed = moved[0] * batches + moved[1] * batches / np.minimum(batches, column.pp) + moved[2]
        host_s = 2 * passed[layout, switch] / HOST_BYTES_PER_S
        best = min(best, float(np.min(np.asarray(parts.total_s()) + host_s)))
    return count, fitting, best * float(np.exp(-stack.residuals.p50))


def main() -> int:
    """Print the figures."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    job, node = job_and_node()
    layouts = sum(np.size(some.layouts.vpp) * (1 + (some.layouts.dp > 1)) for some in executions(job))
    times = []
    for _ in range(repeats):
        start, busy = time.perf_counter(), time.process_time()
        count, fitting, best = evaluate(job, node)
        times.append((time.perf_counter() - start, time.process_time() - busy))
    seconds, busy_s = (min(column) for column in zip(*times, strict=True))
    print(f"{layouts:,} layouts with their switches are {count:,} executions, {fitting:,} of which can be had")
    print(f"evaluated in {seconds:.2f} s, {busy_s:.2f} s of a processor; the fastest step takes {best:.2f} s")
    start = time.perf_counter()
    front = search(job=job, node=node, calibration=load_calibration())
    own = time.perf_counter() - start
    space = enumerate_space(job, node, max_nodes=GPUS // node.gpus)
    same = 0 if space is None else int(np.count_nonzero(gpu_counts(space.rows) == GPUS)) * space.modes.size
    print(
        f"the planner's search: {front.layouts_evaluated:,} layouts on up to 4,096 accelerators in {own * 1e3:.0f} ms, "
        f"{same:,} of them on 4,096; the fastest step {front.points[-1].step.total_s:.2f} s"
    )
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6:,.0f} MB at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
