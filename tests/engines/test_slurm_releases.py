"""Files with NVLink domains, accepted by releases of Slurm that know blocks: those of newer suites of Debian."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from clusterwright import assets
from clusterwright.catalog.software.accelerators import DeviceFiles
from clusterwright.checks.prove.jobs.slurm import Controller, running
from clusterwright.outputs.onprem.slurm.cluster import SlurmCluster, TopologySwitch, slurm_texts

pytestmark = pytest.mark.engine

_BUILT = assets.root() / "build" / "slurm"
#: Eight racks of 18 trays.
RACKS = SlurmCluster(
    cluster_name="nvl",
    controller_host="mgmt-001",
    accounting_host="mgmt-002",
    host_prefix="node",
    node_count=144,
    sockets=2,
    cores_per_socket=72,
    threads_per_core=1,
    memory_mib=869_750,
    gpus_per_node=4,
    gres_type="gb200",
    devices=DeviceFiles(name="nvidia", first=0, step=1),
    partition="gpu",
    topology=(TopologySwitch(name="su1", nodes=tuple(range(1, 145))),),
    domain_nodes=18,
    version="24.11",
)


@pytest.fixture(scope="module", params=[("trixie", "24.11"), ("sid", "25.11")], ids=["trixie", "sid"])
def controller(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]
) -> Iterator[Controller]:
    """Return a newer slurmctld on the files that are written for its release."""
    suite, version = request.param
    programs = _BUILT / suite / "bin"
    if suite == "sid" and not (programs / "slurmctld").exists():
        # The newest release is another one from week to week, and on some days none can be unpacked.
        pytest.skip("run tests/engines/slurm/install.sh sid")
    require_engine(working=(programs / "slurmctld").exists(), reason="run tests/engines/slurm/install.sh")
    plugins = _BUILT / suite / "root" / "usr" / "lib" / "x86_64-linux-gnu" / "slurm-wlm"
    texts = slurm_texts(replace(RACKS, version=version))
    folder = tmp_path_factory.mktemp(suite)
    with running(texts, folder, path=f"{programs}:/usr/bin:/bin", plugins=str(plugins)) as started:
        yield started


def test_a_block_is_a_rack(controller: Controller) -> None:
    """The controller knows eight NVLink domains of 18 trays, and warns of nothing."""
    shown = controller.run("scontrol", "show", "topology").stdout
    blocks = [line.split()[2] for line in shown.splitlines() if line.startswith("BlockName=")]
    assert len(blocks) == 8
    assert blocks[:2] == ["Nodes=node[001-018]", "Nodes=node[019-036]"]
    assert not controller.suspicious()


@pytest.mark.parametrize(
    ("request_", "taken"),
    [
        (["--nodes=144", "--gres=gpu:gb200:4", "--exclusive"], True),
        (["--nodes=145"], False),
        (["--nodes=36", "--segment=18"], True),
        (["--nodes=1", "--gres=gpu:gb200:5"], False),
    ],
)
def test_what_fits_is_taken(controller: Controller, request_: list[str], *, taken: bool) -> None:
    """All trays with all GPUs, and two whole racks as segments, and no more."""
    assert (controller.submit(*request_).returncode == 0) == taken


def test_a_job_of_a_rack_stays_in_one(controller: Controller) -> None:
    """18 nodes are those of one block."""
    said = controller.submit("--nodes=18", "--exclusive").stderr
    first = [f"node[{start:03d}-{start + 17:03d}]" for start in range(1, 145, 18)]
    assert any(nodes in said for nodes in first), said


def test_older_releases_get_a_tree() -> None:
    """Ubuntu's 23.11 has no sizes of blocks: the fabric's tree is written for it."""
    texts = slurm_texts(replace(RACKS, version="23.11.4"))
    assert "TopologyPlugin=topology/tree" in texts["slurm.conf"]
    assert "SwitchName=su1" in texts["topology.conf"]
    assert "SwitchType" not in texts["slurm.conf"]
