"""Boxes of storage systems: published figures, each rule in turn, what is unknown, and what follows in the design."""

from collections import Counter
from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.catalog.parts.skus import skus
from clusterwright.catalog.storage import storage_levels, storage_tiers, tier_of
from clusterwright.errors import InputError, MissingFactError, RuleError
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.design import OnPremDesign, design_onprem
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.facility.site import Site
from clusterwright.facility.storage.demand import AskedStorage, BoxFigures, level_bytes_per_s
from clusterwright.facility.storage.design import StorageDesign, design_storage, local_cache
from clusterwright.facility.storage.lustre import lustre_targets
from clusterwright.facility.storage_checks import node_bytes_per_s, storage_warnings

from .examples import storage_need

BOX = BoxFigures(
    capacity_bytes=100e12,
    read_bytes_per_s=40e9,
    write_bytes_per_s=10e9,
    height_u=1,
    ports=2,
    port_bytes_per_s_one_way=50e9,
)


def _storage(asked: AskedStorage | None, *, nodes: int = 16, **need: float) -> StorageDesign:
    return design_storage(
        storage_need(**need),
        nodes=nodes,
        gpus=nodes * 8,
        rack_scale=False,
        drives_bytes=30.72e12,
        asked=asked,
        catalogue=load(),
    )


def _design(asked: AskedStorage | None, *, nodes: int = 16, system: str = "dgx-h100") -> OnPremDesign:
    catalogue = load()
    return design_onprem(
        system=catalogue.systems[system],
        nodes=nodes,
        storage=storage_need(),
        site=Site(),
        catalogue=catalogue,
        asked_storage=asked,
    )


@pytest.mark.parametrize(
    ("level", "one", "four"),
    [
        ("good", (15, 7), (60, 30)),
        ("better", (40, 20), (160, 80)),
        ("best", (125, 62), (500, 250)),
        ("standard", (40, 20), (160, 80)),
        ("enhanced", (125, 62), (500, 250)),
    ],
)
def test_levels_are_those_of_the_reference_architectures(
    level: str, one: tuple[int, int], four: tuple[int, int]
) -> None:
    """One and four scalable units, in whole GB/s as RA-11333-001 (Table 6) and the one of GB200 print them."""
    found = storage_levels()[level]
    for units, printed in ((1, one), (4, four)):
        gpus = units * found.gpus_per_unit
        read, write = level_bytes_per_s(found, gpus=gpus)
        assert (int(read / 1e9), int(write / 1e9)) == printed


def test_levels_by_gpu_and_for_few_nodes() -> None:
    """DDN's minimum counts GPUs; a cluster of two nodes needs no more than two nodes do; begun units count whole."""
    levels = storage_levels()
    assert level_bytes_per_s(levels["per-gpu"], gpus=1016) == (1016e9, 1016e9)
    assert level_bytes_per_s(levels["good"], gpus=16) == (8e9, 4e9)
    assert level_bytes_per_s(levels["good"], gpus=264) == (30e9, 15e9)
    assert level_bytes_per_s(levels["none"], gpus=264) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("terabytes", "storage", "gb_per_s", "scope"),
    [
        (0.6, "local NVMe", 10, "node"),
        (10, "local NVMe", 10, "node"),
        (60, "parallel file system", 100, "cluster"),
        (5_000, "parallel file system and object store", 500, "cluster"),
        (20_000, "NVMe cache before parallel file system and object store", 1000, "cluster"),
    ],
)
def test_tiers(terabytes: float, storage: str, gb_per_s: float, scope: str) -> None:
    """The rules of thumb by size; every size has one, and every correction is said."""
    tier = tier_of(terabytes * 1e12)
    assert (tier.storage, tier.read_bytes_per_s, tier.scope) == (storage, gb_per_s * 1e9, scope)
    tiers = storage_tiers()
    assert [tier.up_to_bytes for tier in tiers[:-1]] == [tier.above_bytes for tier in tiers[1:]]
    assert tiers[-1].up_to_bytes is None
    assert all(tier.note for tier in tiers)


def test_tables_name_their_sources_and_prices() -> None:
    """Every row has a source of the catalogue, every box is a part with a price key."""
    catalogue = load()
    for source in [*(level.source for level in storage_levels().values()), *(tier.source for tier in storage_tiers())]:
        assert source in catalogue.sources
    for system in catalogue.storage_systems.values():
        for part in filter(None, (system.data_box, system.front_box)):
            assert part in catalogue.parts, part
            assert part in skus(), part
        assert system.throughput_box in {"data", "front"}
    assert {system.kind for system in catalogue.storage_systems.values()} >= {"Lustre", "GPFS", "NFS", "object"}


