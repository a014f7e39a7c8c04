"""The job script of a plan, accepted by a real slurmctld that runs on the plan's own files."""

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.answer import plan_of
from clusterwright.outputs.launch import launch_files
from clusterwright.outputs.slurm import slurm_files
from clusterwright.plan.record import Plan

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
def plan() -> Plan:
    """Return an elastic plan with a spare node on premises."""
    values = ["reliability.spare_nodes=1", "reliability.elastic=true", "reliability.repair=24 h"]
    return plan_of(GPT3, values, "onprem")


@pytest.fixture(scope="module")
def controller(
    plan: Plan, tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]
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


def test_the_job_is_accepted_with_its_spare(plan: Plan, controller: object, tmp_path: Path) -> None:
    """Partition, GPUs, memory and nodes of the script are what the cluster has, spare included."""
    option = plan.options[0]
    path = tmp_path / "train.sbatch"
    path.write_bytes(launch_files(plan, option, load_catalogue())["train.sbatch"].content)
    code, said = offered(controller, path)
    assert code == 0, said
    assert "to start at" in said
    # What Slurm tests is the least that the script asks for; the whole cluster is asked for below.
    assert f"nodes node[001-{option.failures.elastic_nodes:03d}] in partition gpu" in said
    whole, count = re.subn(r"--nodes=\d+-", "--nodes=", path.read_text())
    assert count == 1
    path.write_text(whole)
    code, said = offered(controller, path)
    assert code == 0, said
    assert f"nodes node[001-{option.nodes:03d}] in partition gpu" in said


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
    plan: Plan, controller: object, tmp_path: Path, pattern: str, wrong: str
) -> None:
    """More nodes or GPUs than there are, another GPU or partition, a value that does not exist: Slurm says no."""
    script = launch_files(plan, plan.options[0], load_catalogue())["train.sbatch"].content.decode()
    path = tmp_path / "train.sbatch"
    text, count = re.subn(pattern, wrong, script, count=1)
    assert count == 1
    path.write_text(text)
    assert offered(controller, path)[0] != 0
