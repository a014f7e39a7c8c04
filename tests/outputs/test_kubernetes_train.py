"""The training job of Kubernetes projects: the plan's size and fabric, a queue that admits it, and its submission."""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import cloud_files, onprem_files
from clusterwright.outputs.folder import File
from clusterwright.outputs.training.job_settings import MEGATRON_COMMIT
from clusterwright.outputs.training.slurm import launch_files, nodes_of_job
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import USD

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
IMAGE = "registry.example.com/team/megatron:1.0"
HOSTILE = "$(touch pwned) `touch pwned`; touch pwned | \" ' \\ * \n&& touch pwned"
#: What the pods of each cloud's plan ask for besides processors and memory.
FABRIC = {
    "aws": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "5120Mi"},
    "azure": {"nvidia.com/gpu": 8, "rdma/shared_ib": 1},
    "gcp": {"nvidia.com/gpu": 8},
}


class Project:
    """One cloud's plan with Kubernetes, and the files of its project."""

    def __init__(self, cloud: str, *values: str) -> None:
        self.cloud = cloud
        self.plan: Plan = plan_of(GPT3, [f"targets.{cloud}.scheduler=kubernetes", *values], cloud)
        self.option: Option = self.plan.options[0]
        self.files: dict[str, File] = cloud_files(self.plan, self.option, load(), USD)

    def objects(self, path: str) -> list[dict[str, Any]]:
        """Return the objects of a manifest."""
        return [one for one in YAML(typ="safe").load_all(io.BytesIO(self.files[path].content)) if one]

    @property
    def job(self) -> dict[str, Any]:
        """The training job."""
        return next(one for one in self.objects("launch/train.yaml") if one["kind"] == "Job")

    @property
    def worker(self) -> dict[str, Any]:
        """Its container that trains."""
        worker: dict[str, Any] = self.job["spec"]["template"]["spec"]["containers"][0]
        return worker


@pytest.fixture(scope="module", params=FABRIC)
def project(request: pytest.FixtureRequest) -> Project:
    """Return the project of each cloud."""
    return Project(request.param)


def test_a_pod_is_a_node_of_the_plan(project: Project) -> None:
    """As many as train, each with all GPUs and the fabric's devices, and they find each other by the service."""
    fewest, most, _ = nodes_of_job(project.option)
    spec = project.job["spec"]
    assert (fewest, spec["completions"], spec["parallelism"]) == (most, most, most)
    limits = project.worker["resources"]["limits"]
    assert {name: value for name, value in limits.items() if name != "memory"} == FABRIC[project.cloud]
    name = project.plan.name
    assert f"--rdzv-endpoint={name}-0.{name}:29400" in project.worker["args"]
    assert spec["template"]["spec"]["subdomain"] == name
    service = project.objects("launch/train.yaml")[0]
    assert service["metadata"]["name"] == name
    # Before any of them is ready, and after one has failed.
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"] == {"job-name": name}
    volumes = {one["name"] for one in spec["template"]["spec"]["volumes"]}
    for container in (project.worker, *spec["template"]["spec"].get("initContainers", ())):
        assert {one["name"] for one in container["volumeMounts"]} <= volumes
    assert {"name": "shared", "mountPath": "/shared"} in project.worker["volumeMounts"]


def test_the_arguments_are_those_of_the_slurm_script(project: Project) -> None:
    """Every argument that the plan decides is in both, in the same order."""
    script = launch_files(project.plan, project.option, load())["train.sbatch"].content.decode()
    theirs = re.findall(r"^    (--[a-z0-9-]+)(?: ([^\n\\\"]+?))?$", script.partition("container=()")[0], re.MULTILINE)
    words = [word.strip("'") for pair in theirs for word in pair if word]
    ours = project.worker["args"]
    start = ours.index("/shared/Megatron-LM/pretrain_gpt.py") + 1
    assert len(words) > 25
    assert ours[start : start + len(words)] == words
    assert ours[start + len(words) :] == [
        *("--save", f"/shared/checkpoints/{project.plan.name}", "--load", f"/shared/checkpoints/{project.plan.name}"),
        *("--split", "99,1,0", "--eval-iters", "0"),
    ]