def test_figures_of_the_makers() -> None:
    """MinIO: 325 and 165 GiB/s of 32 nodes. NetApp: 300 GB/s of 12 pairs. DDN: 10 GB/s for each of 8 GPUs."""
    parts = load().parts
    minio, netapp, ddn = (parts[name] for name in ("minio-nvme-server", "netapp-aff-a900", "ddn-ai400x2-turbo"))
    assert minio.read_bytes_per_s == pytest.approx(325 * 2**30 / 32, rel=0.005)
    assert minio.write_bytes_per_s == pytest.approx(165 * 2**30 / 32, rel=0.01)
    assert netapp.read_bytes_per_s == 300e9 / 12
    assert netapp.capacity_bytes == pytest.approx(2 * 24 * 1.9e12)
    assert ddn.read_bytes_per_s == ddn.write_bytes_per_s == 10 * 1e9 * 8


@pytest.mark.parametrize(
    ("asked", "boxes", "binding"),
    [
        (AskedStorage(system="weka", box=BOX, level="none"), 8, "smallest system"),
        (AskedStorage(system="weka", box=BOX, level="none", capacity_bytes=1e15), 15, "capacity"),
        (AskedStorage(system="weka", box=BOX, level="none", read_bytes_per_s=400e9), 10, "read"),
        (AskedStorage(system="weka", box=BOX, level="none", write_bytes_per_s=101e9), 11, "write"),
        (
            AskedStorage(
                system="weka", box=replace(BOX, ports=1, read_bytes_per_s=90e9), level="none", read_bytes_per_s=801e9
            ),
            17,
            "ports",
        ),
    ],
)
def test_each_rule_can_decide(asked: AskedStorage, boxes: int, binding: str) -> None:
    """1 PB / (100 TB x 70 %); 400 / 40; 101 / 10; 801 GB/s over ports of 50 GB/s; else the smallest system."""
    storage = _storage(asked)
    assert (storage.data_boxes, storage.front_boxes) == (boxes, 0)
    assert storage.binding == (binding,)


def test_throughput_is_that_of_the_boxes_it_goes_through() -> None:
    """Front boxes that only serve protocols leave the data boxes' throughput; where all goes through them, theirs."""
    storage = _storage(AskedStorage(system="weka", box=BOX, level="none"))
    both = replace(storage, front=replace(storage.data, read_bytes_per_s=1e9), front_boxes=2)
    assert replace(both, throughput_box="front").gives_read_bytes_per_s == 2e9
    assert replace(both, throughput_box="data").gives_read_bytes_per_s == storage.gives_read_bytes_per_s
    assert storage.gives_read_bytes_per_s == storage.data_boxes * (BOX.read_bytes_per_s or 0)


def test_checkpoints_decide_where_they_are_large() -> None:
    """The job's 20 GB/s of checkpoints take two servers of 10 GB/s, more than its capacity does."""
    storage = _storage(AskedStorage(system="minio", box=BOX, level="none"), capacity_bytes=90e12)
    by_rule = {rule.rule: rule.boxes for rule in storage.rules}
    assert by_rule == {"capacity": 2, "ports": 1, "read": 1, "write": 2, "smallest system": 4}
    assert (
        max(storage.demands, key=lambda demand: demand.write_bytes_per_s or 0).origin == "writing a checkpoint in time"
    )


def test_what_no_source_states_is_asked_for_all_at_once() -> None:
    """Nothing is guessed: the message names the figures, the help the fields with a value to follow, exit 3."""
    with pytest.raises(MissingFactError) as caught:
        _storage(AskedStorage(system="gpfs"))
    help_text = caught.value.help or ""
    for key in ("capacity", "read", "write", "height", "ports", "port_rate"):
        assert f"targets.onprem.storage.box.{key}: " in help_text
    assert caught.value.exit_code == 3
    with pytest.raises(MissingFactError, match="read of one VAST CBox") as caught:
        _storage(AskedStorage(system="vast"))
    assert "front_box.read: 40 GB/s" in (caught.value.help or "")
    assert "box.capacity" not in (caught.value.help or "")


