"""Releases of a plan in the files of its clusters, and the script that compares a machine with them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.project.stack import stack_files
from clusterwright.plan.text.money import USD

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
RACKS = Path(__file__).parents[1] / "records" / "gb200.yaml"
SCRIPT = assets.root() / "templates" / "slurm" / "software_check.sh"
#: Files of binary formats hold no versions.
_BINARY = (".xlsx", ".pdf")


def _texts(scheduler: str, *values: str, system: str = "hgx-h100-8gpu") -> dict[str, str]:
    asked = [f"targets.onprem.system={system}", f"targets.onprem.scheduler={scheduler}", "software.os=ubuntu-24.04"]
    plan = plan_of(GPT3, [*asked, *values], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return {name: file.content.decode() for name, file in files.items() if not name.endswith(_BINARY)}


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_a_pinned_driver_is_in_every_file_that_names_one(scheduler: str) -> None:
    """Of two pins each file names the asked one, and no file the other; the same files name a driver."""
    first, second = "580.126.20", "595.71.05"
    found = {one: _texts(scheduler, f"software.pin.driver={one}") for one in (first, second)}
    naming = {one: {name for name, text in texts.items() if one in text} for one, texts in found.items()}
    assert naming[first] == naming[second]
    expected = {"software.md", "acceptance.md"}
    expected |= {"node/versions.csv"} if scheduler == "slurm" else {"kubernetes/values/gpu-operator.yaml"}
    assert expected <= naming[first]
    for one, other in ((first, second), (second, first)):
        assert not [name for name, text in found[one].items() if other in text]


def test_fabric_manager_is_that_of_the_driver() -> None:
    """A pin of the driver moves the Fabric Manager beside it."""
    rows = [line.split(",") for line in _texts("slurm", "software.pin.driver=580")["node/versions.csv"].splitlines()]
    versions = {row[0]: row[1] for row in rows}
    assert versions["driver"].startswith("580.")
    assert versions["fabricmanager"] == versions["driver"]


def test_trays_of_a_rack_run_imex_and_its_switches_fabric_manager() -> None:
    """GB200: no file asks a tray for Fabric Manager; Slurm is one with channels of IMEX, and the page says whence."""
    plan = plan_of(RACKS, [], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    texts = {name: file.content.decode() for name, file in files.items() if not name.endswith(_BINARY)}
    rows = [line.split(",") for line in texts["node/versions.csv"].splitlines()]
    versions = {row[0]: (row[1], row[-1]) for row in rows}
    assert "fabricmanager" not in versions
    assert versions["imex"] == (versions["driver"][0], "yes")
    assert f"IMEX {versions['driver'][0]}" in texts["acceptance.md"]
    assert "`nv show cluster apps` on the NVLink switch trays" in texts["acceptance.md"]
    assert f"No package of the system has Slurm {versions['slurm'][0]}" in texts["software.md"]
    assert "SwitchType=switch/nvidia_imex" in texts["slurm.conf"]
    partitions = [line for line in texts["slurm.conf"].splitlines() if line.startswith("PartitionName=")]
    assert partitions
    assert all(" OverSubscribe=EXCLUSIVE " in line for line in partitions)
    assert "TopologyPlugin=topology/block" in texts["slurm.conf"]


def test_releases_whose_support_has_ended_are_named() -> None:
    """An operator that is pinned past its support is named, with what is newer; those that are offered are not."""
    page = _texts("kubernetes", "software.pin.network-operator='25.10.0'")["software.md"]
    assert re.search(r"Network Operator [\d.]+: support ended 2026-07\.\nKnown, and not tried .*: 26\.7\.0", page)
    assert "support ended 2027" not in page
    assert "support ended" not in _texts("kubernetes")["software.md"]


def test_the_container_toolkit_follows_on_clouds_and_on_premises() -> None:
    """`node/software.csv` has the pinned release and keeps all else, on a cloud's nodes as on one's own."""
    pin = "software.pin.nvidia-container-toolkit=1.19.1"
    plan = plan_of(GPT3, [pin], "aws")
    cloud = stack_files(plan, plan.options[0], load(), USD)["node/software.csv"].content.decode()
    own = _texts("slurm", pin)["node/software.csv"]
    shipped = (assets.root() / "templates" / "node" / "software.csv").read_text()
    assert cloud == own == shipped.replace("toolkit,1.17.8-1,", "toolkit,1.19.1-1,")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A folder with the script, a table, and a machine that agrees with it."""
    (tmp_path / "node").mkdir()
    shutil.copy(SCRIPT, tmp_path / "node")
    (tmp_path / "node" / "versions.csv").write_text(
        "component,version,from,least,needed\n"
        "driver,580.126.20,pinned,580,yes\n"
        "kernel_modules,open,newest,,yes\n"
        "fabricmanager,580.126.20,newest,,yes\n"
        "nvidia-container-toolkit,1.17.8,newest,1.12,no\n"
    )
    _has(tmp_path, driver="580.126.20", fabric="580.126.20")
    return tmp_path


