"""Links and algorithms of groups against published bus bandwidths and limiting cases."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeNetwork
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import Device, Tuning
from clusterwright.sizing.hardware import groups, topology
from clusterwright.sizing.hardware.calibration import MEGATRON, load_calibration
from clusterwright.sizing.hardware.collective_facts import factors
from clusterwright.sizing.hardware.devices import device_of, scale_up_columns

GIB = 2.0**30
#: Shares and latencies before any fit: what the links' own measurements say.
TUNING = replace(
    load_calibration().of(generation="default", stack=MEGATRON).tuning,
    scale_up_fraction=0.76,
    network_fraction=0.8,
    scale_up_latency_s=3e-6,
    network_latency_s=1e-5,
)


def device(accelerator: str = "h100-sxm-80gb", *, network: float = 50e9, **columns: float) -> Device:
    """Return an accelerator of the catalogue with its links and a network of so many bytes/s per accelerator."""
    chip = load().accelerators[accelerator]
    return Device(
        peak_flop_per_s=1e15,
        peak_bf16_flop_per_s=1e15,
        eight_bit=0.0,
        hbm_bytes=80e9,
        hbm_bytes_per_s=3e12,
        scale_up_bytes_per_s=chip.scale_up_bytes_per_s_per_gpu_one_way or math.nan,
        scale_up_gpus=float(chip.scale_up_domain_gpus or 1),
        network_bytes_per_s=network,
        **scale_up_columns(chip),
        **columns,
    )


def all_reduce_s(links: Device, size: float, *, ranks: float, stride: float = 1.0, tuning: Tuning = TUNING) -> float:
    """Return seconds of an all-reduce."""
    return float(groups.all_reduce_s(links, tuning, size_bytes=size, ranks=ranks, stride=stride))


def bus_gb_per_s(links: Device, size: float, *, ranks: float, tuning: Tuning = TUNING) -> float:
    """Return what nccl-tests print as bus bandwidth of an all-reduce: `2 (n-1)/n S/t`."""
    return 2 * (ranks - 1) / ranks * size / all_reduce_s(links, size, ranks=ranks, tuning=tuning) / 1e9


@pytest.mark.parametrize(
    ("size", "measured_s", "within"),
    [(64 * 2.0**20, 580e-6, 0.05), (GIB, 8.19e-3, 0.02), (GIB, 8142.6e-6, 0.03)],
    ids=["64 MiB, vTrain", "1 GiB, vTrain", "1 GiB, NCCL issue 527"],
)
def test_an_all_reduce_over_eight_a100(size: float, measured_s: float, within: float) -> None:
    """Measured on DGX A100 and on p4d; small buffers take longer than steps say (1 MiB: 93 us, see below)."""
    assert all_reduce_s(device("a100-sxm-80gb"), size, ranks=8.0) == pytest.approx(measured_s, rel=within)


def test_small_buffers_are_bound_by_latency() -> None:
    """1 MiB over 8 A100 was measured at 93 us (vTrain); the model has no launch of its own and says half of it."""
    assert 93e-6 / 2 < all_reduce_s(device("a100-sxm-80gb"), 2.0**20, ranks=8.0) < 93e-6


@pytest.mark.parametrize(
    ("accelerator", "measured", "within"), [("h100-sxm-80gb", 370, 0.09), ("b300-sxm-288gb", 695, 0.03)]
)
def test_bus_bandwidth_of_eight_gpus_without_reduction_in_switches(
    accelerator: str, measured: float, within: float
) -> None:
    """NCCL issue 2140: 370 GB/s on 8 H100, 695 GB/s on 8 B300."""
    assert bus_gb_per_s(device(accelerator), 8 * GIB, ranks=8.0) == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(
    ("accelerator", "ring", "measured", "within"),
    [("h100-sxm-80gb", 370, 480, 0.01), ("b300-sxm-288gb", 695, 845, 0.08), ("h800-sxm-80gb", 164, 215, 0.02)],
)
def test_bus_bandwidth_with_reduction_in_nvlink_switches(
    accelerator: str, ring: float, measured: float, within: float
) -> None:
    """The factor is H100's; B300 (issue 2140) and H800 (issue 1374) were not used to find it."""
    links = device(accelerator, in_domain=1.0)
    tuning = replace(TUNING, scale_up_fraction=ring * 1e9 / links.scale_up_bytes_per_s)
    assert bus_gb_per_s(links, 8 * GIB, ranks=8.0, tuning=tuning) == pytest.approx(measured, rel=within)


