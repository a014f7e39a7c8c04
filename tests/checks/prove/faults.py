"""Faults planted in the documents of three sites, and edits that a user may make: what is changed, and its kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Sites that faults are planted in: InfiniBand, Ethernet, whole racks.
INFINIBAND, ETHERNET, WHOLE_RACKS = "infiniband", "ethernet", "whole-racks"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change of a file.

    Attributes:
        file: within the folder.
        where: cells of the rows that are changed; of several the `nth` (from 0), all of them if None.
        cells: what they become.
        drop, repeat: whether the row is removed, or there twice.
        swap: columns whose cells the `nth` and the `other` row exchange.
        old, new: text of a file that is no table.
    """

    file: str
    where: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)
    nth: int | None = 0
    drop: bool = False
    repeat: bool = False
    swap: tuple[str, ...] = ()
    other: int = 1
    old: str = ""
    new: str = ""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A planted fault: its kind, the site, the changes, and the id that has to be among the findings."""

    kind: str
    site: str
    expected: str
    edits: tuple[Edit, ...]

    @property
    def name(self) -> str:
        """What a test calls it."""
        first = self.edits[0]
        words = [
            self.kind,
            self.site,
            first.file,
            *first.where.values(),
            *first.cells,
            *first.cells.values(),
            first.new,
        ]
        return " ".join(word.strip() for word in words if word.strip())[:110]


def _cell(
    kind: str, expected: str, file: str, where: Mapping[str, str], cells: Mapping[str, str], **more: object
) -> Fault:
    site = str(more.pop("site", INFINIBAND))
    return Fault(kind=kind, site=site, expected=expected, edits=(Edit(file=file, where=where, cells=cells, **more),))  # type: ignore[arg-type]


def _text(kind: str, expected: str, file: str, old: str, new: str, *, site: str = INFINIBAND) -> Fault:
    return Fault(kind=kind, site=site, expected=expected, edits=(Edit(file=file, old=old, new=new),))


_CABLES, _RACKS, _BILL, _LABELS = "cables.csv", "racks.csv", "bill_of_materials.csv", "labels.csv"
_DEVICES, _PORTS, _OUTLETS, _CORDS = (
    f"netbox/{name}.csv" for name in ("5-devices", "6-power-ports", "6-power-outlets", "7-power-cables")
)
_FEEDS, _FEED_CABLES = "netbox/5-power-feeds.csv", "netbox/7-power-feed-cables.csv"
_SBATCH = "launch/train.sbatch"

FAULTS: tuple[Fault, ...] = (
    # cgroup.conf
    _text("cgroup.conf", "SLM015", "cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no"),
    _text("cgroup.conf", "SLM015", "cgroup.conf", "ConstrainCores=yes\n", ""),
    _text("cgroup.conf", "SLM015", "cgroup.conf", "ConstrainRAMSpace=yes", "#ConstrainRAMSpace=yes", site=ETHERNET),
    _text("cgroup.conf", "SLM015", "cgroup.conf", "ConstrainCores", "ConstrainCore", site=WHOLE_RACKS),
    _text("cgroup.conf", "SLM015", "cgroup.conf", "ConstrainRAMSpace=yes", "ConstrainRAMSpace=yes\nAllowedRAMSpace=10"),
    # the job script against the plan
    _text("job script", "SBT001", _SBATCH, "#SBATCH --nodes=36", "#SBATCH --nodes=35"),
    _text("job script", "SBT001", _SBATCH, "#SBATCH --partition=gpu", "#SBATCH --partition=batch"),
    _text("job script", "SBT001", _SBATCH, "gpu:h100:8", "gpu:h100:4"),
    _text("job script", "SBT001", _SBATCH, "gpu:h100:8", "gpu:a100:8", site=ETHERNET),
    _text("job script", "SBT001", _SBATCH, "#SBATCH --exclusive\n", ""),
    _text("job script", "SBT001", _SBATCH, "--ntasks-per-node=1", "--ntasks-per-node=8"),
    _text("job script", "SBT001", _SBATCH, "--time=UNLIMITED", "--time=1-00:00:00"),
    _text("job script", "SBT002", _SBATCH, "--nproc-per-node=8", "--nproc-per-node=4"),
    _text("job script", "SBT002", _SBATCH, "--nnodes=36", "--nnodes=32", site=ETHERNET),
    _text("job script", "SBT002", _SBATCH, "--nproc-per-node=4", "--nproc-per-node=8", site=WHOLE_RACKS),
    _text("job script", "SBT003", _SBATCH, "--tensor-model-parallel-size 4", "--tensor-model-parallel-size 8"),
    _text("job script", "SBT003", _SBATCH, "--pipeline-model-parallel-size 24", "--pipeline-model-parallel-size 12"),
    _text("job script", "SBT003", _SBATCH, "    --use-distributed-optimizer\n", "", site=ETHERNET),
    _text("job script", "SBT004", _SBATCH, "--global-batch-size 1536", "--global-batch-size 1532"),
    _text("job script", "SBT004", _SBATCH, "--num-layers 96", "--num-layers 48"),
    _text("job script", "SBT004", _SBATCH, "--bf16", "--fp16"),
    _text("job script", "SBT005", _SBATCH, "NCCL_NET=IB", "NCCL_NET=Socket"),
    # partitions
    _text("partition", "SLM011", "slurm.conf", "PartitionName=gpu", "PartitionName=batch"),
    _text("partition", "SLM011", "slurm.conf", "Nodes=node[001-036]", "Nodes=node[001-032]"),
    _text("partition", "SLM011", "slurm.conf", "MaxTime=INFINITE", "MaxTime=24:00:00", site=ETHERNET),
    _text("partition", "SLM011", "slurm.conf", "State=UP", "State=DOWN", site=WHOLE_RACKS),
    _text("partition", "SLM011", "slurm.conf", " OverSubscribe=EXCLUSIVE", "", site=WHOLE_RACKS),
    # topology.conf
    _text("topology", "SLM014", "topology.conf", "Nodes=node[001-032]", "Nodes=node[001-031,033]"),
    _text("topology", "SLM013", "topology.conf", "node[033-036]", "node[033-035]"),
    _text("topology", "SLM013", "topology.conf", "node[033-036]", "node[032-036]"),
    _text("topology", "SLM017", "topology.conf", "Nodes=node[001-018]", "Nodes=node[001-017,019]", site=WHOLE_RACKS),
    _text("topology", "SLM013", "topology.conf", "node[033-036]", "node[033-037]"),
    # lines that the running proof replaces
    _text("replaced line", "SLM006", "slurm.conf", "AuthType=auth/munge", "AuthType=auth/none"),
    _text("replaced line", "SLM006", "slurm.conf", "CredType=cred/munge", "CredType=cred/none"),
    _text("replaced line", "SLM006", "slurm.conf", "SlurmUser=slurm", "SlurmUser=root", site=ETHERNET),
    _text("replaced line", "SLM006", "slurm.conf", "proctrack/cgroup", "proctrack/pgid", site=WHOLE_RACKS),
    _text("replaced line", "SLM006", "slurm.conf", "TaskPlugin=task/cgroup,task/affinity", "TaskPlugin=task/none"),
    _text("replaced line", "SLM007", "slurm.conf", "/shared/slurm/slurmctld", "/tmp/slurmctld"),  # noqa: S108 - the planted fault
    _text("replaced line", "SLM007", "slurm.conf", "/run/slurmd.pid", "/run/slurmctld.pid"),
    _text("replaced line", "SLM008", "slurm.conf", "SlurmctldHost=mgmt-001", "SlurmctldHost=mgmt-009"),
    _text("replaced line", "SLM009", "slurm.conf", "State=UNKNOWN", "State=DOWN"),
    # a controller that fails
    _text("controllers", "SLM008", "slurm.conf", "SlurmctldHost=mgmt-002\n", ""),
    _text("controllers", "SLM008", "slurm.conf", "SlurmctldHost=mgmt-002\n", "SlurmctldHost=mgmt-003\n", site=ETHERNET),
    _text("controllers", "SLM007", "slurm.conf", "=/shared/slurm/slurmctld", "=/var/spool/slurmctld", site=WHOLE_RACKS),
    # nodes in Slurm's files
    _text("accounting", "SLM016", "slurm.conf", "AccountingStorageHost=mgmt-002", "AccountingStorageHost=mgmt-001"),
    _text("accounting", "SLM016", "slurm.conf", "accounting_storage/slurmdbd", "accounting_storage/none"),
    _text("accounting", "SLM016", "slurm.conf", "AccountingStorageTRES=gres/gpu", "AccountingStorageTRES=cpu"),
    _text("accounting", "SLM016", "slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-003", site=ETHERNET),
    _text("accounting", "SLM016", "slurmdbd.conf", "StorageUser=slurm", 'StorageUser=slurm\nStoragePass="secret"'),
    _text("accounting", "SLM016", "slurmdbd.conf", "Include /etc/slurm/slurmdbd.password\n", "", site=WHOLE_RACKS),
    _text("accounting", "SLM016", "slurmdbd.conf", "SlurmUser=slurm", "SlurmUser=root"),
    _text("Slurm node", "SLM009", "slurm.conf", "RealMemory=1811981", "RealMemory=181198"),
    _text("Slurm node", "SLM009", "slurm.conf", "CPUs=224", "CPUs=112", site=ETHERNET),
    _text("Slurm node", "SLM012", "gres.conf", "Cores=56-111", "Cores=112-223"),
    _text("Slurm node", "SLM012", "gres.conf", "nvidia[4-7]", "nvidia[4-6]"),
    _text("Slurm node", "SLM012", "gres.conf", "Type=gb200", "Type=h100", site=WHOLE_RACKS),
    # labels and ids
    _cell("label or id", "CAB006", _CABLES, {"network": "compute", "from_device": "node001"}, {"cable": "C000002"}),
    _cell("label or id", "CAB006", _CABLES, {"network": "in-band"}, {"cable": "X1"}, site=ETHERNET),
    _cell("label or id", "CAB007", _CABLES, {"network": "storage"}, {"label": "C000773 somewhere"}),
    _cell("label or id", "CAB012", _LABELS, {"cable": "C000001", "end": "from"}, {"line_1": "C000001 20 m"}),
    _cell("label or id", "CAB012", _LABELS, {"cable": "C000001", "end": "to"}, {"line_2": "A06 U09 leaf-01-1:1/1"}),
    _cell("label or id", "CAB012", _LABELS, {"cable": "C000010"}, {}, drop=True, site=WHOLE_RACKS),
    # lengths
    _cell("length", "CAB011", _CABLES, {"network": "compute", "tier": "node-leaf"}, {"length_m": "3"}),
    _cell("length", "CAB011", _CABLES, {"network": "compute", "tier": "node-leaf"}, {"length_m": "50"}, site=ETHERNET),
    _cell("length", "CAB011", _CABLES, {"network": "out-of-band"}, {"length_m": "0.5"}),
    _cell(
        "length", "CAB011", _CABLES, {"network": "in-band", "tier": "host-leaf"}, {"length_m": "7"}, site=WHOLE_RACKS
    ),
    _cell("length", "TAB001", _CABLES, {"network": "storage"}, {"length_m": "ten"}),
    # media and transceivers
    _cell("medium", "CAB010", _CABLES, {"tier": "node-leaf"}, {"kind": "dac", "part": "mcp4y10"}),
    _cell("medium", "CAB010", _CABLES, {"tier": "node-leaf"}, {"to_transceiver": "mma4z00-ns-flt"}, site=ETHERNET),
    _cell("medium", "CAB010", _CABLES, {"tier": "node-leaf"}, {"from_transceiver": ""}, site=WHOLE_RACKS),
    _cell(
        "medium", "CAB010", _CABLES, {"network": "storage", "tier": "node-leaf"}, {"from_transceiver": "mma4z00-ns400"}
    ),
    _cell("medium", "CAB010", _CABLES, {"network": "in-band", "tier": "host-leaf"}, {"part": "cat6-copper"}),
    # in-band and out-of-band wiring
    _cell(
        "Ethernet wiring",
        "NET102",
        _CABLES,
        {"tier": "host-leaf", "from_device": "node001", "from_port": "2"},
        {"to_device": "eth-leaf-01a", "to_port": "60"},
    ),
    _cell("Ethernet wiring", "NET101", _CABLES, {"tier": "host-leaf", "from_device": "node002"}, {}, drop=True),
    _cell(
        "Ethernet wiring",
        "NET104",
        _CABLES,
        {"tier": "oob-uplink", "from_device": "oob-01", "from_port": "50"},
        {"to_device": "eth-leaf-01a", "to_port": "61"},
    ),
    _cell(
        "Ethernet wiring",
        "NET105",
        _CABLES,
        {"tier": "management", "from_device": "node003"},
        {},
        drop=True,
        site=ETHERNET,
    ),
    _cell("Ethernet wiring", "CAB008", _CABLES, {"tier": "management"}, {"to_port": "49"}, site=WHOLE_RACKS),
    _cell("Ethernet wiring", "CAB009", _CABLES, {"tier": "management"}, {"to_device": "eth-leaf-01a"}),
    _cell(
        "Ethernet wiring",
        "NET105",
        _CABLES,
        {"tier": "management", "from_device": "pdu-a01-1"},
        {"from_device": "pdu-a01-2"},
    ),
    _cell("Ethernet wiring", "NET103", _CABLES, {"tier": "leaf-leaf"}, {}, drop=True, site=WHOLE_RACKS),
    # rack positions and power
    _cell("rack", "RAC002", _RACKS, {"device": "node002"}, {"u": "8"}),
    _cell("rack", "RAC003", _RACKS, {"device": "node004"}, {"u": "42"}, site=ETHERNET),
    _cell("rack", "RAC006", _RACKS, {"device": "leaf-01-1"}, {"power_w": "747"}),
    _cell("rack", "RAC006", _RACKS, {"device": "node001"}, {"height_u": "6"}),
    _cell("rack", "RAC004", _RACKS, {"device": "node007"}, {}, drop=True),
    _cell("rack", "RAC005", _RACKS, {"device": "leaf-01-2"}, {"part": "qm9790"}),
    _cell("rack", "RAC001", _RACKS, {"device": "node003"}, {"device": "node004"}, site=ETHERNET),
    _cell("rack", "RAC007", _RACKS, {"device": "node009"}, {"rack": "A01", "u": "33"}),
    _cell("rack", "RAC006", _RACKS, {"device": "node001"}, {"power_w": ""}, site=WHOLE_RACKS),
    # NetBox and the inventory
    _cell("NetBox", "NBX002", _DEVICES, {"name": "node002"}, {"position": "10"}),
    _cell("NetBox", "NBX002", _DEVICES, {"name": "leaf-01-1"}, {"rack": "A01"}),
    _cell("NetBox", "NBX002", _DEVICES, {"name": "node005"}, {}, drop=True, site=ETHERNET),
    _cell("NetBox", "NBX004", _DEVICES, {"name": "node006"}, {"manufacturer": "NVDIA"}),
    _cell("NetBox", "NBX001", "netbox/4-racks.csv", {"name": "A02"}, {"u_height": "42"}),
    _cell("NetBox", "NBX005", "netbox/6-interfaces.csv", {"name": "mgmt"}, {"mgmt_only": "false"}),
    _cell("NetBox", "NBX005", "netbox/6-interfaces.csv", {"device": "node001"}, {"type": "100gbase-x-qsfp28"}),
    _cell("NetBox", "NBX006", "netbox/7-cables.csv", {"label": "C000005"}, {"length": "30"}, site=WHOLE_RACKS),
    _cell("NetBox", "NBX006", "netbox/7-cables.csv", {"label": "C000007"}, {"side_b_name": "compute-30/2"}),
    _text("NetBox", "NBX003", "netbox/1-device-types/nvidia-dgx-h100.yaml", "u_height: 8", "u_height: 6"),
    # the bill and the inventory
    _cell("bill", "BOM002", _BILL, {"part": "dgx-h100"}, {"quantity": "35", "usd_total": "11535300"}),
    _cell("bill", "BOM002", _BILL, {"part": "mfp7e10"}, {"quantity": "800"}),
    _cell("bill", "BOM002", _BILL, {"part": "sn2201"}, {}, drop=True, site=ETHERNET),
    _cell("bill", "BOM003", _BILL, {"part": "mma4z00-ns"}, {"quantity": "1"}, nth=1),
    _cell("bill", "BOM004", _BILL, {"part": "qm9700"}, {"usd_total": "86400"}),
    _cell("bill", "BOM004", _BILL, {"part": "qm9700"}, {"usd_each": "3600", "usd_total": "86400"}),
    _cell("bill", "BOM001", _BILL, {"part": "cat6-copper"}, {"item": "1 Gb/s fibre"}, site=WHOLE_RACKS),
    _text("bill", "BOM005", "bill_of_materials.md", "| 36 | each |", "| 63 | each |"),
    # both feeds
    _cell(
        "feeds", "FED004", _CORDS, {"side_a_device": "leaf-01-1", "side_a_name": "PSU2"}, {"side_b_device": "pdu-a06-1"}
    ),
    _cell("feeds", "FED001", _CORDS, {"side_a_device": "node001", "side_a_name": "PSU3"}, {}, drop=True),
    _cell(
        "feeds", "FED002", _CORDS, {"side_a_device": "node001", "side_a_name": "PSU1"}, {"side_b_device": "pdu-a02-1"}
    ),
    _cell("feeds", "FED003", _PORTS, {"device": "node001", "name": "PSU1"}, {"maximum_draw": "170"}, site=ETHERNET),
    _cell("feeds", "FED001", _CORDS, {"side_a_device": "node002", "side_a_name": "PSU1"}, {"side_b_name": "outlet-1"}),
    _cell("feeds", "FED003", _PORTS, {"device": "node003", "name": "PSU6"}, {}, drop=True),
    _cell("feeds", "FED008", _OUTLETS, {"device": "pdu-a06-2"}, {"device": "pdu-a06-1"}, nth=None),
    _cell("phases", "FED006", _OUTLETS, {"device": "pdu-a01-1", "name": "outlet-1"}, {"feed_leg": "D"}),
    _cell("phases", "FED006", _OUTLETS, {"device": "pdu-a01-1"}, {"feed_leg": "B"}, nth=None),
    _cell("phases", "FED006", _OUTLETS, {"device": "pdu-a02-2", "name": "outlet-3"}, {"feed_leg": ""}),
    _cell("circuits", "FED007", _FEED_CABLES, {"side_b_device": "r001-ps-8"}, {}, drop=True, site=WHOLE_RACKS),
    _cell(
        "circuits",
        "FED007",
        _FEED_CABLES,
        {"side_b_device": "pdu-a01-2"},
        {"side_a_power_panel": "feed-A", "side_a_name": "A01-1"},
    ),
    _cell("circuits", "FED007", _FEEDS, {"name": "A01-1"}, {"rack": "A02"}),
    # functions in two racks
    _cell("sides", "RAC009", _RACKS, {"device": "ufm-2"}, {"rack": "A06", "u": "40"}),
    _cell("sides", "RAC009", _RACKS, {"device": "st-ufm-2"}, {"rack": "A06", "u": "41"}),
    _cell("sides", "RAC009", _RACKS, {"device": "eth-leaf-01b"}, {"rack": "A06", "u": "42"}),
    # addresses
    _cell("addresses", "IPA003", "ip-plan.csv", {"device": "node001"}, {"address": "10.64.0.1"}),
    _cell("addresses", "IPA003", "ip-plan.csv", {"device": "node002", "interface": "bond0"}, {"vlan": "999"}),
    _cell(
        "addresses", "IPA004", "ip-plan.csv", {"device": "node003", "interface": "mgmt"}, {}, drop=True, site=ETHERNET
    ),
    _cell("addresses", "IPA001", "ip-networks.csv", {"network": "in-band"}, {"prefix": "10.64.0.0/25"}),
    _cell("addresses", "IPA002", "ip-networks.csv", {"network": "in-band"}, {"vlan": "100"}, site=WHOLE_RACKS),
    _cell("addresses", "IPA005", "dhcp-hosts.csv", {"device": "node004"}, {"address": "10.64.1.250"}),
    _cell("addresses", "IPA006", "netbox/9-ip-addresses.csv", {"device": "node001"}, {"device": "node002"}),
    # pages and drawings
    _text("page", "PAG001", "README.md", "288 GPUs", "228 GPUs"),
    _text("page", "PAG001", "power_and_cooling.md", "| **IT load** | **", "| **IT load** | **1"),
    _text("page", "PAG002", "racks.svg", "node001: dgx-h100, U1–U8", "node001: dgx-h100, U9–U16", site=ETHERNET),
    # words and keys
    _cell("word or key", "VOC001", "netbox/8-vlans.csv", {"vid": "101"}, {}, repeat=True),
    _cell("word or key", "VOC002", "netbox/5-power-feeds.csv", {"name": "A01-1"}, {"phase": "two-phase"}),
    _cell(
        "word or key", "VOC003", "netbox/4-power-panels.csv", {"name": "feed-B"}, {"name": "feed-X"}, site=WHOLE_RACKS
    ),
    _cell("word or key", "VOC002", _BILL, {"part": "qm9700"}, {"quote_unit_price": "30k"}, site=WHOLE_RACKS),
    # the border
    _cell("border", "CAB009", _CABLES, {"tier": "top-border"}, {"to_device": "oob-01", "to_port": "30"}),
    _cell("border", "NET106", "fabric.csv", {"tier": "border"}, {"ports_up": "2"}, site=ETHERNET),
    _cell("border", "BOM002", _BILL, {"part": "qsfp28-cwdm4"}, {}, drop=True, site=WHOLE_RACKS),
    _cell("border", "NET107", "uplinks.csv", {"uplink": "U001"}, {}, drop=True),
    _cell("border", "NET107", "uplinks.csv", {"uplink": "U002"}, {"from_port": "1"}, site=ETHERNET),
    _cell(
        "border",
        "NET107",
        "uplinks.csv",
        {"uplink": "U002"},
        {"from_device": "border-01", "from_port": "60", "from_rack": "A07"},
    ),
    _cell("border", "NET107", "uplinks.csv", {"uplink": "U001"}, {"from_device": "oob-01"}),
    _cell("border", "NET107", "uplinks.csv", {"uplink": "U001"}, {"from_rack": "A01"}, site=WHOLE_RACKS),
    # what is to be quoted
    _cell("to be quoted", "BOM007", _BILL, {"part": "freight"}, {"usd_each": "0", "usd_total": "0"}),
    _cell("to be quoted", "BOM007", _BILL, {"part": "border-firewall"}, {"quantity": "0"}, site=ETHERNET),
    _cell("to be quoted", "BOM002", _BILL, {"part": "power-cord"}, {"quantity": "31"}),
    # the Ethernet fabric
    _cell(
        "Ethernet fabric",
        "FAB005",
        _CABLES,
        {"tier": "node-leaf", "network": "compute", "from_device": "node001"},
        {},
        swap=("to_rack", "to_u", "to_device", "to_port"),
        site=ETHERNET,
    ),
    _cell(
        "Ethernet fabric", "FAB002", _CABLES, {"tier": "leaf-spine", "network": "compute"}, {}, drop=True, site=ETHERNET
    ),
    _cell(
        "Ethernet fabric",
        "FAB004",
        _CABLES,
        {"tier": "leaf-spine", "network": "compute"},
        {"to_device": "leaf-01-2", "to_port": "60/1"},
        site=ETHERNET,
    ),
    _cell(
        "Ethernet fabric",
        "FAB001",
        _CABLES,
        {"tier": "node-leaf", "network": "compute", "from_device": "node036"},
        {},
        nth=None,
        drop=True,
        site=ETHERNET,
    ),
)

_README = "README.md"


def _user(kind: str, *edits: Edit, site: str = INFINIBAND) -> Fault:
    return Fault(kind=kind, site=site, expected="", edits=edits)


#: What a user may do to the documents: nothing of it is a fault.
LEGITIMATE: tuple[Fault, ...] = (
    # quotes
    _user(
        "quote",
        Edit(
            file=_BILL,
            where={"part": "dgx-h100"},
            cells={
                "quote_unit_price": "301000",
                "quote_currency": "USD",
                "quote_vendor": "Acme GmbH",
                "quote_lead_time_weeks": "14",
                "quoted_on": "2026-11-18",
            },
        ),
    ),
    _user(
        "quote",
        Edit(
            file=_BILL,
            where={"part": "qm9700"},
            cells={
                "quote_unit_price": "28500.50",
                "quote_currency": "EUR",
                "quote_vendor": "Beispiel AG",
                "quoted_on": "2026-11-20",
            },
        ),
        site=WHOLE_RACKS,
    ),
    _user("quote", Edit(file=_BILL, where={"category": "network"}, nth=None, cells={"quote_vendor": "Acme GmbH"})),
    _user("quote", Edit(file=_BILL, where={"part": "sn5600"}, cells={"quote_unit_price": "41000"}), site=ETHERNET),
    # serial numbers, asset tags
    _user("serial number", Edit(file=_RACKS, where={"device": "node001"}, cells={"serial": "1660223001"})),
    _user("serial number", Edit(file=_DEVICES, where={"name": "node001"}, cells={"serial": "1660223001"})),
    _user(
        "serial number",
        Edit(file=_DEVICES, where={"role": "network"}, nth=None, cells={"serial": "MT2231"}),
        site=ETHERNET,
    ),
    _user("asset tag", Edit(file=_DEVICES, where={"name": "leaf-01-1"}, cells={"asset_tag": "IT-00417"})),
    _user(
        "asset tag", Edit(file=_RACKS, where={"rack": "A01"}, nth=None, cells={"asset_tag": "IT-1"}), site=WHOLE_RACKS
    ),
    # MAC addresses
    _user(
        "MAC address",
        Edit(
            file="netbox/6-interfaces.csv",
            where={"device": "node001", "name": "mgmt"},
            cells={"mac_address": "5c:25:73:00:00:01"},
        ),
    ),
    _user(
        "MAC address",
        Edit(
            file="netbox/6-interfaces.csv", where={"name": "mgmt"}, nth=None, cells={"mac_address": "5c:25:73:00:00:02"}
        ),
        site=ETHERNET,
    ),
    _user(
        "MAC address",
        Edit(file="dhcp-hosts.csv", where={"device": "node001"}, cells={"mac_address": "5c:25:73:00:00:01"}),
    ),
    # notes
    _user("note", Edit(file=_BILL, where={"part": "dgx-h100"}, cells={"note": "offer 4711, with racks"})),
    _user("note", Edit(file=_BILL, where={"part": "mma4z00-ns"}, nth=1, cells={"note": "for stock, second batch"})),
    _user("note", Edit(file=_CABLES, where={"network": "compute"}, cells={"remark": "laid by team B"})),
    _user("note", Edit(file=_CABLES, where={"network": "storage"}, nth=None, cells={"laid": "2026-12-01", "by": "JD"})),
    _user("note", Edit(file="netbox/7-cables.csv", where={"label": "C000001"}, cells={"description": "tested"})),
    _user("note", Edit(file=_LABELS, where={"cable": "C000001"}, nth=None, cells={"printed": "yes"})),
    _user("note", Edit(file="acceptance.md", new="\nTested on site by the vendor.\n")),
    _user("note", Edit(file="procurement.md", new="\nOrdered in two batches.\n"), site=ETHERNET),
    _user(
        "far end",
        Edit(file="uplinks.csv", where={"uplink": "U001"}, cells={"to_port": "Eth1/7", "length_m": "85"}),
    ),
    # status in NetBox, contact, date
    _user("status", Edit(file=_DEVICES, where={"rack": "A01"}, nth=None, cells={"status": "active"})),
    _user("status", Edit(file="netbox/7-cables.csv", where={"label": "C000003"}, cells={"status": "connected"})),
    _user(
        "status", Edit(file="netbox/4-racks.csv", where={"name": "A01"}, cells={"status": "active"}), site=WHOLE_RACKS
    ),
    _user("contact", Edit(file="netbox/3-sites.csv", where={"name": "planned"}, cells={"contact": "Jane Doe"})),
    _user("contact", Edit(file=_README, new="\nContact: Jane Doe, +49 30 1234567.\n")),
    _user("date", Edit(file=_README, new="\nAs of 2026-12-24.\n"), site=WHOLE_RACKS),
    # settings
    _user("setting", Edit(file="slurmdbd.conf", old="PurgeJobAfter=24months", new="PurgeJobAfter=60months")),
    _user("setting", Edit(file="slurm.conf", old="GresTypes=gpu", new="GresTypes=gpu\nSlurmctldDebug=info")),
    _user("setting", Edit(file="slurm.conf", old="SlurmctldTimeout=300", new="SlurmctldTimeout=180"), site=ETHERNET),
    _user(
        "setting",
        Edit(
            file="slurm.conf",
            old="PartitionName=gpu",
            new="PartitionName=debug Nodes=node[001-002] MaxTime=01:00:00 State=UP\nPartitionName=gpu",
        ),
    ),
    _user(
        "setting", Edit(file="cgroup.conf", old="ConstrainCores=yes", new="ConstrainCores=yes\nConstrainSwapSpace=yes")
    ),
    _user("setting", Edit(file=_SBATCH, old="--time=UNLIMITED", new="--time=60-00:00:00")),
    _user("setting", Edit(file=_SBATCH, old="NCCL_DEBUG=WARN", new="NCCL_DEBUG=INFO"), site=WHOLE_RACKS),
    _user(
        "setting",
        Edit(file=_SBATCH, old="#SBATCH --requeue", new="#SBATCH --requeue\n#SBATCH --mail-type=END"),
        site=ETHERNET,
    ),
    _user("setting", Edit(file="topology.conf", old="SwitchName=su1", new="# checked by JD\nSwitchName=su1")),
)