def _has(folder: Path, *, driver: str = "", fabric: str = "", toolkit: str = "", modules: str = "Open ") -> None:
    """Give the machine a driver, a Fabric Manager and a toolkit."""
    shutil.rmtree(folder / "proc", ignore_errors=True)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / "bin").mkdir()
    if driver:
        (folder / "proc/driver/nvidia").mkdir(parents=True)
        (folder / "proc/driver/nvidia/version").write_text(
            f"NVRM version: NVIDIA UNIX {modules}Kernel Module for x86_64  {driver}  Release Build\n"
            "GCC version:  gcc version 13.2.0\n"
        )
    said = {"nv-fabricmanager": fabric, "nvidia-ctk": toolkit, "hostname": "n1", "scontrol": "State=IDLE"}
    for name, text in said.items():
        if text:
            program = folder / "bin" / name
            program.write_text(f'#!/bin/bash\necho "$0 $*" >>"{folder}/calls"\necho "{name} version {text}"\n')
            program.chmod(0o755)


def _checked(folder: Path, *arguments: str) -> tuple[int, str]:
    shown = subprocess.run(
        ["bash", str(folder / "node" / "software_check.sh"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "CLUSTER_PROC": str(folder / "proc")},
    )
    return shown.returncode, shown.stderr


def test_a_machine_as_planned_passes(node: Path) -> None:
    """Nothing is said of a machine that has what the table has; what is not needed may be absent."""
    assert _checked(node) == (0, "")


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ({}, "driver: none found, 580.126.20 planned"),
        ({"driver": "595.71.05", "fabric": "595.71.05"}, "driver: 595.71.05 found, 580.126.20 pinned"),
        ({"driver": "580.126.20", "fabric": "580.105.08"}, "fabricmanager 580.105.08 beside driver 580.126.20"),
        ({"driver": "580.126.20"}, "fabricmanager: none found"),
        ({"driver": "580.126.20", "fabric": "580.126.20", "toolkit": "1.11.0"}, "1.11.0 found, at least 1.12 required"),
    ],
)
def test_a_machine_that_differs_is_reported(node: Path, machine: dict[str, str], said: str) -> None:
    """A pin, a least version, Fabric Manager beside its driver, and what has to be there."""
    _has(node, **machine)
    status, errors = _checked(node)
    assert status == 3
    assert said in errors


def test_another_version_above_the_least_is_only_noted(node: Path) -> None:
    """What nobody pinned may be another release; nvidia-ctk may answer with three numbers or two."""
    _has(node, driver="580.126.20", fabric="580.126.20", toolkit="1.18.2")
    status, errors = _checked(node)
    assert status == 0
    assert "nvidia-container-toolkit: 1.18.2 found, 1.17.8 planned" in errors


def test_a_node_is_drained_with_the_reason(node: Path) -> None:
    """With --drain Slurm is told which component differs."""
    _has(node, driver="595.71.05", fabric="595.71.05")
    assert _checked(node, "--drain")[0] == 3
    assert "reason=software: driver: 595.71.05 found, 580.126.20 pinned" in (node / "calls").read_text()


def test_the_script_is_clean_for_shellcheck() -> None:
    """Shellcheck has nothing to say."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    result = subprocess.run([shellcheck, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
