"""From a file to a checked blueprint: positions, "did you mean", every problem at once."""

import copy
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from clusterwright import units
from clusterwright.blueprint.keys import description, what_is_meant, what_stands_here
from clusterwright.blueprint.reading.document import Document, document_of, kind_of, parse_bounded, parse_scalar, read
from clusterwright.blueprint.reading.problems import BlueprintError, Position, Problem, dotted
from clusterwright.blueprint.reading.problems import Path as KeyPath
from clusterwright.blueprint.rules.written_names import unknown_names
from clusterwright.blueprint.schema import TARGET_SECTIONS, Blueprint
from clusterwright.blueprint.sections import directory, jobs, users
from clusterwright.blueprint.sizes import not_named_once
from clusterwright.blueprint.workloads.training import MODEL_FORMS
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import InputError, UnitError

_WORDS = "literal["


def without_forms(location: tuple[str | int, ...], value: Any) -> KeyPath:  # noqa: ANN401 - YAML holds anything
    """Return where an error is without the parts that name a form, which are nowhere in the document.

    >>> without_forms(("support", "literal['business']"), {"support": "busines"})
    ('support',)
    """
    path: list[str | int] = []
    for part in location:
        known = part in value if isinstance(value, dict) else False
        if isinstance(part, str) and "[" in part and not known:
            continue
        path.append(part)
        inside = isinstance(value, list) and isinstance(part, int) and part < len(value)
        value = value[part] if inside else value.get(part) if known else None
    return tuple(path)


