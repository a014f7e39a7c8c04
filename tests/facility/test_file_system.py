"""The file system that a blueprint asks for: sold as it is, or the nearest sizes named."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterwright.catalog.clouds.lustre import LustreTier, lustre_tiers
from clusterwright.errors import RuleError
from clusterwright.facility.storage.file_system import (
    GIB,
    AskedFileSystem,
    FileSystem,
    asked_problem,
    choose_file_system,
    nearest_sizes,
)

from .examples import storage_need

TIERS = st.sampled_from(lustre_tiers())
CAPACITIES_GIB = st.integers(1, 20_000_000)


def _asked(capacity_gib: float | None = None, tier: int | None = None) -> AskedFileSystem:
    return AskedFileSystem(capacity_bytes=None if capacity_gib is None else capacity_gib * GIB, mb_per_s_per_tib=tier)


@given(tier=TIERS, capacity_gib=CAPACITIES_GIB)
def test_nearest_sizes_enclose_the_capacity(tier: LustreTier, capacity_gib: int) -> None:
    """Both neighbours are sold, the lower is not above and the upper not below, and nothing between them is sold."""
    below, above = tier.nearest(capacity_gib)
    assert below is not None or above is not None
    assert below is None or (tier.accepts(below) and below <= capacity_gib)
    assert above is None or (tier.accepts(above) and above >= capacity_gib)
    if tier.accepts(capacity_gib):
        assert below == above == capacity_gib
    if below is not None and above is not None:
        step = tier.step_gib // 2 if tier.step_gib % 2 == 0 else tier.step_gib
        between = range(below // step * step + step, above, step)
        assert not any(tier.accepts(size) for size in between if size > below)


@given(tier=TIERS, capacity_gib=CAPACITIES_GIB)
def test_only_one_side_is_missing_at_the_ends(tier: LustreTier, capacity_gib: int) -> None:
    """Below the smallest there is no lower size, above the largest no upper one, and nowhere else."""
    below, above = tier.nearest(capacity_gib)
    assert (below is None) == (capacity_gib < tier.smallest_gib)
    largest = None if tier.largest_gib is None else tier.largest_gib // tier.step_gib * tier.step_gib
    assert (above is None) == (largest is not None and capacity_gib > largest)


@given(cloud=st.sampled_from(("aws", "azure", "gcp")), capacity_gib=CAPACITIES_GIB)
def test_what_is_named_instead_can_be_asked_for(cloud: str, capacity_gib: int) -> None:
    """A size that is not sold gets names of sizes that are; these pass the same check."""
    asked = _asked(capacity_gib)
    assume(asked_problem(cloud=cloud, asked=asked) is not None)
    tiers = [tier for tier in lustre_tiers() if tier.cloud == cloud and not tier.efa]
    named = nearest_sizes(tiers, capacity_gib)
    assert named
    for system in named:
        again = _asked(system.capacity_gib, system.tier.mb_per_s_per_tib)
        assert asked_problem(cloud=cloud, asked=again) is None


@pytest.mark.parametrize(
    ("cloud", "capacity_gib", "tier", "below", "above"),
    [
        ("aws", 1300, 250, "1,200 GiB", "2,400 GiB"),
        ("aws", 20_000, 500, "19,200 GiB", "21,600 GiB"),
        ("azure", 5 * 1024, 500, "4 TiB", "8 TiB"),
        ("azure", 50 * 1024, 40, "48 TiB", "96 TiB"),
        ("gcp", 9001, 1000, "9,000 GiB", "18,000 GiB"),
    ],
)
def test_sizes_between_two_steps(*, cloud: str, capacity_gib: int, tier: int, below: str, above: str) -> None:
    """The sizes below and above are named, each with its price."""

    def usd_per_month(system: FileSystem) -> float:
        return system.capacity_gib * 0.5

    found = asked_problem(cloud=cloud, asked=_asked(capacity_gib, tier), usd_per_month=usd_per_month)
    assert found is not None
    assert found.id == "STO003"
    assert found.path == ("targets", cloud, "file_system", "capacity")
    assert f"{below} at {tier} MB/s per TiB" in found.help
    assert f"{above} at {tier} MB/s per TiB" in found.help
    assert found.help.count("USD per month") == 2


def test_a_size_below_the_smallest_has_one_neighbour() -> None:
    """Only the smallest is named, and a price that is not known is said to be unknown."""
    found = asked_problem(cloud="gcp", asked=_asked(100, 125))
    assert found is not None
    assert found.help == "the nearest sizes are 72,000 GiB at 125 MB/s per TiB (no price is known)"


def test_a_tier_that_is_not_sold() -> None:
    """The tiers that there are, are named."""
    found = asked_problem(cloud="aws", asked=_asked(tier=300))
    assert found is not None
    assert (found.id, found.help) == ("STO002", "the tiers are 125, 250, 500, 1000")


def test_what_is_asked_for_is_taken() -> None:
    """Tier and size of the blueprint stand, although a smaller file system would do."""
    need = storage_need(capacity_bytes=500 * GIB, bytes_per_s=1e6)
    chosen = choose_file_system(cloud="aws", need=need, asked=_asked(21_600, 500))
    assert (chosen.capacity_gib, chosen.tier.mb_per_s_per_tib) == (21_600, 500)
    assert choose_file_system(cloud="aws", need=need, asked=_asked(tier=1000)).capacity_gib == 1200
    assert choose_file_system(cloud="aws", need=need, asked=_asked(2400)).tier.mb_per_s_per_tib == 125
    assert choose_file_system(cloud="azure", need=need, asked=_asked(132 * 1024, 500)).on_request


def test_what_is_asked_for_must_suffice() -> None:
    """Less than the job's data, or slower than it needs, is refused with both numbers."""
    need = storage_need(capacity_bytes=5000 * GIB, bytes_per_s=2e9)
    with pytest.raises(RuleError) as caught:
        choose_file_system(cloud="aws", need=need, asked=_asked(2400))
    assert caught.value.findings[0].id == "STO004"
    assert "2,400 GiB" in caught.value.findings[0].message
    assert "5,000 GiB" in caught.value.findings[0].message
    exact = storage_need(capacity_bytes=4800 * GIB, bytes_per_s=1e6)
    assert choose_file_system(cloud="aws", need=exact, asked=_asked(4800)).capacity_gib == 4800
    with pytest.raises(RuleError):
        choose_file_system(cloud="aws", need=need, asked=_asked(7200, 125))
