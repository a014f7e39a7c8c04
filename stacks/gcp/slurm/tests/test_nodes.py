"""GPU nodes: interfaces, capacity, placement, disks."""

from pathlib import Path
from typing import Any

import pytest

from recording import MACHINE_TYPES, Recording, RecordingMonitor, run_layer, scenario

TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"


def gvnic(*names: str) -> list[tuple[str, str]]:
    """Interfaces that each have a network of their own."""
    return [(f"id-of-gpt3-{name}", "GVNIC") for name in names]


RDMA = [(f"id-of-gpt3-rdma-{rail}", "MRDMA") for rail in range(8)]
# Subnetwork and type of every interface, in the order of the machine.
INTERFACES = {
    "a2-ultragpu-8g": gvnic("primary"),
    "a3-highgpu-8g": gvnic("primary", "gpu-1", "gpu-2", "gpu-3", "gpu-4"),
    "a3-megagpu-8g": gvnic("primary", *(f"gpu-{number}" for number in range(1, 9))),
    "a3-ultragpu-8g": [*gvnic("primary", "gpu-1"), *RDMA],
    "a4-highgpu-8g": [*gvnic("primary", "gpu-1"), *RDMA],
}


def template(recording: Recording) -> dict[str, Any]:
    """Inputs of the one instance template."""
    return recording.one(TEMPLATE).inputs


@pytest.mark.parametrize("node_count", [1, 4, 48])
@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_interfaces_have_the_right_number_order_type_and_network(project: Path, machine: str, node_count: int) -> None:
    """The template lists exactly the interfaces of the machine type, for any cluster size, none of them public."""
    recording = scenario(project, machine=machine, nodeCount=node_count)
    interfaces = template(recording)["networkInterfaces"]
    assert [(one["subnetwork"], one["nicType"]) for one in interfaces] == INTERFACES[machine]
    assert all("accessConfigs" not in one and "ipv6AccessConfigs" not in one for one in interfaces)
    assert recording.one(GROUP).inputs["targetSize"] == node_count


@pytest.mark.parametrize("machine", MACHINE_TYPES)
def test_template_describes_the_machine(project: Path, machine: str) -> None:
    """Machine type, encrypted boot disk of a type it accepts, own account, OS Login, integrity monitoring."""
    inputs = template(scenario(project, machine=machine))
    assert inputs["machineType"] == machine
    (disk,) = inputs["disks"]
    assert disk["diskEncryptionKey"]["kmsKeySelfLink"] == "id-of-gpt3-data"
    assert disk["diskType"] == ("pd-balanced" if machine.startswith("a2-") else "hyperdisk-balanced")
    assert disk["boot"] is True
    assert inputs["serviceAccount"]["email"].startswith("gpt3-compute@")
    assert inputs["metadata"]["enable-oslogin"] == "TRUE"
    assert inputs["metadata"]["block-project-ssh-keys"] == "TRUE"
    assert inputs["shieldedInstanceConfig"]["enableIntegrityMonitoring"] is True


SCHEDULING = {
    "on-demand": {"provisioningModel": "STANDARD", "automaticRestart": True},
    "spot": {
        "provisioningModel": "SPOT",
        "preemptible": True,
        "automaticRestart": False,
        "instanceTerminationAction": "DELETE",
    },
    "reservation": {
        "provisioningModel": "RESERVATION_BOUND",
        "automaticRestart": True,
        "instanceTerminationAction": "DELETE",
    },
    "flex-start": {
        "provisioningModel": "FLEX_START",
        "automaticRestart": False,
        "instanceTerminationAction": "DELETE",
        "maxRunDuration": {"seconds": 604800},
    },
}


def capacity_scenario(project: Path, machine: str, capacity: str) -> Recording:
    """A cluster of one machine type that is bought in one way."""
    reservation = "dense-1" if capacity == "reservation" else ""
    return scenario(project, machine=machine, nodeCount=4, capacity=capacity, reservationId=reservation)


@pytest.mark.parametrize("capacity", SCHEDULING)
@pytest.mark.parametrize("machine", ["a3-highgpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"])
def test_scheduling_of_every_way_to_buy(project: Path, machine: str, capacity: str) -> None:
    """Each way to buy has its provisioning model, and maintenance always ends a GPU machine."""
    inputs = template(capacity_scenario(project, machine, capacity))
    assert inputs["scheduling"] == {**SCHEDULING[capacity], "onHostMaintenance": "TERMINATE"}


@pytest.mark.parametrize("capacity", SCHEDULING)
@pytest.mark.parametrize("machine", ["a2-ultragpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"])
def test_placement_never_meets_a_reservation(project: Path, machine: str, capacity: str) -> None:
    """Compact placement for on-demand and spot; a workload policy for flex-start where it exists; else no policy."""
    recording = capacity_scenario(project, machine, capacity)
    inputs, policies = template(recording), recording.of(POLICY)
    if capacity in {"on-demand", "spot"}:
        assert [one.inputs["groupPlacementPolicy"] for one in policies] == [{"collocation": "COLLOCATED"}]
        assert inputs["resourcePolicies"] == "https://compute/gpt3-compact"
        assert inputs["reservationAffinity"] == {"type": "NO_RESERVATION"}
    elif capacity == "flex-start" and machine in {"a3-ultragpu-8g", "a4-highgpu-8g"}:
        assert [one.inputs["workloadPolicy"] for one in policies] == [{"type": "HIGH_THROUGHPUT"}]
        assert recording.one(GROUP).inputs["resourcePolicies"] == {"workloadPolicy": "https://compute/gpt3-workload"}
        assert "resourcePolicies" not in inputs
    else:
        assert not policies
        assert "resourcePolicies" not in inputs
        assert "resourcePolicies" not in recording.one(GROUP).inputs


