"""Single mistakes in on-premises folders, written by a reviewer who had not read the rules that look for them."""

from tests.checks.prove.changes import Change, Fault, cell, text, without


def fault(kind: str, site: str, *changes: Change) -> Fault:
    """A mistake with its changes."""
    return Fault(kind, site, changes)


RACKSCALE = """\
name: rackscale
description: Train Llama 3.1 70B in three racks of NVL72 that two teams share.
workload: {kind: train, model: llama-3.1-70b, tokens: 900e9, sequence_length: 8192, global_batch: 432, precision: bf16}
goals: {finish_within: 90 days}
targets:
  onprem: {system: gb200-nvl72, min_nodes: 3, max_nodes: 3, scheduler: slurm}
site: {rack_power: 160 kW, rack_height: 48 U}
cluster:
  host_prefix: tray
  partition: prod
  groups: [{name: vision, gid: 2201}]
  users:
    - {name: maria, uid: 3101, groups: [vision],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4wiXTt7vO6ZcLwRAPBxHcvZpXHzMlYZsbEQ7dzvXxq maria@desk"],
       administrator: true}
    - {name: tomas, uid: 3102,
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBHJ0Gv6x5mVqk2oVw2lRDQxK1mU9jZr8xj3nS9WkYdT tomas@desk"]}
tenants:
  - {name: vision, share: 50 %, users: [maria], max_gpus_per_user: 96, longest_job: 5 days}
  - {name: speech, share: 25 %, users: [tomas, maria], when_free: keep}
"""

ETHER = """\
name: ether
description: Train Llama 3.1 70B on twenty HGX H200 over Ethernet with Kubernetes.
workload: {kind: train, model: llama-3.1-70b, tokens: 300e9, sequence_length: 4096, global_batch: 640, precision: bf16}
goals: {finish_within: 120 days}
targets:
  onprem:
    system: hgx-h200-8gpu
    min_nodes: 20
    max_nodes: 20
    scheduler: kubernetes
    fabric: {kind: roce, switch: sn5600}
site: {rack_power: 44 kW, rack_height: 48 U}
cluster: {host_prefix: hgx}
"""

UNITS = """\
name: units
description: Train Mixtral 8x22B on forty DGX B200, storage from DDN.
workload: {kind: train, model: mixtral-8x22b, tokens: 800e9, sequence_length: 4096, global_batch: 1280, precision: bf16}
goals: {finish_within: 180 days}
targets:
  onprem:
    system: dgx-b200
    min_nodes: 40
    max_nodes: 40
    scheduler: slurm
    storage: {system: ddn, capacity: 3 PB, box: {capacity: 500 TB, height: 2 U}}
    spares: {nodes: 5 %, switches: 10 %, transceivers: 3 %, cables: 3 %, pdus: 5 %}
site:
  rack_power: 46 kW
  rack_height: 48 U
  hall: {rows: 2}
  network: {range: 10.96.0.0/13, first_vlan: 300}
cluster: {host_prefix: b200n, partition: train}
"""

ANSWERS = """\
name: answers
description: DeepSeek-V3 for long answers on DGX B200 with Kubernetes.
workload: {kind: serve, model: deepseek-v3, precision: fp8, framework: vllm}
traffic:
  requests_per_s: 60
  input_tokens: {mean: 1800, p95: 5000}
  output_tokens: {mean: 700, p95: 2000}
goals: {first_token: 3 s, time_per_token: 60 ms, percentile: 95}
replicas: {spare: 1}
targets:
  onprem: {system: dgx-b200, scheduler: kubernetes}
site: {rack_power: 44 kW, rack_height: 48 U}
cluster: {host_prefix: inf}
"""

SITES: dict[str, str] = {"rackscale": RACKSCALE, "ether": ETHER, "units": UNITS, "answers": ANSWERS}

R, E, U, A = "rackscale", "ether", "units", "answers"
BILL, CABLES, LABELS, PLAN_OF_ADDRESSES = "bill_of_materials.csv", "cables.csv", "labels.csv", "ip-plan.csv"
NVUE, FRR = "provisioning/switches/nvue/", "provisioning/switches/frr/"
SERVING, CONTROL = "kubernetes/serving/", "kubernetes/control-plane/"

