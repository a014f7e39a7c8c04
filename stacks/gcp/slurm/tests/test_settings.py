"""Wrong configuration is refused with a sentence that names the key; nothing wrong slips through."""

from pathlib import Path
from typing import Any

import pytest
from gpu_cluster.lustre_sizes import LUSTRE_TIERS
from recording import plain_values
from settings import ConfigError, read_settings


def problems(project: Path, **changes: Any) -> tuple[str, ...]:  # noqa: ANN401
    """What is wrong with the example after some changes."""
    try:
        read_settings(plain_values(project, **changes))
    except ConfigError as error:
        return error.problems
    return ()


# One fault each, and the start of the one message that has to come out.
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"clusterName": "GPT3"}, "clusterName: expected a name"),
    ({"clusterName": "gpt3'; rm -rf /"}, "clusterName: expected a name"),
    ({"clusterName": None}, "clusterName: is required"),
    ({"gcp:project": None}, "project: is required"),
    ({"zone": "us-central2-a"}, "zone: us-central2-a is not in gcp:region us-central1"),
    ({"zone": "us-central1"}, "zone: expected a zone"),
    ({"nodeCount": -1}, "nodeCount: expected a whole number from 0 to 4096"),
    ({"nodeCount": "many"}, "nodeCount: expected a whole number"),
    ({"nodeCount": True}, "nodeCount: expected a whole number"),
    ({"nodeCount": 1.5}, "nodeCount: expected a whole number"),
    ({"partition": "gpu nodes"}, "partition: expected a name"),
    ({"controllerInstanceType": "n2 standard"}, "controllerInstanceType: expected a machine type"),
    ({"networkCidr": "8.8.8.0/20"}, "networkCidr: expected a private IPv4 range"),
    ({"networkCidr": "10.0.0.1/12"}, "networkCidr: expected a private IPv4 range"),
    ({"networkCidr": "10.0.0.0/25"}, "networkCidr: expected a private IPv4 range"),
    ({"networkCidr": "10.0.0.0/23", "nodeCount": 28}, "networkCidr: 10.0.0.0/23 gives every network 27 addresses"),
    ({"nodeType": None}, "nodeType: is required"),
    ({"nodeType__gpuNetwork": 8}, "nodeType.gpuNetwork: unknown key; did you mean 'gpuNetworks'?"),
    ({"nodeType__gpuNetworks": 4}, "nodeType.gpuNetworks: a3-megagpu-8g needs 8, got 4"),
    ({"nodeType__mtu": 1460}, "nodeType.mtu: a3-megagpu-8g needs 8244, got 1460"),
    ({"nodeType__mtu": 9000}, "nodeType.mtu: expected a whole number from 1300 to 8896"),
    ({"nodeType__rdma": True}, "nodeType.rdma: a3-megagpu-8g needs false, got true"),
    ({"nodeType__fabric": "efa"}, "nodeType.fabric: expected one of none, tcpx, tcpxo, roce, gvnic"),
    ({"nodeType__fabric": "tcpx"}, "nodeType.fabric: a3-megagpu-8g has the fabric tcpxo, got tcpx"),
    ({"nodeType__nicType": "MRDMA"}, "nodeType.nicType: a3-megagpu-8g has no RDMA interfaces"),
    ({"nodeType__image": None}, "nodeType.image: is required"),
    ({"nodeType__instanceType": "a4x-highgpu-4g"}, "nodeType.instanceType: a4x-highgpu-4g needs NVLink-domain"),
    ({"nodeType__gpuType": "H100"}, "nodeType.gpuType: expected a Slurm GRES type"),
    ({"machine": "a4-highgpu-8g", "nodeType__rdmaSubnets": 4}, "nodeType.rdmaSubnets: a4-highgpu-8g needs 8, got 4"),
    ({"machine": "a3-ultragpu-8g", "nodeType__mtu": 8244}, "nodeType.mtu: a3-ultragpu-8g needs 8896, got 8244"),
    (
        {"machine": "a3-highgpu-8g", "nodeType__image": "ubuntu-os-cloud/ubuntu-2204-lts"},
        "nodeType.image: GPUDirect-TCPX needs a kernel that no public image has",
    ),
    (
        {
            "machine": "a3-highgpu-8g",
            "nodeType__image": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts",
        },
        "nodeType.image: GPUDirect-TCPX needs a kernel that no public image has",
    ),
    (
        {"machine": "a3-highgpu-8g", "nodeType__image": "ubuntu-2204-lts"},
        "nodeType.image: GPUDirect-TCPX needs a kernel that no public image has",
    ),
    ({"machine": "a3-highgpu-8g", "nodeType__image": ""}, "nodeType.image: GPUDirect-TCPX needs a kernel"),
    ({"capacity": "on_demand"}, "capacity: expected one of on-demand, spot, reservation, flex-start"),
    ({"capacity": "reservation"}, "reservationId: capacity reservation needs the name of a reservation"),
    ({"reservationId": "dense-1"}, "reservationId: set, but capacity is on-demand; choose one"),
    ({"capacity": "spot", "reservationId": "dense-1"}, "reservationId: set, but capacity is spot; choose one"),
    ({"reservationModel": "bind"}, "reservationModel: expected one of auto, bound, standard"),
    ({"capacity": "reservation", "reservationId": "dense/1"}, "reservationId: expected a reservation name"),
    (
        {"capacity": "reservation", "reservationId": "dense-1", "placementMaxDistance": 2},
        "placementMaxDistance: set, but capacity reservation",
    ),
    ({"capacity": "flex-start", "placementMaxDistance": 2}, "placementMaxDistance: set, but capacity flex-start"),
    ({"placementMaxDistance": 1}, "placementMaxDistance: A3 supports 2 and 3, got 1"),
    ({"placementMaxDistance": 4}, "placementMaxDistance: expected a whole number from 0 to 3"),
    ({"nodeType__placementMaxNodes": 47}, "nodeCount: one compact placement policy holds 47 nodes"),
    ({"capacity": "flex-start", "nodeCount": 257}, "nodeCount: one flex-start request on A3 is capped at 256 nodes"),
    ({"capacity": "flex-start", "flexStartRunHours": 169}, "flexStartRunHours: expected a whole number from 1 to 168"),
    ({"sharedStorage__capacityGib": 18_001}, "sharedStorage.capacityGib: at 500 MB/s per TiB"),
    ({"sharedStorage__throughputMbPerSPerTib": 300}, "sharedStorage.throughputMbPerSPerTib: expected one of 125, 250"),
    ({"sharedStorage__capacityTib": 18}, "sharedStorage.capacityTib: unknown key; did you mean 'capacityGib'?"),
    ({"sharedStorage__mountPath": "shared"}, "sharedStorage.mountPath: expected a path"),
    ({"sharedStorage": 18_000}, "sharedStorage: expected an object"),
    ({"billingAccount": "my account"}, "billingAccount: expected an id"),
    ({"budgetUsdPerMonth": -5}, "budgetUsdPerMonth: expected a whole number"),
    ({"operators": ["allUsers"]}, "operators: expected an IAM member"),
    ({"operators": "group:a@example.com"}, "operators: expected a list"),
    ({"tags": {"Owner": "ml"}}, "tags.Owner: a label has lower-case letters"),
    ({"tags": {"owner": "ML Platform"}}, "tags.owner: a label has lower-case letters"),
    ({"tags": {"cluster": "mine"}}, "tags.cluster: is a label that the stack sets itself"),
    ({"protectData": "maybe"}, "protectData: expected true or false"),
]


