"""What instance types refer to: kinds of capacity with their limits, placements, quotas, slices, regions."""

from math import prod
from pathlib import Path
from shutil import copytree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.errors import ClusterwrightError

#: Every type that the stacks are made for.
TYPES = {
    "aws": "p4d.24xlarge p4de.24xlarge p5.48xlarge p5e.48xlarge p5en.48xlarge p6-b200.48xlarge g6e.48xlarge "
    "trn2.48xlarge",
    "azure": "Standard_ND96asr_v4 Standard_ND96amsr_A100_v4 Standard_ND96isr_H100_v5 Standard_ND96isr_H200_v5 "
    "Standard_ND96isr_MI300X_v5 Standard_ND128isr_NDR_GB200_v6",
    "gcp": "a2-highgpu-8g a2-ultragpu-8g a3-highgpu-8g a3-megagpu-8g a3-ultragpu-8g a4-highgpu-8g g2-standard-96 "
    "ct5p-hightpu-4t",
}
NAMES = [(cloud, name) for cloud, names in TYPES.items() for name in names.split()]


@pytest.mark.parametrize(("cloud", "name"), NAMES)
def test_types_of_the_stacks_have_every_fact(cloud: str, name: str) -> None:
    """Processors, memory, capacity, placement, quota, system of managed Kubernetes; what is unverified says why."""
    catalogue = load()
    entry = catalogue.instances[name]
    assert entry.cloud == cloud
    assert entry.vcpus is not None
    assert entry.memory_bytes is not None
    assert entry.quota in catalogue.quotas
    assert entry.kubernetes_image is not None
    assert catalogue.placement(entry) is not None
    assert {"on-demand", "spot"} <= {catalogue.capacity_objects[key].kind for key in entry.capacity_objects}
    assert entry.verified or entry.note


@pytest.mark.parametrize(
    ("name", "software"),
    [
        ("p5.48xlarge", "nvidia"),
        ("trn2.48xlarge", "neuron"),
        ("Standard_ND96isr_MI300X_v5", "rocm"),
        ("ct5p-hightpu-4t", "tpu"),
        ("Standard_ND128isr_NDR_GB200_v6", "nvidia"),
    ],
)
def test_vendor_software_follows_the_accelerator(name: str, software: str) -> None:
    """Nodes are set up by it, and nothing of another vendor is put on them."""
    assert load().instances[name].vendor_software == software


@pytest.mark.parametrize(
    ("name", "kind", "nodes"),
    [
        ("p5.48xlarge", "capacity-block", 64),
        ("a3-highgpu-8g", "flex-start", 256),
        ("a3-ultragpu-8g", "flex-start", 256),
        ("a4-highgpu-8g", "flex-start", None),
        ("Standard_ND96isr_H100_v5", "block-reservation", 64),
    ],
)
def test_most_nodes_of_a_capacity_object(name: str, kind: str, nodes: int | None) -> None:
    """As the clouds state them."""
    catalogue = load()
    found = catalogue.capacity(catalogue.instances[name], kind)
    assert found is not None
    assert found.max_nodes == nodes


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("g6e.48xlarge", "capacity-block"),
        ("Standard_ND96isr_H100_v5", "reservation"),
        ("Standard_NC40ads_H100_v5", "reservation"),
        ("a4x-highgpu-4g", "flex-start"),
        ("p6e-gb200.36xlarge", "on-demand"),
    ],
)
def test_capacity_that_a_type_cannot_have(name: str, kind: str) -> None:
    """None, so that nobody plans with it."""
    catalogue = load()
    assert catalogue.capacity(catalogue.instances[name], kind) is None


def test_where_two_things_would_place_the_nodes() -> None:
    """Reservations and blocks bring their placement; flex-start takes a workload policy on A3 Ultra and A4 only."""
    objects = load().capacity_objects
    assert objects["aws-reservation"].placement == objects["aws-capacity-block"].placement == "brought"
    assert objects["azure-reservation"].placement == objects["gcp-flex-start-a3"].placement == "none"
    assert objects["gcp-flex-start-a4"].placement == "workload-policy"
    assert objects["aws-on-demand"].placement == "own"


@pytest.mark.parametrize(
    ("days", "lasts"), [(0.2, 1), (1, 1), (13.1, 14), (14, 14), (14.1, 21), (22, 28), (182, 182), (182.5, None)]
)
def test_days_of_a_capacity_block(days: float, lasts: int | None) -> None:
    """1 to 14 days, then whole weeks up to 182 days."""
    assert load().capacity_objects["aws-capacity-block"].lasts(days) == lasts


@given(days=st.floats(0.01, 400))
def test_a_capacity_object_lasts_as_long_as_is_needed(days: float) -> None:
    """Whatever it can be had for covers the days asked for, and no shorter time that it can be had for does."""
    for entry in load().capacity_objects.values():
        lasts = entry.lasts(days)
        if lasts is None:
            assert entry.most_days is not None
            assert entry.lasts(entry.most_days) == entry.most_days
            continue
        assert lasts >= days
        assert entry.lasts(lasts) == lasts
        shorter = entry.lasts(lasts - 1) if lasts > 1 else None
        assert shorter is None or shorter == lasts or shorter < days


