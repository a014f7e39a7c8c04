"""Mistakes that nobody listed: made by rule in every resource, and the share of them that some check notices."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tests.sampling import EVERY_CASE

from .cases import TYPICAL, stacks
from .golden import page
from .inputs import resource_findings
from .mutations import Mutant, mutants
from .profiles import profile_problems, read
from .projects import Case, recorded
from .proof import problems, sdk
from .test_matrix import PROFILES

#: Every so many mistakes one is made; `CLUSTERWRIGHT_FULL_MATRIX=1` makes them all.
STRIDE = 1 if EVERY_CASE else 11
#: Kinds that no mistake of may go unnoticed by the SDK's shapes and the rules alone.
ALWAYS_NOTICED = (
    "a default provider",
    "a required property left out",
    "a value of the wrong type",
    "a word that nobody lists",
    "an unknown property",
    "no component around it",
    "protection the other way round",
)
#: Least share of all mistakes that shapes and rules notice, and that they notice with profiles and pages.
LEAST_BY_RULES, LEAST_WITH_PAGES = 0.72, 0.98
#: A rule that cannot read what it finds stops the test, and so notices it.
_STOPS = (AttributeError, KeyError, TypeError, ValueError, IndexError, AssertionError, StopIteration, OSError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """Mistakes of one kind: made, noticed by shapes and rules, with profiles too, and with examples' pages too."""

    made: int
    by_rules: int
    by_profiles: int
    by_pages: int


def noticed_by(mutant: Mutant, case: Case) -> int:
    """Return the first that notices a mistake: 0 shapes and rules, 1 profiles, 2 pages, 3 nothing."""
    if mutant.resource is not None and any(resource_findings(mutant.resource, sdk())):
        return 0
    right = recorded(case)
    wrong = mutant.planted_in(right)
    try:
        if {str(one) for one in problems(wrong, case)} - _said_anyway(case):
            return 0
        profile = PROFILES / f"{case.cloud}-{case.scheduler}.json"
        if profile.exists() and any(profile_problems(wrong.whole, _profile(profile.name))):
            return 1
    except _STOPS:
        return 0
    return 2 if page(wrong.layers[mutant.layer]) != page(right.layers[mutant.layer]) else 3


@cache
def _said_anyway(case: Case) -> frozenset[str]:
    """Return what is said without the mistake: nothing, unless a stack is being changed."""
    return frozenset(str(one) for one in problems(recorded(case), case))


@cache
def _profile(name: str):  # noqa: ANN202 - as `read`
    return read(PROFILES / name)


def tried(cloud: str, scheduler: str, stride: int) -> Iterator[tuple[Mutant, int]]:
    """Yield mistakes and who notices them."""
    case = Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler)
    for index, mutant in enumerate(mutants(recorded(case), sdk())):
        if index % stride == 0:
            yield mutant, noticed_by(mutant, case)


@cache
def counts(stride: int = STRIDE) -> Mapping[str, Count]:
    """Return for each kind of mistake how many were made and who noticed how many, over all stacks."""
    made: Counter[str] = Counter()
    seen: dict[int, Counter[str]] = {level: Counter() for level in range(4)}
    for cloud, scheduler in stacks():
        for mutant, level in tried(cloud, scheduler, stride):
            made[mutant.kind] += 1
            for at_most in range(level, 4):
                seen[at_most][mutant.kind] += 1
    return {
        kind: Count(made=made[kind], by_rules=seen[0][kind], by_profiles=seen[1][kind], by_pages=seen[2][kind])
        for kind in sorted(made)
    }


def share_table() -> str:
    """Return the counts as a table: per kind, and over all."""
    found = counts()
    total = Count(
        made=sum(one.made for one in found.values()),
        by_rules=sum(one.by_rules for one in found.values()),
        by_profiles=sum(one.by_profiles for one in found.values()),
        by_pages=sum(one.by_pages for one in found.values()),
    )
    lines = [
        "| Kind of mistake | made | shapes and rules | with profiles | with pages |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, one in (*found.items(), ("all", total)):
        shares = (f"{100 * part // one.made} %" for part in (one.by_rules, one.by_profiles, one.by_pages))
        lines.append(f"| {kind} | {one.made} | {' | '.join(shares)} |")
    return "".join(f"{line}\n" for line in lines)


def test_what_shapes_and_rules_say_is_whole_where_it_can_be() -> None:
    """Structure, names, types, required properties, enumerations, protection: not one mistake goes through."""
    missed = {kind: one for kind, one in counts().items() if kind in ALWAYS_NOTICED and one.by_rules < one.made}
    assert missed == {}
    assert set(ALWAYS_NOTICED) <= counts().keys()


def test_most_mistakes_are_noticed() -> None:
    """The share over all kinds; docs/evidence/stacks.md has the table of the full count."""
    found = list(counts().values())
    made = sum(one.made for one in found)
    assert made > 500
    assert sum(one.by_rules for one in found) / made >= LEAST_BY_RULES
    assert sum(one.by_pages for one in found) / made >= LEAST_WITH_PAGES