@pytest.mark.parametrize(("changes", "message"), FAULTS, ids=lambda value: str(value)[:60])
def test_each_fault_gives_its_one_message(project: Path, changes: dict[str, Any], message: str) -> None:
    """A single wrong value gives a single message that starts with its key."""
    found = problems(project, **changes)
    relevant = [problem for problem in found if problem.startswith(message)]
    assert len(relevant) == 1, found
    # A value that is missing or unreadable may make others unreadable too; a readable one may not.
    if changes not in ({"nodeType": None}, {"zone": "us-central1"}):
        assert [problem for problem in found if problem not in relevant] == [], found


def test_all_faults_are_reported_at_once(project: Path) -> None:
    """Three unrelated faults give three messages in one exception."""
    changes = {"nodeCount": -1, "capacity": "spott", "sharedStorage__capacityGib": 1}
    with pytest.raises(ConfigError) as caught:
        read_settings(plain_values(project, **changes))
    assert len(caught.value.problems) == 3
    assert "did you mean 'spot'?" in str(caught.value)
    assert str(caught.value).count("\n  - ") == 3


@pytest.mark.parametrize("throughput", LUSTRE_TIERS)
def test_lustre_accepts_its_steps_and_nothing_between(project: Path, throughput: int) -> None:
    """Every multiple of the step is accepted, one GiB more or less is not, and the next size is named."""
    step = LUSTRE_TIERS[throughput].step_gib
    for count in (1, 2, 7):
        sizes = {"sharedStorage__throughputMbPerSPerTib": throughput, "sharedStorage__capacityGib": count * step}
        assert problems(project, **sizes) == ()
        for wrong in (count * step - 1, count * step + 1):
            (problem,) = problems(project, **{**sizes, "sharedStorage__capacityGib": wrong})
            assert f"the next size is {-(-wrong // step) * step}" in problem


