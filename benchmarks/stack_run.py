"""How long a stack's program takes against the recording monitor: `python benchmarks/stack_run.py [REPEATS]`.

One run is one layer of a generated project: its program in a process of its own, from its start to its last
registration, with the monitor that answers it. The process is forked from one that has the SDK loaded; the first run,
which loads it, is shown by itself. Seconds are the least of REPEATS (default 3) runs in a row.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.stacks.cases import TYPICAL, stacks
from tests.stacks.projects import LAYERS, STACK, Case, run, write


def main() -> None:
    """Time every layer of every stack's typical project."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for cloud, scheduler in stacks():
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder)
            write(Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler), project)
            started = time.perf_counter()
            whole = run(project)
            first_s = time.perf_counter() - started
            if whole.error is not None:
                raise SystemExit(whole.error)
            print(f"{cloud} {scheduler}: first run of all layers {first_s:.2f} s")
            for layer in LAYERS:
                seconds = []
                for _ in range(repeats):
                    started = time.perf_counter()
                    run(project, layers=[layer], stacks=whole.stacks(STACK))
                    seconds.append(time.perf_counter() - started)
                print(f"  {layer}: {len(whole.layers[layer].cloud_resources)} resources, {min(seconds):.2f} s")


if __name__ == "__main__":
    main()
