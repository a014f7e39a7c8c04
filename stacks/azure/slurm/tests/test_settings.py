"""Values that Azure would refuse late, round in silence or turn into a broken fabric are refused before `up`."""

from typing import Any

import pytest
import rules
import yaml
from rules import parse_settings
from settings import Settings, SettingsError, even_split

from recording import NAMESPACE, PROJECT, changed

RESERVATION = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/training"


def refused(**changes: Any) -> str:
    """Return the message with which a changed example is refused."""
    with pytest.raises(SettingsError) as caught:
        parse_settings(changed(**changes))
    return str(caught.value)


def accepted(**changes: Any) -> Settings:
    """Return the settings of a changed example."""
    return parse_settings(changed(**changes))


@pytest.mark.parametrize(
    ("tier", "capacity_tib"),
    [(40, 48), (40, 768), (125, 16), (125, 128), (250, 8), (250, 120), (500, 4), (500, 124)],
)
def test_lustre_steps_accepted(tier: int, capacity_tib: int) -> None:
    """The published capacities of each tier, both ends included, pass."""
    settings = accepted(sharedStorage={"throughputMbPerSPerTib": tier, "capacityTib": capacity_tib})
    assert settings.shared_storage.capacity_tib == capacity_tib


@pytest.mark.parametrize(("tier", "asked_tib", "charged_tib"), [(40, 50, 96), (125, 20, 32), (250, 9, 16), (500, 6, 8)])
def test_lustre_rounding_refused(tier: int, asked_tib: int, charged_tib: int) -> None:
    """A capacity that Azure would round up is refused with the capacity that it would charge."""
    message = refused(sharedStorage={"throughputMbPerSPerTib": tier, "capacityTib": asked_tib})
    assert f"round it up to {charged_tib} TiB" in message


@pytest.mark.parametrize(("tier", "capacity_tib"), [(40, 4), (40, 816), (125, 8), (250, 136), (500, 132), (500, 0)])
def test_lustre_range_refused(tier: int, capacity_tib: int) -> None:
    """A capacity outside the tier's range is refused."""
    assert "sharedStorage.capacityTib" in refused(
        sharedStorage={"throughputMbPerSPerTib": tier, "capacityTib": capacity_tib}
    )


def test_lustre_tier_refused() -> None:
    """A throughput tier of another cloud is refused with the tiers there are."""
    assert "40, 125, 250, 500" in refused(sharedStorage={"throughputMbPerSPerTib": 1000})


@pytest.mark.parametrize("space", ["172.16.0.0/16", "172.16.0.0/12", "172.16.128.0/20"])
def test_rdma_range_refused(space: str) -> None:
    """A network that overlaps the range of the InfiniBand network is refused."""
    assert "172.16.0.0/16" in refused(vnetAddressSpace=space)


@pytest.mark.parametrize("space", ["10.40.0.0/21", "8.8.0.0/16", "10.40.0.1/16", "fd00::/48", "ten"])
def test_bad_networks_refused(space: str) -> None:
    """A network that is too small, public, not a network or not IPv4 is refused."""
    assert "vnetAddressSpace" in refused(vnetAddressSpace=space)


def test_neighbouring_range_accepted() -> None:
    """172.17.0.0/16 is next to the reserved range and usable."""
    assert str(accepted(vnetAddressSpace="172.17.0.0/16").addresses.virtual_network) == "172.17.0.0/16"


def test_too_small_network_refused() -> None:
    """A network that has fewer addresses than nodes is refused."""
    message = refused(
        vnetAddressSpace="10.40.0.0/20", nodeCount=2043, allowSplitFabric=True, nodeType={"maxNodesPerScaleSet": 300}
    )
    assert "2042 addresses" in message


def test_hundred_and_first_node_refused() -> None:
    """101 nodes exceed one scale set: refused with every way out, because InfiniBand would split."""
    message = refused(nodeCount=101)
    assert all(text in message for text in ("maxNodesPerScaleSet", "allowSplitFabric", "300"))


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        ({"nodeCount": 0}, (0,)),
        ({"nodeCount": 100}, (100,)),
        ({"nodeCount": 101, "allowSplitFabric": True}, (51, 50)),
        ({"nodeCount": 101, "nodeType": {"maxNodesPerScaleSet": 300}}, (101,)),
        ({"nodeCount": 250, "nodeType": {"fabric": "none"}}, (84, 83, 83)),
    ],
)
def test_scale_set_sizes(changes: dict[str, Any], sizes: tuple[int, ...]) -> None:
    """Nodes stay in one scale set where the limit allows, and are spread evenly where splitting is allowed."""
    assert accepted(**changes).scale_set_sizes == sizes


