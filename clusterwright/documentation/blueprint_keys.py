"""The page of the blueprint's keys: type, default, example and meaning of each, from the JSON Schema and its models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clusterwright.blueprint.schema import Blueprint, SharedWorkload, json_schema
from clusterwright.documentation.key_examples import SAID, Examples
from clusterwright.documentation.key_types import Node, alternatives, default_text, kind_text, reference_of
from clusterwright.documentation.markdown import code, page, prose, table

#: The release of which a key is where its schema names none (`json_schema_extra={"x-since": "0.2"}` does).
FIRST_RELEASE = "0.1.0"
_HEADING = "#"
_DEEPEST = 4
#: Definitions of one workload of several: they are described where a blueprint with one has them.
_OF_ONE_WORKLOAD = {
    "Train",
    "Finetune",
    "Serve",
    "Traffic",
    "Replicas",
    "Goals",
    "Storage",
    "DataLoading",
    "ReliabilitySection",
}
_INTRODUCTION = f"""
Every key that a blueprint may have. Start from a commented one with `clusterwright init`; your editor completes and
checks these keys through the JSON Schema that `init` writes beside it (`clusterwright schema`).

Write a quantity as text with its unit, such as `30 days`, `42 kW` or `80 %`. A key without a default is optional unless
it is marked **required**. `--set path=value` replaces any key for one command, for example
`--set economics.utilisation=60%`. Every key exists since version {FIRST_RELEASE} unless its row names a later one.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One key of a blueprint.

    Attributes:
        path: from the top, with `[]` for an item of a list.
        kind: what may be written.
        default: as a blueprint would write it; empty where there is none.
        example: as a blueprint would write it; empty for a section.
        meaning: description of the schema.
        required: whether its section needs it.
        since: release that brought it; empty for the first.
    """

    path: str
    kind: str
    default: str = ""
    example: str = ""
    meaning: str
    required: bool
    since: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One section: where it is, what it is for, its keys, and the sections below it."""

    path: str
    title: str
    meaning: str
    keys: tuple[Key, ...]
    below: tuple["Section", ...]


def blueprint_page() -> str:
    """Return the page."""
    parts = [part for section in sections() for part in _section_text(section, depth=2)]
    return page("Blueprint keys", _INTRODUCTION, *parts)


def sections() -> tuple[Section, ...]:
    """Return the sections of a blueprint: the top level first, then its sections in their order."""
    schema = json_schema()
    top = _Reader(schema["definitions"]).section("", schema, Blueprint, title="Top level")
    return (Section(path="", title=top.title, meaning=top.meaning, keys=top.keys, below=()), *top.below)


def keys() -> Iterator[Key]:
    """Yield every key of every section."""

    def of(section: Section) -> Iterator[Key]:
        yield from section.keys
        for below in section.below:
            yield from of(below)

    for section in sections():
        yield from of(section)


def _section_text(section: Section, *, depth: int) -> Iterator[str]:
    title = f"`{section.path}`" if section.path else section.title
    if section.path and section.title:
        title += f" ({section.title})"
    yield f"{_HEADING * min(depth, _DEEPEST)} {title}"
    if section.meaning:
        yield prose(section.meaning)
    yield table(
        ("Key", "Type", "Default", "Example", "Meaning"),
        (
            (
                code(key.path.rpartition(".")[2]),
                prose(key.kind),
                "**required**" if key.required else code(key.default),
                code(key.example),
                prose(key.meaning) + (f" Since {key.since}." if key.since else ""),
            )
            for key in section.keys
        ),
    )
    for below in section.below:
        yield from _section_text(below, depth=depth + 1)


class _Reader:
    """Reads sections out of the schema, with defaults of the models and examples of the shipped blueprints."""

    def __init__(self, definitions: Mapping[str, Node]) -> None:
        self._definitions = definitions
        self._models = {model.__name__: model for model in _models(Blueprint) | _models(SharedWorkload)}
        self._examples = Examples(definitions)

    def section(
        self, path: str, node: Node, model: type[BaseModel] | None, *, title: str = "", kind: str = ""
    ) -> Section:
        """Return a section with everything below it; `kind` is that of the workload that it belongs to."""
        found: list[Key] = []
        below: list[Section] = []
        for name, given in node.get("properties", {}).items():
            at = f"{path}.{name}" if path else name
            parts = list(self._sections_in(given))
            below += self._below(at, parts, kind)
            required = name in node.get("required", [])
            if parts and not self._has_plain_form(given):
                found.append(self._named_section(at, given, parts, required=required))
            else:
                field = model.model_fields.get(name) if model is not None else None
                found.append(self._key(at, given, field, kind, required=required))
        return Section(
            path=path, title=title, meaning=node.get("description", ""), keys=tuple(found), below=tuple(below)
        )

    def _below(self, path: str, parts: list[tuple[str, bool]], kind: str) -> Iterator[Section]:
        for reference, is_list in parts:
            if path.startswith("workloads[]") and reference in _OF_ONE_WORKLOAD:
                continue
            definition = self._definitions[reference]
            own = definition.get("properties", {}).get("kind", {}).get("const", "") if len(parts) > 1 else ""
            yield self.section(
                f"{path}[]" if is_list else path,
                definition,
                self._models.get(reference),
                title=f"kind: {own}" if own else "",
                kind=own or kind,
            )

    def _named_section(self, path: str, given: Node, parts: list[tuple[str, bool]], *, required: bool) -> Key:
        """Return the row that names a section, whose own keys have a table."""
        meanings = (self._definitions[reference].get("description", "").rstrip(".") for reference, _ in parts)
        return Key(
            path=path,
            kind="list of sections" if any(is_list for _, is_list in parts) else "section",
            meaning=given.get("description") or "; or ".join(meanings),
            required=required,
        )

    def _key(self, path: str, given: Node, field: FieldInfo | None, kind: str, *, required: bool) -> Key:
        default = "" if field is None else default_text(field)
        return Key(
            path=path,
            kind=kind_text(given, self._definitions),
            default=default,
            example=self._examples.of(path, given, default, kind),
            meaning=SAID.sub("", given.get("description", "")).removeprefix("; "),
            required=required,
            since=given.get("x-since", ""),
        )

    def _sections_in(self, given: Node) -> Iterator[tuple[str, bool]]:
        """Yield the definitions with keys of their own that a value may be, and whether in a list."""
        for part in alternatives(given, self._definitions):
            is_list = part.get("type") == "array"
            for choice in alternatives(part.get("items", {}), self._definitions) if is_list else (part,):
                reference = reference_of(choice)
                if reference and "properties" in self._definitions[reference]:
                    yield reference, is_list

    def _has_plain_form(self, given: Node) -> bool:
        """Return whether the value may also be a plain one, so that the key has a type of its own."""
        parts = alternatives(given, self._definitions)
        return any("$ref" not in part and part.get("type") not in ("null", "array") for part in parts)


def _models(model: type[BaseModel]) -> set[type[BaseModel]]:
    """Return a model and every one that its fields name."""
    found: set[type[BaseModel]] = set()
    waiting: list[Any] = [model]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in found:
                found.add(kind)
                waiting += [field.annotation for field in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return found
