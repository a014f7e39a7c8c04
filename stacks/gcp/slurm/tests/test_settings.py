"""Wrong configuration is refused with a sentence that names the key; nothing wrong slips through."""

from pathlib import Path
from typing import Any

import pytest

from gpu_cluster import settings_cluster, settings_foundation, settings_nodes
from gpu_cluster.config_values import ConfigError
from gpu_cluster.lustre_sizes import LUSTRE_TIERS
from recording import TPU, plain_values

READERS = {
    "foundation": settings_foundation.read_settings,
    "cluster": settings_cluster.read_settings,
    "nodes": settings_nodes.read_settings,
}


def read(project: Path, layer: str, **changes: Any) -> Any:
    """Settings of one layer after some changes of its example."""
    return READERS[layer](plain_values(project, layer, **changes))


def problems(project: Path, **changes: Any) -> tuple[str, ...]:
    """What is wrong with the examples after some changes; what several layers say counts once."""
    found: dict[str, None] = {}
    for layer in READERS:
        try:
            read(project, layer, **changes)
        except ConfigError as error:
            found |= dict.fromkeys(error.problems)
    return tuple(found)


SUBNETWORK = "projects/host/regions/us-central1/subnetworks/gpu"
# One fault each, and the start of the one message that has to come out.
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"clusterName": "GPT3"}, "clusterName: needs a name"),
    ({"clusterName": "gpt3'; rm -rf /"}, "clusterName: needs a name"),
    ({"clusterName": None}, "clusterName: needs a name"),
    ({"gcp:project": None}, "project: needs a project id"),
    ({"zone": "us-central2-a"}, "zone: us-central2-a is not in gcp:region us-central1"),
    ({"zone": "us-central1"}, "zone: needs a zone"),
    ({"nodeCount": -1}, "nodeCount: needs a whole number from 0 to 4,096"),
    ({"nodeCount": "many"}, "nodeCount: needs a whole number"),
    ({"nodeCount": True}, "nodeCount: needs a whole number"),
    ({"nodeCount": 1.5}, "nodeCount: needs a whole number"),
    ({"partition": "gpu nodes"}, "partition: needs a name"),
    ({"controllerInstanceType": "n2 standard"}, "controllerInstanceType: needs a machine type"),
    ({"networkCidr": "8.8.8.0/20"}, "networkCidr: needs a private IPv4 range"),
    ({"networkCidr": "10.0.0.1/12"}, "networkCidr: needs a private IPv4 range"),
    ({"networkCidr": "10.0.0.0/25"}, "networkCidr: needs a private IPv4 range"),
    (
        {"networkCidr": "10.0.0.0/23", "nodeCount": 28},
        "networkCidr: PRE032: 10.0.0.0/23 gives every network 26 addresses",
    ),
    ({"nodeType": None}, "nodeType: needs an object"),
    ({"nodeType__gpuNetwork": 8}, "nodeType.gpuNetwork: unknown key; did you mean 'gpuNetworks'?"),
    ({"nodeType__gpuNetworks": 4}, "nodeType.gpuNetworks: a3-megagpu-8g needs 8, got 4"),
    ({"nodeType__mtu": 1460}, "nodeType.mtu: a3-megagpu-8g needs 8244, got 1460"),
    ({"nodeType__mtu": 9000}, "nodeType.mtu: needs a whole number from 1,300 to 8,896"),
    ({"nodeType__rdma": True}, "nodeType.rdma: a3-megagpu-8g needs false, got true"),
    ({"nodeType__fabric": "efa"}, "nodeType.fabric: needs one of none, tcpx, tcpxo, roce, ici, gvnic"),
    ({"nodeType__fabric": "tcpx"}, "nodeType.fabric: a3-megagpu-8g has the fabric tcpxo, got tcpx"),
    ({"nodeType__nicType": "MRDMA"}, "nodeType.nicType: a3-megagpu-8g has no RDMA interfaces"),
    ({"nodeType__image": None}, "nodeType.image: is required"),
    ({"nodeType__instanceType": "a4x-highgpu-4g"}, "nodeType.instanceType: a4x-highgpu-4g needs NVLink-domain"),
    ({"nodeType__gpuType": "H100"}, "nodeType.gpuType: needs a Slurm GRES type"),
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
    ({"capacity": "on_demand"}, "capacity: needs one of on-demand, spot, reservation, flex-start"),
    ({"capacity": "reservation"}, "reservationId: capacity reservation needs the name of a reservation"),
    ({"reservationId": "dense-1"}, "reservationId: set, but capacity is on-demand; choose one"),
    ({"capacity": "spot", "reservationId": "dense-1"}, "reservationId: set, but capacity is spot; choose one"),
    ({"reservationModel": "bind"}, "reservationModel: needs one of auto, bound, standard"),
    ({"capacity": "reservation", "reservationId": "dense/1"}, "reservationId: needs a reservation name"),
    (
        {"capacity": "reservation", "reservationId": "dense-1", "placementMaxDistance": 2},
        "placementMaxDistance: set, but capacity reservation",
    ),
    ({"capacity": "flex-start", "placementMaxDistance": 2}, "placementMaxDistance: set, but capacity flex-start"),
    ({"placementMaxDistance": 1}, "placementMaxDistance: A3 supports 2 and 3, got 1"),
    ({"placementMaxDistance": 4}, "placementMaxDistance: needs a whole number from 0 to 3"),
    ({"nodeType__placementMaxNodes": 47}, "nodeCount: one compact placement policy holds 47 nodes"),
    ({"capacity": "flex-start", "nodeCount": 257}, "nodeCount: one flex-start request on A3 is capped at 256 nodes"),
    ({"capacity": "flex-start", "flexStartRunHours": 169}, "flexStartRunHours: needs a whole number from 1 to 168"),
    ({"sharedStorage__capacityGib": 18_001}, "sharedStorage.capacityGib: at 500 MB/s per TiB"),
    ({"sharedStorage__throughputMbPerSPerTib": 300}, "sharedStorage.throughputMbPerSPerTib: needs one of 125, 250"),
    ({"sharedStorage__capacityTib": 18}, "sharedStorage.capacityTib: unknown key; did you mean 'capacityGib'?"),
    ({"sharedPath": "shared"}, "sharedPath: needs a path"),
    ({"sharedStorage": 18_000}, "sharedStorage: needs an object"),
    ({"billingAccount": "my account"}, "billingAccount: needs an id"),
    ({"budgetUsdPerMonth": -5}, "budgetUsdPerMonth: needs a whole number"),
    ({"operators": ["allUsers"]}, "operators.0: needs an IAM member"),
    ({"operators": "group:a@example.com"}, "operators: needs a list"),
    ({"tags": {"Owner": "ml"}}, "tags.Owner: needs a label of lower-case letters"),
    ({"tags": {"owner": "ML Platform"}}, "tags.owner: needs a label of lower-case letters"),
    ({"tags": {"gpu-cluster": "mine"}}, "tags.gpu-cluster: is a label that the program sets itself"),
    ({"timeToLiveHours": -1}, "timeToLiveHours: needs a whole number"),
    ({"stopWhenIdleMinutes": 5}, "stopWhenIdleMinutes: needs 0 for never, or at least 15"),
    ({"foundationStack": "foundation"}, "foundationStack: needs the full name of the foundation's stack"),
    ({"clusterStack": ""}, "clusterStack: needs the full name of the cluster's stack"),
    ({"alertEmail": "me"}, "alertEmail: needs an address"),
    ({"existingNetwork": {"gpuSubnetworks": [SUBNETWORK]}}, "existingNetwork.gpuSubnetworks: needs network and"),
    ({"existingNetwork": {"netwrok": "x"}}, "existingNetwork.netwrok: unknown key; did you mean 'network'?"),
    ({"existingNetwork": {"keyId": "my-key"}}, "existingNetwork.keyId: needs projects/PROJECT/locations"),
    ({"nodeType": TPU, "nodeCount": 5}, "nodeCount: no v5p slice has 20 chips on 5 hosts; the nearest: 4 or 8"),
    ({"nodeType": TPU, "nodeCount": 1537}, "nodeCount: the largest v5p slice has 6144 chips on 1536 hosts"),
    ({"nodeType": TPU, "nodeCount": 32, "tpuTopology": "8x4x4"}, "tpuTopology: sides are multiples of 4 in ascending"),
    ({"protectData": "maybe"}, "protectData: needs true or false"),
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
    changes = {"nodeCount": -1, "capacity": "spott", "sharedPath": "shared"}
    with pytest.raises(ConfigError) as caught:
        read(project, "nodes", **changes)
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
    (warning,) = read(project, "foundation", sharedStorage__capacityGib=1_908_000 + 18_000).warnings
    assert "1908000" in warning
    assert read(project, "foundation", sharedStorage__capacityGib=1_908_000).warnings == ()


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_on_demand_where_google_does_not_list_it_warns(project: Path, machine: str) -> None:
    """On-demand A3 Ultra and A4 are not refused, and not promised either."""
    (warning,) = read(project, "nodes", machine=machine).warnings
    assert "not on-demand" in warning


