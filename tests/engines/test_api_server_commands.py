"""What users type, with the real kubectl against a real API server: the folder's README, submit.sh and deploy.sh."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clusterwright.outputs.folder import File
from tests.engines.api_server import ApiServer, documents, program, read
from tests.engines.written_manifests import ENFORCED, OF_CHARTS, RUNS, SERVING, TENANTS, TRAINING, files_of
from tests.outputs.pod_templates import pod_templates

IMAGE = f"registry.example.com/team/image@sha256:{'0123456789abcdef' * 4}"


class Shell:
    """A shell of a user who is logged in to the cluster."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        found = program("kubectl")
        assert found is not None
        (folder / "bin").mkdir()
        (folder / "bin" / "kubectl").symlink_to(found)
        self.environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(server.kubeconfig),
        }

    def run(self, *words: str | Path, folder: Path, fails: bool = False) -> str:
        """Return all that a command prints."""
        done = subprocess.run(
            words,
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, said
        return said

    def object(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        """Return an object as the server keeps it."""
        said = self.run("kubectl", "-n", namespace, "get", kind, name, "-o", "json", folder=Path("/"))
        found: dict[str, Any] = json.loads(said)
        return found


@pytest.fixture
def shell(api_server: ApiServer, require_engine: Callable[..., None], tmp_path: Path) -> Shell:
    """Return a shell with kubectl, and the namespaces that charts make."""
    require_engine(working=program("kubectl") is not None, reason="kubectl is not installed: make engine builds it")
    for name in (*OF_CHARTS, *TENANTS, "workload"):
        api_server.keep_namespace(name, {ENFORCED: "privileged"})
    return Shell(api_server, tmp_path)


def put(files: Mapping[str, File], folder: Path, *, namespace: str = "workload") -> Path:
    """Write files into a folder, with another namespace where that is asked for."""
    for name, file in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        if path.suffix in (".yaml", ".env"):
            text = re.sub(r"(?m)^( *-? *namespace: |[A-Z_]*NAMESPACE=)workload$", rf"\1{namespace}", path.read_text())
            path.write_text(text)
        path.chmod(0o755 if file.executable else 0o644)
    return folder


def below(files: Mapping[str, File], folder: str) -> dict[str, File]:
    """Return the files of a folder."""
    return {name.removeprefix(folder): file for name, file in files.items() if name.startswith(folder)}


@pytest.mark.parametrize("where", [where for where, (_, target, _) in TRAINING.items() if target == "onprem"])
def test_the_commands_of_the_folder_work(where: str, shell: Shell) -> None:
    """Each kubectl of the README, in its order, is one that the server takes; kustomize builds what it is given."""
    files = below(files_of(*TRAINING[where]), "kubernetes/")
    folder = put(files, shell.folder / "kubernetes")
    lines = [line.removeprefix("$ ").partition(" && ")[0] for line in (folder / "README.md").read_text().splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("kubectl apply")]
    assert len(commands) >= 3
    for words in commands:
        said = shell.run(*words, "--dry-run=server", "--validate=strict", folder=folder)
        assert "(server dry run)" in said
    assert ["kubectl", "apply", "-k", "."] in commands


def kept_for(server: ApiServer, files: Mapping[str, File], namespace: str) -> None:
    """Keep what the scripts look for in a namespace: the claim, and the queue of the folder."""
    server.keep_namespace(namespace, {ENFORCED: "privileged"})
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared", "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}},
    }
    texts = [text for file in files.values() for text in documents(file.content.decode())]
    queue = next(one for one in map(read, texts) if one["kind"] == "LocalQueue")
    queue["metadata"]["namespace"] = namespace
    for one in (claim, queue):
        assert server.refusal(one, keep=True) == ""


