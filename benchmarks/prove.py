"""How long `clusterwright prove` takes for the documents of a cluster on premises, and how much memory.

Each size is written by `clusterwright onprem` with the shipped blueprint and a fabric of Ethernet, or of InfiniBand
with `--fabric infiniband`, then proven in a process of its own. Run from the project:
`python benchmarks/prove.py [--fabric KIND] [NODES …]`. Time is processor time, which a busy machine lengthens little:
of the proof itself, and of the programs that it starts (bash, LibreOffice, slurmctld, OpenSM and its simulator).
Memory is the most of the proof, and of the largest program that it started.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Nodes and most processor seconds of the proof itself: a goal of the project; other sizes are shown only.
GOALS = {12_288: 300.0}
SIZES = (128, 1_024, 12_288)
#: InfiniBand fabrics of more nodes than one of three levels of 64-port switches takes have planes, a rail pair in each.
PLANES_FROM, PLANES = 8_193, 4
#: Their more racks of switches need narrower aisles for cables to reach (docs/howto/documents.md, Size and time).
ROWS_OF_PLANES = (
    "site.hall.cold_aisle=1.2 m",
    "site.hall.hot_aisle=0.9 m",
    "site.hall.racks_per_row=109",
    "site.hall.switch_racks=middle-rows",
)


def one(folder: Path) -> dict[str, object]:
    """Prove a folder in this process."""
    from clusterwright.checks.prove.folder import read_folder  # noqa: PLC0415 - its memory counts
    from clusterwright.checks.prove.proof import prove_documents, verdict  # noqa: PLC0415

    stages: list[tuple[str, float, float]] = []

    def note(what: str) -> None:
        spent = os.times()
        stages.append((what, spent.user + spent.system, spent.children_user + spent.children_system))

    documents = read_folder(folder)
    results = prove_documents(documents, progress=note)
    note("end")
    return {
        "verdict": verdict(results),
        "findings": [finding.message for result in results for finding in result.findings][:5],
        "skipped": [f"{result.part}: {result.reason}" for result in results if result.state == "skipped"],
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "started_peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "stages": [
            (what.removeprefix("proving "), later[1] - own, later[2] - started)
            for (what, own, started), later in itertools.pairwise(stages)
        ],
    }


def write(nodes: int, fabric: str, folder: Path) -> None:
    """Write the documents of a size."""
    sizes = [f"targets.onprem.{name}_nodes={nodes}" for name in ("min", "max")]
    if fabric == "infiniband" and nodes >= PLANES_FROM:
        sizes += [f"targets.onprem.fabric.planes={PLANES}", *ROWS_OF_PLANES]
    changes = [word for value in (*sizes, f"targets.onprem.fabric.kind={fabric}") for word in ("--set", value)]
    blueprint = ROOT / "blueprints" / "train-gpt3-175b.yaml"
    program = str(Path(sys.executable).with_name("clusterwright"))
    command = [program, "onprem", str(blueprint), "-o", str(folder), *changes]
    subprocess.run(command, check=True, capture_output=True)


def main() -> int:
    """Run all sizes and print a table for each; 1 if one is not proven or misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int, help=f"sizes; {', '.join(map(str, SIZES))} if left out")
    parser.add_argument("--fabric", choices=("roce", "infiniband"), default="roce", help="of the compute network")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one)))
        return 0
    failed = False
    for nodes in arguments.nodes or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write(nodes, arguments.fabric, Path(folder) / "site")
            command = [sys.executable, __file__, "--one", str(Path(folder) / "site")]
            run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        peaks = " and ".join(f"{run[name] / 1e9:.2f} GB" for name in ("peak_bytes", "started_peak_bytes"))
        print(f"{nodes:,} nodes, {arguments.fabric}: {run['verdict']}, {peaks} of the largest program started")
        for said in (*run["findings"], *(f"skipped: {one}" for one in run["skipped"])):
            print(f"  {said}")
        for what, own_s, started_s in run["stages"]:
            print(f"  {what:<36} {own_s:7.1f} s {started_s:7.1f} s of other programs")
        total_s = sum(own_s for _, own_s, _ in run["stages"])
        goal_s = GOALS.get(nodes)
        print(f"  {'all':<36} {total_s:7.1f} s" + ("" if goal_s is None else f"  goal: {goal_s:g} s"))
        failed |= run["verdict"] != "proven" or (goal_s is not None and total_s > goal_s)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
