"""One set of software for a kind of node: the newest releases that fit its facts, its pins and each other.

Components are chosen in the order of their table, each at its newest release beside what was chosen before, so that the
operating system decides before the driver, and the driver before CUDA. Releases that vendors pair come first; where
pairs leave nothing, what is required alone decides, and where the offered releases leave nothing, older and unreleased
ones are looked at too. What cannot be met is reported by its smallest core: the rows that exclude each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from clusterwright.catalog.software.ranges import Range
from clusterwright.catalog.software.table import (
    ADVICE,
    ALWAYS,
    ASKED,
    ERROR,
    GIVEN,
    Component,
    Requirement,
    SoftwareTable,
    software,
)

UNKNOWN_COMPONENT, UNKNOWN_VERSION, CONFLICT = "SFT001", "SFT002", "SFT003"
_MOST_SHOWN = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """What a user pins or forbids of one component.

    Attributes:
        range: versions that it speaks of, `580` for the whole branch.
        forbids: these versions are excluded, else all others.
        path: of the blueprint.
    """

    component: str
    range: Range
    forbids: bool = False
    path: tuple[str | int, ...] = ()

    def allows(self, version: str) -> bool:
        """Tell whether a version is left."""
        return (version in self.range) != self.forbids

    def __str__(self) -> str:
        """Return the pin in words, with its place."""
        where = ".".join(str(part) for part in self.path) or "pin"
        return f"{self.component} {'not ' if self.forbids else ''}{self.range.text} ({where})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is wrong with pins: a stable id, where in the blueprint, what, and what to do."""

    id: str
    path: tuple[str | int, ...]
    message: str
    help: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """A version of one component.

    Attributes:
        version: None where an image decides it that is not known here.
        origin: `given`, `pinned`, `image` (as a source saw it), or `newest`.
        least: lowest version that something else of the set requires; None where nothing is known to.
        ended: of its support, ISO day or month; place: file and line; all three empty for facts and settings.
    """

    component: str
    name: str
    version: str | None
    origin: str
    least: str | None = None
    released: str = ""
    ended: str = ""
    source: str = ""
    place: str = ""


def pin_problems(pins: Iterable[Pin], table: SoftwareTable | None = None) -> list[Problem]:
    """Return what pins name that is not known: a component, or a version of one."""
    table = table or software()
    problems: list[Problem] = []
    for pin in pins:
        found = table.components.get(pin.component)
        if found is None or found.needed_when == GIVEN:
            known = [name for name, entry in table.components.items() if entry.needed_when != GIVEN]
            near = get_close_matches(pin.component, known, n=1)
            problems.append(
                Problem(
                    id=UNKNOWN_COMPONENT,
                    path=pin.path,
                    message=f"{pin.component} is no software that can be pinned",
                    help=f"did you mean {near[0]}?" if near else "one of " + ", ".join(known),
                )
            )
        elif not any(version in pin.range for version in table.versions(pin.component)):
            versions = table.versions(pin.component)
            more = f" and {len(versions) - _MOST_SHOWN} more" if len(versions) > _MOST_SHOWN else ""
            problems.append(
                Problem(
                    id=UNKNOWN_VERSION,
                    path=pin.path,
                    message=f"no version {pin.range.text} of {found.name} is known",
                    help=f"one of {', '.join(versions[:_MOST_SHOWN])}{more}; or a branch by its first numbers",
                )
            )
    return problems


def resolve(
    facts: Mapping[str, str], pins: Sequence[Pin] = (), table: SoftwareTable | None = None
) -> tuple[Chosen, ...] | Problem:
    """Return the newest set that fits, or the rows that exclude each other.

    Args:
        facts: of the cluster by component: `vendor`, `accelerator`, `fabric`, `os` and others that are `given`.
        pins: of components that are known, see `pin_problems`.
        table: the shipped one by default.
    """
    table = table or software()
    wanted = _wanted(table, facts, pins)
    found = _first(table, wanted, facts, pins)
    if found is None:
        return _conflict(table, wanted, facts, pins)
    return tuple(_chosen(table, table.components[name], found, facts, pins) for name in wanted)


