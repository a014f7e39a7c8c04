"""Samples of long case lists: every kind in each run, every case with `CLUSTERWRIGHT_FULL_MATRIX=1`."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: Set by `make every-fault` and `make stacks-matrix`: the whole lists take longer than a change should wait for.
EVERY_CASE = os.environ.get("CLUSTERWRIGHT_FULL_MATRIX") == "1"


def sampled(cases: Iterable[Case], every: int, kind: Callable[[Case], str] = lambda _: "") -> list[Case]:
    """Return the first case of each kind and every n-th after it, in the given order.

    Args:
        cases: parameters of one test.
        every: n, the distance between two sampled cases of a kind.
        kind: of a case; all are of one kind by default.
    """
    seen: defaultdict[str, int] = defaultdict(int)
    found = []
    for case in cases:
        if EVERY_CASE or seen[kind(case)] % every == 0:
            found.append(case)
        seen[kind(case)] += 1
    return found