def test_two_gpus_gain_nothing_from_reduction_in_switches() -> None:
    """NCCL issue 1455: from two to four H100 stay at a ring's 370 GB/s: `(n+1)/n` is not below `2 (n-1)/n`."""
    for ranks in (2.0, 3.0):
        ring, reduced = device(), device(in_domain=1.0)
        assert all_reduce_s(reduced, GIB, ranks=ranks) == all_reduce_s(ring, GIB, ranks=ranks)


@pytest.mark.parametrize(
    ("accelerator", "nodes", "network", "measured", "within"),
    [("h100-sxm-80gb", 4, 50e9, 320, 0.05), ("a100-sxm-40gb", 3, 12.5e9, 84.8, 0.06)],
    ids=["8 x 400 Gb/s RoCE, NCCL issue 1221", "4 x 200 Gb/s InfiniBand, nccl-tests issue 119"],
)
def test_one_ring_through_several_nodes(
    accelerator: str, nodes: int, network: float, measured: float, within: float
) -> None:
    """The adapters of a node set the pace of rings that pass through it."""
    links = device(accelerator, network=network, flat=1.0)
    assert bus_gb_per_s(links, 8 * GIB, ranks=8.0 * nodes) == pytest.approx(measured, rel=within)


def test_a_full_mesh_of_eight_and_a_pair_in_it() -> None:
    """AMD: 48 of 64 GB/s of each xGMI link are usable, so 7 x 48 among eight MI300X and 48 among two."""
    links = device("mi300x-192gb")
    assert bus_gb_per_s(links, 8 * GIB, ranks=8.0) == pytest.approx(7 * 48, rel=0.02)
    assert bus_gb_per_s(links, 8 * GIB, ranks=2.0) == pytest.approx(48, rel=0.02)
    bandwidth, _ = groups.pair_links(links, TUNING, span=2.0)
    assert float(bandwidth) / 1e9 == pytest.approx(48, rel=0.02)


def test_an_all_to_all_in_a_mesh_uses_one_link_per_peer() -> None:
    """Each of n ranks sends S/n over one link of B/7, whatever n is."""
    links = device("mi300x-192gb")
    for ranks in (2.0, 4.0, 8.0):
        time = float(groups.all_to_all_s(links, TUNING, size_bytes=GIB, ranks=ranks, stride=1.0))
        one = links.scale_up_bytes_per_s * 0.76 / 7
        assert time == pytest.approx(GIB / ranks / one + 3e-6)


@pytest.mark.parametrize(
    ("accelerator", "ranks", "stride", "links"),
    [
        ("tpu-v5p", 4, 1, 2),
        ("tpu-v5p", 16, 1, 4),
        ("tpu-v5p", 64, 1, 6),
        ("tpu-v5p", 64, 4, 4),
        ("tpu-v5p", 2, 1, 1),
        ("tpu-v5p", 8, 1, 3),
        ("tpu-v5e", 16, 1, 2),
        ("tpu-v5e", 256, 1, 4),
        ("tpu-v5e", 64, 1, 2),
        ("tpu-v5e", 4, 1, 2),
        ("tpu-v5e", 16, 16, 2),
        ("tpu-v6e", 256, 1, 4),
        ("trainium2-96gb", 16, 1, 4),
        ("trainium2-96gb", 4, 1, 2),
    ],
)
def test_links_that_a_group_uses_in_a_torus(accelerator: str, ranks: int, stride: int, links: int) -> None:
    """Two links per closed axis, one per open one: a TPU v5e's axis closes at 16, a v5p's at 4."""
    torus = device(accelerator)
    share = float(topology.ring_share(torus, ranks=float(ranks), stride=float(stride)))
    assert share * 2 * torus.torus_axes == pytest.approx(links)


