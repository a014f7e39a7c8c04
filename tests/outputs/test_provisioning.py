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
    """Return what the proof finds by itself."""
    return [finding.id for finding in prove_provisioning(read_papers(read_folder(folder))).findings]


def rules_of_tools(folder: Path) -> list[str | None]:
    """Return what cloud-init, promtool and FRR find, which takes seconds."""
    result = prove_tools(read_papers(read_folder(folder)))
    return [] if result is None else [finding.id for finding in result.findings]


def test_every_machine_is_installed(written: Path) -> None:
    """36 machines with two addresses each; Warewulf has the same, MACs are to come."""
    rows = (written / "provisioning" / "machines.csv").read_text().splitlines()
    assert rows[0] == "machine,role,mac_address,address,bmc_address,second_mac_address"
    assert rows[1].startswith("node001,compute,,10.64.2.16,10.64.0.")
    document = YAML(typ="safe").load((written / "provisioning" / "warewulf" / "nodes.conf").read_text())
    assert list(document["nodes"]) == [row.split(",")[0] for row in rows[1:]]
    assert document["nodes"]["node001"]["profiles"] == ["default", "compute"]
    compute = document["nodeprofiles"]["compute"]
    assert "iommu=pt" in compute["kernel"]["args"]
    bond = {"mode": "802.3ad", "xmit_hash_policy": "layer3+4", "lacp_rate": "fast"}
    assert compute["network devices"]["default"]["tags"] == bond
    assert [compute["network devices"][port]["tags"] for port in ("port1", "port2")] == [{"master": "bond0"}] * 2


def test_comments_of_the_subnet_manager_stand_above_what_they_describe() -> None:
    """Partitions are explained as partitions; no line speaks of sizes of packets above a setting of another kind."""
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100"], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    lines = files["provisioning/opensm/compute.conf"].content.decode().splitlines()
    above = lines[lines.index("partition_config_file /etc/opensm/partitions.conf") - 1]
    assert "Which ports see each other" in above
    assert not any("Larger packets" in line for line in lines)


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
    assert rules(written) + rules_of_tools(written) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        ("machines.csv", "node002,compute,,10.64.2.17", "node002,compute,,10.64.2.18", "PRV001"),
        ("machines.csv", "node003,compute", "node033,compute", "PRV001"),
        ("machines.csv", "node001,compute,,", "node001,compute,aa:bb:cc,", "PRV002"),
        ("warewulf/nodes.conf", "ipaddr: 10.64.2.17", "ipaddr: 10.64.2.117", "PRV003"),
        ("warewulf/nodes.conf", "nodeprofiles:", "node_profiles:", "PRV003"),
        ("services/alerts.yml", ">= bool 50000000000", ">= bool 25000000000", "PRV008"),
        ("services/alerts.yml", "* 0) < 10", "* 0) < 9", "PRV008"),
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
    assert "PRV005" in rules_of_tools(folder)


#: Ports of two hosts for twenty minutes: one goes down in one, and the other one shows none at all.
_PORTS = """
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="machine", role="compute", instance="one"}', values: 1x20}
      - {series: 'up{job="machine", role="compute", instance="two"}', values: 1x20}
      - {series: 'up{job="machine", role="control", instance="mgmt"}', values: 1x20}
      - {series: 'node_infiniband_state_id{role="compute", instance="one", device="mlx5_0", port="1"}',
         values: 4x9 1x10}
      - {series: 'node_infiniband_rate_bytes_per_second{role="compute", instance="one", device="mlx5_0", port="1"}',
         values: 5e10x20}
      - {series: 'node_infiniband_symbol_error_total{role="compute", instance="one", device="mlx5_0", port="1"}',
         values: 0+60x60}
    alert_rule_test:
      - {eval_time: 9m, alertname: FabricPortsMissing, exp_alerts: [
          {exp_labels: {instance: one, severity: ticket},
           exp_annotations: {summary: one has 1 of 10 fabric ports at 400 Gb/s}},
          {exp_labels: {instance: two, severity: ticket},
           exp_annotations: {summary: two has 0 of 10 fabric ports at 400 Gb/s}}]}
      - {eval_time: 15m, alertname: FabricPortDown, exp_alerts: [
          {exp_labels: {role: compute, instance: one, device: mlx5_0, port: "1", severity: ticket},
           exp_annotations: {summary: mlx5_0 of one was up today and is down}}]}
      - {eval_time: 50m, alertname: LinkErrors, exp_alerts: [
          {exp_labels: {role: compute, instance: one, device: mlx5_0, port: "1", severity: ticket},
           exp_annotations: {summary: "mlx5_0 of one: clean or replace the cable"}}]}
"""


