"""The program as a whole: what every resource has to have, and what must appear nowhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_cluster import settings_cluster, settings_foundation, settings_nodes
from gpu_cluster.config_values import ConfigError
from recording import (
    LAYERS,
    MACHINE_TYPES,
    NODE_TYPES,
    TPU,
    RecordingMonitor,
    every_text,
    plain_values,
    run_layer,
    run_with,
    scenario,
)

SETTINGS: dict[str, Any] = {
    "foundation": settings_foundation,
    "cluster": settings_cluster,
    "nodes": settings_nodes,
}
EXISTING = {
    "network": "projects/host/global/networks/shared",
    "subnetwork": "projects/host/regions/us-central1/subnetworks/nodes",
    "gpuSubnetworks": [f"projects/host/regions/us-central1/subnetworks/gpu-{number}" for number in range(8)],
    "keyId": "projects/host/locations/us-central1/keyRings/r/cryptoKeys/k",
    "bucketName": "their-data",
}

SCENARIOS = [
    *({"machine": machine} for machine in MACHINE_TYPES),
    {"machine": "a3-highgpu-8g", "nodeCount": 1, "capacity": "reservation", "reservationId": "dense-1"},
    {"machine": "a4-highgpu-8g", "nodeCount": 4, "capacity": "flex-start"},
    {"sharedStorage": {"capacityGib": 0}, "operators": None, "tags": None, "billingAccount": "", "alertEmail": ""},
    {"existingNetwork": EXISTING, "grantKeyUse": False},
    {"nodeType": TPU, "nodeCount": 16},
    {"timeToLiveHours": 48, "stopWhenIdleMinutes": 30, "capacity": "spot"},
    {"accountingDatabase": False, "accountingPassword": ""},
]
# Types that Google Cloud gives labels to.
LABELLED = (
    "gcp:compute/address:Address",
    "gcp:compute/globalAddress:GlobalAddress",
    "gcp:compute/instance:Instance",
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:kms/cryptoKey:CryptoKey",
    "gcp:lustre/instance:Instance",
    "gcp:secretmanager/secret:Secret",
    "gcp:storage/bucket:Bucket",
    "gcp:tpu/v2Vm:V2Vm",
    "gcp:workflows/workflow:Workflow",
)


def name_of(changes: dict[str, Any]) -> str:
    """Short name of a scenario in the test report."""
    return ",".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", SCENARIOS, ids=name_of)
def test_no_output_was_turned_into_text(project: Path, changes: dict[str, Any]) -> None:
    """No input holds the help text that Python's str() of an Output gives, nor a None that became text."""
    for resource in scenario(project, **changes).resources:
        for text in every_text(resource.inputs):
            assert "Calling __str__ on an Output" not in text, f"{resource.urn}: {text[:80]}"
            # The boot scripts and the watchdog's program are longer than any name and may hold the word.
            assert len(text) > 1000 or not re.search(r"\bNone\b", text), f"{resource.urn}: {text}"


@pytest.mark.parametrize("changes", SCENARIOS, ids=name_of)
def test_no_machine_has_a_public_address(project: Path, changes: dict[str, Any]) -> None:
    """No resource asks for an external address, and only Cloud NAT holds any."""
    for resource in scenario(project, **changes).resources:
        keys = set(every_text(resource.inputs))
        assert not keys & {"accessConfigs", "ipv6AccessConfigs", "EXTERNAL"}, resource.urn


@pytest.mark.parametrize("changes", SCENARIOS, ids=name_of)
def test_everything_that_can_has_labels(project: Path, changes: dict[str, Any]) -> None:
    """Every resource with labels carries the cluster's name and the configured ones, legal in Google's eyes."""
    for resource in scenario(project, **changes).resources:
        if resource.type not in LABELLED:
            continue
        labels = resource.inputs["labels"]
        assert labels["gpu-cluster"] == "gpt3"
        assert labels["layer"] in resource.urn
        assert labels["managed-by"] == "pulumi"
        assert labels.get("owner") == (None if changes.get("tags", 0) is None else "ml-platform")
        assert all(re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) for key in labels)
        assert all(re.fullmatch(r"[a-z0-9_-]{0,63}", value) for value in labels.values())


def test_disks_carry_labels_too(project: Path) -> None:
    """Disks are billed apart from machines, so they have the labels as well."""
    recording = scenario(project)
    controller = recording.one("gcp:compute/instance:Instance", "controller").inputs
    (disk,) = recording.one("gcp:compute/instanceTemplate:InstanceTemplate").inputs["disks"]
    assert controller["bootDisk"]["initializeParams"]["labels"]["role"] == "controller"
    assert disk["labels"]["role"] == "compute"


@pytest.mark.parametrize("changes", SCENARIOS, ids=name_of)
def test_every_resource_belongs_to_a_component(project: Path, changes: dict[str, Any]) -> None:
    """Google's resources are children of a component."""
    for resource in scenario(project, **changes).resources:
        if resource.type.startswith("gcp:"):
            assert "gpucluster:gcp:" in resource.parent, resource.urn


