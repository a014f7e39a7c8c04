"""An API server of Kubernetes on loopback: what it takes of manifests, what it refuses, and in which words.

Objects go to it as `kubectl apply --server-side --dry-run=server --validate=strict` sends them: unknown and double keys
are refused, defaults are set, everything is validated and goes through admission, and nothing is kept.
"""

import csv
import http.client
import io
import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets

ROOT = assets.root()
_FOLDER = Path(__file__).with_name("kubernetes")
#: What the build leaves (tests/engines/kubernetes/build.sh).
_BUILT = ROOT / "build" / "engines" / "bin"
_MANAGER = "manifests"
_PATIENCE_S = 60
#: Kinds that later objects of a folder need: kept in the server, not only tried.
KEPT = ("Namespace", "ServiceAccount")
Object = dict[str, Any]


def program(name: str) -> Path | None:
    """Return a program of Kubernetes: the one that was built here, else the one on the path, else None."""
    built, installed = _BUILT / name, shutil.which(name)
    return built if built.exists() else Path(installed) if installed else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Definitions:
    """A module in one release, and its definitions of custom resources: files within it."""

    module: str
    version: str
    sum: str
    files: tuple[str, ...]


def definitions() -> tuple[Definitions, ...]:
    """Return the table of modules."""
    with (_FOLDER / "custom_resources.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(
            Definitions(
                module=row["module"],
                version=row["version"],
                sum=row["sum"],
                files=tuple(f"{row['folder']}/{name}" for name in row["definitions"].split()),
            )
            for row in csv.DictReader(stream)
        )


def definition_texts(folder: Path) -> list[str]:
    """Return every definition, from Go's module cache and from what is written here; nothing is fetched.

    Args:
        folder: any without a module of Go.

    Raises:
        LookupError: a module is not in the cache, or is not the one whose check-sum the table has.
    """
    wanted = definitions()
    done = subprocess.run(
        ["go", "mod", "download", "-json", *(f"{one.module}@{one.version}" for one in wanted)],
        cwd=folder,
        env=os.environ | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {one["Path"]: one for one in _values(done.stdout)}
    texts = documents((_FOLDER / "documented_resources.yaml").read_text(encoding="utf-8"))
    for one in wanted:
        module = found.get(one.module, {})
        if "Dir" not in module:
            raise LookupError(f"{one.module}@{one.version} is not in Go's module cache: make engine fetches it")
        if module["Sum"] != one.sum:
            raise LookupError(f"{one.module}@{one.version} has the check-sum {module['Sum']}, not {one.sum}")
        texts += [(Path(module["Dir"]) / name).read_text(encoding="utf-8") for name in one.files]
    return texts


def _values(text: str) -> Iterator[Object]:
    """Yield the JSON values of a text that has one after the other."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]


def documents(text: str) -> list[str]:
    """Return the documents of a YAML stream as they are written."""
    parts = re.split(r"^---\s*$", text, flags=re.MULTILINE)
    return [part for part in parts if any(line.strip() and not line.startswith("#") for line in part.splitlines())]


def read(text: str) -> Object:
    """Return an object as read."""
    value: Object = YAML(typ="safe").load(io.StringIO(text))
    return value


@dataclass(frozen=True, kw_only=True)
class ApiServer:
    """The server, asked as an administrator.

    Attributes:
        port: on loopback; token: of the administrator; certificate: file with the server's own, which signs itself.
        kubeconfig: file by which kubectl reaches it.
    """

    port: int
    token: str
    certificate: Path
    kubeconfig: Path
    _kinds: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict, repr=False)

    def ask(self, method: str, path: str, body: str = "", *, content: str = "application/json") -> tuple[int, Any]:
        """Return status and body of an answer."""
        context = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=_PATIENCE_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content, "Accept": "application/json"}
        try:
            connection.request(method, path, body.encode() or None, headers)
            answer = connection.getresponse()
            said = answer.read().decode()
        finally:
            connection.close()
        return answer.status, json.loads(said) if said.startswith("{") else said

    def refusal(self, manifest: str | Object, *, keep: bool = False) -> str:
        """Return why an object is refused, empty where the server takes it.

        Args:
            manifest: one object, as it is written or as data.
            keep: whether the server keeps it.
        """
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        entry = read(text) if isinstance(manifest, str) else manifest
        named = f"{entry['kind']} {entry['metadata']['name']}"
        kind = self._kind(entry["apiVersion"], entry["kind"])
        if kind is None:
            return f"{named}: the server has no kind {entry['kind']} in {entry['apiVersion']}"
        resource, namespaced = kind
        within = entry["metadata"].get("namespace", "")
        if namespaced != bool(within):
            return f"{named}: {'no namespace is named' if namespaced else 'it is in no namespace'}"
        place = f"/namespaces/{within}" if namespaced else ""
        path = f"{_group(entry['apiVersion'])}{place}/{resource}/{entry['metadata']['name']}"
        query = f"fieldManager={_MANAGER}&force=true&fieldValidation=Strict" + ("" if keep else "&dryRun=All")
        status, answer = self.ask("PATCH", f"{path}?{query}", text, content="application/apply-patch+yaml")
        return "" if status < http.HTTPStatus.BAD_REQUEST else f"{named}: {_message(answer)}"

    def _kind(self, version: str, kind: str) -> tuple[str, bool] | None:
        """Return a kind's name in addresses and whether it is in namespaces, None where there is no such kind."""
        if (version, kind) not in self._kinds:
            status, answer = self.ask("GET", _group(version))
            if status != http.HTTPStatus.OK:
                return None
            for one in answer["resources"]:
                if "/" not in one["name"]:
                    self._kinds[version, one["kind"]] = one["name"], one["namespaced"]
        return self._kinds.get((version, kind))

    def refusals(self, manifests: Iterable[str | Object]) -> list[str]:
        """Return what the server refuses of objects in their order; namespaces and accounts are kept."""
        found = []
        for one in manifests:
            entry = read(one) if isinstance(one, str) else one
            said = self.refusal(one, keep=entry["kind"] in KEPT)
            found += [said] if said else []
            if entry["kind"] == "Namespace" and not said:
                # A controller would make it, and no pod is admitted before.
                self.keep_account("default", entry["metadata"]["name"])
        return found

    def keep_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Keep a namespace and its default account."""
        found = self.refusals([{"apiVersion": "v1", "kind": "Namespace", "metadata": _labelled(name, labels)}])
        assert found == []

    def keep_account(self, name: str, namespace: str) -> None:
        """Keep a service account."""
        entry = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        assert self.refusal(entry, keep=True) == ""


def _labelled(name: str, labels: Mapping[str, str] | None) -> Object:
    return {"name": name, "labels": dict(labels or {})}


def _group(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _message(answer: Any) -> str:  # noqa: ANN401 - JSON, or text
    return str(answer.get("message", answer)) if isinstance(answer, dict) else str(answer)
