"""Checks that a wrong configuration is refused as a whole, in words, before anything is registered."""

import importlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpu_cluster.config_values import ConfigError
from recording import LAYERS, RecordingMonitor, declared, example, example_configs, run_layer, scenario

BLOCK = {"capacity": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"clusterName": "GPT3"}, "clusterName: needs a name"),
    ({"clusterName": "a; rm -rf /"}, "clusterName: needs a name"),
    ({"clusterName": "a" * 32}, "clusterName: needs a name"),
    ({"clusterName": "gpt3\n"}, "clusterName: needs a name"),
    ({"clusterName": None}, "clusterName: needs a name like [a-z][a-z0-9-]{0,30}, got nothing"),
    ({"foundationStack": "small"}, "foundationStack: needs a stack as ORGANIZATION/PROJECT/STACK"),
    ({"clusterStack": "a/b"}, "clusterStack: needs a stack as ORGANIZATION/PROJECT/STACK"),
    ({"loginInstanceType": "m7i.xlargest"}, "loginInstanceType: EC2 has no m7i.xlargest"),
    ({"accountingDatabaseInstanceClass": "db.tiny"}, "accountingDatabaseInstanceClass: needs one of"),
    ({"secondAvailabilityZone": "us-east-1a"}, "secondAvailabilityZone: is the zone of the nodes"),
    ({"stopWhenIdleMinutes": 5}, "stopWhenIdleMinutes: is 5; nodes report every 5 minutes"),
    ({"timeToLiveHours": -1}, "timeToLiveHours: needs a whole number"),
    ({"partition": "gpu'"}, "partition: needs a name"),
    ({"aws:region": "virginia"}, "region: needs an AWS region"),
    ({"availabilityZone": "us-east-2a"}, "availabilityZone: needs a zone of region us-east-1"),
    ({"nodeCount": "many"}, "nodeCount: needs a whole number"),
    ({"nodeCount": -1}, "nodeCount: needs a whole number from 0 to 4,096, got -1"),
    ({"nodeCount": 4097}, "nodeCount: needs a whole number"),
    ({"maxNodesPerGroup": 0}, "maxNodesPerGroup: needs a whole number"),
    ({"vpcCidr": "8.8.0.0/16"}, "vpcCidr: needs a private IPv4 range"),
    ({"vpcCidr": "10.64.0.1/16"}, "vpcCidr: needs a private IPv4 range"),
    ({"vpcCidr": "10.64.0.0/12"}, "vpcCidr: needs a private IPv4 range from /16 to /25"),
    ({"vpcCidr": "10.64.0.0/24", "nodeCount": 48}, "vpcCidr: PRE032: 10.64.0.0/24 leaves 107 addresses"),
    ({"nodeType": "p5.48xlarge"}, "nodeType"),
    ({"nodeType.instanceType": "p5"}, "nodeType.instanceType: needs an EC2 instance type"),
    ({"nodeType.fabric": "infiniband"}, "nodeType.fabric: needs one of efa, none"),
    ({"nodeType.fabricInterfaces": 31}, "fabricInterfaces is 31, but 32 network card(s) with EFA on card 0 carry 32"),
    ({"nodeType.cardZeroHasFabric": False}, "32 network card(s) without EFA on card 0 carry 31"),
    ({"nodeType.cardZeroHasFabric": "yes"}, "cardZeroHasFabric: needs true or false"),
    ({"nodeType.maxInterfacesPerCard": 1}, "needs maxInterfacesPerCard of 2 or more"),
    ({"nodeType.fabric": "none"}, "nodeType.fabric: is none, which contradicts fabricInterfaces 32"),
    ({"nodeType.gpuType": "H100"}, "nodeType.gpuType: needs a Slurm gres type"),
    ({"nodeType.gpusPerNode": True}, "nodeType.gpusPerNode: needs a whole number from 0 to 16, got true"),
    ({"nodeType.gpusPerNode": 8.5}, "nodeType.gpusPerNode: needs a whole number"),
    ({"nodeType.image": "ubuntu"}, "nodeType.image: needs ami-"),
    ({"nodeType.gpuCount": 8}, "nodeType.gpuCount: unknown key"),
    ({"sharedStorage.capacityGib": 1300}, "capacityGib: needs 1200 or a multiple of 2400 (GiB), got 1300; the smallest is 1200"),
    ({"sharedStorage.capacityGib": 5000}, "the nearest are 4800 and 7200"),
    ({"sharedStorage.capacityGib": 0}, "sharedStorage.capacityGib: needs a whole number"),
    ({"sharedStorage.throughputMbPerSPerTib": 300}, "throughputMbPerSPerTib: needs one of 125, 250, 500, 1000, got 300"),
    ({"sharedStorage.efaEnabled": True, "sharedStorage.capacityGib": 48000}, "a multiple of 19200 (GiB) for an EFA file system"),
    ({"sharedStorage.mountPath": "shared"}, "sharedStorage.mountPath: needs an absolute path"),
    ({"sharedStorage.mountPath": "/sha red"}, "sharedStorage.mountPath: needs an absolute path"),
    ({"sharedStorage": None}, "sharedStorage: needs an object, got nothing"),
    ({"capacity": "future"}, "capacity: needs one of on-demand, spot, reservation, capacity-block"),
    ({"capacity": "reservation"}, "reservationId: is needed because capacity is reservation"),
    ({"reservationId": "cr-0123456789abcdef0"}, "reservationId: must be empty because capacity is on-demand"),
    ({**BLOCK, "reservationId": "block-1"}, "reservationId: needs a reservation id"),
    ({"nodeType.instanceType": "p5.49xlarge"}, "nodeType.instanceType: EC2 has no p5.49xlarge that this pulumi-aws knows; did you mean p5.4"),
    ({**BLOCK, "nodeType.instanceType": "g6e.48xlarge", "nodeType.capacities": ["on-demand", "spot"]}, "capacity: is capacity-block, which is not sold for g6e.48xlarge"),
    ({"capacity": "spot", "nodeType.capacities": ["on-demand"]}, "capacity: is spot, which is not sold for p5.48xlarge; it is sold as on-demand"),
    ({"nodeType.capacities": ["future"]}, "nodeType.capacities.0: needs one of on-demand, spot"),
    ({"stopWhenIdleMinutes": 60, "nodeType.software": "neuron"}, "stopWhenIdleMinutes: nodes with neuron do not report"),
    ({**BLOCK, "nodeCount": 65}, "nodeCount: is 65, but a capacity block holds at most 64"),
    ({"controllerInstanceType": "large"}, "controllerInstanceType: needs an EC2 instance type"),
    ({"controllerImage": "latest"}, "controllerImage: needs ami-"),
    ({"nodeRootVolumeGib": 8}, "nodeRootVolumeGib: needs a whole number from 100"),
    ({"budgetUsdPerMonth": "lots"}, "budgetUsdPerMonth: needs a whole number"),
    ({"alertEmail": "nobody"}, "alertEmail: needs an email address"),
    ({"budgetByTag": "maybe"}, "budgetByTag: needs true or false"),
    ({"tags": {"aws:owner": "x"}}, "tags.aws:owner: is not a valid tag key"),
    ({"tags": {"owner": "a\tb"}}, "tags.owner: needs a tag value"),
    ({"tags": {"gpu-cluster": "other"}}, "is a tag that the program sets itself"),
]  # fmt: skip


