"""Manifests against what clusters take: custom resources by their fields, pods by the level "restricted"."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from ruamel.yaml import YAML

_FILE = Path(__file__).with_name("custom_resources.yaml")
#: What Pod Security lets pods of the level "restricted" mount (kubernetes.io, "Pod Security Standards").
_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


@cache
def custom_kinds() -> dict[str, dict[str, Any]]:
    """Return apiVersion and schema of each custom kind."""
    found: dict[str, dict[str, Any]] = YAML(typ="safe").load(_FILE)
    for one in found.values():
        _close(one["spec"])
    return found


def _close(schema: object) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            _close(part)
    elif isinstance(schema, list):
        for part in schema:
            _close(part)


def custom_fault(entry: dict[str, Any]) -> str:
    """Return what is wrong with an object of a custom kind; empty for nothing."""
    kind = custom_kinds()[entry["kind"]]
    if entry["apiVersion"] != kind["apiVersion"]:
        return f"apiVersion {entry['apiVersion']}"
    if entry.keys() - {"apiVersion", "kind", "metadata", "spec"}:
        return f"keys {sorted(entry)}"
    try:
        jsonschema.validate(entry["spec"], kind["spec"])
    except jsonschema.ValidationError as error:
        return f"{'.'.join(str(part) for part in error.path)}: {error.message}"
    return ""


def pod_templates(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the templates of pods within an object."""
    spec = entry.get("spec", {})
    if entry["kind"] == "LeaderWorkerSet":
        template = spec["leaderWorkerTemplate"]
        return [template[name] for name in ("leaderTemplate", "workerTemplate")]
    return [spec["template"]] if "template" in spec else []


def unrestricted(spec: dict[str, Any]) -> Iterator[str]:
    """Yield what the level "restricted" of Pod Security forbids in a pod."""
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))
    yield from (one["name"] for one in spec.get("volumes", ()) if one.keys() - {"name"} - _VOLUMES)
    pod = spec.get("securityContext", {})
    for one in [*spec.get("initContainers", ()), *spec["containers"]]:
        yield from _rights(one, {**pod, **one.get("securityContext", {})})


def _rights(one: dict[str, Any], own: dict[str, Any]) -> Iterator[str]:
    """Yield what a container may not have; its own context wins over the pod's."""
    if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
        yield f"{one['name']}: allowPrivilegeEscalation"
    if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add", []) not in (
        [],
        ["NET_BIND_SERVICE"],
    ):
        yield f"{one['name']}: capabilities"
    if own.get("runAsNonRoot") is not True or own.get("runAsUser") == 0:
        yield f"{one['name']}: runAsNonRoot"
    if own.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield f"{one['name']}: seccompProfile"
    if any("hostPort" in port for port in one.get("ports", ())):
        yield f"{one['name']}: hostPort"
