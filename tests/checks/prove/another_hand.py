"""Faults that somebody planted who had not read the rules, and edits that are none.

What is changed was chosen from the documents alone, as people who build a data centre get it wrong.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import openpyxl

Edit = Callable[[Path], None]
Rows = list[dict[str, str]]

_TRAIN = """\
name: {name}
workload: {{kind: train, model: llama-2-7b, tokens: 100e9, sequence_length: 2048, global_batch: {batch}}}
economics: {{as_of: 2026-10-16}}
site: {{power_price: 0.1 USD/kWh, pue: 1.25{site}}}
targets:
  onprem: {{{onprem}}}
"""
_TENANTS = """\
cluster:
  groups: [{name: research, gid: 3000}]
  users:
    - {name: ada, uid: 2001, groups: [research], administrator: true, ssh_keys: []}
    - {name: grace, uid: 2002, groups: [research], ssh_keys: []}
    - {name: linus, uid: 2003, ssh_keys: []}
software: {mig: {geometry: [3g.40gb, 4g.40gb], nodes: 2}}
tenants:
  - {name: research, share: 60 %, users: [ada, grace], max_gpus_per_user: 32, longest_job: 14 days}
  - {name: product, share: 40 %, users: [grace], when_free: keep}
  - {name: students, share: 0 %, users: [linus], max_gpus: 16, longest_job: 4 h, weight: 0.1}
"""
_SERVE = """\
name: srv
workload: {kind: serve, model: llama-3.1-70b, precision: fp8, framework: vllm}
traffic:
  users: 4000
  think_time: 60 s
  input_tokens: {mean: 1500, p95: 4000}
  output_tokens: {mean: 300, p95: 900}
goals: {first_token: 1 s, time_per_token: 50 ms, percentile: 95}
replicas: {spare: 1}
targets:
  onprem: {system: dgx-b200, min_nodes: 3, fabric: {purchase: full-units}}