def test_alerts_call_for_ports_that_are_down_or_gone(
    written: Path, tmp_path: Path, require_engine: Callable[..., None]
) -> None:
    """A port that is down, one that is missing, and errors of which one kind alone is counted each call somebody."""
    require_engine("promtool")
    shutil.copy(written / "provisioning" / "services" / "alerts.yml", tmp_path)
    (tmp_path / "ports.yml").write_text(_PORTS)
    done = subprocess.run(
        ["promtool", "test", "rules", str(tmp_path / "ports.yml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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


def commands(folder: Path, switch: str) -> list[str]:
    """Return the commands of a switch."""
    return (folder / "provisioning" / "switches" / "nvue" / f"{switch}.txt").read_text().splitlines()


def test_a_machine_has_one_segment_on_both_leaves(written: Path) -> None:
    """The two leaves give each machine one number; two that are joined directly stay up without any uplink."""
    numbers = [
        {line for line in commands(written, leaf) if " description " in line or "segment local-id" in line}
        for leaf in ("eth-leaf-01a", "eth-leaf-01b")
    ]
    assert numbers[0] == numbers[1]
    assert len({line.split()[-1] for line in numbers[0] if "local-id" in line}) == len(numbers[0]) // 2 > 32
    assert not any("multihoming uplink" in line for line in commands(written, "eth-leaf-01a"))
    assert "nv set interface vlan101 ip vrr address 10.64.2.1/25" in commands(written, "eth-leaf-01b")


def test_leaves_below_others_are_left_without_uplinks() -> None:
    """With switches above, a leaf that loses every trunk takes its machines' ports down, and no leaf is a peer's."""
    wanted = ["targets.onprem.system=dgx-h100", "targets.onprem.min_nodes=128", "targets.onprem.max_nodes=128"]
    plan = plan_of(GPT3, wanted, "onprem")
    files = onprem_files(plan, plan.options[0], load())
    leaf = files["provisioning/switches/nvue/eth-leaf-01a.txt"].content.decode()
    trunks = {row.split(",")[6] for row in files["cables.csv"].content.decode().splitlines() if ",eth-leaf-01a," in row}
    assert trunks
    assert "evpn multihoming uplink on" in leaf
    routing = files["provisioning/switches/frr/eth-leaf-01a.conf"].content.decode()
    assert routing.count(" evpn mh uplink") == routing.count(" interface peer-group fabric") > 0
    above = files["provisioning/switches/nvue/eth-agg-01a.txt"].content.decode()
    assert "vxlan" not in above
    assert "address-family l2vpn-evpn enable on" in above


_LEAF, _BORDER, _MANAGEMENT = "nvue/eth-leaf-01a.txt", "nvue/border-01.txt", "nvue/oob-01.txt"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (_LEAF, "bond3 bond member swp3\n", "bond3 bond member swp4\n"),
        (_LEAF, "bond3 bridge domain br_default access 101", "bond3 bridge domain br_default access 100"),
        (_LEAF, "bond3 evpn multihoming segment local-id 3\n", "bond3 evpn multihoming segment local-id 4\n"),
        (_LEAF, "segment mac-address 02:00:5e:00:00:01", "segment mac-address 02:00:5e:00:00:02"),
        (_LEAF, " bond mode lacp", " bond mode static"),
        (_LEAF, " bond lacp-bypass on", " bond lacp-bypass off"),
        (_LEAF, " stp bpdu-guard on", " stp bpdu-guard off"),
        (_LEAF, "vlan101 ip vrr address 10.64.2.1/25", "vlan101 ip vrr address 10.64.2.11/25"),
        (_LEAF, "vlan101 ip vrr mac-address 00:00:5e:00:01:01", "vlan101 ip vrr mac-address 00:00:5e:00:01:02"),
        (_LEAF, "vlan101 ip address 10.64.2.2/25", "vlan101 ip address 10.64.2.20/25"),
        (_LEAF, "vlan 101 vni 101", "vlan 101 vni 100"),
        (_LEAF, "vlan101 acl hosts inbound\n", "vlan101 acl hosts outbound\n"),
        (_LEAF, "acl hosts rule 10 match ip source-ip 10.64.2.", "acl hosts rule 10 match ip source-ip 10.64.3."),
        (_LEAF, "acl management rule 50 action deny", "acl management rule 50 action permit"),
        (_LEAF, "dhcp-relay default server 10.64.2.", "dhcp-relay default server 10.64.3."),
        (_LEAF, "dhcp-relay default interface vlan100\n", "dhcp-relay default interface vlan102\n"),
        (_LEAF, "nve vxlan source address 100.65.0.1", "nve vxlan source address 100.65.0.2"),
        (_LEAF, "autonomous-system 4200100001", "autonomous-system 4200100002"),
        (_LEAF, "swp49-52 link mtu 9216", "swp49-52 link mtu 1500"),
        (_LEAF, "rule 20 match 10.64.2.0/25", "rule 20 match 10.64.0.0/23"),
        (_LEAF, "neighbor swp49 peer-group fabric\n", "neighbor swp49 peer-group fabrics\n"),
        (_LEAF, "peer-group fabric address-family l2vpn-evpn enable on", "peer-group fabric bfd enable off"),
        (_BORDER, "static 0.0.0.0/0 via 10.64.2.129", "static 0.0.0.0/0 via 10.64.2.130"),
        (_BORDER, "vlan102 ip address 10.64.2.130/28", "vlan102 ip address 10.64.2.131/28"),
        (_BORDER, "redistribute static enable on", "redistribute static enable off"),
        (_BORDER, "acl users rule 30 action deny", "acl users rule 30 action permit"),
        (_BORDER, "bond1 bond member swp63-64", "bond1 bond member swp62-63"),
        (_MANAGEMENT, "br_default access 100\n", "br_default access 101\n"),
        (_MANAGEMENT, "bond1 bond member swp49-50", "bond1 bond member swp49"),
        (_MANAGEMENT, "static 0.0.0.0/0 via 10.64.0.1\n", "static 0.0.0.0/0 via 10.64.2.1\n"),
        ("frr/eth-leaf-01a.conf", " evpn mh es-id 3\n", " evpn mh es-id 103\n"),
        ("frr/border-01.conf", "ip route 0.0.0.0/0 10.64.2.129", "ip route 0.0.0.0/0 10.64.2.139"),
        ("../warewulf/nodes.conf", "mode: 802.3ad", "mode: balance-rr"),
        ("../warewulf/nodes.conf", "lacp_rate: fast", "lacp_rate: slow"),
        ("../warewulf/nodes.conf", "master: bond0", "master: bond1"),
        ("../maas/bond.sh", "bond_mode=802.3ad", "bond_mode=active-backup"),
        ("../maas/bond.sh", "bond_lacp_rate=fast", "bond_lacp_rate=slow"),
        ("../maas/bond.sh", "cidr 10.64.2.0/25", "cidr 10.64.0.0/23"),
    ],
)
def test_a_fault_of_an_inband_switch_is_found(written: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    """Bonds, gateways, filters, routes and relays that differ are found, by what each of them does."""
    folder = tmp_path / "site"
    shutil.copytree(written, folder)
    path = folder / "provisioning" / "switches" / file
    said = path.read_text()
    assert old in said
    path.write_text(said.replace(old, new, 1))
    assert "PRV010" in rules(folder)


def test_maas_bonds_both_ports_of_a_machine_once(written: Path, tmp_path: Path) -> None:
    """A commissioned machine gets its bond with its address; one that has it, or is not ready, stays."""
    calls, programs = tmp_path / "calls", tmp_path / "bin"
    programs.mkdir()
    (programs / "maas").write_text(f"""#!/bin/bash
echo "$*" >>{calls}
case "$2 $3" in
"subnets read") echo '[{{"id": 7, "cidr": "10.64.2.0/25"}}]' ;;
"machines read")
    [ "$4" = hostname=node003 ] && state=New || state=Ready
    echo "[{{\\"system_id\\": \\"${{4#hostname=}}\\", \\"status_name\\": \\"$state\\"}}]" ;;
"interfaces read")
    [ "$4" != node002 ] || bond=', {{"id": 9, "name": "bond0"}}'
    echo "[{{\\"id\\": 1, \\"name\\": \\"a\\", \\"mac_address\\": \\"aa:bb:cc:dd:ee:01\\"}},
        {{\\"id\\": 2, \\"name\\": \\"b\\", \\"mac_address\\": \\"aa:bb:cc:dd:ee:02\\"}}${{bond:-}}]" ;;
"interfaces create-bond") echo '{{"id": 5, "name": "bond0"}}' ;;
esac
""")
    (programs / "maas").chmod(0o755)
    table = tmp_path / "machines.csv"
    row = "{},compute,AA:bb:cc:dd:ee:01,10.64.2.16,10.64.0.16,aa:bb:cc:dd:ee:02\n"
    header = "machine,role,mac_address,address,bmc_address,second_mac_address\n"
    single = "node004,compute,aa:bb:cc:dd:ee:03,10.64.2.19,10.64.0.19,\n"
    table.write_text(header + "".join(row.format(name) for name in ("node001", "node002", "node003")) + single)
    done = subprocess.run(
        ["bash", str(written / "provisioning" / "maas" / "bond.sh"), "site", str(table)],
        capture_output=True,
        text=True,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = [line for line in calls.read_text().splitlines() if "create-bond" in line or "link-subnet" in line]
    assert len(made) == 2
    assert made[0].startswith("site interfaces create-bond node001 name=bond0 parents=1 parents=2 bond_mode=802.3ad ")
    assert made[1] == (
        "site interface link-subnet node001 5 mode=STATIC subnet=7 ip_address=10.64.2.16 default_gateway=true"
    )
    assert "node003 is not ready" in done.stderr
