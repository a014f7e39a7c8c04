"""Single mistakes in on-premises folders, written by a sixth reviewer who had not read the rules that look for them."""

from tests.checks.prove.changes import Change, Fault, cell, text, without


def fault(kind: str, site: str, *changes: Change) -> Fault:
    """A mistake with its changes."""
    return Fault(kind, site, changes)


GBRACK = """\
name: gbrack
description: Train Llama 3.1 405B on four racks of GB200 NVL72 with Slurm, users of an LDAP directory.
workload: {kind: train, model: llama-3.1-405b, tokens: 100e9, sequence_length: 8192, global_batch: 512, precision: bf16}
goals: {finish_within: 120 days}
targets:
  onprem:
    system: gb200-nvl72
    min_nodes: 4
    max_nodes: 4
    scheduler: slurm
    storage: {system: vast, front_box: {read: 25 GB/s, write: 12 GB/s}}
    spares: {transceivers: 3 %, cables: 3 %, pdus: 5 %}
site:
  cooling: direct-to-chip
  rack_power: 155 kW
  rack_height: 48 U
  cdu: {heat: 600 kW, spare: 1}
  ups: {power: 1.5 MVA, efficiency: 96 %}
  network: {range: 10.32.0.0/13, first_vlan: 310, uplinks: 6}
cluster:
  host_prefix: gbn
  partition: nvl
  identity: directory
  groups: [{name: ops, gid: 2101}]
  users:
    - {name: mara, uid: 3101, groups: [ops],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4wiXTt7vO6ZcLwRAPBxHcvZpXHzMlYZsbEQ7dzvXxq mara@desk"],
       administrator: true}
  directory:
    uris: ["ldaps://ldap1.corp.example", "ldaps://ldap2.corp.example"]
    base: dc=corp,dc=example
    layout: rfc2307bis
    bind_dn: cn=reader,ou=services,dc=corp,dc=example
    allowed_groups: [hpc-users]
    administrators: hpc-admins
    first_id: 20000
    last_id: 59999
tenants:
  - {name: base, share: 50 %, users: [olga, pavel], max_gpus: 216, longest_job: 7 days}
  - {name: eval, share: 25 %, users: [quinn], max_gpus_per_user: 36, when_free: keep}
"""

ETHER = """\
name: ether
description: DeepSeek-V3 for a help desk on HGX B200 over Ethernet with Kubernetes.
workload: {kind: serve, model: deepseek-v3, precision: fp8, framework: vllm}
traffic:
  requests_per_s: 90
  input_tokens: {mean: 2000, p95: 6000}
  output_tokens: {mean: 600, p95: 1800}
  peak_over_mean: 1.5
goals: {first_token: 2 s, time_per_token: 50 ms, percentile: 95}
replicas: {spare: 2}
targets:
  onprem:
    system: hgx-b200-8gpu
    fabric: {kind: roce, switch: sn5600}
    node: {power: 14.3 kW, height: 10 U, weight: 140 kg}
    scheduler: kubernetes
    storage: {system: ddn-x3, box: {capacity: 500 TB, read: 110 GB/s, write: 75 GB/s, height: 2 U,
              power: 2.2 kW, weight: 40 kg}}
    spares: {nodes: 5 %, switches: 5 %}
software:
  mig: {geometry: [3g.90gb, 3g.90gb], nodes: 1}
site:
  rack_power: 50 kW
  rack_height: 52 U
  feed: {voltage: 400 V AC, sources: 2}
  network: {range: 172.16.0.0/13, first_vlan: 700, uplinks: 8}
cluster: {host_prefix: eth}
tenants:
  - {name: helpdesk, share: 60 %, max_gpus: 96}
  - {name: lab, share: 20 %, when_free: keep}
"""

SMALL = """\
name: small
description: LoRA of Llama 3.1 70B on six Dell XE9680 with Slurm, GPUs of one node shared by MPS.
workload:
  kind: finetune
  model: llama-3.1-70b
  method: lora
  rank: 16
  targets: all
  sequence_length: 4096
  global_batch: 96
  framework: torchtune
  data: {samples: 100000, mean_tokens: 600, epochs: 2}
goals: {finish_within: 12 hours}
reliability: {spare_nodes: 1}
targets:
  onprem:
    system: dell-xe9680-h100
    min_nodes: 6
    max_nodes: 6
    node: {power: 10.6 kW}
    scheduler: slurm
    fabric: {kind: infiniband}
    storage: {system: gpfs, box: {capacity: 900 TB, read: 80 GB/s, write: 50 GB/s, height: 4 U,
              ports: 8, port_rate: 200 Gb/s, power: 2.6 kW, weight: 80 kg}}
software:
  sharing: {way: mps, parts: 4, nodes: 1}
site:
  rack_power: 24 kW
  rack_height: 42 U
  feed: {voltage: 208 V AC}
  network: {range: 192.168.0.0/16, first_vlan: 1200, uplinks: 4}
cluster:
  host_prefix: tuner
  partition: lora
  groups: [{name: speech, gid: 4101}, {name: legal, gid: 4102}]
  users:
    - {name: sven, uid: 4201, groups: [speech, legal],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4wiXTt7vO6ZcLwRAPBxHcvZpXHzMlYZsbEQ7dzvXxq sven@desk"],
       administrator: true}
    - {name: tilda, uid: 4202, groups: [speech],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBHJ0Gv6x5mVqk2oVw2lRDQxK1mU9jZr8xj3nS9WkYdT tilda@desk"]}
    - {name: ugo, uid: 4203, groups: [legal], ssh_keys: []}
tenants:
  - {name: speech, share: 50 %, users: [sven, tilda], max_gpus: 32}
  - {name: legal, share: 40 %, users: [ugo], max_gpus_per_user: 8, longest_job: 12 hours}
"""

SITES: dict[str, str] = {"gbrack": GBRACK, "two feeds": ETHER, "small": SMALL}

GB, ET, SM = "gbrack", "two feeds", "small"
BILL, CABLES, LABELS, ADDRESSES, DHCP = (
    "bill_of_materials.csv",
    "cables.csv",
    "labels.csv",
    "ip-plan.csv",
    "dhcp-hosts.csv",
)
NETWORKS, RACKS, UPLINKS, FABRIC = "ip-networks.csv", "racks.csv", "uplinks.csv", "fabric.csv"
DEVICES, FEEDS, POWER_PORTS = "netbox/5-devices.csv", "netbox/5-power-feeds.csv", "netbox/6-power-ports.csv"
OUTLETS, LINKS, POWER_CABLES = "netbox/6-power-outlets.csv", "netbox/7-cables.csv", "netbox/7-power-cables.csv"
PREFIXES, VLANS, NB_ADDRESSES = "netbox/8-prefixes.csv", "netbox/8-vlans.csv", "netbox/9-ip-addresses.csv"
PROV = "provisioning/"
MACHINES, KERNEL, FIRMWARE = PROV + "machines.csv", PROV + "kernel.csv", PROV + "firmware.csv"
HOSTS, CHRONY, PROM, ALERTS = (
    PROV + "services/hosts",
    PROV + "services/chrony.conf",
    PROV + "services/prometheus.yml",
    PROV + "services/alerts.yml",
)
NODES, BOND, ENLIST = PROV + "warewulf/nodes.conf", PROV + "maas/bond.sh", PROV + "maas/enlist.sh"
INIT, NVUE, FRR, OPENSM = PROV + "cloud-init/", PROV + "switches/nvue/", PROV + "switches/frr/", PROV + "opensm/"
CONTROL, SERVING = "kubernetes/control-plane/", "kubernetes/serving/"
POWER = "power_and_cooling.md"