def meant(errors: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return errors without those of forms that were not meant.

    A word is meant to be one of the words that may be there, anything else the other form.
    """
    found = list(errors)
    forms: dict[KeyPath, list[dict[str, Any]]] = {}
    for error in found:
        place = next((index for index, part in enumerate(error["loc"]) if str(part).startswith(_WORDS)), None)
        if place is not None:
            forms.setdefault(error["loc"][:place], []).append(error)
    for where, words in forms.items():
        others = [
            error
            for error in found
            if error["loc"][: len(where)] == where
            and error not in words
            and "[" in str(next(iter(error["loc"][len(where) :]), ""))
        ]
        if not others:
            continue
        written = words[0]["input"]
        not_meant = others if isinstance(written, str) and written[:1].isalpha() else words
        found = [error for error in found if error not in not_meant]
    return found


_WORKLOAD_KINDS = ("train", "finetune", "serve")
#: Letters of a kind that are looked at.
_LONGEST_KIND = 40
#: Kinds of work by what people call them.
_WORDS_FOR_KINDS = {kind: kind for kind in _WORKLOAD_KINDS} | {
    "training": "train",
    "pretraining": "train",
    "fine-tuning": "finetune",
    "sft": "finetune",
    "serving": "serve",
    "inference": "serve",
}
#: Errors of our own types, whose message is as it is.
_OWN_WORDS = ("quantity", "day", "multiple", "reservation", "choice", "targets", "twice", "identifier", "value_error")
_OF_USERS = {
    "missing": "USR010",
    "": "USR011",
    "extra_forbidden": "USR012",
    "too_long": "USR013",
}
_OF_DIRECTORY = {"missing": "DIR010", "": "DIR011", "extra_forbidden": "DIR012"}
_OF_JOBS = {"": "JOB009", "extra_forbidden": "JOB010"} | dict.fromkeys(
    ("literal_error", "greater_than", "less_than_equal", "too_short", "too_long"), "JOB011"
)
_OF_TRAFFIC: dict[str, str | None] = {"": "SRV006", "missing": "SRV005", "extra_forbidden": None}
#: Rules for the form of what users, jobs and traffic need, by pydantic's name of the mistake.
_RULES_OF_FORM: dict[KeyPath, Mapping[str, str | None]] = {
    ("cluster", "users"): _OF_USERS,
    ("cluster", "groups"): _OF_USERS,
    ("cluster", "identity"): _OF_USERS,
    ("cluster", "directory"): _OF_DIRECTORY,
    ("cluster", "jobs"): _OF_JOBS,
    ("traffic",): _OF_TRAFFIC,
    ("goals", "percentile"): _OF_TRAFFIC,
    ("goals", "first_token"): _OF_TRAFFIC,
    ("goals", "time_per_token"): _OF_TRAFFIC,
}
#: A share of the whole is at most this in percent.
_WHOLE_IN_PERCENT = 100.0
#: A number whose digits nobody counts: it is written as a power of ten.
_LONG_NUMBER = re.compile(r"\b\d{10,}\b")
#: How pydantic calls a bound that is missed, in words, and where it keeps the bound.
_BOUNDS = {
    "greater_than_equal": ("shorter than", "ge"),
    "less_than_equal": ("longer than", "le"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedBlueprint:
    """A blueprint with the document it came from, so that later findings can point into the text."""

    blueprint: Blueprint
    document: Document

    def to_dict(self) -> dict[str, Any]:
        """Return what the blueprint says, with overrides, as its document holds it."""
        return copy.deepcopy(cast("dict[str, Any]", self.document.value))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the blueprint says, with the values of the command line; comments and order do not count."""
        said = json.dumps(self.document.value, sort_keys=True, default=str)
        return hashlib.sha256(said.encode()).hexdigest()

    def error(self, problems: tuple[Problem, ...], *, exit_code: int | None = None) -> BlueprintError:
        """Return the error that shows problems found later, placed in this document."""
        placed = tuple(_placed(problem, self.document) for problem in problems)
        error = BlueprintError(name=self.document.name, text=self.document.text, problems=placed)
        if exit_code is not None:
            error.exit_code = exit_code
        return error


def load(path: Path, overrides: tuple[str, ...] = ()) -> LoadedBlueprint:
    """Load a blueprint and check its form.

    Args:
        path: the YAML file.
        overrides: `path=value` pairs that replace or add values.

    Raises:
        InputError: the file cannot be read, or an override is not `path=value`.
        BlueprintError: the text or the values are wrong; holds every problem.
    """
    return checked(read(path), overrides, folder=path.parent)


def load_values(values: Mapping[str, Any], overrides: tuple[str, ...] = (), *, name: str) -> LoadedBlueprint:
    """Check the form of a blueprint that a program holds; it is shown in errors as YAML.

    Args:
        values: as a file would hold them; paths in them are relative to the working directory.
        overrides: as in `load`.
        name: what errors call it.

    Raises:
        InputError: a value is of a type that no blueprint holds, or an override is not `path=value`.
        BlueprintError: as `load`.
    """
    return checked(document_of(values, name=name), overrides, folder=Path())


def load_text(
    text: str, overrides: tuple[str, ...] = (), *, name: str, folder: Path = Path(), files: bool = True
) -> LoadedBlueprint:
    """Check the form of a blueprint that came as text, such as one on standard input or in a request.

    Args:
        text: as a file would hold it.
        overrides: as in `load`.
        name: what errors call it.
        folder: that paths in it are relative to.
        files: whether it may name files at all; text from elsewhere may not.

    Raises:
        InputError: the text is too large or empty, or an override is not `path=value`.
        BlueprintError: as `load`.
    """
    return checked(parse_bounded(text, name=name), overrides, folder=folder, files=files)


def readable_values(text: str, *, name: str) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return what a blueprint's text holds, also where it is wrong, and what is wrong with it; it may name no file.

    Args:
        text: as a file would hold it.
        name: what errors call it.

    Raises:
        InputError: it is too large, empty, or no mapping; BlueprintError: it is not valid YAML.
    """
    document = parse_bounded(text, name=name)
    try:
        checked(document, (), folder=Path(), files=False)
    except BlueprintError as error:
        return copy.deepcopy(cast("dict[str, Any]", document.value)), error.problems
    return copy.deepcopy(cast("dict[str, Any]", document.value)), ()


def checked(
    document: Document, overrides: tuple[str, ...] = (), *, folder: Path, files: bool = True
) -> LoadedBlueprint:
    """Check the form of a blueprint's document; arguments and errors as `load_text`."""
    if not isinstance(document.value, dict):
        raise InputError(
            f"{document.name} holds {kind_of(document.value)}, not a blueprint",
            help="start with name: …, or write one with: clusterwright init train -o FILE",
        )
    document = replace(document, overridden=document.overridden | {override(document.value, one) for one in overrides})
    problems = document.problems
    typed = [one.partition("=")[2] for one in overrides]
    context = {"folder": folder, "typed": frozenset(typed), "files": files}
    try:
        blueprint = Blueprint.model_validate(document.value, context=context)
    except ValidationError as error:
        errors = meant(dict(item) for item in error.errors(include_url=False))
        meant_otherwise = {item["loc"][:-1] for item in errors if item["type"] == "extra_forbidden"}
        of_hardware = (one for one in _of_hardware(document.value) if one.path not in meant_otherwise)
        as_written = (_placed(problem, document) for problem in of_hardware)
        problems += _once((*(_problem(item, document) for item in errors), *as_written))
        problems += tuple(_placed(problem, document) for problem in _of_cluster(document.value))
    if problems:
        reported = {problem.path for problem in problems}
        unknown = (one for one in unknown_names(document.value, load_catalogue()) if one.path not in reported)
        problems += tuple(_placed(problem, document) for problem in unknown)
        raise BlueprintError(name=document.name, text=document.text, problems=problems)
    return LoadedBlueprint(blueprint=blueprint, document=document)


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems without repetition: a value that stands for several is wrong in all of them."""
    return tuple(
        {(problem.position or problem.path, problem.message): problem for problem in reversed(tuple(problems))}.values()
    )[::-1]


def _of_hardware(value: dict[str, Any]) -> Iterable[Problem]:
    """Yield a problem for each target that names its hardware twice or not at all, whatever else is wrong in it."""
    targets = value.get("targets")
    for name, section in targets.items() if isinstance(targets, dict) else ():
        kind = TARGET_SECTIONS.get(name)
        wrong = not_named_once(kind, section) if kind is not None and isinstance(section, dict) else None
        if wrong is not None:
            yield Problem(path=("targets", name), message=wrong[0], help=wrong[1])


def _of_cluster(value: dict[str, Any]) -> Iterable[Problem]:
    """Return what users and jobs say against each other where a blueprint is wrong elsewhere; later otherwise."""
    cluster, targets = value.get("cluster"), value.get("targets")
    if not isinstance(cluster, dict):
        return ()
    sections = targets.items() if isinstance(targets, dict) else ()
    pods = [
        str(name) for name, target in sections if isinstance(target, dict) and target.get("scheduler") == "kubernetes"
    ]
    return (
        *users.problems_as_written(cluster),
        *directory.problems_as_written(cluster),
        *jobs.problems_as_written(cluster, pods),
    )


def override(value: dict[str, Any], given: str) -> KeyPath:
    """Put one `path=value` into the document's value; return the path.

    Raises:
        InputError: it is not `path=value`, or leads through a value.
    """
    path, equals, text = given.partition("=")
    parts = path.split(".")
    if not equals or not all(parts):
        raise InputError(f"--set {given!r} is not path=value", help="for example --set workload.tokens=2e12")
    node = value
    for part in parts[:-1]:
        child = node.setdefault(part, {})
        if not isinstance(child, dict):
            raise InputError(
                f"--set {given!r}: {part!r} is a value, not a section", help="name a key that the section has"
            )
        node = child
    node[parts[-1]] = parse_scalar(text)
    return tuple(parts)


def _problem(error: dict[str, Any], document: Document) -> Problem:
    context = error.get("ctx", {})
    # What a section says of keys that exclude each other is at the one that it names.
    at = tuple(int(part) if part.isdigit() else part for part in str(context.get("at", "")).split(".") if part)
    path = (*_document_path(error["loc"], document.value), *at)
    kind = error["type"]
    message: str
    advice: str | None
    if kind == "extra_forbidden":
        message, advice = f"there is no key {path[-1]!r} here", what_is_meant(path, document.value)
        key = document.keys.get(path)
        rule, where = rule_of_form(path, kind), key or position(document, path)
        return Problem(id=rule, path=path, message=message, help=advice, position=where, unknown_key=True)
    elif kind == "missing":
        message, advice = f"{dotted(path)} is missing", description(path, document.value)
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        path = (*path, "kind")
        message = f"the workload's kind must be one of {', '.join(_WORKLOAD_KINDS)}"
        advice = _kind_meant(error["input"])
    else:
        message = _wording(error, path, document)
        advice = _closest_choice(error) if kind == "literal_error" else context.get("help") or _as_meant(error)
    of_key = document.keys.get(path) if error["loc"][-1:] == ("[key]",) else None
    problem = Problem(
        path=path, message=message, help=advice or what_stands_here(path, document.value), position=of_key
    )
    return _placed(replace(problem, id=context.get("id") or rule_of_form(path, kind)), document)


def _kind_meant(workload: Any) -> str:  # noqa: ANN401 - YAML holds anything
    """Return what to write for a kind that is missing or none: the nearest word, also of a key `type`."""
    found = workload if isinstance(workload, dict) else {}
    written = str(found.get("kind", found.get("type", "")))[:_LONGEST_KIND].casefold()
    close = get_close_matches(written, _WORDS_FOR_KINDS, n=1)
    if "kind" not in found:
        called = "type is called kind here: " if "type" in found else ""
        return f"{called}add kind: {_WORDS_FOR_KINDS[close[0]] if close else 'train'}"
    if close:
        return f"did you mean {_WORDS_FOR_KINDS[close[0]]!r}?"
    return f"did you mean one of {', '.join(_WORKLOAD_KINDS)}?"


def rule_of_form(path: KeyPath, kind: str) -> str | None:
    """Return the rule that a mistake of form in users, groups, jobs or traffic breaks; None elsewhere."""
    for section, rules in _RULES_OF_FORM.items():
        if path[: len(section)] == section:
            return rules.get(kind, rules[""])
    return None


def _closest_choice(error: dict[str, Any]) -> str | None:
    """Return which of the words that may be at a place is meant, None where no one is close."""
    words = re.findall("'([^']+)'", error["ctx"]["expected"])
    close = get_close_matches(str(error["input"]).casefold(), words, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def _as_meant(error: Mapping[str, Any]) -> str | None:
    """Return how a number is written that was meant and written in another way; None where that is not known."""
    given = error["input"]
    if not isinstance(given, float | int) or isinstance(given, bool) or not math.isfinite(given):
        return None
    if error["type"] == "int_type" and given == int(given):
        return f"write {int(given)}"
    if error["type"] == "less_than_equal" and error["ctx"]["le"] == 1.0 and given <= _WHOLE_IN_PERCENT:
        return f"write {given:g} % for a share of {given / _WHOLE_IN_PERCENT:g}"
    return None


def _wording(error: dict[str, Any], path: KeyPath, document: Document) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in _OWN_WORDS:
        return message
    found = document.value
    for part in path:
        if isinstance(found, dict):
            found = found.get(part)
        else:
            found = found[part] if isinstance(found, list) and isinstance(part, int) else None
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        shown = "nothing" if found is None else repr(found)
        return f"{dotted(path) or 'the blueprint'} is a section with keys of its own (found {shown})"
    bound = _bound(error, found)
    if bound is not None:
        return f"{dotted(path)}: {found!r} is {bound}"
    shown = "" if isinstance(found, dict | list) or found is None else f" (found {found!r})"
    name = dotted(path) or "the blueprint"
    message = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):g}".replace("e+", "e"), message)
    return f"{name}: {message[0].lower()}{message[1:]}{shown}"


def _bound(error: dict[str, Any], found: Any) -> str | None:  # noqa: ANN401 - YAML holds anything
    """Return how a duration misses its bound, in units as people write them; None for anything else."""
    side, key = _BOUNDS.get(error["type"], ("", ""))
    if not side or not isinstance(found, str):
        return None
    try:
        units.parse(found, units.DURATION)
    except UnitError:
        return None
    limit = error["ctx"][key]
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if limit >= seconds and limit % seconds == 0:
            count = int(limit // seconds)
            return f"{side} {count} {unit}{'' if count == 1 else 's'}"
    return None


def _document_path(location: tuple[str | int, ...], value: dict[str, Any]) -> KeyPath:
    """Return pydantic's location without the tags it inserts for the workload's kind and for forms of a value."""
    if len(location) > 1 and location[0] == "workload" and location[1] in _WORKLOAD_KINDS:
        location = (location[0], *location[2:])
    path = without_forms(tuple(part for part in location if part not in MODEL_FORMS), value)
    # What is wrong inside a value that stands for a section in short form, is wrong with that value.
    short = (end for end in range(1, len(path)) if _is_alone(value, path[:end]))
    return path[: next(short, len(path))]


def _is_alone(value: Any, path: KeyPath) -> bool:  # noqa: ANN401 - YAML holds anything
    """Tell whether a path that may not be there holds a value alone, which stands for a section in short form."""
    for part in path:
        inside = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if not inside:
            return False
        value = value[part]
    return value is not None and not isinstance(value, dict | list)


def _placed(problem: Problem, document: Document) -> Problem:
    if problem.position is not None:
        return problem
    return replace(problem, position=position(document, problem.path))


def position(document: Document, path: KeyPath) -> Position | None:
    """Return where a path is in the text: its value if scalar, else its key, else the nearest section around it.

    None for a value that was given on the command line.
    """
    # Given there, inside a section that was given, or a section that is nowhere in the text itself.
    given_there = any(path[: len(given)] == given for given in document.overridden)
    if given_there or (path not in document.keys and any(given[: len(path)] == path for given in document.overridden)):
        return None
    if path in document.values and path in document.keys:
        value, key = document.values[path], document.keys[path]
        return value if value.line == key.line else key
    if path and path in document.values and isinstance(path[-1], int):
        return document.values[path]
    for end in range(len(path) - 1, 0, -1):
        above = path[:end]
        if above in document.values and (isinstance(above[-1], int) or _is_alone(document.value, above)):
            return document.values[above]
        if above in document.keys:
            return document.keys[above]
    return Position(line=1, column=1, length=1) if document.text else None
