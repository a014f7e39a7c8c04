"""The proof of Kubernetes files: a written folder holds, and every planted fault is found."""

import shutil
from pathlib import Path

import pytest

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
