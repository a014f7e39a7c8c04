"""Objects of Kubernetes as the files have them, each with its place, and values within them by path."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.checks.prove.papers import CellError, Papers
from clusterwright.checks.prove.records import found
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_documents
from clusterwright.errors import Finding

FOLDER = "kubernetes"
_HELP = "write the folder again, or carry the change into the blueprint"
#: Folders of files that no server is given as they are.
_NO_OBJECTS = {"values", "control-plane"}
#: Suffixes of quantities, in bytes or as a count.
_SCALES = {"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
_SCALES |= {"Ti": 2.0**40, "Pi": 2.0**50}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([A-Za-z]*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Object:
    """One object: its file, kind, name and namespace, and its content."""

    file: str
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.body.get("kind", ""))

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.at("metadata.name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace, empty where it says none."""
        return str(self.at("metadata.namespace") or "")

    @property
    def place(self) -> str:
        """File, kind and name, as messages have it."""
        return f"{self.file} {self.kind} {self.name}"

    def at(self, path: str) -> Any:  # noqa: ANN401 - whatever the file has
        """Return the value at a path of keys with dots between, None where there is none."""
        return value_at(self.body, path)


def value_at(body: object, path: str) -> Any:  # noqa: ANN401 - as above
    """Return the value at a path of keys and places in lists, None where there is none."""
    for key in path.split("."):
        if isinstance(body, Mapping):
            body = body.get(key)
        elif isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        else:
            return None
    return body


def values_at(body: object, path: str) -> Iterator[Any]:
    """Yield the values at a path in which `*` stands for every entry of a list."""
    before, star, after = path.partition(".*")
    after, found = after.removeprefix("."), value_at(body, before)
    if star and not after:
        yield from found if isinstance(found, list) else ()
        return
    if not star:
        if found is not None:
            yield found
        return
    for entry in found if isinstance(found, list) else ():
        yield from values_at(entry, after)


def amount(value: object) -> float:
    """Return a quantity such as `251829Gi` or `128` as a number.

    Raises:
        CellError: it is none.
    """
    match = _QUANTITY.fullmatch(str(value))
    if match is None or match[2] not in _SCALES:
        raise CellError(f"{value!r} is no quantity of Kubernetes")
    return float(match[1]) * _SCALES[match[2]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """All objects of a folder, and what their nodes are.

    Attributes:
        papers: plan, catalogue and tables.
        objects: of every file that a server is given.
        values: of charts, by file.
    """

    papers: Papers
    objects: Sequence[Object]
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def of(self, *kinds: str) -> list[Object]:
        """Return the objects of some kinds."""
        return [one for one in self.objects if one.kind in kinds]

    @property
    def hosts(self) -> list[str]:
        """Names of all hosts."""
        return self.papers.documents.design.inventory.hosts()

    @property
    def rails(self) -> int:
        """Compute ports of a host."""
        system, inventory = self.papers.catalogue.systems, self.papers.documents.design.inventory
        return (system[inventory.system].fabric_ports or 0) // inventory.hosts_per_node

    @property
    def gpus(self) -> int:
        """GPUs of a host."""
        inventory = self.papers.documents.design.inventory
        return inventory.gpus // max(1, len(inventory.hosts()))

    @property
    def whole_gpus(self) -> int:
        """GPUs of all hosts that are neither divided nor shared."""
        documents = self.papers.documents
        software, hosts = documents.plan.software_of(documents.option.target), len(self.hosts)
        return self.gpus * hosts if software is None else software.whole_gpus(hosts, gpus=self.gpus)

    @property
    def resources(self) -> dict[str, float]:
        """What a host has for pods, as they ask for it: GPUs and ports, processors, bytes of memory."""
        inventory = self.papers.documents.design.inventory
        system, each = self.papers.catalogue.systems[inventory.system], inventory.hosts_per_node
        threads = (system.cpu_sockets or 0) * (system.cpu_cores_per_socket or 0) * (system.cpu_threads_per_core or 1)
        found_here: dict[str, float] = {"nvidia.com/rail": self.rails}
        found_here |= {f"nvidia.com/rail-{rail}": 1.0 for rail in range(1, self.rails + 1)}
        found_here |= dict.fromkeys(("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi"), float(self.gpus))
        if threads:
            found_here["cpu"] = threads / each
        if system.memory_bytes:
            found_here["memory"] = system.memory_bytes / each
        return found_here


def wrong(id_: str, place: str, what: str, value: object, expected: object, rule: str) -> Finding:  # noqa: PLR0917 - as in `papers`
    """Return a finding that names object, value found, value expected and rule."""
    said = "nothing" if value is None or value == "" else value
    wanted = "nothing" if expected is None or expected == "" else expected
    return found(id_, f"{place}: {what} is {said}, expected {wanted}: {rule}", _HELP)


def read_objects(folder: Path) -> Iterator[Object]:
    """Yield the objects of all files but Helm's values and the settings of the control plane.

    Raises:
        ValueError: a file is no YAML, or holds something that is no object.
    """
    for path in sorted(folder.rglob("*.yaml")):
        name = f"{FOLDER}/{path.relative_to(folder).as_posix()}"
        if path.parent.name not in _NO_OBJECTS:
            yield from (Object(file=name, body=body) for body in read_yaml(path))


def read_values(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the values of charts by file.

    Raises:
        ValueError: a file is no YAML, or holds something that is no object.
    """
    return {
        f"{FOLDER}/{path.relative_to(folder).as_posix()}": body
        for path in sorted(folder.glob("values/*.yaml"))
        for body in read_yaml(path)
    }


def read_yaml(path: Path) -> list[dict[str, Any]]:
    """Return the documents of a file.

    Raises:
        ValueError: it is no YAML, or holds something that is no object.
    """
    try:
        found_in = list(yaml_documents(path.read_text(encoding="utf-8")))
    except YamlTextError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not all(isinstance(entry, dict) for entry in found_in):
        raise ValueError(f"{path.name} holds something that is no object")
    return found_in
