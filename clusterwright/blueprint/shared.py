"""A blueprint with `workloads`: several workloads that share a target, each of them read as a blueprint of its own.

What is beside `workloads` (targets, economics, site, ...) is of all of them, what is in an entry of that one.
Problems keep the place in the one file.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clusterwright.blueprint.keys import what_is_meant
from clusterwright.blueprint.load import LoadedBlueprint, checked, override, position
from clusterwright.blueprint.reading.document import Document, read
from clusterwright.blueprint.reading.problems import BlueprintError, Position, Problem
from clusterwright.blueprint.reading.problems import Path as KeyPath
from clusterwright.blueprint.schema import Blueprint, SharedWorkload
from clusterwright.blueprint.sections.schedule import HOURS_A_WEEK, LEAST_SHARED, MOST_SHARED, Schedule
from clusterwright.errors import InputError
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

_LEAST, _MOST = LEAST_SHARED, MOST_SHARED
_KEY = "workloads"
_LISTED = re.compile(r"^workloads\s*:", re.MULTILINE)


#: Sections of an entry, and those of them that cannot be beside `workloads`.
_OF_ENTRY = tuple(name for name in SharedWorkload.model_fields if name not in Schedule.model_fields)
_COMMON = tuple(name for name in Blueprint.model_fields if name not in _OF_ENTRY)
_WORK = ("runs", "runs_per_month", "utilisation")


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One of several workloads.

    Attributes:
        place: in the list; schedule: when it has its nodes.
        loaded: a blueprint of this workload alone, on the targets of all; its problems stand in the one file.
    """

    place: int
    schedule: Schedule
    loaded: LoadedBlueprint

    @property
    def name(self) -> str:
        """Name of the workload."""
        return self.schedule.name

    @property
    def serves(self) -> bool:
        """Whether it is always on."""
        return self.loaded.blueprint.workload.kind == "serve"


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedBlueprint:
    """Several workloads that share their targets.

    Attributes:
        horizon_months: that money is counted over, months of 730 hours.
    """

    name: str
    description: str
    document: Document
    members: tuple[Member, ...]
    horizon_months: float

    def error(self, problems: tuple[Problem, ...], *, exit_code: int | None = None) -> BlueprintError:
        """Return the error that shows problems of the whole file, placed in it."""
        error = _error(self.document, problems)
        if exit_code is not None:
            error.exit_code = exit_code
        return error


def lists_workloads(path: Path) -> bool:
    """Tell whether a file is a blueprint of several workloads; False where it cannot be read."""
    try:
        return path.is_file() and bool(_LISTED.search(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False


def member_of(path: Path) -> tuple[Path, str] | None:
    """Return file and name of `FILE#NAME`; None for any other path."""
    file, mark, name = str(path).rpartition("#")
    return (Path(file), name) if mark and not path.exists() and lists_workloads(Path(file)) else None


def load_shared(path: Path, overrides: tuple[str, ...] = ()) -> SharedBlueprint:
    """Load a blueprint of several workloads and check its form.

    Args:
        path: the YAML file.
        overrides: `path=value` pairs; `workloads.NAME.path=value` for one of the workloads.

    Raises:
        InputError: the file cannot be read, or an override is wrong.
        BlueprintError: the text or the values are wrong; holds every problem.
    """
    document = read(path)
    entries: Any = document.value.get(_KEY) if isinstance(document.value, dict) else None
    if (
        not isinstance(entries, list)
        or not _LEAST <= len(entries) <= _MOST
        or not all(isinstance(e, dict) for e in entries)
    ):
        raise _error(
            document,
            (
                *document.problems,
                _problem(
                    (_KEY,),
                    f"workloads is a list of {_LEAST} to {_MOST} sections",
                    "write - name: chat, and its sections",
                ),
            ),
        )
    document = replace(document, overridden=frozenset(_override(document.value, entries, one) for one in overrides))
    problems = [*document.problems, *_of_form(document.value, entries)]
    schedules = [_schedule(entry, place, problems) for place, entry in enumerate(entries)]
    problems += _twice(entries)
    members = []
    for place, (entry, schedule) in enumerate(zip(entries, schedules, strict=True)):
        if schedule is not None:
            written = entry.get("workload")
            problems += _of_schedule(schedule, written.get("kind", "") if isinstance(written, dict) else "", place)
        alone = _alone(document, place, entry, schedule)
        try:
            loaded = checked(alone, folder=path.parent)
        except BlueprintError as error:
            problems += [_in_file(problem, place, entry) for problem in error.problems if problem not in problems]
            continue
        if schedule is not None:
            if schedule.from_month:
                problems += _too_late(schedule, loaded.blueprint, place)
            members.append(Member(place=place, schedule=schedule, loaded=loaded))
    if problems:
        raise _error(document, tuple(dict.fromkeys(problems)))
    common = members[0].loaded.blueprint
    return SharedBlueprint(
        name=document.value["name"],
        description=common.description,
        document=document,
        members=tuple(_with_work(member) for member in members),
        horizon_months=common.economics.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR),
    )


def with_values(member: Member, values: Mapping[tuple[str, ...], Any]) -> LoadedBlueprint:
    """Return the blueprint of a member with other values, which are nowhere in the file.

    Args:
        member: the workload.
        values: by path; None takes a value away.

    Raises:
        BlueprintError: the values are no blueprint.
    """
    return _replaced(member.loaded.document, values)


def in_file(problem: Problem, member: Member) -> Problem:
    """Return a problem of a member's blueprint with the path that it has in the file of all."""
    return _in_file(problem, member.place, member.loaded.document.value)


def _replaced(document: Document, values: Mapping[tuple[str, ...], Any]) -> LoadedBlueprint:
    value = copy.deepcopy(document.value)
    for path, new in values.items():
        node = value
        for part in path[:-1]:
            node = node.setdefault(part, {})
        if new is None:
            node.pop(path[-1], None)
        else:
            node[path[-1]] = new
    return checked(replace(document, value=value), folder=Path(document.name).parent)


def _with_work(member: Member) -> Member:
    """Return a member whose blueprint says how much work there is: its runs, or the months of a service."""
    schedule, blueprint = member.schedule, member.loaded.blueprint
    months = blueprint.economics.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR) - schedule.from_month
    values: dict[tuple[str, ...], Any] = {("economics", "horizon"): f"{months:.6f} months"}
    if not member.serves:
        values[("economics", "runs")] = runs_of(schedule, months)
        if schedule.hours is not None and blueprint.goals.finish_within is None:
            values[("goals", "finish_within")] = f"{schedule.hours.hours} h"
    return replace(member, loaded=_replaced(member.loaded.document, values))