def test_moving_image_warns(project: Path) -> None:
    """An image family is accepted with a warning that nodes may come to differ."""
    (warning,) = read(project, "nodes", nodeType__image="projects/p/global/images/family/my-family").warnings
    assert "family" in warning


def test_placement_limit_holds_only_where_there_is_a_policy(project: Path) -> None:
    """A reservation places its own nodes, so the limit of a compact policy does not bind it."""
    limit = {"nodeType__placementMaxNodes": 4}
    assert problems(project, **limit, capacity="reservation", reservationId="dense-1") == ()
    assert problems(project, **{**limit, "nodeType__placementMaxNodes": 48}) == ()


@pytest.mark.parametrize("layer", READERS)
def test_values_arrive_as_text_from_the_engine(project: Path, layer: str) -> None:
    """Numbers and flags as Pulumi's text mean the same as in YAML."""
    as_text = {"nodeCount": "48", "protectData": "true", "flexStartRunHours": "168"}
    assert read(project, layer, **as_text) == read(project, layer)


def test_own_image_is_accepted_for_tcpx(project: Path) -> None:
    """An image of the user's own project passes, in the short form too."""
    for image in ("projects/my-project/global/images/tcpx-1", "my-project/tcpx-1"):
        assert problems(project, machine="a3-highgpu-8g", nodeType__image=image) == ()


