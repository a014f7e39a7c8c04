"""Files that bring machines up, and what their proof finds when one of them is wrong."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.site.provisioning import prove_provisioning, prove_tools
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.folder import text
from clusterwright.plan.document import dumps

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
ASKED = [
    "targets.onprem.system=dgx-h100",
    "targets.onprem.min_nodes=32",
    "targets.onprem.max_nodes=32",
    "targets.onprem.fabric.kind=roce",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the documents of 32 nodes on RoCE."""
    plan = plan_of(GPT3, ASKED, "onprem")
    files = onprem_files(plan, plan.options[0], load()) | {"plan.json": text(dumps(plan))}
    folder = tmp_path_factory.mktemp("site")
    for name, file in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    return folder


def rules(folder: Path) -> list[str | None]:
    """Return what the proof finds."""
    papers = read_papers(read_folder(folder))
    results = [result for result in (prove_provisioning(papers), prove_tools(papers)) if result is not None]
    return [finding.id for result in results for finding in result.findings]


def test_every_machine_is_installed(written: Path) -> None:
    """36 machines with two addresses each; Warewulf has the same, MACs are to come."""
    rows = (written / "provisioning" / "machines.csv").read_text().splitlines()
    assert rows[0] == "machine,role,mac_address,address,bmc_address"
    assert rows[1].startswith("node001,compute,,10.64.2.16,10.64.0.")
    document = YAML(typ="safe").load((written / "provisioning" / "warewulf" / "nodes.conf").read_text())
    assert list(document["nodes"]) == [row.split(",")[0] for row in rows[1:]]
    assert document["nodes"]["node001"]["profiles"] == ["default", "compute"]
    assert "iommu=pt" in document["nodeprofiles"]["compute"]["kernel"]["args"]


def test_switches_route_over_every_trunk(written: Path) -> None:
    """A leaf has a neighbour on each trunk and its own network; switches at the top share a number."""
    folder = written / "provisioning" / "switches"
    leaf = (folder / "frr" / "leaf-01-1.conf").read_text()
    spines = [path.read_text() for path in sorted((folder / "frr").glob("spine-*.conf"))]
    cables = (written / "cables.csv").read_text().splitlines()
    trunks = sum(",leaf-spine," in row and ",leaf-01-1," in row for row in cables)
    assert leaf.count(" interface peer-group fabric") == trunks > 0
    networks = (written / "ip-networks.csv").read_text().splitlines()
    own = next(row for row in networks if row.startswith("compute leaf-01-1,")).split(",")[3]
    assert f"permit {own}" in leaf
    assert len({line for text_ in spines for line in text_.splitlines() if line.startswith("router bgp")}) == 1
    nvue = (folder / "nvue" / "leaf-01-1.txt").read_text().splitlines()
    assert {"nv set qos roce mode lossless", "nv set router adaptive-routing enable on"} <= set(nvue)


def test_the_proof_finds_nothing_in_what_was_written(written: Path) -> None:
    """Every file agrees with the plan, and with its own tool where that is installed."""
    assert rules(written) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        ("machines.csv", "node002,compute,,10.64.2.17", "node002,compute,,10.64.2.18", "PRV001"),
        ("machines.csv", "node003,compute", "node033,compute", "PRV001"),
        ("machines.csv", "node001,compute,,", "node001,compute,aa:bb:cc,", "PRV002"),
        ("warewulf/nodes.conf", "ipaddr: 10.64.2.17", "ipaddr: 10.64.2.117", "PRV003"),
        ("warewulf/nodes.conf", "nodeprofiles:", "node_profiles:", "PRV003"),
        ("switches/frr/leaf-01-1.conf", " neighbor swp33s0 interface peer-group fabric\n", "", "PRV004"),
        ("switches/frr/leaf-01-2.conf", "router bgp 4200000002", "router bgp 4200000001", "PRV004"),
    ],
)
def test_a_fault_in_one_file_is_found(  # noqa: PLR0917 - in the order of the table
    written: Path, tmp_path: Path, file: str, old: str, new: str, rule: str
) -> None:
    """Each kind of fault has its rule."""
    folder = tmp_path / "site"
    shutil.copytree(written, folder)
    path = folder / "provisioning" / file
    said = path.read_text()
    assert old in said
    path.write_text(said.replace(old, new, 1))
    assert rule in rules(folder)


@pytest.mark.parametrize(
    ("program", "file", "old", "new"),
    [
        ("cloud-init", "cloud-init/compute.yaml", "ssh_pwauth: false", "ssh_pwauth: [1]"),
        ("promtool", "services/alerts.yml", "expr: DCGM_FI_DEV_GPU_TEMP > 87", "expr: DCGM_FI_DEV_GPU_TEMP >> 87"),
        ("vtysh", "switches/frr/spine-001.conf", " maximum-paths 128", " maximum-ways 128"),
    ],
)
def test_a_tool_refuses_what_it_cannot_read(  # noqa: PLR0917 - in the order of the table
    written: Path, tmp_path: Path, require_engine: Callable[..., None], program: str, file: str, old: str, new: str
) -> None:
    """cloud-init, promtool and FRR's shell are asked about their own files."""
    require_engine(program)
    folder = tmp_path / "site"
    shutil.copytree(written, folder)
    path = folder / "provisioning" / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert "PRV005" in rules(folder)


def test_maas_is_asked_for_no_machine_without_a_mac(written: Path, tmp_path: Path) -> None:
    """The script says how many are missing, and enlists none; with MACs it enlists each that is not known."""
    calls, programs = tmp_path / "calls", tmp_path / "bin"
    programs.mkdir()
    known = """[ "$3" != read ] || echo '"hostname": "node001"'"""
    (programs / "maas").write_text(f'#!/bin/bash\necho "$*" >>{calls}\n{known}\n')
    (programs / "maas").chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "MAAS_BMC_USER": "admin", "MAAS_BMC_PASSWORD": "x"}
    script, table = written / "provisioning" / "maas" / "enlist.sh", tmp_path / "machines.csv"

    def run() -> subprocess.CompletedProcess[str]:
        command = ["bash", str(script), "site", str(table)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    table.write_text("machine,role,mac_address,address,bmc_address\nnode001,compute,,10.0.0.1,10.0.1.1\n")
    done = run()
    assert (done.returncode, "1 machines" in done.stderr) == (2, True)
    assert not calls.exists()
    rows = "node001,compute,aa:bb:cc:dd:ee:01,10.0.0.1,10.0.1.1\nnode002,compute,aa:bb:cc:dd:ee:02,10.0.0.2,10.0.1.2\n"
    table.write_text(f"machine,role,mac_address,address,bmc_address\n{rows}")
    assert run().returncode == 0
    created = [line for line in calls.read_text().splitlines() if "machines create" in line]
    assert len(created) == 1
    assert "hostname=node002 architecture=amd64/generic mac_addresses=aa:bb:cc:dd:ee:02" in created[0]
