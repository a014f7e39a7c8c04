"""Cloud instance types: interfaces, fabrics, zones, and the node that sizing sees."""

from dataclasses import replace

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.errors import MissingFactError

GB = 1e9

#: EC2 DescribeInstanceTypes: network cards, EFA interfaces, interfaces per card, Gb/s of each.
EFA = [
    ("p4d.24xlarge", 4, 4, 15, 100),
    ("p4de.24xlarge", 4, 4, 15, 100),
    ("p5.48xlarge", 32, 32, 2, 100),
    ("p5e.48xlarge", 32, 32, 2, 100),
    ("p5en.48xlarge", 16, 16, 4, 200),
    ("p6-b200.48xlarge", 8, 8, 4, 400),
    ("p6-b300.48xlarge", 17, 16, 4, 400),
    ("trn1.32xlarge", 8, 8, 5, 100),
    ("trn1n.32xlarge", 16, 16, 5, 100),
    ("trn2.48xlarge", 16, 16, 2, 200),
    ("g6e.48xlarge", 4, 4, 10, 100),
    ("g7e.48xlarge", 4, 4, 10, 400),
]


@pytest.mark.parametrize(("name", "cards", "fabric", "per_card", "gbit_per_s"), EFA)
def test_efa_interfaces(name: str, cards: int, fabric: int, per_card: int, gbit_per_s: int) -> None:
    """Cards, EFA interfaces and interfaces per card are those EC2 describes."""
    entry = load().instances[name]
    assert (entry.network_cards, entry.fabric_interfaces, entry.interfaces_per_card) == (cards, fabric, per_card)
    assert entry.fabric_bytes_per_s_per_interface_one_way == gbit_per_s * GB / 8
    assert (entry.fabric_kind, entry.placement_kind) == ("efa", "cluster-placement-group")


def test_only_p6_b300_has_a_first_card_without_fabric() -> None:
    """Card 0 of p6-b300 takes a plain interface only; card 0 of every other EFA type has EFA."""
    without = {name for name, entry in load().instances.items() if entry.card_zero_has_fabric is False}
    assert without == {"p6-b300.48xlarge"}


def test_cards_without_fabric_add_up() -> None:
    """Where AWS gives each card one EFA interface, cards are interfaces plus the card without one."""
    for name, cards, fabric, *_ in EFA:
        entry = load().instances[name]
        assert cards == fabric + (0 if entry.card_zero_has_fabric else 1), name


@pytest.mark.parametrize(
    ("name", "kind", "networks", "mtu", "interfaces"),
    [
        ("a3-highgpu-8g", "tcpx", (4, None), 8244, 4),
        ("a3-megagpu-8g", "tcpxo", (8, None), 8244, 8),
        ("a3-ultragpu-8g", "roce", (1, 8), 8896, 8),
        ("a4-highgpu-8g", "roce", (1, 8), 8896, 8),
        ("a4x-highgpu-4g", "roce", (1, 4), 8896, 4),
    ],
)
def test_google_networks(name: str, kind: str, networks: tuple[int, int | None], mtu: int, interfaces: int) -> None:
    """A3 High and Mega have a network per GPU interface; A3 Ultra and A4 one RDMA network with a subnet for each."""
    entry = load().instances[name]
    assert (entry.fabric_kind, (entry.gpu_networks, entry.rdma_subnets)) == (kind, networks)
    assert (entry.mtu_bytes, entry.fabric_interfaces) == (mtu, interfaces)


@pytest.mark.parametrize(
    ("name", "gb_per_s"),
    [
        ("p5.48xlarge", 50),
        ("p4d.24xlarge", 6.25),
        ("p6-b300.48xlarge", 100),
        ("Standard_ND96isr_H100_v5", 50),
        ("Standard_ND96asr_v4", 25),
        ("a3-highgpu-8g", 12.5),
        ("a3-megagpu-8g", 25),
        ("a4x-maxgpu-4g-metal", 100),
    ],
)
def test_scale_out_bandwidth_of_one_gpu(name: str, gb_per_s: float) -> None:
    """Interfaces times rate over GPUs: 3,200 Gb/s for eight GPUs are 50 GB/s each, one direction."""
    node = lookup.node_type_of_instance(load(), name)
    assert node.network_bytes_per_s_per_gpu_one_way == gb_per_s * GB