def test_ordinary_network_is_no_fabric(project: Path) -> None:
    """A machine whose GPUs talk over its one interface has no fabric to check, under either word."""
    plain = read(project, "foundation", machine="a2-ultragpu-8g")
    assert read(project, "foundation", machine="a2-ultragpu-8g", nodeType__fabric="gvnic") == plain
    assert plain.node_type.fabric == "none"


def test_catalogue_without_network_facts_is_enough_for_one_interface(project: Path) -> None:
    """Facts that only GPU networks need may be missing for a machine type without them."""
    facts = {"gpuNetworks": None, "mtu": None, "rdma": None, "rdmaSubnets": None, "nicType": None}
    changes = {f"nodeType__{key}": None for key in facts}
    assert read(project, "foundation", machine="a2-ultragpu-8g", **changes).node_type.mtu_bytes == 8896


def test_no_capacity_means_no_file_system(project: Path) -> None:
    """Capacity 0 means no file system, since Pulumi wants the key itself to be set."""
    assert read(project, "foundation", sharedStorage={"capacityGib": 0}).file_system is None


@pytest.mark.parametrize(("model", "bound"), [("auto", True), ("bound", True), ("standard", False)])
def test_reservation_model_can_be_named(project: Path, model: str, bound: bool) -> None:  # noqa: FBT001
    """A3 reservations are bound unless the configuration says that they were made at once."""
    changes = {"capacity": "reservation", "reservationId": "dense-1", "reservationModel": model}
    assert read(project, "nodes", **changes).capacity.reservation_bound is bound


def test_the_password_is_never_shown(project: Path) -> None:
    """A password that is refused does not appear in the message."""
    (problem,) = problems(project, accountingPassword="hunter2")
    assert "hunter2" not in problem
    assert problems(project, accountingPassword="", accountingDatabase=False) == ()


@pytest.mark.parametrize(
    ("hosts", "topology", "accelerator"),
    [
        (1, "2x2x1", "v5p-8"),
        (4, "2x2x4", "v5p-32"),
        (16, "4x4x4", "v5p-128"),
        (32, "4x4x8", "v5p-256"),
        (1536, "16x16x24", "v5p-12288"),
    ],
)
def test_a_number_of_hosts_makes_one_slice(project: Path, hosts: int, topology: str, accelerator: str) -> None:
    """Topology and accelerator type are those of Google's table for v5p."""
    slice_ = read(project, "nodes", nodeType=TPU, nodeCount=hosts).tpu_slice
    assert (slice_.topology, slice_.accelerator_type) == (topology, accelerator)


def test_no_hosts_make_no_slice(project: Path) -> None:
    """At nodeCount 0 there is nothing to pay for."""
    assert read(project, "nodes", nodeType=TPU, nodeCount=0).tpu_slice is None
