"""A TPU slice: one machine of many hosts, private, with an account of its own and no NVIDIA part."""

from pathlib import Path
from typing import Any

import pytest

from recording import TPU, Recording, scenario

VM = "gcp:tpu/v2Vm:V2Vm"


def sliced(project: Path, **changes: Any) -> Recording:
    """A cluster of 16 TPU hosts."""
    return scenario(project, **{"nodeType": TPU, "nodeCount": 16, **changes})


def test_a_slice_is_one_private_machine(project: Path) -> None:
    """The slice has the topology of its chips, no public address, the nodes' account and the cluster's labels."""
    vm = sliced(project).one(VM).inputs
    assert vm["acceleratorConfig"] == {"type": "V5P", "topology": "4x4x4"}
    assert vm["networkConfig"]["enableExternalIps"] is False
    assert vm["serviceAccount"]["email"].startswith("gpt3-compute@")
    assert vm["runtimeVersion"] == "v2-alpha-tpuv5"
    assert vm["labels"]["gpu-cluster"] == "gpt3"
    assert "gs://gpt3-data" in vm["metadata"]["startup-script"]


def test_there_is_nothing_for_gpus(project: Path) -> None:
    """No instance group, template or placement policy, one network alone, and the bucket for the slice's machines."""
    recording = sliced(project)
    kinds = {one.type for one in recording.in_layer("nodes") if one.type.startswith("gcp:")}
    assert kinds == {VM, "gcp:projects/service:Service", "gcp:storage/bucketIAMMember:BucketIAMMember"}
    assert [one.name for one in recording.of("gcp:compute/network:Network")] == ["gpt3-primary"]
    user_data = recording.one("gcp:compute/instance:Instance", "controller").inputs["metadata"]["user-data"]
    assert "CLUSTER_GPUS_PER_NODE='0'" in user_data
    assert "CLUSTER_FABRIC='none'" in user_data


@pytest.mark.parametrize(("capacity", "spot", "reserved"), [("on-demand", 0, 0), ("spot", 1, 0), ("reservation", 0, 1)])
def test_capacity_of_a_slice(project: Path, capacity: str, spot: int, reserved: int) -> None:
    """Spot and reservation are flags of the slice."""
    name = "tpu-1" if capacity == "reservation" else ""
    scheduling = sliced(project, capacity=capacity, reservationId=name).one(VM).inputs["schedulingConfig"]
    assert scheduling == {"spot": bool(spot), "reserved": bool(reserved)}


def test_zero_hosts_make_no_slice(project: Path) -> None:
    """NodeCount 0 removes the slice and leaves the rest."""
    recording = sliced(project, nodeCount=0)
    assert not recording.of(VM)
    identity = {"cluster": "gpt3", "place": "us-central1"}
    assert recording.exports["nodes"] == {"identity": identity, "node_groups": [], "slice": ""}
