"""How long the planner's page and its answers take, with five people who each change a field every ten seconds.

    python benchmarks/planner_latency.py [SECONDS]

Starts `clusterwright web` with two workers on a free port. A person's change is another number of tokens, so that no
answer is known before; the first change of each comes at another time of the ten seconds.
"""

import json
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

PEOPLE, EVERY_S, USUAL_S = 5, 10.0, 60.0
BLUEPRINT = Path(__file__).parents[1] / "blueprints" / "train-gpt3-175b.yaml"


def asked(address: str, body: bytes | None) -> float:
    """Return the seconds in which an address answers."""
    begin = time.perf_counter()
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=120) as reply:  # noqa: S310 - ours
        reply.read()
    return time.perf_counter() - begin


def person(address: str, number: int, end: float, times: list[float]) -> None:
    """Change a field every ten seconds until the end, and note how long each answer takes."""
    text = BLUEPRINT.read_text(encoding="utf-8")
    due, change = time.monotonic() + number * EVERY_S / PEOPLE, 0
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        tokens = 200_000_000_000 + (number * 1000 + change) * 1_000_000
        body = json.dumps({"blueprint": text.replace("300e9", str(tokens))}).encode()
        times.append(asked(f"{address}answer", body))
        due, change = due + EVERY_S, change + 1


def main() -> None:
    """Measure, and print one line for each figure."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else USUAL_S
    command = [sys.executable, "-c", "from clusterwright.cli.main import run; run()", "web", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stderr is not None  # noqa: S101 - asked for above
            found = re.search(r"http://\S+/", program.stderr.readline())
            assert found is not None  # noqa: S101 - the command prints it
            address = found[0]
            first = asked(f"{address}answer", json.dumps({"blueprint": BLUEPRINT.read_text(encoding="utf-8")}).encode())
            print(f"from the start to the first answer: {first:.2f} s")
            page = statistics.median(asked(address, None) for _ in range(10))
            print(f"first content of the page: {page * 1e3:.0f} ms")
            times: list[float] = []
            end = time.monotonic() + seconds
            people = [threading.Thread(target=person, args=(address, number, end, times)) for number in range(PEOPLE)]
            for each in people:
                each.start()
            for each in people:
                each.join()
            at = sorted(times)
            p95 = at[min(len(at) - 1, int(0.95 * len(at)))]
            print(
                f"{len(at)} changed fields: median {statistics.median(at):.2f} s, P95 {p95:.2f} s, most {at[-1]:.2f} s"
            )
        finally:
            program.terminate()


if __name__ == "__main__":
    main()