def _first(
    table: SoftwareTable, wanted: Sequence[str], facts: Mapping[str, str], pins: Sequence[Pin]
) -> dict[str, str] | None:
    """Return the first set that fits, the wishes given up in turn: pairs, then offered releases; None if none does."""
    for offered_only, firm_only in ((True, False), (True, True), (False, False), (False, True)):
        domains = _domains(table, wanted, facts, pins, offered_only=offered_only)
        found = _search(domains, _bound(table, domains, firm_only=firm_only))
        if found is not None:
            return found
    return None


def check(assignment: Mapping[str, str], table: SoftwareTable | None = None) -> tuple[Requirement, ...]:
    """Return the requirements that versions and settings beside each other do not meet, advice among them."""
    table = table or software()
    return tuple(
        entry
        for entry in table.requirements
        if entry.firm
        and entry.component in assignment
        and entry.requires in assignment
        and not entry.holds(assignment[entry.component], assignment[entry.requires])
    )


def _wanted(table: SoftwareTable, facts: Mapping[str, str], pins: Sequence[Pin]) -> list[str]:
    pinned = {pin.component for pin in pins}
    return [
        name
        for name, entry in table.components.items()
        if name in facts or name in pinned or _needed(entry.needed_when, facts)
    ]


def _needed(when: str, facts: Mapping[str, str]) -> bool:
    if when in (GIVEN, ASKED):
        return False
    return when == ALWAYS or all(
        facts.get(name) in values.split("|") for name, _, values in (part.partition(" ") for part in when.split("; "))
    )


def _domains(
    table: SoftwareTable,
    wanted: Sequence[str],
    facts: Mapping[str, str],
    pins: Sequence[Pin],
    *,
    offered_only: bool,
) -> dict[str, list[str]]:
    domains = {}
    for name in wanted:
        own = [pin for pin in pins if pin.component == name]
        versions = list(table.versions(name)) if name not in facts else [facts[name]]
        named = any(not pin.forbids for pin in own)
        if not named and name not in facts:
            offered = [
                version for version in versions if (found := table.release(name, version)) is None or found.offered
            ]
            versions = offered if offered_only else [*offered, *(entry for entry in versions if entry not in offered)]
        domains[name] = [version for version in versions if all(pin.allows(version) for pin in own)]
    return domains


def _bound(table: SoftwareTable, domains: Mapping[str, Sequence[str]], *, firm_only: bool) -> list[Requirement]:
    """Return the requirements between components of which a version that is left has any."""
    return [
        entry
        for entry in table.requirements
        if entry.component in domains
        and entry.requires in domains
        and entry.level == ERROR
        and (entry.firm or not firm_only)
        and any(version in entry.versions for version in domains[entry.component])
    ]


def _search(domains: Mapping[str, Sequence[str]], bound: Sequence[Requirement]) -> dict[str, str] | None:
    """Return the first assignment, by names and versions in their order, that meets all; None if none does."""
    names = list(domains)
    between: dict[str, list[Requirement]] = {name: [] for name in names}
    for entry in bound:
        between[entry.component].append(entry)
        between[entry.requires].append(entry)

    def meets(entry: Requirement, name: str, version: str, other: str) -> bool:
        return entry.holds(version, other) if entry.component == name else entry.holds(other, version)

    def narrowed(left: dict[str, list[str]], name: str, version: str) -> dict[str, list[str]] | None:
        result = {**left, name: [version]}
        for entry in between[name]:
            peer = entry.requires if entry.component == name else entry.component
            kept = [other for other in result[peer] if meets(entry, name, version, other)]
            if not kept:
                return None
            result[peer] = kept
        return result

    def assigned(index: int, left: dict[str, list[str]]) -> dict[str, str] | None:
        if index == len(names):
            return {name: versions[0] for name, versions in left.items()}
        for version in left[names[index]]:
            following = narrowed(left, names[index], version)
            found = None if following is None else assigned(index + 1, following)
            if found is not None:
                return found
        return None

    return assigned(0, {name: list(versions) for name, versions in domains.items()})