def test_an_unknown_topology_is_refused_whatever_else_is_known_of_it() -> None:
    """Of links that are neither behind a switch nor a mesh nor a torus no time is known, axes or not."""
    chip = load().accelerators["tpu-v5e"]
    for unknown in ("dragonfly", "tree", "vines"):
        with pytest.raises(ClusterwrightError, match=unknown):
            scale_up_columns(replace(chip, scale_up_topology=unknown))


def test_an_all_gather_on_one_closed_axis() -> None:
    """Four v5p on an axis pass three quarters of the buffer over two links of 100 GB/s ("How to Scale Your Model")."""
    exact = replace(TUNING, scale_up_fraction=1.0, scale_up_latency_s=0.0)
    time = float(groups.half_s(device("tpu-v5p"), exact, size_bytes=1e9, ranks=4.0, stride=1.0))
    assert time == pytest.approx(0.75e9 / 200e9)


def test_an_all_to_all_on_a_torus_is_bound_by_its_bisection() -> None:
    """16 x 16 v5e: 128 chips send half of their bytes over 32 links; 16 of them lie best as an open 4 x 4."""
    exact = replace(TUNING, scale_up_fraction=1.0, scale_up_latency_s=0.0)
    links = device("tpu-v5e")
    arguments = {"size_bytes": 1e9, "stride": 1.0}
    assert float(groups.all_to_all_s(links, exact, ranks=256.0, **arguments)) == pytest.approx(64e9 / 32 / 50e9)
    assert float(groups.all_to_all_s(links, exact, ranks=16.0, **arguments)) == pytest.approx(4e9 / 4 / 50e9)


def test_without_oversubscription_levels_change_nothing() -> None:
    """Ratios of 1 at levels of any size give what a network without levels gives."""
    plain, levels = device(), device(leaf_gpus=256.0, spine_gpus=8192.0)
    for ranks, stride in ((8.0, 1.0), (512.0, 8.0), (16384.0, 1.0)):
        arguments = {"size_bytes": GIB, "ranks": ranks, "stride": stride}
        assert groups.half_s(levels, TUNING, **arguments) == groups.half_s(plain, TUNING, **arguments)
        assert groups.all_to_all_s(levels, TUNING, **arguments) == groups.all_to_all_s(plain, TUNING, **arguments)


def test_only_groups_that_cross_pay_oversubscription() -> None:
    """32 ranks eight apart stay below one leaf of 256; 64 cross it and take twice as long; 2,048 cross spines."""
    exact = replace(TUNING, network_latency_s=0.0)
    narrow = device(leaf_gpus=256.0, spine_gpus=8192.0, leaf_oversubscription=2.0, spine_oversubscription=1.5)

    def over(links: Device, ranks: float) -> float:
        return float(groups.half_s(links, exact, size_bytes=GIB, ranks=ranks, stride=8.0))

    assert over(narrow, 32.0) == over(device(), 32.0)
    assert over(narrow, 64.0) == pytest.approx(2 * over(device(), 64.0))
    assert over(narrow, 2048.0) == pytest.approx(3 * over(device(), 2048.0))


def test_leaf_by_leaf_sends_less_over_narrow_uplinks() -> None:
    """64 ranks on two leaves at 4:1: each leaf reduces among its 32 first; 31/32 + 1/2 x 1/32 x 4 of S/B remain."""
    exact = replace(TUNING, network_latency_s=0.0, network_fraction=1.0)
    links = device(leaf_gpus=256.0, leaf_oversubscription=4.0, leafwise=1.0)
    time = float(groups.half_s(links, exact, size_bytes=GIB, ranks=64.0, stride=8.0))
    assert time == pytest.approx((31 / 32 + 4 / 64) * GIB / 50e9)