@pytest.mark.parametrize(("nodes", "most"), [(1, 1), (7, 3), (300, 100), (301, 100), (999, 64)])
def test_even_split(nodes: int, most: int) -> None:
    """A split loses no node, exceeds no limit, uses no more sets than needed and differs by one at most."""
    sizes = even_split(nodes, most)
    assert sum(sizes) == nodes
    assert max(sizes) <= most
    assert len(sizes) == -(-nodes // most)
    assert max(sizes) - min(sizes) <= 1


def test_resizing_keeps_the_controller() -> None:
    """The number that user-data holds is the same for every size of the scale set."""
    assert {accepted(nodeCount=count).node_ceiling for count in (0, 1, 48, 100)} == {100}


@pytest.mark.parametrize(
    "size",
    ["Standard_ND96asr_v4", "Standard_ND96isr_H100_v5", "Standard_ND96isr_H200_v5", "Standard_ND96isr_MI300X_v5"],
)
def test_reservation_of_nd_refused(size: str) -> None:
    """On-demand capacity reservation takes no ND size: refused with the reason."""
    message = refused(capacity="reservation", reservationId=RESERVATION, nodeType={"instanceType": size})
    assert "takes no ND size" in message


def test_reservation_of_nc_accepted() -> None:
    """A size that Azure lists for reservations, without InfiniBand, may use one."""
    settings = accepted(
        capacity="reservation",
        reservationId=RESERVATION,
        nodeType={"instanceType": "Standard_NC96ads_A100_v4", "gpusPerNode": 4, "fabric": "none"},
    )
    assert settings.reservation_id == RESERVATION
    assert settings.node_type.fabric_interfaces == 0


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"clusterName": "Bad_Name"}, "clusterName"),
        ({"clusterName": None}, "clusterName: is missing"),
        ({"clusterName": "x" * 32}, "clusterName"),
        ({"partition": "gpu'; reboot"}, "partition"),
        ({"location": "East US"}, "location"),
        ({"zone": "4"}, "zone"),
        ({"nodeCount": -1}, "nodeCount"),
        ({"nodeCount": "many"}, "nodeCount"),
        ({"nodeCount": 4.5}, "nodeCount"),
        ({"capacity": "capacity-block"}, "offer of AWS"),
        ({"capacity": "spto"}, "capacity"),
        ({"reservationId": RESERVATION}, "reservationId: has no meaning"),
        ({"spotEvictionPolicy": "Stop"}, "spotEvictionPolicy"),
        ({"allowSplitFabric": "perhaps"}, "allowSplitFabric"),
        ({"nodeType": {"image": "microsoft-dsvm:ubuntu-hpc:2404:latest"}}, "az vm image list"),
        ({"nodeType": {"image": "ubuntu"}}, "nodeType.image"),
        ({"nodeType": {"gpuTyp": "h100"}}, "nodeType.gpuTyp: is not a known key"),
        ({"nodeType": {"fabric": "efa"}}, "nodeType.fabric"),
        ({"nodeType": {"maxNodesPerScaleSet": 301}}, "nodeType.maxNodesPerScaleSet"),
        ({"nodeType": {"gpusPerNode": True}}, "nodeType.gpusPerNode"),
        ({"sharedStorage": {"mountPath": "shared"}}, "sharedStorage.mountPath"),
        ({"sharedStorage": {"maintenanceTimeUtc": "25:00"}}, "sharedStorage.maintenanceTimeUtc"),
        ({"sharedStorage": {"hydrateFromBucket": True}}, "HPC Cache Resource Provider"),
        ({"adminUsername": "root"}, "adminUsername"),
        ({"adminSshPublicKey": None}, "adminSshPublicKey"),
        ({"adminSshPublicKey": "-----BEGIN OPENSSH PRIVATE KEY-----"}, "private key"),
        ({"adminSshPublicKey": "ssh-ed25519 AAAA a\nssh-ed25519 BBBB b"}, "adminSshPublicKey"),
        ({"budgetUsdPerMonth": -5}, "budgetUsdPerMonth"),
        ({"alertEmail": "nobody"}, "alertEmail"),
        ({"budgetStartMonth": "2026-13"}, "budgetStartMonth"),
        ({"tags": {"owner": 5}}, "tags.owner"),
        ({"tags": {"a<b": "x"}}, "tags.a<b"),
        ({"tags": {"clusterwright-cluster": "other"}}, "is set by the stack itself"),
        ({"tags": {f"t{index}": "x" for index in range(14)}}, "too many tags"),
        ({"tags": "owner"}, "tags: must be an object"),
        ({"publicIp": True}, "publicIp: is not a known key"),
    ],
)
def test_faults_are_refused(changes: dict[str, Any], part: str) -> None:
    """Each single fault is refused, and the message names the key or the way out."""
    message = refused(**changes)
    assert part in message
    assert message.count("\n  - ") == 1


