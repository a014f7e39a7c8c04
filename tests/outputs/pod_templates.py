"""Pods within objects of Kubernetes."""

from typing import Any


def pod_templates(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the templates of pods within an object."""
    spec = entry.get("spec", {})
    if entry["kind"] == "LeaderWorkerSet":
        template = spec["leaderWorkerTemplate"]
        return [template[name] for name in ("leaderTemplate", "workerTemplate")]
    return [spec["template"]] if "template" in spec else []
