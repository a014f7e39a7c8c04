"""Values that Azure would refuse late, round in silence or turn into a broken fabric are refused before `up`."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from gpu_cluster import settings_cluster, settings_foundation, settings_nodes
from gpu_cluster.config_values import ConfigError
from gpu_cluster.node_type import even_split
from gpu_cluster.settings_foundation import FoundationSettings
from gpu_cluster.settings_nodes import NodesSettings
from recording import LAYERS, PROJECT, changed, declared, namespace

MODULES = {"foundation": settings_foundation, "cluster": settings_cluster, "nodes": settings_nodes}
PARSERS: dict[str, Callable[[Mapping[str, object]], Any]] = {
    layer: module.read_settings for layer, module in MODULES.items()
}
VNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/company"
SUBNETS = {f"{what}SubnetId": f"{VNET}/subnets/{what}" for what in ("node", "service", "lustre")}
RESERVATION = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/reserved"


def refusals(**changes: Any) -> list[str]:
    """Return the messages with which a changed example is refused, by every layer that knows the keys."""
    messages: list[str] = []
    for layer in LAYERS:
        given = _given(layer, changes)
        if set(changes) <= {*declared(layer), *set(given) - set(_all_keys())}:
            with pytest.raises(ConfigError) as caught:
                PARSERS[layer](given)
            messages.append(str(caught.value))
    assert messages, f"no layer knows {sorted(changes)}"
    return messages


def refused(layer: str = "", **changes: Any) -> str:
    """Return the message with which a changed example is refused: by one layer, or by the first that knows the keys."""
    if not layer:
        return refusals(**changes)[0]
    with pytest.raises(ConfigError) as caught:
        PARSERS[layer](_given(layer, changes))
    return str(caught.value)


def _all_keys() -> set[str]:
    return {key for layer in LAYERS for key in declared(layer)}


def _given(layer: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return a layer's changed example; what no layer declares is put in as it is."""
    known = _all_keys()
    return {**changed(layer, **changes), **{key: value for key, value in changes.items() if key not in known}}


def foundation(**changes: Any) -> FoundationSettings:
    """Return the foundation's settings of a changed example."""
    return settings_foundation.read_settings(changed("foundation", **changes))


def accepted(**changes: Any) -> NodesSettings:
    """Return the nodes' settings of a changed example, which the other layers accept too."""
    settings_foundation.read_settings(changed("foundation", **changes))
    settings_cluster.read_settings(changed("cluster", **changes))
    return settings_nodes.read_settings(changed("nodes", **changes))


@pytest.mark.parametrize(
    ("tier", "capacity_tib"),
    [(40, 48), (40, 768), (125, 16), (125, 128), (250, 8), (250, 120), (500, 4), (500, 124)],
)
def test_lustre_steps_accepted(tier: int, capacity_tib: int) -> None:
    """The published capacities of each tier, both ends included, pass."""
    settings = foundation(sharedStorage={"throughputMbPerSPerTib": tier, "capacityTib": capacity_tib})
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
    assert str(foundation(vnetAddressSpace="172.17.0.0/16").addresses.virtual_network) == "172.17.0.0/16"


def test_too_small_network_refused() -> None:
    """A network that has fewer addresses than nodes is refused."""
    assert "2041 addresses for 2042 nodes" in refused("foundation", vnetAddressSpace="10.40.0.0/20", nodeCount=2042)
    foundation(vnetAddressSpace="10.40.0.0/20", nodeCount=2041)


def test_hundred_and_first_node_refused() -> None:
    """101 nodes exceed one scale set: refused with every way out, because InfiniBand would split."""
    message = refused("nodes", nodeCount=101)
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
    """The controller's layer does not know how many nodes run: resizing cannot replace it."""
    assert "nodeCount" not in declared("cluster")
    assert "nodeCount" in declared("foundation")


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
    assert settings.capacity.reservation_id == RESERVATION
    assert settings.node_type.fabric_interfaces == 0


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"clusterName": "Bad_Name"}, "clusterName"),
        ({"clusterName": None}, "clusterName: needs a lower-case name"),
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
        ({"nodeType": {"gpuTyp": "h100"}}, "nodeType.gpuTyp: unknown key"),
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
        ({"tags": {"gpu-cluster": "other"}}, "is set by the stack itself"),
        ({"tags": {f"t{index}": "x" for index in range(14)}}, "too many tags"),
        ({"tags": "owner"}, "tags: needs an object"),
        ({"tags": {"layer": "mine"}}, "is set by the stack itself"),
        ({"capacity": "flex-start"}, "offer of Google Cloud"),
        ({"capacity": "block-reservation"}, "reservationId: needs the id of a capacity reservation group"),
        ({"capacity": "block-reservation", "reservationId": RESERVATION, "nodeCount": 65}, "holds at most 64"),
        ({"timeToLiveHours": -1}, "timeToLiveHours"),
        ({"stopWhenIdleMinutes": 5}, "stopWhenIdleMinutes: needs a whole number from 30"),
        ({"foundationStack": "small"}, "foundationStack: needs a full stack name"),
        ({"clusterStack": None}, "clusterStack: needs a full stack name"),
        ({"accountingPassword": None}, "openssl rand"),
        ({"accountingPassword": "short"}, "openssl rand"),
        ({"accountingPassword": "with-a-#-in-the-middle"}, "openssl rand"),
        ({"networkWatcher": "NetworkWatcher_eastus"}, "networkWatcher"),
        ({"logRetentionDays": 7}, "logRetentionDays"),
        ({"existingNetwork": {"virtualNetworkId": VNET}}, "existingNetwork.nodeSubnetId: needs the id of a subnet"),
        ({"publicIp": True}, "publicIp: unknown key"),
    ],
)
def test_faults_are_refused(changes: dict[str, Any], part: str) -> None:
    """Each single fault is refused, and the message names the key or the way out."""
    for message in refusals(**changes):
        assert part in message
        assert message.count("\n  - ") == (3 if "existingNetwork" in changes else 1)