def test_bought_and_rented_h100_nodes_are_the_same_to_sizing() -> None:
    """A DGX H100 and an ND H100 v5 node have the same memory, GPUs and bandwidth."""
    catalogue = load()
    bought = lookup.node_type_of_system(catalogue, "dgx-h100")
    rented = lookup.node_type_of_instance(catalogue, "Standard_ND96isr_H100_v5")
    assert bought.hbm_bytes_per_gpu == rented.hbm_bytes_per_gpu == 81559 * 2**20
    assert bought.network_bytes_per_s_per_gpu_one_way == rented.network_bytes_per_s_per_gpu_one_way
    assert (bought.gpus, rented.placement_max_nodes, bought.placement_max_nodes) == (8, 300, None)


def test_node_memory_is_never_more_than_the_accelerator_gives() -> None:
    """Where a cloud lists nominal memory, the smaller figure of the driver counts."""
    catalogue = load()
    for entry in catalogue.instances.values():
        usable = catalogue.accelerators[entry.accelerator].hbm_bytes
        if entry.fabric_bytes_per_s_per_interface_one_way is None or usable is None:
            continue
        assert lookup.node_type_of_instance(catalogue, entry.id).hbm_bytes_per_gpu <= usable


def test_a_node_without_a_known_fabric_reaches_no_other() -> None:
    """No bandwidth is guessed between several nodes of which none is known."""
    assert not lookup.node_type_of_instance(load(), "inf2.48xlarge").reaches_others
    assert not lookup.node_type_of_system(load(), "supermicro-821ge-tnhr").reaches_others
    assert lookup.node_type_of_system(load(), "dgx-h100").reaches_others


def test_a_node_without_known_memory_is_refused_and_not_guessed() -> None:
    """Without the accelerator's memory nothing can be sized, and the error names the accelerator."""
    shipped = load()
    chip = replace(shipped.accelerators["h100-sxm-80gb"], hbm_bytes=None)
    catalogue = replace(shipped, accelerators=shipped.accelerators | {chip.id: chip})
    with pytest.raises(MissingFactError, match="memory of NVIDIA H100 SXM"):
        lookup.node_type_of_system(catalogue, "dgx-h100")


def test_every_fabric_is_of_a_known_kind() -> None:
    """The kinds are those that the stacks can build."""
    kinds = {entry.fabric_kind for entry in load().instances.values()}
    assert kinds <= {"efa", "infiniband", "tcpx", "tcpxo", "roce", "gvnic", "ici", "none"}


def test_the_shipped_types_have_images_except_where_google_asks_to_build_one() -> None:
    """AWS and Azure types of the shipped blueprint name an image; A3 High has none, and says why."""
    instances = load().instances
    assert instances["p5.48xlarge"].image == (
        "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
    )
    assert instances["Standard_ND96isr_H100_v5"].image == "microsoft-dsvm:ubuntu-hpc:2404:latest"
    assert instances["a3-highgpu-8g"].image is None
    assert "must be built" in instances["a3-highgpu-8g"].note


def test_architectures_follow_the_processor() -> None:
    """Grace hosts are arm64, all others x86_64."""
    for entry in load().instances.values():
        grace = entry.accelerator.startswith(("gb200", "gb300"))
        assert entry.architecture == ("arm64" if grace else "x86_64"), entry.id


def test_regions_are_known_for_the_shipped_types() -> None:
    """The shipped blueprint's types list where they are sold: regions, and zones for Google."""
    instances = load().instances
    assert "us-east-1" in instances["p5.48xlarge"].regions
    assert "eastus" in instances["Standard_ND96isr_H100_v5"].regions
    assert "us-central1-a" in instances["a3-highgpu-8g"].regions
