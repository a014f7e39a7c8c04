"""The planner's form: fields made from the blueprint's schema, in the order in which people decide.

A field is a value that can be typed into one line. Lists of sections and maps stay in the text of the blueprint.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from clusterwright.blueprint.schema import json_schema

#: Who fills in which sections of the blueprint: the title of the step, what it asks, and the sections.
STEPS = (
    ("Workload", "What runs", ("name", "description", "workload", "traffic", "data")),
    ("Goal", "What it must achieve", ("goals", "replicas", "reliability")),
    ("Targets", "Where it may run", ("targets", "cluster", "tenants", "software", "site", "storage")),
    ("Money", "How it is counted", ("economics", "tco")),
)
#: Fields that are always shown; the others of a section are folded away.
SHOWN = frozenset(
    (
        "name",
        "workload.model",
        "workload.tokens",
        "workload.sequence_length",
        "workload.global_batch",
        "workload.precision",
        "workload.method",
        "workload.data.samples",
        "workload.data.mean_tokens",
        "traffic.users",
        "traffic.requests_per_s",
        "traffic.think_time",
        "traffic.input_tokens.mean",
        "traffic.input_tokens.p95",
        "traffic.output_tokens.mean",
        "traffic.output_tokens.p95",
        "goals.finish_within",
        "goals.confidence",
        "goals.first_token",
        "goals.time_per_token",
        "goals.percentile",
        "targets.aws.instance",
        "targets.aws.region",
        "targets.azure.instance",
        "targets.azure.region",
        "targets.gcp.instance",
        "targets.gcp.region",
        "targets.onprem.system",
        "targets.aws.allowed_instances",
        "targets.gcp.allowed_instances",
        "targets.onprem.allowed_systems",
        "site.power_price",
        "economics.horizon",
        "economics.utilisation",
        "economics.discount_rate",
        "economics.budget",
    )
)
KINDS = ("train", "finetune", "serve")
#: Sections of one kind of workload alone.
_OF_KIND = {"traffic": "serve", "replicas": "serve"}
#: Keys that name files of the machine that plans, which a request may not.
_FILES = frozenset(("targets.onprem.parts", "traffic.trace"))
_DEFINITIONS = "#/definitions/"
#: How a description says of which kinds of workload a key is, where not of all, and what a value looks like.
_ALONE = re.compile(rf"((?:{'|'.join(KINDS)})(?:, (?:{'|'.join(KINDS)}))*): ")
_EXAMPLE = re.compile(r", for example ([^,;]+)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One line of the form.

    Attributes:
        path: in the blueprint, dotted; kind: of workload that has it, several apart by a space, empty if all.
        form: `text`, `number`, `list` or `choice`; choices: of a choice.
        words: the schema's description; example: what is there by default, or could.
        shown: not folded away.
    """

    path: str
    kind: str
    form: str
    words: str
    example: str
    choices: tuple[str, ...] = ()
    shown: bool = False

    @property
    def label(self) -> str:
        """Return the last parts of the path as words."""
        parts = self.path.split(".")
        return " ".join(parts[-1:] if len(parts) < 4 else parts[-2:]).replace("_", " ")  # noqa: PLR2004 - nested deeply

    @property
    def identity(self) -> str:
        """Return what the field is called in the page: the same path is there once for each kind."""
        return f"{self.kind}-{self.path}".strip("-").replace(".", "-").replace(" ", "-")


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Fields of one section (a target counts as one), those shown first."""

    title: str
    section: str
    kind: str
    fields: tuple[Field, ...]
    optional: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one role fills in."""

    title: str
    asks: str
    groups: tuple[Group, ...]


@cache
def steps() -> tuple[Step, ...]:
    """Return the form, made from the schema once."""
    schema = json_schema()
    definitions: Mapping[str, Any] = schema["definitions"]
    return tuple(
        Step(
            title=title,
            asks=asks,
            groups=tuple(
                group
                for name in sections
                for group in _groups(name, schema["properties"][name], definitions)
                if group.fields
            ),
        )
        for title, asks, sections in STEPS
    )


def fields() -> Iterator[Field]:
    """Return every field of the form."""
    return (found for step in steps() for group in step.groups for found in group.fields)


