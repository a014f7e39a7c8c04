"""Slices of GPUs by MIG: in the plan, in the files of both schedulers, on a node, and in a bill."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.resolve import resolve
from clusterwright.catalog.load import load
from clusterwright.catalog.software import mig
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.plan.record import Plan

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
SCRIPT = assets.root() / "templates" / "slurm" / "mig.sh"
_BINARY = (".xlsx", ".pdf")


@cache
def _written(scheduler: str, *values: str) -> tuple[Plan, dict[str, str]]:
    asked = [
        "targets.onprem.system=dgx-h100",
        f"targets.onprem.scheduler={scheduler}",
        "software.mig.geometry=[3g.40gb, 4g.40gb]",
        *values,
    ]
    plan = plan_of(GPT3, asked, "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return plan, {name: file.content.decode() for name, file in files.items() if not name.endswith(_BINARY)}


def test_slurm_has_whole_nodes_and_divided_ones_apart() -> None:
    """The last two nodes have eight slices of each profile in a partition of their own, found by NVML."""
    plan, texts = _written("slurm", "software.mig.nodes=2")
    nodes = plan.options[0].cluster.nodes
    conf = texts["slurm.conf"].splitlines()
    described = [line for line in conf if line.startswith("NodeName=")]
    assert "Gres=gpu:h100:8 " in described[0]
    assert f"[001-{nodes - 2:03}]" in described[0]
    assert f"[{nodes - 1:03}-{nodes:03}]" in described[1]
    assert "Gres=gpu:4g.40gb:8,gpu:3g.40gb:8 " in described[1]
    partitions = [line.split() for line in conf if line.startswith("PartitionName=")]
    assert [line[0] for line in partitions] == ["PartitionName=gpu", "PartitionName=slices"]
    assert 'TRESBillingWeights="GRES/gpu:4g.40gb=0.5714,GRES/gpu:3g.40gb=0.5"' in partitions[1]
    assert "AccountingStorageTRES=gres/gpu,gres/gpu:4g.40gb,gres/gpu:3g.40gb" in conf
    gres = [line for line in texts["gres.conf"].splitlines() if not line.startswith("#")]
    assert gres[0] == "AutoDetect=nvml"
    assert all("AutoDetect=off" in line and f"[001-{nodes - 2:03}]" in line for line in gres[1:])
    assert "mig.sh --at-boot 4g.40gb:0,3g.40gb:4" in texts["software.md"]
    assert texts["node/mig.sh"] == SCRIPT.read_text()


def test_without_slices_slurm_is_as_it_was() -> None:
    """A cluster whose GPUs are whole has one partition, and no AutoDetect."""
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100", "targets.onprem.scheduler=slurm"], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    assert b"AutoDetect=off\n" in files["gres.conf"].content
    assert files["slurm.conf"].content.count(b"PartitionName=") == 1
    assert "node/mig.sh" not in files
    assert b"Slices" not in files["software.md"].content


def test_kubernetes_divides_by_a_label() -> None:
    """Two GPUs of each of two labelled nodes are divided, the others stay whole; quotas count both."""
    plan, texts = _written("kubernetes", "software.mig.nodes=2", "software.mig.gpus=2")
    nodes = plan.options[0].cluster.nodes
    yaml = YAML(typ="safe")
    labels = list(yaml.load_all(texts["kubernetes/node-labels.yaml"]))
    marked = [entry["metadata"]["name"] for entry in labels if "nvidia.com/mig.config" in entry["metadata"]["labels"]]
    assert marked == [entry["metadata"]["name"] for entry in labels][-2:]
    config = [
        entry for entry in yaml.load_all(texts["kubernetes/slices/mig-config.yaml"]) if entry["kind"] != "Namespace"
    ]
    ways = yaml.load(config[0]["data"]["config.yaml"])["mig-configs"]
    assert ways["slices"] == [
        {"devices": [0, 1, 2, 3, 4, 5], "mig-enabled": False},
        {"devices": [6, 7], "mig-enabled": True, "mig-devices": {"4g.40gb": 1, "3g.40gb": 1}},
    ]
    values = yaml.load(texts["kubernetes/values/gpu-operator.yaml"])
    assert values["mig"] == {"strategy": "mixed"}
    assert values["migManager"]["config"]["name"] == config[0]["metadata"]["name"]
    assert values["migManager"]["config"]["default"] in ways
    (queue,) = [entry for entry in yaml.load_all(texts["kubernetes/queues.yaml"]) if entry["kind"] == "ClusterQueue"]
    (group,) = queue["spec"]["resourceGroups"]
    quota = {entry["name"]: entry["nominalQuota"] for entry in group["flavors"][0]["resources"]}
    assert int(quota["nvidia.com/gpu"]) == nodes * 8 - 4
    assert quota["nvidia.com/mig-3g.40gb"] == quota["nvidia.com/mig-4g.40gb"] == "4"


def test_a_slice_is_billed_with_what_it_takes() -> None:
    """The page's price of a slice is its share of a GPU's hour."""
    plan, texts = _written("slurm", "software.mig.nodes=2")
    hour = plan.options[0].money.usd_per_gpu_hour
    assert hour is not None
    assert f"| 3g.40gb | 8 | 16 | 40 GB | 0.500 | {hour / 2:.2f} |" in texts["software.md"]


@pytest.mark.parametrize("gpu", sorted(mig.profiles_by_gpu()))
def test_shares_of_a_gpu(gpu: str) -> None:
    """The whole is one; a full set of the smallest profile is one; no share is below that of memory or compute."""
    profiles = mig.profiles_by_gpu()[gpu]
    whole = max(profiles, key=lambda profile: profile.compute_slices)
    assert mig.share_of(whole.name, profiles) == 1
    smallest = profiles[0]
    assert mig.share_of(smallest.name, profiles) * smallest.most == pytest.approx(1)
    for profile in profiles:
        share = mig.share_of(profile.name, profiles)
        assert share >= profile.compute_slices / whole.compute_slices
        assert share >= profile.memory_slices / whole.memory_slices


def test_nodes_that_are_all_divided_are_missing_to_the_plan() -> None:
    """The plan says how many of its nodes are divided, and that a cloud's project divides none."""
    plan, _ = _written("slurm")
    (warning,) = [entry for entry in plan.warnings if entry.id == "MIG005"]
    nodes = plan.options[0].cluster.nodes
    assert f"{nodes} of {nodes} nodes are divided" in warning.message
    counted, _ = _written("slurm", "software.mig.nodes=2")
    assert [entry for entry in counted.warnings if entry.id == "MIG005"] == []
    cloud = plan_of(GPT3, ["software.mig.geometry=[3g.40gb, 4g.40gb]"], "aws")
    assert [entry.path for entry in cloud.warnings if entry.id == "MIG006"] == [("software", "mig")]


