"""Layouts evaluated per second by the training search: `python benchmarks/layouts.py [REPEATS]`.

Method: GPT-3 175B (300e9 tokens, 1,536 sequences of 2,048, bf16) on DGX H100, on every cluster size up to 2,048 nodes.
Each figure is the least of REPEATS (default 5) runs in one process on one core, after one run to warm up:

- `search`: the whole search with enumeration, memory, time, goodput, front and the front's breakdown; layouts looked at
  over processor time. The memory of every layout is computed; the time of those that fit, except where less
  recomputation fits too.
- `timing`: the same without enumeration, front and breakdown.
- `wide batch`: the same search with a global batch of 3,840 sequences, a larger space.
- `experts`: DeepSeek-V3 with 15,360 sequences of 4,096, with every legal expert parallelism.

Memory is the most that the process held at any time, with Python and NumPy. Nothing is cached between runs. Set
OMP_NUM_THREADS=1 to keep NumPy on one core (the formulas use one anyway).
"""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from clusterwright.catalog import load, lookup
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training import layouts, parallel_sizes
from clusterwright.sizing.training.search import search
from clusterwright.sizing.training.timing import time_all


def least_s(action: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the least wall time and the least processor time of an action, in seconds."""
    times = []
    action()
    for _ in range(repeats):
        start, busy = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - start, time.process_time() - busy))
    seconds, busy_s = zip(*times, strict=True)
    return min(seconds), min(busy_s)


def line(name: str, count: int, times: tuple[float, float]) -> str:
    """Return a line of the table; the rate is layouts over processor time."""
    wall_ms, busy_ms = (seconds * 1e3 for seconds in times)
    rate = count / busy_ms / 1e3
    return (
        f"{name:<11} {count:>8,} layouts in {wall_ms:6.1f} ms, {busy_ms:6.1f} ms of a processor: {rate:5.2f} million/s"
    )


def main() -> int:
    """Print the figures."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    catalogue, calibration = load.load(), load_calibration()
    accelerator = lookup.accelerator(catalogue, "h100-sxm-80gb")
    node = NodeType(
        id="dgx-h100",
        accelerator=accelerator,
        gpus=8,
        hbm_bytes_per_gpu=accelerator.hbm_bytes or 0.0,
        network_kind="infiniband",
        network_bytes_per_s_per_gpu_one_way=50e9,
    )
    job = TrainingJob(
        model=lookup.model(catalogue, "GPT-3-175B"),
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=1536,
        precision="bf16",
        finish_within_s=None,
    )
    experts = replace(
        job, model=lookup.model(catalogue, "deepseek-v3"), sequence_length=4096, global_batch_sequences=15_360
    )
    questions = {"search": job, "wide batch": replace(job, global_batch_sequences=3840), "experts": experts}
    for name, question in questions.items():
        times = least_s(partial(search, job=question, node=node, calibration=calibration), repeats)
        print(line(name, search(job=question, node=node, calibration=calibration).layouts_evaluated, times))
    space = layouts.enumerate_space(job, node, max_nodes=parallel_sizes.DEFAULT_MAX_NODES)
    if space is None:
        return 1
    shape, device = shape_of(job.model, sequence_length=2048), device_of(node, precision="bf16")
    stacks = stacks_of(calibration, node, job)
    timed = partial(time_all, job, node, shape, device, space, stacks=stacks, calibration=calibration)
    print(line("timing", space.count, least_s(timed, repeats)))
    print(f"{'memory':<11} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6:,.0f} MB at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