def test_the_queue_covers_all_that_the_job_asks_for(project: Project) -> None:
    """Kueue admits no job with a resource that its queue does not have, or more of it than there is."""
    queue = next(one for one in project.objects("examples/queue.yaml") if one["kind"] == "ClusterQueue")
    group = queue["spec"]["resourceGroups"][0]
    quota = {one["name"]: one["nominalQuota"] for one in group["flavors"][0]["resources"]}
    assert list(quota) == group["coveredResources"]
    asked = {**project.worker["resources"]["limits"], **project.worker["resources"]["requests"]}
    assert set(asked) == set(quota)
    number = re.compile(r"\d+")
    for name, each in asked.items():
        one, whole = (int(number.match(str(value))[0]) for value in (each, quota[name]))  # type: ignore[index]
        assert whole == one * project.option.cluster.nodes
        assert one * project.job["spec"]["completions"] <= whole


def test_failures_that_no_restart_mends_end_the_job(project: Project) -> None:
    """A wrong setting or image ends it; a node that is taken away does not count; others are restarted from."""
    spec = project.job["spec"]
    fail, ignore = spec["podFailurePolicy"]["rules"]
    assert (fail["action"], fail["onExitCodes"]["values"]) == ("FailJob", [2, 127])
    assert fail["onExitCodes"]["containerName"] == project.worker["name"]
    assert ignore == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert (spec["template"]["spec"]["restartPolicy"], spec["podReplacementPolicy"]) == ("Never", "Failed")
    restarts = int(next(one for one in project.worker["args"] if one.startswith("--max-restarts=")).split("=")[1])
    assert spec["backoffLimit"] == restarts * spec["completions"]
    assert spec["suspend"] is True


def run_pod(project: Project, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a pod's command with a torchrun that prints its arguments."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "torchrun").write_text('#!/bin/bash\nenv >"$SHOWN"\nprintf "%s\\0" "$@"\n')
    (folder / "bin" / "torchrun").chmod(0o755)
    (folder / "Megatron-LM").mkdir(exist_ok=True)
    (folder / "Megatron-LM" / "pretrain_gpt.py").touch()
    script = project.worker["command"][2].replace("/shared", str(folder))
    # The vendor's own scripts are of the node's, which is none here.
    script = "\n".join(line for line in script.splitlines() if not line.startswith(("source ", ". ")))
    variables = {one["name"]: one["value"] for one in project.worker["env"]}
    known = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "SHOWN": str(folder / "shown")} | variables
    command = [*project.worker["command"][:2], script, *project.worker["command"][3:], *project.worker["args"]]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=known | settings, cwd=folder)


def test_a_pod_trains_on_what_was_chosen(project: Project, tmp_path: Path) -> None:
    """Made-up tokens without data; with it path, tokenizer and rate arrive whole, and further arguments behind them."""
    bare = run_pod(project, tmp_path)
    assert bare.returncode == 0, bare.stderr
    words = bare.stdout.split("\0")[:-1]
    assert words[: len(project.worker["args"])] == project.worker["args"]
    assert "--mock-data" in words
    path = str(tmp_path / "my 'data'; echo $HOME")
    for part in ("bin", "idx"):
        Path(f"{path}.{part}").touch()
    chosen = run_pod(
        project,
        tmp_path,
        DATA_PATH=path,
        TOKENIZER_TYPE="GPT2BPETokenizer",
        TOKENIZER_MODEL="a b",
        LEARNING_RATE="6e-5",
        FURTHER_ARGUMENTS=r"--seed 1\ 2",
    )
    assert chosen.returncode == 0, chosen.stderr
    assert chosen.stdout.split("\0")[len(project.worker["args"]) : -1] == [
        *("--data-path", path, "--tokenizer-type", "GPT2BPETokenizer", "--tokenizer-model", "a b", "--lr", "6e-5"),
        *("--seed", "1 2"),
    ]
    variables = (tmp_path / "shown").read_text()
    wanted = {"aws": "FI_PROVIDER=efa", "azure": "NCCL_NET=IB", "gcp": "NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0"}
    assert wanted[project.cloud] in variables
    assert "NCCL_DEBUG=WARN" in variables


