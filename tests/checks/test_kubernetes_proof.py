"""The proof of Kubernetes files: a written folder holds, and every planted fault is found."""

import csv
import json
import re
import shutil
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.kubernetes.proof import prove_kubernetes
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, Documents
from clusterwright.cli.written import write

BLUEPRINT = """\
name: small
workload: {kind: train, model: llama-2-7b, tokens: 100e9, sequence_length: 2048, global_batch: 512}
targets:
  onprem: {system: dgx-h100, max_nodes: 4, scheduler: kubernetes}
"""

#: The same on Ethernet, where each leaf routes a network of its own.
ROUTED = BLUEPRINT.replace("scheduler: kubernetes", "scheduler: kubernetes, fabric: {kind: roce}")
GPUS = "name: nvidia.com/gpu\n        nominalQuota: "


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small cluster with Kubernetes."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "small.yaml").write_text(BLUEPRINT)
    write.onprem(folder / "small.yaml", folder / "site", None, force=False)
    return folder / "site"


@pytest.fixture
def documents(written: Path, tmp_path: Path) -> Documents:
    """Return a copy of the folder to plant faults in."""
    shutil.copytree(written, tmp_path / "site")
    return read_folder(tmp_path / "site")


def test_a_written_folder_holds(documents: Documents) -> None:
    """Nothing is found; the facts count hosts, GPUs and jobs."""
    result = prove_kubernetes(read_papers(documents))
    assert result is not None
    assert (result.state, result.findings) == (PROVEN, ())
    hosts = documents.design.inventory.nodes
    assert result.facts[0] == f"{hosts:,} hosts with unit and rack; a quota of no more than there is"
    assert result.facts[1].startswith("2 jobs that fit it; ")


def test_nothing_to_prove(documents: Documents) -> None:
    """A folder without Kubernetes files has no such part."""
    shutil.rmtree(documents.site / "kubernetes")
    assert prove_kubernetes(read_papers(documents)) is None


@pytest.mark.parametrize(
    ("file", "old", "new", "expected", "words"),
    [
        ("node-labels.yaml", 'rack: "a01"', 'rack: "b07"', "K8S002", "rack is b07, expected a01"),
        ("node-labels.yaml", '"node001"', '"node009"', "K8S002", "the labels of node001 is nothing"),
        ("node-labels.yaml", "labels:", "labels: [", "K8S001", "node-labels.yaml"),
        ("queues.yaml", f"{GPUS}'", f"{GPUS}'9", "K8S003", "the quota of nvidia.com/gpu is 9"),
        ("jobs/train.yaml", "nvidia.com/gpu: '8'", "nvidia.com/gpu: '9'", "K8S004", "gpu is 9, expected at most 8"),
        ("jobs/train.yaml", "completions: ", "completions: 9", "K8S004", "completions is 9"),
        (
            "kustomization.yaml",
            "- queues.yaml",
            "- https://example.com/queues.yaml",
            "K8S001",
            "names https://example.com",
        ),
        ("kustomization.yaml", "- queues.yaml", "- ../racks.csv", "K8S001", "names ../racks.csv"),
        ("kustomization.yaml", "kind: Kustomization", "kind: Kustomization\ngenerators: [a]", "K8S001", "generators"),
        ("queues.yaml", "kind: ClusterQueue", "sort: ClusterQueue", "K8S005", "clusterQueue is gpu"),
    ],
)
def test_faults(documents: Documents, file: str, old: str, new: str, expected: str, words: str) -> None:  # noqa: PLR0917
    """A wrong label, another host, broken YAML, another quota, a job that is too large, files from elsewhere."""
    path = documents.site / "kubernetes" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    result = prove_kubernetes(read_papers(documents))
    assert result is not None
    assert result.state == NOT_PROVEN
    assert expected in {finding.id for finding in result.findings}
    assert words in " ".join(finding.message for finding in result.findings)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed (Debian: kubernetes-client)")