def test_all_faults_at_once() -> None:
    """Three faults in three places give three lines."""
    message = refused(zone="9", sharedStorage={"capacityTib": 100}, vnetAddressSpace="172.16.0.0/16")
    assert [line.split(":")[0] for line in message.splitlines()[1:]] == [
        "  - sharedStorage.capacityTib",
        "  - zone",
        "  - vnetAddressSpace",
    ]


def test_project_declares_every_key() -> None:
    """Pulumi.yaml declares exactly the keys that the program reads, each with a description."""
    declared = yaml.safe_load((PROJECT / "Pulumi.yaml").read_text(encoding="utf-8"))["config"]
    assert sorted(declared) == sorted(rules.TOP_LEVEL_KEYS)
    assert all(entry["description"] for entry in declared.values())


def test_defaults_are_those_of_the_project() -> None:
    """The example and the defaults that Pulumi.yaml declares make a valid configuration of their own."""
    declared = yaml.safe_load((PROJECT / "Pulumi.yaml").read_text(encoding="utf-8"))["config"]
    defaults = {key: entry["default"] for key, entry in declared.items() if "default" in entry}
    settings = accepted(**defaults)
    assert settings.capacity == "on-demand"
    assert settings.budget is None
    assert settings.controller_image == settings.node_type.image


def test_example_has_the_project_namespace() -> None:
    """Every key of the example belongs to this project."""
    text = (PROJECT / "Pulumi.example.yaml").read_text(encoding="utf-8")
    assert {key.partition(":")[0] for key in yaml.safe_load(text)["config"]} == {NAMESPACE}


GRACE = {
    "instanceType": "Standard_ND128isr_NDR_GB200_v6",
    "image": "microsoft-dsvm:ubuntu-hpc:2404-gb:24.04.2026072901",
}
PLAIN = "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"


def test_arm_sizes_need_arm_images_and_the_controller_another() -> None:
    """A node with Grace processors does not boot an x86 image, nor does the x86 controller boot theirs."""
    accepted(nodeType=GRACE, controllerImage=PLAIN, nodeCount=18)
    assert "nodeType.image: 2404 is an image for x86" in refused(nodeType={**GRACE, "image": PLAIN}, nodeCount=18)
    assert "controllerImage: 2404-gb is an image for Arm" in refused(nodeType=GRACE, nodeCount=18)
    assert "nodeType.image: 2404-gb is an image for Arm" in refused(
        nodeType={"image": GRACE["image"]}, controllerImage=PLAIN
    )


@pytest.mark.parametrize(("nodes", "fine"), [(1, True), (18, True), (19, False), (36, True), (40, False)])
def test_grace_machines_come_in_whole_racks(nodes: int, *, fine: bool) -> None:
    """Beyond one NVLink domain the machines are a multiple of it; fewer share one."""
    changes: dict[str, Any] = {"nodeType": GRACE, "controllerImage": PLAIN, "nodeCount": nodes}
    if fine:
        assert accepted(**changes).node_count == nodes
    else:
        assert "is not a number of whole racks" in refused(**changes)
