"""Prefill and decode apart: an untouched folder is proven, and a fault in either pool is found where it is."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.kubernetes.proof import prove_kubernetes
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, Result
from clusterwright.interface.planning import plan

_APART = ["workload.options={disaggregated: always}", "targets.onprem.allowed_systems=[dgx-h100]", "traffic.users=1000"]
_KUBERNETES = [*_APART, "targets.onprem.scheduler=kubernetes"]
#: By name: what is set beside, on premises.
_FOLDERS = {
    "vllm": _KUBERNETES,
    "sglang": [*_KUBERNETES, "workload.framework=sglang"],
    "slurm": [*_APART, "targets.onprem.scheduler=slurm"],
    "even": [*_KUBERNETES, "traffic.peak_over_mean=1"],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of each case."""
    found = {}
    for name, values in _FOLDERS.items():
        found[name] = tmp_path_factory.mktemp(name)
        plan(assets.root() / "blueprints" / "serve-llama3-70b.yaml", on="onprem", overrides=values).onprem(found[name])
    return found


def proven(folder: Path) -> list[Result]:
    """Return what holds of a folder's documents and of its objects of Kubernetes."""
    papers = read_papers(read_folder(folder))
    objects = prove_kubernetes(papers)
    return [*prove_site(papers), *([] if objects is None else [objects])]


