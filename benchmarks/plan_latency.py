"""Latency of the command line as a user feels it: `python benchmarks/plan_latency.py [REPEATS]`.

Method: whole processes, started one after another from this environment, wall time by a monotonic clock; one run of
each command to warm the file cache, then REPEATS (default 5) counted ones; minimum, median and maximum are printed, and
the median as a ratio to starting Python and importing nothing, which takes the machine's speed out of the figure.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLUEPRINT = ROOT / "blueprints" / "train-gpt3-175b.yaml"
PROGRAM = Path(sys.executable).parent / "clusterwright"
COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "clusterwright --help": (PROGRAM, "--help"),
    "clusterwright plan --json": (PROGRAM, "plan", BLUEPRINT, "--json"),
}


def wall_s(command: tuple[str | Path, ...]) -> float:
    """Return the wall time of one process in seconds; the process must succeed."""
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print a line per command."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    base: float | None = None
    print(f"{'command':<28} {'min s':>8} {'median s':>9} {'max s':>8} {'ratio':>7}")
    for name, command in COMMANDS.items():
        wall_s(command)
        times = [wall_s(command) for _ in range(repeats)]
        median = statistics.median(times)
        base = base or median
        print(f"{name:<28} {min(times):>8.3f} {median:>9.3f} {max(times):>8.3f} {median / base:>7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
