"""The folder `provisioning/` of a site: from bare metal to machines that wait for their first job."""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence

from clusterwright import assets
from clusterwright.catalog.records import Accelerator, System
from clusterwright.catalog.software.accelerators import accelerator_software, alerts_of
from clusterwright.facility.cabling.addresses import IN_BAND, OUT_OF_BAND
from clusterwright.facility.fabric.networks import SIDES
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.inventory import Inventory
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.provisioning.inband_switches import host_bond, inband_documents
from clusterwright.outputs.onprem.provisioning.machines import (
    COMPUTE,
    CONTROL,
    LOGIN,
    Machine,
    machines_of,
    network_named,
    networks_of,
)
from clusterwright.outputs.onprem.provisioning.pod_addresses import gateways, pod_ports, routes_pods
from clusterwright.outputs.onprem.provisioning.switches import switch_documents
from clusterwright.outputs.tables import csv_text
from clusterwright.outputs.templates import render

FOLDER = "provisioning"
ROLES = (COMPUTE, CONTROL, LOGIN)
#: What every machine needs before the scripts of its role run.
_PACKAGES = {
    COMPUTE: ("chrony", "rsyslog", "ipmitool", "nvme-cli", "numactl", "pciutils", "prometheus-node-exporter"),
    CONTROL: ("chrony", "rsyslog", "ipmitool", "prometheus-node-exporter"),
    LOGIN: ("chrony", "rsyslog", "git", "prometheus-node-exporter"),
}
#: Kernel arguments by role: IOMMU without translation, cores that wake at once (SFT157, SFT158).
_ARGUMENTS = {
    COMPUTE: ("quiet", "iommu=pt", "processor.max_cstate=1", "intel_idle.max_cstate=1", "transparent_hugepage=madvise"),
    CONTROL: ("quiet",),
    LOGIN: ("quiet",),
}
#: Of them, those of processors of the x86 family; Arm's cores and IOMMU have no such arguments.
_X86_ARGUMENTS = ("iommu=pt", "processor.", "intel_idle.")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
#: Where time comes from until the site names its own.
_UPSTREAM = ("TIME-SERVER-1", "TIME-SERVER-2")


#: Figures of the node exporter about a host's fabric ports: the state, its value where a port is up, the rate, and the
#: labels that name a port (collectors infiniband and netclass, commit a7dcc3a0 of 2026-08-08). Verbs devices stay with
#: the host when their interfaces move into a pod; accelerators' own ports have none.
_VERBS = {
    "state": "node_infiniband_state_id",
    "up": 4,
    "rate": "node_infiniband_rate_bytes_per_second",
    "port": "instance, device, port",
}
_INTERFACES = {
    "state": "node_network_up",
    "up": 1,
    "rate": "node_network_speed_bytes",
    "port": "instance, device",
}
_PORTS_SEEN = defaultdict(lambda: _VERBS, HCCL=_INTERFACES)