def _conflict(table: SoftwareTable, wanted: Sequence[str], facts: Mapping[str, str], pins: Sequence[Pin]) -> Problem:
    """Return the smallest core of facts, pins and rows that cannot hold together."""
    bound = _bound(table, _domains(table, wanted, facts, pins, offered_only=False), firm_only=True)
    core: list[Pin | Requirement | str] = [*pins, *(name for name in wanted if name in facts), *bound]

    def holds(parts: Sequence[Pin | Requirement | str]) -> bool:
        given = {name: facts[name] for name in parts if isinstance(name, str)}
        kept = [part for part in parts if isinstance(part, Pin)]
        rows = [part for part in parts if isinstance(part, Requirement)]
        names = [name for name in wanted if name not in facts or name in given]
        rows = [row for row in rows if row.component in names and row.requires in names]
        return _search(_domains(table, names, given, kept, offered_only=False), rows) is not None

    # Halves first, then each alone: what is not needed for the contradiction is left out.
    size = max(1, len(core) // 2)
    while True:
        index = 0
        while index < len(core):
            without = core[:index] + core[index + size :]
            if holds(without):
                index += size
            else:
                core = without
        if size == 1:
            break
        size = max(1, size // 2)
    return _problem(table, core, facts, pins)


def _problem(
    table: SoftwareTable,
    core: Sequence[Pin | Requirement | str],
    facts: Mapping[str, str],
    pins: Sequence[Pin],
) -> Problem:
    blamed = [part for part in core if isinstance(part, Pin)]
    rows = [part for part in core if isinstance(part, Requirement)]
    given = [f"{name} {facts[name]}" for name in core if isinstance(name, str)]
    rules = list(dict.fromkeys(row.rule for row in rows))
    truth = next((f". {rule.truth}" for rule in table.rules if [rule.id] == rules), "")
    ways = [way for pin in blamed if (way := _way_out(table, pin, facts, pins))]
    rest = [pin for pin in pins if pin not in blamed]
    if not ways and _first(table, _wanted(table, facts, rest), facts, rest) is not None:
        ways = ["remove " + " and ".join(_place_of(pin) for pin in blamed)]
    return Problem(
        id=rules[0] if len(rules) == 1 else CONFLICT,
        path=blamed[-1].path if blamed else (),
        message=f"these exclude each other: {'; '.join([*map(str, blamed), *given, *map(str, rows)])}{truth}",
        help="; or ".join(ways) if ways else "no release that is known fits: take other hardware or another system",
    )


def _way_out(table: SoftwareTable, pin: Pin, facts: Mapping[str, str], pins: Sequence[Pin]) -> str:
    """Return what a pin would have to say, as the set without it has it; empty where more is wrong."""
    where = _place_of(pin)
    others = [other for other in pins if other is not pin]
    instead = others if pin.forbids else [*others, replace(pin, forbids=True)]
    found = _first(table, _wanted(table, facts, instead), facts, instead)
    if found is None:
        return ""
    return f"remove {where}" if pin.forbids else f"set {where} to {found[pin.component]}"


def _place_of(pin: Pin) -> str:
    return ".".join(str(part) for part in pin.path) or pin.component


def _chosen(
    table: SoftwareTable,
    component: Component,
    found: Mapping[str, str],
    facts: Mapping[str, str],
    pins: Sequence[Pin],
) -> Chosen:
    name = component.component
    version = found[name]
    release = table.release(name, version)
    pinned = any(pin.component == name and not pin.forbids for pin in pins)
    image = facts.get("image")
    held = component.releases_of or name
    seen = image is not None and any(
        entry.component == "image"
        and entry.requires == held
        and image in entry.versions
        and entry.range.text.startswith("=")
        for entry in table.requirements
    )
    by_image = component.brought_by == "image" and facts.get("target", "onprem") != "onprem"
    origin = "given" if name in facts else "pinned" if pinned else "image" if seen or by_image else "newest"
    bounds = [bound for other in found if (bound := table.least(other, found[other], name)) is not None]
    known = origin != "image" or seen
    return Chosen(
        component=name,
        name=component.name,
        version=version if known else None,
        origin=origin,
        least=max(bounds, key=lambda bound: [int(part) for part in bound.split(".")], default=None),
        released=release.released if release and known else "",
        ended=release.ended if release and known else "",
        source=release.source if release and known else "",
        place=release.place if release and known else "",
    )


def advice(assignment: Mapping[str, str], table: SoftwareTable | None = None) -> tuple[Requirement, ...]:
    """Return what is advised against in versions and settings beside each other."""
    return tuple(entry for entry in check(assignment, table) if entry.level == ADVICE)
