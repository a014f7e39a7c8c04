"""What a plan bills carries the cluster's tag, by which the bill of the running cluster finds it."""

import csv
from pathlib import Path

import pytest

from clusterwright.assets import root

GOLDEN = Path(__file__).parent / "golden"
TAG = '"gpu-cluster"'
#: File systems stand in the bill by size, not in the table of parts.
FILE_SYSTEMS = {
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "azure-native:storagecache:AmlFilesystem",
    "gcp:lustre/instance:Instance",
}
#: Google Cloud gives gateways of a router no labels: their hours are in the untagged share.
WITHOUT = {"gcp:compute/routerNat:RouterNat"}


def billed() -> set[str]:
    """Return the types of what the stacks make and the plan bills."""
    with (root() / "catalog" / "cloud_parts.csv").open(encoding="utf-8", newline="") as lines:
        return ({row["resource"] for row in csv.DictReader(lines)} | FILE_SYSTEMS) - WITHOUT


@pytest.mark.parametrize("page", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_everything_billed_is_tagged(page: Path) -> None:
    """Each resource has the tag itself, or by the default tags of its provider (AWS, Google Cloud; Azure has none)."""
    cloud = page.stem.partition("-")[0]
    paragraphs = page.read_text(encoding="utf-8").split("\n\n")
    by_provider = cloud != "azure" and any(
        text.startswith(f"pulumi:providers:{cloud} ") and "gpu-cluster" in text for text in paragraphs
    )
    found = {text.split()[0] for text in paragraphs} & billed()
    untagged = [text.splitlines()[0] for text in paragraphs if text.split()[0] in found and TAG not in text]
    assert found or "nodes" in page.stem
    assert by_provider or not untagged, untagged


def test_every_type_is_seen() -> None:
    """The pages hold every type that is billed, but for those of clusters of another kind."""
    seen = {text.split()[0] for page in GOLDEN.glob("*.txt") for text in page.read_text(encoding="utf-8").split("\n\n")}
    assert len(billed() & seen) >= len(billed()) - 3, billed() - seen
