"""The tables of software: components, their releases with what they require, and rules between them, all with sources.

`catalog/software.csv` has a release on each line, `software_components.csv` what is released or set, and
`software_rules.csv` what is true between them: a rule with an id for every pair of components of which one requires
something of the other. What a source does not say is nowhere: it is unknown, and nothing is refused for it.
"""

from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.catalog import tables
from clusterwright.catalog.software.ranges import ANY, SAME, Range, numbers
from clusterwright.errors import ClusterwrightError

RELEASES, COMPONENTS, RULES = "software.csv", "software_components.csv", "software_rules.csv"
#: When a component is one of a cluster's: a fact of it, always, or only where it is asked for; else by facts.
GIVEN, ALWAYS, ASKED = "given", "always", "asked"
ERROR, ADVICE = "error", "advice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """What one version or setting requires of another component.

    Attributes:
        component, versions: whose; requires, range: of what, `same` for the same version.
        firm: it does not work otherwise; else the vendor pairs them.
        rule: id of the rule that it is a case of; level: `error`, or `advice` that refuses nothing.
        place: file and line.
    """

    component: str
    versions: Range
    requires: str
    range: Range
    firm: bool
    rule: str
    level: str
    place: str

    def holds(self, version: str, other: str) -> bool:
        """Tell whether two versions may be beside each other."""
        if version not in self.versions:
            return True
        return version == other if self.range.text == SAME else other in self.range

    def __str__(self) -> str:
        """Return the requirement in words, with its place."""
        whose = self.component if self.versions.text == ANY else f"{self.component} {self.versions.text.lstrip('=')}"
        what = f"the same {self.requires}" if self.range.text == SAME else f"{self.requires} {self.range.text}"
        return f"{whose} requires {what} (catalog/{self.place})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """One release of a component.

    Attributes:
        offered: it may be chosen; others only where they are pinned, or where nothing else fits.
        released, ended: ISO day or month of release and of the end of its support; empty where unknown.
        place: file and line.
    """

    component: str
    version: str
    offered: bool
    released: str
    ended: str
    source: str
    date: str
    note: str
    place: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """What has versions or settings.

    Attributes:
        needed_when: `given`, `always`, `asked`, or facts that all hold: `vendor NVIDIA; fabric infiniband|roce`.
        choices: settings, the best first; empty where releases are listed.
        releases_of: the component whose releases it shares.
        brought_by: `image` of a cloud or `job`, which decide its version there; empty if the cluster's files do.
    """

    component: str
    name: str
    needed_when: str
    choices: tuple[str, ...]
    releases_of: str
    brought_by: str
    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What is true between two components.

    Attributes:
        versions, range: the pair that the rule is about where it holds for all releases; empty where releases say it.
        subject: in a few words; truth: today's, in one sentence.
        passes, fails: an assignment that meets the rule and one that does not: `cuda=13.0 driver=580.65.06`.
        claim: entity and attribute of `topics.csv` where a document claims otherwise; empty if none does.
    """

    id: str
    level: str
    component: str
    versions: str
    requires: str
    range: str
    subject: str
    truth: str
    passes: str
    fails: str
    source: str
    date: str
    claim: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftwareTable:
    """Everything that is known of software."""

    components: dict[str, Component]
    releases: dict[str, tuple[Release, ...]]
    requirements: tuple[Requirement, ...]
    rules: tuple[Rule, ...]

    def versions(self, component: str) -> tuple[str, ...]:
        """Return the versions of a component that are known, the newest first, or its settings, the best first."""
        found = self.components[component]
        if found.choices:
            return found.choices
        return tuple(release.version for release in self.releases.get(found.releases_of or component, ()))

    def release(self, component: str, version: str) -> Release | None:
        """Return a release; None for a setting or a fact."""
        shared = self.components[component].releases_of or component
        return next((entry for entry in self.releases.get(shared, ()) if entry.version == version), None)

    def newest(self, component: str) -> str:
        """Return the newest offered release of a component.

        Raises:
            StopIteration: none is offered.
        """
        return next(entry.version for entry in self.releases[component] if entry.offered)

    def least(self, component: str, version: str, of: str) -> str | None:
        """Return the lowest version of another component that a release requires; None where none is known."""
        bounds = [
            term.removeprefix(">=")
            for entry in self.requirements
            if entry.firm and (entry.component, entry.requires) == (component, of) and version in entry.versions
            for term in entry.range.text.split()
            if term.startswith(">=")
        ]
        return max(bounds, key=lambda bound: numbers(bound) or (), default=None)