FAULTS: tuple[Fault, ...] = (
    # What is bought.
    fault("bill total is not price times quantity", GB, cell(BILL, "2,qm9700", "usd_total", "1467000")),
    fault("bill total is not price times quantity", ET, cell(BILL, "5,sn5600", "usd_total", "110000")),
    fault("bill total is not price times quantity", SM, cell(BILL, "19,mma4z00", "usd_total", "3840")),
    fault(
        "bill buys fewer than are used",
        GB,
        cell(BILL, "17,mma4z00-ns", "quantity", "448"),
        cell(BILL, "17,mma4z00-ns", "usd_total", "537600"),
    ),
    fault(
        "bill buys fewer than are used",
        ET,
        cell(BILL, "27,qsfp112", "quantity", "216"),
        cell(BILL, "27,qsfp112", "usd_total", "183600"),
    ),
    fault("bill buys fewer than are used", SM, cell(BILL, "34,power-cord", "quantity", "36")),
    fault("bill buys fewer than are used", SM, cell(BILL, "31,pdu-208v", "quantity", "6")),
    fault("bill line is missing", GB, without(BILL, "29,ufm-enterprise")),
    fault("bill line is missing", ET, without(BILL, "33,management-server")),
    fault("bill line is missing", SM, without(BILL, "25,qsfp28")),
    fault("bill line is missing", ET, without(BILL, "41,nvidia-ai")),
    fault(
        "lengths in the bill are not those of the schedule",
        GB,
        text(BILL, "553 of 7 m, 538 of 10 m", "538 of 7 m, 553 of 10 m"),
    ),
    fault("lengths in the bill are not those of the schedule", ET, text(BILL, "4 of 15 m", "4 of 1.5 m")),
    fault("lengths in the bill are not those of the schedule", SM, text(BILL, "22 of 10 m", "22 of 1 m")),
    fault(
        "spares do not follow their share",
        GB,
        cell(BILL, "18,mma4z00", "quantity", "3"),
        cell(BILL, "18,mma4z00", "usd_total", "3600"),
    ),
    fault(
        "spares do not follow their share",
        ET,
        cell(BILL, "2,hgx-b200", "quantity", "1"),
        cell(BILL, "2,hgx-b200", "usd_total", "420000"),
    ),
    fault(
        "spares do not follow their share",
        SM,
        text("procurement.md", "| cables | 176 | 8 | 2 % |", "| cables | 176 | 1 | 2 % |"),
    ),
    fault(
        "spares do not follow their share",
        GB,
        text("procurement.md", "| pdus | 8 | 1 | 5 % |", "| pdus | 8 | 0 | 5 % |"),
    ),
    # Cables and racks.
    fault(
        "cable is too short for its way",
        GB,
        cell(CABLES, "C000001", "length_m", "2"),
        text(LABELS, "C000001 10 m", "C000001 2 m"),
        text(LABELS, "C000001 10 m", "C000001 2 m"),
        text(LINKS, "C000001,4caf50,10,m", "C000001,4caf50,2,m"),
    ),
    fault("cable is too short for its way", ET, cell(CABLES, "C000876", "length_m", "1")),
    fault(
        "cable is too short for its way",
        SM,
        cell(CABLES, "C000053", "length_m", "3"),
        text(LABELS, "C000053 10 m", "C000053 3 m"),
        text(LABELS, "C000053 10 m", "C000053 3 m"),
    ),
    fault(
        "two rails are swapped at a node",
        GB,
        cell(CABLES, "C000005", "to_device", "leaf-01-2"),
        cell(CABLES, "C000005", "to_u", "4"),
        cell(CABLES, "C000005", "label", "C000005 gbn002:1 - leaf-01-2:1/2"),
        cell(CABLES, "C000006", "to_device", "leaf-01-1"),
        cell(CABLES, "C000006", "to_u", "3"),
        cell(CABLES, "C000006", "label", "C000006 gbn002:2 - leaf-01-1:1/2"),
    ),
    fault(
        "two rails are swapped at a node",
        ET,
        text(LINKS, "eth001,dcim.interface,compute-1,leaf-01-1", "eth001,dcim.interface,compute-1,leaf-01-2"),
        text(LINKS, "eth001,dcim.interface,compute-2,leaf-01-2", "eth001,dcim.interface,compute-2,leaf-01-1"),
    ),
    fault(
        "two rails are swapped at a node",
        ET,
        cell(CABLES, "C000215", "to_device", "leaf-01-8"),
        cell(CABLES, "C000216", "to_device", "leaf-01-7"),
    ),
    fault(
        "both links of a machine end on one side",
        GB,
        cell(CABLES, "C001316", "to_device", "eth-leaf-02a"),
        cell(CABLES, "C001316", "to_port", "29"),
    ),
    fault(
        "both links of a machine end on one side",
        ET,
        cell(CABLES, "C000784", "to_device", "st-leaf-01a"),
        cell(CABLES, "C000784", "to_port", "28/2"),
        cell(CABLES, "C000784", "to_rack", "A06"),
        cell(CABLES, "C000784", "to_u", "20"),
    ),
    fault(
        "both links of a machine end on one side",
        SM,
        cell(CABLES, "C000124", "to_device", "eth-leaf-01a"),
        cell(CABLES, "C000124", "to_rack", "A03"),
        cell(CABLES, "C000124", "to_u", "2"),
        cell(CABLES, "C000124", "to_port", "20"),
    ),
    fault("transceiver does not fit its port", GB, cell(CABLES, "C000001", "from_transceiver", "mma4z00-ns")),
    fault("transceiver does not fit its port", ET, cell(CABLES, "C000215", "from_transceiver", "qsfp28-cwdm4")),
    fault("transceiver does not fit its port", SM, cell(CABLES, "C000053", "to_transceiver", "mma4z00-ns400")),
    fault("one port takes two cables", GB, cell(CABLES, "C000009", "to_port", "1/1")),
    fault("one port takes two cables", ET, cell(CABLES, "C000877", "to_port", "1")),
    fault("one port takes two cables", SM, cell(CABLES, "C000157", "to_port", "16")),
    fault("one port takes two cables", SM, cell(UPLINKS, "U003", "from_port", "64")),
    fault("label names another place", GB, cell(LABELS, "C000002,from", "line_3", "A03 U03 leaf-01-1:1/1")),
    fault("label names another place", ET, cell(LABELS, "C000785,to", "line_3", "A11 U11 eth026:1")),
    fault("label names another place", SM, cell(LABELS, "C000001,from", "line_2", "A01 U07 tuner002:1")),
    fault(
        "devices overlap in a rack",
        ET,
        cell(RACKS, "A01,11,10", "u", "10"),
        cell(DEVICES, "eth002,", "position", "10"),
    ),
    fault(
        "devices overlap in a rack", SM, cell(RACKS, "A01,7,6", "u", "5"), cell(DEVICES, "tuner002,", "position", "5")
    ),
    fault(
        "devices overlap in a rack",
        GB,
        cell(RACKS, "A05,28,1,mgmt-003", "u", "27"),
        cell(DEVICES, "mgmt-003,", "position", "27"),
    ),
    fault("height of a device is wrong", ET, cell(RACKS, "A11,21,10", "height_u", "8")),
    fault(
        "height of a device is wrong",
        SM,
        text("netbox/1-device-types/generic-dell-xe9680-h100.yaml", "u_height: 6", "u_height: 4"),
    ),
    fault(
        "height of a device is wrong",
        GB,
        text("netbox/1-device-types/nvidia-sn4600c.yaml", "u_height: 2", "u_height: 1"),
    ),
    fault("power of a device is wrong", GB, cell(RACKS, "A01,6,1,gbn002", "power_w", "666.6998667")),
    fault("power of a device is wrong", ET, cell(RACKS, "A01,1,10", "power_w", "10200")),
    fault("power of a device is wrong", SM, cell(POWER_PORTS, "tuner001,PSU1", "maximum_draw", "1060")),
    fault("power of a device is wrong", GB, cell(POWER_PORTS, "r001-ps-1,", "maximum_draw", "5500")),
    # Power.
    fault("feed has another rating", GB, cell(FEEDS, "planned,feed-A,A01,A01-1", "amperage", "32")),
    fault("feed has another rating", ET, cell(FEEDS, "planned,feed-B,A01,A01-2", "voltage", "230")),
    fault("feed has another rating", SM, cell(FEEDS, "planned,feed-A,A01,A01-1", "max_utilization", "100")),
    fault("feed has another rating", SM, cell(FEEDS, "planned,feed-B,A01,A01-2", "phase", "single-phase")),
    fault(
        "all of a rack hang on one source",
        GB,
        cell(FEEDS, "planned,feed-B,A01,A01-2", "power_panel", "feed-A"),
        cell("netbox/7-power-feed-cables.csv", "feed-B,dcim.powerfeed,A01-2", "side_a_power_panel", "feed-A"),
    ),
    fault("all of a rack hang on one source", ET, cell(FEEDS, "planned,feed-B,A06", "power_panel", "feed-A")),
    fault("all of a rack hang on one source", SM, cell(FEEDS, "planned,feed-B,A03", "power_panel", "feed-A")),
    fault(
        "both supplies hang on one PDU",
        GB,
        cell(POWER_CABLES, "leaf-01-1,dcim.powerport,PSU2", "side_b_device", "pdu-a03-1"),
        cell(POWER_CABLES, "leaf-01-1,dcim.powerport,PSU2", "side_b_name", "outlet-4"),
        cell(POWER_CABLES, "leaf-01-2,dcim.powerport,PSU1", "side_b_device", "pdu-a03-2"),
        cell(POWER_CABLES, "leaf-01-2,dcim.powerport,PSU1", "side_b_name", "outlet-3"),
    ),
    fault(
        "both supplies hang on one PDU",
        ET,
        cell(POWER_CABLES, "spine-001,dcim.powerport,PSU2", "side_b_device", "pdu-a06-1"),
        cell(POWER_CABLES, "spine-001,dcim.powerport,PSU2", "side_b_name", "outlet-6"),
        cell(POWER_CABLES, "spine-003,dcim.powerport,PSU1", "side_b_device", "pdu-a06-2"),
        cell(POWER_CABLES, "spine-003,dcim.powerport,PSU1", "side_b_name", "outlet-5"),
    ),
    fault(
        "both supplies hang on one PDU",
        SM,
        cell(POWER_CABLES, "leaf-01-1,dcim.powerport,PSU2", "side_b_device", "pdu-a03-1"),
        cell(POWER_CABLES, "leaf-01-1,dcim.powerport,PSU2", "side_b_name", "outlet-2"),
        cell(POWER_CABLES, "eth-leaf-01a,dcim.powerport,PSU1", "side_b_device", "pdu-a03-2"),
        cell(POWER_CABLES, "eth-leaf-01a,dcim.powerport,PSU1", "side_b_name", "outlet-1"),
    ),
    fault(
        "power page has a wrong sum", GB, text(POWER, "| Apparent power | 738.8 kVA", "| Apparent power | 666.7 kVA")
    ),
    fault(
        "power page has a wrong sum", ET, text(POWER, "| **IT load** | **436.0 kW**", "| **IT load** | **403.6 kW**")
    ),
    fault("power page has a wrong sum", SM, text(POWER, "| Heat | 256,378 BTU/h", "| Heat | 25,638 BTU/h")),
    fault(
        "power page has a wrong sum",
        GB,
        text(
            POWER,
            "| liquid | 510.0 kW, 1,740,120 BTU/h | 729 L/min",
            "| liquid | 510.0 kW, 1,740,120 BTU/h | 72.9 L/min",
        ),
    ),
    fault(
        "power page hides a failure",
        ET,
        text(
            POWER,
            "| one of 2 feeds | 1 of 3 | 2 | **too few: the nodes stop or slow down** |",
            "| one of 2 feeds | 1 of 3 | 2 | the nodes go on |",
        ),
    ),
    fault(
        "power page hides a failure",
        SM,
        text(
            POWER,
            "| one PDU | 2 of 3 | 4 | **too few: the nodes stop or slow down** |",
            "| one PDU | 2 of 3 | 5 | the nodes go on |",
        ),
    ),
    fault(
        "power page hides a failure",
        GB,
        text(
            POWER,
            "| one of 2 feeds | 4 of 8 | 4 | **too few: the nodes stop or slow down** |",
            "| one of 2 feeds | 4 of 8 | 5 | the nodes go on |",
        ),
    ),
    fault(
        "breaker is smaller than is needed",
        GB,
        text(POWER, "45.3 A | 56.7 A | 60 A | 60 A |", "45.3 A | 56.7 A | 50 A | 50 A |"),
    ),
    fault(
        "breaker is smaller than is needed",
        ET,
        text(POWER, "| 32.6 A | 40.7 A | 50 A | 63 A |", "| 32.6 A | 40.7 A | 32 A | 32 A |"),
    ),
    fault(
        "breaker is smaller than is needed",
        SM,
        text(POWER, "| 35.5 A | 44.4 A | 50 A | 60 A |", "| 35.5 A | 44.4 A | 40 A | 40 A |"),
    ),
    # Check-list, acceptance, storage, texts.
    fault(
        "check-list passes what fails",
        ET,
        text(
            "checklist.md",
            "2 supplies of a node left | 4 needed | **fail** |",
            "2 supplies of a node left | 4 needed | pass |",
        ),
    ),
    fault(
        "check-list passes what fails",
        SM,
        text(
            "checklist.md",
            "4 supplies of a node left | 5 needed | **fail** |",
            "4 supplies of a node left | 5 needed | pass |",
        ),
    ),
    fault("check-list passes what fails", GB, text("checklist.md", "13 are unknown", "0 are unknown")),
    fault(
        "check-list has another number",
        GB,
        text("checklist.md", "738.8 kVA asked | 1,500.0 kVA", "738.8 kVA asked | 150.0 kVA"),
    ),
    fault(
        "check-list has another number",
        ET,
        text(
            "checklist.md", "32.6 A on the fullest phase (A01) | 50.4 A", "32.6 A on the fullest phase (A01) | 63.0 A"
        ),
    ),
    fault(
        "check-list has another number",
        SM,
        text(
            "checklist.md", "32 out-of-band links | 32 devices and PDUs", "19 out-of-band links | 32 devices and PDUs"
        ),
    ),
    fault(
        "acceptance asks for too little",
        GB,
        text("acceptance.md", "at least 87.9 GB/s in all", "at least 8.79 GB/s in all"),
    ),
    fault("acceptance asks for too little", ET, text("acceptance.md", "86 answer", "68 answer")),
    fault(
        "acceptance asks for too little",
        SM,
        text(
            "acceptance.md",
            "look closer below 400, replace the node below 300",
            "look closer below 40, replace the node below 30",
        ),
    ),
    fault(
        "acceptance asks for too little",
        GB,
        text("acceptance.md", "4 GPUs, driver 595.91.07", "2 GPUs, driver 595.91.07"),
    ),
    fault(
        "acceptance counts something else",
        SM,
        text("acceptance.md", "1 switch, 48 ports, 48 links", "1 switch, 40 ports, 40 links"),
    ),
    fault(
        "acceptance counts something else",
        ET,
        text("acceptance.md", "512 links between switches", "256 links between switches"),
    ),
    fault(
        "acceptance counts something else",
        GB,
        text(
            "acceptance.md",
            "868 compute, 188 in-band, 224 out-of-band, 356 storage",
            "868 compute, 188 in-band, 356 out-of-band, 224 storage",
        ),
    ),
    fault(
        "storage page has another figure",
        GB,
        text(
            "storage.md", "they give 200 GB/s read and 96.0 GB/s write", "they give 200 GB/s read and 84.0 GB/s write"
        ),
    ),
    fault(
        "storage page has another figure",
        ET,
        text(
            "storage.md",
            "Together they hold 400 TB usable (80 % of raw capacity)",
            "Together they hold 500 TB usable (80 % of raw capacity)",
        ),
    ),
    fault(
        "storage page has another figure",
        SM,
        text(
            "storage.md",
            "| 900 TB | 80.0 GB/s | 50.0 GB/s | 8 × 200 Gb/s |",
            "| 900 TB | 80.0 GB/s | 50.0 GB/s | 8 × 20 Gb/s |",
        ),
    ),
    fault(
        "storage page has another figure",
        GB,
        text(
            "storage.md",
            "| write | VAST CBox SMC Gen6 (EPYC 9555P) | 87.9 GB/s | 12.0 GB/s | 8 |",
            "| write | VAST CBox SMC Gen6 (EPYC 9555P) | 87.9 GB/s | 12.0 GB/s | 7 |",
        ),
    ),
    fault(
        "summary contradicts the tables", GB, text("README.md", "32 leaf, 9 spine qm9700", "32 leaf, 8 spine qm9700")
    ),
    fault(
        "summary contradicts the tables",
        ET,
        text(
            "README.md",
            "Kubernetes control plane and etcd on mgmt-001 to mgmt-003; login on mgmt-004",
            "Kubernetes control plane and etcd on mgmt-001 to mgmt-002; login on mgmt-003 to mgmt-004",
        ),
    ),
    fault(
        "summary contradicts the tables",
        SM,
        text("README.md", "The fullest draws 21.2 of 24.0 kW (A01)", "The fullest draws 24.0 of 42.0 kW (A01)"),
    ),
    fault("summary contradicts the tables", SM, text("tenants.md", "| legal | 40 % | 19 |", "| legal | 40 % | 24 |")),
    fault("runbook leads the operator wrong", GB, text("runbook.md", "drain its 18 hosts", "drain its 8 hosts")),
    fault(
        "runbook leads the operator wrong",
        SM,
        text(
            "runbook.md",
            "driver, now 595.91.07 with Fabric Manager 595.91.07",
            "driver, now 595.91.07 with Fabric Manager 580.95.05",
        ),
    ),
    fault(
        "runbook leads the operator wrong",
        GB,
        text("runbook.md", "at most three releases forward at a time", "at most four releases forward at a time"),
    ),
    fault(
        "runbook leads the operator wrong",
        ET,
        text(
            "runbook.md",
            "mgmt-003 (Kubernetes control plane and etcd); mgmt-004 (login)",
            "mgmt-004 (Kubernetes control plane and etcd); mgmt-003 (login)",
        ),
    ),
    fault("fabric table counts wrong", GB, cell(FABRIC, "compute,spine", "switches", "8")),
    fault("fabric table counts wrong", ET, cell(FABRIC, "compute,leaf", "ports_up", "256")),
    fault("fabric table counts wrong", SM, cell(FABRIC, "out-of-band,access", "ports_down", "48")),
    fault("fabric drawing lacks or misplaces a link", GB, without("fabric.dot", '  "gbn001" -- "leaf-01-3";')),
    fault(
        "fabric drawing lacks or misplaces a link",
        ET,
        text("fabric.dot", '"eth002" -- "leaf-01-1"', '"eth002" -- "leaf-01-2"'),
    ),
    fault(
        "fabric drawing lacks or misplaces a link",
        SM,
        text("fabric.dot", '"tuner004" -- "leaf-01-1" [label="8"]', '"tuner004" -- "leaf-01-1" [label="4"]'),
    ),
    fault(
        "fabric drawing lacks or misplaces a link",
        SM,
        text(
            "fabric.ibnetdiscover",
            '[4]\t"H-0000000001000030"[1]\t# "tuner001 4"',
            '[4]\t"H-0000000001000020"[1]\t# "tuner001 3"',
        ),
    ),
    # Addresses.
    fault(
        "two machines have one address",
        GB,
        cell(ADDRESSES, "gbn002,bond0", "address", "10.32.4.16"),
        cell(DHCP, "gbn002,bond0", "address", "10.32.4.16"),
    ),
    fault("two machines have one address", ET, cell(DHCP, "oob-02,vlan", "address", "172.16.0.135")),
    fault("two machines have one address", SM, cell(NB_ADDRESSES, "192.168.1.240/27", "address", "192.168.1.208/27")),
    fault("gateway or length of an address is wrong", GB, cell(ADDRESSES, "gbn001,bond0", "gateway", "10.32.5.1")),
    fault("gateway or length of an address is wrong", ET, cell(ADDRESSES, "eth001,compute-2", "gateway", "172.16.5.1")),
    fault("gateway or length of an address is wrong", SM, cell(ADDRESSES, "tuner001,compute-1", "prefix_length", "24")),
    fault("gateway or length of an address is wrong", SM, cell(DHCP, "tuner003,bond0", "gateway", "192.168.0.1")),
    fault("networks overlap or do not add up", GB, cell(NETWORKS, "compute 2", "prefix", "10.32.10.128/25")),
    fault(
        "networks overlap or do not add up",
        ET,
        cell(NETWORKS, "storage st-leaf-01b", "prefix", "172.16.3.0/24"),
        cell(NETWORKS, "storage st-leaf-01b", "gateway", "172.16.3.1"),
    ),
    fault("networks overlap or do not add up", SM, cell(NETWORKS, "out-of-band", "netmask", "255.255.255.224")),
    fault("VLAN of a network is another", GB, cell(VLANS, "planned,311", "vid", "331")),
    fault("VLAN of a network is another", ET, cell(PREFIXES, "172.16.2.0/25", "vlan", "702")),
    fault("VLAN of a network is another", SM, cell(DHCP, "tuner001,mgmt", "vlan", "1201")),
    fault("machine is missing from a list", GB, without(DHCP, "gbn011,bond0")),
    fault("machine is missing from a list", ET, without(MACHINES, "eth026,")),
    fault("machine is missing from a list", SM, without(HOSTS, "192.168.0.154\tmgmt-002")),
    fault("machine is missing from a list", GB, without(PROM, "          - gbn037:9100")),
    fault(
        "names resolve to another machine",
        GB,
        text(HOSTS, "10.32.4.160\tmgmt-001", "10.32.4.161\tmgmt-001"),
        text(HOSTS, "10.32.4.161\tmgmt-003", "10.32.4.160\tmgmt-003"),
    ),
    fault("names resolve to another machine", ET, text(HOSTS, "172.16.2.42\teth027", "172.16.2.43\teth027")),
    fault(
        "names resolve to another machine", SM, text(HOSTS, "192.168.0.36\tmgmt-001-bmc", "192.168.0.16\tmgmt-001-bmc")
    ),
    fault("machine has another role or controller", GB, cell(MACHINES, "gbn003,", "bmc_address", "10.32.0.17")),
    fault("machine has another role or controller", ET, cell(MACHINES, "mgmt-003,", "role", "login")),
    fault("machine has another role or controller", SM, cell(MACHINES, "tuner006,", "role", "control")),
    # Provisioning.
    fault("Warewulf gives a machine other values", GB, text(NODES, "gateway: 10.32.4.1", "gateway: 10.32.4.254")),
    fault(
        "Warewulf gives a machine other values",
        ET,
        text(NODES, "ipaddr: 172.16.2.17", "ipaddr: 172.16.2.71", "eth002:"),
    ),
    fault(
        "Warewulf gives a machine other values", SM, text(NODES, "      - compute\n", "      - login\n", "tuner005:")
    ),
    fault("Warewulf gives a machine other values", GB, text(NODES, "mode: 802.3ad", "mode: balance-rr")),
    fault(
        "MAAS makes another bond or machine",
        GB,
        text(ENLIST, "architecture=arm64/generic", "architecture=amd64/generic"),
    ),
    fault("MAAS makes another bond or machine", ET, text(BOND, "bond_mode=802.3ad", "bond_mode=active-backup")),
    fault("MAAS makes another bond or machine", SM, text(BOND, "id cidr 192.168.0.128/25", "id cidr 192.168.0.0/26")),
    fault("MAAS makes another bond or machine", GB, text(BOND, "mtu=9000", "mtu=1500")),
    fault("machines ask the wrong clock", GB, text(INIT + "compute.yaml", "- 10.32.4.160", "- 10.32.4.161")),
    fault("machines ask the wrong clock", ET, text(INIT + "login.yaml", "- 172.16.2.82", "- 172.16.2.83")),
    fault("machines ask the wrong clock", SM, text(CHRONY, "allow 192.168.0.128/25", "allow 192.168.0.0/26")),
    fault("machines ask the wrong clock", GB, text(CHRONY, "local stratum 10 orphan", "local stratum 1")),
    fault("user data opens the machine", GB, text(INIT + "login.yaml", "ssh_pwauth: false", "ssh_pwauth: true")),
    fault("user data opens the machine", ET, text(INIT + "control.yaml", "disable_root: true", "disable_root: false")),
    fault("user data opens the machine", SM, text(INIT + "compute.yaml", 'permissions: "0644"', 'permissions: "0666"')),
    fault("limits starve RDMA", GB, text(INIT + "compute.yaml", "* hard memlock unlimited", "* hard memlock 65536")),
    fault("limits starve RDMA", ET, text(INIT + "compute.yaml", "* soft memlock unlimited", "* soft memlock 64")),
    fault("limits starve RDMA", SM, without(INIT + "compute.yaml", "      * hard memlock")),
    fault(
        "kernel setting is another",
        GB,
        text(INIT + "compute.yaml", "net.core.rmem_max = 134217728", "net.core.rmem_max = 134217"),
    ),
    fault(
        "kernel setting is another",
        ET,
        cell(KERNEL, "compute,kernel.numa_balancing", "value", "1"),
        text(INIT + "compute.yaml", "kernel.numa_balancing = 0", "kernel.numa_balancing = 1"),
    ),
    fault(
        "kernel setting is another",
        SM,
        text(INIT + "compute.yaml", "net.ipv4.conf.all.arp_ignore = 1", "net.ipv4.conf.all.arp_ignore = 0"),
    ),
    fault(
        "firmware setting slows or stops",
        GB,
        text(FIRMWARE, "IB (1) on InfiniBand; ETH (2) on Ethernet", "ETH (1) on InfiniBand; IB (2) on Ethernet"),
    ),
    fault("firmware setting slows or stops", ET, cell(FIRMWARE, "BIOS,ACS on PCIe switches", "value", "on")),
    fault("firmware setting slows or stops", SM, cell(FIRMWARE, "BIOS,hyper-threading", "value", "off")),
    fault(
        "firmware setting slows or stops",
        SM,
        cell(FIRMWARE, "BMC,network", "value", "shared port in the in-band network"),
    ),
    # Switches.
    fault(
        "filter of a switch is open",
        GB,
        text(
            NVUE + "eth-leaf-01a.txt", "nv set acl hosts rule 30 action deny", "nv set acl hosts rule 30 action permit"
        ),
    ),
    fault(
        "filter of a switch is open",
        ET,
        text(
            NVUE + "eth-leaf-01b.txt",
            "rule 40 match ip dest-ip 172.16.0.0/23",
            "rule 40 match ip dest-ip 172.16.2.0/25",
        ),
    ),
    fault(
        "filter of a switch is open", SM, without(NVUE + "border-02.txt", "nv set interface vlan1202 acl users inbound")
    ),
    fault(
        "filter of a switch is open",
        GB,
        text(NVUE + "border-01.txt", "rule 10 match ip dest-ip 10.32.4.0/24", "rule 10 match ip dest-ip 10.32.0.0/13"),
    ),
    fault(
        "switch has another gateway or VLAN",
        GB,
        text(NVUE + "eth-leaf-02b.txt", "vlan311 ip vrr address 10.32.4.1/24", "vlan311 ip vrr address 10.32.4.2/24"),
    ),
    fault(
        "switch has another gateway or VLAN",
        ET,
        text(NVUE + "leaf-01-1.txt", "vlan710 ip address 172.16.5.1/24", "vlan710 ip address 172.16.6.1/24"),
    ),
    fault(
        "switch has another gateway or VLAN",
        SM,
        text(
            NVUE + "oob-01.txt",
            "swp1-32 bridge domain br_default access 1200",
            "swp1-32 bridge domain br_default access 1201",
        ),
    ),
    fault(
        "switch has another gateway or VLAN",
        SM,
        text(NVUE + "border-01.txt", "static 0.0.0.0/0 via 192.168.1.1", "static 0.0.0.0/0 via 192.168.0.129"),
    ),
    fault(
        "bond or segment of a machine is wrong",
        GB,
        text(
            NVUE + "eth-leaf-01b.txt",
            "bond2 evpn multihoming segment local-id 2",
            "bond2 evpn multihoming segment local-id 1",
        ),
    ),
    fault(
        "bond or segment of a machine is wrong",
        ET,
        text(NVUE + "eth-leaf-01a.txt", "bond2 bond member swp2", "bond2 bond member swp3"),
    ),
    fault(
        "bond or segment of a machine is wrong",
        SM,
        text(FRR + "eth-leaf-01a.conf", "evpn mh es-sys-mac 02:00:5e:00:00:01", "evpn mh es-sys-mac 02:00:5e:00:00:02"),
    ),
    fault(
        "bond or segment of a machine is wrong",
        GB,
        without(NVUE + "eth-leaf-01a.txt", "nv set interface bond1-48 bond lacp-bypass on"),
    ),
    fault(
        "routing of a switch is wrong",
        GB,
        text(FRR + "eth-leaf-01b.conf", "router bgp 4200100002", "router bgp 4200100001"),
    ),
    fault(
        "routing of a switch is wrong",
        ET,
        without(FRR + "leaf-01-1.conf", " neighbor swp47s1 interface peer-group fabric"),
    ),
    fault(
        "routing of a switch is wrong",
        SM,
        text(FRR + "eth-leaf-01a.conf", "permit 192.168.0.128/25", "permit 192.168.0.128/26"),
    ),
    fault(
        "routing of a switch is wrong",
        GB,
        text(FRR + "border-02.conf", "bgp router-id 100.65.0.6", "bgp router-id 100.65.0.5"),
    ),
    fault("routing of a switch is wrong", ET, text(FRR + "leaf-01-3.conf", "maximum-paths 128", "maximum-paths 1")),
    fault(
        "lossless Ethernet is set wrong",
        ET,
        text(NVUE + "spine-001.txt", "nv set qos roce mode lossless", "nv set qos roce mode lossy"),
    ),
    fault("lossless Ethernet is set wrong", ET, without(NVUE + "leaf-01-2.txt", "nv set qos roce enable on")),
    fault(
        "lossless Ethernet is set wrong",
        ET,
        text(PROV + "switches/roce.md", "--pfc=0,0,0,1,0,0,0,0", "--pfc=1,1,1,1,1,1,1,1"),
    ),
    fault("lossless Ethernet is set wrong", ET, text("kubernetes/jobs/all_reduce.yaml", "value: '106'", "value: '26'")),
    fault(
        "lossless Ethernet is set wrong",
        ET,
        text(NVUE + "leaf-01-1.txt", "swp33s0 link mtu 9216", "swp33s0 link mtu 1500"),
    ),
    fault(
        "subnet manager is set wrong",
        GB,
        text(OPENSM + "compute.conf", "routing_engine ftree,updn", "routing_engine dor"),
    ),
    fault(
        "subnet manager is set wrong",
        SM,
        text(OPENSM + "partitions.conf", "defmember=full : ALL,", "defmember=limited : ALL,"),
    ),
    fault("subnet manager is set wrong", SM, text(OPENSM + "storage.conf", "sm_priority 14", "sm_priority 0")),
    fault("subnet manager is set wrong", GB, text(OPENSM + "storage.conf", "lmc 0", "lmc 7")),
    # Watching.
    fault(
        "alert does not ring or always rings",
        GB,
        text(ALERTS, "(DCGM_FI_DEV_GPU_TEMP) < 4", "(DCGM_FI_DEV_GPU_TEMP) < 8"),
    ),
    fault(
        "alert does not ring or always rings",
        ET,
        text(ALERTS, "abs(node_timex_offset_seconds) > 0.05", "abs(node_timex_offset_seconds) > 50"),
    ),
    fault("alert does not ring or always rings", SM, text(ALERTS, 'up{job="machine"} == 0', 'up{job="machine"} == 1')),
    fault(
        "alert does not ring or always rings",
        SM,
        text(
            ALERTS,
            'node_filesystem_size_bytes{mountpoint="/"} < 0.1',
            'node_filesystem_size_bytes{mountpoint="/"} < 10',
        ),
    ),
    fault("Prometheus asks the wrong place", GB, text(PROM, "- gbn018:9400", "- gbn018:9100")),
    fault("Prometheus asks the wrong place", ET, text(PROM, "- mgmt-004:9100", "- mgmt-003:9100", "- mgmt-003:9100")),
    fault("Prometheus asks the wrong place", SM, text(PROM, "- alerts.yml", "- rules.yml")),
    # Slurm.
    fault("node line of Slurm is not the hardware", GB, text("slurm.conf", "RealMemory=869750", "RealMemory=983040")),
    fault(
        "node line of Slurm is not the hardware",
        GB,
        text("slurm.conf", "NodeName=gbn[001-072] CPUs=144", "NodeName=gbn[001-071] CPUs=144"),
    ),
    fault(
        "node line of Slurm is not the hardware",
        SM,
        text("slurm.conf", "CoresPerSocket=52 ThreadsPerCore=2", "CoresPerSocket=104 ThreadsPerCore=1"),
    ),
    fault(
        "node line of Slurm is not the hardware",
        SM,
        text("slurm.conf", "Gres=gpu:h100:8,mps:800", "Gres=gpu:h100:8,mps:8"),
    ),
    fault(
        "partition of Slurm is wrong",
        GB,
        text("slurm.conf", "AllowAccounts=eval MaxTime=INFINITE", "AllowAccounts=ALL MaxTime=INFINITE"),
    ),
    fault("partition of Slurm is wrong", SM, text("slurm.conf", "MaxTime=0-12:00:00", "MaxTime=12-00:00:00")),
    fault(
        "partition of Slurm is wrong",
        SM,
        text("slurm.conf", "PartitionName=lora Nodes=tuner[001-005]", "PartitionName=lora Nodes=tuner[001-006]"),
    ),
    fault(
        "partition of Slurm is wrong",
        GB,
        text(
            "slurm.conf",
            "PartitionName=nvl Nodes=gbn[001-072] Default=YES",
            "PartitionName=nvl Nodes=gbn[001-054] Default=YES",
        ),
    ),
    fault("Slurm loses jobs or limits", GB, without("slurm.conf", "SlurmctldHost=mgmt-002")),
    fault(
        "Slurm loses jobs or limits",
        SM,
        text("slurm.conf", "StateSaveLocation=/shared/slurm/slurmctld", "StateSaveLocation=/var/spool/slurmctld"),
    ),
    fault(
        "Slurm loses jobs or limits",
        GB,
        text(
            "slurm.conf",
            "AccountingStorageEnforce=associations,limits,qos,safe",
            "AccountingStorageEnforce=associations",
        ),
    ),
    fault(
        "Slurm loses jobs or limits",
        SM,
        text("slurm.conf", "ProctrackType=proctrack/cgroup", "ProctrackType=proctrack/linuxproc"),
    ),
    fault("Slurm loses jobs or limits", SM, text("slurm.conf", "PreemptType=preempt/qos", "PreemptType=preempt/none")),
    fault(
        "GPUs of Slurm are wrong",
        GB,
        text("gres.conf", "File=/dev/nvidia[2-3] Cores=72-143", "File=/dev/nvidia[1-2] Cores=72-143"),
    ),
    fault(
        "GPUs of Slurm are wrong",
        SM,
        text("gres.conf", "File=/dev/nvidia[0-3] Cores=0-51", "File=/dev/nvidia[0-3] Cores=52-103"),
    ),
    fault("GPUs of Slurm are wrong", SM, text("gres.conf", "Name=mps Count=800", "Name=mps Count=100")),
    fault(
        "GPUs of Slurm are wrong",
        GB,
        text("gres.conf", "NodeName=gbn[001-072] Name=gpu Type=gb200", "NodeName=gbn[001-072] Name=gpu Type=h200"),
    ),
    fault("jobs see what is not theirs", GB, text("cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no")),
    fault("jobs see what is not theirs", SM, without("cgroup.conf", "ConstrainRAMSpace=yes")),
    fault(
        "jobs see what is not theirs",
        GB,
        text("job_container.conf", "BasePath=/scratch/slurm", "BasePath=/shared/slurm"),
    ),
    fault(
        "topology of Slurm is not the cabling",
        GB,
        text("topology.conf", "nvl1 Nodes=gbn[001-018]", "nvl1 Nodes=gbn[001-019]"),
    ),
    fault(
        "topology of Slurm is not the cabling",
        GB,
        text("topology.conf", "nvl4 Nodes=gbn[055-072]", "nvl4 Nodes=gbn[054-072]"),
    ),
    fault(
        "topology of Slurm is not the cabling",
        SM,
        text("topology.conf", "Nodes=tuner[001-006]", "Nodes=tuner[001-005]"),
    ),
    fault("topology of Slurm is not the cabling", GB, text("node/nvlink_domains.csv", "gbn036,nvl2", "gbn036,nvl3")),
    fault("accounting is set wrong", GB, text("slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-003")),
    fault("accounting is set wrong", SM, text("slurmdbd.conf", "PurgeJobAfter=24months", "PurgeJobAfter=24hours")),
    fault(
        "accounting is set wrong", SM, text("slurmdbd.conf", "StorageLoc=slurm_accounting", "StorageLoc=slurm_acct_db")
    ),
    fault(
        "accounting is set wrong",
        GB,
        text("slurm.conf", "AccountingStorageTRES=gres/gpu", "AccountingStorageTRES=gres/nic"),
    ),
    fault(
        "tenant gets another share or member",
        GB,
        text(
            "node/tenants.sh",
            "level base Priority=1000 GrpTRES=gres/gpu=144",
            "level base Priority=1000 GrpTRES=gres/gpu=14",
        ),
    ),
    fault("tenant gets another share or member", GB, text("node/tenants.sh", "member quinn eval", "member quinn base")),
    fault(
        "tenant gets another share or member",
        SM,
        text(
            "node/tenants.sh",
            "level legal Priority=1000 GrpTRES=gres/gpu=19 MaxTRESPerUser=gres/gpu=8",
            "level legal Priority=1000 GrpTRES=gres/gpu=19 MaxTRESPerUser=gres/gpu=-1",
        ),
    ),
    fault(
        "tenant gets another share or member",
        SM,
        text("node/tenants.sh", "level speech-spare Priority=0", "level speech-spare Priority=2000"),
    ),
    fault(
        "user gets more or another number",
        SM,
        text("node/users.list", "user tilda 4202 no speech", "user tilda 4202 yes speech"),
    ),
    fault(
        "user gets more or another number",
        SM,
        text("node/users.list", "user ugo 4203 no legal", "user ugo 4202 no legal"),
    ),
    fault("user gets more or another number", SM, text("node/users.list", "group legal 4102", "group legal 4101")),
    fault(
        "user gets more or another number",
        GB,
        text("node/users.list", "user mara 3101 yes ops", "user mara 31010 yes ops"),
    ),
    fault(
        "directory lets in or hides",
        GB,
        text("node/directory.conf", "uri ldaps://ldap2.corp.example", "uri ldap://ldap2.corp.example"),
    ),
    fault(
        "directory lets in or hides",
        GB,
        text("node/directory.conf", "administrators hpc-admins", "administrators hpc-users"),
    ),
    fault("directory lets in or hides", GB, text("node/directory.conf", "ids 20000 59999", "ids 1000 59999")),
    fault(
        "directory lets in or hides",
        GB,
        text("node/users_directory.sh", "ldap_tls_reqcert = demand", "ldap_tls_reqcert = never"),
    ),
    fault("directory lets in or hides", GB, text("node/directory.conf", "passwords no", "passwords yes")),
    fault(
        "settings of a node are another machine's",
        GB,
        text("node/node.env", "CLUSTER_GPUS_PER_NODE=4", "CLUSTER_GPUS_PER_NODE=8"),
    ),
    fault(
        "settings of a node are another machine's",
        SM,
        text("node/node.env", "CLUSTER_FABRIC_GBIT_PER_S=400", "CLUSTER_FABRIC_GBIT_PER_S=40"),
    ),
    fault(
        "settings of a node are another machine's",
        SM,
        text("node/node.env", "CLUSTER_CONTROLLER_ADDRESS=mgmt-001", "CLUSTER_CONTROLLER_ADDRESS=mgmt-003"),
    ),
    fault(
        "settings of a node are another machine's",
        GB,
        text("node/node.env", "CLUSTER_FABRIC_LINK_LAYER=InfiniBand", "CLUSTER_FABRIC_LINK_LAYER=Ethernet"),
    ),
    fault(
        "unfit node stays in service",
        GB,
        text("node/prolog.sh", 'node_check.sh" --drain quick', 'node_check.sh" quick || true'),
    ),
    fault(
        "unfit node stays in service",
        SM,
        text("node/node_check.sh", '[ "$uncorrected" -gt 0 ]', '[ "$uncorrected" -gt 1000 ]'),
    ),
    fault(
        "unfit node stays in service",
        GB,
        text("node/epilog.sh", 'node_check.sh" --drain quick || true', 'node_check.sh" quick || true'),
    ),
    fault(
        "unfit node stays in service",
        SM,
        text(
            "node/node_check.sh",
            'if [ "$active" -lt "$CLUSTER_FABRIC_INTERFACES" ]',
            'if [ "$active" -gt "$CLUSTER_FABRIC_INTERFACES" ]',
        ),
    ),
    fault("copies are not kept", GB, text("node/accounting_backup.sh", "tail -n +31", "tail -n +2")),
    fault("copies are not kept", SM, text("node/accounting_backup.sh", "umask 077", "umask 022")),
    fault("copies are not kept", ET, text(CONTROL + "etcd_backup.sh", "OnCalendar=hourly", "OnCalendar=monthly")),
    fault(
        "copies are not kept",
        ET,
        text(CONTROL + "etcd_backup.sh", "sort --reverse | tail -n +49", "sort | tail -n +49"),
    ),
    fault(
        "versions do not fit each other",
        GB,
        text("node/versions.csv", "imex,595.91.07", "imex,580.95.05"),
    ),
    fault(
        "versions do not fit each other",
        ET,
        text("kubernetes/values/gpu-operator.yaml", "version: 595.91.07", "version: 570.86.15"),
    ),
    fault(
        "versions do not fit each other", SM, text("software.md", "| CUDA toolkit | 13.2 |", "| CUDA toolkit | 11.2 |")
    ),
    fault(
        "versions do not fit each other",
        ET,
        text(
            "kubernetes/network/nic-cluster-policy.yaml",
            "version: network-operator-v26.4.1",
            "version: network-operator-v24.1.0",
        ),
    ),
    # Jobs.
    fault(
        "job is not the plan's",
        GB,
        text("launch/train.sbatch", "--pipeline-model-parallel-size 9", "--pipeline-model-parallel-size 8"),
    ),
    fault(
        "job is not the plan's", GB, text("launch/train.sbatch", "--global-batch-size 512", "--global-batch-size 5120")
    ),
    fault("job is not the plan's", SM, text("launch/accelerate.yaml", "num_processes: 32", "num_processes: 48")),
    fault(
        "job is not the plan's",
        SM,
        text("launch/trl.yaml", "per_device_train_batch_size: 1", "per_device_train_batch_size: 16"),
    ),
    fault("job is not the plan's", SM, text("launch/finetune.sbatch", "#SBATCH --nodes=4", "#SBATCH --nodes=6")),
    fault(
        "job uses the wrong devices or partition",
        GB,
        text("launch/train.sbatch", "'=mlx5_0,mlx5_1,mlx5_4,mlx5_5'", "'=mlx5_0,mlx5_1,mlx5_2,mlx5_3'"),
    ),
    fault(
        "job uses the wrong devices or partition",
        SM,
        text("launch/finetune.sbatch", "#SBATCH --partition=lora", "#SBATCH --partition=slices"),
    ),
    fault(
        "job uses the wrong devices or partition",
        GB,
        text("launch/train.sbatch", "#SBATCH --gres=gpu:gb200:4", "#SBATCH --gres=gpu:gb200:2"),
    ),
    fault(
        "checkpoints are lost or fill the disk",
        GB,
        text("launch/train.sbatch", "--save-interval 22", "--save-interval 22000"),
    ),
    fault(
        "checkpoints are lost or fill the disk",
        SM,
        text("launch/trl.yaml", "save_total_limit: 5", "save_total_limit: 500"),
    ),
    fault(
        "checkpoints are lost or fill the disk",
        GB,
        text("launch/retain_checkpoints.sh", '-le "$((10#$complete))"', '-ge "$((10#$complete))"'),
    ),
    fault(
        "checkpoints are lost or fill the disk",
        GB,
        text(
            "launch/job.env",
            "CHECKPOINT_PATH=/shared/checkpoints/gbrack",
            "CHECKPOINT_PATH=/scratch/checkpoints/gbrack",
        ),
    ),
    # Kubernetes.
    fault(
        "control plane has a wrong address",
        ET,
        text(CONTROL + "kubeadm-init.yaml", "advertiseAddress: 172.16.2.80", "advertiseAddress: 172.16.2.82"),
    ),
    fault(
        "control plane has a wrong address",
        ET,
        text(CONTROL + "kube-vip.yaml", "value: 172.16.2.15", "value: 172.16.2.16"),
    ),
    fault(
        "control plane has a wrong address",
        ET,
        text(CONTROL + "kubeadm-init.yaml", "podSubnet: 10.32.0.0/11", "podSubnet: 172.16.0.0/16"),
    ),
    fault(
        "control plane has a wrong address",
        ET,
        text(
            CONTROL + "kubeadm-join-node.yaml",
            "apiServerEndpoint: 172.16.2.15:6443",
            "apiServerEndpoint: 172.16.2.15:8443",
        ),
    ),
    fault(
        "control plane is weakened",
        ET,
        text(
            CONTROL + "encryption.yaml",
            "  - secretbox:\n      keys:\n      - name: first\n        secret: SECRET\n  - identity: {}\n",
            "  - identity: {}\n  - secretbox:\n      keys:\n      - name: first\n        secret: SECRET\n",
        ),
    ),
    fault(
        "control plane is weakened",
        ET,
        text(CONTROL + "kubeadm-init.yaml", "value: NodeRestriction", "value: AlwaysAdmit"),
    ),
    fault(
        "control plane is weakened",
        ET,
        text(CONTROL + "kubeadm-init.yaml", "failSwapOn: true", "failSwapOn: true\nreadOnlyPort: 10255"),
    ),
    fault(
        "control plane is weakened",
        ET,
        text(
            CONTROL + "prepare.sh",
            'install --mode=0600 "$here/audit.yaml"',
            'chmod -R 0777 /etc/kubernetes; install --mode=0600 "$here/audit.yaml"',
        ),
    ),
    fault(
        "quota of a queue is wrong", ET, text("kubernetes/queues.yaml", "nominalQuota: '129'", "nominalQuota: '219'")
    ),
    fault(
        "quota of a queue is wrong",
        ET,
        text("kubernetes/queues.yaml", "nominalQuota: '43'\n        borrowingLimit: '0'", "nominalQuota: '43'"),
    ),
    fault(
        "quota of a queue is wrong",
        ET,
        text("kubernetes/queues.yaml", "nominalQuota: 28157Gi", "nominalQuota: 28157Mi"),
    ),
    fault(
        "quota of a queue is wrong",
        ET,
        text("kubernetes/queues.yaml", "cohort: cluster", "cohort: others", "name: lab"),
    ),
    fault("tenant reaches another's things", ET, text("kubernetes/tenants.yaml", "name: edit", "name: cluster-admin")),
    fault(
        "tenant reaches another's things",
        ET,
        text("kubernetes/tenants.yaml", "    - podSelector: {}", "    - namespaceSelector: {}", "name: own-pods"),
    ),
    fault(
        "tenant reaches another's things",
        ET,
        text("kubernetes/tenants.yaml", "name: tenant-lab", "name: tenant-helpdesk"),
    ),
    fault(
        "tenant reaches another's things",
        ET,
        text("kubernetes/tenants.yaml", "requests.nvidia.com/gpu: '96'", "requests.nvidia.com/gpu: '960'"),
    ),
    fault("admission lets dangerous pods in", ET, text("kubernetes/namespace.yaml", "  - Deny\n", "  - Audit\n")),
    fault(
        "admission lets dangerous pods in",
        ET,
        text("kubernetes/namespace.yaml", "'SYS_PTRACE', 'SYS_RESOURCE']))\"", "'SYS_ADMIN', 'SYS_RESOURCE']))\""),
    ),
    fault("admission lets dangerous pods in", ET, text("kubernetes/namespace.yaml", "        - helpdesk\n", "")),
    fault(
        "admission lets dangerous pods in",
        ET,
        text("kubernetes/namespace.yaml", "failurePolicy: Fail", "failurePolicy: Ignore"),
    ),
    fault(
        "rails of pods are wrong",
        ET,
        text("kubernetes/network/rails.yaml", "cidr: 172.16.5.192/26", "cidr: 172.16.6.192/26"),
    ),
    fault(
        "rails of pods are wrong",
        ET,
        text("kubernetes/network/rails.yaml", "perNodeNetworkPrefix: 31", "perNodeNetworkPrefix: 30"),
    ),
    fault("rails of pods are wrong", ET, text("kubernetes/network/nic-cluster-policy.yaml", '["15b3"]', '["10de"]')),
    fault(
        "rails of pods are wrong",
        ET,
        text("kubernetes/jobs/all_reduce.yaml", "nvidia.com/rail-8: '1'", "nvidia.com/rail-8: '2'"),
    ),
    fault("slices are cut wrong", ET, text("kubernetes/slices/mig-config.yaml", "3g.90gb: 2", "3g.90gb: 3")),
    fault("slices are cut wrong", ET, text("kubernetes/node-labels.yaml", "    nvidia.com/mig.config: slices\n", "")),
    fault("slices are cut wrong", ET, text("kubernetes/values/gpu-operator.yaml", "strategy: mixed", "strategy: none")),
    fault("slices are cut wrong", ET, text("kubernetes/slices/mig-config.yaml", "        - 6\n", "")),
    fault(
        "labels of nodes are another rack's",
        ET,
        text("kubernetes/node-labels.yaml", 'rack: "a11"', 'rack: "a10"', 'name: "eth025"'),
    ),
    fault(
        "labels of nodes are another rack's",
        ET,
        text("kubernetes/node-labels.yaml", 'unit: "su1"', 'unit: "su2"', 'name: "eth014"'),
    ),
    fault(
        "labels of nodes are another rack's",
        ET,
        text("kubernetes/node-labels.yaml", "node-kind: gpu", "node-kind: cpu", 'name: "eth008"'),
    ),
    fault(
        "replica is not the plan's",
        ET,
        text(
            SERVING + "replicas.yaml",
            "- --tensor-parallel-size\n        - '8'",
            "- --tensor-parallel-size\n        - '4'",
        ),
    ),
    fault("replica is not the plan's", ET, text(SERVING + "replicas.yaml", "- '54272'", "- '5427'")),
    fault("replica is not the plan's", ET, text(SERVING + "replicas.yaml", "sizeLimit: 690Gi", "sizeLimit: 69Gi")),
    fault(
        "replica is not the plan's",
        ET,
        text(SERVING + "replicas.yaml", "failureThreshold: 120", "failureThreshold: 12"),
    ),
    fault(
        "service scales or is evicted wrongly",
        ET,
        text(SERVING + "service.yaml", "maxUnavailable: 2", "maxUnavailable: 20"),
    ),
    fault(
        "service scales or is evicted wrongly",
        ET,
        text(SERVING + "scaling.yaml", "maxReplicaCount: 27", "maxReplicaCount: 12"),
    ),
    fault(
        "service scales or is evicted wrongly",
        ET,
        text(SERVING + "scaling.yaml", "threshold: '0.8'", "threshold: '80'"),
    ),
    fault(
        "service scales or is evicted wrongly",
        ET,
        text(
            SERVING + "scaling.yaml",
            "    failureThreshold: 4\n    replicas: 27",
            "    failureThreshold: 4\n    replicas: 1",
        ),
    ),
    fault("goal is measured wrongly", ET, text(SERVING + "monitoring/rules.yaml", 'le="0.05"}[1h]', 'le="0.5"}[1h]')),
    fault("goal is measured wrongly", ET, text(SERVING + "monitoring/rules.yaml", "> 2388.07", "> 23880.7")),
    fault(
        "goal is measured wrongly",
        ET,
        text(SERVING + "loadtest/vllm_bench.sh", "--goodput ttft:2000 tpot:50", "--goodput ttft:2 tpot:0.05"),
    ),
    fault(
        "goal is measured wrongly",
        ET,
        text(SERVING + "loadtest/plan.json", '"requests_per_s_per_replica": 5.4', '"requests_per_s_per_replica": 0.54'),
    ),
    fault(
        "anybody reaches the replicas",
        ET,
        text(
            SERVING + "service.yaml",
            "    - namespaceSelector:\n        matchLabels:\n          serving-client: 'true'",
            "    - namespaceSelector: {}",
        ),
    ),
    fault(
        "anybody reaches the replicas",
        ET,
        text(
            SERVING + "replicas.yaml",
            "runAsNonRoot: true\n        runAsUser: 10001",
            "runAsNonRoot: false\n        runAsUser: 0",
        ),
    ),
    fault(
        "anybody reaches the replicas",
        ET,
        text(SERVING + "fetch.yaml", "        except:\n        - 169.254.0.0/16\n", ""),
    ),
    # The plan.
    fault("plan has another number", GB, text("plan.json", '"hidden": 16384', '"hidden": 8192')),
    fault("plan has another number", ET, text("plan.json", '"nodes": 28', '"nodes": 25')),
    fault(
        "plan has another number", SM, text("plan.json", '"global_batch_sequences": 96', '"global_batch_sequences": 64')
    ),
    # Commands that an operator copies.
    fault(
        "copied command harms",
        GB,
        text("users.md", "install --mode=0644 node/users.list", "install --mode=0666 node/users.list"),
    ),
    fault("copied command harms", SM, text("jobs.md", "--mode=0600 slurmdbd.conf", "--mode=0644 slurmdbd.conf")),
    fault("copied command harms", ET, text("kubernetes/README.md", "--version 0.18.2", "--version 0.8.2")),
    fault(
        "copied command harms",
        ET,
        text(
            CONTROL + "README.md",
            "On mgmt-002 and mgmt-003, one after the other",
            "On mgmt-003 and mgmt-004, one after the other",
        ),
    ),
)
