"""Writing one cloud's project: `python benchmarks/project.py [REPEATS]`.

Method: a small model is planned once per cloud and scheduler, which is not counted; then the project's files are made
and written to a new folder, in this process; wall time; one run to warm the file cache, then REPEATS
(default 5) counted ones; minimum, median and maximum are printed with the number of files. The figure to stay below is
1 s.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.outputs import folder
from clusterwright.outputs.deliverables import cloud_files
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD

TARGETS = {
    "aws": {"instance": "p5.48xlarge", "region": "us-east-1"},
    "azure": {"instance": "Standard_ND96isr_H100_v5", "region": "eastus"},
    "gcp": {"instance": "a3-megagpu-8g", "region": "us-central1"},
}
SCHEDULERS = ("slurm", "kubernetes")


def plan_for(cloud: str, scheduler: str) -> Plan:
    """Plan a small model on one cloud."""
    workload = {"kind": "train", "model": "llama-2-7b", "tokens": 100e9, "sequence_length": 2048, "global_batch": 512}
    target = {**TARGETS[cloud], "max_nodes": 16, "scheduler": scheduler}
    blueprint = Blueprint.model_validate({"name": "small", "workload": workload, "targets": {cloud: target}})
    resolved = resolve(blueprint, load())
    if not isinstance(resolved, Resolved):
        raise TypeError(resolved)
    return decide(blueprint, resolved, Facts.open())


def written(plan: Plan) -> tuple[int, float]:
    """Return the number of files and the wall time in seconds of making and writing a project."""
    with tempfile.TemporaryDirectory() as scratch:
        start = time.perf_counter()
        done = folder.write(Path(scratch) / "project", cloud_files(plan, plan.options[0], load(), USD))
        return done.files, time.perf_counter() - start


def main() -> int:
    """Print a line per project."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'project':<18} {'files':>6} {'min s':>8} {'median s':>9} {'max s':>8}")
    for cloud in TARGETS:
        for scheduler in SCHEDULERS:
            plan = plan_for(cloud, scheduler)
            files, _ = written(plan)
            times = [written(plan)[1] for _ in range(repeats)]
            figures = f"{min(times):>8.3f} {statistics.median(times):>9.3f} {max(times):>8.3f}"
            print(f"{cloud + ' ' + scheduler:<18} {files:>6} {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
