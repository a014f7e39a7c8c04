"""A written folder proved by real engines: a sound one is proven, and every planted fault is found."""

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from clusterwright import assets
from clusterwright.checks.prove import fabrics, workbooks
from clusterwright.checks.prove.cables import prove_cables
from clusterwright.checks.prove.fabrics import prove_fabrics
from clusterwright.checks.prove.files import prove_files
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.jobs import slurm
from clusterwright.checks.prove.jobs.slurm import prove_slurm
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, Documents, Result
from clusterwright.checks.prove.site.ethernet import ENGINE as ETHERNET_ENGINE
from clusterwright.checks.prove.workbooks import prove_workbooks
from clusterwright.cli.written import write
from clusterwright.cli.written.prove import prove_folder
from clusterwright.errors import InputError
from tests.checks.prove.planting import NODES_36

pytestmark = pytest.mark.engine

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
ENGINES = ("opensm", "soffice", "slurmctld")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the shipped blueprint's cluster on premises, of 36 nodes, with its cost report."""
    folder = tmp_path_factory.mktemp("written") / "site"
    write.onprem(BLUEPRINT, folder, NODES_36, force=False)
    alone = ["targets.aws=null", "targets.azure=null", "targets.gcp=null"]
    write.report(BLUEPRINT, folder / "tco", [*alone, *NODES_36], force=False)
    return folder


@pytest.fixture
def documents(written: Path, tmp_path: Path) -> Documents:
    """Return a copy of the folder to plant faults in."""
    shutil.copytree(written, tmp_path / "site")
    return read_folder(tmp_path / "site")


@pytest.fixture
def engines(require_engine: Callable[..., None]) -> None:
    """Skip where an engine is missing."""
    require_engine(*ENGINES)


def ids(*results: Result | None) -> set[str]:
    """Return the ids of what was found wrong."""
    return {finding.id for result in results if result is not None for finding in result.findings}