def test_placements_hold_what_the_clouds_state() -> None:
    """A scale set holds 100, or 300 on request; GB200 comes in racks of 18; a TPU v5p job has 6,144 chips."""
    catalogue = load()
    placements = catalogue.placement_objects
    assert (placements["scale-set"].max_nodes, placements["scale-set"].max_nodes_on_request) == (100, 300)
    assert catalogue.instances["Standard_ND96isr_H100_v5"].placement_max_nodes == 300
    assert catalogue.instances["Standard_ND128isr_NDR_GB200_v6"].placement_max_nodes == 288
    assert catalogue.instances["ct5p-hightpu-4t"].placement_max_nodes == 1536
    assert catalogue.instances["p5.48xlarge"].placement_max_nodes is None


@pytest.mark.parametrize(
    ("chips", "name", "shape"),
    [
        (4, "v5p-8", "2x2x1"),
        (32, "v5p-64", "2x4x4"),
        (64, "v5p-128", "4x4x4"),
        (128, "v5p-256", "4x4x8"),
        (448, "v5p-896", "4x4x28"),
        (512, "v5p-1024", "8x8x8"),
        (1024, "v5p-2048", "8x8x16"),
        (6144, "v5p-12288", "16x16x24"),
    ],
)
def test_slices_of_tpu_v5p(chips: int, name: str, shape: str) -> None:
    """Names count cores, two of a chip; shapes are Google's."""
    slices = load().tpu_slices["tpu-slice-v5p"]
    assert (slices.accelerator_type(chips), slices.shape(chips)) == (name, shape)


def test_slices_that_would_be_too_long() -> None:
    """67 cubes are a prime number, whose only shape has an edge of 268 chips; 61 and 66 cubes have shapes."""
    slices = load().tpu_slices["tpu-slice-v5p"]
    assert [slices.shape(64 * cubes) for cubes in (61, 66, 67)] == ["4x4x244", "8x12x44", None]
    assert slices.nearest(64 * 67, most=6144) == (64 * 66, 64 * 68)


def test_slices_of_tpu_v5e_count_chips() -> None:
    """The name of a v5e slice counts chips, not cores."""
    slices = load().tpu_slices["tpu-slice-v5e"]
    assert (slices.accelerator_type(16), slices.shape(16), slices.shape(24)) == ("v5litepod-16", "4x4", None)


@given(chips=st.integers(1, 6144), name=st.sampled_from(["tpu-slice-v4", "tpu-slice-v5e", "tpu-slice-v5p"]))
def test_nearest_slices(chips: int, name: str) -> None:
    """The neighbours of a number of chips are slices that exist, with nothing between them; shapes multiply up."""
    slices = load().tpu_slices[name]
    most = load().placement_objects[name].max_chips or 0
    below, above = slices.nearest(chips, most=most)
    for size in (below, above):
        if size is not None:
            shape = slices.shape(size)
            assert shape is not None
            assert prod(int(edge) for edge in shape.split("x")) == size
    assert below is None or below <= chips
    assert above is None or above >= chips
    between = [size for size in slices.sizes(most) if (below or 0) < size < (above or most + 1)]
    assert not between or below == above == chips


def test_quotas_are_counted_in_a_known_unit() -> None:
    """Processors on AWS and Azure, GPUs or chips on Google Cloud."""
    for entry in load().quotas.values():
        assert entry.unit in (("gpus", "chips") if entry.cloud == "gcp" else ("vcpus",)), entry.id


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("instances.csv", "aws-p4,", "aws-p3,", "quota 'aws-p3' of p4d.24xlarge is in no table"),
        ("instances.csv", "aws-on-demand aws-spot", "gcp-spot aws-spot", "is of gcp"),
        ("instances.csv", "aws-on-demand aws-spot", "aws-spot aws-spot", "two capacity objects of one kind"),
        ("capacity_objects.csv", "brought,64,", "brougt,64,", "placement 'brougt' is none of"),
        ("capacity_objects.csv", "1,14,7,182", "1,14,7,12", "the days of aws-capacity-block contradict"),
        ("placement_objects.csv", ",azure-infiniband,", ",azure-infinband,", "source 'azure-infinband' is not in"),
        ("offerings.csv", "p5e.48xlarge,cfn-lint", "p5f.48xlarge,cfn-lint", "'p5f.48xlarge' is not in instances.csv"),
    ],
)
def test_slips_are_found_when_the_catalogue_is_loaded(
    tmp_path: Path, file: str, old: str, new: str, fault: str
) -> None:
    """A reference to nothing, limits that contradict each other, and misspelt words are faults with file and line."""
    folder = tmp_path / "catalog"
    copytree(assets.root() / "catalog", folder)
    path = folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ClusterwrightError) as caught:
        load(folder)
    assert fault in caught.value.message
    assert f"{file}:" in caught.value.message
