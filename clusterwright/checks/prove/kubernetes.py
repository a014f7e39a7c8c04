"""Proof of the Kubernetes files: kustomize builds them, and labels, quota and jobs are those of the plan."""

import csv
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clusterwright.checks.prove.records import Documents, Result, found, judged
from clusterwright.errors import Finding

PART = "Kubernetes"
FOLDER = "kubernetes"
_UNIT, _RACK = "topology.gpu-cluster/unit", "topology.gpu-cluster/rack"
_TIMEOUT_S = 60
#: Folders of files that no server is given as they are.
_NO_OBJECTS = {"values", "control-plane"}
_HELP = "write the folder again, or carry the change into the blueprint"


def prove_kubernetes(documents: Documents) -> Result | None:
    """Return what holds of a folder's Kubernetes files; None where it has none."""
    folder = documents.site / FOLDER
    if not folder.is_dir():
        return None
    paths = sorted(path for path in folder.rglob("*.yaml") if path.is_file())
    names = tuple(documents.name(path) for path in paths)
    engine = "kubectl kustomize" if shutil.which("kubectl") else "comparison with the plan; kubectl is not installed"
    try:
        objects = [entry for path in paths if path.parent.name not in _NO_OBJECTS for entry in _read(path)]
        findings = [*_kustomized(folder), *_labels(documents, objects), *_quota(documents, objects)]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"the files are not as they were written: {type(error).__name__}: {error}"
        return judged(PART, names, engine, [], [found("K8S001", problem, _HELP)])
    inventory = documents.design.inventory
    facts = [
        f"{len(inventory.hosts()):,} hosts with unit and rack; a quota of {inventory.gpus:,} GPUs",
        f"{sum(entry.get('kind') == 'Job' for entry in objects)} jobs that fit it",
    ]
    return judged(PART, names, engine, facts, findings)


def _read(path: Path) -> list[dict[str, Any]]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where it is read
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        found_in = list(YAML(typ="safe").load_all(path.read_text(encoding="utf-8")))
    except YAMLError as error:
        raise ValueError(f"{path.name}: {' '.join(str(error).split())}") from None
    if not all(isinstance(entry, dict) for entry in found_in):
        raise ValueError(f"{path.name} holds something that is no object")
    return found_in


def _kustomized(folder: Path) -> Iterator[Finding]:
    """Build the folder; one that names more than files beside it is not built, since kustomize would fetch it."""
    (names,) = _read(folder / "kustomization.yaml")
    resources = names.get("resources", [])
    foreign = [name for name in resources if not (folder / name).is_file() or Path(name).name != name]
    if names.keys() != {"apiVersion", "kind", "resources"} or foreign:
        what = f"names {foreign[0]}" if foreign else f"has {', '.join(sorted(names))}"
        yield found("K8S001", f"kustomization.yaml {what}; ours names files beside it", _HELP)
        return
    program = shutil.which("kubectl")
    if program is None:
        return
    done = subprocess.run(  # noqa: S603 - kubectl reads a folder and prints; it asks no server
        [program, "kustomize", str(folder)], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:]
        yield found("K8S001", f"kustomize does not build the folder: {''.join(said)}", _HELP)


def _labels(documents: Documents, objects: list[dict[str, Any]]) -> Iterator[Finding]:
    """Compare the labels of hosts with the fabric's units and with racks.csv."""
    with (documents.site / "racks.csv").open(encoding="utf-8", newline="") as stream:
        racks = {row["device"]: row["rack"].lower() for row in csv.DictReader(stream)}
    planned = {
        host: (unit, racks.get(host, "")) for unit, hosts in documents.design.inventory.node_groups() for host in hosts
    }
    written = {
        entry["metadata"]["name"]: (entry["metadata"]["labels"].get(_UNIT), entry["metadata"]["labels"].get(_RACK))
        for entry in objects
        if entry["kind"] == "Node"
    }
    wrong = sorted(host for host in planned.keys() | written.keys() if planned.get(host) != written.get(host))
    if wrong:
        host = wrong[0]
        told = f"{host} has {_words(written.get(host))}, planned is {_words(planned.get(host))}"
        yield found("K8S002", f"{len(wrong):,} hosts differ in unit or rack: {told}", _HELP)


def _words(place: tuple[str | None, str | None] | None) -> str:
    return "no labels" if place is None else " ".join(str(part) for part in place)


def _not_whole(documents: Documents, each: int) -> int:
    """Return GPUs that are divided or shared, which the quota of whole ones leaves out."""
    software = documents.plan.software_of(documents.option.target)
    hosts = len(documents.design.inventory.hosts())
    if software is None:
        return 0
    return software.divided_of(hosts) * software.divided_gpus + software.shared_of(hosts) * each


def _quota(documents: Documents, objects: list[dict[str, Any]]) -> Iterator[Finding]:
    """Compare the quota with the plan's GPUs, and what jobs ask for with the quota."""
    quota = Counter[str]()
    for entry in objects:
        if entry["kind"] == "ClusterQueue":
            for group in entry["spec"]["resourceGroups"]:
                for flavor in group["flavors"]:
                    for resource in flavor["resources"]:
                        quota[resource["name"]] += int(str(resource["nominalQuota"]).removesuffix("Gi"))
    inventory = documents.design.inventory
    gpus = next((amount for name, amount in quota.items() if name.endswith(("/gpu", "/gaudi"))), None)
    each = inventory.gpus // len(inventory.hosts())
    whole = inventory.gpus - _not_whole(documents, each)
    if gpus != whole:
        yield found("K8S003", f"the quota is {gpus} GPUs, the plan has {whole:,}", _HELP)
    for job in (entry for entry in objects if entry["kind"] == "Job"):
        limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        asked = next((int(amount) for name, amount in limits.items() if name.endswith(("/gpu", "/gaudi"))), 0)
        pods = int(job["spec"]["completions"])
        if asked > each or pods > len(inventory.hosts()):
            yield found(
                "K8S004",
                f"{job['metadata']['name']} asks for {pods:,} hosts with {asked} GPUs, the plan has "
                f"{len(inventory.hosts()):,} with {each}",
                _HELP,
            )