def test_nodes_with_parts_of_gpus_alone_are_missing_to_the_plan() -> None:
    """Kubernetes offers no whole GPU of them: the plan warns where all have parts, and acceptance counts the others."""
    asked = ["software.mig=null", "software.sharing.way=time-slicing", "software.sharing.parts=4"]
    every, _ = _written("kubernetes", *asked)
    (warning,) = [entry for entry in every.warnings if entry.id == "SHR004"]
    nodes = every.options[0].cluster.nodes
    assert f"{nodes} of {nodes} nodes offer parts of GPUs alone" in warning.message
    plan, texts = _written("kubernetes", *asked, "software.sharing.nodes=2")
    hosts = plan.options[0].cluster.nodes
    assert [entry for entry in plan.warnings if entry.id == "SHR004"] == []
    assert f"{hosts} nodes Ready, {(hosts - 2) * 8:,} GPUs allocatable" in texts["acceptance.md"]


def test_shared_nodes_of_slurm_are_apart() -> None:
    """They are in a partition of their own; where all of them are shared the job finds them in its own."""
    asked = ("software.mig=null", "software.sharing.way=mps", "software.sharing.parts=4")
    plan, texts = _written("slurm", *asked, "software.sharing.nodes=2")
    assert plan.options[0].cluster.divided_nodes == 2
    assert re.search(r"^PartitionName=slices ", texts["slurm.conf"], re.MULTILINE)
    every, texts = _written("slurm", *asked)
    assert [entry for entry in every.warnings if entry.id == "SHR004"] == []
    assert "PartitionName=slices" not in texts["slurm.conf"]


def test_a_divided_node_is_no_spare() -> None:
    """Spares are nodes with whole GPUs: two that are divided are none of them."""
    for spare, said in ((0, "none is spare"), (1, "nodes with whole GPUs: 1 is spare")):
        _, texts = _written("slurm", "software.mig.nodes=2", f"reliability.spare_nodes={spare}")
        (row,) = [line for line in texts["acceptance.md"].splitlines() if "kill one node's power" in line]
        assert said in row