def test_controller_is_a_hardened_private_machine(project: Path) -> None:
    """The controller has a fixed private address, an encrypted disk, Shielded VM, OS Login and its own account."""
    recording = scenario(project)
    controller = recording.one("gcp:compute/instance:Instance", "controller").inputs
    (interface,) = controller["networkInterfaces"]
    assert interface["networkIp"] == "10.0.0.10" == recording.outputs["controller_address"]
    assert recording.one("gcp:compute/address:Address").inputs["addressType"] == "INTERNAL"
    assert recording.outputs["controller_name"] == "gpt3-controller"
    assert recording.outputs["connect"] == (
        "gcloud compute ssh gpt3-login --tunnel-through-iap --zone us-central1-a --project my-gpu-project"
    )
    assert controller["bootDisk"]["kmsKeySelfLink"] == "id-of-gpt3-data"
    assert controller["shieldedInstanceConfig"] == {
        "enableSecureBoot": True,
        "enableVtpm": True,
        "enableIntegrityMonitoring": True,
    }
    assert controller["metadata"]["enable-oslogin"] == "TRUE"
    assert controller["serviceAccount"]["email"].startswith("gpt3-controller@")


def test_budget_watches_this_cluster(project: Path) -> None:
    """The budget covers the resources with the cluster's label and warns at 50, 90 and 100 percent and in advance."""
    budget = scenario(project).one("gcp:billing/budget:Budget").inputs
    assert budget["amount"]["specifiedAmount"] == {"currencyCode": "USD", "units": "2500000"}
    assert budget["budgetFilter"]["projects"] == ["projects/123456789012"]
    assert budget["budgetFilter"]["labels"] == {"gpu-cluster": "gpt3"}
    rules = [(rule["thresholdPercent"], rule["spendBasis"]) for rule in budget["thresholdRules"]]
    assert rules == [(0.5, "CURRENT_SPEND"), (0.9, "CURRENT_SPEND"), (1, "CURRENT_SPEND"), (1, "FORECASTED_SPEND")]


@pytest.mark.parametrize("missing", ["billingAccount", "budgetUsdPerMonth"])
def test_no_budget_without_account_or_amount(project: Path, missing: str) -> None:
    """Half a budget is none, neither the resource nor the service it needs."""
    recording = scenario(project, **{missing: None})
    assert not recording.of("gcp:billing/budget:Budget")
    assert "billingbudgets.googleapis.com" not in {
        one.inputs["service"] for one in recording.of("gcp:projects/service:Service")
    }


def test_a_second_run_registers_the_same(project: Path) -> None:
    """Two runs with the same configuration register the same, so that an `up` without changes plans none."""
    assert run_with(project, {"nodeCount": 4}) == run_with(project, {"nodeCount": 4})


def test_the_number_of_resources_does_not_grow_with_the_nodes(project: Path) -> None:
    """One node and 48 nodes need the same resources: nodes are machines of one group."""
    small, large = scenario(project, nodeCount=1), scenario(project, nodeCount=48)
    assert len(small.resources) == len(large.resources)
    for layer in LAYERS:
        assert len([one for one in large.in_layer(layer) if one.type.startswith("gcp:")]) <= 60


def test_bad_configuration_registers_nothing(project: Path) -> None:
    """With a wrong value the program stops before the first resource."""
    monitor = RecordingMonitor()
    with pytest.raises(ConfigError, match=r"sharedStorage\.capacityGib"):
        run_layer(project, "foundation", {"sharedStorage.capacityGib": 1000}, monitor)
    assert monitor.recorded == []


@pytest.mark.parametrize("layer", ["cluster", "nodes"])
def test_missing_boot_scripts_register_nothing(project: Path, tmp_path: Path, layer: str) -> None:
    """Without the folder `node/` the program stops before the first resource and says what is missing."""
    for each in LAYERS:
        (tmp_path / each).mkdir()
        for path in (project / each).glob("*"):
            if path.is_file():
                (tmp_path / each / path.name).write_text(path.read_text())
    monitor = RecordingMonitor()
    with pytest.raises(ValueError, match=r"no bootstrap\.sh"):
        run_layer(tmp_path, layer, {}, monitor)
    assert monitor.recorded == []


@pytest.mark.parametrize("layer", LAYERS)
def test_declared_configuration_is_what_the_program_reads(project: Path, layer: str) -> None:
    """Pulumi.yaml declares exactly the keys that the program reads, and its defaults are the program's."""
    declared = yaml.safe_load((project / layer / "Pulumi.yaml").read_text())["config"]
    module = SETTINGS[layer]
    assert set(declared) == {*module.SCALAR_KEYS, *module.OBJECT_KEYS}
    given = plain_values(project, layer)
    # A password has no default that works.
    required = {
        key: value
        for key, value in given.items()
        if "default" not in declared.get(key, {}) or key == "accountingPassword"
    }
    defaults = {
        key: value["default"] for key, value in declared.items() if "default" in value and key != "accountingPassword"
    }
    assert module.read_settings(required) == module.read_settings({**required, **defaults})


WITHOUT_DEFAULT = {
    "foundation": {"clusterName", "zone", "nodeCount", "nodeType", "sharedStorage", "existingNetwork", "tags"},
    "cluster": {"clusterName", "foundationStack", "zone", "nodeType", "tags"},
    "nodes": {"clusterName", "foundationStack", "clusterStack", "zone", "nodeCount", "nodeType", "tags"},
}


@pytest.mark.parametrize("layer", LAYERS)
def test_keys_without_default_are_those_that_every_user_sets(project: Path, layer: str) -> None:
    """Pulumi refuses to run while a declared key has neither value nor default; no optional key may be among them."""
    declared = yaml.safe_load((project / layer / "Pulumi.yaml").read_text())["config"]
    assert {key for key, value in declared.items() if "default" not in value} == WITHOUT_DEFAULT[layer]
    assert set(plain_values(project, layer)) >= WITHOUT_DEFAULT[layer]


def test_every_known_machine_type_is_tested() -> None:
    """The tests cover each fabric that the stack makes."""
    assert {node_type["fabric"] for node_type in NODE_TYPES.values()} == {"none", "tcpx", "tcpxo", "roce"}