def runs_of(schedule: Schedule, months: float) -> float:
    """Return the runs of a workload in a given number of months: one in each of its hours, or as many as are given.

    >>> runs_of(Schedule.model_validate({"name": "weekly", "hours": {"days": ["saturday"], "hours": 6}}), 36.0)
    156.0
    """
    if schedule.hours is None:
        return 1.0 if schedule.runs is None else schedule.runs
    # 36 months of 730 hours are 156.4 weeks; a week that has begun may lack the day of the run.
    return float(max(int(months * HOURS_PER_MONTH / HOURS_A_WEEK) * len(schedule.hours.starts), 1))


def _override(value: dict[str, Any], entries: list[dict[str, Any]], text: str) -> KeyPath:
    head, _, rest = text.partition(".")
    if head != _KEY:
        return override(value, text)
    name, _, inside = rest.partition(".")
    names = [str(entry.get("name")) for entry in entries]
    if name not in names or not inside:
        raise InputError(
            f"--set {text!r} names no workload",
            help=f"write workloads.NAME.path=value; NAME is one of {', '.join(names)}",
        )
    place = names.index(name)
    return (_KEY, place, *override(entries[place], inside))


def _of_form(value: dict[str, Any], entries: list[dict[str, Any]]) -> Iterator[Problem]:
    """Yield sections that are at the wrong level, and work that the schedule gives."""
    for name in value:
        if name in _OF_ENTRY:
            yield _problem((name,), f"{name} is of one workload", "move it into an entry of workloads")
    economics = value.get("economics")
    for name in _WORK:
        if isinstance(economics, dict) and name in economics:
            yield _problem(
                ("economics", name),
                f"economics.{name} is of one workload: with several, each says when it works",
                "write hours or runs in the entry of the workload",
            )
    known = tuple(SharedWorkload.model_fields)
    for place, entry in enumerate(entries):
        for name in entry:
            if name in known:
                continue
            if name in _COMMON:
                yield _problem((_KEY, place, name), f"{name} is of all workloads", "move it beside workloads")
                continue
            close = get_close_matches(name, known, n=1)
            # Users often write keys of a section in the entry itself.
            belongs = what_is_meant((name,), entry).rpartition("If not, ")[2]
            elsewhere = belongs if belongs.startswith("it ") else f"known here: {', '.join(sorted(known))}"
            advice = f"did you mean {close[0]!r}?" if close else elsewhere
            yield _problem((_KEY, place, name), f"there is no key {name!r} here", advice)


