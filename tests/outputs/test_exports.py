"""Exports for other tools: read by the tools' own schemas, and true to the plan."""

import csv
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from clusterwright import assets
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.cli.main import app
from clusterwright.errors import InputError
from clusterwright.outputs.exports.formats import FORMATS, export_text
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.record import TrainingOption, TrainingPlan

ROOT = assets.root()
SHIPPED = ROOT / "blueprints" / "train-gpt3-175b.yaml"
SETTINGS = Path(__file__).with_name("cluster_toolkit_settings.csv")
INSTANCES = {
    "aws": ("p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"),
    "azure": ("Standard_ND96amsr_A100_v4", "Standard_ND96isr_H100_v5", "Standard_ND96isr_MI300X_v5"),
    "gcp": ("a2-ultragpu-8g", "a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"),
}
REGION = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}
ELSEWHERE = {"p5e.48xlarge": "us-east-2", "Standard_ND96isr_MI300X_v5": "eastus2"}


@cache
def planned(cloud: str, instance: str) -> tuple[TrainingPlan, TrainingOption]:
    """Plan a small model on one instance type."""
    catalogue = load()
    text: dict[str, Any] = {
        "name": "small",
        "workload": {
            "kind": "train",
            "model": "llama-2-7b",
            "tokens": 100e9,
            "sequence_length": 2048,
            "global_batch": 512,
        },
        "targets": {cloud: {"instance": instance, "region": ELSEWHERE.get(instance, REGION[cloud]), "max_nodes": 16}},
        "cluster": {"tags": {"owner": "research"}},
    }
    blueprint = Blueprint.model_validate(text)
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved), resolved
    plan = decide(blueprint, resolved, Facts.open())
    return plan, plan.options[0]


