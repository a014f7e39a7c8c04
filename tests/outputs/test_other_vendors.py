"""Sites with accelerators of AMD and of Intel: device files, services, figures and commands of their makers."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.catalog.software.accelerators import accelerator_software, alerts_of
from clusterwright.cli.written import write

_BLUEPRINT = """\
name: {vendor}-owned
workload: {{kind: train, model: llama-3-8b, tokens: 1e11, sequence_length: 4096, global_batch: 512}}
targets:
  onprem: {{system: {system}, min_nodes: 4, max_nodes: 4, node: {{power: 11 kW}}}}
site: {{power_price: 0.11 USD/kWh, pue: 1.4}}
"""
#: Devices of the second socket; exporter's port; a metric; the program that lists accelerators.
_MAKERS = {
    "mi300x-8gpu": ("/dev/dri/renderD[160,168,176,184]", 5000, "gpu_junction_temperature", "amd-smi"),
    "gaudi3-8gpu": ("/dev/accel/accel[4-7]", 41611, "habanalabs_temperature_onchip", "hl-smi"),
}
#: Words of NVIDIA's software, which these nodes do not have.
_NVIDIA = re.compile(r"nvidia-(smi|persistenced|imex)|dcgm|DCGM|/dev/nvidia|nvfwupd", re.IGNORECASE)


@pytest.fixture(scope="module", params=_MAKERS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return a system and the folder of its cluster with Slurm."""
    folder = tmp_path_factory.mktemp("vendor")
    system = str(request.param)
    blueprint = folder / "blueprint.yaml"
    blueprint.write_text(_BLUEPRINT.format(vendor=system.split("-", maxsplit=1)[0], system=system))
    assert write.onprem(blueprint, folder / "site", None, force=False) == 0
    return system, folder / "site"


def test_devices_figures_and_commands_are_the_makers(site: tuple[str, Path]) -> None:
    """gres.conf, the monitoring and the acceptance test name the maker's own."""
    system, folder = site
    devices, port, metric, program = _MAKERS[system]
    assert f"File={devices} Cores=" in (folder / "gres.conf").read_text()
    assert f"node001:{port}" in (folder / "provisioning" / "services" / "prometheus.yml").read_text()
    alerts = (folder / "provisioning" / "services" / "alerts.yml").read_text()
    assert metric in alerts
    assert "< 8\n" in alerts
    assert f"| 5.1 | `{program} " in (folder / "acceptance.md").read_text()


@pytest.mark.parametrize(
    "name",
    [
        "acceptance.md",
        "checklist.md",
        "runbook.md",
        "gres.conf",
        "provisioning/firmware.csv",
        "provisioning/services/alerts.yml",
        "provisioning/cloud-init/compute.yaml",
    ],
)
def test_nothing_asks_nvidias_software(site: tuple[str, Path], name: str) -> None:
    """No command, service or metric of NVIDIA's is asked of these nodes."""
    assert _NVIDIA.findall((site[1] / name).read_text()) == []


def test_a_job_that_is_not_written_is_not_submitted(site: tuple[str, Path]) -> None:
    """Megatron-LM is written for NVIDIA's accelerators alone: the acceptance test asks for the run's own job."""
    assert not (site[1] / "launch" / "train.sbatch").exists()
    said = (site[1] / "acceptance.md").read_text()
    assert "the run's own job in the plan's layout without data for 24 h" in said
    assert "submit.sh" not in said


@pytest.mark.parametrize("lost", [None, 3])
def test_the_check_counts_the_devices_of_the_node(site: tuple[str, Path], tmp_path: Path, lost: int | None) -> None:
    """A node with all its devices is fit; where one is away, the check says how many there are."""
    system, folder = site
    accelerator = load().accelerators[load().systems[system].accelerator]
    devices = accelerator_software(accelerator.vendor, accelerator.generation).devices
    for index in range(8):
        path = tmp_path / "dev" / f"{devices.name}{devices.first + index * devices.step}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if index != lost:
            path.touch()
    # Files of partitions are there whether or not the GPU is.
    (tmp_path / "dev" / f"{devices.name}{devices.first + 8 * devices.step + 1}").touch()
    environment = {
        "PATH": os.environ["PATH"],
        "CLUSTER_PATH": os.environ["PATH"],
        "CLUSTER_NODE_ENV": str(folder / "node" / "node.env"),
        "CLUSTER_DEVICES": str(tmp_path / "dev"),
        "CLUSTER_SYSFS": str(tmp_path),
    }
    script = assets.root() / "templates" / "slurm" / "node_check.sh"
    done = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert ("7 accelerators, 8 planned" in done.stderr) == (lost is not None)


def test_every_vendor_of_a_system_is_known() -> None:
    """Each system's accelerators have software and alerts, one of them for a lost accelerator."""
    catalogue = load()
    for system in catalogue.systems.values():
        accelerator = catalogue.accelerators[system.accelerator]
        assert accelerator_software(accelerator.vendor, accelerator.generation).listing
        alerts = alerts_of(accelerator.vendor, gpus=8)
        assert [one.expression.endswith("< 8") for one in alerts if one.name == "GpuLost"] == [True]