economics: {as_of: 2026-10-16}
site: {power_price: 0.1 USD/kWh, pue: 1.25}
"""
IB, ROCE, MI, GB, SRV, K8S, MIG = "InfiniBand", "RoCE", "MI300X", "GB200", "service", "Kubernetes", "slices and tenants"
_UNIT = "purchase: full-units"
_EIGHT = "min_nodes: 8, max_nodes: 8"


def _train(name: str, onprem: str, *, batch: int = 512, site: str = "") -> str:
    return _TRAIN.format(name=name, onprem=onprem, batch=batch, site=site)


#: Blueprints of the sites, by name.
SITES: Mapping[str, str] = {
    IB: _train("ib", f"system: dgx-h100, fabric: {{{_UNIT}}}, {_EIGHT}"),
    ROCE: _train("roce", f"system: hgx-h100-8gpu, fabric: {{kind: roce, switch: sn5600, {_UNIT}}}, {_EIGHT}"),
    MI: _train("mi", f"system: mi300x-8gpu, fabric: {{{_UNIT}}}, {_EIGHT}"),
    GB: _train(
        "gb",
        "system: gb200-nvl72, min_nodes: 2, max_nodes: 2",
        batch=2304,
        site=", rack_power: 160 kW, cooling: direct-to-chip",
    ),
    SRV: _SERVE,
    K8S: _train("kube", f"system: dgx-h100, scheduler: kubernetes, fabric: {{{_UNIT}}}, {_EIGHT}", batch=480)
    + "software: {mig: {geometry: [3g.40gb, 3g.40gb], nodes: 2}}\n",
    MIG: _train("mig", f"system: dgx-h100, fabric: {{{_UNIT}}}, {_EIGHT}", batch=480, site=", feed: {sources: 3}")
    + _TENANTS,
}


@dataclass(frozen=True)
class Planted:
    """One change of a folder: its kind, what it is, the site, the rule that has to name it, and how it is made."""

    kind: str
    what: str
    site: str
    expected: str
    edit: Edit

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.site}: {self.kind}, {self.what}"


def text(path: str, old: str, new: str, *, every: bool = False) -> Edit:
    """Return what replaces a text that has to be there, once or everywhere."""

    def edit(folder: Path) -> None:
        file = folder / path
        said = file.read_text()
        assert old in said, f"{path} has no {old!r}"
        file.write_text(said.replace(old, new) if every else said.replace(old, new, 1))

    return edit


def pattern(path: str, old: str, new: str) -> Edit:
    """Return what replaces the first place that matches a pattern."""

    def edit(folder: Path) -> None:
        file = folder / path
        said, count = re.subn(old, new, file.read_text(), count=1, flags=re.MULTILINE)
        assert count, f"{path} has no {old!r}"
        file.write_text(said)

    return edit


def table(path: str, change: Callable[[Rows], Rows]) -> Edit:
    """Return what writes the rows of a table again."""

    def edit(folder: Path) -> None:
        file = folder / path
        said = file.read_text()
        reader = csv.DictReader(io.StringIO(said, newline=""))
        rows = change(list(reader))
        out = io.StringIO()
        writer = csv.DictWriter(out, reader.fieldnames or (), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        file.write_text(out.getvalue())

    return edit


def _matching(rows: Rows, where: Mapping[str, str]) -> Rows:
    found = [row for row in rows if all(row[column] == value for column, value in where.items())]
    assert found, f"no row has {dict(where)}"
    return found


def cells(path: str, where: Mapping[str, str], **new: str) -> Edit:
    """Return what gives cells of the first matching row another value."""

    def change(rows: Rows) -> Rows:
        _matching(rows, where)[0].update(new)
        return rows

    return table(path, change)


def swap(path: str, one: Mapping[str, str], other: Mapping[str, str], *columns: str) -> Edit:
    """Return what exchanges cells of two rows."""

    def change(rows: Rows) -> Rows:
        a, b = _matching(rows, one)[0], _matching(rows, other)[0]
        for column in columns:
            a[column], b[column] = b[column], a[column]
        return rows

    return table(path, change)


def drop(path: str, **where: str) -> Edit:
    """Return what removes the matching rows."""

    def change(rows: Rows) -> Rows:
        gone = _matching(rows, where)
        return [row for row in rows if row not in gone]

    return table(path, change)


def shifted(path: str, column: str, **where: str) -> Edit:
    """Return what moves the cells of a column down by one among the matching rows."""

    def change(rows: Rows) -> Rows:
        own = _matching(rows, where)
        values = [row[column] for row in own]
        for row, value in zip(own, values[-1:] + values[:-1], strict=True):
            row[column] = value
        return rows

    return table(path, change)


def column(path: str, name: str, value: str) -> Edit:
    """Return what adds a column to a table, as people do in a spreadsheet."""

    def edit(folder: Path) -> None:
        file = folder / path
        head, *rows = file.read_text().splitlines()
        file.write_text("\n".join([f"{head},{name}", *(f"{row},{value}" for row in rows)]) + "\n")

    return edit


def sheet(path: str, old: object, new: object) -> Edit:
    """Return what changes the first cell of a workbook that has a value."""

    def edit(folder: Path) -> None:
        book = openpyxl.load_workbook(folder / path)
        cell = next(cell for page in book for row in page.iter_rows() for cell in row if cell.value == old)
        cell.value = new
        book.save(folder / path)

    return edit


def both(*edits: Edit) -> Edit:
    """Return what makes several changes that are one mistake."""

    def edit(folder: Path) -> None:
        for one in edits:
            one(folder)

    return edit


def _line_ends(path: str) -> Edit:
    def edit(folder: Path) -> None:
        content = (folder / path).read_bytes().replace(b"\r\n", b"\n")
        (folder / path).write_bytes(content.replace(b"\n", b"\r\n"))

    return edit


def _macs(form: str) -> Edit:
    """Return what fills in the MAC of every host."""
    return table("dhcp-hosts.csv", lambda rows: [{**row, "mac_address": form.format(n)} for n, row in enumerate(rows)])


C, N, K, P, S = "cables.csv", "netbox/", "kubernetes/", "provisioning/", "provisioning/switches/"
BILL = "bill_of_materials.csv"


def _of_bill(part: str, note: str, change: Callable[[dict[str, str]], dict[str, str] | None]) -> Edit:
    """Return what changes the lines of a part whose note has a word, or removes them."""

    def changed(rows: Rows) -> Rows:
        kept: list[dict[str, str] | None] = [
            change(row) if row["part"] == part and note in row["note"] else row for row in rows
        ]
        return [row for row in kept if row is not None]

    return table(BILL, changed)


def _fewer(count: int, each_usd: int = 0) -> Callable[[dict[str, str]], dict[str, str]]:
    def change(row: dict[str, str]) -> dict[str, str]:
        left = int(row["quantity"]) - count
        return {**row, "quantity": str(left)} | ({"usd_total": str(left * each_usd)} if each_usd else {})

    return change


def _one_trunk_less(rows: Rows) -> Rows:
    first = next(row for row in rows if row["network"] == "in-band" and row["tier"] not in {"host-leaf", "oob-uplink"})
    return [row for row in rows if row is not first]


FAULTS: tuple[Planted, ...] = (
    # cables
    Planted(
        "cable ends",
        "two rails of a node swapped",
        IB,
        "CAB003",
        swap(C, {"cable": "C000001"}, {"cable": "C000002"}, "to_device", "to_u"),
    ),
    Planted(
        "cable ends",
        "both storage ports of a node on one side",
        IB,
        "CAB001",
        both(
            cells(
                C,
                {"from_device": "node001", "tier": "node-leaf", "network": "storage", "from_port": "2"},
                to_device="st-leaf-01a",
            )
        ),
    ),
    Planted(
        "cable ends",
        "both ends on one leaf",
        ROCE,
        "CAB001",
        cells(C, {"tier": "leaf-spine", "from_device": "leaf-01-1"}, to_rack="A05", to_u="2", to_device="leaf-01-1"),
    ),
    Planted(
        "cable ends",
        "management cable in a port that the switch does not have",
        MI,
        "CAB007",
        cells(C, {"from_device": "node001", "tier": "management"}, to_port="53"),
    ),
    Planted(
        "cable ends",
        "a spine port used twice",
        GB,
        "CAB001",
        cells(C, {"to_device": "spine-001", "to_port": "1/2"}, to_port="1/1"),
    ),
    Planted(
        "all shifted",
        "ports of a leaf one further than drawn",
        IB,
        "CAB003",
        shifted(C, "to_port", to_device="leaf-01-3", tier="node-leaf"),
    ),
    Planted(
        "all shifted",
        "nodes of one rail one further",
        ROCE,
        "CAB002",
        shifted(C, "from_device", to_device="leaf-01-4", tier="node-leaf"),
    ),
    Planted(
        "all shifted",
        "names of hosts one further in racks.csv",
        IB,
        "CAB002",
        shifted("racks.csv", "device", part="dgx-h100"),
    ),
    Planted(
        "all shifted",
        "addresses of one rail one further",
        IB,
        "IPA006",
        shifted("ip-plan.csv", "address", network="compute 3"),
    ),
    Planted(
        "all shifted",
        "management ports one further",
        GB,
        "CAB007",
        shifted(C, "to_port", to_device="oob-01", tier="management"),
    ),
    Planted("length", "3 m where the way is 9 m", IB, "CAB011", cells(C, {"cable": "C000001"}, length_m="3")),
    Planted(
        "length", "passive copper of 5 m", IB, "CAB011", cells(C, {"part": "mcp4y10", "length_m": "1"}, length_m="5")
    ),
    Planted(
        "length",
        "30 m for a neighbour",
        GB,
        "CAB011",
        cells(C, {"part": "cat6-copper", "length_m": "2"}, length_m="30"),
    ),
    Planted("length", "a length nobody sells", MI, "CAB011", cells(C, {"part": "aoc-100g"}, length_m="8.5")),
    Planted(
        "optics",
        "single-port transceiver in a switch cage",
        IB,
        "CAB010",
        cells(C, {"cable": "C000001"}, to_transceiver="mma4z00-ns400"),
    ),
    Planted(
        "optics",
        "OSFP transceiver in a QSFP112 adapter",
        ROCE,
        "CAB010",
        cells(C, {"network": "compute", "tier": "node-leaf"}, from_transceiver="mma4z00-ns-flt"),
    ),
    Planted(
        "optics",
        "no transceiver at one end of a fibre",
        GB,
        "CAB010",
        cells(C, {"part": "mfp7e10", "tier": "leaf-spine"}, to_transceiver=""),
    ),
    Planted("optics", "copper part on a fibre link", MI, "CAB010", cells(C, {"part": "mfp7e10"}, part="mcp4y10")),
    Planted(
        "labels",
        "label names another node",
        IB,
        "CAB012",
        cells("labels.csv", {"cable": "C000010", "end": "from"}, line_2="A01 U09 node003:1/2"),
    ),
    Planted("labels", "an id twice", ROCE, "CAB006", cells(C, {"cable": "C000012"}, cable="C000011")),
    Planted("labels", "a label is missing", MI, "CAB012", drop("labels.csv", cable="C000020", end="to")),
    Planted(
        "labels",
        "label with another length",
        GB,
        "CAB012",
        cells("labels.csv", {"cable": "C000005", "end": "to"}, line_1="C000005 12 m"),
    ),
    Planted(
        "labels",
        "text of the label in cables.csv",
        IB,
        "CAB007",
        cells(C, {"cable": "C000100"}, label="C000100 node013:1/4 - leaf-01-3:7/2"),
    ),
    # racks
    Planted("racks", "two nodes overlap by one unit", IB, "RAC002", cells("racks.csv", {"device": "node002"}, u="8")),
    Planted(
        "racks",
        "power of a node in the wrong unit",
        ROCE,
        "RAC006",
        cells("racks.csv", {"device": "node005"}, power_w="10.2"),
    ),
    Planted(
        "racks",
        "a switch of one unit in a place of two",
        MI,
        "RAC006",
        cells("racks.csv", {"part": "sn4600c"}, height_u="1"),
    ),
    Planted("racks", "above the top of the rack", GB, "RAC003", cells("racks.csv", {"device": "oob-01"}, u="49")),
    Planted(
        "racks", "weight of another product", SRV, "RAC006", cells("racks.csv", {"part": "dgx-b200"}, weight_kg="83")
    ),
    Planted(
        "racks",
        "a fifth node in a full rack",
        IB,
        "RAC007",
        cells("racks.csv", {"device": "node005"}, rack="A01", u="33"),
    ),
    # addresses
    Planted(
        "addresses",
        "one address twice",
        IB,
        "IPA003",
        cells("ip-plan.csv", {"device": "node002", "interface": "compute-1/1"}, address="10.64.3.16"),
    ),
    Planted(
        "addresses",
        "address of another network",
        ROCE,
        "IPA003",
        cells("ip-plan.csv", {"device": "node003"}, address="10.64.9.18"),
    ),
    Planted(
        "addresses", "prefix length", MI, "IPA003", cells("ip-plan.csv", {"device": "node004"}, prefix_length="16")
    ),
    Planted(
        "addresses",
        "gateway of a DHCP host",
        GB,
        "IPA005",
        cells("dhcp-hosts.csv", {"device": "node007", "interface": "bond0"}, gateway="10.64.1.254"),
    ),
    Planted(
        "addresses",
        "NetBox has another address",
        SRV,
        "IPA006",
        pattern(
            N + "9-ip-addresses.csv", r"^10\.64\.(\d+)\.(\d+)/(\d+),active,node002", r"10.64.\1.250/\3,active,node002"
        ),
    ),
    Planted(
        "addresses",
        "netmask against prefix",
        IB,
        "IPA001",
        cells("ip-networks.csv", {"network": "in-band"}, netmask="255.255.255.0"),
    ),
    Planted(
        "DHCP and MAC",
        "one MAC twice",
        IB,
        "IPA005",
        both(
            cells("dhcp-hosts.csv", {"device": "node001", "interface": "bond0"}, mac_address="b8:3f:d2:00:00:01"),
            cells("dhcp-hosts.csv", {"device": "node002", "interface": "bond0"}, mac_address="b8:3f:d2:00:00:01"),
        ),
    ),
    Planted(
        "DHCP and MAC",
        "MAC with five groups",
        ROCE,
        "IPA005",
        cells("dhcp-hosts.csv", {"device": "node001", "interface": "bond0"}, mac_address="b8:3f:d2:00:01"),
    ),
    Planted(
        "DHCP and MAC",
        "MAC in machines.csv and DHCP differ",
        GB,
        "PRV002",
        both(
            cells("dhcp-hosts.csv", {"device": "node001", "interface": "bond0"}, mac_address="b8:3f:d2:00:00:01"),
            cells(P + "machines.csv", {"machine": "node001"}, mac_address="b8:3f:d2:00:00:02"),
        ),
    ),
    Planted(
        "DHCP and MAC",
        "a host has its neighbour's address",
        MI,
        "IPA005",
        swap(
            "dhcp-hosts.csv",
            {"device": "node001", "interface": "bond0"},
            {"device": "node002", "interface": "bond0"},
            "address",
        ),
    ),
    Planted(
        "DHCP and MAC", "a host is missing", SRV, "IPA005", drop("dhcp-hosts.csv", device="node003", interface="bond0")
    ),
    Planted(
        "VLAN", "one VLAN for two networks", IB, "IPA002", cells("ip-networks.csv", {"network": "in-band"}, vlan="100")
    ),
    Planted("VLAN", "NetBox's number", GB, "IPA002", cells(N + "8-vlans.csv", {"name": "in-band"}, vid="110")),
    Planted(
        "VLAN",
        "DHCP host in another VLAN",
        MI,
        "IPA005",
        cells("dhcp-hosts.csv", {"device": "node002", "interface": "bond0"}, vlan="100"),
    ),
    Planted("VLAN", "prefix without its VLAN", SRV, "IPA006", cells(N + "8-prefixes.csv", {"vlan": "101"}, vlan="")),
    Planted(
        "VLAN",
        "access port in another VLAN",
        ROCE,
        "PRV006",
        pattern(
            S + "nvue/leaf-01-2.txt",
            r"swp2s0 bridge domain br_default access \d+",
            "swp2s0 bridge domain br_default access 20",
        ),
    ),
    # Slurm
    Planted("Slurm nodes", "CPUs without threads", IB, "SLM009", text("slurm.conf", "CPUs=224", "CPUs=112")),
    Planted(
        "Slurm nodes",
        "more memory than a node has",
        MI,
        "SLM009",
        pattern("slurm.conf", r"RealMemory=\d+", "RealMemory=2400000"),
    ),
    Planted(
        "Slurm nodes", "half of the GPUs", GB, "SLM009", text("slurm.conf", "Gres=gpu:gb200:4", "Gres=gpu:gb200:2")
    ),
    Planted(
        "Slurm nodes",
        "last node missing",
        ROCE,
        "SLM010",
        text("slurm.conf", "NodeName=node[001-008]", "NodeName=node[001-007]"),
    ),
    Planted(
        "Slurm nodes",
        "sockets and cores swapped",
        SRV,
        "SLM009",
        text("slurm.conf", "Sockets=2 CoresPerSocket=56", "Sockets=56 CoresPerSocket=2"),
    ),
    Planted(
        "partitions and topology",
        "partition without two nodes",
        IB,
        "SLM011",
        text("slurm.conf", "PartitionName=gpu Nodes=node[001-008]", "PartitionName=gpu Nodes=node[001-006]"),
    ),
    Planted(
        "partitions and topology",
        "a node of two blocks",
        GB,
        "SLM017",
        text("topology.conf", "BlockName=nvl2 Nodes=node[019-036]", "BlockName=nvl2 Nodes=node[018-036]"),
    ),
    Planted(
        "partitions and topology",
        "blocks smaller than a domain",
        GB,
        "SLM017",
        text("topology.conf", "BlockSizes=18", "BlockSizes=9"),
    ),
    Planted(
        "partitions and topology",
        "a node not in the topology",
        MI,
        "SLM013",
        text("topology.conf", "node[001-008]", "node[001-007]"),
    ),
    Planted(
        "partitions and topology",
        "a node of a slices partition in two partitions",
        MIG,
        "SLM011",
        text("slurm.conf", "PartitionName=slices Nodes=node[007-008]", "PartitionName=slices Nodes=node[006-008]"),
    ),
    Planted(
        "partitions and topology",
        "NVLink domain of a tray",
        GB,
        "SLM017",
        cells("node/nvlink_domains.csv", {"host": "node019"}, domain="nvl1"),
    ),
    Planted(
        "gres.conf", "device files from 1", IB, "SLM012", text("gres.conf", "/dev/nvidia[0-3]", "/dev/nvidia[1-4]")
    ),
    Planted(
        "gres.conf",
        "sockets swapped",
        ROCE,
        "SLM012",
        both(
            text("gres.conf", "Cores=0-55", "Cores=X"),
            text("gres.conf", "Cores=56-111", "Cores=0-55"),
            text("gres.conf", "Cores=X", "Cores=56-111"),
        ),
    ),
    Planted("gres.conf", "another type", MI, "SLM012", text("gres.conf", "Type=mi300x", "Type=mi250", every=True)),
    Planted(
        "gres.conf", "threads in the place of cores", SRV, "SLM012", text("gres.conf", "Cores=56-111", "Cores=112-223")
    ),
    Planted(
        "Slurm's settings",
        "devices not constrained",
        IB,
        "SLM015",
        text("cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no"),
    ),
    Planted(
        "Slurm's settings", "memory not constrained", ROCE, "SLM015", text("cgroup.conf", "ConstrainRAMSpace=yes\n", "")
    ),
    Planted(
        "Slurm's settings",
        "prolog in another folder",
        MI,
        "SLM019",
        text("slurm.conf", "Prolog=/opt/gpu-cluster/prolog.sh", "Prolog=/etc/slurm/prolog.sh"),
    ),
    Planted(
        "Slurm's settings",
        "processes tracked without control groups",
        GB,
        "SLM006",
        text("slurm.conf", "ProctrackType=proctrack/cgroup", "ProctrackType=proctrack/linuxproc"),
    ),
    Planted(
        "Slurm's settings", "no epilog", SRV, "SLM019", text("slurm.conf", "Epilog=/opt/gpu-cluster/epilog.sh\n", "")
    ),
    Planted(
        "Slurm's settings",
        "whole nodes instead of GPUs",
        IB,
        "SLM006",
        text("slurm.conf", "SelectType=select/cons_tres", "SelectType=select/linear"),
    ),
    Planted(
        "controllers",
        "accounting on a login machine",
        IB,
        "SLM016",
        text("slurm.conf", "AccountingStorageHost=mgmt-002", "AccountingStorageHost=mgmt-003"),
    ),
    Planted(
        "controllers",
        "slurmdbd on another server",
        GB,
        "SLM016",
        text("slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-001"),
    ),
    Planted(
        "controllers", "backup controller gone", ROCE, "SLM008", text("slurm.conf", "SlurmctldHost=mgmt-002\n", "")
    ),
    Planted(
        "controllers",
        "queue on a local disk",
        MI,
        "SLM007",
        text("slurm.conf", "StateSaveLocation=/shared/slurm/slurmctld", "StateSaveLocation=/var/spool/slurmctld"),
    ),
    Planted(
        "controllers",
        "name of a controller with a typo",
        SRV,
        "SLM008",
        text("slurm.conf", "SlurmctldHost=mgmt-001", "SlurmctldHost=mgnt-001"),
    ),
    # jobs
    Planted("job script", "half of the nodes", IB, "SBT001", text("launch/train.sbatch", "--nodes=8", "--nodes=4")),
    Planted(
        "job script",
        "four GPUs of a node",
        ROCE,
        "SBT001",
        text("launch/train.sbatch", "--gres=gpu:h100:8", "--gres=gpu:h100:4"),
    ),
    Planted(
        "job script",
        "an adapter of storage for NCCL",
        IB,
        "SBT005",
        text("launch/train.sbatch", "'=mlx5_0,mlx5_3", "'=mlx5_1,mlx5_3"),
    ),
    Planted(
        "job script",
        "four processes of eight",
        MIG,
        "SBT002",
        text("launch/train.sbatch", "--nproc-per-node=8", "--nproc-per-node=4"),
    ),
    Planted(
        "job script",
        "tensor parallel size",
        GB,
        "SBT003",
        pattern("launch/train.sbatch", r"--tensor-model-parallel-size \d+", "--tensor-model-parallel-size 8"),
    ),
    Planted(
        "job script",
        "partition that is not there",
        ROCE,
        "SBT001",
        text("launch/train.sbatch", "--partition=gpu", "--partition=batch"),
    ),
    Planted(
        "job script", "NCCL over sockets", IB, "SBT005", text("launch/train.sbatch", "NCCL_NET=IB", "NCCL_NET=Socket")
    ),
    Planted(
        "settings of a job",
        "batch of DeepSpeed",
        IB,
        "SBT003",
        text("launch/deepspeed.json", '"train_batch_size": 512', '"train_batch_size": 1024'),
    ),
    Planted(
        "settings of a job",
        "processes of Accelerate",
        IB,
        "SBT003",
        text("launch/accelerate_fsdp.yaml", "num_processes: 64", "num_processes: 32"),
    ),
    Planted(
        "settings of a job",
        "queue of job.env",
        GB,
        "SET001",
        text("launch/job.env", "JOB_PARTITION=gpu", "JOB_PARTITION=train"),
    ),
    Planted(
        "settings of a job",
        "checkpoints kept",
        ROCE,
        "SBT006",
        text("launch/train.sbatch", '"$CHECKPOINT_PATH" 5 0', '"$CHECKPOINT_PATH" 50 0'),
    ),
    Planted(
        "settings of machines",
        "GPUs of node.env",
        MI,
        "SET001",
        text("node/node.env", "GPUS_PER_NODE=8", "GPUS_PER_NODE=4"),
    ),
    Planted(
        "settings of machines",
        "rate of the fabric",
        IB,
        "SET001",
        text("node/node.env", "GBIT_PER_S=400", "GBIT_PER_S=200"),
    ),
    Planted(
        "settings of machines",
        "controller",
        SRV,
        "SET001",
        text("node/node.env", "CONTROLLER_ADDRESS=mgmt-001", "CONTROLLER_ADDRESS=mgmt-003"),
    ),
    Planted(
        "settings of machines",
        "link layer",
        ROCE,
        "SET001",
        text("node/node.env", "LINK_LAYER=Ethernet", "LINK_LAYER=InfiniBand"),
    ),
    # power
    Planted(
        "power cords",
        "two supplies on one PDU",
        IB,
        "FED001",
        cells(
            N + "7-power-cables.csv",
            {"side_a_device": "node001", "side_a_name": "PSU2"},
            side_b_device="pdu-a01-1",
            side_b_name="outlet-20",
        ),
    ),
    Planted(
        "power cords",
        "an outlet twice",
        ROCE,
        "FED001",
        cells(N + "7-power-cables.csv", {"side_a_device": "node002", "side_a_name": "PSU1"}, side_b_name="outlet-1"),
    ),
    Planted(
        "power cords",
        "PDU of the next rack",
        MI,
        "FED001",
        cells(
            N + "7-power-cables.csv",
            {"side_a_device": "node001", "side_a_name": "PSU1"},
            side_b_device="pdu-a02-1",
            side_b_name="outlet-24",
        ),
    ),
    Planted(
        "power cords",
        "a supply without a cord",
        SRV,
        "FED001",
        drop(N + "7-power-cables.csv", side_a_device="node001", side_a_name="PSU3"),
    ),
    Planted("feeds", "breaker of 32 A", IB, "FED008", cells(N + "5-power-feeds.csv", {"name": "A01-1"}, amperage="32")),
    Planted(
        "feeds",
        "all PDUs of a rack on one panel",
        ROCE,
        "FED007",
        cells(N + "7-power-feed-cables.csv", {"side_a_name": "A01-2"}, side_a_power_panel="feed-A"),
    ),
    Planted("feeds", "208 V", MI, "FED008", cells(N + "5-power-feeds.csv", {"name": "A02-1"}, voltage="208")),
    Planted(
        "feeds", "single-phase", GB, "FED008", cells(N + "5-power-feeds.csv", {"name": "A01-1"}, phase="single-phase")
    ),
    Planted(
        "feeds",
        "all outlets on one phase",
        IB,
        "FED006",
        table(
            N + "6-power-outlets.csv",
            lambda rows: [{**row, "feed_leg": "A"} if row["device"] == "pdu-a01-1" else row for row in rows],
        ),
    ),
    Planted(
        "feeds",
        "draw of a supply",
        SRV,
        "FED003",
        pattern(N + "6-power-ports.csv", r"^node001,PSU1,\d+", "node001,PSU1,500"),
    ),
    # NetBox
    Planted("NetBox devices", "position", IB, "NBX002", cells(N + "5-devices.csv", {"name": "node002"}, position="10")),
    Planted(
        "NetBox devices",
        "type",
        MI,
        "NBX002",
        cells(N + "5-devices.csv", {"name": "spine-001"}, device_type="Spectrum-3 SN4600C"),
    ),
    Planted("NetBox devices", "rack", GB, "NBX002", cells(N + "5-devices.csv", {"name": "oob-01"}, rack="A06")),
    Planted("NetBox devices", "a device missing", SRV, "NBX002", drop(N + "5-devices.csv", name="oob-01")),
    Planted(
        "NetBox devices",
        "name with a typo",
        IB,
        "NBX002",
        cells(N + "5-devices.csv", {"name": "leaf-01-1"}, name="leaf-1-1"),
    ),
    Planted("NetBox devices", "role", SRV, "NBX002", cells(N + "5-devices.csv", {"name": "mgmt-001"}, role="compute")),
    Planted(
        "NetBox devices",
        "height of a type",
        IB,
        "NBX003",
        text(N + "1-device-types/nvidia-dgx-h100.yaml", "u_height: 8", "u_height: 6"),
    ),
    Planted(
        "NetBox links",
        "type of an interface",
        IB,
        "NBX005",
        cells(N + "6-interfaces.csv", {"device": "node001", "name": "compute-1/1"}, type="100gbase-x-qsfp28"),
    ),
    Planted(
        "NetBox links",
        "end of a cable",
        GB,
        "NBX006",
        swap(N + "7-cables.csv", {"label": "C000001"}, {"label": "C000002"}, "side_b_device"),
    ),
    Planted("NetBox links", "medium", MI, "NBX006", cells(N + "7-cables.csv", {"type": "mmf-om4"}, type="smf")),
    Planted("NetBox links", "length", SRV, "NBX006", cells(N + "7-cables.csv", {"label": "C000003"}, length="20")),
    Planted(
        "NetBox links",
        "management port not marked",
        IB,
        "NBX005",
        cells(N + "6-interfaces.csv", {"device": "node001", "mgmt_only": "true"}, mgmt_only="false"),
    ),
    # bill
    Planted(
        "bill quantities",
        "a node too few, with its total",
        IB,
        "BOM002",
        cells(BILL, {"part": "dgx-h100"}, quantity="31", usd_total="11780000"),
    ),
    Planted(
        "bill quantities",
        "transceivers",
        GB,
        "BOM002",
        cells(BILL, {"part": "mma4z00-ns400", "quantity": "152"}, quantity="150", usd_total="120000"),
    ),
    Planted("bill quantities", "PDUs", MI, "BOM002", _of_bill("raritan-px3-5878", "per rack", _fewer(1, 3500))),
    Planted("bill quantities", "cords", SRV, "BOM002", _of_bill("power-cord", "", _fewer(10))),
    Planted("bill quantities", "licences", IB, "BOM002", cells(BILL, {"part": "nvidia-ai-enterprise"}, quantity="32")),
    Planted("bill amounts", "price times quantity", IB, "BOM004", cells(BILL, {"part": "sn2201"}, usd_total="4000")),
    Planted(
        "bill amounts",
        "unit price",
        ROCE,
        "BOM004",
        cells(BILL, {"part": "sn4600c"}, usd_each="2500", usd_total="5000"),
    ),
    Planted(
        "bill amounts", "amount on the page", MI, "BOM005", pattern("bill_of_materials.md", r"50,000\.00", "5,000.00")
    ),
    Planted("bill lines", "no licence of fabric managers", IB, "BOM001", drop(BILL, part="fabric-manager-licence")),
    Planted("bill lines", "no spare transceivers", GB, "BOM001", _of_bill("mma4z00-ns", "spares", lambda _: None)),
    Planted("bill lines", "another part", ROCE, "BOM001", cells(BILL, {"part": "aoc-100g"}, part="aoc-200g")),
    Planted(
        "bill lines", "maker's number", IB, "BOM008", cells(BILL, {"part": "mcp4y10"}, maker_part_number="MCP7Y10")
    ),
    Planted("bill lines", "freight gone", SRV, "BOM001", drop(BILL, part="freight")),
    Planted(
        "bill lines",
        "lengths in the note",
        MI,
        "BOM008",
        pattern(BILL, r"counted from the cable schedule: (\d+) of 10 m", r"counted from the cable schedule: \1 of 5 m"),
    ),
    Planted(
        "spares",
        "none of cables in procurement.md",
        IB,
        "PAG001",
        text("procurement.md", "| cables | 418 | 12 |", "| cables | 418 | 2 |"),
    ),
    Planted(
        "spares",
        "one spare of many",
        ROCE,
        "BOM003",
        _of_bill("mfp7e10", "spares", lambda row: {**row, "quantity": "1", "usd_total": row["usd_each"]}),
    ),
    Planted(
        "spares",
        "share of transceivers on the page",
        MIG,
        "PAG001",
        pattern("procurement.md", r"^(\| transceivers \| \d+ \| \d+ \| )2 %", r"\1 5 %"),
    ),
    # networks
    Planted("border", "an uplink missing", IB, "NET107", drop("uplinks.csv", uplink="U002")),
    Planted(
        "border",
        "both on one border switch",
        MI,
        "NET107",
        cells("uplinks.csv", {"uplink": "U002"}, from_device="border-01", from_rack="A04", from_port="63"),
    ),
    Planted("border", "a port that a cable has", GB, "NET107", cells("uplinks.csv", {"uplink": "U001"}, from_port="1")),
    Planted(
        "border",
        "optics of the uplink",
        SRV,
        "NET107",
        cells("uplinks.csv", {"uplink": "U001"}, from_transceiver="mma4z00-ns"),
    ),
    Planted("in-band and out-of-band", "a PDU without management", IB, "CAB004", drop(C, from_device="pdu-a01-2")),
    Planted(
        "in-band and out-of-band",
        "a host with both ports on one leaf",
        ROCE,
        "CAB002",
        cells(
            C,
            {"from_device": "node001", "network": "in-band", "from_port": "2"},
            to_device="eth-leaf-01a",
            to_port="60",
            to_rack="A05",
        ),
    ),
    Planted("in-band and out-of-band", "one trunk less", GB, "CAB004", table(C, _one_trunk_less)),
    Planted(
        "in-band and out-of-band",
        "border on one leaf alone",
        MI,
        "CAB004",
        drop(C, tier="top-border", from_device="eth-leaf-01b"),
    ),
    Planted(
        "fabric.csv",
        "a leaf too few",
        IB,
        "NET106",
        cells("fabric.csv", {"network": "compute", "tier": "leaf"}, switches="7"),
    ),
    Planted(
        "fabric.csv",
        "free ports",
        GB,
        "NET106",
        cells("fabric.csv", {"network": "storage", "tier": "leaf"}, ports_free="60"),
    ),
    Planted(
        "fabric.csv",
        "another switch",
        ROCE,
        "NET106",
        cells("fabric.csv", {"network": "compute", "tier": "spine"}, switch="sn5610"),
    ),
    Planted(
        "fabric.csv", "sides", MI, "VOC002", cells("fabric.csv", {"network": "storage", "tier": "leaf"}, sides="A")
    ),
    Planted(
        "fabric files",
        "port of an adapter",
        IB,
        "CAB005",
        text("fabric.ibnetdiscover", '[1]\t"S-0000000000100001"[1]', '[1]\t"S-0000000000100001"[2]'),
    ),
    Planted(
        "fabric files",
        "name of a leaf",
        GB,
        "CAB003",
        text("fabric.ibnetdiscover", '"leaf-01-1"', '"leaf-01-11x"', every=True),
    ),
    Planted(
        "fabric files",
        "a trunk of storage away",
        IB,
        "CAB005",
        pattern("storage.ibnetdiscover", r'^\[\d+\]\t"S-\w+"\[64\]\t# "st-leaf-01b"\n', ""),
    ),
    Planted("fabric files", "an edge of the graph", MI, "PAG002", pattern("fabric.dot", r'^ *"leaf-01-1" -- .*\n', "")),
    # switches
    Planted(
        "switch settings",
        "an AS number twice",
        ROCE,
        "PRV004",
        text(S + "frr/leaf-01-2.conf", "router bgp 4200000002", "router bgp 4200000001"),
    ),
    Planted(
        "switch settings",
        "MTU of a trunk",
        ROCE,
        "PRV006",
        text(S + "nvue/spine-001.txt", "swp1s0 link mtu 9216", "swp1s0 link mtu 1500"),
    ),
    Planted(
        "switch settings",
        "a neighbour missing",
        ROCE,
        "PRV004",
        text(S + "frr/leaf-01-1.conf", " neighbor swp33s1 interface peer-group fabric\n", ""),
    ),
    Planted(
        "switch settings",
        "lossy on one switch",
        ROCE,
        "PRV006",
        text(S + "nvue/leaf-01-3.txt", "qos roce mode lossless", "qos roce mode lossy"),
    ),
    Planted(
        "switch settings",
        "router id of another",
        MI,
        "PRV006",
        text(S + "nvue/leaf-01-4.txt", "router bgp router-id 100.64.0.4", "router bgp router-id 100.64.0.5"),
    ),
    Planted(
        "switch settings",
        "gateway of a leaf",
        MI,
        "PRV006",
        pattern(S + "nvue/leaf-01-5.txt", r"vlan(\d+) ip address 10\.64\.(\d+)\.1/", r"vlan\1 ip address 10.64.\2.2/"),
    ),
    Planted(
        "switch settings",
        "priority of PFC on hosts",
        ROCE,
        "PRV006",
        text(S + "roce.md", "--pfc=0,0,0,1,0,0,0,0", "--pfc=0,0,0,0,1,0,0,0"),
    ),
    Planted(
        "switch settings",
        "NCCL's traffic class",
        ROCE,
        "PRV006",
        text(S + "roce.md", "NCCL_IB_TC=106", "NCCL_IB_TC=104"),
    ),
    # subnet managers
    Planted(
        "subnet manager",
        "routing by shortest ways",
        IB,
        "PRV007",
        text(P + "opensm/compute.conf", "routing_engine ftree,updn", "routing_engine minhop"),
    ),
    Planted(
        "subnet manager", "MTU of the partition", GB, "PRV007", text(P + "opensm/partitions.conf", "mtu=5", "mtu=4")
    ),
    Planted(
        "subnet manager",
        "members limited",
        IB,
        "PRV007",
        text(P + "opensm/partitions.conf", "defmember=full", "defmember=limited"),
    ),
    # kubernetes
    Planted(
        "Kubernetes",
        "endpoint of a join",
        K8S,
        "K8S011",
        text(K + "control-plane/kubeadm-join-node.yaml", "10.64.1.15:6443", "10.64.1.48:6443"),
    ),
    Planted(
        "Kubernetes",
        "kube-vip's address",
        K8S,
        "K8S011",
        text(K + "control-plane/kube-vip.yaml", "10.64.1.15", "10.64.1.25"),
    ),
    Planted(
        "Kubernetes",
        "certificate without the shared address",
        K8S,
        "K8S011",
        text(K + "control-plane/kubeadm-init.yaml", "  - 10.64.1.15\n", ""),
    ),
    Planted(
        "Kubernetes",
        "pods overlap the hosts",
        K8S,
        "K8S011",
        text(K + "control-plane/kubeadm-init.yaml", "podSubnet: 10.32.0.0/11", "podSubnet: 10.64.0.0/16"),
    ),
    Planted("Kubernetes", "rack of a node", K8S, "K8S002", text(K + "node-labels.yaml", 'rack: "a01"', 'rack: "a04"')),
    Planted(
        "Kubernetes",
        "GPUs of the queue",
        K8S,
        "K8S003",
        text(K + "queues.yaml", "nominalQuota: '48'", "nominalQuota: '64'"),
    ),
    Planted(
        "Kubernetes", "slices of a GPU", K8S, "K8S012", text(K + "slices/mig-config.yaml", "3g.40gb: 2", "3g.40gb: 1")
    ),
    Planted(
        "Kubernetes", "pods of the job", K8S, "K8S004", text(K + "jobs/train.yaml", "parallelism: 6", "parallelism: 5")
    ),
    Planted(
        "Kubernetes",
        "rails of a pod",
        K8S,
        "K8S007",
        text(K + "jobs/train.yaml", "nvidia.com/rail: '8'", "nvidia.com/rail: '4'"),
    ),
    Planted(
        "Kubernetes",
        "addresses of rails too few",
        K8S,
        "K8S007",
        text(K + "network/rails.yaml", "subnet: 10.128.0.0/25", "subnet: 10.128.0.0/26"),
    ),
    Planted(
        "Kubernetes",
        "release of one image",
        K8S,
        "K8S008",
        text(K + "network/nic-cluster-policy.yaml", "network-operator-v26.4.1", "network-operator-v25.4.0"),
    ),
    # slices, tenants, users
    Planted(
        "slices and tenants", "twice the slices", MIG, "SLM009", text("slurm.conf", "gpu:4g.40gb:8", "gpu:4g.40gb:16")
    ),
    Planted(
        "slices and tenants",
        "billing of a slice",
        MIG,
        "SLM020",
        text("slurm.conf", "gpu:3g.40gb=0.5", "gpu:3g.40gb=0.05"),
    ),
    Planted(
        "slices and tenants", "partition open to all", MIG, "SLM018", text("slurm.conf", " AllowAccounts=product", "")
    ),
    Planted(
        "slices and tenants",
        "share of a tenant",
        MIG,
        "SLM018",
        text("node/tenants.sh", "GrpTRES=gres/gpu=48", "GrpTRES=gres/gpu=84"),
    ),
    Planted(
        "slices and tenants",
        "longest job",
        MIG,
        "SLM018",
        text("slurm.conf", "MaxTime=0-04:00:00", "MaxTime=4-00:00:00"),
    ),
    Planted(
        "slices and tenants",
        "placement of slices",
        MIG,
        "SLM020",
        text("software.md", "4g.40gb:0,3g.40gb:4", "4g.40gb:4,3g.40gb:0"),
    ),
    Planted("users", "a number twice", MIG, "SET002", text("node/users.list", "grace 2002", "grace 2001")),
    Planted("users", "another number", MIG, "SET002", text("node/users.list", "linus 2003", "linus 2103")),
    Planted("users", "a user missing", MIG, "SET002", text("node/users.list", "user grace 2002 no research\n", "")),
    Planted(
        "users", "administrator by mistake", MIG, "SET002", text("node/users.list", "linus 2003 no", "linus 2003 yes")
    ),
    # pages
    Planted(
        "acceptance", "count of racks", IB, "PAG001", text("acceptance.md", "4 racks, 10 PDUs", "3 racks, 10 PDUs")
    ),
    Planted(
        "acceptance",
        "amperes with a PDU open",
        IB,
        "PAG001",
        text("acceptance.md", "no line more than 33.6 A", "no line more than 63.6 A"),
    ),
    Planted(
        "acceptance",
        "floor of bandwidth",
        ROCE,
        "PAG001",
        pattern("acceptance.md", r"about 4\d\d GB/s; look closer below 400", "about 450 GB/s; look closer below 40"),
    ),
    Planted("acceptance", "speed of the job", IB, "PAG001", text("acceptance.md", "12,108 tokens/s", "2,108 tokens/s")),
    Planted("acceptance", "driver", GB, "PAG001", pattern("acceptance.md", r"driver 595\.91\.07", "driver 580.65.06")),
    Planted("acceptance", "hosts that answer", SRV, "PAG001", text("acceptance.md", "| 43 answer |", "| 34 answer |")),
    Planted(
        "acceptance",
        "storage must give",
        MI,
        "PAG001",
        pattern(
            "acceptance.md",
            r"at least [\d.]+ [GM]B/s in all: a checkpoint in time",
            "at least 0.1 GB/s in all: a checkpoint in time",
        ),
    ),
    Planted(
        "pages",
        "breaker that is needed",
        IB,
        "PAG001",
        text("power_and_cooling.md", "| 42.0 A | 50 A | 60 A |", "| 42.0 A | 40 A | 60 A |"),
    ),
    Planted(
        "pages", "heat", IB, "PAG001", text("power_and_cooling.md", "| Heat | 391,070 BTU/h", "| Heat | 39,107 BTU/h")
    ),
    Planted(
        "pages",
        "boxes of storage",
        GB,
        "PAG001",
        pattern("storage.md", r"^VAST Data: 1 VAST DBox", "VAST Data: 2 VAST DBox"),
    ),
    Planted(
        "pages",
        "verdict of the check-list",
        IB,
        "PAG003",
        text("checklist.md", "| 40.8 kW (A01) | 42.0 kW | pass |", "| 43.8 kW (A01) | 42.0 kW | pass |"),
    ),
    Planted(
        "pages",
        "links of the README",
        MI,
        "PAG001",
        pattern("README.md", r"Cables: ([\d,]+) links", "Cables: 999 links"),
    ),
    Planted(
        "pages",
        "host counts of the runbook",
        ROCE,
        "PAG001",
        text("runbook.md", "8 hosts. Everything", "80 hosts. Everything"),
    ),
    Planted("pages", "spares in use", SRV, "PAG001", pattern("procurement.md", r"^\| nodes \| 3 \|", "| nodes | 6 |")),
    Planted(
        "pages",
        "levels of storage",
        IB,
        "PAG001",
        text("storage.md", "| **largest of each** | 797 GB", "| **largest of each** | 79.7 GB"),
    ),
    # provisioning
    Planted(
        "provisioning",
        "a machine not watched",
        IB,
        "PRV008",
        text(P + "services/prometheus.yml", "          - node007:9400\n", ""),
    ),
    Planted(
        "provisioning",
        "address of a host",
        GB,
        "PRV008",
        pattern(P + "services/hosts", r"^(\S+)\tnode009$", "10.64.9.9\tnode009"),
    ),
    Planted(
        "provisioning",
        "clocks for another network",
        IB,
        "PRV009",
        text(P + "services/chrony.conf", "allow 10.64.1.0/25", "allow 10.65.1.0/25"),
    ),
    Planted(
        "provisioning",
        "time from a login machine",
        IB,
        "PRV009",
        text(P + "cloud-init/compute.yaml", "    - 10.64.1.48\n", "    - 10.64.1.49\n"),
    ),
    Planted(
        "provisioning",
        "address in Warewulf",
        MI,
        "PRV003",
        pattern(P + "warewulf/nodes.conf", r"(node002:(?:.*\n)+?.*ipaddr: )[\d.]+", r"\g<1>10.64.0.250"),
    ),
    Planted(
        "provisioning",
        "address of a controller",
        ROCE,
        "PRV001",
        pattern(P + "machines.csv", r"^(node004,compute,,[\d.]+,)[\d.]+(?=,)", r"\g<1>10.64.0.240"),
    ),
    Planted("provisioning", "alert on lost GPUs", GB, "PRV008", text(P + "services/alerts.yml", "< 4", "< 2")),
    Planted(
        "provisioning",
        "logs to nobody",
        SRV,
        "PRV009",
        text(P + "cloud-init/compute.yaml", "@@mgmt-001:514", "@@mgmt-009:514"),
    ),
    Planted(
        "provisioning",
        "size of buffers",
        IB,
        "PRV009",
        text(P + "cloud-init/compute.yaml", "net.core.rmem_max = 134217728", "net.core.rmem_max = 212992"),
    ),
    Planted(
        "provisioning",
        "profile of a node",
        MI,
        "PRV009",
        pattern(
            P + "warewulf/nodes.conf", r"(node003:\n    profiles:\n      - default\n      - )compute", r"\g<1>login"
        ),
    ),
    # versions
    Planted(
        "versions",
        "Fabric Manager behind the driver",
        IB,
        "SFW001",
        text("node/versions.csv", "fabricmanager,595.91.07", "fabricmanager,580.65.06"),
    ),
    Planted(
        "versions", "NCCL on the page", ROCE, "PAG001", pattern("software.md", r"\| NCCL \| [\d.]+", "| NCCL | 2.18.1")
    ),
    Planted(
        "versions",
        "Slurm of the machines",
        GB,
        "SFW001",
        pattern("node/versions.csv", r"^slurm,[\d.]+", "slurm,22.05.8"),
    ),
    Planted(
        "versions",
        "Pyxis by another commit",
        IB,
        "PAG001",
        text(
            "node/software.csv", "107519944221822ea1dace4db8e7234b2eaa4cd5", "207519944221822ea1dace4db8e7234b2eaa4cd5"
        ),
    ),
    Planted(
        "versions",
        "driver of the runbook",
        MIG,
        "PAG001",
        text("runbook.md", "driver, now 595.91.07", "driver, now 570.00.00"),
    ),
    # drawings and workbooks
    Planted(
        "drawings and workbooks",
        "a node's place in the elevations",
        IB,
        "PAG002",
        text("racks.svg", ">node002<", ">node003<"),
    ),
    Planted(
        "drawings and workbooks",
        "spines of the drawing",
        IB,
        "PAG002",
        text("fabric.svg", "4 spine switches", "8 spine switches"),
    ),
    Planted(
        "drawings and workbooks",
        "racks of the floor plan",
        GB,
        "PAG002",
        pattern("floor_plan.svg", r"\d+ racks in \d+ rows?", "9 racks in 1 row"),
    ),
    Planted("drawings and workbooks", "length in the cable workbook", IB, "CAB013", sheet("cables.xlsx", 10, 3)),
    Planted(
        "drawings and workbooks",
        "end in the cable workbook",
        ROCE,
        "CAB013",
        sheet("cables.xlsx", "leaf-01-1", "leaf-01-2"),
    ),
    # service
    Planted(
        "service", "replicas of the array", SRV, "SVC001", text("serving/serve.sbatch", "--array=0-9", "--array=0-7")
    ),
    Planted(
        "service",
        "GPUs of a replica",
        SRV,
        "SVC001",
        text("serving/serve.sbatch", "--gres=gpu:b200:2", "--gres=gpu:b200:1"),
    ),
    Planted(
        "service",
        "longest request",
        SRV,
        "SVC002",
        text("serving/serve.sbatch", "--max-model-len 26624", "--max-model-len 2048"),
    ),
    Planted("service", "memory of a replica", SRV, "SVC001", text("serving/serve.sbatch", "--mem=395G", "--mem=39G")),
    Planted(
        "service", "goal of an alert", SRV, "SVC003", text("serving/monitoring/rules.yaml", 'le="1.0"', 'le="10.0"')
    ),
    Planted(
        "service",
        "rate of the load test",
        SRV,
        "SVC004",
        text("serving/loadtest/aiperf.sh", "6.68588 * n", "0.668588 * n"),
    ),
    Planted(
        "service",
        "name of the model",
        SRV,
        "SVC002",
        text("serving/serve.sbatch", "--served-model-name llama-3.1-70b", "--served-model-name llama-70b"),
    ),
)

#: What a user may do to the documents.
LEGITIMATE: tuple[Planted, ...] = (
    Planted("legitimate", "MACs of hosts filled in", IB, "", _macs("b8:3f:d2:00:00:{:02x}")),
    Planted("legitimate", "MACs in capitals with hyphens", MI, "", _macs("B8-3F-D2-00-00-{:02X}")),
    Planted("legitimate", "serial numbers in NetBox", IB, "", column(N + "5-devices.csv", "serial", "SN0001")),
    Planted(
        "legitimate",
        "quotes of the bill",
        IB,
        "",
        cells(
            BILL,
            {"part": "dgx-h100"},
            quote_unit_price="365000",
            quote_currency="USD",
            quote_vendor="Vendor",
            quote_lead_time_weeks="20",
            quoted_on="2026-11-01",
        ),
    ),
    Planted(
        "legitimate",
        "part numbers of a maker where none was",
        GB,
        "",
        cells(BILL, {"part": "aoc-100g"}, maker_part_number="MFA1A00-C010"),
    ),
    Planted(
        "legitimate",
        "comments in slurm.conf",
        IB,
        "",
        pattern("slurm.conf", r"\A", "# Ticket 4711: agreed with the users.\n"),
    ),
    Planted(
        "legitimate",
        "time limit of the job",
        ROCE,
        "",
        text("launch/train.sbatch", "--time=UNLIMITED", "--time=14-00:00:00"),
    ),
    Planted(
        "legitimate",
        "image of the job",
        GB,
        "",
        text("launch/job.env", "CONTAINER_IMAGE=''", "CONTAINER_IMAGE='/shared/images/megatron.sqsh'"),
    ),
    Planted(
        "legitimate",
        "time servers of the site",
        IB,
        "",
        text(P + "services/chrony.conf", "TIME-SERVER-1", "ntp1.example.com"),
    ),
    Planted(
        "legitimate",
        "description of a prefix",
        MI,
        "",
        pattern(N + "8-prefixes.csv", r"in-band: hosts and servers", "in-band of hall 2: hosts and servers"),
    ),
    Planted(
        "legitimate",
        "values of the acceptance test",
        IB,
        "",
        text("acceptance.md", "| 4 racks, 10 PDUs | |", "| 4 racks, 10 PDUs | 4 and 10, 2026-12-01, JS |"),
    ),
    Planted(
        "legitimate",
        "far ends of uplinks",
        SRV,
        "",
        table(
            "uplinks.csv",
            lambda rows: [
                {**row, "to_device": "fw-1", "to_port": f"et-0/0/{n}", "length_m": "35"} for n, row in enumerate(rows)
            ],
        ),
    ),
    Planted(
        "legitimate",
        "status in NetBox",
        GB,
        "",
        pattern(N + "5-devices.csv", r"^(r001-ps-1,.*),planned$", r"\1,active"),
    ),
    Planted(
        "legitimate",
        "a paragraph of the site on a page",
        IB,
        "",
        text("runbook.md", "## Upgrades", "Call the desk of the building before you open a door.\n\n## Upgrades"),
    ),
    Planted("legitimate", "other alerts", MI, "", text(P + "services/alerts.yml", "> 100", "> 95")),
    Planted(
        "legitimate",
        "longer health checks",
        IB,
        "",
        text("slurm.conf", "HealthCheckInterval=300", "HealthCheckInterval=600"),
    ),
    Planted(
        "legitimate",
        "a second image registry for Kubernetes",
        K8S,
        "",
        text(K + "jobs/train.yaml", "image: IMAGE-IS-NOT-SET", "image: registry.example.com/team/megatron:1.0"),
    ),
    Planted("legitimate", "Windows line ends", ROCE, "", _line_ends(C)),
    Planted(
        "legitimate",
        "timezone",
        SRV,
        "",
        text(P + "cloud-init/compute.yaml", "timezone: Etc/UTC", "timezone: Europe/Berlin"),
    ),
    Planted("legitimate", "a column of installers in cables.csv", ROCE, "", column(C, "installed_by", "JS")),
)