def _schedule(entry: dict[str, Any], place: int, problems: list[Problem]) -> Schedule | None:
    """Return when a workload has its nodes; None where that is wrong, with its problems added."""
    try:
        return Schedule.model_validate({name: entry[name] for name in Schedule.model_fields if name in entry})
    except ValidationError as error:
        for item in error.errors(include_url=False):
            path = (_KEY, place, *item["loc"])
            missing = item["type"] == "missing"
            said = f"{path[-1]} is missing" if missing else str(item["msg"]).removeprefix("Value error, ")
            problems.append(
                _problem(path, said, item.get("ctx", {}).get("help") or "clusterwright schema describes every key")
            )
        return None


def _twice(entries: list[dict[str, Any]]) -> Iterator[Problem]:
    names = [entry.get("name") for entry in entries]
    for place, name in enumerate(names):
        if name is not None and name in names[:place]:
            yield _problem((_KEY, place, "name"), f"two workloads are called {name!r}", "give each its own name")


def _of_schedule(schedule: Schedule, kind: str, place: int) -> Iterator[Problem]:
    """Yield what a workload's kind does not have of a schedule, and hours that run into themselves."""
    given = [name for name in ("hours", "runs") if getattr(schedule, name) is not None]
    if kind == "serve":
        for name in given:
            yield _problem(
                (_KEY, place, name), f"{schedule.name} serves and is always on: it has no {name}", f"remove {name}"
            )
    elif len(given) > 1:
        yield _problem(
            (_KEY, place, "runs"), "hours and runs both say how often it runs", "keep hours for every week, or runs"
        )
    if schedule.hours is not None:
        starts = schedule.hours.starts
        gaps = [
            (after - start) % HOURS_A_WEEK or HOURS_A_WEEK
            for start, after in zip(starts, (*starts[1:], starts[0]), strict=True)
        ]
        if schedule.hours.hours > min(gaps):
            yield _problem(
                (_KEY, place, "hours", "hours"),
                f"{schedule.hours.hours} hours are longer than the {min(gaps)} from one beginning to the next",
                f"write hours: {min(gaps)} or less, or fewer days",
            )


def _too_late(schedule: Schedule, blueprint: Blueprint, place: int) -> Iterator[Problem]:
    """Yield that a workload begins in the last month of the horizon or after it."""
    months = blueprint.economics.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR)
    if schedule.from_month >= months - 1:
        yield _problem(
            (_KEY, place, "from_month"),
            f"{schedule.name} begins in month {schedule.from_month:g} of a horizon of {months:g}",
            "begin earlier, or lengthen economics.horizon",
        )


def _alone(document: Document, place: int, entry: dict[str, Any], schedule: Schedule | None) -> Document:
    """Return the document of one workload alone, whose places are those of the file."""
    own = {name: entry[name] for name in _OF_ENTRY if name in entry}
    common = {name: copy.deepcopy(document.value[name]) for name in document.value if name in _COMMON}
    strange = {name: value for name, value in document.value.items() if name not in (*_COMMON, *_OF_ENTRY, _KEY)}
    economics = common.get("economics")
    if isinstance(economics, dict):
        common["economics"] = {name: value for name, value in economics.items() if name not in _WORK}
    if schedule is not None and isinstance(common.get("name"), str):
        common["name"] = f"{common['name']}-{schedule.name}"

    def moved(path: KeyPath) -> KeyPath | None:
        if path[:1] == (_KEY,):
            return path[2:] if path[:2] == (_KEY, place) and path[2:3] and path[2] in own else None
        return None if path[:1] and path[0] in own else path

    def places(of: dict[KeyPath, Position]) -> dict[KeyPath, Position]:
        return {new: where for path, where in of.items() if (new := moved(path)) is not None}

    return replace(
        document,
        value={**common, **strange, **copy.deepcopy(own)},
        keys=places(document.keys),
        values=places(document.values),
        problems=(),
        overridden=frozenset(new for path in document.overridden if (new := moved(path)) is not None),
    )


def _in_file(problem: Problem, place: int, entry: dict[str, Any]) -> Problem:
    own = bool(problem.path) and problem.path[0] in _OF_ENTRY and problem.path[0] in entry
    if not own and problem.path[:1] != ("workload",):
        return problem
    # A section that is missing belongs into the entry, which is where its place is shown.
    placed = replace(problem, path=(_KEY, place, *problem.path))
    return placed if own else replace(placed, position=None)


def _problem(path: KeyPath, message: str, advice: str) -> Problem:
    return Problem(path=path, message=message, help=advice, id="WRK004")


def _error(document: Document, problems: tuple[Problem, ...]) -> BlueprintError:
    placed = tuple(
        problem if problem.position is not None else replace(problem, position=position(document, problem.path))
        for problem in problems
    )
    return BlueprintError(name=document.name, text=document.text, problems=placed)