def test_default_is_the_one_that_was_always_designed() -> None:
    """Without a word in the blueprint: data boxes by capacity, compute boxes by ports, throughput unchecked."""
    storage = _storage(None, capacity_bytes=1e15, bytes_per_s=250e9)
    assert (storage.data_boxes, storage.front_boxes) == (ceil(1e15 / (338e12 * 0.8)), 4)
    assert storage.gives_read_bytes_per_s is None
    assert storage.level == "none"


@pytest.mark.parametrize("name", ["lustr", "wekka"])
def test_unknown_names(name: str) -> None:
    """A system that is not there is refused with the closest names, and so is a level."""
    with pytest.raises(InputError, match="no storage system is called"):
        _storage(AskedStorage(system=name))
    with pytest.raises(InputError, match="no level of storage bandwidth"):
        _storage(AskedStorage(system="weka", level="bettr", box=BOX))


def test_largest_system() -> None:
    """Twelve pairs of NetApp controllers are a cluster; what would take more is refused with what twelve give."""
    box = replace(BOX, read_bytes_per_s=None, capacity_bytes=None, height_u=8, ports=4)
    asked = AskedStorage(system="netapp", box=box, level="none", read_bytes_per_s=300e9)
    assert _storage(asked).data_boxes == 12
    with pytest.raises(RuleError, match=r"STO010.*13 boxes by read.*300 GB/s"):
        _storage(replace(asked, read_bytes_per_s=301e9))


def test_ports_that_do_not_fit() -> None:
    """Ports of 100 Gb/s have no cable to a switch of 400 Gb/s; half the rate takes a splitter, more runs slower."""
    hundred = replace(BOX, port_bytes_per_s_one_way=12.5e9)
    with pytest.raises(RuleError, match=r"STO008.*100 Gb/s.*400 Gb/s"):
        _design(AskedStorage(system="weka", box=hundred))
    split = _design(AskedStorage(system="weka", box=replace(BOX, port_bytes_per_s_one_way=25e9, ports=4)))
    assert split.inventory.storage_box_family == "ndr-storage"
    faster = _design(AskedStorage(system="weka", box=BOX), system="dgx-a100-640gb")
    assert faster.inventory.storage_box_family == "hdr"


@pytest.mark.parametrize(
    ("ports", "rate"), [(1, 50e9), (2, 50e9), (3, 50e9), (8, 50e9), (2, 25e9), (4, 25e9), (6, 25e9)]
)
def test_every_port_of_every_box_has_one_cable(ports: int, rate: float) -> None:
    """Both sides are used, no switch port twice, and a splitter's cage belongs to one box."""
    design = _design(
        AskedStorage(system="weka", box=replace(BOX, ports=ports, port_bytes_per_s_one_way=rate)), nodes=40
    )
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    cables = wire(design.inventory, standing, site=design.site, rules=design.rules)
    boxes = [cable for cable in cables if cable.tier == "storage-leaf"]
    assert len(boxes) == ports * design.inventory.storage.boxes
    ends = [(cable.to_device, cable.to_port) for cable in cables if cable.network == "storage"]
    assert len(ends) == len(set(ends))
    if ports > 1:
        sides = {cable.to_device[-1] for cable in boxes if cable.from_device == "st-data-01"}
        assert sides == {"a", "b"}
    if rate < 50e9:
        owners: dict[tuple[str, str], set[str]] = {}
        for cable in boxes:
            owners.setdefault((cable.to_device, cable.to_port.split("/")[0]), set()).add(cable.from_device)
        assert all(len(names) == 1 for names in owners.values())


def test_boxes_reach_bill_racks_and_power() -> None:
    """What the blueprint says of a box is what stands in the rack, and every box is bought."""
    asked = AskedStorage(
        system="lustre",
        box=replace(BOX, height_u=2, power_w=1_500, weight_kg=40),
        front_box=BoxFigures(height_u=1, power_w=800),
        read_bytes_per_s=200e9,
    )
    design = _design(asked)
    storage = design.inventory.storage
    bought = {line.sku: line.quantity for line in design.bill.lines}
    assert (bought["lustre-oss"], bought["lustre-mds"]) == (storage.data_boxes, 2) == (5, 2)
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=load())
    placed = [entry.device for rack in standing for entry in rack.placements if entry.device.role == "storage"]
    assert Counter((device.height_u, device.power_w, device.weight_kg) for device in placed) == {
        (2, 1_500, 40): 5,
        (1, 800, None): 2,
    }
    assert design.power.storage_w == 5 * 1_500 + 2 * 800
    assert storage.lustre is not None
    assert storage.lustre.osts == 10


