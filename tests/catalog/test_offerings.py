"""Where types are sold: sources that agree, that differ, and those that do not know a region."""

import pytest

from clusterwright.catalog.load import load
from clusterwright.catalog.offerings import known_regions, listed_regions, verdict, zones_of

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
    """Google's zones are those with the type; AWS zones are the region's, since letters differ between accounts."""
    catalogue = load()
    assert zones_of(catalogue, catalogue.instances["a3-highgpu-8g"], "us-west1") == ("us-west1-a", "us-west1-b")
    zones = zones_of(catalogue, catalogue.instances["p5.48xlarge"], "us-east-1")
    assert zones == tuple(f"us-east-1{letter}" for letter in "abcdef")
    assert zones_of(catalogue, catalogue.instances["Standard_ND96isr_H100_v5"], "eastus") == ()
