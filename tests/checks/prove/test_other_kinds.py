"""Folders of services and of fine-tuning: racks, fabric, power and bill are proven, no job of training is asked for."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove import fabrics
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.proof import prove_site
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED
from clusterwright.errors import InputError
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


def test_the_part_of_a_build_is_proven_by_its_own_name(written: tuple[str, Path], tmp_path: Path) -> None:
    """`build` keeps the plan beside `onprem/`, whose README says to prove "this folder"."""
    _, folder = written
    shutil.copytree(folder, tmp_path / "onprem")
    (tmp_path / "onprem" / "plan.json").rename(tmp_path / "plan.json")
    whole, part = read_folder(tmp_path), read_folder(tmp_path / "onprem")
    assert part == whole
    assert part.site == tmp_path / "onprem"
    (tmp_path / "plan.json").unlink()
    with pytest.raises(InputError, match=r"onprem has no plan\.json"):
        read_folder(tmp_path / "onprem")


def test_a_long_proof_says_how_long_it_takes(written: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways from every switch to every port: nine times the time for three times the ports, for each plane."""
    monkeypatch.setattr(fabrics, "missing_engine", lambda: "")
    documents = read_folder(written[1])
    inventory = documents.design.inventory
    small = replace(inventory.fabric, nodes=64, rails=8, links_per_rail=1)
    large = replace(inventory.fabric, nodes=12_288, rails=2, links_per_rail=1)
    said = [
        fabrics.fabrics_words(replace(documents, design=replace(documents.design, inventory=one)))
        for one in (replace(inventory, fabric=small, planes=1), replace(inventory, fabric=large, planes=4))
    ]
    assert said == [
        "fabrics: OpenSM routes 512 ports",
        "fabrics: OpenSM routes 4 planes of 24,576 ports, about 12 min",
    ]


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