def test_kustomize_refuses_what_it_cannot_build(documents: Documents) -> None:
    """The same object twice is what only kustomize sees."""
    folder = documents.site / "kubernetes"
    shutil.copy(folder / "namespace.yaml", folder / "again.yaml")
    listed = folder / "kustomization.yaml"
    listed.write_text(listed.read_text() + "- again.yaml\n")
    result = prove_kubernetes(read_papers(documents))
    assert result is not None
    assert "kustomize does not build the folder" in result.findings[0].message


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the same cluster on Ethernet."""
    folder = tmp_path_factory.mktemp("routed")
    (folder / "small.yaml").write_text(ROUTED)
    write.onprem(folder / "small.yaml", folder / "site", None, force=False)
    return folder / "site"


def _objects(folder: Path, name: str) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all((folder / "kubernetes" / name).read_text()))


def test_a_pod_on_ethernet_is_routed_by_its_leaf(routed: Path) -> None:
    """Eight networks, each with its port and its pool: a pair for every node inside the network of its leaf."""
    result = prove_kubernetes(read_papers(read_folder(routed)))
    assert result is not None
    assert (result.state, result.findings) == (PROVEN, ())
    rails = _objects(routed, "network/rails.yaml")
    pools = {one["metadata"]["name"]: one["spec"] for one in rails if one["kind"] == "CIDRPool"}
    assert list(pools) == [f"rail-{rail}" for rail in range(1, 9)]
    plan = csv.DictReader((routed / "ip-plan.csv").read_text().splitlines())
    hosts: dict[str, list[dict[str, str]]] = {}
    for row in plan:
        if row["network"].startswith("compute "):
            hosts.setdefault(row["device"], []).append(row)
    taken = {IPv4Address(row["address"]) for rows in hosts.values() for row in rows}
    for rail, pool in enumerate(pools.values(), start=1):
        assert len(pool["staticAllocations"]) == len(hosts)
        for one in pool["staticAllocations"]:
            port = hosts[one["nodeName"]][rail - 1]
            pair = IPv4Network(one["prefix"])
            assert pair.subnet_of(IPv4Network(f"{port['address']}/{port['prefix_length']}", strict=False))
            assert not taken & set(pair)
            taken |= set(pair)
            leaf = routed / "provisioning" / "switches" / "nvue" / f"{port['network'].removeprefix('compute ')}.txt"
            assert f"ip address {one['gateway']}/31\n" in leaf.read_text()
            assert pair[0] == IPv4Address(one["gateway"])
    (policy,) = _objects(routed, "network/nic-cluster-policy.yaml")
    offered = json.loads(policy["spec"]["sriovDevicePlugin"]["config"])["resourceList"]
    assert [one["selectors"]["pfNames"] for one in offered] == [[f"rail{rail}"] for rail in range(1, 9)]
    page = (routed / "kubernetes" / "README.md").read_text()
    assert "Verbs do not use" not in page
    assert "linkTypes" not in page
    (job,) = (one for one in _objects(routed, "jobs/train.yaml") if one["kind"] == "Job")
    template = job["spec"]["template"]
    networks = template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
    limits = template["spec"]["containers"][0]["resources"]["limits"]
    assert [f"nvidia.com/{name}" for name in networks] == [name for name in limits if "/rail" in name]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("rails.yaml", (r"(?<=prefix: )[\d.]+(?=/31)", "10.128.0.0"), "expected a part of"),
        ("rails.yaml", (r"(?<=gateway: )[\d.]+", "10.128.0.1"), "does not set it"),
        ("rails.yaml", (r"(?<=nodeName: )node001", "node009"), "the prefix of node001 is nothing"),
        ("rails.yaml", (r', \{"type": "sbr"\}', ""), "plugins is no sbr"),
        ("rails.yaml", (r'"poolName":\s+"rail-2"', '"poolName": "rail-3"'), "resourceName is nvidia.com/rail-2"),
        ("nic-cluster-policy.yaml", (r',\s+"pfNames":\s+\["rail1"\]', ""), "what tells rail-1 apart is nothing"),
    ],
)
def test_faults_of_routed_rails(routed: Path, tmp_path: Path, file: str, change: tuple[str, str], words: str) -> None:
    """Addresses outside the leaf's network, of no gateway or of no node, and a selector that takes every port."""
    pattern, new = change
    shutil.copytree(routed, tmp_path / "site")
    path = tmp_path / "site" / "kubernetes" / "network" / file
    changed, count = re.subn(pattern, new, path.read_text(), count=1)
    assert count == 1
    path.write_text(changed)
    result = prove_kubernetes(read_papers(read_folder(tmp_path / "site")))
    assert result is not None
    assert words in " ".join(finding.message for finding in result.findings if finding.id == "K8S007")
