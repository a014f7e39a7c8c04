"""The runbook of a cluster names its own machines, programs and figures."""

import re
from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.outputs.deliverables import onprem_files

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
SMALL = Path(__file__).parents[1] / "small.yaml"


@cache
def _files(*values: str, blueprint: Path = GPT3) -> dict[str, str]:
    plan = plan_of(blueprint, ["targets.onprem.system=dgx-h100", *values], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return {name: file.content.decode() for name, file in files.items() if not name.endswith(".xlsx")}


def test_it_is_of_its_scheduler_and_fabric() -> None:
    """Slurm on InfiniBand has no word of Kubernetes or of BGP, and the other way round."""
    slurm = _files()["runbook.md"]
    pods = _files("targets.onprem.scheduler=kubernetes", "targets.onprem.fabric.kind=roce")["runbook.md"]
    assert "kubectl" not in slurm
    assert "bgp" not in slurm
    assert "sminfo" in slurm
    assert "scontrol" not in pods
    assert "sminfo" not in pods
    assert "show bgp summary" in pods


def test_files_that_it_names_are_there() -> None:
    """Every file of the folder that the page speaks of was written, and it names the releases of software.md."""
    for values in ((), ("targets.onprem.scheduler=kubernetes", "targets.onprem.fabric.kind=roce")):
        files = _files(*values)
        page = files["runbook.md"]
        named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:md|csv|yml|yaml|ibnetdiscover))`", page))
        assert named
        assert {name for name in named if name not in files} <= {"queues.yaml"}
        driver = re.search(r"NVIDIA driver \| (\S+)", files["software.md"])
        assert driver is not None
        assert f"driver, now {driver[1]}" in page


def test_tables_have_as_many_cells_as_their_heads() -> None:
    """The page is read as tables, not as lines."""
    for values in ((), ("targets.onprem.scheduler=kubernetes",)):
        rows = [line for line in _files(*values)["runbook.md"].splitlines() if line.startswith("|")]
        width = 0
        for index, row in enumerate(rows):
            cells = row.replace("\\|", "").count("|")
            if index + 1 < len(rows) and set(rows[index + 1]) <= set("|-: "):
                width = cells
            assert cells == width, row


def _room(files: dict[str, str]) -> int:
    match = re.search(r"nodes, up to ([\d,]+) in the", files["runbook.md"])
    assert match is not None
    return int(match[1].replace(",", ""))


def test_nodes_fit_the_ports_that_fabric_csv_leaves() -> None:
    """One switch has room for as many nodes as its free ports serve; addresses stay when a fifth node comes."""
    one = ("targets.aws=null", "targets.onprem.min_nodes=4")
    four = _files("targets.onprem.max_nodes=4", *one, blueprint=SMALL)
    five = _files("targets.onprem.max_nodes=5", "reliability.spare_nodes=1", *one, blueprint=SMALL)
    header, row = (line.split(",") for line in four["fabric.csv"].splitlines()[:2])
    compute = dict(zip(header, row, strict=True))
    assert (compute["network"], compute["tier"], compute["switches"]) == ("compute", "leaf", "1")
    assert _room(four) == int(compute["ports_free"]) // 8 == 4
    assert _room(five) == 3
    before, after = (set(re.findall(r"^(?:node|mgmt-).*$", one["ip-plan.csv"], re.MULTILINE)) for one in (four, five))
    assert before < after


def test_a_subnet_manager_in_the_place_of_a_node_leaves_none() -> None:
    """Four units of 32 nodes have 127 places beside the manager's ports, and 128 where their leaves have one more."""
    fabric = size_fabric(nodes=100, rails=8, radix=64, management_ports=2)
    assert (fabric.places, fabric.nodes_that_fit) == (128, 127)
    fabric = size_fabric(nodes=100, rails=8, radix=64, management_ports=2, nodes_per_unit=31)
    assert (fabric.places, fabric.nodes_that_fit) == (124, 124)
