"""Latency of the command line as a user feels it: `python benchmarks/plan_latency.py [REPEATS]`.

Method: whole processes, started one after another from this environment; one run of each command to warm the file
cache, then REPEATS (default 5) counted ones. Printed are minimum, median and maximum of the wall time by a monotonic
clock, the median as a ratio to starting Python and importing nothing, which takes the machine's speed out of the
figure, the least processor time (user and system), which other work on the machine disturbs less, and the size of what
is written.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLUEPRINT = ROOT / "blueprints" / "train-gpt3-175b.yaml"
PROGRAM = Path(sys.executable).parent / "clusterwright"
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "clusterwright --help": (PROGRAM, "--help"),
    "clusterwright plan --json": (PROGRAM, "plan", BLUEPRINT, "--json"),
    "clusterwright compare": (PROGRAM, "compare", BLUEPRINT),
    "clusterwright report -o": (PROGRAM, "report", BLUEPRINT, "-o"),
    "clusterwright build -o": (PROGRAM, "build", BLUEPRINT, "-o"),
}


def seconds(command: tuple[str | Path, ...], output: Path) -> tuple[float, float]:
    """Return the wall time and the processor time of one process in seconds; it must succeed.

    Args:
        command: with its arguments; a last one of `-o` gets the folder.
        output: a folder that is not there yet.
    """
    words = [str(part) for part in (*command, *((output,) if command[-1] == "-o" else ()))]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Print a line per command."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    base: float | None = None
    print(f"{'command':<28} {'min s':>8} {'median s':>9} {'max s':>8} {'ratio':>7} {'processor s':>12} {'MB':>6}")
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = [seconds(command, Path(folder) / str(number)) for number in range(repeats + 1)][1:]
            written = sum(path.stat().st_size for path in (Path(folder) / "0").rglob("*") if path.is_file()) / 1e6
        walls = [wall for wall, _ in found]
        median = statistics.median(walls)
        base = base or median
        print(
            f"{name:<28} {min(walls):>8.3f} {median:>9.3f} {max(walls):>8.3f} {median / base:>7.1f} "
            f"{min(used for _, used in found):>12.2f} {written:>6.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
