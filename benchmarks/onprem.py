"""How long the documents of a cluster on premises take, and how much memory, from 32 to 12,288 nodes.

Each size runs in a process of its own, so that peak memory is that of the size. Run from the project:
`python benchmarks/onprem.py [NODES …]`. The time covers design and every document, not the writing to disk. Only the
time that a process computed is held against the goal, so that a busy machine does not fail it.
"""

import argparse
import datetime as dt
import json
import math
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

#: Nodes, most seconds, most bytes: goals of the project; other sizes are shown only.
GOALS = {2_048: (15.0, 1e9), 12_288: (90.0, 4e9)}
SIZES = (32, 128, 512, 2_048, 4_096, 6_144, 12_288)
#: InfiniBand has fewer addresses than larger clusters have ports: one plane of Ethernet switches carries these.
LARGEST_INFINIBAND = 4_096
#: More nodes than this, four in a rack and 20 racks in a row, are further apart than cables reach.
LARGEST_SPREAD = 2_048


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What one size took: processor seconds of design and documents, peak memory, and what came out."""

    nodes: int
    gpus: int
    design_s: float
    documents_s: float
    peak_bytes: int
    cables: int
    bytes_written: int


def one(nodes: int) -> Run:
    """Design and document a cluster in this process."""
    from clusterwright.catalog.load import load  # noqa: PLC0415 - its memory counts
    from clusterwright.facility.design import design_onprem  # noqa: PLC0415
    from clusterwright.facility.site import (  # noqa: PLC0415
        ROCE,
        DesignRules,
        FabricChoice,
    )
    from clusterwright.outputs.onprem.documents import documents  # noqa: PLC0415
    from clusterwright.sizing.records.run import StorageNeed  # noqa: PLC0415

    catalogue = load()
    started = time.process_time()
    design = design_onprem(
        system=catalogue.systems["dgx-h100"],
        nodes=nodes,
        storage=StorageNeed(
            dataset_bytes=1e15,
            checkpoint_bytes_kept=1e15,
            capacity_bytes=nodes * 10e12,
            read_bytes_per_s=nodes * 0.5e9,
            write_bytes_per_s=nodes * 0.25e9,
        ),
        site=_site(nodes),
        catalogue=catalogue,
        rules=DesignRules(fabric=FabricChoice(kind=ROCE if nodes > LARGEST_INFINIBAND else None)),
    )
    designed = time.process_time()
    files = documents(design, catalogue, title="benchmark", made_on=dt.date(2026, 11, 20))
    done = time.process_time()
    return Run(
        nodes=nodes,
        gpus=design.inventory.gpus,
        design_s=designed - started,
        documents_s=done - designed,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        cables=sum(design.cables.values()),
        bytes_written=sum(len(file.content) for file in files.values()),
    )


def _site(nodes: int) -> Any:  # noqa: ANN401 - loaded lazily
    """Return racks of four nodes; where those would stand further apart than cables reach, of six in long rows."""
    from clusterwright.facility.site import RowLayout, Site  # noqa: PLC0415

    if nodes <= LARGEST_SPREAD:
        return Site(rack_power_w=44_000.0, rack_height_u=48, pue=1.3)
    return Site(
        rack_power_w=70_000.0,
        rack_height_u=52,
        pue=1.3,
        rows=RowLayout(racks_per_row=56, cold_aisle_m=1.2, hot_aisle_m=0.9),
    )


def main() -> int:
    """Run all sizes and print a table; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int, help=f"sizes; {', '.join(map(str, SIZES))} if left out")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(asdict(one(arguments.one))))
        return 0
    print("nodes     GPUs  design s  documents s  µs per cable·log2  peak GB   cables    MB  goal")
    missed = False
    for nodes in arguments.nodes or SIZES:
        command = [sys.executable, __file__, "--one", str(nodes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{nodes:6,}  {done.stderr.strip().splitlines()[-1]}")
            missed = missed or nodes in GOALS
            continue
        run = Run(**json.loads(done.stdout))
        total_s = run.design_s + run.documents_s
        growth = total_s / (run.cables * math.log2(run.cables)) * 1e6
        goal = ""
        if nodes in GOALS:
            seconds, most_bytes = GOALS[nodes]
            met = total_s < seconds and run.peak_bytes < most_bytes
            missed = missed or not met
            goal = f"{'met' if met else 'MISSED'}: {seconds:g} s, {most_bytes / 1e9:g} GB"
        print(
            f"{run.nodes:6,} {run.gpus:8,} {run.design_s:9.1f} {run.documents_s:12.1f} {growth:18.2f} "
            f"{run.peak_bytes / 1e9:8.2f} {run.cables:8,} {run.bytes_written / 1e6:5.0f}  {goal}"
        )
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