def test_lustre_steps_are_the_published_ones() -> None:
    """Step times tier is the same 9,000,000 MB/s GiB per TiB for every tier, as Google publishes it."""
    assert {tier * facts.step_gib for tier, facts in LUSTRE_TIERS.items()} == {9_000_000}


def test_large_file_system_warns_instead_of_refusing(project: Path) -> None:
    """Above the size on which Google's pages agree there is a warning, since the pages are what may be wrong."""
    values = plain_values(project, sharedStorage__capacityGib=1_908_000 + 18_000)
    (warning,) = read_settings(values).warnings
    assert "1908000" in warning
    assert read_settings(plain_values(project, sharedStorage__capacityGib=1_908_000)).warnings == ()


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_on_demand_where_google_does_not_list_it_warns(project: Path, machine: str) -> None:
    """On-demand A3 Ultra and A4 are not refused, and not promised either."""
    (warning,) = read_settings(plain_values(project, machine=machine)).warnings
    assert "not on-demand" in warning


def test_moving_image_warns(project: Path) -> None:
    """An image family is accepted with a warning that nodes may come to differ."""
    family = "projects/p/global/images/family/my-family"
    (warning,) = read_settings(plain_values(project, nodeType__image=family)).warnings
    assert "family" in warning


def test_placement_limit_holds_only_where_there_is_a_policy(project: Path) -> None:
    """A reservation places its own nodes, so the limit of a compact policy does not bind it."""
    limit = {"nodeType__placementMaxNodes": 4}
    assert problems(project, **limit, capacity="reservation", reservationId="dense-1") == ()
    assert problems(project, **{**limit, "nodeType__placementMaxNodes": 48}) == ()


def test_values_arrive_as_text_from_the_engine(project: Path) -> None:
    """Numbers and flags as Pulumi's text mean the same as in YAML."""
    as_text = plain_values(project, nodeCount="48", protectData="true", flexStartRunHours="168")
    assert read_settings(as_text) == read_settings(plain_values(project))


def test_own_image_is_accepted_for_tcpx(project: Path) -> None:
    """An image of the user's own project passes, in the short form too."""
    for image in ("projects/my-project/global/images/tcpx-1", "my-project/tcpx-1"):
        assert problems(project, machine="a3-highgpu-8g", nodeType__image=image) == ()


def test_ordinary_network_is_no_fabric(project: Path) -> None:
    """A machine whose GPUs talk over its one interface has no fabric to check, under either word."""
    plain = read_settings(plain_values(project, machine="a2-ultragpu-8g"))
    assert read_settings(plain_values(project, machine="a2-ultragpu-8g", nodeType__fabric="gvnic")) == plain
    assert plain.node_type.fabric == "none"


def test_catalogue_without_network_facts_is_enough_for_one_interface(project: Path) -> None:
    """Facts that only GPU networks need may be missing for a machine type without them."""
    facts = {"gpuNetworks": None, "mtu": None, "rdma": None, "rdmaSubnets": None, "nicType": None}
    values = plain_values(project, machine="a2-ultragpu-8g", **{f"nodeType__{key}": None for key in facts})
    assert read_settings(values).node_type.mtu_bytes == 8896


def test_no_capacity_means_no_file_system(project: Path) -> None:
    """Capacity 0 means no file system, since Pulumi wants the key itself to be set."""
    assert read_settings(plain_values(project, sharedStorage={"capacityGib": 0})).shared_storage is None


@pytest.mark.parametrize(("model", "bound"), [("auto", True), ("bound", True), ("standard", False)])
def test_reservation_model_can_be_named(project: Path, model: str, bound: bool) -> None:  # noqa: FBT001
    """A3 reservations are bound unless the configuration says that they were made at once."""
    values = plain_values(project, capacity="reservation", reservationId="dense-1", reservationModel=model)
    assert read_settings(values).capacity.reservation_bound is bound