def test_reservation_is_the_named_one(project: Path) -> None:
    """Nodes take the reservation that is named, and no other."""
    affinity = template(capacity_scenario(project, "a4-highgpu-8g", "reservation"))["reservationAffinity"]
    assert affinity == {
        "type": "SPECIFIC_RESERVATION",
        "specificReservation": {"key": "compute.googleapis.com/reservation-name", "values": ["dense-1"]},
    }


def test_reservation_made_at_once_keeps_the_standard_model(project: Path) -> None:
    """A2 reservations are not reservation-bound unless the configuration says so."""
    assert template(capacity_scenario(project, "a2-ultragpu-8g", "reservation"))["scheduling"] == {
        "provisioningModel": "STANDARD",
        "automaticRestart": True,
        "onHostMaintenance": "TERMINATE",
    }


def test_distance_reaches_the_policy(project: Path) -> None:
    """A configured distance is passed on; the number of machines never is."""
    policy = scenario(project, placementMaxDistance=2).one(POLICY).inputs["groupPlacementPolicy"]
    assert policy == {"collocation": "COLLOCATED", "maxDistance": 2}


def test_flex_start_asks_for_all_nodes_or_none(project: Path) -> None:
    """Flex-start nodes come with one request; the group starts empty, is not repaired and keeps its moved target."""
    recording = capacity_scenario(project, "a4-highgpu-8g", "flex-start")
    request = recording.one("gcp:compute/resizeRequest:ResizeRequest").inputs
    assert (request["resizeBy"], request["zone"]) == (4, "us-central1-a")
    group = recording.one(GROUP)
    assert group.inputs["targetSize"] == 0
    assert group.inputs["instanceLifecyclePolicy"] == {"defaultActionOnFailure": "DO_NOTHING"}
    assert group.ignored_changes == ("targetSize",)


def test_new_template_leaves_running_nodes_alone(project: Path) -> None:
    """A change of the template waits until a node is replaced; failed nodes are repaired; `up` does not wait."""
    group = scenario(project).one(GROUP)
    assert group.inputs["updatePolicy"]["type"] == "OPPORTUNISTIC"
    assert group.inputs["updatePolicy"]["maxSurgeFixed"] == 0
    assert group.inputs["instanceLifecyclePolicy"] == {"defaultActionOnFailure": "REPAIR"}
    assert group.inputs["versions"] == [{"instanceTemplate": "https://compute/gpt3-gpu?uniqueId=1"}]
    assert group.inputs["waitForInstances"] is False
    assert group.ignored_changes == ()
    assert not scenario(project).of("gcp:compute/resizeRequest:ResizeRequest")


def test_zero_nodes_keep_the_cluster(project: Path) -> None:
    """NodeCount 0 stops the nodes and leaves template, data and controller."""
    recording = scenario(project, nodeCount=0)
    assert recording.one(GROUP).inputs["targetSize"] == 0
    assert recording.one("gcp:lustre/instance:Instance")
    assert template(recording)["metadata"]["user-data"]
    flex = scenario(project, machine="a4-highgpu-8g", nodeCount=0, capacity="flex-start")
    assert not flex.of("gcp:compute/resizeRequest:ResizeRequest")


def test_a_large_cluster_has_several_groups(project: Path) -> None:
    """A group holds 1,000 machines; the first ones are full, so that growing changes only the last."""
    recording = scenario(project, nodeCount=2048)
    assert [(one.name, one.inputs["targetSize"]) for one in recording.of(GROUP)] == [
        ("gpt3-gpu", 1000),
        ("gpt3-gpu-2", 1000),
        ("gpt3-gpu-3", 48),
    ]
    assert recording.outputs["node_groups"] == ["gpt3-gpu", "gpt3-gpu-2", "gpt3-gpu-3"]
    assert len(recording.of(TEMPLATE)) == 1


def test_nodes_and_foundation_must_agree_on_the_networks(project: Path) -> None:
    """A foundation made for another machine type is noticed before machines with missing interfaces are made."""
    exports = dict(scenario(project, machine="a3-highgpu-8g").exports)
    with pytest.raises(Exception, match="needs 8 networks beside the primary one, and the foundation has 4"):
        run_layer(project, "nodes", {"machine": "a3-megagpu-8g"}, RecordingMonitor(exports))


def test_spot_nodes_watch_for_the_notice(project: Path) -> None:
    """Spot nodes drain themselves when Google takes them back; others have nothing to watch for."""
    for capacity, watches in (("spot", "yes"), ("on-demand", "no")):
        assert f"CLUSTER_SPOT='{watches}'" in template(scenario(project, capacity=capacity))["metadata"]["user-data"]


def test_missing_nodes_raise_an_alert(project: Path) -> None:
    """The alert wants as many machines as each group should have, and goes to the foundation's channel."""
    alert = scenario(project).one("gcp:monitoring/alertPolicy:AlertPolicy", "missing-nodes").inputs
    (condition,) = alert["conditions"]
    assert condition["conditionThreshold"]["thresholdValue"] == 48
    assert alert["notificationChannels"] == ["gpt3-alerts"]
    assert not [one for one in scenario(project, nodeCount=0).resources if "missing-nodes" in one.name]