def test_lustre_targets() -> None:
    """The guide's examples: 20 million files take about 80 GiB, 500,000 the least; a billion 4 TB; 2**32 fill one."""

    def size(files: float, servers: int = 0) -> float:
        return lustre_targets(
            servers=4, targets_per_server=2, metadata_servers=servers, capacity_bytes=1e14, files=files, writers=64
        ).mdt_bytes

    assert size(20e6) == pytest.approx(80e9, rel=0.03)
    assert size(500e3) == 20 * 2**30
    assert size(1e9) == pytest.approx(4e12, rel=0.03)
    several = lustre_targets(
        servers=4, targets_per_server=2, metadata_servers=2, capacity_bytes=1e14, files=3 * 2.0**32, writers=64
    )
    assert several.mdts == 3
    unsaid = lustre_targets(
        servers=4, targets_per_server=None, metadata_servers=0, capacity_bytes=1e14, files=None, writers=64
    )
    assert (unsaid.osts, unsaid.stripes_alone, unsaid.mdts, unsaid.files_assumed) == (None, None, 1, True)


def test_local_cache() -> None:
    """2 TB fit into 30 TB; 400 TB only as shares of 16 nodes; 1 PB does not; unknown drives are unknown."""

    def held(dataset: float, drives: float | None = 30.72e12) -> str:
        return local_cache(dataset_bytes=dataset, nodes=16, drives_bytes=drives, read_bytes_per_s=20e9).holds

    assert [held(2e12), held(400e12), held(1e15), held(2e12, None)] == ["whole", "share", "neither", "unknown"]
    cache = local_cache(dataset_bytes=2e12, nodes=16, drives_bytes=30e12, read_bytes_per_s=20e9)
    assert (cache.read_once_s, cache.read_whole_s) == (100.0, 1600.0)


def test_what_a_node_draws() -> None:
    """The published 127 nodes get between 40 and 80 GB/s each; a single switch gives all ports."""
    fabric = _design(None, nodes=127).inventory.storage_fabric
    assert 40e9 <= node_bytes_per_s(ports=2, port_bytes_per_s=50e9, fabric=fabric) <= 80e9
    single = size_fabric(nodes=20, rails=2, radix=64, uplinks=28, ports_per_switch_cage=2, purchase="as-needed")
    assert node_bytes_per_s(ports=2, port_bytes_per_s=50e9, fabric=single) == 100e9


def test_warnings() -> None:
    """A large data set with little bandwidth, and nodes with too narrow ports, are named; the default says nothing."""
    design = _design(AskedStorage(system="weka", box=BOX))
    inventory = design.inventory
    assert storage_warnings(inventory) == []
    large = replace(inventory.storage, cache=replace(inventory.storage.cache, dataset_bytes=200e12))
    narrow = replace(inventory, storage=large, storage_ports=1, storage_family="hdr")
    assert [found.id for found in storage_warnings(narrow)] == ["STO006", "STO007"]
    assert storage_warnings(replace(narrow, storage=replace(large, asked=False))) == []


@given(
    capacity=st.floats(1e12, 1e17),
    read=st.floats(1e8, 5e12),
    write=st.floats(1e8, 5e12),
    nodes=st.integers(1, 512),
    level=st.sampled_from(sorted(storage_levels())),
)
@settings(max_examples=60, deadline=None)
def test_boxes_suffice_and_one_less_does_not(
    *, capacity: float, read: float, write: float, nodes: int, level: str
) -> None:
    """What is bought holds and gives what every demand asks for; with one box less some rule fails."""
    asked = AskedStorage(
        system="ddn",
        level=level,
        capacity_bytes=capacity,
        read_bytes_per_s=read,
        write_bytes_per_s=write,
        box=BoxFigures(capacity_bytes=500e12, height_u=2),
    )
    storage = _storage(asked, nodes=nodes)
    for demand in storage.demands:
        assert (storage.usable_bytes or 0) >= (demand.capacity_bytes or 0) * (1 - 1e-12)
        assert (storage.gives_read_bytes_per_s or 0) >= (demand.read_bytes_per_s or 0) * (1 - 1e-12)
        assert (storage.gives_write_bytes_per_s or 0) >= (demand.write_bytes_per_s or 0) * (1 - 1e-12)
    assert storage.data_boxes == max(rule.boxes for rule in storage.rules)
    fewer = storage.data_boxes - 1
    assert any(
        fewer < (1 if rule.needed is None or rule.per_box is None else rule.needed / rule.per_box)
        for rule in storage.rules
    )