def _table(name: str) -> list[dict[str, str]]:
    path = assets.root() / "templates" / "provisioning" / name
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def provisioning_documents(
    inventory: Inventory,
    tables: Mapping[str, str],
    *,
    cluster: str,
    scheduler: str,
    architecture: str,
    accelerator: Accelerator,
    system: System,
) -> dict[str, File]:
    """Return the files by path within the folder.

    Args:
        inventory: of the site.
        tables: texts of the tables of addresses, cables and uplinks, by name.
        cluster: its name.
        scheduler: `slurm` or `kubernetes`.
        architecture: of the hosts' processors, `x86_64` or `arm64`.
        accelerator: of the hosts.
        system: the hosts' type.
    """
    machines = machines_of(inventory, tables["dhcp-hosts.csv"], scheduler=scheduler)
    networks = networks_of(tables["ip-networks.csv"])
    inband, bmc = network_named(networks, IN_BAND), network_named(networks, OUT_OF_BAND)
    servers = [machine for machine in machines if machine.role != COMPUTE][:2]
    named = [server.name for server in servers]
    ports = dict.fromkeys(ROLES, SIDES) | {COMPUTE: inventory.inband_ports}
    of_vendor = accelerator_software(accelerator.vendor, accelerator.generation)
    fabric_rate = inventory.adapter_bytes_per_s(system)
    values = {
        "cluster": cluster,
        "machines": machines,
        "servers": named,
        "inband": inband,
        "bmc": bmc,
        "ethernet": inventory.compute_network == ETHERNET,
        "slurm": scheduler == "slurm",
        "first": machines[0].name,
        "exporter": of_vendor.exporter,
        "exporter_port": of_vendor.exporter_port,
        "alerts": alerts_of(accelerator.vendor, gpus=system.gpus // inventory.hosts_per_node),
        "ports_seen": _PORTS_SEEN[of_vendor.library],
        "fabric_ports": inventory.fabric_ports_seen(system),
        "fabric_rate": fabric_rate,
        "fabric_rate_text": f"{fabric_rate * 8 / 1e9:,.0f} Gb/s",
        "roles": ROLES,
        "server": named[0],
        "kernel_arguments": _arguments(architecture),
        "architecture": _ARCHITECTURES[architecture],
        "upstream": _UPSTREAM,
        "prefix": inband.prefix,
        "ports": {role: range(1, count + 1) for role, count in ports.items()},
        "bonds": {role: host_bond(count) for role, count in ports.items()},
    }
    files = {
        "README.md": render("provisioning", "README.md.j2", **values),
        "machines.csv": _machines_csv(machines),
        "warewulf/nodes.conf": render("provisioning", "nodes.conf.j2", **values),
        "services/chrony.conf": render("provisioning", "chrony.conf.j2", **values),
        "services/hosts": _hosts(machines),
        "services/prometheus.yml": render("provisioning", "prometheus.yml.j2", **values),
        "services/alerts.yml": render("provisioning", "alerts.yml.j2", **values),
        "firmware.csv": _firmware(accelerator.vendor, architecture),
        "kernel.csv": (assets.root() / "templates" / "provisioning" / "kernel.csv").read_text(encoding="utf-8"),
    }
    settings = _table("kernel.csv")
    for role in ROLES:
        files[f"cloud-init/{role}.yaml"] = render(
            "provisioning",
            "cloud_config.yaml.j2",
            cluster=cluster,
            role=role,
            time_servers=[server.address for server in servers],
            log_server=named[0],
            services=[of_vendor.service] if role == COMPUTE and of_vendor.service else [],
            packages=_PACKAGES[role],
            settings=[row for row in settings if row["role"] == role],
        )
    written = {name: text(content) for name, content in files.items()}
    for script in ("enlist.sh", "bond.sh"):
        content = text(render("provisioning", f"{script}.j2", **values)).content
        written[f"maas/{script}"] = File(content=content, executable=True)
    routed = routes_pods(inventory, system, vendor=accelerator.vendor, scheduler=scheduler)
    written |= switch_documents(
        inventory,
        tables["cables.csv"],
        networks,
        library=of_vendor.library,
        pod_gateways=gateways(pod_ports(tables["ip-plan.csv"])) if routed else {},
    )
    inband_files = inband_documents(inventory, tables, networks, machines)
    written |= {f"switches/{name}": file for name, file in inband_files.items()}
    return {f"{FOLDER}/{name}": file for name, file in written.items()}


def _arguments(architecture: str) -> dict[str, tuple[str, ...]]:
    if architecture == "x86_64":
        return _ARGUMENTS
    return {
        role: tuple(word for word in words if not word.startswith(_X86_ARGUMENTS)) for role, words in _ARGUMENTS.items()
    }


def _firmware(vendor: str, architecture: str) -> str:
    """Return firmware and settings with their checks: those of a vendor's accelerators and of these processors."""
    rows = [
        row
        for row in _table("firmware.csv")
        if row["vendor"] in {"", vendor} and row["processors"] in {"", architecture}
    ]
    header = [name for name in rows[0] if name not in {"vendor", "processors"}]
    return csv_text(header, ([row[name] for name in header] for row in rows))


def _machines_csv(machines: Sequence[Machine]) -> str:
    header = ("machine", "role", "mac_address", "address", "bmc_address", "second_mac_address")
    return csv_text(header, ((one.name, one.role, "", one.address, one.bmc_address, "") for one in machines))


def _hosts(machines: Sequence[Machine]) -> str:
    """Return names and addresses as /etc/hosts and dnsmasq read them: of machines, and of their BMCs."""
    lines = ["# Names of the site: for dnsmasq (addn-hosts) on the servers; NetBox has them too (../netbox)."]
    lines += [f"{one.address}\t{one.name}" for one in machines if one.address]
    lines += [f"{one.bmc_address}\t{one.name}-bmc" for one in machines if one.bmc_address]
    return "\n".join(lines)
