"""What was changed of what Clusterwright wrote, and what the program asks for because of it: worth a look.

The written text of a changed module is that of this Clusterwright, if the modules that nobody changed are so too; the
program is then run once more with it, and what it asks for is compared resource by resource.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright import assets
from clusterwright.checks.preflight.judging import named, registered
from clusterwright.checks.preflight.programs.recorded_checks import unrecorded
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

_PROGRAM = re.compile(r"^(gpu_cluster/.*\.py|\w+/__main__\.py)$")
#: Read by every machine or by every change, and not meant for one project alone.
_OF_ALL = re.compile(
    r"^(node/.*\.(sh|csv)|(cluster|cloud|login|reimage|api_tunnel)\.sh|policy/.*|\.github/workflows/.*)$"
)
#: Made of the boot scripts, whose changes are named by themselves.
_PACKED = ("userData", "userDataBase64", "customData", "user-data", "metadata")
_MOST_SHOWN = 12
_MOST_OF_ONE = 3
_LONGEST = 60


def looked_at(subject: Subject) -> Iterator[Outcome]:
    """Name what is not as it was written, and what the program asks for differently."""
    changed = subject.project.changed
    if changed is None and subject.recorded is None and (missing := unrecorded(subject)) is not None:
        yield missing
        return
    if changed is None:
        yield Outcome(
            status="UNKNOWN",
            message="what was changed since the project was written is not known: its record .written.json is not here",
            fix="keep .written.json beside the project",
        )
        return
    good = True
    for name in sorted(one for one in changed if _OF_ALL.match(one)):
        good = False
        yield Outcome(
            status="WARN",
            message=f"{name} is not as it was written",
            fix="have somebody else look at the change",
            place=Place(file=subject.project.shown(name)),
        )
    modules = sorted(one for one in changed if _PROGRAM.match(one))
    if not modules:
        if good:
            yield passed("the program and the scripts of every machine are as they were written")
        return
    for one in _differences(subject, modules):
        good = False
        yield one
    if good:
        yield passed(f"{len(modules)} modules were changed, and the program asks for the same")


def _differences(subject: Subject, modules: list[str]) -> Iterator[Outcome]:
    missing = unrecorded(subject)
    recorded = subject.recorded
    if missing is not None or recorded is None or recorded.run is None:
        yield missing or Outcome(status="UNKNOWN", message="the program was not run")
        return
    written = written_files(subject)
    if written is None:
        yield Outcome(
            status="UNKNOWN",
            message=f"{len(modules)} modules were changed, and another version of Clusterwright wrote them",
            fix="compare with what `clusterwright stack` writes",
        )
        return
    before = recorded.run_with({name: written[name] for name in modules if name in written})
    if before is None or before.error is not None:
        yield Outcome(status="UNKNOWN", message="the program as it was written does not run with these settings")
        return
    found = list(
        differing(
            {one["urn"]: one for one in registered(before)}, {one["urn"]: one for one in registered(recorded.run)}
        )
    )
    for message in found[:_MOST_SHOWN]:
        yield Outcome(
            status="WARN", message=message, fix="have somebody else look at the change", place=_place(subject, modules)
        )
    if len(found) > _MOST_SHOWN:
        yield Outcome(
            status="WARN",
            message=f"{len(found) - _MOST_SHOWN} more resources are asked for differently",
            place=_place(subject, modules),
        )


def _place(subject: Subject, modules: list[str]) -> Place:
    return Place(file=subject.project.shown(modules[0]))


def written_files(subject: Subject) -> dict[str, str] | None:
    """Return the modules of this Clusterwright's program; None where the project is of another version."""
    root = assets.root() / "stacks"
    cloud, scheduler = subject.cloud, subject.project.scheduler
    found: dict[str, str] = {}
    for overlay in ("every_cloud", scheduler, f"{cloud}/base", f"{cloud}/{scheduler}"):
        folder = root / overlay
        for path in folder.rglob("*.py"):
            name = path.relative_to(folder).as_posix()
            if _PROGRAM.match(name):
                found[name] = path.read_text(encoding="utf-8")
    changed = subject.project.changed or frozenset()
    same = all(
        subject.project.files[name] == content
        for name, content in found.items()
        if name in subject.project.files and name not in changed
    )
    return found if same and found else None


def differing(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is asked for differently, a sentence a resource; one with another name alone is the same.

    Args:
        before: URN to the resource as `registered` yields it, of the program as it was written.
        after: the same of the program as it is.
    """
    gone = {urn: one for urn, one in before.items() if urn not in after}
    new = {urn: one for urn, one in after.items() if urn not in before}
    for urn, one in list(gone.items()):
        twin = next(
            (other for other, each in new.items() if each["type"] == one["type"] and each["inputs"] == one["inputs"]),
            None,
        )
        if twin is not None:
            del gone[urn], new[twin]
    for urn in gone:
        yield f"{named(urn)} is no longer asked for"
    for urn in new:
        yield f"{named(urn)} is asked for in addition"
    for urn, one in before.items():
        if urn in after:
            found = [*_paths(one["inputs"], after[urn]["inputs"], ""), *_options(one, after[urn])]
            if found:
                more = f" and {len(found) - _MOST_OF_ONE} more" if len(found) > _MOST_OF_ONE else ""
                yield f"{named(urn)}: {'; '.join(found[:_MOST_OF_ONE])}{more}"


def _options(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    if bool(one["protect"]) != bool(other["protect"]):
        yield f"protect is {other['protect']}, was {one['protect']}"
    if sorted(one["ignores"]) != sorted(other["ignores"]):
        now, then = (", ".join(each["ignores"]) or "nothing" for each in (other, one))
        yield f"ignores changes of {now}, was {then}"


def _paths(one: Any, other: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if one == other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            if key not in _PACKED:
                yield from _paths(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
        return
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (each, its) in enumerate(zip(one, other, strict=True)):
            yield from _paths(each, its, f"{path}[{place}]")
        return
    yield f"{path} is {_shown(other)}, was {_shown(one)}"


def _shown(value: Any) -> str:  # noqa: ANN401 - JSON
    text = "left out" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
