"""A folder as it was written, of a run whose data takes hours to read: nothing in it is a fault."""

from pathlib import Path
from typing import Any

import pytest

from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.jobs.slurm import proof_variant
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.checks.prove.records import NOT_PROVEN
from clusterwright.interface.planning import plan

_BLUEPRINT = {
    "name": "llama-7b",
    "workload": {
        "kind": "train",
        "model": "llama-2-7b",
        "tokens": 1e12,
        "sequence_length": 4096,
        "global_batch": 1024,
    },
    "goals": {"finish_within": "60 days"},
    "targets": {"onprem": {"system": "dgx-h100"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of documents on premises."""
    folder = tmp_path_factory.mktemp("site")
    plan(_BLUEPRINT, on="onprem").onprem(folder)
    return folder


def test_hours_with_a_fraction_are_read_whole(folder: Path) -> None:
    """`3.0 h` at the end of a sentence is one value, and every other page says what the tables have."""
    assert "the whole of it to every node, 3.0 h." in (folder / "storage.md").read_text(encoding="utf-8")
    results = prove_site(read_papers(read_folder(folder)))
    assert [result for result in results if result.state == NOT_PROVEN] == []


def test_a_proof_leaves_out_what_only_nodes_run(folder: Path, tmp_path: Path) -> None:
    """Prolog, epilog, health check and their settings are of the nodes: the controller of a proof has none of them."""
    written = (folder / "slurm.conf").read_text(encoding="utf-8")
    assert "\nPrologFlags=Alloc,Contain\n" in written
    proven = proof_variant(written, tmp_path, 6817)
    ours = ("Prolog", "Epilog", "HealthCheck", "JobContainerType", "NamespaceType")
    assert [line for line in proven.splitlines() if line.startswith(ours)] == []


@pytest.mark.parametrize(
    "target",
    [
        {"system": "l40s-8gpu", "node": {"power": "6 kW"}},
        {"system": "dell-xe9680-h100"},
        {"system": "gaudi3-8gpu", "node": {"power": "8 kW"}},
        {"system": "gh200-1gpu"},
        {"system": "mi300x-8gpu"},
        {"system": "mi300x-8gpu", "scheduler": "kubernetes"},
        {"system": "dgx-h100", "fabric": {"kind": "roce", "planes": 2}},
        {"system": "dgx-h100", "fabric": {"purchase": "full-units"}},
    ],
    ids=lambda target: f"{target['system']} {target.get('fabric', '')}",
)
def test_folders_of_many_systems_are_proven_as_written(target: dict[str, Any], tmp_path: Path) -> None:
    """Names with "with" or a comma, ports that share a cable or are split: nothing is found in what was not edited."""
    workload = {"kind": "train", "model": "gpt2", "tokens": 1e9, "sequence_length": 1024, "global_batch": 576}
    sized = {"min_nodes": 2, "max_nodes": 2}
    made = plan({"name": "site", "workload": workload, "targets": {"onprem": {**target, **sized}}})
    made.onprem(tmp_path / "site")
    results = prove_site(read_papers(read_folder(tmp_path / "site")))
    assert [(found.id, found.message) for result in results for found in result.findings] == []
