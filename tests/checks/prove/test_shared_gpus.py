"""Nodes that share their GPUs: the page of Kubernetes says what each kind of node offers, and `prove` counts it."""

from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.interface.planning import plan

_PAGE = "kubernetes/README.md"
_ASKED = [
    "goals.finish_within=60 days",
    "targets.onprem.system=dgx-h100",
    "targets.onprem.min_nodes=34",
    "targets.onprem.max_nodes=34",
    "targets.onprem.scheduler=kubernetes",
]
_OTHERS = "| allocatable `nvidia.com/gpu` of the nodes that share no GPU | 8; 256 in all |"
_PARTS = "| allocatable `nvidia.com/gpu.shared` of the nodes that share GPUs | 32; 64 in all |"


def _written(folder: Path, way: str) -> Path:
    sharing = f"software.sharing={{way: {way}, parts: 4, nodes: 2}}"
    asked = [*_ASKED, sharing]
    plan(assets.root() / "blueprints" / "train-gpt3-175b.yaml", on="onprem", overrides=asked).onprem(folder)
    return folder


def _found(folder: Path) -> list[str]:
    """Return what is found of the page."""
    parts = prove_site(read_papers(read_folder(folder)))
    return [finding.message for part in parts for finding in part.findings if _PAGE in finding.message]


@pytest.mark.parametrize(("way", "rows"), [("time-slicing", (_OTHERS, _PARTS)), ("hami", (_OTHERS,))])
def test_the_page_says_what_each_kind_of_node_offers(way: str, rows: tuple[str, ...], tmp_path: Path) -> None:
    """No row speaks of every node where some share their GPUs; each row is true, and one that is not is found."""
    folder = _written(tmp_path / "site", way)
    page = folder / _PAGE
    text = page.read_text(encoding="utf-8")
    offered = [line for line in text.splitlines() if line.startswith("| allocatable `nvidia.com/gpu")]
    assert offered == [*rows]
    assert not _found(folder)
    for row in rows:
        page.write_text(text.replace(row, row.replace(" in all", "9 in all")), encoding="utf-8")
        assert _found(folder), row