def run_until_refused(project: Path, changes: dict[str, Any]) -> tuple[Exception, RecordingMonitor]:
    """Run the layers in order until one refuses; those before it have nothing to do with the change."""
    stacks: dict[str, Any] = {}
    for layer, config in example_configs(project, changes).items():
        monitor = RecordingMonitor(layer, stacks)
        try:
            stacks[f"organization/aws-gpu-{layer}/small"] = run_layer(project, layer, config, monitor)
        except Exception as refusal:  # noqa: BLE001 - whatever stops the program
            return refusal, monitor
    pytest.fail("no layer refused")


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong_value_is_refused_before_anything_is_registered(
    project: Path, changes: dict[str, Any], message: str
) -> None:
    """A wrong value stops the layer that has it with a sentence that names the key, and nothing is registered."""
    refusal, monitor = run_until_refused(project, changes)
    if changes == {"nodeType": "p5.48xlarge"}:
        # Pulumi itself refuses an object that is no JSON.
        assert "nodeType" in str(refusal)
    else:
        assert isinstance(refusal, ConfigError)
        assert message in str(refusal)
        assert len(refusal.problems) == 1
    assert monitor.recorded == []


def test_all_problems_are_reported_at_once(project: Path) -> None:
    """Several wrong values are listed together, so that they can be put right in one go."""
    changes = {"maxNodesPerGroup": 0, "capacity": "future", "nodeRootVolumeGib": 8, "nodeType.instanceType": "p5"}
    with pytest.raises(ConfigError) as refused:
        run_layer(project, "nodes", example_configs(project, changes)["nodes"], RecordingMonitor("nodes", {}))
    assert [problem.split(":")[0] for problem in refused.value.problems] == [
        "nodeType.instanceType",
        "maxNodesPerGroup",
        "nodeRootVolumeGib",
        "capacity",
    ]
    assert str(refused.value).startswith("4 problem(s) in the stack's configuration:\n  - nodeType.instanceType: needs")