def test_all_faults_at_once() -> None:
    """Three faults in three places give three lines."""
    message = refused(zone="9", sharedStorage={"capacityTib": 100}, vnetAddressSpace="172.16.0.0/16")
    assert [line.split(":")[0] for line in message.splitlines()[1:]] == [
        "  - sharedStorage.capacityTib",
        "  - zone",
        "  - vnetAddressSpace",
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_declare_every_key(layer: str) -> None:
    """Pulumi.yaml declares exactly the keys that the program reads, each with a description."""
    module = MODULES[layer]
    assert sorted(declared(layer)) == sorted((*module.SCALARS, *module.OBJECTS))
    assert all(entry["description"] for entry in declared(layer).values())


def test_defaults_are_those_of_the_project() -> None:
    """The example and the defaults that Pulumi.yaml declares make a valid configuration of their own."""
    found: dict[str, Any] = {}
    for layer, parse in PARSERS.items():
        defaults = {key: entry["default"] for key, entry in declared(layer).items() if "default" in entry}
        found[layer] = parse(changed(layer, **{**defaults, "accountingPassword": "a-password-of-the-tests"}))
    assert found["nodes"].capacity.kind == "on-demand"
    assert not found["nodes"].watchdog.is_wanted
    assert found["foundation"].budget is None
    assert found["cluster"].controller_image == found["cluster"].node_type.image


@pytest.mark.parametrize("layer", LAYERS)
def test_example_has_the_namespace_of_the_layer(layer: str) -> None:
    """Every key of the example belongs to its layer."""
    text = (PROJECT / "tests" / "example" / f"{layer}.yaml").read_text(encoding="utf-8")
    assert {key.partition(":")[0] for key in yaml.safe_load(text)["config"]} == {namespace(layer)}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"lustreSubnetId": f"{VNET}2/subnets/lustre"}, "is no subnet of virtualNetworkId"),
        ({"lustreSubnetId": SUBNETS["nodeSubnetId"]}, "need a subnet each"),
        ({"keyUrl": f"https://v.vault.azure.net/keys/k/{'0' * 32}"}, "keyVaultId: needs the id of a key vault"),
        ({"containerName": "data"}, "storageAccountId: needs a storage account's id"),
        ({"containerName": "Data", "storageAccountId": "x"}, "containerName: needs the name of a blob container"),
        ({"controllerAddress": "first"}, "controllerAddress: needs an IPv4 address"),
        ({"subnetId": "x"}, "existingNetwork.subnetId: unknown key"),
    ],
)
def test_existing_parts_are_whole(change: dict[str, str], part: str) -> None:
    """A network, a key, an object store is used whole, or not at all."""
    given = {"virtualNetworkId": VNET, **SUBNETS, **change}
    assert part in refused("foundation", existingNetwork=given)


def test_private_names_without_their_network() -> None:
    """Private zones of a network that is made here cannot exist yet."""
    zone = VNET.replace("virtualNetworks", "privateDnsZones")
    assert "but not the network" in refused("foundation", existingNetwork={"vaultZoneId": zone})


def test_the_password_is_never_shown() -> None:
    """A password that cannot be used is not printed into a log either."""
    assert "hunter2" not in refused("cluster", accountingPassword="hunter2")


GRACE = {
    "instanceType": "Standard_ND128isr_NDR_GB200_v6",
    "image": "microsoft-dsvm:ubuntu-hpc:2404-gb:24.04.2026072901",
}
PLAIN = "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"


def test_arm_sizes_need_arm_images_and_the_controller_another() -> None:
    """A node with Grace processors does not boot an x86 image, nor does the x86 controller boot theirs."""
    accepted(nodeType=GRACE, controllerImage=PLAIN, nodeCount=18)
    assert "nodeType.image: 2404 is an image for x86" in refused(nodeType={**GRACE, "image": PLAIN}, nodeCount=18)
    assert "controllerImage: 2404-gb is an image for Arm" in refused("cluster", nodeType=GRACE)
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
        assert "is not a number of whole racks" in refused("nodes", **changes)


ROCM = "microsoft-dsvm:ubuntu-hpc:2404-rocm:24.04.2026072901"
MI300X = {"instanceType": "Standard_ND96isr_MI300X_v5", "image": ROCM}


def test_gpus_of_amd_need_images_with_rocm() -> None:
    """An image with NVIDIA's driver leaves AMD's GPUs unused, and the other way round."""
    accepted(nodeType=MI300X, controllerImage=PLAIN)
    assert "has the driver of NVIDIA" in refused("nodes", nodeType={**MI300X, "image": PLAIN})
    assert "has the driver of AMD" in refused("nodes", nodeType={"image": ROCM})


def test_racks_are_never_divided() -> None:
    """Where machines with Grace processors need several scale sets, each holds whole racks."""
    settings = accepted(nodeType=GRACE, controllerImage=PLAIN, nodeCount=108, allowSplitFabric=True)
    assert settings.scale_set_sizes == (54, 54)
