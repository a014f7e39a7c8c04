"""Folders of services and of fine-tuning: racks, fabric, power and bill are proven, no job of training is asked for."""

from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.proof import prove_site
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED
from clusterwright.interface.planning import plan

_HELD = {
    "serve-llama3-70b": ["targets.onprem.allowed_systems=[dgx-h100]", "traffic.users=1000"],
    "finetune-llama3-70b-lora": ["targets.onprem.allowed_systems=[dgx-h100]", "targets.onprem.min_nodes=2"],
}


@pytest.fixture(scope="module", params=sorted(_HELD))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the kind of workload and a folder of its documents on premises."""
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name)
    plan(assets.root() / "blueprints" / f"{name}.yaml", on="onprem", overrides=_HELD[name]).onprem(folder)
    return name.partition("-")[0], folder


def test_the_site_is_proven_and_the_job_is_skipped_with_a_sentence(written: tuple[str, Path]) -> None:
    """Every relation between the documents holds; what is of training alone says which kind the folder has."""
    kind, folder = written
    results = {result.part: result for result in prove_site(read_folder(folder))}
    assert {results[part].state for part in ("networks", "power feeds", "bill", "links", "pages")} == {PROVEN}
    assert not [part for part, result in results.items() if result.state == NOT_PROVEN]
    assert results["job script"].state == SKIPPED
    assert f"workloads of kind {kind} have no job of training" in results["job script"].reason


def test_a_planted_fault_is_found(written: tuple[str, Path]) -> None:
    """A cable that is gone from the table is told, whatever the nodes do."""
    _, folder = written
    path = folder / "cables.csv"
    text = path.read_text()
    path.write_text("\n".join(text.splitlines()[:-1]) + "\n")
    try:
        states = [result.state for result in prove_site(read_folder(folder))]
    finally:
        path.write_text(text)
    assert NOT_PROVEN in states