def test_slurm_has_no_node_with_both() -> None:
    """Two divided GPUs beside six whole ones are refused with what to do; Kubernetes takes them."""
    values = {
        "name": "x",
        "workload": {
            "kind": "train",
            "model": "llama-3-8b",
            "tokens": "1 T",
            "sequence_length": 8192,
            "global_batch": 512,
            "precision": "bf16",
        },
        "software": {"mig": {"geometry": ["3g.40gb", "4g.40gb"], "gpus": 2}},
    }
    found = {
        scheduler: resolve(
            load_values(
                {**values, "targets": {"onprem": {"system": "dgx-h100", "scheduler": scheduler}}}, name="test"
            ).blueprint,
            load(),
        )
        for scheduler in ("slurm", "kubernetes")
    }
    assert isinstance(found["slurm"], tuple)
    (problem,) = found["slurm"]
    assert (problem.id, problem.path) == ("MIG004", ("software", "mig", "gpus"))
    assert "software.mig.nodes" in problem.help
    assert not isinstance(found["kubernetes"], tuple)


#: nvidia-smi of two GPUs whose state is files of a folder: MODE and INSTANCES of each.
_NVIDIA_SMI = r"""
state="$(dirname "$0")/../state"
gpu="$(grep -oE -- '--id[= ][0-9]' <<<"$*" | grep -oE '[0-9]$' || true)"
echo "$*" >>"$state/calls"
case "$*" in
"--query-gpu=index --format=csv,noheader") printf '0\n1\n' ;;
*mig.mode.current*) cat "$state/mode$gpu" ;;
*query-compute-apps*) cat "$state/apps$gpu" 2>/dev/null || true ;;
*--multi-instance-gpu=1) echo Enabled >"$state/mode$gpu" ;;
*--list-gpu-instances*) cat "$state/list$gpu" 2>/dev/null || exit 6 ;;
*--destroy*) rm -f "$state/list$gpu" ;;
*--create-gpu-instance*)
    number=1
    for one in $(tr , ' ' <<<"$3"); do if [[ "$one" = *g.* ]]; then
        echo "|   $gpu  MIG ${one%:*}          9        $number          ${one#*:}:4     |" >>"$state/list$gpu"
        number=$((number + 1))
    fi; done ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with two GPUs that are whole."""
    for folder in ("bin", "state", "units"):
        (tmp_path / folder).mkdir()
    for name, body in (("nvidia-smi", _NVIDIA_SMI), ("systemctl", "exit 0")):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)
    for gpu in (0, 1):
        (tmp_path / "state" / f"mode{gpu}").write_text("Disabled\n")
    return tmp_path


def _divided(machine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{machine}/bin:/usr/bin:/bin", "CLUSTER_UNITS": str(machine / "units")},
    )


def test_a_node_is_divided_once(machine: Path) -> None:
    """Both GPUs get the instances at their places; a second run changes nothing; a unit does it before slurmd."""
    first = _divided(machine, "--at-boot", "4g.40gb:0,3g.40gb:4")
    assert first.returncode == 0, first.stderr
    calls = (machine / "state" / "calls").read_text()
    assert calls.count("--create-gpu-instance 4g.40gb:0,3g.40gb:4") == 2
    unit = (machine / "units" / "gpu-cluster-mig.service").read_text()
    assert "Before=slurmd.service" in unit
    assert "mig.sh 4g.40gb:0,3g.40gb:4\n" in unit
    second = _divided(machine, "4g.40gb:0,3g.40gb:4")
    assert second.returncode == 0
    assert (machine / "state" / "calls").read_text().count("--create-gpu-instance") == 2


def test_a_busy_gpu_is_left_alone(machine: Path) -> None:
    """Where a process has the GPU nothing is destroyed, and the reason is said."""
    (machine / "state" / "apps1").write_text("4711\n")
    found = _divided(machine, "3g.40gb:0,3g.40gb:4")
    assert found.returncode == 3
    assert "GPU 1 is in use" in found.stderr
    assert "--destroy-gpu-instance --id 1" not in (machine / "state" / "calls").read_text()


@pytest.mark.parametrize("asked", ["", "3g.40gb", "3g.40gb:0;reboot", "half:0"])
def test_what_is_no_placement_is_refused(machine: Path, asked: str) -> None:
    """Only profiles with places reach nvidia-smi."""
    assert _divided(machine, asked).returncode == 2
    assert not (machine / "state" / "calls").exists()


def test_the_script_is_clean_for_shellcheck() -> None:
    """Shellcheck has nothing to say."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    result = subprocess.run([shellcheck, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