def _groups(name: str, node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Group]:
    if name == "workload":
        for each in node["oneOf"]:
            of_kind = _target(each, definitions)
            kind = str(of_kind["properties"]["kind"]["const"])
            yield _group(kind, "workload", of_kind, definitions, kind=kind)
        return
    section = _section(node, definitions)
    if section is None:
        found = _leaf(name, node, "")
        yield Group(title="", section=name, kind="", fields=() if found is None else (found,))
    elif name == "targets":
        for target, inside in section["properties"].items():
            of_target = _section(inside, definitions)
            if of_target is not None:
                kind, _ = _kind_of(inside)
                yield _group(target, f"targets.{target}", of_target, definitions, kind=kind, optional=True)
    else:
        yield _group(name, name, section, definitions, kind=_OF_KIND.get(name, ""))


def _group(
    title: str,
    path: str,
    section: Mapping[str, Any],
    definitions: Mapping[str, Any],
    *,
    kind: str,
    optional: bool = False,
) -> Group:
    found = [entry for entry in _walk(path, section, definitions, kind) if entry.path not in _FILES]
    found.sort(key=lambda entry: not entry.shown)
    return Group(title=title, section=path, kind=kind, fields=tuple(found), optional=optional)


def _walk(path: str, section: Mapping[str, Any], definitions: Mapping[str, Any], kind: str) -> Iterator[Field]:
    for name, node in section["properties"].items():
        if (path, name) == ("workload", "kind"):
            continue
        here = f"{path}.{name}"
        inside = _section(node, definitions)
        # A section that a number may stand for is one field, unless its own are always shown.
        whole = inside is not None and any(f"{here}.{key}" in SHOWN for key in inside["properties"])
        found = None if whole else _leaf(here, node, kind)
        if found is not None:
            yield found
        elif inside is not None:
            yield from _walk(here, inside, definitions, kind)


def _forms(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    forms = node.get("anyOf") or node.get("oneOf") or node.get("allOf") or [node]
    return [form for form in forms if form.get("type") != "null"]


def _leaf(path: str, node: Mapping[str, Any], kind: str) -> Field | None:
    """Return the field of a value, None where it is a section or takes more than a line."""
    forms = _forms(node)
    alone, words = _kind_of(node)
    choices = [str(choice) for form in forms for choice in form.get("enum", [form["const"]] if "const" in form else [])]
    types = {str(form.get("type", "")) for form in forms if "enum" not in form and "const" not in form}
    examples = [example for form in (node, *forms) for example in form.get("examples", ())]
    usual = node.get("default")
    example = _words(usual) if usual is not None and not isinstance(usual, dict | list) else ""
    in_words = _EXAMPLE.search(words)
    example = example or (in_words[1] if in_words else next((str(entry) for entry in examples), ""))
    if types == {"boolean"}:
        form, choices = "choice", ["true", "false"]
    elif choices and not types:
        form = "choice"
    elif any(entry.get("type") == "array" and entry.get("items", {}).get("type") == "string" for entry in forms):
        form = "list"
    elif types & {"number", "integer"} and "string" not in types:
        form = "number"
    elif types & {"string", "number", "integer"} or choices:
        form = "text"
    else:
        return None
    return Field(
        path=path,
        kind=kind or alone,
        form=form,
        words=words,
        example=example,
        choices=tuple(choices) if form == "choice" else (),
        shown=path in SHOWN,
    )


def _kind_of(node: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kinds of workload that have a key, empty if all have it, and the rest of its description."""
    words = str(node.get("description", ""))
    alone = _ALONE.match(words)
    return (alone[1].replace(",", ""), words[alone.end() :]) if alone else ("", words)


def _words(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _section(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the section that a node refers to, alone or where it may be left out; None for anything else."""
    found = [_target(form, definitions) for form in _forms(node) if str(form.get("$ref", "")).startswith(_DEFINITIONS)]
    sections = [entry for entry in found if "properties" in entry]
    return sections[0] if len(sections) == 1 else None


def _target(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    target: Mapping[str, Any] = definitions[str(node["$ref"]).removeprefix(_DEFINITIONS)]
    return target