def test_reduction_in_the_network_sends_once() -> None:
    """An all-reduce over many ranks takes half of a ring's bytes, and one stream per leaf crosses narrow uplinks."""
    exact = replace(TUNING, network_latency_s=0.0, network_fraction=1.0)
    ring = device(leaf_gpus=256.0, leaf_oversubscription=4.0)
    reducing = replace(ring, in_network=1.0)
    assert all_reduce_s(reducing, GIB, ranks=64.0, stride=8.0, tuning=exact) == pytest.approx(GIB / (50e9 * 0.9))
    assert all_reduce_s(ring, GIB, ranks=64.0, stride=8.0, tuning=exact) == pytest.approx(2 * 63 / 64 * 4 * GIB / 50e9)


def test_with_infinite_bandwidth_only_latency_is_left() -> None:
    """A ring over 64 domains takes 63 steps each way, a tree 2 log2(64), switches that reduce one per tier."""
    links = device(network=math.inf)
    arguments = {"ranks": 64.0, "stride": 8.0}
    assert all_reduce_s(links, GIB, **arguments) == pytest.approx(2 * 63 * 1e-5)
    assert all_reduce_s(replace(links, tree=1.0), GIB, **arguments) == pytest.approx(12 * 5.2e-5)
    assert all_reduce_s(replace(links, in_network=1.0), GIB, **arguments) == pytest.approx(1.115e-5)
    half = groups.half_s(replace(links, in_network=1.0), TUNING, size_bytes=GIB, **arguments)
    assert float(half) == pytest.approx(1.115e-5)


def test_one_rank_exchanges_nothing() -> None:
    """Whatever the links."""
    for name in ("h100-sxm-80gb", "mi300x-192gb", "tpu-v5p", "l40s-48gb"):
        links = device(name, flat=1.0, leafwise=1.0, tree=1.0, in_network=1.0, in_domain=1.0, leaf_gpus=64.0)
        assert all_reduce_s(links, GIB, ranks=1.0, stride=4.0) == 0
        assert float(groups.half_s(links, TUNING, size_bytes=GIB, ranks=1.0, stride=4.0)) == 0
        assert float(groups.all_to_all_s(links, TUNING, size_bytes=GIB, ranks=1.0, stride=4.0)) == 0


ACCELERATORS = ("h100-sxm-80gb", "mi300x-192gb", "tpu-v5p", "tpu-v5e", "gaudi3-128gb", "l40s-48gb", "gb200-186gb")
FLAGS = ("flat", "leafwise", "tree", "in_network", "in_domain")


@given(
    name=st.sampled_from(ACCELERATORS),
    size=st.floats(1, 1e12),
    ranks=st.integers(1, 4096),
    stride=st.integers(1, 64),
    network=st.floats(1e9, 1e11),
    gain=st.floats(1, 10),
    leaf=st.floats(1, 8),
    spine=st.floats(1, 4),
    allowed=st.sets(st.sampled_from(FLAGS)),
    more=st.sampled_from(FLAGS),
)
def test_better_links_are_never_slower(
    *,
    name: str,
    size: float,
    ranks: int,
    stride: int,
    network: float,
    gain: float,
    leaf: float,
    spine: float,
    allowed: set[str],
    more: str,
) -> None:
    """More bandwidth, less oversubscription and more algorithms to choose from never make traffic slower."""
    worse = device(
        name,
        network=network,
        leaf_gpus=256.0,
        spine_gpus=4096.0,
        leaf_oversubscription=leaf,
        spine_oversubscription=spine,
        **dict.fromkeys(allowed, 1.0),
    )
    better = (
        replace(worse, network_bytes_per_s=network * gain),
        replace(worse, scale_up_bytes_per_s=worse.scale_up_bytes_per_s * gain),
        replace(worse, leaf_oversubscription=max(1.0, leaf / gain)),
        replace(worse, spine_oversubscription=max(1.0, spine / gain)),
        replace(worse, **{more: 1.0}),
    )
    arguments = {"size_bytes": size, "ranks": float(ranks), "stride": float(stride)}
    for traffic in (groups.half_s, groups.all_reduce_s, groups.all_to_all_s):
        slow = float(traffic(worse, TUNING, **arguments))
        assert math.isfinite(slow)
        assert slow >= 0
        for links in better:
            assert float(traffic(links, TUNING, **arguments)) <= slow * (1 + 1e-12)