def change(path: Path, old: str, new: str, *, count: int = 1) -> None:
    """Replace text in a file; it must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


@pytest.mark.usefixtures("engines")
def test_a_written_folder_is_proven(documents: Documents, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part by its engine; the page lies beside the documents, and a second write keeps it."""
    assert prove_folder(documents.root, as_json=True, strict=True, quiet=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["proven"]
    assert {part["part"]: part["state"] for part in answer["parts"]} == dict.fromkeys(
        (
            "all files",
            "cables",
            "racks",
            "links",
            "networks",
            "power feeds",
            "loss of a feed",
            "NetBox",
            "bill",
            "pages",
            "addresses",
            "words and keys",
            "Slurm, line by line",
            "settings",
            "job script",
            "compute fabric",
            "storage network",
            "bill of materials",
            "cost workbook",
            "Slurm",
            "provisioning",
            "fixed settings",
            "provisioning, by its tools",
        ),
        PROVEN,
    )
    page = (documents.site / "proof.md").read_text()
    assert page.startswith("# Proof of the documents of train-gpt3-175b\n\n**Proven**.")
    assert write.onprem(BLUEPRINT, documents.root, NODES_36, force=False) == 0
    assert (documents.site / "proof.md").read_text() == page


def swap_ports(path: Path, one: str, other: str) -> None:
    """Exchange the far ends of two adapters' cables in a fabric file."""
    text = path.read_text()
    lines = text.splitlines()

    def of(device: str) -> tuple[str, int]:
        at = next(i for i, line in enumerate(lines) if line.startswith("Ca") and line.endswith(f'# "{device}"'))
        return re.findall(r'"(H-\w+)"', lines[at])[0], at + 1

    (a, a_line), (b, b_line) = of(one), of(other)
    lines[a_line], lines[b_line] = lines[b_line], lines[a_line]
    for index, line in enumerate(lines):
        if line.startswith("[") and index not in {a_line, b_line}:
            lines[index] = re.sub(r'"(H-\w+)"', lambda found: f'"{ {a: b, b: a}.get(found[1], found[1]) }"', line)
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("engines")
def test_two_swapped_rail_cables_of_one_node(documents: Documents) -> None:
    """OpenSM routes it happily; the rails, the plan and the cable list tell."""
    swap_ports(documents.site / "fabric.ibnetdiscover", "node001 1", "node001 2")
    compute, storage = prove_fabrics(documents)
    assert ids(compute) == {"FAB005", "FAB009"}
    assert storage.state == PROVEN
    assert ids(prove_cables(read_papers(documents))) == {"CAB003"}


@pytest.mark.usefixtures("engines")
def test_a_swapped_cable_of_the_storage_network(documents: Documents) -> None:
    """A node with its storage sides crossed reaches everything; the plan tells."""
    swap_ports(documents.site / "storage.ibnetdiscover", "node001 1", "node001 2")
    _, storage = prove_fabrics(documents)
    assert ids(storage) == {"FAB009"}


@pytest.mark.usefixtures("engines")
def test_a_fabric_file_that_nobody_can_read(documents: Documents) -> None:
    """The line is named; a cable with one end is no cable."""
    change(documents.site / "fabric.ibnetdiscover", "[1]\t", "(1)\t")
    change(documents.site / "storage.ibnetdiscover", "[1]\t", "[2]\t")
    compute, storage = prove_fabrics(documents)
    assert "fabric.ibnetdiscover:3:1: this is no line" in compute.findings[0].message
    assert "expected one that names it back" in storage.findings[0].message


def test_without_the_engine_the_plan_is_compared(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing engines are said, never passed over; what can be seen without them is still seen."""
    for module, name in ((fabrics, "missing_engine"), (workbooks, "missing_program"), (slurm, "missing_programs")):
        monkeypatch.setattr(module, name, lambda: "not installed: it")
    results = [*prove_fabrics(documents), *prove_workbooks(documents), prove_slurm(documents)]
    assert [(one.state, one.reason) for one in results if one] == [(SKIPPED, "not installed: it")] * 5
    assert prove_folder(documents.root, as_json=False, strict=False, quiet=True) == 0
    assert prove_folder(documents.root, as_json=False, strict=True, quiet=True) == 1
    swap_ports(documents.site / "fabric.ibnetdiscover", "node001 1", "node001 2")
    assert ids(*prove_fabrics(documents)) == {"FAB009"}


def test_faults_of_the_cable_list(documents: Documents) -> None:
    """A port with two cables, a device that stands elsewhere, a missing line."""
    path = documents.site / "cables.csv"
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace(",node001,1/2,", ",node001,1/1,")
    lines[3] = lines[3].replace(",A01,1,node001,", ",A01,2,node001,")
    path.write_text("\n".join(lines[:-1]) + "\n")
    assert ids(prove_cables(read_papers(documents))) == {"CAB001", "CAB002", "CAB003", "CAB004"}
    path.write_text("cable\n1\n")
    assert ids(prove_cables(read_papers(documents))) == {"CAB005"}


def edit_cell(path: Path, part: str, pattern: str, new: str) -> None:
    """Change the stored text of a sheet as a hex editor would: nothing else of the workbook changes."""
    with zipfile.ZipFile(path) as book:
        members = {name: book.read(name) for name in book.namelist()}
    text, count = re.subn(pattern, new, members[part].decode(), count=1)
    assert count == 1
    members[part] = text.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in members.items():
            book.writestr(name, content)


def test_a_wrong_cell_of_the_cable_workbook(documents: Documents) -> None:
    """A length typed over differs from the list; what is ticked off does not."""
    path = documents.site / "cables.xlsx"
    book = openpyxl.load_workbook(path)
    sheet = book["compute"]
    titles = [cell.value for cell in sheet[1]]
    sheet.cell(row=2, column=titles.index("laid") + 1, value="2026-12-01")
    book.save(path)
    assert "CAB013" not in ids(*prove_site(read_papers(documents)))
    sheet.cell(row=2, column=titles.index("length m") + 1, value=99)
    book.save(path)
    assert "CAB013" in ids(*prove_site(read_papers(documents)))


@pytest.mark.usefixtures("engines")
def test_wrong_cells_of_the_bill(documents: Documents) -> None:
    """One node more in the workbook: its amount and the sum differ from the plan, and from what the file shows."""
    path = documents.site / "bill_of_materials.xlsx"
    edit_cell(path, "xl/worksheets/sheet1.xml", r'(<c r="E2"[^>]*><v>)36(</v>)', r"\g<1>37\2")
    bill, cost = prove_workbooks(documents)
    assert ids(bill) == {"WBK001", "WBK002"}
    said = " ".join(finding.message for finding in bill.findings)
    assert "the quantity of line 1.0 (dgx-h100) is 37.00, the plan has 36.00" in said.replace("line 1 ", "line 1.0 ")
    assert "Bill of materials!H2 shows" in said
    assert cost.state == PROVEN


@pytest.mark.usefixtures("engines")
def test_a_formula_replaced_by_a_number(documents: Documents) -> None:
    """An amount typed over its formula no longer follows: the plan and the workbook's own checks tell."""
    path = documents.root / "tco" / "tco.xlsx"
    edit_cell(
        path, "xl/worksheets/sheet1.xml", r'(<c r="G14"[^>]*>)<f>[^<]*</f><v>([^<]*)</v>', r"\g<1><v>1000000.01</v>"
    )
    _, cost = prove_workbooks(documents)
    shown, planned = cost.findings
    assert (shown.id, planned.id) == ("WBK001", "WBK002")
    # The sheet of checks holds what the plan has: calculated again it no longer shows OK.
    assert "Summary!B17 shows OK, its formula gives BROKEN" in shown.message
    assert "horizon, USD of onprem is 1,000,000.01" in planned.message


@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize(
    ("file", "old", "new", "expected", "words"),
    [
        ("slurm.conf", "SelectType=", "SelectTyp=", {"SLM001"}, "SelectTyp"),
        ("slurm.conf", "Gres=gpu:h100:8", "Gres=gpu:h100:4", {"SLM002"}, "is refused"),
        ("slurm.conf", "node[001-036]", "node[001-037]", {"SLM004"}, "node037"),
        ("topology.conf", "node[033-036]", "node[033-035]", {"SLM004", "SLM005"}, "leaf switches of [3, 32] nodes"),
    ],
)
def test_faults_of_the_slurm_files(  # noqa: PLR0917 - a row of the table
    documents: Documents, file: str, old: str, new: str, expected: set[str], words: str
) -> None:
    """A wrong key, too few GPUs, a node too many, a node outside the topology."""
    change(documents.site / file, old, new, count=2)
    result = prove_slurm(documents)
    assert result is not None
    assert result.state == NOT_PROVEN
    assert expected <= ids(result)
    assert words in " ".join(finding.message for finding in result.findings)


@pytest.mark.usefixtures("engines")
def test_a_program_of_yours_is_not_run(documents: Documents) -> None:
    """A prolog of the site is no fault and is not started: the part is skipped with the line."""
    change(documents.site / "slurm.conf", "GresTypes=", "Prolog=/bin/true\nGresTypes=")
    result = prove_slurm(documents)
    assert result is not None
    assert (result.state, result.findings) == (SKIPPED, ())
    assert "Prolog makes the controller run or read something else" in result.reason


@pytest.mark.usefixtures("engines")
def test_racks_that_are_one_system(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """Slurm's nodes of GB200 NVL72 are the trays, 72 of 4 GPUs; a release that knows no blocks cannot say."""
    newer = assets.root() / "build" / "slurm" / "trixie"
    require_engine(working=(newer / "bin" / "slurmctld").exists(), reason="run tests/engines/slurm/install.sh")
    blueprint = tmp_path / "racks.yaml"
    blueprint.write_text(
        "name: racks\n"
        "workload: {kind: train, model: gpt3-175b, tokens: 300e9, sequence_length: 2048, global_batch: 1536}\n"
        "targets: {onprem: {system: gb200-nvl72, min_nodes: 4, max_nodes: 4}}\n"
        "site: {rack_power: 160 kW}\n"
    )
    write.onprem(blueprint, tmp_path / "site", None, force=False)
    folder = read_folder(tmp_path / "site")
    plugins = newer / "root" / "usr" / "lib" / "x86_64-linux-gnu" / "slurm-wlm"
    older = prove_slurm(folder)
    result = prove_slurm(folder, path=f"{newer / 'bin'}:/usr/bin:/bin", plugins=str(plugins))
    assert result is not None
    assert older is not None
    assert older.state == SKIPPED
    assert (result.state, result.findings) == (PROVEN, ())
    assert "takes a job on 72 nodes with 4 GPUs each, refuses 73 nodes and 5 GPUs" in result.facts


@pytest.mark.usefixtures("engines")
def test_more_gpus_than_planned(documents: Documents) -> None:
    """Nodes with a ninth GPU, in both files, start and run: only the plan tells."""
    change(documents.site / "slurm.conf", "Gres=gpu:h100:8", "Gres=gpu:h100:9")
    change(documents.site / "gres.conf", "nvidia[4-7]", "nvidia[4-8]")
    result = prove_slurm(documents)
    assert result is not None
    assert "a job on 9 GPUs of a node is taken, the plan has fewer" in {finding.message for finding in result.findings}


def test_files_that_are_not_well_formed(documents: Documents) -> None:
    """Each is named with the place in it; a cell that a spreadsheet would run is one of them."""
    change(documents.site / "racks.svg", "</svg>", "")
    change(documents.site / "racks.csv", "node001", "=cmd()")
    change(documents.site / "netbox" / "1-device-types" / "nvidia-qm9700.yaml", "model:", "model: [")
    change(documents.site / "launch" / "train.sbatch", "#!/usr/bin/env bash", "#!/usr/bin/env bash\nif")
    (documents.site / "bill_of_materials.xlsx").write_bytes(b"no archive")
    (documents.site / "bomb.svg").write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    said = [finding.message for finding in prove_files(documents).findings]
    assert len(said) == 6
    for file in ("racks.svg:", "racks.csv:2:1: a cell that", "qm9700.yaml:", "train.sbatch:", "materials.xlsx:"):
        assert any(file in message for message in said), file
    assert any("declares entities" in message for message in said)


def test_folders_that_are_not_ours(tmp_path: Path, documents: Documents) -> None:
    """No plan, a plan of another version, no documents on premises: each says what to do."""
    with pytest.raises(InputError, match=r"has no plan\.json"):
        read_folder(tmp_path)
    (documents.site / "bill_of_materials.csv").unlink()
    with pytest.raises(InputError, match="no documents of a cluster on premises"):
        read_folder(documents.root)
    change(documents.root / "plan.json", '"schema": 2', '"schema": 1')
    with pytest.raises(InputError, match="a plan of schema 1, of an older version"):
        read_folder(documents.root)


@pytest.fixture(scope="module")
def of_ethernet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a cluster whose fabrics are Ethernet."""
    folder = tmp_path_factory.mktemp("ethernet") / "site"
    write.onprem(BLUEPRINT, folder, [*NODES_36, "targets.onprem.fabric.kind=roce"], force=False)
    return folder


def test_ethernet_is_walked_without_an_engine(of_ethernet: Path, tmp_path: Path) -> None:
    """No subnet manager routes it: its ways of equal cost are walked; its cables are held against the plan."""
    shutil.copytree(of_ethernet, tmp_path / "site")
    documents = read_folder(tmp_path / "site")
    assert list(prove_fabrics(documents)) == []
    walked = {result.part: result for result in prove_site(read_papers(documents)) if result.engine == ETHERNET_ENGINE}
    assert {part: result.state for part, result in walked.items()} == {
        "compute fabric": PROVEN,
        "storage network": PROVEN,
    }
    assert "64 ways of equal cost from every leaf to every other one" in walked["compute fabric"].facts
    assert prove_cables(read_papers(documents)).state == PROVEN
    path = documents.site / "cables.csv"
    lines = path.read_text().splitlines()
    at = {
        line.split(",")[5] + " " + line.split(",")[6]: index for index, line in enumerate(lines) if ",node001," in line
    }
    one, other = (lines[at[f"node001 {port}"]].split(",") for port in ("1/1", "2/1"))
    # The far ends of two cables of one node are exchanged.
    lines[at["node001 1/1"]] = ",".join([*one[:7], *other[7:11], *one[11:]])
    lines[at["node001 2/1"]] = ",".join([*other[:7], *one[7:11], *other[11:]])
    path.write_text("\n".join(lines) + "\n")
    result = prove_cables(read_papers(documents))
    assert ids(result) == {"CAB003"}
    first = result.findings[0].message
    assert first.startswith("cables.csv:2: the link is ")
    assert first.endswith("plan.json joins these ports so")
