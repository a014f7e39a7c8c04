"""Time and memory of a sweep over the whole catalogue: `python benchmarks/sweep.py [GLOBAL_BATCH] [JOBS...]`.

Method: GPT-3 175B (300e9 tokens, GLOBAL_BATCH sequences of 2,048, bf16) on every node type of the catalogue, on every
size of up to 16,384 accelerators that the batch and the layers divide into. The default batch of 27,720 divides in so
many ways that there are more pairs of node type and size than 200 for each of the catalogue's accelerators, as the
first line shows. Each figure is one whole run with JOBS processes (default 1 and 2), from the start of Python to the
end: reading the blueprint, sizing, pricing every point of every front, and writing JSON, which goes nowhere. Processor
time tells what it would take on a machine that does nothing else. Memory is the largest sum of the resident bytes of
all its processes, looked up in /proc every 20 ms (pages that they share count once per process).
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clusterwright.catalog import load, lookup
from clusterwright.catalog.records import Catalogue, NodeType
from clusterwright.errors import ClusterwrightError
from clusterwright.plan.sweep_space import MOST_GPUS
from clusterwright.sizing.layouts import enumerate_layouts, gpu_counts
from clusterwright.sizing.records import TrainingJob

ROOT = Path(__file__).resolve().parents[1]
BLUEPRINT = ROOT / "blueprints" / "train-gpt3-175b.yaml"
BATCH = 27_720
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


def sizes(batch: int) -> tuple[int, int, int]:
    """Return the median number of cluster sizes per node type, their sum, and the layouts on them."""
    catalogue = load.load()
    job = TrainingJob(
        model=lookup.model(catalogue, "gpt3-175b"),
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=batch,
        precision="bf16",
        finish_within_s=None,
    )
    counts, layouts = [], 0
    for node in node_types(catalogue):
        most = MOST_GPUS // node.gpus
        found = enumerate_layouts(replace(job, max_nodes=most), node, max_nodes=most)
        if found is not None:
            gpus = gpu_counts(found)
            counts.append(np.unique(gpus).size)
            layouts += gpus.size
    return int(np.median(counts)), sum(counts), layouts


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


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    batch = int(arguments[0]) if arguments else BATCH
    jobs = [int(text) for text in arguments[1:]] or [1, 2]
    median, total, layouts = sizes(batch)
    print(f"batch {batch:,}: median {median:,} cluster sizes per node type, {total:,} in all, {layouts:,} layouts")
    for count in jobs:
        command = [sys.executable, "-c", RUN, "sweep", str(BLUEPRINT), "--json", "--jobs", str(count)]
        seconds, busy_s, peak_bytes = measured([*command, "--set", f"workload.global_batch={batch}"])
        print(f"{count} at once: {seconds:.1f} s, {busy_s:.1f} s of processors, {peak_bytes / 1e6:,.0f} MB at most")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