def test_every_factor_names_its_source() -> None:
    """Factors of networks and algorithms are positive, say how they were found, and name a known source."""
    known = load().sources.keys() | {"training_runs.csv"}
    for name, entry in factors().items():
        assert entry.method in ("published", "derived", "assumed"), name
        assert entry.source in known, name
        assert entry.note, name


def test_networks_of_the_catalogue_are_all_named() -> None:
    """No instance or system has a fabric that the table of factors does not know."""
    catalogue = load()
    kinds = {entry.fabric_kind for entry in catalogue.instances.values()}
    kinds |= {entry.fabric_kind for entry in catalogue.systems.values() if entry.fabric_kind}
    assert kinds <= factors().keys()


def test_a_node_type_carries_its_network_into_the_device() -> None:
    """What a target says of its network arrives at the formulas; by default nothing is oversubscribed or reduced."""
    node = lookup.node_type_of_system(load(), "dgx-h100")
    plain = device_of(node, precision="bf16")
    assert (plain.leaf_gpus, plain.leaf_oversubscription, plain.in_network, plain.mesh_peers) == (math.inf, 1, 0, 0)
    told = NodeNetwork(leaf_gpus=256, leaf_oversubscription=2, in_network=True, flat=True)
    changed = device_of(replace(node, network=told), precision="bf16")
    assert (changed.leaf_gpus, changed.leaf_oversubscription, changed.in_network, changed.flat) == (256, 2, 1, 1)


def test_one_ring_whose_ranks_are_far_apart_crosses_the_leaf() -> None:
    """Four ranks 128 apart reach over 512 accelerators: a leaf of 256 at 2:1 gives them half of their network."""
    exact = replace(TUNING, network_latency_s=0.0, network_fraction=1.0)
    narrow = device(leaf_gpus=256.0, leaf_oversubscription=2.0)
    for stride, share in ((8.0, 1.0), (128.0, 0.5)):
        where = topology.extent(narrow, ranks=4.0, stride=stride)
        time = groups._flat_half_s(narrow, exact, size_bytes=GIB, ranks=4.0, stride=stride, where=where)
        assert float(time) == pytest.approx(3 / 4 * GIB / (share * 50e9))


def test_an_exchange_beyond_the_leaf_waits_for_its_uplinks() -> None:
    """Of 64 ranks 32 share a leaf at 4:1: half of the bytes leave it, which takes longer than 7/8 leaving the node."""
    exact = replace(TUNING, network_latency_s=0.0, network_fraction=1.0, scale_up_latency_s=0.0, scale_up_fraction=1.0)
    narrow = device(leaf_gpus=32.0, leaf_oversubscription=4.0)
    arguments = {"size_bytes": 64e9, "ranks": 64.0, "stride": 1.0}
    inside = 7 / 64 * 64e9 / 450e9
    assert float(groups.all_to_all_s(device(), exact, **arguments)) == pytest.approx(inside + 7 / 8 * 64e9 / 50e9)
    assert float(groups.all_to_all_s(narrow, exact, **arguments)) == pytest.approx(inside + 4 / 2 * 64e9 / 50e9)