@pytest.mark.parametrize("layer", ["cluster", "nodes"])
def test_missing_bootstrap_scripts_stop_the_program(project: Path, tmp_path: Path, layer: str) -> None:
    """A project whose node/ folder was lost says so and registers nothing."""
    folder = tmp_path / "bare"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("node", ".*", "__pycache__"))
    monitor = RecordingMonitor(layer, {})
    with pytest.raises(Exception, match=r"no bootstrap\.sh"):
        run_layer(folder, layer, example_configs(folder, {})[layer], monitor)
    assert monitor.recorded == []


@pytest.mark.parametrize("layer", LAYERS)
def test_misspelt_key_is_refused(layer: str) -> None:
    """A key that nothing reads is named together with the known ones."""
    settings = importlib.import_module(f"gpu_cluster.settings_{layer}")
    with pytest.raises(ConfigError, match=r"clustername: unknown key; did you mean 'clusterName'\?; known are "):
        settings.read_settings({"clustername": "x"})


def test_defaults_fill_what_may_be_left_out(project: Path) -> None:
    """Optional keys can be absent from the stack files."""
    optional = (
        "vpcCidr", "secondAvailabilityZone", "maxNodesPerGroup", "nodeRootVolumeGib", "capacity", "reservationId",
        "timeToLiveHours", "stopWhenIdleMinutes", "controllerInstanceType", "controllerImage", "controllerRootVolumeGib",
        "loginInstanceType", "loginRootVolumeGib", "accountingDatabase", "accountingDatabaseInstanceClass",
        "accountingDatabaseDeletionProtection", "partition", "budgetUsdPerMonth", "alertEmail", "budgetByTag", "tags",
        "existingNetwork", "sharedStorage.mountPath", "sharedStorage.efaEnabled",
    )  # fmt: skip
    recording = scenario(project, tuple((key, None) for key in optional))
    assert recording.one("aws:ec2/vpc:Vpc").inputs["cidrBlock"] == "10.64.0.0/16"
    assert recording.one("aws:ec2/instance:Instance", "controller").inputs["instanceType"] == "m7i.2xlarge"


@pytest.mark.parametrize("layer", LAYERS)
def test_settings_need_no_pulumi_yaml_defaults(project: Path, layer: str) -> None:
    """The defaults of the program are those of Pulumi.yaml, also when only the program's own are used."""
    settings = importlib.import_module(f"gpu_cluster.settings_{layer}")
    raw = {key.split(":", 1)[1]: value for key, value in example(project, layer).items()}
    defaults = {key: one["default"] for key, one in declared(project, layer).items() if "default" in one}
    without = {key: value for key, value in raw.items() if key not in defaults}
    assert settings.read_settings(without) == settings.read_settings({**raw, **defaults})
