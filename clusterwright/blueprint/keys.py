"""Keys of the blueprint: those of a section, what each is, and what an unknown one is meant to be."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from clusterwright import assets
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, dotted
from clusterwright.blueprint.reading.problems import Path as KeyPath
from clusterwright.blueprint.rules.kinds import OF_KINDS
from clusterwright.blueprint.schema import Blueprint
from clusterwright.errors import ClusterwrightError

_KIND = "kind"
#: What values are checked with where they have to be distinguished: no path in them is opened.
_NO_FILES = MappingProxyType({"folder": Path(), "typed": frozenset[str](), "files": False})
#: A key that more sections have than these is named by the section it was written in alone.
_MOST_PLACES = 4


def section(path: KeyPath, written: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - YAML holds anything
    """Return the schema classes that a path's parent may be: several where the kind of a workload is not written.

    Places in a list, and names that the user gives to sections (of `tco.housing`), lead to the same classes.

    Args:
        path: of a key, whether it is known or not.
        written: the whole document, which says what kind a section is.
    """
    sections: list[type[BaseModel]] = [Blueprint]
    names_follow = False
    for part in path[:-1]:
        written = _inside(written, part)
        if isinstance(part, int) or names_follow:
            names_follow = False
            continue
        annotations = [field.annotation for found in sections if (field := found.model_fields.get(part))]
        sections = [child for annotation in annotations for child in _models(annotation)]
        names_follow = any(_maps_names(annotation) for annotation in annotations)
        sections = [found for found in sections if _inside(written, _KIND) in _kinds(found)] or sections
    return sections


def description(path: KeyPath, written: Any) -> str | None:  # noqa: ANN401 - YAML holds anything
    """Return what the schema says of a key; None where it says nothing."""
    for found in section(path, written):
        field = found.model_fields.get(str(path[-1]))
        if field is not None and field.description:
            return f"{path[-1]}: {field.description}"
    return None


def what_stands_here(path: KeyPath, written: Any) -> str:  # noqa: ANN401 - YAML holds anything
    """Return what the schema says of a place: its keys for a section, else its description, also of a list's place."""
    named = tuple(part for part in path if not isinstance(part, int))
    inside = {name for found in section((*named, ""), written) for name in found.model_fields} if named else set()
    if inside:
        found = written
        for part in path:
            found = _inside(found, part)
        listed = (
            isinstance(found, list) and bool(found) and all(isinstance(one, str) and one in inside for one in found)
        )
        return f"known here: {', '.join(sorted(inside))}{'; each is a key with a section of its own' * listed}"
    return description(named, written) or LOOK_IT_UP


def what_is_meant(path: KeyPath, written: Any) -> str:  # noqa: ANN401 - YAML holds anything
    """Return what an unknown key is meant to be: a key of another section or kind, under another name, or misspelt.

    >>> what_is_meant(("workload", "users"), {"workload": {"kind": "serve", "users": 10_000}})
    'it belongs in traffic'
    >>> what_is_meant(("workload", "seq_len"), {"workload": {"kind": "train"}})
    'it is called sequence_length here'
    >>> what_is_meant(("workload", "rank"), {"workload": {"kind": "train"}})
    'it is of kind: finetune'
    >>> what_is_meant(("workload", "users"), {"workload": {"kind": "train", "users": 10_000}})
    'it belongs in traffic, of kind: serve'
    >>> what_is_meant(("kind",), {"kind": "serve", "model": "llama-3-8b"})
    'it belongs in workload'
    """
    # The kind of a workload whose keys are not in its section is often beside them.
    name, kind = str(path[-1]), _inside(_inside(written, "workload") or written, _KIND)
    known = sorted({name for found in section(path, written) for name in found.model_fields})
    in_list = any(isinstance(part, int) for part in path)
    others = (
        [] if in_list else [place for wanted in _other_names().get(_plain(name), ()) for place in _at(wanted, kind)]
    )
    if others:
        here = [place for place in others if place[:-1] == path[:-1]]
        here = [place for place in here if _takes(place, written, path)] or here
        return f"it is called {_either([str(place[-1]) for place in here] or [dotted(place) for place in others])} here"
    places, of_kinds = _places_of(name, kind)
    if path in of_kinds:
        of_kind = f"it is of kind: {_either(of_kinds[path])}"
        deeper = [dotted(place[:-1]) for place in places if place[:-2] == path[:-1] and _takes(place, written, path)]
        return f"{of_kind}; here it belongs in {_either(deeper)}" if deeper else of_kind
    close = get_close_matches(name, known, n=1)
    places = [place for place in places if _takes(place, written, path)] or places
    elsewhere = ""
    if places and len(places) <= _MOST_PLACES:
        sections = [f"in {dotted(place[:-1])}" if place[:-1] else "at the top level" for place in places]
        elsewhere = f"it belongs {_either(sections)}"
        of_others = [_of_others(place, kind) for place in places]
        if all(of_others):
            elsewhere += f", of kind: {_either(list(dict.fromkeys(of_others)))}"
    if close:
        return f"did you mean {close[0]!r}?{f' If not, {elsewhere}' if elsewhere else ''}"
    return elsewhere or f"known here: {', '.join(known)}"


