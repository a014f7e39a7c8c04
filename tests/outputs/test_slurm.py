"""Slurm's files of a plan's cluster on premises."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import MissingFactError
from clusterwright.facility.fabric.size import size_fabric
from clusterwright.outputs.onprem.slurm.configuration import slurm_cluster, slurm_files
from tests.stand_ins import stand_in

GOLDEN = Path(__file__).parent / "golden" / "slurm"


def plan_of(system: str, nodes: int) -> tuple[Any, Any]:
    """Return the parts of a plan and of its on-premises option that Slurm's files are made from."""
    fabric = size_fabric(nodes=nodes, rails=8, radix=64, management_ports=2)
    cluster = stand_in(name="pod", partition="gpu", host_prefix="dgx", tenants=())
    plan = stand_in(cluster=cluster, software_of=lambda _: None)
    facility = stand_in(system=system, fabric=fabric, inventory=stand_in(hosts_per_node=1))
    option = stand_in(target="onprem", nodes=nodes, facility=facility)
    return plan, option


def test_a_plan_becomes_the_same_files() -> None:
    """The catalogue's DGX H100 and the sized fabric of 127 nodes lead to the golden files."""
    plan, option = plan_of("dgx-h100", 127)
    files = slurm_files(plan, option, load_catalogue())
    golden = {file.name: file.read_bytes() for file in GOLDEN.iterdir()}
    assert {name: files[name].content for name in golden} == golden


def test_a_system_without_processor_facts_is_refused() -> None:
    """Unknown sockets or memory stop with what to add, instead of a node line that Slurm would drain."""
    plan, option = plan_of("dgx-h100", 4)
    catalogue = load_catalogue()
    unknown = replace(catalogue.systems["dgx-h100"], cpu_sockets=None)
    with pytest.raises(MissingFactError, match="processors"):
        slurm_cluster(plan, option, replace(catalogue, systems={"dgx-h100": unknown}))


def test_a_cloud_option_has_no_files_on_premises() -> None:
    """Asking for the files of a rented target is a mistake of the caller."""
    plan, _ = plan_of("dgx-h100", 4)
    with pytest.raises(ValueError, match="aws has no"):
        slurm_cluster(plan, stand_in(target="aws", facility=None), load_catalogue())
