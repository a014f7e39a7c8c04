"""The job script of a plan, accepted by a real slurmctld that runs on the plan's own files."""

import importlib.util
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.onprem.slurm.configuration import slurm_files
from clusterwright.outputs.training.slurm import launch_files
from clusterwright.plan.training.record import TrainingPlan

pytestmark = pytest.mark.engine

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


def machinery() -> ModuleType:
    """Return the module that runs slurmctld; tests are not a package."""
    spec = importlib.util.spec_from_file_location("slurm_onprem", Path(__file__).with_name("test_slurm_onprem.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up by name.
    import sys  # noqa: PLC0415

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plan() -> TrainingPlan:
    """Return an elastic plan with a spare node on premises, of a size whose layout can go on with fewer nodes."""
    values = [
        *("reliability.spare_nodes=1", "reliability.elastic=true", "reliability.repair=24 h"),
        *("goals.finish_within=45 days", "targets.onprem.min_nodes=43", "targets.onprem.max_nodes=43"),
    ]
    return plan_of(GPT3, values, "onprem")


@pytest.fixture(scope="module")
def controller(
    plan: TrainingPlan, tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]
) -> Iterator[object]:
    """Return slurmctld on the plan's own four files."""
    require_engine("slurmctld", "sbatch", "scontrol", "ss")
    files = slurm_files(plan, plan.options[0], load_catalogue())
    texts = {name: file.content.decode() for name, file in files.items()}
    with machinery().running(texts, tmp_path_factory.mktemp("plan")) as started:
        yield started


def offered(controller: object, path: Path) -> tuple[int, str]:
    """Ask whether a script could ever run; return the code and what Slurm says."""
    result = controller.run("sbatch", "--test-only", str(path))  # type: ignore[attr-defined]
    return result.returncode, result.stderr


def test_the_job_is_accepted_with_its_spare(plan: TrainingPlan, controller: object, tmp_path: Path) -> None:
    """Partition, GPUs, memory and nodes of the script are what the cluster has, spare included."""
    option = plan.options[0]
    assert option.performance.failures.elastic_nodes is not None
    path = tmp_path / "train.sbatch"
    path.write_bytes(launch_files(plan, option, load_catalogue())["train.sbatch"].content)
    code, said = offered(controller, path)
    assert code == 0, said
    assert "to start at" in said
    # What Slurm tests is the least that the script asks for; the whole cluster is asked for below.
    assert f"nodes node[001-{option.performance.failures.elastic_nodes:03d}] in partition gpu" in said
    whole, count = re.subn(r"--nodes=\d+-", "--nodes=", path.read_text())
    assert count == 1
    path.write_text(whole)
    code, said = offered(controller, path)
    assert code == 0, said
    assert f"nodes node[001-{option.cluster.nodes:03d}] in partition gpu" in said


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (r"--nodes=\S+", "--nodes=4000"),
        (r"gpu:h100:8", "gpu:h100:9"),
        (r"gpu:h100:8", "gpu:b200:8"),
        (r"--partition=gpu", "--partition=cpu"),
        (r"--open-mode=append", "--open-mode=sideways"),
    ],
)
def test_a_wrong_directive_would_be_refused(
    plan: TrainingPlan, controller: object, tmp_path: Path, pattern: str, wrong: str
) -> None:
    """More nodes or GPUs than there are, another GPU or partition, a value that does not exist: Slurm says no."""
    script = launch_files(plan, plan.options[0], load_catalogue())["train.sbatch"].content.decode()
    path = tmp_path / "train.sbatch"
    text, count = re.subn(pattern, wrong, script, count=1)
    assert count == 1
    path.write_text(text)
    assert offered(controller, path)[0] != 0


@pytest.fixture
def submission(plan: TrainingPlan, tmp_path: Path) -> tuple[Path, Path, dict[str, str]]:
    """Return the written submit.sh, a folder in the place of the shared file system, and the user's environment."""
    shared, folder = tmp_path / "shared", tmp_path / "launch"
    for path in (shared / "Megatron-LM", shared / "venv" / "bin", folder, tmp_path / "bin"):
        path.mkdir(parents=True)
    (shared / "Megatron-LM" / "pretrain_gpt.py").touch()
    (shared / "venv" / "bin" / "torchrun").write_text("#!/bin/sh\n")
    (shared / "venv" / "bin" / "torchrun").chmod(0o755)
    for name, file in launch_files(plan, plan.options[0], load_catalogue()).items():
        (folder / name).write_text(file.content.decode().replace("/shared", str(shared)))
        (folder / name).chmod(0o755 if file.executable else 0o644)
    # The script refuses root, who runs the tests.
    (tmp_path / "bin" / "id").write_text('#!/bin/sh\n[ "$1" = -u ] && echo 1000 || echo alice\n')
    (tmp_path / "bin" / "id").chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin", "CHECK_WAIT_S": "2", "USER": "alice"}
    return folder / "submit.sh", shared, environment


def submitted(controller: object, submission: tuple[Path, Path, dict[str, str]], *words: str) -> tuple[int, str, str]:
    """Run submit.sh against the controller; return its code and what it says."""
    script, _, environment = submission
    known = environment | {"SLURM_CONF": str(controller.folder / "slurm.conf")}  # type: ignore[attr-defined]
    done = subprocess.run(
        ["bash", str(script), *words],
        capture_output=True,
        text=True,
        check=False,
        env=known,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_busy_cluster_takes_the_job_unchecked(
    plan: TrainingPlan, controller: object, submission: tuple[Path, Path, dict[str, str]]
) -> None:
    """No node becomes free: srun says so by its status, the job is queued, with log and folder on shared storage."""
    controller.run("scontrol", "update", "nodename=ALL", "state=down", "reason=test")  # type: ignore[attr-defined]
    shared = submission[1]
    code, said, errors = submitted(controller, submission, "--venv", str(shared / "venv"), "--", "--seed", "a b")
    assert code == 0, errors
    assert "Not checked: no node became free" in errors
    job = said.splitlines()[0].removeprefix("job ")
    shown = controller.run("scontrol", "show", "job", job).stdout  # type: ignore[attr-defined]
    launch = shared / "launch" / plan.name
    assert "JobState=PENDING" in shown
    assert f"WorkDir={launch}\n" in shown
    assert f"StdOut={launch}/{plan.name}-{job}.log" in shown
    assert f"Command={launch}/train.sbatch" in shown
    assert f"log {launch}/{plan.name}-{job}.log" in said
    controller.run("scancel", job)  # type: ignore[attr-defined]


def test_slurm_without_pyxis_is_named(controller: object, submission: tuple[Path, Path, dict[str, str]]) -> None:
    """An image needs --container-image, which srun has from the plugin alone; nothing is queued."""
    code, said, errors = submitted(controller, submission, "--image", "registry.example.com/team/megatron:1.0")
    assert (code, said) == (1, "")
    assert "Slurm here has no --container-image: Pyxis is not installed" in errors
    assert controller.run("squeue", "--noheader").stdout == ""  # type: ignore[attr-defined]