GIT = """#!/bin/bash
printf '%s\\n' "$*" >>"$SHOWN.git"
case "$*" in
*" fetch "*) [ -z "${NO_INTERNET:-}" ] || exit 128 ;;
*" checkout "*) touch "$2/pretrain_gpt.py" ;;
esac
"""


def fetching_pod(project: Project, folder: Path, index: int, **settings: str) -> subprocess.Popen[str]:
    """Start the pod of an index, with a stand-in for git, where nobody has put Megatron-LM."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, text in (("git", GIT), ("torchrun", '#!/bin/bash\necho trains; sleep "${TRAINS_S:-0}"\n')):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    script = project.worker["command"][2].replace("/shared", str(folder))
    script = "\n".join(line for line in script.splitlines() if not line.startswith(("source ", ". ")))
    known = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "SHOWN": str(folder / "shown"),
        "POLL_S": "0.05",
        "JOB_COMPLETION_INDEX": str(index),
        "GET_MEGATRON": "yes",
    }
    return subprocess.Popen(
        ["bash", "-c", script, "worker"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=known | settings,
        cwd=folder,
        start_new_session=True,
    )


def end(pod: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for what the pod's first process prints and returns, then end what a container would take with it."""
    status = pod.wait(timeout=60)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pod.pid, signal.SIGKILL)
    said = "".join(pod.communicate())
    return status, said


def test_the_first_pod_fetches_megatron_and_the_others_wait(project: Project, tmp_path: Path) -> None:
    """By its commit, once, into a folder that appears whole; a pod that comes again fetches nothing."""
    second = fetching_pod(project, tmp_path, 1)
    first = fetching_pod(project, tmp_path, 0)
    status, said = end(first)
    assert (status, "trains" in said) == (0, True), said
    status, said = end(second)
    assert (status, "trains" in said) == (0, True), said
    calls = (tmp_path / "shown.git").read_text()
    assert calls.count(f"fetch --quiet --depth 1 https://github.com/NVIDIA/Megatron-LM.git {MEGATRON_COMMIT}") == 1
    assert f"-C {tmp_path}/Megatron-LM " not in calls
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["Megatron-LM", "bin"]
    assert end(fetching_pod(project, tmp_path, 0))[0] == 0
    assert (tmp_path / "shown.git").read_text() == calls


def test_a_pod_that_cannot_fetch_megatron_ends_the_job(project: Project, tmp_path: Path) -> None:
    """With the exit code that the job's policy takes for final, commit and folder, and nothing half fetched."""
    status, said = end(fetching_pod(project, tmp_path, 0, NO_INTERNET="yes"))
    assert (status, f"copy commit {MEGATRON_COMMIT} to {tmp_path}/Megatron-LM yourself" in said) == (2, True), said
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["bin"]
    (tmp_path / "Megatron-LM").mkdir()
    (tmp_path / "Megatron-LM" / "notes").touch()
    status, said = end(fetching_pod(project, tmp_path, 0))
    assert (status, "is there and holds no pretrain_gpt.py" in said) == (2, True), said
    assert (tmp_path / "Megatron-LM" / "notes").exists()


@pytest.mark.parametrize("index", [0, 1])
def test_one_pod_keeps_the_checkpoints_that_storage_is_sized_for(project: Project, tmp_path: Path, index: int) -> None:
    """As many as the Slurm job keeps, by the same script, and by one pod alone."""
    checkpoints = tmp_path / "checkpoints" / project.plan.name
    kept = project.option.design.storage.checkpoints_kept
    for step in range(1, kept + 4):
        (checkpoints / f"iter_{step:07d}").mkdir(parents=True)
    (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(kept + 3))
    (tmp_path / "Megatron-LM").mkdir()
    (tmp_path / "Megatron-LM" / "pretrain_gpt.py").touch()
    pod = fetching_pod(project, tmp_path, index, RETAIN_EVERY_S="0.1", TRAINS_S="2")
    assert end(pod)[0] == 0
    left = sorted(int(path.name.removeprefix("iter_")) for path in checkpoints.glob("iter_*"))
    assert left == list(range(4 if index == 0 else 1, kept + 4))


