"""Slurm's four files for a cluster on premises."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.software.accelerators import DeviceFiles
from clusterwright.outputs.onprem.slurm.cluster import (
    ACCOUNTING_FILE,
    FILES,
    SlurmCluster,
    TopologySwitch,
    gpu_groups,
    host_list,
    slurm_texts,
)

GOLDEN = Path(__file__).parent / "golden" / "slurm"


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
    backup_host="mgmt-002",
    accounting_host="mgmt-002",
    state_folder="/shared/slurm/slurmctld",
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


@pytest.mark.parametrize("name", [*FILES, ACCOUNTING_FILE])
def test_files_of_a_four_unit_superpod_are_as_read(name: str) -> None:
    """The files of 127 DGX H100 in four units are those that were read line by line."""
    assert slurm_texts(POD)[name] == (GOLDEN / name).read_text()


def test_a_single_unit_has_one_switch_and_no_spine() -> None:
    """With one scalable unit the topology is one line."""
    text = slurm_texts(replace(POD, node_count=31, topology=units(31)))["topology.conf"]
    assert text.splitlines()[2:] == ["SwitchName=su1 Nodes=dgx[001-031]"]


def test_one_node_is_named_without_brackets() -> None:
    """A cluster of one node needs no list."""
    text = slurm_texts(replace(POD, node_count=1, topology=units(1)))["slurm.conf"]
    assert "\nNodeName=dgx001 " in text


def test_a_thousand_nodes_have_four_digits() -> None:
    """Numbers are as wide as the largest, so that names sort."""
    text = slurm_texts(replace(POD, node_count=1000, topology=units(1000)))["slurm.conf"]
    assert "\nNodeName=dgx[0001-1000] " in text


def test_accounting_is_written_only_with_its_daemon() -> None:
    """GPU accounting without slurmdbd would stop slurmctld, so both come together or not at all."""
    without, with_ = slurm_texts(replace(POD, accounting_host=None)), slurm_texts(POD)
    assert "AccountingStorageTRES" not in without["slurm.conf"]
    assert ACCOUNTING_FILE not in without
    assert "AccountingStorageHost=mgmt-002\nAccountingStorageTRES=gres/gpu\n" in with_["slurm.conf"]


def test_the_database_s_password_is_in_another_file() -> None:
    """slurmdbd.conf names the file that holds it, and says nothing of it."""
    lines = [line for line in slurm_texts(POD)[ACCOUNTING_FILE].splitlines() if not line.startswith("#")]
    assert "Include /etc/slurm/slurmdbd.password" in lines
    assert not any("StoragePass" in line for line in lines)


@given(st.sets(st.integers(min_value=1, max_value=9999), min_size=1))
def test_host_lists_expand_to_the_same_names(numbers: set[int]) -> None:
    """Compressing and expanding gives every name once, in order."""
    text = host_list("n", numbers, digits=4)
    body = text.removeprefix("n").removeprefix("[").removesuffix("]")
    expanded = []
    for span in body.split(","):
        first, _, last = span.partition("-")
        expanded += range(int(first), int(last or first) + 1)
    assert expanded == sorted(numbers)


@pytest.mark.parametrize(
    ("gpus", "sockets", "cores", "expected"),
    [
        (8, 2, 56, [("/dev/nvidia[0-3]", "0-55"), ("/dev/nvidia[4-7]", "56-111")]),
        (4, 2, 72, [("/dev/nvidia[0-1]", "0-71"), ("/dev/nvidia[2-3]", "72-143")]),
        (3, 2, 8, [("/dev/nvidia[0-2]", "0-15")]),
        (1, 1, 8, [("/dev/nvidia[0]", "0-7")]),
    ],
)
def test_gpus_are_shared_by_the_sockets(gpus: int, sockets: int, cores: int, expected: list[tuple[str, str]]) -> None:
    """Sockets get equal shares of the GPUs; where that is not possible all GPUs get all cores."""
    groups = gpu_groups(POD.devices, gpus=gpus, sockets=sockets, cores_per_socket=cores)
    assert [(group["files"], group["cores"]) for group in groups] == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"cluster_name": "Pod"},
        {"cluster_name": "pod\nInclude /etc/shadow"},
        {"partition": "gpu Nodes=ALL"},
        {"partition": "default"},
        {"host_prefix": "dgx1"},
        {"host_prefix": "dgx[1-9]"},
        {"controller_host": "head(10.0.0.1)"},
        {"controller_host": "$(reboot)"},
        {"accounting_host": "db host"},
        {"gres_type": "h100:8"},
        {"gpus_per_node": 0},
        {"memory_mib": -1},
    ],
)
def test_values_that_would_break_the_files_are_refused(changes: dict[str, object]) -> None:
    """A name with a space, a line break, a bracket or a shell character, or a count below one, is refused."""
    with pytest.raises(ValueError, match=r"\S"):
        replace(POD, **changes)


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (units(126), "exactly once"),
        ((TopologySwitch(name="su1", nodes=(*range(1, 128), 99)),), "exactly once"),
        (units(32, 32, 32, 31)[:-1], "one tree"),
        ((*units(32, 32, 32, 31), TopologySwitch(name="core", switches=("spine", "su9"))), "one tree"),
        ((*units(32, 32, 32, 31), TopologySwitch(name="core", switches=("spine", "su1"))), "one tree"),
        (
            (TopologySwitch(name="su1", nodes=tuple(range(1, 128))), TopologySwitch(name="su1", switches=("su1",))),
            "same",
        ),
        ((TopologySwitch(name="su1"),), "either nodes or switches"),
    ],
)
def test_topologies_that_slurm_only_warns_of_are_refused(topology: tuple[TopologySwitch, ...], message: str) -> None:
    """A missing or doubled node, a missing spine or child: slurmctld would start and only log a warning."""
    with pytest.raises(ValueError, match=message):
        replace(POD, topology=topology)
