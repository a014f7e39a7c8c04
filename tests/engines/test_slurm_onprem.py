"""The rendered on-premises files, accepted by a real slurmctld that knows every node but needs none."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.software.accelerators import DeviceFiles
from clusterwright.checks.prove.jobs.slurm import Controller, running
from clusterwright.facility.fabric.hop_groups import hop_groups
from clusterwright.facility.fabric.system import fabric_of_system
from clusterwright.outputs.onprem.slurm.cluster import (
    DividedNodes,
    SlurmCluster,
    TopologySwitch,
    slurm_texts,
    topology_of,
)

pytestmark = pytest.mark.engine


def units(*sizes: int) -> tuple[TopologySwitch, ...]:
    """Return the topology of scalable units of these sizes below one spine."""
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    leaves = tuple(
        TopologySwitch(name=f"su{number}", nodes=tuple(range(start + 1, start + size + 1)))
        for number, (start, size) in enumerate(zip(starts, sizes, strict=True), start=1)
    )
    names = tuple(leaf.name for leaf in leaves)
    return leaves if len(leaves) == 1 else (*leaves, TopologySwitch(name="spine", switches=names, hops=3))


POD = SlurmCluster(
    cluster_name="pod",
    controller_host="mgmt-001",
    host_prefix="dgx",
    node_count=127,
    sockets=2,
    cores_per_socket=56,
    threads_per_core=2,
    memory_mib=1_811_981,
    gpus_per_node=8,
    gres_type="h100",
    devices=DeviceFiles(name="nvidia", first=0, step=1),
    partition="gpu",
    topology=units(32, 32, 32, 31),
)


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]) -> Iterator[Controller]:
    """Return slurmctld on the files of 127 nodes in four units."""
    require_engine("slurmctld", "sbatch", "scontrol", "ss")
    with running(slurm_texts(POD), tmp_path_factory.mktemp("pod")) as started:
        yield started


def test_the_controller_listens_on_loopback_only(controller: Controller) -> None:
    """A proof opens nothing to the network."""
    port = re.search(r"SlurmctldPort=(\d+)", (controller.folder / "slurm.conf").read_text())
    assert port is not None
    listening = controller.run("ss", "-ltnH", f"sport = :{port[1]}").stdout.splitlines()
    assert [line.split()[3] for line in listening] == [f"127.0.0.1:{port[1]}"]


def test_all_nodes_with_all_gpus_are_accepted(controller: Controller) -> None:
    """A job on every node with eight GPUs each can run; its processors are those of 127 nodes."""
    result = controller.submit("--nodes=127", "--gres=gpu:h100:8", "--exclusive")
    assert result.returncode == 0, result.stderr
    assert f"using {127 * 224} processors" in result.stderr
    assert "nodes dgx[001-127]" in result.stderr


@pytest.mark.parametrize(
    "request_",
    [
        ["--nodes=128"],
        ["--nodes=1", "--gres=gpu:h100:9"],
        ["--nodes=1", "--gres=gpu:a100:1"],
        ["--nodes=1", "--mem=1811982M"],
        ["--nodes=1", "--ntasks=225", "--ntasks-per-node=225"],
    ],
)
def test_more_than_the_cluster_has_is_refused(controller: Controller, request_: list[str]) -> None:
    """One node, GPU, MiB or processor more than there is, or a GPU of another type, is refused."""
    assert controller.submit(*request_).returncode != 0


def test_all_memory_of_a_node_can_be_asked_for(controller: Controller) -> None:
    """The memory in the node line is what a job may have, to the MiB."""
    assert controller.submit("--nodes=1", "--mem=1811981M").returncode == 0


def test_the_topology_is_the_one_that_was_written(controller: Controller) -> None:
    """Slurm shows four units below one spine, with the nodes of each."""
    lines = controller.run("scontrol", "show", "topology").stdout.splitlines()
    shown = [re.sub(r" LinkSpeed=\d+", "", line).split() for line in lines]
    assert shown == [
        ["SwitchName=su1", "Level=0", "Nodes=dgx[001-032]"],
        ["SwitchName=su2", "Level=0", "Nodes=dgx[033-064]"],
        ["SwitchName=su3", "Level=0", "Nodes=dgx[065-096]"],
        ["SwitchName=su4", "Level=0", "Nodes=dgx[097-127]"],
        ["SwitchName=spine", "Level=1", "Nodes=dgx[001-127]", "Switches=su1,su2,su3,su4"],
    ]


def test_a_job_of_one_unit_stays_in_one_unit(controller: Controller) -> None:
    """Thirty-two nodes are offered as one whole unit, which is why the topology is written at all."""
    offered = controller.submit("--nodes=32", "--exclusive").stderr
    assert re.search(r"nodes dgx\[(001-032|033-064|065-096)\]", offered), offered


def test_slurmctld_neither_warns_nor_corrects(controller: Controller) -> None:
    """The log has no topology warning, no reset of processors, and no error but the known harmless ones."""
    assert controller.suspicious() == []


def test_the_log_check_sees_a_wrong_topology(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """A node missing from topology.conf leaves slurmctld up; only the log tells, and the check sees it."""
    require_engine("slurmctld")
    texts = slurm_texts(POD)
    texts["topology.conf"] = texts["topology.conf"].replace("dgx[097-127]", "dgx[097-126]")
    with running(texts, tmp_path) as started:
        assert any("WARNING" in line and "dgx127" in line for line in started.log)


def test_files_of_a_single_node_are_accepted(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """The smallest cluster, one node below one switch, starts too."""
    require_engine("slurmctld")
    single = replace(POD, node_count=1, topology=units(1))
    with running(slurm_texts(single), tmp_path) as started:
        assert started.submit("--nodes=1", "--gres=gpu:h100:8").returncode == 0
        assert started.submit("--nodes=2").returncode != 0


def test_slices_are_given_out_beside_whole_gpus(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """Seven nodes of 127 have slices: all of them are had, none more, and no job for a GPU gets a slice."""
    require_engine("slurmctld")
    divided = DividedNodes(
        nodes=7,
        instances=(("4g.40gb", 8), ("3g.40gb", 8)),
        shares=(("4g.40gb", 4 / 7), ("3g.40gb", 0.5)),
    )
    with running(slurm_texts(replace(POD, accounting_host="mgmt-002", divided=divided)), tmp_path) as started:
        slices = "--partition=slices"
        assert started.submit(slices, "--nodes=7", "--gres=gpu:4g.40gb:8,gpu:3g.40gb:8").returncode == 0
        for request in (
            (slices, "--nodes=1", "--gres=gpu:3g.40gb:9"),
            (slices, "--nodes=8", "--gres=gpu:3g.40gb:1"),
            (slices, "--nodes=1", "--gres=gpu:1g.10gb:1"),
            (slices, "--nodes=1", "--gres=gpu:h100:1"),
            ("--nodes=1", "--gres=gpu:3g.40gb:1"),
            ("--nodes=121", "--gres=gpu:1"),
        ):
            assert started.submit(*request).returncode != 0, request
        assert "nodes dgx[001-120]" in started.submit("--nodes=120", "--gres=gpu:8", "--exclusive").stderr
        assert started.suspicious() == []


def test_whole_racks_are_leaf_switches_in_units(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """16 GB200 NVL72 are 16 switches of 18 trays in two units below the core, and a job of one domain stays in one."""
    require_engine("slurmctld", "scontrol")
    catalogue = load()
    fabric = fabric_of_system(
        system=lookup.system(catalogue, "gb200-nvl72"), switch=lookup.switch(catalogue, "qm9700"), units=2
    ).fabric
    trays = replace(POD, node_count=288, gpus_per_node=4, topology=topology_of(hop_groups(fabric, hosts_per_node=18)))
    with running(slurm_texts(trays), tmp_path) as started:
        shown = started.run("scontrol", "show", "topology").stdout
        assert len(re.findall(r"SwitchName=nvl\d+ Level=0 ", shown)) == 16
        assert len(re.findall(r"SwitchName=su\d Level=1 ", shown)) == 2
        assert "SwitchName=core Level=2 " in shown
        assert started.submit("--nodes=18", "--switches=1", "--gres=gpu:h100:4").returncode == 0
        assert started.suspicious() == []


def test_a_backup_takes_over_the_queue(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """The files name two controllers and one queue; a slurmctld that is started on that queue has the other's jobs.

    Both daemons are the same one here, one after the other: a machine has one host name.
    """
    require_engine("slurmctld", "sbatch", "squeue", "scontrol")
    pair = replace(POD, backup_host="mgmt-002", state_folder="/shared/slurm/slurmctld")
    texts = slurm_texts(pair)
    said = [line for line in texts["slurm.conf"].splitlines() if line.startswith(("SlurmctldHost=", "StateSave"))]
    assert said == ["SlurmctldHost=mgmt-001", "SlurmctldHost=mgmt-002", "StateSaveLocation=/shared/slurm/slurmctld"]
    with running(texts, tmp_path) as first:
        assert first.run("sbatch", "--hold", "--nodes=4", "--wrap=true", "--job-name=kept").returncode == 0
    with running(texts, tmp_path) as backup:
        assert "kept" in backup.run("squeue", "--noheader", "--format=%j").stdout
