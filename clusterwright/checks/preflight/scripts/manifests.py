"""Kubernetes objects that a project's files hold, and the pods that they ask for."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clusterwright.blueprint.reading.document import parsed
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.scripts.pods import ACCELERATORS, SLICE
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

_SKIPPED = re.compile(
    r"^(tests/|\.github/|policy/|\.)|(^|/)(Pulumi\.[^/]*|node_modules/.*|\.venv[^/]*/.*|monitoring/.*)$"
)
_DOCUMENT_END = re.compile(r"(?m)^---[ \t]*$")
_MOST_DEEP = 12


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One object: file with the number of lines before it, and what it is."""

    file: str
    line: int
    value: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Kind, empty for none."""
        return text(self.value.get("kind"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata, empty for none."""
        return mapping(self.value.get("metadata"))

    @property
    def name(self) -> str:
        """Name, empty for none."""
        return text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        """Namespace; one that is not named is the default one."""
        return text(self.metadata.get("namespace")) or "default"

    @property
    def spec(self) -> Mapping[str, Any]:
        """Specification, empty for none."""
        return mapping(self.value.get("spec"))


@dataclass(frozen=True, kw_only=True)
class Pods:
    """Pods of one kind that an object asks for: how many of them, their metadata and specification."""

    owner: Manifest
    count: int
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """Containers, the first ones too."""
        return [mapping(one) for key in ("containers", "initContainers") for one in items(self.spec.get(key))]

    @property
    def accelerators(self) -> tuple[str, int] | None:
        """Name and number of the accelerators, or slices of them, that a pod asks for, None for none."""
        found: tuple[str, int] | None = None
        for container in self.containers:
            limits = mapping(mapping(container.get("resources")).get("limits"))
            for name in (*ACCELERATORS, *(text(one) for one in limits if text(one).startswith(SLICE))):
                count = whole(limits.get(name))
                if count:
                    found = (name, count + (found[1] if found and found[0] == name else 0))
        return found


def mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - YAML
    """Return a value that is a mapping, an empty one for any other."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:  # noqa: ANN401 - YAML
    """Return a value that is a list, an empty one for any other."""
    return value if isinstance(value, list) else []


def variables_of(container: Mapping[str, Any], held: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the variables of a container whose value is known: its own, and those of the project's ConfigMaps.

    Args:
        container: of a pod.
        held: data of the ConfigMaps by their names.
    """
    found: dict[str, str] = {}
    for source in map(mapping, items(container.get("envFrom"))):
        named = text(mapping(source.get("configMapRef")).get("name"))
        found |= {f"{text(source.get('prefix'))}{key}": text(value) for key, value in held.get(named, {}).items()}
    for entry in map(mapping, items(container.get("env"))):
        asked = mapping(mapping(entry.get("valueFrom")).get("configMapKeyRef"))
        data = held.get(text(asked.get("name")), {})
        if "value" in entry:
            found[text(entry.get("name"))] = text(entry.get("value"))
        elif asked.get("key") in data:
            found[text(entry.get("name"))] = text(data[asked["key"]])
    return found


def manifests(subject: Subject) -> Iterator[Manifest]:
    """Yield every object in the project's files; what is no YAML or a template is none."""
    for name, content in subject.project.files.items():
        if not name.endswith((".yaml", ".yml")) or _SKIPPED.search(name):
            continue
        line = 0
        for part in _DOCUMENT_END.split(content):
            with suppress(ClusterwrightError):
                value = parsed(part, name=name).value
                if isinstance(value, dict) and "kind" in value and "apiVersion" in value:
                    yield Manifest(file=name, line=line, value=value)
            line += part.count("\n")


def pods_of(one: Manifest) -> Iterator[Pods]:
    """Yield the pods that an object asks for: its templates, or itself where it is a pod."""
    if one.kind == "Pod":
        yield Pods(owner=one, count=1, metadata=one.metadata, spec=one.spec)
        return
    yield from _templates(one, one.spec, 1, 0)


def _templates(one: Manifest, value: Any, count: int, depth: int) -> Iterator[Pods]:  # noqa: ANN401 - YAML
    if depth > _MOST_DEEP:
        return
    if isinstance(value, list):
        for item in value:
            yield from _templates(one, item, count, depth + 1)
    if not isinstance(value, Mapping):
        return
    for key in ("completions", "parallelism", "replicas", "size", "numNodes"):
        count = max(count, whole(value.get(key)) or 1)
    spec = mapping(value.get("spec"))
    if isinstance(spec.get("containers"), list):
        yield Pods(owner=one, count=count, metadata=mapping(value.get("metadata")), spec=spec)
        return
    for item in value.values():
        yield from _templates(one, item, count, depth + 1)
