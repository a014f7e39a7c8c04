"""What resources of a type have in common wherever they stand: the profile of a cloud, written down and held to.

A page of `golden/` shows one example. A profile holds over every instance type, size and way to buy capacity: which
inputs a resource type always has, which values they take, what they refer to, and what must refer to it. It is written
from all cases (`CLUSTERWRIGHT_WRITE_GOLDEN=1`) and read by a person like the pages.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Record, Resource

from .references import kind_of
from .rules import Problem

#: What users name, and what machines boot with and pods run.
_FREE = (
    "tags",
    "labels",
    "resourceLabels",
    "userLabels",
    "userData",
    "userDataBase64",
    "customData",
    "tagSpecifications",
    "gpu-cluster/scripts",
)
#: The number of nodes, wherever it is said, and the money of a budget, which follows prices.
_SIZES = (
    "desiredCapacity",
    "desiredSize",
    "maxSize",
    "minSize",
    "targetSize",
    "capacity",
    "resizeBy",
    "count",
    "nodeCount",
    "amount",
)
_MOST_VALUES = 4
_PATH = re.compile(r"^projects/([^/]+)/locations/([^/]+)/instances/([^/]+)$")
_GIVEN = "given"


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """What holds for one resource type.

    Attributes:
        always: path to what every resource of the type says there: values as JSON, `→ kind`, or `given`.
        sometimes: the same for paths that not every resource has.
        referred_to_by: types, of which each resource of this type has at least one that refers to it.
    """

    always: Mapping[str, tuple[str, ...]]
    sometimes: Mapping[str, tuple[str, ...]]
    referred_to_by: tuple[str, ...]


def profiles(records: Iterable[Record]) -> dict[str, Profile]:
    """Return the profile of every type in some records, each of a whole project."""
    said: dict[str, list[dict[str, set[str]]]] = {}
    referring: dict[str, set[str]] = {}
    for record in records:
        kinds = _kinds(record)
        by_identity = _referring(record)
        for one in record.cloud_resources:
            said.setdefault(one.type, []).append(_said(one.inputs, kinds))
            types = set().union(*(by_identity.get(text, set()) for text in _identities(one)))
            referring[one.type] = referring.get(one.type, types) & types
    return {
        type_: Profile(
            always={path: _summary(path, each) for path in _paths(each) if all(path in one for one in each)},
            sometimes={path: _summary(path, each) for path in _paths(each) if not all(path in one for one in each)},
            referred_to_by=tuple(sorted(referring[type_])),
        )
        for type_, each in sorted(said.items())
    }


def profile_problems(record: Record, known: Mapping[str, Profile]) -> Iterator[Problem]:
    """Every resource of a whole project is as its type's profile says; a type without one is not looked at."""
    kinds, by_identity = _kinds(record), _referring(record)
    for one in record.cloud_resources:
        profile = known.get(one.type)
        if profile is None:
            continue
        found = _said(one.inputs, kinds)
        for path in profile.always.keys() - found.keys():
            yield Problem(id="PRO001", resource=one.name, message=f"{path} is missing")
        for path in found.keys() - profile.always.keys() - profile.sometimes.keys():
            yield Problem(id="PRO002", resource=one.name, message=f"{path} is new")
        for path in found.keys() & (profile.always.keys() | profile.sometimes.keys()):
            allowed = profile.always.get(path, profile.sometimes.get(path, ()))
            if _GIVEN not in allowed and not found[path] <= set(allowed):
                wrong = ", ".join(sorted(found[path] - set(allowed)))
                yield Problem(id="PRO003", resource=one.name, message=f"{path} is {wrong}, not {' or '.join(allowed)}")
        types = set().union(*(by_identity.get(text, set()) for text in _identities(one)))
        for type_ in set(profile.referred_to_by) - types:
            yield Problem(id="PRO004", resource=one.name, message=f"no {type_} refers to it")


def read(path: Path) -> dict[str, Profile]:
    """Return the profiles of a file."""
    document = json.loads(path.read_text())
    return {
        type_: Profile(
            always={key: tuple(value) for key, value in entry["always"].items()},
            sometimes={key: tuple(value) for key, value in entry["sometimes"].items()},
            referred_to_by=tuple(entry["referred_to_by"]),
        )
        for type_, entry in document.items()
    }


def text_of(known: Mapping[str, Profile]) -> str:
    """Return profiles as the text of a file: one line per path."""
    lines = []
    for type_, one in known.items():
        parts = []
        for name, paths in (("always", one.always), ("sometimes", one.sometimes)):
            inner = [
                f"   {json.dumps(path)}: {json.dumps(list(paths[path]), ensure_ascii=False)}" for path in sorted(paths)
            ]
            parts.append(f'  "{name}": {{\n' + ",\n".join(inner) + "}" if inner else f'  "{name}": {{}}')
        parts.append(f'  "referred_to_by": {json.dumps(list(one.referred_to_by))}')
        lines.append(f" {json.dumps(type_)}: {{\n" + ",\n".join(parts) + "}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _paths(each: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({path for one in each for path in one})


def _summary(path: str, each: Iterable[Mapping[str, set[str]]]) -> tuple[str, ...]:
    tokens = set().union(*(one.get(path, set()) for one in each))
    return (_GIVEN,) if _GIVEN in tokens or len(tokens) > _MOST_VALUES else tuple(sorted(tokens))


def _identities(one: Resource) -> set[str]:
    """Return the texts by which others refer to a resource, and those that programs make of them.

    Of a path of Google Cloud that is its names alone, which are a volume's handle.
    """
    return {*one.identities, *("/".join(path.groups()) for text in one.identities if (path := _PATH.match(text)))}


def _kinds(record: Record) -> dict[str, str]:
    """Return what each identity of a record is one of, if it is of one kind only."""
    found: dict[str, set[str]] = {}
    for one in record.cloud_resources:
        for text in _identities(one):
            found.setdefault(text, set()).add(kind_of(one.type))
    return {text: " or ".join(sorted(kinds)) for text, kinds in found.items()}


def _referring(record: Record) -> dict[str, set[str]]:
    """Return which types refer to each identity, inside texts such as policies too."""
    identities = {text for one in record.cloud_resources for text in _identities(one)}
    found: dict[str, set[str]] = {}
    for one in record.cloud_resources:
        for _, value in _leaves(one.inputs, ""):
            if isinstance(value, str) and value in identities:
                found.setdefault(value, set()).add(one.type)
    return found


def _said(inputs: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, value in _leaves(inputs, ""):
        sized = path.rpartition(".")[2] in _SIZES
        found.setdefault(path, set()).add(_GIVEN if sized else _token(value, kinds))
    return found


def _token(value: Any, kinds: Mapping[str, str]) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        if value in kinds:
            return f"→ {kinds[value]}"
        # What holds the cluster's own name, an account, a place or a whole document is somebody's choice.
        if re.search(r"small|[0-9]{6}|/|\{|\n|@|-[a-z]+-?[0-9]", value) or len(value) > 40:
            return _GIVEN
    return json.dumps(value)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if isinstance(value, Mapping) and not any(
        key in value for key in (SECRET, UNKNOWN, REFERENCE, "$asset", "$archive")
    ):
        for key, item in value.items():
            if key not in _FREE:
                yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, Mapping):
        yield path, _GIVEN if SECRET not in value else "(secret)"
    elif isinstance(value, list):
        yield f"{path}[]", bool(value)
        for item in value:
            yield from _leaves(item, path)
    elif value is not None:
        yield path, value
