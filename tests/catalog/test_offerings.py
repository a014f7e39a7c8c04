"""Where types are sold: sources that agree, that differ, and those that do not know a region."""

import pytest

from clusterwright.catalog.load import load
from clusterwright.catalog.offerings import known_regions, listed_regions, region_of, verdict, zone_verdict, zones_with

EC2, LINT = "aws-describe-instance-types", "cfn-lint"


@pytest.mark.parametrize(
    ("name", "region", "listed", "left_out"),
    [
        ("p5.48xlarge", "us-east-1", {EC2, LINT}, set()),
        ("p5.48xlarge", "eu-west-1", set(), {EC2, LINT}),
        ("p5e.48xlarge", "us-west-2", {EC2}, {LINT}),
        ("p6-b300.48xlarge", "eu-west-2", {LINT}, {EC2}),
        ("p5.48xlarge", "us-gov-west-1", {LINT}, set()),
        ("p5.48xlarge", "us-gov-east-1", set(), {LINT}),
        ("trn2.3xlarge", "us-east-1", set(), {EC2}),
        ("p5.48xlarge", "us-east-9", set(), {EC2, LINT}),
        ("p6e-gb200.36xlarge", "us-east-1", set(), set()),
        ("Standard_ND96isr_H100_v5", "eastus", {"azure-retail-prices"}, set()),
        ("a3-highgpu-8g", "us-central1", {"skypilot-catalog"}, set()),
        ("a3-highgpu-8g", "us-central2", set(), {"skypilot-catalog"}),
    ],
)
def test_what_sources_say(name: str, region: str, listed: set[str], left_out: set[str]) -> None:
    """A source speaks only of types and regions that it knows; a region that none knows is left out by all."""
    catalogue = load()
    found = verdict(catalogue, catalogue.instances[name], region)
    assert (set(found.listed_by), set(found.left_out_by)) == (listed, left_out)
    assert found.refused == (not listed and len(left_out) > 1)
    assert found.doubtful == (not found.refused and (bool(left_out) or not listed))


def test_refused_only_where_two_sources_agree() -> None:
    """Over all types and regions: never on the word of one source, never against one that lists the type."""
    catalogue = load()
    refused = 0
    for entry in catalogue.instances.values():
        for region in known_regions(catalogue, entry.cloud):
            found = verdict(catalogue, entry, region)
            if found.refused:
                refused += 1
                assert entry.cloud == "aws"
                assert region not in listed_regions(catalogue, entry)
    assert refused > 500


def test_zones() -> None:
    """On Google Cloud those with the type; AWS has other letters in every account: nothing is said there."""
    catalogue = load()
    assert zones_with(catalogue.instances["a3-highgpu-8g"], "us-west1") == ("us-west1-a", "us-west1-b")
    assert zones_with(catalogue.instances["p5.48xlarge"], "us-east-1") == ()


@pytest.mark.parametrize(
    ("cloud", "region", "zone", "refused", "doubtful"),
    [
        ("aws", "us-east-1", "us-east-1f", False, False),
        ("aws", "us-east-1", "us-east-1z", True, False),
        # moto has a and c of three zones: what either knows exists.
        ("aws", "us-west-1", "us-west-1c", False, False),
        ("aws", "us-nowhere-1", "us-nowhere-1a", False, True),
        ("gcp", "us-central1", "us-central1-f", False, False),
        ("gcp", "us-central1", "us-central1-d", True, False),
        ("gcp", "us-east1", "us-east1-a", True, False),
        ("gcp", "us-east5", "us-east5-f", False, True),
        ("azure", "eastus", "3", False, False),
        ("azure", "northcentralus", "1", True, False),
        ("azure", "westus", "1", True, False),
        ("azure", "malaysiawest", "1", False, True),
    ],
)
def test_zones_that_sources_know(cloud: str, region: str, zone: str, *, refused: bool, doubtful: bool) -> None:
    """Refused where two sources know the region and neither has the zone; in doubt with one or none."""
    says = zone_verdict(load(), cloud, region, zone)
    assert (says.refused, says.doubtful) == (refused, doubtful)


def test_no_listed_place_of_a_type_is_refused() -> None:
    """Wherever a source lists a type, its zone exists, and Azure's regions without zones are no surprise."""
    catalogue = load()
    for instance in catalogue.instances.values():
        for place in instance.regions if instance.cloud == "gcp" else ():
            region = region_of("gcp", place)
            assert region == place or not zone_verdict(catalogue, "gcp", region, place).refused
    without = {entry.id for entry in catalogue.regions.values() if entry.cloud == "azure" and not entry.zones}
    assert {"northcentralus", "westus", "ukwest", "canadaeast"} <= without
    assert not without & {"eastus", "westeurope", "westus2", "swedencentral"}