def test_a_pod_with_wrong_settings_ends_for_good(project: Project, tmp_path: Path) -> None:
    """Exit codes that the job's policy takes for final, with a sentence."""
    missing = run_pod(project, tmp_path, DATA_PATH="/shared/none")
    assert (missing.returncode, "there is no /shared/none.bin" in missing.stderr) == (2, True)
    script = project.worker["command"][2].replace("/shared/Megatron-LM", "/nowhere")
    script = "\n".join(line for line in script.splitlines() if not line.startswith(("source ", ". ")))
    without = subprocess.run(
        ["bash", "-c", script, "worker"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "SHOWN": str(tmp_path / "shown")},
    )
    assert (without.returncode, "there is no /nowhere/pretrain_gpt.py" in without.stderr) == (127, True)


SUBMITTED = ("train.yaml", "submit.sh", "job_options.sh", "job.env")
KUBECTL = r"""#!/bin/bash
printf '%s\0' "$@" >>"$SHOWN/kubectl"
case "$*" in
*"get job"*) [ -n "${RUNS:-}" ] || exit 1 ;;
*"get persistentvolumeclaim"*) [ -z "${NO_CLAIM:-}" ] || exit 1 ;;
*"get localqueue"*) [ -z "${NO_QUEUE:-}" ] || exit 1 ;;
version*) [ -z "${UNREACHABLE:-}" ] || { echo "dial tcp: i/o timeout"; exit 1; } ;;
*"create configmap"*) echo "kind: ConfigMap" ;;
*apply*) cat >"$SHOWN/applied" ;;
esac
"""


