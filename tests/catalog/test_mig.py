"""Slices by MIG: published counts of geometries, what fits together and what does not, sums over a node."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.catalog.software.mig import (
    Profile,
    Slices,
    compute_slices_of,
    findings,
    geometries,
    place,
    placements,
    profiles_by_gpu,
)

H100 = profiles_by_gpu()["h100-sxm-80gb"]


def _plain(profiles: tuple[Profile, ...]) -> list[Profile]:
    """Return the profiles of NVIDIA's diagram: without media engines and without 1g of double memory."""
    return [entry for entry in profiles if "+" not in entry.name and entry.memory_slices != 2 * entry.compute_slices]


@pytest.mark.parametrize("gpu", ["a100-sxm-40gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "gb200-186gb"])
def test_nineteen_ways_to_fill(gpu: str) -> None:
    """NVIDIA's diagram of A100 has 19 ways to fill a GPU, and those of seven slices after it are alike."""
    assert len(placements(_plain(profiles_by_gpu()[gpu]))) == 19


@pytest.mark.parametrize(
    ("names", "fits"),
    [
        (["3g.40gb", "3g.40gb"], True),
        (["4g.40gb", "3g.40gb"], True),
        (["4g.40gb", "4g.40gb"], False),
        (["3g.40gb", "3g.40gb", "1g.10gb"], False),
        (["2g.20gb", "2g.20gb", "2g.20gb", "1g.10gb"], True),
        (["1g.10gb"] * 7, True),
        (["1g.10gb"] * 8, False),
        (["1g.20gb"] * 4, True),
        (["1g.10gb+me", "1g.10gb+me"], False),
        (["7g.80gb", "1g.10gb"], False),
        (["4g.40gb", "2g.20gb", "1g.10gb"], True),
    ],
)
def test_what_fits_on_an_h100(names: list[str], fits: bool) -> None:
    """Seven compute slices, eight memory slices and the places of each profile decide together."""
    assert (place(H100, names) is not None) is fits


def test_the_counts_of_the_table_are_what_places_allow() -> None:
    """So many instances of a profile as the source says fit alone, and one more does not."""
    for gpu, profiles in profiles_by_gpu().items():
        for profile in profiles:
            assert place(profiles, [profile.name] * profile.most) is not None, (gpu, profile.name)
            assert place(profiles, [profile.name] * (profile.most + 1)) is None, (gpu, profile.name)


def test_memory_of_profiles_is_a_part_of_the_gpu() -> None:
    """The nominal memory of a profile is its slices' share of the GPU's, and never more than software sees."""
    chips = load().accelerators
    for gpu, profiles in profiles_by_gpu().items():
        whole = max(profile.memory_slices for profile in profiles)
        full = next(profile for profile in profiles if profile.memory_slices == whole)
        for profile in profiles:
            share = profile.memory_slices / whole
            assert profile.nominal_memory_bytes == pytest.approx(full.nominal_memory_bytes * share, abs=1.6e9)
            if profile.shown_memory_bytes is not None:
                assert profile.shown_memory_bytes < profile.nominal_memory_bytes * 1.0738  # names count GiB
        if gpu in chips:
            assert full.nominal_memory_bytes == pytest.approx(chips[gpu].hbm_bytes, rel=0.08), gpu


def test_gpus_are_known_to_the_catalogue() -> None:
    """Each row is of an accelerator of the catalogue; the A30 alone is not sized here."""
    assert set(profiles_by_gpu()) - set(load().accelerators) == {"a30-24gb"}


@given(st.lists(st.sampled_from([profile.name for profile in H100]), max_size=8))
def test_a_placement_keeps_its_rules(names: list[str]) -> None:
    """No memory slice is taken twice, each starts where it may, compute slices are enough, and fewer fit as well."""
    placed = place(H100, names)
    if placed is None:
        return
    known = {profile.name: profile for profile in H100}
    taken = [index for entry in placed for index in range(entry.start, entry.start + entry.slices)]
    assert len(taken) == len(set(taken))
    assert all(entry.start in known[entry.profile].starts for entry in placed)
    assert sum(known[name].compute_slices for name in names) <= compute_slices_of(H100)
    assert Counter(entry.profile for entry in placed) == Counter(names)
    assert all(place(H100, names[:index] + names[index + 1 :]) is not None for index in range(len(names)))


def test_full_geometries_take_nothing_more() -> None:
    """To none of the full sets another instance can be added."""
    for names in geometries(H100):
        assert all(place(H100, [*names, profile.name]) is None for profile in H100)


def test_a_gpu_without_mig_is_named() -> None:
    """An L40S has no MIG: id, place, and the GPUs that have it."""
    (found,) = findings("l40s-48gb", "L40S", Slices(geometry=("1g.10gb",)), ("software", "mig"), gpus_per_node=8)
    assert (found.id, found.path) == ("MIG001", ("software", "mig"))
    assert "a100-sxm-80gb" in found.help


def test_an_illegal_geometry_is_named_with_legal_ones() -> None:
    """4g and 4g: what they take, where they may begin, and what is full with one of them."""
    asked = Slices(geometry=("4g.40gb", "4g.40gb"))
    (found,) = findings("h100-sxm-80gb", "H100", asked, ("software", "mig"), gpus_per_node=8)
    assert (found.id, found.path) == ("MIG002", ("software", "mig", "geometry"))
    assert "8 of 7 compute slices" in found.message
    assert "4g.40gb at 0" in found.message
    assert "3g.40gb + 4g.40gb" in found.help


def test_a_profile_of_another_gpu_is_named() -> None:
    """1g.5gb is of the A100 of 40 GB; an H100 has others."""
    (found,) = findings("h100-sxm-80gb", "H100", Slices(geometry=("1g.5gb",)), ("software", "mig"), gpus_per_node=8)
    assert found.id == "MIG002"
    assert found.message == "H100 has no profile 1g.5gb"
    assert "1g.10gb" in found.help


@pytest.mark.parametrize(
    ("gpus", "instances", "expected"),
    [
        (None, None, []),
        (4, (("3g.40gb", 8),), []),
        (None, (("3g.40gb", 16), ("7g.80gb", 0)), []),
        (4, (("3g.40gb", 9),), ["instances"]),
        (4, (("3g.40gb", 8), ("1g.10gb", 1)), ["instances"]),
        (9, None, ["gpus"]),
    ],
)
def test_profiles_times_gpus_add_up(
    gpus: int | None, instances: tuple[tuple[str, int], ...] | None, expected: list[str]
) -> None:
    """Instances of a node are its divided GPUs times the geometry, and no more GPUs than it has are divided."""
    asked = Slices(geometry=("3g.40gb", "3g.40gb"), gpus=gpus, instances=instances)
    found = findings("h100-sxm-80gb", "H100", asked, ("software", "mig"), gpus_per_node=8)
    assert [entry.path[-1] for entry in found] == expected
    assert all(entry.id == "MIG003" for entry in found)
