"""File system sizes that providers take, and the bill of a cloud target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.lustre import lustre_tiers
from clusterwright.catalog.skus import skus
from clusterwright.errors import InputError, RuleError
from clusterwright.facility.cloud_bill import CLOUDS, cloud_bill
from clusterwright.facility.file_system import choose_file_system
from clusterwright.sizing.records import StorageNeed

from .examples import sized_point, storage_need

TIB = 2.0**40


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


@given(cloud=st.sampled_from(sorted(CLOUDS)), capacity_tib=st.floats(0.001, 2000), gb_per_s=st.floats(0.001, 400))
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
    lines = cloud_bill(cloud="azure", region="eastus", point=sized_point(), file_system=large).lines
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


@pytest.mark.parametrize("cloud", sorted(CLOUDS))
def test_bill_lines(cloud: str) -> None:
    """Every line around the GPU nodes has a price key of the table, its unit and charge; only nodes come and go."""
    point = sized_point(nodes=48)
    file_system = choose_file_system(cloud=cloud, need=point.storage)
    bill = cloud_bill(cloud=cloud, region="somewhere", point=point, file_system=file_system)
    nodes, disks, *rest = bill.lines
    assert (nodes.sku, nodes.quantity, nodes.unit, nodes.charge) == (f"{cloud}/p5.48xlarge", 48, "node", "hourly")
    assert (disks.quantity, disks.scales_with) == (48 * 200, "nodes")
    assert {line.scales_with for line in rest} == {"cluster"}
    for line in (disks, *rest):
        assert (line.unit, line.charge, line.category) == (
            skus()[line.sku].unit,
            skus()[line.sku].charge,
            skus()[line.sku].category,
        )
    bucket = next(line for line in rest if line.sku == CLOUDS[cloud].bucket)
    assert bucket.quantity == pytest.approx((point.storage.dataset_bytes + point.storage.checkpoint_bytes_kept) / 2**30)
    assert bill.it_power_w is None