@pytest.mark.parametrize(
    ("where", "jobs", "queue"),
    [
        ("training on aws", "launch/", "examples/queue.yaml"),
        ("training on premises", "kubernetes/jobs/", "kubernetes/queues.yaml"),
        ("fine-tuning one card", "launch/", "examples/queue.yaml"),
        ("fine-tuning on premises", "kubernetes/jobs/", "kubernetes/queues.yaml"),
    ],
)
def test_submit_applies_the_job(where: str, jobs: str, queue: str, shell: Shell) -> None:
    """It looks for claim and queue, applies the job with its image once, and takes no second one of its name."""
    name, files = RUNS[where][0], files_of(*RUNS[where])
    trains = where.startswith("training")
    namespace = f"submitted-{where.replace(' ', '-')}"
    shell.server.keep_namespace(namespace, {ENFORCED: "privileged"})
    folder = put(below(files, jobs), shell.folder / "jobs", namespace=namespace)
    given = ("--yes", "--get-megatron") if trains else ("--data", "team/answers", "--lr", "1e-4")
    words = (folder / "submit.sh", "--image", IMAGE, *given)
    refused = shell.run(*words, folder=folder, fails=True)
    assert "has no volume claim shared" in refused
    assert "has no queue gpu" in refused
    kept_for(shell.server, {queue: files[queue]}, namespace)
    assert "nothing was submitted" in shell.run(*words, "--check", folder=folder)
    assert "there is a job" not in shell.run(*words, folder=folder)
    job = shell.object("job", name, namespace)
    assert job["spec"]["suspend"] is True
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    settings = shell.object("configmap", f"{name}-settings", namespace)["data"]
    assert (("GET_MEGATRON", "yes") if trains else ("DATA_PATH", "team/answers")) in settings.items()
    assert f"there is a job {name} already" in shell.run(*words, folder=folder, fails=True)


@pytest.mark.parametrize(
    ("where", "serving", "kind"),
    [("onprem", "kubernetes/serving/", "deployment"), ("two nodes", "serving/", "leaderworkerset")],
)
def test_deploy_applies_the_service(where: str, serving: str, kind: str, shell: Shell) -> None:
    """Checked first, then applied for good, twice, with scaling and gateway: images and model are in their places."""
    name, files = SERVING[where][0], files_of(*SERVING[where])
    namespace = f"deployed-{where.replace(' ', '-')}"
    kept_for(shell.server, below(files, "kubernetes/queues") or below(files, "examples/queue"), namespace)
    folder = put(below(files, serving), shell.folder / "serving", namespace=namespace)
    words = (
        folder / "deploy.sh",
        *("--image", IMAGE, "--model", "/shared/models/llama"),
        *("--prometheus", "http://prometheus.monitoring:9090"),
        *("--gateway", "example-class", "--picker-image", IMAGE),
    )
    assert "nothing was applied" in shell.run(*words, "--check", folder=folder)
    assert "NotFound" in shell.run("kubectl", "-n", namespace, "get", kind, name, folder=folder, fails=True)
    for _ in range(2):
        assert f"service http://{name}.{namespace}" in shell.run(*words, folder=folder)
    kept = shell.object(kind, name, namespace)
    spec = pod_templates(kept)[0]["spec"]
    assert [one["image"] for one in (*spec["initContainers"], *spec["containers"])] == [IMAGE, IMAGE]
    assert shell.object("configmap", f"{name}-settings", namespace)["data"] == {"MODEL_SOURCE": "/shared/models/llama"}
    assert shell.object("gateway", name, namespace)["spec"]["gatewayClassName"] == "example-class"
    triggers = shell.object("scaledobject", name, namespace)["spec"]["triggers"]
    assert {one["metadata"]["serverAddress"] for one in triggers} == {"http://prometheus.monitoring:9090"}


def test_refusals_of_the_server_are_reported(shell: Shell) -> None:
    """A manifest that somebody changed for the worse is found by the check before anything is applied."""
    files = files_of(*SERVING["aws"])
    namespace = "changed-for-the-worse"
    kept_for(shell.server, below(files, "examples/queue"), namespace)
    folder = put(below(files, "serving/"), shell.folder / "serving", namespace=namespace)
    path = folder / "replicas.yaml"
    path.write_text(path.read_text().replace("revisionHistoryLimit:", "revisionHistoryLimits:"))
    words = (folder / "deploy.sh", "--check", "--image", IMAGE, "--model", "/shared/models/llama")
    assert "revisionHistoryLimits" in shell.run(*words, folder=folder, fails=True)
