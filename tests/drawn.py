"""Cases of long lists: each run tries some of every kind, and all of them with `CLUSTERWRIGHT_FULL_MATRIX=1`."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: Set by `make every-fault`, where a release is looked at; CI has to end within an hour.
EVERY_CASE = os.environ.get("CLUSTERWRIGHT_FULL_MATRIX") == "1"


def drawn(cases: Iterable[Case], every: int, kind: Callable[[Case], str] = lambda _: "") -> list[Case]:
    """Return the first of each kind and every so many after it, in the given order.

    Args:
        cases: that one test is parametrized with.
        every: distance between two of a kind that are tried.
        kind: of a case; of one kind by default.
    """
    seen: defaultdict[str, int] = defaultdict(int)
    found = []
    for case in cases:
        if EVERY_CASE or seen[kind(case)] % every == 0:
            found.append(case)
        seen[kind(case)] += 1
    return found