@cache
def software() -> SoftwareTable:
    """Return the shipped tables.

    Raises:
        ClusterwrightError: a file is missing, or a line contradicts another; every fault is listed.
    """
    folder = assets.root() / "catalog"
    try:
        components = {row.cells["component"]: _component(row.cells) for row in tables.read(folder / COMPONENTS)}
        rules = tuple(_rule(row.cells) for row in tables.read(folder / RULES))
        by_pair = {(rule.component, rule.requires): rule for rule in rules}
        releases: dict[str, list[Release]] = {}
        requirements = [
            _requirement(rule, f"{RULES}:{row.line}")
            for row, rule in zip(tables.read(folder / RULES), rules, strict=True)
            if rule.range
        ]
        faults: list[str] = []
        for row in tables.read(folder / RELEASES):
            release = _release(row)
            releases.setdefault(release.component, []).append(release)
            for column, firm in (("requires", True), ("pairs_with", False)):
                for part in filter(None, row.cells.get(column, "").split("; ")):
                    other, _, text = part.partition(" ")
                    rule = by_pair.get((release.component, other))
                    if other not in components or (firm and rule is None):
                        faults.append(f"{row.place}: no component or no rule for {release.component} and {other}")
                        continue
                    requirements.append(
                        Requirement(
                            component=release.component,
                            versions=Range(text=f"={release.version}"),
                            requires=other,
                            range=Range(text=text),
                            firm=firm,
                            rule="" if rule is None else rule.id,
                            level=ERROR if rule is None else rule.level,
                            place=row.place,
                        )
                    )
        faults += [f"{RELEASES}: {name} is not in {COMPONENTS}" for name in releases if name not in components]
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read the tables of software: {error}", help="install again") from error
    if faults:
        raise ClusterwrightError("the tables of software have faults:\n  " + "\n  ".join(faults), help="correct them")
    return SoftwareTable(
        components=components,
        releases={name: _newest_first(entries) for name, entries in releases.items()},
        requirements=tuple(requirements),
        rules=rules,
    )


def _newest_first(entries: list[Release]) -> tuple[Release, ...]:
    """Return releases by falling number; names keep the order of the table."""
    if any(numbers(entry.version) is None for entry in entries):
        return tuple(entries)
    return tuple(sorted(entries, key=lambda entry: numbers(entry.version) or (), reverse=True))


def _component(cells: dict[str, str]) -> Component:
    return Component(
        component=cells["component"],
        name=cells["name"],
        needed_when=cells["needed_when"],
        choices=tuple(cells.get("choices", "").split()),
        releases_of=cells.get("releases_of", ""),
        brought_by=cells.get("brought_by", ""),
        what=cells.get("what", ""),
    )


def _rule(cells: dict[str, str]) -> Rule:
    return Rule(**{name: cells.get(name, "") for name in Rule.__slots__})


def _requirement(rule: Rule, place: str) -> Requirement:
    return Requirement(
        component=rule.component,
        versions=Range(text=rule.versions or ANY),
        requires=rule.requires,
        range=Range(text=rule.range),
        firm=True,
        rule=rule.id,
        level=rule.level,
        place=place,
    )


def _release(row: tables.Row) -> Release:
    cells = row.cells
    return Release(
        component=cells["component"],
        version=cells["version"],
        offered=cells["offered"] == "yes",
        released=cells.get("released", ""),
        ended=cells.get("ended", ""),
        source=cells["source"],
        date=cells["date"],
        note=cells.get("note", ""),
        place=row.place,
    )
