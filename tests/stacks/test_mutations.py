"""Mistakes that nobody listed: made by rule in every resource, and the share of them that some check notices."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

from .cases import stacks
from .inputs import resource_findings
from .mutations import Mutant, mutants
from .projects import Case, recorded
from .proof import problems, sdk

TYPICAL = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-ultragpu-8g"}
#: Every so many mistakes one is made; `CLUSTERWRIGHT_FULL_MATRIX=1` makes them all.
_STRIDE = 7


def noticed(mutant: Mutant, case: Case) -> bool:
    """Tell whether any check notices a mistake; a rule that cannot read what it finds notices it too."""
    if mutant.resource is not None and any(resource_findings(mutant.resource, sdk())):
        return True
    try:
        return bool(problems(mutant.planted_in(recorded(case)), case))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, AssertionError, StopIteration):
        return True


def tried(cloud: str, scheduler: str, stride: int) -> Iterator[tuple[Mutant, bool]]:
    """Yield mistakes and whether they are noticed."""
    case = Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler)
    for index, mutant in enumerate(mutants(recorded(case), sdk())):
        if index % stride == 0:
            yield mutant, noticed(mutant, case)


@cache
def shares(stride: int) -> Mapping[str, tuple[int, int]]:
    """Return for each kind of mistake how many were made and how many of them noticed, over all stacks."""
    made: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for cloud, scheduler in stacks():
        for mutant, was_noticed in tried(cloud, scheduler, stride):
            made[mutant.kind] += 1
            seen[mutant.kind] += was_noticed
    return {kind: (made[kind], seen[kind]) for kind in sorted(made)}