def exported(to: str, cloud: str, instance: str, **deployment: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of it
    """Return an export's document."""
    plan, option = planned(cloud, instance)
    changed = replace(option, deployment=replace(option.deployment, **deployment))
    document = YAML(typ="safe").load(export_text(plan, changed, load(), to))
    assert isinstance(document, dict)
    return document


def every_export(to: str) -> list[tuple[str, str]]:
    """Return (cloud, instance type) of everything that a tool deploys."""
    return [(cloud, instance) for cloud in FORMATS[to].clouds for instance in INSTANCES[cloud]]


def test_the_tools_read_every_export(read_as_the_tools_do: Callable[[list[tuple[str, str]]], list[str]]) -> None:
    """AWS ParallelCluster and SkyPilot accept what is written for every instance type and way to buy it."""
    exports = []
    for to in ("parallelcluster", "skypilot"):
        for cloud, instance in every_export(to):
            plan, option = planned(cloud, instance)
            ways = [("on-demand", ""), ("spot", "")]
            if cloud == "aws":
                ways += [("reservation", "cr-0123456789abcdef0"), ("capacity-block", "cr-0123456789abcdef0")]
            for capacity, reservation in ways:
                changed = replace(
                    option,
                    deployment=replace(
                        option.deployment, capacity=capacity, reservation=reservation, stop_when_idle_minutes=60
                    ),
                )
                exports.append((to, export_text(plan, changed, load(), to)))
    assert len(exports) > 40
    assert [problem for problem in read_as_the_tools_do(exports) if problem] == []


MISTAKES = (
    ("parallelcluster", "CapacityType: ONDEMAND", "CapacityType: SOMETIMES", "CapacityType"),
    ("parallelcluster", "MinCount:", "LeastCount:", "LeastCount"),
    ("parallelcluster", "StorageCapacity: ", "StorageCapacity: x", "StorageCapacity"),
    ("skypilot", "num_nodes:", "nodes:", "nodes"),
    ("skypilot", "use_spot: false", "use_spot: maybe", "maybe"),
)


def test_the_tools_would_notice_a_mistake(
    read_as_the_tools_do: Callable[[list[tuple[str, str]]], list[str]],
) -> None:
    """A wrong word in an export does not pass the tool's schema, so passing it means something."""
    plan, option = planned("aws", "p5.48xlarge")
    texts = {to: export_text(plan, option, load(), to) for to in ("parallelcluster", "skypilot")}
    assert [old for to, old, _, _ in MISTAKES if old not in texts[to]] == []
    found = read_as_the_tools_do([(to, texts[to].replace(old, new)) for to, old, new, _ in MISTAKES])
    for (_, _, new, says), problem in zip(MISTAKES, found, strict=True):
        assert says in problem, new


@pytest.mark.parametrize("instance", INSTANCES["aws"])
def test_parallelcluster_has_the_planned_nodes_with_their_fabric(instance: str) -> None:
    """As many nodes as planned stand in one placement group with EFA, beside the planned file system."""
    _, option = planned("aws", instance)
    document = exported("parallelcluster", "aws", instance)
    (queue,) = document["Scheduling"]["SlurmQueues"]
    (nodes,) = queue["ComputeResources"]
    assert (nodes["InstanceType"], nodes["MinCount"], nodes["MaxCount"]) == (
        instance,
        option.cluster.nodes,
        option.cluster.nodes,
    )
    assert nodes["Efa"] == {"Enabled": True}
    assert queue["Networking"]["PlacementGroup"] == {"Enabled": True}
    assert option.design.file_system is not None
    lustre = document["SharedStorage"][0]["FsxLustreSettings"]
    assert lustre["StorageCapacity"] == option.design.file_system.capacity_gib
    assert lustre["PerUnitStorageThroughput"] == option.design.file_system.tier.mb_per_s_per_tib


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_no_machine_is_given_every_parameter_of_the_account(cloud: str) -> None:
    """No export takes AWS's policy of the Session Manager, which reads them all; the way in is a key."""
    instance = INSTANCES[cloud][0]
    plan, option = planned(cloud, instance)
    texts = {to: export_text(plan, option, load(), to) for to in FORMATS if cloud in FORMATS[to].clouds}
    assert texts
    assert [to for to, text in texts.items() if "AmazonSSMManagedInstanceCore" in text] == []
    if cloud == "aws":
        assert exported("parallelcluster", cloud, instance)["HeadNode"]["Ssh"] == {"KeyName": "YOUR-KEY-PAIR"}
        assert "# To set: an EC2 key pair of us-east-1 for YOUR-KEY-PAIR" in texts["parallelcluster"]


@pytest.mark.parametrize("capacity", ["reservation", "capacity-block"])
def test_no_placement_group_stands_on_a_reservation(capacity: str) -> None:
    """Both together make launches fail for want of capacity, so a reserved queue has none."""
    document = exported("parallelcluster", "aws", "p5.48xlarge", capacity=capacity, reservation="cr-0123456789abcdef0")
    (queue,) = document["Scheduling"]["SlurmQueues"]
    assert "PlacementGroup" not in queue["Networking"]
    assert queue["CapacityReservationTarget"] == {"CapacityReservationId": "cr-0123456789abcdef0"}


def allowed_settings() -> dict[str, set[str]]:
    """Return the settings of each module of the Cluster Toolkit that the export may use."""
    allowed: dict[str, set[str]] = {}
    with SETTINGS.open() as file:
        for row in csv.DictReader(file):
            allowed.setdefault(row["module"], set()).add(row["setting"])
    return allowed


@pytest.mark.parametrize("instance", INSTANCES["gcp"])
@pytest.mark.parametrize("capacity", ["on-demand", "spot", "reservation", "flex-start"])
def test_a_cluster_toolkit_blueprint_holds_together(instance: str, capacity: str) -> None:
    """Modules have only settings that the toolkit's modules declare; ids are unique and used after they are defined."""
    reservation = "dense-1" if capacity == "reservation" else ""
    document = exported("cluster-toolkit", "gcp", instance, capacity=capacity, reservation=reservation)
    allowed, seen = allowed_settings(), set[str]()
    for group in document["deployment_groups"]:
        for module in group["modules"]:
            assert set(module) <= {"id", "source", "use", "settings"}
            unknown = set(module.get("settings", {})) - allowed.get(module["source"], set())
            assert not unknown, f"{module['source']}: {unknown}"
            assert set(module.get("use", [])) <= seen
            assert module["id"] not in seen
            seen.add(module["id"])
    names = set(re.findall(r"\$\(vars\.([a-z_]+)", json.dumps(document)))
    assert names <= set(document["vars"])


@pytest.mark.parametrize(
    ("instance", "networks"),
    [
        ("a2-ultragpu-8g", ["network"]),
        ("a3-highgpu-8g", ["network", "gpu-networks"]),
        ("a3-megagpu-8g", ["network", "gpu-networks"]),
        ("a3-ultragpu-8g", ["network", "network-2", "rdma"]),
        ("a4-highgpu-8g", ["network", "network-2", "rdma"]),
    ],
)
def test_a_machine_type_gets_its_networks(instance: str, networks: list[str]) -> None:
    """TCPX has 4 further networks, TCPXO 8, RoCE a second one and an RDMA network of 8 subnets, each at its MTU."""
    facts = load().instances[instance]
    modules = exported("cluster-toolkit", "gcp", instance)["deployment_groups"][0]["modules"]
    assert [module["id"] for module in modules] == networks
    settings = {module["id"]: module["settings"] for module in modules}
    if "gpu-networks" in settings:
        assert settings["gpu-networks"]["network_count"] == {"a3-highgpu-8g": 4, "a3-megagpu-8g": 8}[instance]
    if "rdma" in settings:
        assert settings["rdma"]["subnetworks_template"]["count"] == 8
    if facts.mtu_bytes:
        assert {settings[name]["mtu"] for name in networks if name != "rdma"} == {int(facts.mtu_bytes)}


@pytest.mark.parametrize(("capacity", "placed"), [("on-demand", True), ("reservation", False), ("flex-start", False)])
def test_a_policy_is_asked_for_only_where_the_capacity_brings_none(capacity: str, placed: bool) -> None:
    """Dense reservations and flex-start come with their own placement."""
    reservation = "dense-1" if capacity == "reservation" else ""
    document = exported("cluster-toolkit", "gcp", "a3-megagpu-8g", capacity=capacity, reservation=reservation)
    modules = {module["id"]: module for module in document["deployment_groups"][1]["modules"]}
    assert modules["nodes"]["settings"]["enable_placement"] is placed
    assert modules["nodes"]["settings"].get("reservation_name", "") == reservation


def test_skypilot_trains_with_the_planned_layout(tmp_path: Path) -> None:
    """The task's script is clean shell, and torchrun gets the plan's layout on every node."""
    plan, option = planned("aws", "p5.48xlarge")
    document = exported("skypilot", "aws", "p5.48xlarge")
    assert (document["num_nodes"], document["resources"]["infra"]) == (option.cluster.nodes, "aws/us-east-1")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "torchrun").write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    (programs / "torchrun").chmod(0o755)
    task = {
        "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2",
        "SKYPILOT_NUM_NODES": "2",
        "SKYPILOT_NODE_RANK": "1",
        "SKYPILOT_TASK_ID": "task-1",
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", document["run"]],
        env={**task, **document["envs"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    arguments = done.stdout.splitlines()
    assert "--rdzv-endpoint=10.0.0.1:29400" in arguments
    assert f"{tmp_path}/Megatron-LM/pretrain_gpt.py" in arguments
    position = arguments.index("--tensor-model-parallel-size") + 1
    assert arguments[position] == str(option.performance.layout.tp)
    assert arguments[arguments.index("--global-batch-size") + 1] == str(plan.workload.global_batch_sequences)


@pytest.mark.parametrize("instance", INSTANCES["gcp"])
def test_skypilot_sets_up_googles_own_networks(instance: str) -> None:
    """Its machines have no Slurm, whose prolog starts the managers that our settings name."""
    document = exported("skypilot", "gcp", instance)
    assert "SLURM" not in document["run"]
    assert not re.search(r"TCPX|FASTRAK", document["run"])


def test_skypilot_runs_in_the_blueprints_image() -> None:
    """A registry's image is the task's; without one, the list of what is still to set says what it has to hold."""
    plan, option = planned("aws", "p5.48xlarge")
    assert "image_id: docker:IMAGE, with PyTorch" in export_text(plan, option, load(), "skypilot")
    jobs = replace(plan.cluster.jobs, image="team/megatron:1.0", learning_rate=6e-5)
    named = replace(plan, cluster=replace(plan.cluster, jobs=jobs))
    document = YAML(typ="safe").load(export_text(named, option, load(), "skypilot"))
    assert document["resources"]["image_id"] == "docker:team/megatron:1.0"
    assert document["envs"]["LEARNING_RATE"] == "6e-05"


def test_what_a_tool_cannot_do_is_refused() -> None:
    """ParallelCluster is Slurm on AWS; the Cluster Toolkit's export is for GPUs on Google Cloud."""
    plan, option = planned("aws", "p5.48xlarge")
    with pytest.raises(InputError, match="runs Slurm"):
        export_text(
            plan,
            replace(option, deployment=replace(option.deployment, scheduler="kubernetes")),
            load(),
            "parallelcluster",
        )
    with pytest.raises(InputError, match="does not deploy to aws"):
        export_text(plan, option, load(), "cluster-toolkit")


def test_the_command_prints_or_writes(tmp_path: Path) -> None:
    """Without -o the document goes to standard output; a file of the user's is never overwritten unasked."""
    run = CliRunner().invoke
    file = tmp_path / "cluster.yaml"
    printed = run(app, ["export", str(SHIPPED), "--to", "parallelcluster"])
    assert printed.exit_code == 0
    written = run(app, ["export", str(SHIPPED), "--to", "parallelcluster", "-o", str(file)])
    assert written.exit_code == 0
    assert file.read_text() == printed.stdout
    file.write_text("mine")
    with pytest.raises(InputError, match="exists with other content"):
        run(app, ["export", str(SHIPPED), "--to", "parallelcluster", "-o", str(file)], catch_exceptions=False)
    assert file.read_text() == "mine"
    with pytest.raises(InputError, match="3 targets for skypilot"):
        run(app, ["export", str(SHIPPED), "--to", "skypilot"], catch_exceptions=False)
    with pytest.raises(InputError, match="there is no export"):
        run(app, ["export", str(SHIPPED), "--to", "terraform"], catch_exceptions=False)