FAULTS: tuple[Fault, ...] = (
    # A port takes one cable: the second crew finds it taken.
    fault("port taken twice in the schedule", U, cell(CABLES, "C000001,", "to_port", "1/2")),
    fault("port taken twice in the schedule", E, cell(CABLES, "C000089,", "to_port", "7/1")),
    fault("port taken twice in the schedule", R, cell(CABLES, "C001003,", "to_port", "2")),
    fault("port taken twice in the schedule", A, cell(CABLES, "C000391,", "to_port", "2")),
    # A rail that ends on another rail's leaf halves the speed of collectives; the leaf's own port stays dark.
    fault("cable to another leaf", U, cell(CABLES, "C000002,", "to_device", "leaf-01-3")),
    fault("cable to another leaf", E, cell(CABLES, "C000003,", "to_device", "leaf-01-2")),
    fault("cable to another leaf", R, cell(CABLES, "C000004,", "to_device", "leaf-02-4")),
    # The way along the trays is longer than what is ordered.
    fault("cable too short", U, cell(CABLES, "C000001,", "length_m", "5")),
    fault("cable too short", E, cell(CABLES, "C000089,", "length_m", "2")),
    fault("cable too short", R, cell(CABLES, "C001003,", "length_m", "3")),
    # It does not go into the cage, or is of the other end of the link.
    fault("transceiver of another port", E, cell(CABLES, "C000001,", "from_transceiver", "mma4z00-ns-flt")),
    fault("transceiver of another port", U, cell(CABLES, "C000001,", "from_transceiver", "qsfp112-400g-mmf")),
    fault("transceiver of another port", E, cell(CABLES, "C000692,", "to_transceiver", "qsfp112-400g-mmf")),
    fault("transceiver of another port", R, cell(CABLES, "C000001,", "from_transceiver", "qsfp28-cwdm4")),
    # Copper of 2 m is ordered for 10 m, or 1 Gb/s for 100 Gb/s, or the row contradicts its own part.
    fault("part against kind of cable", R, cell(CABLES, "C000962,", "kind", "multimode")),
    fault("part against kind of cable", U, cell(CABLES, "C001076,", "part", "eth-dac-100")),
    fault("part against kind of cable", E, cell(CABLES, "C000835,", "part", "cat6-copper")),
    # What is printed on the sleeve sends the crew to another port, rack or drum.
    fault("label of another end", U, cell(LABELS, "C000001,from", "line_2", "A01 U01 b200n001:1/2")),
    fault("label of another end", E, cell(LABELS, "C000003,to", "line_2", "A04 U05 leaf-01-2:1/1")),
    fault("label of another end", A, cell(LABELS, "C000001,from", "line_1", "C000001 30 m")),
    fault("label of another end", R, cell(LABELS, "C001206,from", "line_2", "A02 U26 tray030:mgmt")),
    # A link that everything else counts is not in the schedule.
    fault("cable lost from the schedule", U, without(CABLES, "C000010,")),
    fault("cable lost from the schedule", E, without(CABLES, "C000333,")),
    fault("cable lost from the schedule", A, without(CABLES, "C000392,")),
    # Two devices in one unit.
    fault("rack unit taken twice", E, cell("racks.csv", "A01,9,8,hgx002", "u", "8")),
    fault("rack unit taken twice", U, cell("racks.csv", "A08,4,1,leaf-01-2", "u", "3")),
    fault("rack unit taken twice", R, cell("racks.csv", "A05,8,2,eth-leaf-02a", "u", "7")),
    # Feeds and heat are summed from it: a digit lost, a figure of the generation before.
    fault("power of a device", E, cell("racks.csv", "A01,17,8,hgx003", "power_w", "1020")),
    fault("power of a device", U, cell("racks.csv", "A01,11,10,b200n002", "power_w", "10200")),
    fault("power of a device", R, cell("racks.csv", "A05,6,2,eth-leaf-01a", "power_w", "46")),
    # Fewer devices are ordered than stand in the racks; the total goes with the count, as in a spreadsheet.
    fault(
        "bill against racks", E, cell(BILL, "2,sn5600", "quantity", "11"), cell(BILL, "2,sn5600", "usd_total", "605000")
    ),
    fault(
        "bill against racks", U, cell(BILL, "11,sn2201", "quantity", "2"), cell(BILL, "11,sn2201", "usd_total", "8000")
    ),
    fault(
        "bill against racks",
        R,
        cell(BILL, "4,sn4600c", "quantity", "4"),
        cell(BILL, "4,sn4600c", "usd_total", "100000"),
    ),
    fault(
        "bill against racks",
        A,
        cell(BILL, "1,dgx-b200", "quantity", "9"),
        cell(BILL, "1,dgx-b200", "usd_total", "4635000"),
    ),
    # Quantity times price is another sum.
    fault("total of a line", E, cell(BILL, "4,sn4600c", "usd_total", "25000")),
    fault("total of a line", R, cell(BILL, "29,ufm-enterprise-appliance", "usd_total", "40000")),
    fault("total of a line", A, cell(BILL, "13,mcp4y10", "usd_total", "2184")),
    # The schedule has more of them.
    fault(
        "bill against the schedule",
        E,
        cell(BILL, "15,mfp7e10", "quantity", "722"),
        cell(BILL, "15,mfp7e10", "usd_total", "72200"),
    ),
    fault(
        "bill against the schedule",
        U,
        cell(BILL, "23,mma4z00-ns", "quantity", "508"),
        cell(BILL, "23,mma4z00-ns", "usd_total", "609600"),
    ),
    fault(
        "bill against the schedule",
        A,
        cell(BILL, "25,qsfp112-400g-mmf", "quantity", "20"),
        cell(BILL, "25,qsfp112-400g-mmf", "usd_total", "17000"),
    ),
    fault(
        "bill against the schedule",
        R,
        cell(BILL, "9,cat6-copper", "quantity", "171"),
        cell(BILL, "9,cat6-copper", "usd_total", "855"),
    ),
    # procurement.md promises spares that the order does not have, or the other way round.
    fault("spares of bill and procurement", U, without(BILL, "2,dgx-b200")),
    fault(
        "spares of bill and procurement", U, text("procurement.md", "| switches | 42 | 7 |", "| switches | 42 | 4 |")
    ),
    fault(
        "spares of bill and procurement", A, text("procurement.md", "| cables | 450 | 14 |", "| cables | 540 | 14 |")
    ),
    fault(
        "spares of bill and procurement",
        E,
        cell(BILL, "18,mma4z00-ns", "quantity", "4"),
        cell(BILL, "18,mma4z00-ns", "usd_total", "4800"),
    ),
    # The page that is signed and the table that is ordered from differ.
    fault(
        "bill as page and as table",
        U,
        text("bill_of_materials.md", "| 1 | dgx-b200 | DGX B200 | 40 |", "| 1 | dgx-b200 | DGX B200 | 38 |"),
    ),
    fault("bill as page and as table", R, text("bill_of_materials.md", "11,469,735.00", "11,649,735.00")),
    fault("bill as page and as table", E, text("bill_of_materials.md", "370,000.00", "307,000.00")),
    # Two machines with one address.
    fault("address given twice", U, cell(PLAN_OF_ADDRESSES, "b200n007,bond0", "address", "10.96.2.21")),
    fault("address given twice", E, cell(PLAN_OF_ADDRESSES, "hgx010,storage-2", "address", "10.64.4.16")),
    fault("address given twice", R, cell(PLAN_OF_ADDRESSES, "tray020,compute-3", "address", "10.64.12.34")),
    fault("address given twice", A, cell(PLAN_OF_ADDRESSES, "inf004,bond0", "address", "10.64.1.18")),
    # Power is switched off at another machine.
    fault("BMC of another machine", U, cell("provisioning/machines.csv", "b200n010,", "bmc_address", "10.96.0.52")),
    fault("BMC of another machine", E, cell("provisioning/machines.csv", "hgx010,", "bmc_address", "10.64.0.24")),
    fault(
        "BMC of another machine",
        R,
        text("provisioning/warewulf/nodes.conf", "ipaddr: 10.64.0.17", "ipaddr: 10.64.0.71", "  tray002:"),
    ),
    # The host sends everything to an address where no router is.
    fault("gateway", E, cell("dhcp-hosts.csv", "hgx003,bond0", "gateway", "10.64.2.2")),
    fault("gateway", U, cell("ip-networks.csv", "in-band,", "gateway", "10.96.2.129")),
    fault("gateway", R, cell("dhcp-hosts.csv", "tray009,bond0", "gateway", "10.64.0.1")),
    fault("gateway", A, text("provisioning/warewulf/nodes.conf", "gateway: 10.64.1.1", "gateway: 10.64.1.254")),
    # The mask is another than the prefix says.
    fault("netmask", U, cell("ip-networks.csv", "in-band,", "netmask", "255.255.255.0")),
    fault("netmask", R, cell("ip-networks.csv", "out-of-band,", "netmask", "255.255.254.0")),
    fault("netmask", A, text("provisioning/warewulf/nodes.conf", "netmask: 255.255.255.128", "netmask: 255.255.255.0")),
    fault("netmask", E, cell(PLAN_OF_ADDRESSES, "hgx012,compute-1", "prefix_length", "25")),
    # Frames go into another network than the address is of.
    fault("VLAN of another network", E, cell("netbox/8-prefixes.csv", "10.64.5.0/24", "vlan", "105")),
    fault("VLAN of another network", R, cell("dhcp-hosts.csv", "tray003,bond0", "vlan", "100")),
    fault("VLAN of another network", E, cell(PLAN_OF_ADDRESSES, "hgx012,compute-1", "vlan", "101")),
    fault("VLAN of another network", U, cell("netbox/8-vlans.csv", "planned,301", "vid", "303")),
    # NetBox is what people look addresses up in.
    fault("NetBox address", U, cell("netbox/9-ip-addresses.csv", "10.96.2.16/25", "address", "10.96.2.16/24")),
    fault("NetBox address", R, cell("netbox/9-ip-addresses.csv", "10.64.10.17/24", "device", "tray003")),
    fault("NetBox address", E, cell("netbox/9-ip-addresses.csv", "10.64.6.2/24", "interface", "compute-3")),
    # Elevations of NetBox and of the folder differ.
    fault("NetBox place of a device", U, cell("netbox/5-devices.csv", "b200n001,", "position", "2")),
    fault("NetBox place of a device", E, cell("netbox/5-devices.csv", "hgx005,", "rack", "A03")),
    fault("NetBox place of a device", R, cell("netbox/5-devices.csv", "tray002,", "device_type", "Quantum-2 QM9700")),
    fault("NetBox place of a device", A, cell("netbox/4-racks.csv", "planned,A01", "u_height", "42")),
    # The import draws another link than the crew lays.
    fault(
        "NetBox end of a cable",
        U,
        cell("netbox/7-cables.csv", "b200n001,dcim.interface,compute-1/1", "side_b_name", "compute-1/2"),
    ),
    fault(
        "NetBox end of a cable",
        E,
        cell("netbox/7-cables.csv", "hgx001,dcim.interface,compute-2", "side_b_device", "leaf-01-3"),
    ),
    fault("NetBox end of a cable", R, cell("netbox/7-cables.csv", "tray002,dcim.interface,compute-1", "length", "3")),
    # Both supplies of a device hang on one PDU: it dies with that one.
    fault(
        "cord on the wrong side",
        U,
        cell("netbox/7-power-cables.csv", "b200n001,dcim.powerport,PSU2", "side_b_name", "outlet-20"),
        cell("netbox/7-power-cables.csv", "b200n001,dcim.powerport,PSU2", "side_b_device", "pdu-a01-1"),
    ),
    fault(
        "cord on the wrong side",
        E,
        cell("netbox/7-power-cables.csv", "leaf-01-1,dcim.powerport,PSU2", "side_b_name", "outlet-24"),
        cell("netbox/7-power-cables.csv", "leaf-01-1,dcim.powerport,PSU2", "side_b_device", "pdu-a04-1"),
    ),
    fault(
        "cord on the wrong side",
        R,
        cell("netbox/7-power-cables.csv", "ufm-1,dcim.powerport,PSU2", "side_b_name", "outlet-24"),
        cell("netbox/7-power-cables.csv", "ufm-1,dcim.powerport,PSU2", "side_b_device", "pdu-a03-1"),
    ),
    # The breaker is smaller than the load after a failure, or A and B come from one panel.
    fault("feed or breaker", U, cell("netbox/5-power-feeds.csv", "planned,feed-A,A01,A01-1", "amperage", "32")),
    fault("feed or breaker", E, cell("netbox/5-power-feeds.csv", "planned,feed-B,A04,A04-2", "power_panel", "feed-A")),
    fault("feed or breaker", R, cell("netbox/5-power-feeds.csv", "planned,feed-A,A01,A01-3", "voltage", "208")),
    fault("feed or breaker", A, cell("netbox/5-power-feeds.csv", "planned,feed-A,A01,A01-1", "phase", "single-phase")),
    # A feed ends at another PDU than its rack's.
    fault(
        "feed to another PDU",
        U,
        cell("netbox/7-power-feed-cables.csv", "feed-B,dcim.powerfeed,A01-2", "side_b_device", "pdu-a02-2"),
    ),
    fault(
        "feed to another PDU",
        R,
        cell("netbox/7-power-feed-cables.csv", "feed-B,dcim.powerfeed,A01-2", "side_b_device", "r001-ps-3"),
    ),
    fault("feed to another PDU", E, without("netbox/7-power-feed-cables.csv", "feed-A,dcim.powerfeed,A05-1")),
    # A supply that draws less than its share overloads what is planned with it; a leg repeated unbalances phases.
    fault("draw of a supply", U, cell("netbox/6-power-ports.csv", "b200n001,PSU1", "maximum_draw", "1100")),
    fault("draw of a supply", R, cell("netbox/6-power-ports.csv", "r001-ps-1,", "maximum_draw", "1875")),
    fault("draw of a supply", E, cell("netbox/6-power-ports.csv", "hgx001,PSU2", "maximum_draw", "17000")),
    # Height, plug and purpose of the device are other ones than in the rest of the folder.
    fault(
        "NetBox type of a device",
        E,
        text("netbox/1-device-types/generic-hgx-h200-8gpu.yaml", "u_height: 8", "u_height: 6"),
    ),
    fault(
        "NetBox type of a device", U, text("netbox/1-device-types/nvidia-dgx-b200.yaml", "u_height: 10", "u_height: 8")
    ),
    fault(
        "NetBox type of a device", R, text("netbox/1-device-types/nvidia-sn4600c.yaml", "u_height: 2", "u_height: 1")
    ),
    fault("NetBox interface", U, cell("netbox/6-interfaces.csv", "b200n001,compute-1/1", "type", "200gbase-x-qsfp56")),
    fault("NetBox interface", R, cell("netbox/6-interfaces.csv", "r001-nvs-8,mgmt", "mgmt_only", "false")),
    fault("NetBox interface", E, without("netbox/6-interfaces.csv", "leaf-01-3,compute-1/1,")),
    # slurmd reports other hardware than is configured, and the node is drained; or hardware lies idle.
    fault("Slurm node", U, text("slurm.conf", "CoresPerSocket=56", "CoresPerSocket=64")),
    fault("Slurm node", R, text("slurm.conf", "RealMemory=869750", "RealMemory=1769750")),
    fault("Slurm node", U, text("slurm.conf", "Gres=gpu:b200:8", "Gres=gpu:b200:4")),
    fault("Slurm node", R, text("slurm.conf", "NodeName=tray[001-054]", "NodeName=tray[001-053]")),
    # Nodes out of reach, a tenant locked out, or a limit in another unit.
    fault(
        "Slurm partition", R, text("slurm.conf", "Nodes=tray[001-054]", "Nodes=tray[001-036]", "PartitionName=vision")
    ),
    fault("Slurm partition", R, text("slurm.conf", "AllowAccounts=speech", "AllowAccounts=vision")),
    fault("Slurm partition", R, text("slurm.conf", "MaxTime=5-00:00:00", "MaxTime=5:00:00")),
    fault(
        "Slurm partition", U, text("slurm.conf", "Nodes=b200n[001-040]", "Nodes=b200n[001-032]", "PartitionName=train")
    ),
    # Shares and limits other than tenants.md promises, or a QOS that nobody makes.
    fault("limit of a tenant", R, text("node/tenants.sh", "gres/gpu=108", "gres/gpu=180")),
    fault(
        "limit of a tenant",
        R,
        text("node/tenants.sh", "MaxTRESPerUser=gres/gpu=96", "MaxTRESPerUser=gres/gpu=69", "level vision Priority"),
    ),
    fault(
        "limit of a tenant", R, text("node/tenants.sh", "Preempt=vision-spare", "Preempt=speech-spare", "level speech")
    ),
    fault("limit of a tenant", R, text("node/tenants.sh", "Fairshare=667", "Fairshare=333")),
    fault("limit of a tenant", R, without("node/tenants.sh", "member tomas speech")),
    fault("page of tenants", R, text("tenants.md", "| 50 % | 108 |", "| 50 % | 72 |")),
    fault("page of tenants", R, text("tenants.md", "| 54 | no |", "| 54 | all that is free |")),
    fault("page of tenants", R, text("tenants.md", "--qos=vision-spare", "--qos=spare-vision")),
    # Two lines name one device, or cores of the other socket, or a type that slurm.conf does not know.
    fault("gres.conf", U, text("gres.conf", "File=/dev/nvidia[4-7]", "File=/dev/nvidia[0-3]")),
    fault("gres.conf", U, text("gres.conf", "Cores=56-111", "Cores=0-55")),
    fault("gres.conf", R, text("gres.conf", "Type=gb200", "Type=gb300")),
    fault("gres.conf", R, text("gres.conf", "tray[001-054]", "tray[001-045]")),
    # A node below no switch, below two, or switches that no path joins.
    fault("topology.conf", U, text("topology.conf", "b200n[001-032]", "b200n[001-031]")),
    fault("topology.conf", U, text("topology.conf", "b200n[033-040]", "b200n[032-040]")),
    fault("topology.conf", R, text("topology.conf", "BlockSizes=18,36", "BlockSizes=16,32")),
    fault("topology.conf", R, text("topology.conf", "tray[019-036]", "tray[018-035]")),
    # Two controllers need one state folder, and daemons run where the folder says.
    fault("servers of Slurm", U, text("slurm.conf", "SlurmctldHost=mgmt-002", "SlurmctldHost=mgmt-003")),
    fault(
        "servers of Slurm", R, text("slurm.conf", "AccountingStorageHost=mgmt-002", "AccountingStorageHost=mgmt-001")
    ),
    fault("servers of Slurm", U, text("slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-001")),
    fault(
        "servers of Slurm",
        R,
        text("slurm.conf", "StateSaveLocation=/shared/slurm/slurmctld", "StateSaveLocation=/var/spool/slurmctld"),
    ),
    fault("servers of Slurm", U, without("slurm.conf", "SlurmctldHost=mgmt-002")),
    # Slurm refuses the pair, or jobs see what they did not ask for.
    fault("settings of Slurm that do not fit", U, text("slurm.conf", "PrologFlags=Alloc,Contain", "PrologFlags=Alloc")),
    fault(
        "settings of Slurm that do not fit",
        R,
        text("slurm.conf", "TaskPlugin=task/cgroup,task/affinity", "TaskPlugin=task/none"),
    ),
    fault("settings of Slurm that do not fit", R, text("cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no")),
    fault(
        "settings of Slurm that do not fit",
        U,
        text("slurm.conf", "SelectType=select/cons_tres", "SelectType=select/linear"),
    ),
    fault("settings of Slurm that do not fit", U, without("slurm.conf", "GresTypes=gpu")),
    fault(
        "settings of Slurm that do not fit",
        R,
        text("slurm.conf", "PreemptType=preempt/qos", "PreemptType=preempt/none"),
    ),
    # The checks of a node count against it: every node is drained, or a bad one passes.
    fault("node.env", U, text("node/node.env", "GPUS_PER_NODE=8", "GPUS_PER_NODE=4")),
    fault("node.env", R, text("node/node.env", "FABRIC_INTERFACES=4", "FABRIC_INTERFACES=8")),
    fault("node.env", U, text("node/node.env", "GBIT_PER_S=400", "GBIT_PER_S=200")),
    fault("node.env", R, text("node/node.env", "CONTROLLER_ADDRESS=mgmt-001", "CONTROLLER_ADDRESS=mgmt-003")),
    # The job asks for other nodes, GPUs or partition than there are.
    fault("what the job asks for", U, text("launch/train.sbatch", "#SBATCH --nodes=40", "#SBATCH --nodes=32")),
    fault("what the job asks for", U, text("launch/train.sbatch", "--nnodes=40", "--nnodes=38")),
    fault("what the job asks for", U, text("launch/train.sbatch", "--gres=gpu:b200:8", "--gres=gpu:h100:8")),
    fault("what the job asks for", R, text("launch/train.sbatch", "--nproc-per-node=4", "--nproc-per-node=8")),
    fault("what the job asks for", R, text("launch/job.env", "JOB_PARTITION=prod", "JOB_PARTITION=gpu")),
    # The layout that was planned no longer divides ranks, layers or the batch as planned.
    fault(
        "layout of the job",
        R,
        text("launch/train.sbatch", "--tensor-model-parallel-size 2", "--tensor-model-parallel-size 8"),
    ),
    fault(
        "layout of the job",
        E,
        text("kubernetes/jobs/train.yaml", "--pipeline-model-parallel-size=2", "--pipeline-model-parallel-size=3"),
    ),
    fault(
        "layout of the job", E, text("kubernetes/jobs/train.yaml", "--global-batch-size=640", "--global-batch-size=600")
    ),
    fault(
        "layout of the job",
        E,
        text("kubernetes/jobs/train.yaml", "--train-samples=73242188", "--train-samples=7324218"),
    ),
    # Checkpoints on one node's disk, folders that are on no mount.
    fault(
        "folder of the job",
        R,
        text(
            "launch/job.env",
            "CHECKPOINT_PATH=/shared/checkpoints/rackscale",
            "CHECKPOINT_PATH=/scratch/checkpoints/rackscale",
        ),
    ),
    fault(
        "folder of the job",
        U,
        text("launch/train.sbatch", "#SBATCH --chdir=/shared/launch/units", "#SBATCH --chdir=/shared/launch/unit"),
    ),
    fault("folder of the job", E, text("kubernetes/storage.yaml", "path: /shared/workload", "path: /share/workload")),
    # GPUs or rails other than the node has or the processes need.
    fault("GPUs of a pod", E, text("kubernetes/jobs/train.yaml", "nvidia.com/gpu: '8'", "nvidia.com/gpu: '4'")),
    fault("GPUs of a pod", E, text("kubernetes/jobs/train.yaml", "nvidia.com/rail-8: '1'", "nvidia.com/rails-8: '1'")),
    fault("GPUs of a pod", A, text(SERVING + "replicas.yaml", "nvidia.com/gpu: 8", "nvidia.com/gpu: 4")),
    fault("GPUs of a pod", A, text("kubernetes/jobs/all_reduce.yaml", "--nproc-per-node=8", "--nproc-per-node=4")),
    # Nodes are tainted and labelled: without these pods stay Pending.
    fault(
        "toleration or selector of nodes",
        E,
        text("kubernetes/jobs/train.yaml", "key: nvidia.com/gpu\n", "key: nvidia.com/gpus\n"),
    ),
    fault("toleration or selector of nodes", A, text(SERVING + "replicas.yaml", "node-kind: gpu", "node-kind: gpus")),
    fault(
        "toleration or selector of nodes",
        E,
        text("kubernetes/network/nic-cluster-policy.yaml", "key: nvidia.com/gpu", "key: gpu"),
    ),
    fault(
        "toleration or selector of nodes",
        A,
        text("kubernetes/values/gpu-operator.yaml", "effect: NoSchedule", "effect: NoExecute"),
    ),
    # The service, pool, monitor or budget finds no pod.
    fault(
        "selector of pods", A, text(SERVING + "service.yaml", "component: engine", "component: server", "  selector:\n")
    ),
    fault("selector of pods", A, text(SERVING + "monitoring/pods.yaml", "component: engine", "component: engines")),
    fault(
        "selector of pods",
        A,
        text(SERVING + "gateway.yaml", "name: answers\n", "name: answer\n", "kind: InferencePool\nmetadata"),
    ),
    fault("selector of pods", E, text("kubernetes/jobs/train.yaml", "job-name: ether", "job-name: train")),
    # Nothing listens there.
    fault("port or probe", A, text(SERVING + "replicas.yaml", "containerPort: 8000", "containerPort: 8080")),
    fault("port or probe", A, text(SERVING + "replicas.yaml", "path: /health", "path: /healthz", "readinessProbe")),
    fault("port or probe", A, text(SERVING + "gateway.yaml", "number: 8000", "number: 8080")),
    fault("port or probe", A, text(SERVING + "service.yaml", "port: 8000", "port: 80", "kind: NetworkPolicy")),
    fault("port or probe", A, text(SERVING + "gateway.yaml", "number: 9002", "number: 9003")),
    # More than all of the cluster is promised, or the queue hangs in the air.
    fault("queue", A, text("kubernetes/queues.yaml", "'2010'", "'20100'")),
    fault("queue", E, text("kubernetes/queues.yaml", "clusterQueue: gpu", "clusterQueue: gpus")),
    fault("queue", E, text("kubernetes/queues.yaml", "topology.gpu-cluster/unit", "topology.gpu-cluster/units")),
    # Placement follows these labels.
    fault("labels of nodes", E, text("kubernetes/node-labels.yaml", '"a02"', '"a03"')),
    fault("labels of nodes", A, text("kubernetes/node-labels.yaml", '"inf010"', '"inf011"')),
    fault("labels of nodes", A, text("kubernetes/node-labels.yaml", "node-kind: gpu", "node-kind: cpu", '"inf004"')),
    # The shared address is another machine's, a server is in no certificate, pods get addresses of machines.
    fault("control plane", E, text(CONTROL + "kube-vip.yaml", "10.64.2.15", "10.64.2.16")),
    fault("control plane", E, without(CONTROL + "kubeadm-init.yaml", "  - 10.64.2.82")),
    fault("control plane", A, text(CONTROL + "kubeadm-init.yaml", "10.32.0.0/11", "10.64.0.0/11")),
    fault("control plane", E, text(CONTROL + "kubeadm-join-node.yaml", ":6443", ":6444")),
    fault("control plane", A, text(CONTROL + "kube-vip.yaml", "value: 'true'", "value: 'false'", "vip_leaderelection")),
    fault(
        "control plane",
        A,
        text(CONTROL + "kubeadm-init.yaml", "advertiseAddress: 10.64.1.48", "advertiseAddress: 10.64.0.68"),
    ),
    # kubelet keeps more than is left for the pods, or the runtime's groups are another driver's.
    fault("kubelet", E, text(CONTROL + "kubeadm-init.yaml", "cgroupDriver: systemd", "cgroupDriver: cgroupfs")),
    fault("kubelet", A, text(CONTROL + "kubeadm-init.yaml", "memory: 8Gi", "memory: 800Gi")),
    fault("kubelet", E, text(CONTROL + "kubeadm-init.yaml", "failSwapOn: true", "failSwapOn: maybe")),
    # Another release than software.md has chosen.
    fault("release on Kubernetes", E, text("kubernetes/values/gpu-operator.yaml", "595.91.07", "580.65.06")),
    fault("release on Kubernetes", E, text("kubernetes/README.md", "--version v26.7.0", "--version v24.9.2")),
    fault(
        "release on Kubernetes",
        A,
        text("kubernetes/network/nic-cluster-policy.yaml", "network-operator-v26.4.1", "network-operator-v25.1.0"),
    ),
    fault("release on Kubernetes", A, text(CONTROL + "kube-vip.yaml", "kube-vip:v1.0.2", "kube-vip:v0.8.2")),
    # Hosts mark packets otherwise than switches trust: without ECN or losslessness, RoCE collapses under load.
    fault("marks of RoCE", E, text("kubernetes/jobs/train.yaml", "'106'", "'104'")),
    fault("marks of RoCE", E, text("provisioning/switches/roce.md", "--pfc=0,0,0,1,0,0,0,0", "--pfc=0,0,1,0,0,0,0,0")),
    fault("marks of RoCE", E, text("provisioning/switches/roce.md", "| DSCP of RoCE | 26 |", "| DSCP of RoCE | 24 |")),
    fault("marks of RoCE", E, text(NVUE + "leaf-01-3.txt", "qos roce mode lossless", "qos roce mode lossy")),
    fault("marks of RoCE", E, without(NVUE + "leaf-01-5.txt", "nv set qos roce enable on")),
    # One port in another VLAN, one trunk with small frames, the gateway of another leaf.
    fault(
        "port of a switch",
        E,
        text(
            NVUE + "leaf-01-2.txt",
            "swp4s1 bridge domain br_default access 110",
            "swp4s1 bridge domain br_default access 101",
        ),
    ),
    fault("port of a switch", E, text(NVUE + "leaf-01-4.txt", "swp33s0 link mtu 9216", "swp33s0 link mtu 1500")),
    fault("port of a switch", E, text(NVUE + "leaf-01-3.txt", "10.64.7.1/24", "10.64.6.1/24")),
    fault("port of a switch", E, without(NVUE + "st-leaf-01a.txt", "nv set bridge domain br_default vlan 105")),
    fault("port of a switch", E, without(NVUE + "leaf-01-6.txt", "nv set interface swp40s1 router adaptive-routing")),
    # The value of the neighbouring switch.
    fault(
        "identity of a switch",
        E,
        text(NVUE + "leaf-01-4.txt", "autonomous-system 4200000004", "autonomous-system 4200000003"),
    ),
    fault("identity of a switch", E, text(NVUE + "spine-002.txt", "hostname spine-002", "hostname spine-001")),
    fault("identity of a switch", E, text(FRR + "leaf-01-6.conf", "router bgp 4200000006", "router bgp 4200000005")),
    fault("identity of a switch", E, text(FRR + "spine-002.conf", "router-id 100.64.0.12", "router-id 100.64.0.11")),
    # A network is not announced, a trunk has no neighbour, one way is taken where there are 128.
    fault("routes of a switch", E, text(FRR + "leaf-01-1.conf", "10.64.5.0/24", "10.64.50.0/24")),
    fault("routes of a switch", E, without(FRR + "leaf-01-7.conf", " neighbor swp40s0 interface")),
    fault("routes of a switch", E, text(FRR + "st-leaf-01b.conf", "maximum-paths 128", "maximum-paths 1")),
    fault(
        "routes of a switch",
        E,
        text(FRR + "leaf-01-8.conf", "match ip address prefix-list own", "match ip address prefix-list mine"),
    ),
    # OpenSM does not know the word or the number, or keeps all ports from each other.
    fault("opensm", U, text("provisioning/opensm/compute.conf", "sm_priority 14", "sm_priority 20")),
    fault("opensm", R, text("provisioning/opensm/partitions.conf", "defmember=full", "defmember=limited")),
    fault("opensm", A, text("provisioning/opensm/storage.conf", "routing_engine ftree,updn", "routing_engine fattree")),
    # Time is refused to the machines, or asked of one that has none.
    fault("time", R, text("provisioning/services/chrony.conf", "allow 10.64.4.0/24", "allow 10.64.40.0/24")),
    fault("time", R, text("provisioning/cloud-init/compute.yaml", "10.64.4.162", "10.64.4.161")),
    fault("time", U, text("provisioning/cloud-init/login.yaml", "10.96.2.80", "10.96.2.8")),
    # Nobody sees the machine, or another answers in its name.
    fault("names and figures", U, without("provisioning/services/prometheus.yml", "          - b200n017:9400")),
    fault("names and figures", A, text("provisioning/services/prometheus.yml", "inf003:9100", "inf003:9101")),
    fault("names and figures", E, text("provisioning/services/hosts", "10.64.2.19\t", "10.64.2.91\t")),
    fault("names and figures", R, text("provisioning/services/hosts", "\ttray007\n", "\ttray006\n")),
    # The alert never fires, or always.
    fault("alert of the site", A, text("provisioning/services/alerts.yml", "< 8", "< 4")),
    fault(
        "alert of the site",
        R,
        text("provisioning/services/alerts.yml", "(DCGM_FI_DEV_GPU_TEMP) < 4", "(DCGM_FI_DEV_GPU_TEMP) < 8"),
    ),
    fault("alert of the site", U, text("provisioning/services/alerts.yml", 'up{job="machine"}', 'up{job="node"}')),
    fault("alert of the site", E, text("provisioning/services/alerts.yml", "> 0.05", "> 50")),
    fault("alert of the site", A, text("provisioning/services/alerts.yml", "< 0.1", "> 0.1")),
    # Of the service: a share above one, a model that nobody serves, a threshold that its own sentence contradicts.
    fault(
        "alert of the service",
        A,
        text(
            SERVING + "monitoring/rules.yaml",
            'ratio_rate1h{service="answers"} > 0.72',
            'ratio_rate1h{service="answers"} > 14.4',
        ),
    ),
    fault(
        "alert of the service",
        A,
        text(SERVING + "monitoring/rules.yaml", 'model_name="deepseek-v3"', 'model_name="deepseek-r1"', "RequestsWait"),
    ),
    fault("alert of the service", A, text(SERVING + "monitoring/rules.yaml", "1408.46", "14084.6")),
    fault(
        "alert of the service",
        A,
        text(
            SERVING + "monitoring/rules.yaml", "ratio_rate6h\n", "ratio_rate6hours\n", "first_token_missed:ratio_rate5m"
        ),
    ),
    # The engine cannot hold the requests or the weights that the plan has.
    fault("sizes of the service", A, text(SERVING + "replicas.yaml", "'40960'", "'4096'")),
    fault("sizes of the service", A, text(SERVING + "replicas.yaml", "- '8'", "- '4'", "--tensor-parallel-size")),
    fault("sizes of the service", A, text(SERVING + "replicas.yaml", "sizeLimit: 690Gi", "sizeLimit: 69Gi")),
    fault(
        "sizes of the service", A, text(SERVING + "replicas.yaml", "deepseek-v3", "deepseek-v2", "--served-model-name")
    ),
    # More replicas than nodes, a least above the most, upgrades that wait for ever.
    fault("replicas of the service", A, text(SERVING + "replicas.yaml", "replicas: 10", "replicas: 12")),
    fault("replicas of the service", A, text(SERVING + "scaling.yaml", "minReplicaCount: 10", "minReplicaCount: 11")),
    fault("replicas of the service", A, text(SERVING + "service.yaml", "maxUnavailable: 1", "maxUnavailable: 0")),
    fault("replicas of the service", A, text(SERVING + "deploy.env", "FEWEST=10", "FEWEST=1")),
    # The test asks for another load than the plan answers.
    fault("load of the test", A, text(SERVING + "loadtest/vllm_bench.sh", "6.66667", "66.6667")),
    fault(
        "load of the test",
        A,
        text(SERVING + "loadtest/aiperf.sh", "--output-tokens-mean 700", "--output-tokens-mean 70"),
    ),
    fault("load of the test", A, text(SERVING + "loadtest/plan.json", '"replicas": 9', '"replicas": 19')),
    # kernel.csv says another value, RDMA cannot pin memory, logs go nowhere.
    fault(
        "settings of a machine",
        U,
        text("provisioning/cloud-init/compute.yaml", "net.core.rmem_max = 134217728", "net.core.rmem_max = 13421772"),
    ),
    fault(
        "settings of a machine",
        E,
        text("provisioning/cloud-init/compute.yaml", "soft memlock unlimited", "soft memlock 65536"),
    ),
    fault("settings of a machine", A, text("provisioning/cloud-init/control.yaml", "@@mgmt-001:514", "@@mgmt-011:514")),
    fault("settings of a machine", R, cell("provisioning/kernel.csv", "compute,kernel.numa_balancing", "value", "1")),
    # The image is written to another machine's address.
    fault("Warewulf node", U, text("provisioning/warewulf/nodes.conf", "ipaddr: 10.96.2.16", "ipaddr: 10.96.2.17")),
    fault("Warewulf node", A, text("provisioning/warewulf/nodes.conf", "- compute", "- login", "  inf002:")),
    fault("Warewulf node", E, text("provisioning/warewulf/nodes.conf", "  hgx004:", "  hgx040:")),
    # The machine is enlisted as one that it is not, or its BMC is not reached.
    fault("enlisting at MAAS", R, text("provisioning/maas/enlist.sh", "arm64/generic", "amd64/generic")),
    fault(
        "enlisting at MAAS",
        U,
        text("provisioning/maas/enlist.sh", "read -r name role mac _ bmc", "read -r name role mac bmc _"),
    ),
    fault("enlisting at MAAS", E, text("provisioning/maas/enlist.sh", '$3 == ""', '$2 == ""')),
    # The value is the contrary of what the row says why.
    fault(
        "firmware setting",
        E,
        cell("provisioning/firmware.csv", "HCA,LINK_TYPE", "value", "ETH (1) on Ethernet; IB (2) on InfiniBand"),
    ),
    fault("firmware setting", U, cell("provisioning/firmware.csv", "BIOS,ACS on PCIe switches", "value", "on")),
    fault("firmware setting", A, cell("provisioning/firmware.csv", "BIOS,deep sleep of cores (C6)", "value", "on")),
    # Below what the set requires, or a Fabric Manager that is not the driver's: GPUs do not start.
    fault("version of a node", U, cell("node/versions.csv", "cuda,", "version", "12.4")),
    fault("version of a node", R, cell("node/versions.csv", "driver,", "version", "570.86.10")),
    fault("version of a node", U, cell("node/versions.csv", "fabricmanager,", "version", "580.65.06")),
    fault("version of a node", R, cell("node/versions.csv", "doca-ofed,", "version", "2.5.0")),
    fault(
        "version of a node", A, text("software.md", "| Fabric Manager | 595.91.07 |", "| Fabric Manager | 580.65.06 |")
    ),
    # What is paid for against another number than is delivered.
    fault("number of the acceptance", E, text("acceptance.md", "7 racks, 19 PDUs", "6 racks, 19 PDUs")),
    fault("number of the acceptance", U, text("acceptance.md", "836 compute", "863 compute")),
    fault("number of the acceptance", R, text("acceptance.md", "54 answer", "72 answer")),
    fault("number of the acceptance", U, text("acceptance.md", "4x NDR", "4x HDR")),
    fault("number of the acceptance", A, text("acceptance.md", "8 compute ports", "4 compute ports")),
    fault("floor of the acceptance", U, text("acceptance.md", "at least 30.5 GB/s", "at least 3.05 GB/s")),
    fault("floor of the acceptance", R, text("acceptance.md", "2,533 tokens/s", "25,330 tokens/s")),
    fault("floor of the acceptance", E, text("acceptance.md", "at least 7.23 TB", "at least 7.23 PB")),
    # People act on it at night.
    fault(
        "runbook",
        A,
        text(
            "runbook.md",
            "mgmt-001, mgmt-002, mgmt-003 (Kubernetes control plane and etcd)",
            "mgmt-001, mgmt-002 (Kubernetes control plane and etcd)",
        ),
    ),
    fault("runbook", R, text("runbook.md", "nodes, up to 90", "nodes, up to 190")),
    fault("runbook", E, text("runbook.md", "more than 50 ms off", "more than 5 s off")),
    fault("runbook", U, text("runbook.md", "Fabric Manager 595.91.07", "Fabric Manager 580.95.05")),
    # The first page counts otherwise than the tables.
    fault("first page", U, text("README.md", "in 18 racks", "in 17 racks")),
    fault("first page", E, text("README.md", "8 leaf, 4 spine", "8 leaf, 2 spine")),
    fault("first page", R, text("README.md", "with 216 GPUs", "with 288 GPUs")),
    fault("first page", A, text("README.md", "the longest is 10 m", "the longest is 30 m")),
    # Rooms are built by it.
    fault("page of power", U, text("power_and_cooling.md", "| 572.0 kW |", "| 527.0 kW |")),
    fault("page of power", U, text("power_and_cooling.md", "| 39.3 A | 40 A | 60 A |", "| 39.3 A | 40 A | 32 A |")),
    fault("page of power", R, text("power_and_cooling.md", "1,842,876 BTU/h", "184,287 BTU/h")),
    fault("page of power", E, text("power_and_cooling.md", "19 PDUs in all", "14 PDUs in all")),
    fault("check-list", R, text("checklist.md", "16 items pass, 0 fail, 18", "18 items pass, 0 fail, 16")),
    fault(
        "check-list",
        U,
        text(
            "checklist.md",
            "| 4 supplies of a node left | 5 needed | **fail** |",
            "| 4 supplies of a node left | 5 needed | pass |",
        ),
    ),
    fault("check-list", E, text("checklist.md", "| 40.8 kW (A01) |", "| 48.0 kW (A01) |")),
    # Storage that is ordered by it.
    fault("page of storage", U, text("storage.md", "8 DDN AI400X2 Turbo", "6 DDN AI400X2 Turbo")),
    fault("page of storage", A, text("storage.md", "12 ports of 3 boxes", "16 ports of 4 boxes")),
    fault("page of storage", R, text("storage.md", "240 cables", "204 cables")),
    # Switches and ports per tier are another count than in racks and schedule.
    fault("table of the fabric", U, cell("fabric.csv", "compute,leaf", "switches", "8")),
    fault("table of the fabric", E, cell("fabric.csv", "compute,leaf", "ports_up", "256")),
    fault("table of the fabric", R, cell("fabric.csv", "out-of-band,access", "ports_down", "169")),
    # Two links in one port, a switch that is not there, glass that the transceiver cannot light.
    fault("uplink", E, cell("uplinks.csv", "U003,", "from_port", "64")),
    fault("uplink", U, cell("uplinks.csv", "U002,", "from_rack", "A08")),
    fault("uplink", R, cell("uplinks.csv", "U001,", "from_device", "border-03")),
    fault("uplink", A, cell("uplinks.csv", "U002,", "part", "mfp7e10")),
    # The discovery is compared with it port by port.
    fault(
        "ibnetdiscover", U, text("fabric.ibnetdiscover", '[2]\t"H-00000000010000c0"[1]', '[2]\t"H-0000000001000140"[1]')
    ),
    fault("ibnetdiscover", R, text("storage.ibnetdiscover", '"st-leaf-01b" base port', '"st-leaf-01a" base port')),
    fault("ibnetdiscover", A, text("fabric.ibnetdiscover", '[1]\t"S-', '[2]\t"S-')),
    fault("graph of the fabric", U, without("fabric.dot", '  "b200n001" -- "leaf-01-5"')),
    fault("graph of the fabric", E, without("fabric.dot", '  "leaf-01-5" [shape=box]')),
    fault("graph of the fabric", U, text("fabric.dot", '"b200n001" -- "leaf-01-6"', '"b200n001" -- "leaf-02-6"')),
    # Files of one person belong to another; a group or person that is not there.
    fault("users", R, text("node/users.list", "user tomas 3102", "user tomas 3101")),
    fault("users", R, text("node/users.list", "yes vision", "yes visions")),
    fault("users", R, text("node/users.list", "key tomas", "key thomas")),
    # The script is called by another name, so that the prolog fails and drains every node.
    fault("script that is not there", R, text("node/prolog.sh", "node_check.sh", "nodecheck.sh")),
    fault(
        "script that is not there",
        U,
        text("slurm.conf", "Epilog=/opt/gpu-cluster/epilog.sh", "Epilog=/opt/gpu_cluster/epilog.sh"),
    ),
    fault("script that is not there", U, text("slurm.conf", "health_check.sh", "healthcheck.sh")),
    # A tray is counted to another rack's NVLink domain.
    fault("NVLink domain", R, cell("node/nvlink_domains.csv", "tray018,", "domain", "nvl2")),
    fault("NVLink domain", R, cell("node/nvlink_domains.csv", "tray037,", "domain", "nvl2")),
    fault("NVLink domain", R, without("node/nvlink_domains.csv", "tray054,")),
    # A page tells to do what the files do not hold.
    fault("page against files", R, text("jobs.md", "mlx5_0,mlx5_1,mlx5_4,mlx5_5", "mlx5_0,mlx5_1,mlx5_2,mlx5_3")),
    fault(
        "page against files", E, text(CONTROL + "README.md", "| mgmt-003 | 10.64.2.81 |", "| mgmt-003 | 10.64.2.83 |")
    ),
    fault("page against files", A, text("kubernetes/README.md", "8; 80 in all", "8; 96 in all")),
    fault("page against files", U, text("provisioning/README.md", "44 machines", "42 machines")),
)
