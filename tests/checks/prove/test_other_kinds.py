"""Folders of services and of fine-tuning: racks, fabric, power and bill are proven, and the job where there is one."""

import shutil
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove import fabrics
from clusterwright.checks.prove.fabric.subnet_manager import expected_seconds
from clusterwright.checks.prove.fabrics import Routing, prove_fabrics
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site, verdict
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, UNKNOWN
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


def test_the_site_is_proven_and_a_job_that_is_none_is_skipped_with_a_sentence(written: tuple[str, Path]) -> None:
    """Every relation between the documents holds; a service has no job, and says which kind the folder has."""
    kind, folder = written
    results = {result.part: result for result in prove_site(read_papers(read_folder(folder)))}
    assert {results[part].state for part in ("networks", "power feeds", "bill", "links", "pages")} == {PROVEN}
    assert not [part for part, result in results.items() if result.state == NOT_PROVEN]
    if kind == "finetune":
        assert results["job script"].state == PROVEN
        return
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


def test_fabrics_are_proven_one_after_the_other_and_what_is_not_is_unknown(
    written: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice or a time that is over leaves a fabric unknown, with the reason; a name that is none is refused."""
    monkeypatch.setattr(fabrics, "missing_engine", lambda: "")
    documents = read_folder(written[1])
    said: list[str] = []
    for routing, reason in (
        (Routing(chosen=frozenset()), "it is not among the fabrics that were chosen (--route)"),
        (Routing(within_s=0.0), "the time was over before it came (--within)"),
    ):
        results = list(prove_fabrics(documents, routing, said.append))
        assert [result.state for result in results] == [UNKNOWN, UNKNOWN]
        assert {result.reason for result in results} == {f"not routed: {reason}"}
        assert verdict(results) == UNKNOWN
    assert [words.partition(":")[0] for words in said] == [
        "proving compute fabric (1 of 2)",
        "proving storage network (2 of 2)",
    ]
    with pytest.raises(InputError, match="there is no fabric p7 to route") as raised:
        list(prove_fabrics(documents, Routing(chosen=frozenset({"p7", "storage"}))))
    assert raised.value.help == "the folder has compute, storage"


def test_what_the_cables_alone_show_is_not_forgotten(
    written: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fabric that is not routed, and differs from the plan, is not proven rather than unknown."""
    monkeypatch.setattr(fabrics, "missing_engine", lambda: "")
    shutil.copytree(written[1], tmp_path / "site")
    path = tmp_path / "site" / "fabric.ibnetdiscover"
    path.write_text(
        path.read_text()
        .replace('"node001 1"', '"@"')
        .replace('"node002 1"', '"node001 1"')
        .replace('"@"', '"node002 1"')
    )
    compute, storage = prove_fabrics(read_folder(tmp_path / "site"), Routing(chosen=frozenset()))
    assert (compute.state, storage.state) == (NOT_PROVEN, UNKNOWN)
    assert {finding.id for finding in compute.findings} == {"FAB009"}


def test_the_time_of_a_proof_grows_with_the_square_of_the_ports() -> None:
    """Ways from every switch to every port: nine times the time for three times the ports, some minutes for 24,576."""
    assert expected_seconds(24_576) == pytest.approx(9 * expected_seconds(8_192))
    assert 150 < expected_seconds(24_576) < 300


def test_a_planted_fault_is_found(written: tuple[str, Path]) -> None:
    """A cable that is gone from the table is reported, whatever the nodes do."""
    _, folder = written
    path = folder / "cables.csv"
    text = path.read_text()
    path.write_text("\n".join(text.splitlines()[:-1]) + "\n")
    try:
        states = [result.state for result in prove_site(read_papers(read_folder(folder)))]
    finally:
        path.write_text(text)
    assert NOT_PROVEN in states
