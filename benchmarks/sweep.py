"""Time and memory of a sweep over the whole catalogue: `python benchmarks/sweep.py [GLOBAL_BATCH] [JOBS...]`.

Method: GPT-3 175B (300e9 tokens, GLOBAL_BATCH sequences of 2,048) on every size of up to 16,384 accelerators that the
batch and the layers divide into. The default batch of 360,360 divides in so many ways that every accelerator has more
than 200 sizes. Two questions:

- `accelerators`: the front of every accelerator of the catalogue, also of those that no instance type or system has, in
  nodes of 8 with 50 GB/s of network each (an assumption, for comparison only), in bf16 or else fp16; enumeration,
  memory, time, goodput and front in one process, the best of 3 runs.
- `sweep`: the command as people run it, on every node type of which the facts are known: a whole run with JOBS
  processes (default 1 and 2), from the start of Python to the end, with reading the blueprint, sizing, pricing every
  point of every front, and writing JSON, which goes nowhere.

Processor time tells what it would take on a machine that does nothing else. Memory is the largest sum of the resident
bytes of all processes, looked up in /proc every 20 ms (pages that they share count once per process).
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clusterwright.catalog import load, lookup
from clusterwright.catalog.records import Catalogue, NodeType
from clusterwright.errors import ClusterwrightError, RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import peaks_flop_per_s
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.layouts import enumerate_space, gpu_counts
from clusterwright.sizing.training.search import search
from clusterwright.sweep.space import MOST_GPUS

ROOT = Path(__file__).resolve().parents[1]
BLUEPRINT = ROOT / "blueprints" / "train-gpt3-175b.yaml"
BATCH = 360_360
SAMPLE_S = 0.02
RUN = "from clusterwright.cli.main import run; run()"


def node_types(catalogue: Catalogue) -> list[NodeType]:
    """Return every node type of which the facts are known."""
    found = []
    for look_up, ids in (
        (lookup.node_type_of_instance, catalogue.instances),
        (lookup.node_type_of_system, catalogue.systems),
    ):
        for key in ids:
            try:
                found.append(look_up(catalogue, key))
            except ClusterwrightError:
                continue
    return found


def training_job(catalogue: Catalogue, batch: int, precision: str = "bf16") -> TrainingJob:
    """Return GPT-3 175B with a global batch."""
    return TrainingJob(
        model=lookup.model(catalogue, "gpt3-175b"),
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=batch,
        precision=precision,
        finish_within_s=None,
    )


def every_accelerator(catalogue: Catalogue, batch: int) -> Iterator[tuple[TrainingJob, NodeType]]:
    """Yield a job and a node of 8 for every accelerator with a documented peak in 16 bits."""
    for key, accelerator in catalogue.accelerators.items():
        peaks = peaks_flop_per_s(accelerator)
        precision = next((name for name in ("bf16", "fp16") if peaks[name] is not None), None)
        if precision is None:
            print(f"{accelerator.name} has no documented peak in 16 bits")
            continue
        node = NodeType(
            id=key,
            accelerator=accelerator,
            gpus=8,
            hbm_bytes_per_gpu=accelerator.hbm_bytes or 0.0,
            network_kind="ethernet",
            network_bytes_per_s_per_gpu_one_way=50e9,
        )
        yield replace(training_job(catalogue, batch, precision), max_nodes=MOST_GPUS // node.gpus), node


def sizes(asked: Sequence[tuple[TrainingJob, NodeType]]) -> tuple[list[int], int]:
    """Return the number of cluster sizes of each node type, and the layouts on all of them."""
    counts, layouts = [], 0
    for job, node in asked:
        most = MOST_GPUS // node.gpus
        found = enumerate_space(replace(job, max_nodes=most), node, max_nodes=most)
        if found is not None:
            counts.append(np.unique(gpu_counts(found.rows)).size)
            layouts += found.count
    return counts, layouts


def fronts_s(asked: Sequence[tuple[TrainingJob, NodeType]]) -> tuple[float, float, int]:
    """Return wall and processor seconds of all fronts in this process, and how many node types the job fits on."""
    calibration, fitting = load_calibration(), 0
    start, busy = time.perf_counter(), time.process_time()
    for job, node in asked:
        try:
            search(job=job, node=node, calibration=calibration)
        except RuleError:
            continue
        fitting += 1
    return time.perf_counter() - start, time.process_time() - busy, fitting


def measured(command: Sequence[str]) -> tuple[float, float, int]:
    """Return wall and processor seconds of a command, and the most resident bytes of it and its descendants."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        while process.poll() is None:
            peak = max(peak, resident_bytes(process.pid))
            time.sleep(SAMPLE_S)
    if process.returncode:
        raise SystemExit(f"the sweep ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, busy, peak


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process and its descendants, 0 for those that have just ended."""
    place = Path("/proc") / str(pid)
    try:
        pages = int((place / "statm").read_text().split()[1])
        children = [
            int(child) for task in (place / "task").iterdir() for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(child) for child in children)


def _extent(counts: Sequence[int]) -> str:
    return f"{min(counts)} to {max(counts)} cluster sizes of each"


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    batch = int(arguments[0]) if arguments else BATCH
    jobs = [int(text) for text in arguments[1:]] or [1, 2]
    catalogue = load.load()
    asked = list(every_accelerator(catalogue, batch))
    counts, layouts = sizes(asked)
    print(f"accelerators: {len(asked)} of {len(catalogue.accelerators)}, {_extent(counts)}, {layouts:,} layouts")
    seconds, busy_s, fitting = min(fronts_s(asked) for _ in range(3))
    rate = layouts / busy_s / 1e6
    print(f"{fitting} fronts: {seconds:.1f} s, {busy_s:.1f} s of a processor, {rate:.1f} million layouts/s")
    counts, layouts = sizes([(training_job(catalogue, batch), node) for node in node_types(catalogue)])
    print(f"sweep: {len(counts)} node types, {_extent(counts)}, {layouts:,} layouts")
    for count in jobs:
        command = [sys.executable, "-c", RUN, "sweep", str(BLUEPRINT), "--json", "--jobs", str(count)]
        seconds, busy_s, peak_bytes = measured([*command, "--set", f"workload.global_batch={batch}"])
        print(f"{count} at once: {seconds:.1f} s, {busy_s:.1f} s of processors, {peak_bytes / 1e6:,.0f} MB at most")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