@pytest.mark.parametrize("name", _FOLDERS)
def test_an_untouched_folder_is_proven(written: dict[str, Path], name: str) -> None:
    """Of the service and of the objects nothing is found, and both pools were looked at."""
    results = {one.part: one for one in proven(written[name])}
    said = [finding.message for one in results.values() for finding in one.findings]
    assert not said
    assert results["service"].state == PROVEN
    assert not [one for one in results.values() if one.state == NOT_PROVEN]
    assert any("that prefill" in fact for fact in results["service"].facts)


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of a file: what is put in the place of what, in the given occurrence, and the code that says so."""

    folder: str
    file: str
    old: str
    new: str
    code: str
    at: int = 0


_R, _S, _W = "kubernetes/serving/replicas.yaml", "kubernetes/serving/scaling.yaml", "kubernetes/serving/service.yaml"
_ROUTER, _PAGE = "kubernetes/serving/router.yaml", "kubernetes/serving/README.md"
FAULTS = {
    "replicas that prefill": Fault("vllm", _R, r"replicas: \d+", "replicas: 2", "SVC001"),
    "replicas that decode": Fault("vllm", _R, r"replicas: \d+", "replicas: 2", "SVC001", 1),
    "GPUs of a worker that prefills": Fault("vllm", _R, r"nvidia.com/gpu: \d+", "nvidia.com/gpu: 8", "SVC001"),
    "GPUs of a worker that decodes": Fault("vllm", _R, r"nvidia.com/gpu: \d+", "nvidia.com/gpu: 8", "SVC001", 1),
    "connector of a worker that prefills": Fault("vllm", _R, r"--kv-transfer-config\n", "--enforce-eager\n", "SVC002"),
    "connector of a worker that decodes": Fault(
        "vllm", _R, r"--kv-transfer-config\n", "--enforce-eager\n", "SVC002", 1
    ),
    "role of a worker that prefills": Fault("sglang", _R, r"- prefill\n", "- decode\n", "SVC002"),
    "role of a worker that decodes": Fault("sglang", _R, r"- decode\n", "- prefill\n", "SVC002"),
    "parallel size of a worker": Fault("sglang", _R, r"(tensor-parallel-size\n +- ')\d+", r"\g<1>3", "SVC002"),
    "lengths of a worker that decodes": Fault("vllm", _R, r"(max-model-len\n +- ')\d+", r"\g<1>512", "SVC002", 1),
    "port of the handshake": Fault("vllm", _R, r"containerPort: 5600", "containerPort: 5601", "SVC005", 1),
    "port of the bootstrap": Fault("sglang", _R, r"- '8998'", "- '8999'", "SVC005"),
    "bound of the workers that prefill": Fault("vllm", _S, r"maxReplicaCount: \d+", "maxReplicaCount: 1", "SVC001"),
    "bound of the workers that decode": Fault("vllm", _S, r"minReplicaCount: \d+", "minReplicaCount: 99", "SVC001", 1),
    "load of the workers that prefill": Fault("vllm", _S, r"threshold: '[\d.]+'", "threshold: '900'", "SVC001"),
    "figures of the other pool": Fault("vllm", _S, r"70b-decode-\.", "70b-prefill-.", "SVC003"),
    "the other pool is scaled": Fault(
        "vllm", _S, r"(apps/v1\n    kind: Deployment\n    name: serve-llama3-70b)-prefill", r"\1-decode", "SVC001"
    ),
    "rule of the handing over": Fault("vllm", _W, r"component: decode(?=\n  egress)", "component: nobody", "SVC005"),
    "rule of a port": Fault("vllm", _W, r"port: 8000", "port: 8001", "K8S005", 1),
    "budget of the workers that decode": Fault(
        "vllm", _W, r"(PodDisruptionBudget(?:\n.*?)*?component): decode(?=\n---)", r"\1: decodes", "K8S005"
    ),
    "labels that the router finds": Fault("vllm", _ROUTER, r"component=decode", "component=prefill", "SVC005"),
    "port that the router asks": Fault("vllm", _ROUTER, r"(discovery-port\n +- ')8000", r"\g<1>8080", "SVC005"),
    "namespace that the router looks in": Fault(
        "vllm", _ROUTER, r"(discovery-namespace\n +- )\S+", r"\1default", "SVC005"
    ),
    "address of the service": Fault(
        "vllm",
        _ROUTER,
        r"(selector:\n    app.kubernetes.io/name: serve-llama3-70b\n    app\S+ )router",
        r"\1engine",
        "K8S005",
    ),
    "what the page says of a pool": Fault(
        "vllm", _PAGE, r"KEDA: (\d+) to \d+ workers that decode", r"KEDA: \1 to 1 workers that decode", "SVC001"
    ),
    "what the page says of a pool that keeps its size": Fault(
        "even", _PAGE, r"KEDA keeps \d+ workers that prefill", "KEDA keeps 99 workers that prefill", "SVC001"
    ),
    "settings of deploy.sh": Fault(
        "vllm", "kubernetes/serving/deploy.env", r"PREFILL_MOST=\d+", "PREFILL_MOST=1", "SVC001"
    ),
    "inputs that wait": Fault(
        "vllm",
        "kubernetes/serving/monitoring/rules.yaml",
        r"(InputsWait\n +expr: .*(?:\n +.*)?> )[\d.]+",
        r"\g<1>1",
        "SVC003",
    ),
    "array of the workers that prefill": Fault(
        "slurm", "serving/prefill.sbatch", r"--array=0-\d+", "--array=0-1", "SVC001"
    ),
    "array of the workers that decode": Fault(
        "slurm", "serving/decode.sbatch", r"--array=0-\d+", "--array=0-1", "SVC001"
    ),
    "flags of the workers that decode": Fault(
        "slurm", "serving/decode.sbatch", r"--kv-transfer-config", "--seed", "SVC002"
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(written: dict[str, Path], name: str, tmp_path: Path) -> None:
    """Each with its code, in the part that it belongs to."""
    fault = FAULTS[name]
    folder = tmp_path / "folder"
    shutil.copytree(written[fault.folder], folder)
    path = folder / fault.file
    text = path.read_text()
    places = list(re.finditer(fault.old, text))
    assert len(places) > fault.at, "the fault is not there to be planted"
    chosen = places[fault.at]
    path.write_text(text[: chosen.start()] + chosen.expand(fault.new) + text[chosen.end() :])
    found = {finding.id for one in proven(folder) for finding in one.findings}
    assert fault.code in found
