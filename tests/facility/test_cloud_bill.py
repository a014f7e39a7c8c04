"""File system sizes that providers take, and the bill of a cloud target."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.clouds.lustre import lustre_tiers
from clusterwright.catalog.load import load
from clusterwright.catalog.parts.skus import skus
from clusterwright.errors import InputError, RuleError
from clusterwright.facility.cloud_bill import _all_parts, cloud_bill, cloud_parts
from clusterwright.facility.storage.file_system import choose_file_system
from clusterwright.sizing.records.job import TrainingPoint
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.tco.terms.assumptions import assumptions

from .examples import sized_point, storage_need

TIB = 2.0**40
CLOUDS = ("aws", "azure", "gcp")
BUCKETS = {"aws": "aws/s3-standard", "azure": "azure/blob-hot-lrs", "gcp": "gcp/storage-standard"}
NODES = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-highgpu-8g"}


def _need(capacity_tib: float, gb_per_s: float) -> StorageNeed:
    return storage_need(capacity_bytes=capacity_tib * TIB, bytes_per_s=gb_per_s * 1e9)


@pytest.mark.parametrize(
    ("cloud", "efa", "capacity_tib", "gb_per_s", "tier", "capacity_gib"),
    [
        ("aws", False, 0.5, 0.01, 125, 1200),
        ("aws", False, 2.0, 0.1, 125, 2400),
        ("aws", False, 90.0, 5.0, 125, 93600),
        ("aws", False, 1.0, 10.0, 1000, 12000),
        ("aws", True, 10.0, 1.0, 250, 19200),
        ("aws", True, 5.0, 6.0, 1000, 9600),
        ("azure", False, 100.0, 1.0, 40, 144 * 1024),
        ("azure", False, 10.0, 1.0, 125, 16 * 1024),
        ("azure", False, 100.0, 30.0, 250, 120 * 1024),
        ("gcp", False, 1.0, 1.0, 1000, 9000),
        ("gcp", False, 60.0, 4.0, 125, 72000),
        ("gcp", False, 80.0, 20.0, 250, 108000),
    ],
)
def test_file_systems_by_hand(
    *, cloud: str, efa: bool, capacity_tib: float, gb_per_s: float, tier: int, capacity_gib: int
) -> None:
    """The least expensive-looking tier that holds the data and moves it in time, in the provider's steps."""
    chosen = choose_file_system(cloud=cloud, need=_need(capacity_tib, gb_per_s), efa=efa)
    assert (chosen.tier.mb_per_s_per_tib, chosen.capacity_gib) == (tier, capacity_gib)
    assert not chosen.on_request


@given(cloud=st.sampled_from(CLOUDS), capacity_tib=st.floats(0.001, 2000), gb_per_s=st.floats(0.001, 400))
def test_file_system_meets_need(*, cloud: str, capacity_tib: float, gb_per_s: float) -> None:
    """Whatever is chosen is of a valid size and meets capacity and throughput."""
    chosen = choose_file_system(cloud=cloud, need=_need(capacity_tib, gb_per_s))
    assert chosen.capacity_gib * 2.0**30 >= capacity_tib * TIB * (1 - 1e-12)
    assert chosen.bytes_per_s >= gb_per_s * 1e9 * (1 - 1e-12)
    assert chosen.on_request or chosen.tier.accepts(chosen.capacity_gib)


def test_on_request_is_last() -> None:
    """Azure sizes that need a support request are taken only if no other tier is enough, and say so."""
    assert not choose_file_system(cloud="azure", need=_need(200, 1)).on_request
    large = choose_file_system(cloud="azure", need=_need(200, 60))
    assert large.on_request
    lines = cloud_bill(cloud="azure", region="eastus", scheduler="slurm", point=sized_point(), file_system=large).lines
    assert "support request" in next(line.note for line in lines if line.sku == large.tier.sku)


def test_beyond_every_tier() -> None:
    """A need that no tier meets is refused with the largest there is."""
    with pytest.raises(RuleError, match="STO001") as caught:
        choose_file_system(cloud="azure", need=_need(5000, 1))
    assert "2,560,000 GiB at 1,250 GB/s" in caught.value.findings[0].help
    with pytest.raises(InputError, match="moon"):
        choose_file_system(cloud="moon", need=_need(1, 1))


def test_tiers_refuse_sizes_between_steps() -> None:
    """1,300 and 3,600 GiB are no sizes of FSx; 0 is none of anybody."""
    tier = next(tier for tier in lustre_tiers() if tier.sku == "aws/fsx-lustre-ssd-250" and not tier.efa)
    assert [size for size in (0, 1200, 1300, 2400, 3600, 4800) if tier.accepts(size)] == [1200, 2400, 4800]


def _point(cloud: str, nodes: int) -> TrainingPoint:
    point = sized_point(nodes=nodes)
    return replace(point, node=replace(point.node, id=NODES[cloud]))


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_bill_lines(cloud: str, scheduler: str) -> None:
    """Every line around the GPU nodes has a price key of the table, its unit and charge; only nodes come and go."""
    point = _point(cloud, 48)
    file_system = choose_file_system(cloud=cloud, need=point.storage)
    bill = cloud_bill(cloud=cloud, region="somewhere", scheduler=scheduler, point=point, file_system=file_system)
    nodes, disks, *rest = bill.lines
    assert (nodes.sku, nodes.quantity, nodes.unit, nodes.charge) == (f"{cloud}/{NODES[cloud]}", 48, "node", "hourly")
    each = {("azure", "slurm"): 128, ("azure", "kubernetes"): 512}.get((cloud, scheduler), 200)
    assert (disks.quantity, disks.scales_with) == (48 * each, "nodes")
    assert {line.scales_with for line in rest} == {"cluster"}
    for line in (disks, *rest):
        assert (line.unit, line.charge, line.category) == (
            skus()[line.sku].unit,
            skus()[line.sku].charge,
            skus()[line.sku].category,
        )
    bucket = next(line for line in rest if line.sku == BUCKETS[cloud])
    assert bucket.quantity == pytest.approx((point.storage.dataset_bytes + point.storage.checkpoint_bytes_kept) / 2**30)
    assert bill.it_power_w is None


def test_every_line_around_the_nodes_has_a_price() -> None:
    """Whatever the stacks create by default has a documented or an assumed price; none is unknown."""
    known = assumptions()
    assert {part.sku for part in _all_parts()} <= known.keys()
    for part in _all_parts():
        assert (known[part.sku].unit, known[part.sku].charge) == (skus()[part.sku].unit, skus()[part.sku].charge)


def test_every_instance_has_one_system_disk() -> None:
    """No family of instance types is left without a system disk, and none has two."""
    for instance in load().instances.values():
        for scheduler in ("slurm", "kubernetes"):
            if instance.cloud not in CLOUDS:
                continue
            parts = cloud_parts(cloud=instance.cloud, scheduler=scheduler, instance=instance.id)
            assert sum(part.role == "node disk" for part in parts) == 1, instance.id
