"""The runbook of a cluster names its own machines, programs and figures."""

import re
from functools import cache

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


@cache
def _files(*values: str) -> dict[str, str]:
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100", *values], "onprem")
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