def submit(project: Project, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run submit.sh with a stand-in for kubectl."""
    return submit_files({name: project.files[f"launch/{name}"] for name in SUBMITTED}, folder, *words, **environment)


def submit_files(
    files: dict[str, File], folder: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run submit.sh of these files with a stand-in for kubectl."""
    for name, file in files.items():
        (folder / name).write_bytes(file.content)
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "kubectl").write_text(KUBECTL)
    (folder / "bin" / "kubectl").chmod(0o755)
    known = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "SHOWN": str(folder)}
    return subprocess.run(
        ["bash", str(folder / "submit.sh"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=known | environment,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(("words", "wanted"), [([], "no"), (["--get-megatron"], "yes")])
def test_submit_has_megatron_fetched_only_if_asked(
    project: Project, tmp_path: Path, words: list[str], wanted: str
) -> None:
    """The pods read it from their settings."""
    assert submit(project, tmp_path, "--image", IMAGE, *words).returncode == 0
    assert f"GET_MEGATRON={wanted}" in (tmp_path / "kubectl").read_text().split("\0")


def test_megatron_is_not_fetched_into_an_image(tmp_path: Path) -> None:
    """A folder that is not of the shared volume is each pod's own."""
    project = Project("aws", "cluster.jobs.megatron=/opt/megatron")
    done = submit(project, tmp_path, "--image", IMAGE, "--get-megatron")
    assert done.returncode == 1
    assert "--get-megatron with cluster.jobs.megatron /opt/megatron is not on the shared volume" in done.stderr


def test_submit_sets_the_image_and_hands_on_the_rest(project: Project, tmp_path: Path) -> None:
    """The manifest with the image is applied; settings reach kubectl as they are, and nothing else reads them."""
    words = ["--image", IMAGE, "--data", f"/shared/{HOSTILE}", "--tokenizer", HOSTILE, "--lr", "6e-5", "--", HOSTILE]
    done = submit(project, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"job {project.plan.name}\n")
    config, *objects = YAML(typ="safe").load_all((tmp_path / "applied").read_text())
    assert config["kind"] == "ConfigMap"
    job = next(one for one in objects if one["kind"] == "Job")
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    given = (tmp_path / "kubectl").read_text().split("\0")
    assert f"DATA_PATH=/shared/{HOSTILE}" in given
    assert f"TOKENIZER_MODEL={HOSTILE}" in given
    further = next(word for word in given if word.startswith("FURTHER_ARGUMENTS="))
    read = subprocess.run(
        ["bash", "-c", 'eval "further=($1)"; printf "%s\\0" "${further[@]}"', "x", further.partition("=")[2]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout == f"{HOSTILE}\0"
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        ([], {}, "no container image: --image REGISTRY/NAME:TAG, with PyTorch"),
        (["--image", "team/megatron"], {}, "names no version"),
        (["--image", "/shared/a.sqsh"], {}, "pods read no squash file"),
        (["--image", 'x:1" #'], {}, "is not the name of an image"),
        (["--image", IMAGE, "--data", "/data/x"], {}, "is not on the shared volume"),
        (["--image", IMAGE, "--data", "x"], {}, "--data x is not an absolute path"),
        (["--image", IMAGE, "--data", "/shared/x"], {}, "--data without --tokenizer"),
        (["--image", IMAGE, "--tokenizer", "/opt/x"], {}, "--tokenizer /opt/x is not on the shared volume"),
        (["--image", IMAGE], {"UNREACHABLE": "1"}, "kubectl does not reach the cluster: dial tcp"),
        (["--image", IMAGE], {"NO_CLAIM": "1"}, "has no volume claim shared"),
        (["--image", IMAGE], {"NO_QUEUE": "1"}, "has no queue gpu: kubectl apply -f examples/queue.yaml"),
        (["--image", IMAGE], {"RUNS": "1"}, "there is a job train-gpt3-175b already"),
    ],
)
def test_submit_says_what_is_missing(
    *, project: Project, tmp_path: Path, words: list[str], environment: dict[str, str], said: str
) -> None:
    """Nothing is applied."""
    done = submit(project, tmp_path, *words, **environment)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "applied").exists()


def test_the_job_on_premises_is_submitted_alike(tmp_path: Path) -> None:
    """Its own manifest, queue and namespace; without an image it is refused, with one it is applied."""
    plan = plan_of(GPT3, ["targets.onprem.scheduler=kubernetes"], "onprem")
    written = onprem_files(plan, plan.options[0], load())
    files = {name: written[f"kubernetes/jobs/{name}"] for name in SUBMITTED}
    assert files["submit.sh"].executable
    refused = submit_files(files, tmp_path)
    assert (refused.returncode, "no container image: --image" in refused.stderr) == (1, True)
    unqueued = submit_files(files, tmp_path, "--image", IMAGE, NO_QUEUE="1")
    assert "kubectl apply -f queues.yaml" in unqueued.stderr
    done = submit_files(files, tmp_path, "--image", IMAGE)
    assert done.returncode == 0, done.stderr
    _, *objects = YAML(typ="safe").load_all((tmp_path / "applied").read_text())
    job = next(one for one in objects if one["kind"] == "Job")
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE


def test_accelerators_of_others_get_a_reason_instead() -> None:
    """No manifest that could not train; the README says why."""
    found = Project("azure", "targets.azure.instance=Standard_ND96isr_MI300X_v5", "targets.azure.region=francecentral")
    launch = {name for name in found.files if name.startswith("launch/")}
    assert "launch/train.yaml" not in launch
    assert b"No launch files are written" in found.files["launch/README.md"].content


def test_the_readme_says_how_megatron_gets_there(project: Project) -> None:
    """By its commit, into the folder that the job reads."""
    page = project.files["launch/README.md"].content.decode()
    assert (
        f"git -C /shared/Megatron-LM fetch --depth 1 https://github.com/NVIDIA/Megatron-LM.git {MEGATRON_COMMIT}"
        in page
    )
    assert "./cluster.sh submit --image" in page


def test_shellcheck_finds_nothing(project: Project, tmp_path: Path) -> None:
    """Neither in what a pod runs nor in what submits it."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(os.sys.executable).parent}:{os.environ['PATH']}")  # type: ignore[attr-defined]
    assert shellcheck is not None
    worker, script = tmp_path / "worker.sh", tmp_path / "submit.sh"
    worker.write_text(f"#!/usr/bin/env bash\n# shellcheck disable=SC1091\n{project.worker['command'][2]}")
    for name in ("submit.sh", "job_options.sh"):
        (tmp_path / name).write_bytes(project.files[f"launch/{name}"].content)
    subprocess.run([shellcheck, "-x", str(worker), str(script)], check=True, cwd=tmp_path)
