"""Proof of the Kubernetes files: kustomize builds them, objects name what is there and ask for what there is."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from clusterwright.checks.prove.kubernetes import control_plane, links, network, nodes, pods, queues
from clusterwright.checks.prove.kubernetes.objects import FOLDER, Cluster, read_objects, read_values, read_yaml
from clusterwright.checks.prove.papers import CellError, Papers, summed
from clusterwright.checks.prove.records import Result, found, judged
from clusterwright.errors import Finding

PART = "Kubernetes"
_TIMEOUT_S = 60
_HELP = "write the folder again, or carry the change into the blueprint"
_RULES: tuple[Callable[[Cluster], Iterator[Finding]], ...] = (
    nodes.labels,
    nodes.kinds,
    queues.quota,
    queues.named,
    queues.volumes,
    queues.tenants,
    network.ports,
    network.addresses,
    network.releases,
    network.drivers,
    pods.fitting,
    pods.joined,
    pods.placed,
    pods.started,
    pods.tolerated,
    links.names,
    links.selected,
    links.drained,
    links.ports_of_services,
    links.probed,
    links.held,
    control_plane.endpoints,
    control_plane.ranges,
    control_plane.kubelets,
    control_plane.reserved,
    control_plane.page,
    control_plane.slices,
    queues.shares,
    nodes.shared,
)


def prove_kubernetes(papers: Papers) -> Result | None:
    """Return what holds of a folder's Kubernetes files; None where it has none."""
    documents = papers.documents
    folder = documents.site / FOLDER
    if not folder.is_dir():
        return None
    paths = sorted(path for path in folder.rglob("*.yaml") if path.is_file())
    names = tuple(documents.name(path) for path in paths)
    engine = "kubectl kustomize" if shutil.which("kubectl") else "comparison with the plan; kubectl is not installed"
    try:
        cluster = Cluster(papers=papers, objects=list(read_objects(folder)), values=read_values(folder))
        findings = [*_kustomized(folder), *(said for rule in _RULES for said in _ruled(rule, cluster))]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"the files are not as they were written: {type(error).__name__}: {error}"
        return judged(PART, names, engine, [], [found("K8S001", problem, _HELP)])
    facts = [
        f"{len(cluster.hosts):,} hosts with unit and rack; a quota of no more than there is",
        (
            f"{len(cluster.of('Job'))} jobs that fit it; {len(cluster.objects):,} objects name namespaces, claims, "
            "queues, labels and networks that are there"
        ),
    ]
    return judged(PART, names, engine, facts, summed(findings))


def _ruled(rule: Callable[[Cluster], Iterator[Finding]], cluster: Cluster) -> Iterator[Finding]:
    try:
        yield from rule(cluster)
    except CellError as error:
        yield found("K8S001", error.message, _HELP)


def _kustomized(folder: Path) -> Iterator[Finding]:
    """Build the folder, unless it names something other than files beside it, which kustomize would fetch."""
    (names,) = read_yaml(folder / "kustomization.yaml")
    resources = names.get("resources", [])
    foreign = [name for name in resources if not (folder / name).is_file() or Path(name).name != name]
    if names.keys() != {"apiVersion", "kind", "resources"} or foreign:
        what = f"names {foreign[0]}" if foreign else f"has {', '.join(sorted(names))}"
        yield found("K8S001", f"kustomization.yaml {what}, expected files beside it alone", _HELP)
        return
    beside = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml", "node-labels.yaml"}
    for name in sorted(beside - set(resources)):
        yield found(
            "K8S001", f"kustomization.yaml: {name} is nothing, expected a resource: nobody applies it else", _HELP
        )
    program = shutil.which("kubectl")
    if program is None:
        return
    done = subprocess.run(  # noqa: S603 - kubectl reads a folder and prints; it asks no server
        [program, "kustomize", str(folder)], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:]
        yield found("K8S001", f"kustomize does not build the folder: {''.join(said)}", _HELP)