def _of_others(place: KeyPath, kind: Any) -> str:  # noqa: ANN401 - as written
    """Return the kinds of work that alone have a place, where the one that is written is none of them; else nothing."""
    for path, (kinds, _) in OF_KINDS.items():
        if place[: len(path)] == path and kind is not None and kind not in kinds:
            return _either(list(kinds))
    return ""


@cache
def _other_names() -> Mapping[str, tuple[str, ...]]:
    """Return what other programs and people call our keys: `blueprints/other_names.csv`.

    Raises:
        ClusterwrightError: the file is not there.
    """
    path = assets.root() / "blueprints" / "other_names.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["other_name"]: tuple(row["keys"].split()) for row in csv.DictReader(file)}
    except (OSError, KeyError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _either(words: list[str]) -> str:
    """Return words of which one is to be chosen."""
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _takes(place: KeyPath, written: Any, path: KeyPath) -> bool:  # noqa: ANN401 - YAML holds anything
    """Tell whether a key of the schema takes the value that is written at a path."""
    value = written
    for part in path:
        value = _inside(value, part)
    for found in section(place, written):
        field = found.model_fields.get(str(place[-1]))
        if field is not None:
            try:
                TypeAdapter(field.rebuild_annotation()).validate_python(value, context=_NO_FILES)
            except ValidationError:
                continue
            return True
    return False


def _inside(written: Any, part: str | int) -> Any:  # noqa: ANN401 - YAML holds anything
    if isinstance(written, dict):
        return written.get(part)
    inside = isinstance(written, list) and isinstance(part, int) and part < len(written)
    return written[part] if inside else None


def _kinds(found: type[BaseModel]) -> tuple[str, ...]:
    """Return the kinds of work whose section a class is; none where it is of any."""
    field = found.model_fields.get(_KIND)
    return get_args(field.annotation) if field is not None else ()


def _maps_names(annotation: Any) -> bool:  # noqa: ANN401 - typing forms
    return get_origin(annotation) in {dict, Mapping} or any(_maps_names(argument) for argument in get_args(annotation))


def _models(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - typing forms
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _alone(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - typing forms
    """Return the classes of a section that there is once: in no list, and under no name of the user."""
    if get_origin(annotation) in {list, tuple, dict, Mapping}:
        return []
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _alone(argument)]


def _walk(found: type[BaseModel], above: KeyPath, kind: str) -> Iterator[tuple[KeyPath, str]]:
    for name, field in found.model_fields.items():
        yield (*above, name), kind
        for child in _alone(field.annotation):
            of_kind = next(iter(_kinds(child)), kind) if not above else kind
            yield from _walk(child, (*above, name), of_kind)


@cache
def _places() -> Mapping[str, tuple[tuple[KeyPath, str], ...]]:
    """Return where the keys of each name are, with the kind of work that has them, empty where any has."""
    found: dict[str, list[tuple[KeyPath, str]]] = defaultdict(list)
    for path, kind in _walk(Blueprint, (), ""):
        found[str(path[-1])].append((path, kind))
    return MappingProxyType({name: tuple(dict.fromkeys(places)) for name, places in found.items()})


def _places_of(name: str, kind: Any) -> tuple[list[KeyPath], dict[KeyPath, list[str]]]:  # noqa: ANN401 - as written
    """Return where a kind of work, or any if it is unknown, has keys of a name, and which other kinds have one."""
    here: dict[KeyPath, None] = {}
    others: dict[KeyPath, list[str]] = defaultdict(list)
    for path, of_kind in _places().get(name, ()):
        if of_kind in ("", kind) or kind is None:
            here[path] = None
        else:
            others[path].append(of_kind)
    return list(here), {path: kinds for path, kinds in others.items() if path not in here}


def _at(place: str, kind: Any) -> list[KeyPath]:  # noqa: ANN401 - as written
    """Return a place as a path where this kind of work has it."""
    path = tuple(place.split("."))
    return [path] if path in _places_of(path[-1], kind)[0] else []
