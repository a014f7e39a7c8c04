"""Single mistakes in on-premises folders, written by a fifth reviewer who had not read the rules that look for them."""

from tests.checks.prove.changes import Change, Fault, cell, text, without


def fault(kind: str, site: str, *changes: Change) -> Fault:
    """A mistake with its changes."""
    return Fault(kind, site, changes)


SLICES = """\
name: slices
description: Train Llama 2 13B on sixteen HGX H100 over InfiniBand with Slurm, two nodes of which are cut into slices.
workload: {kind: train, model: llama-2-13b, tokens: 300e9, sequence_length: 4096, global_batch: 448, precision: bf16}
goals: {finish_within: 90 days}
reliability: {spare_nodes: 2}
targets:
  onprem:
    system: hgx-h100-8gpu
    min_nodes: 16
    max_nodes: 16
    scheduler: slurm
    network: {sharp: true}
    storage:
      system: weka
      capacity: 600 TB
      box: {capacity: 250 TB, read: 60 GB/s, write: 20 GB/s}
software:
  mig: {geometry: [3g.40gb, 3g.40gb], nodes: 2}
site:
  rack_power: 34 kW
  rack_height: 48 U
  network: {range: 172.20.0.0/14, first_vlan: 220, uplinks: 4}
cluster:
  host_prefix: hx
  partition: h100
  groups: [{name: bio, gid: 2301}, {name: nlp, gid: 2302}]
  users:
    - {name: ines, uid: 3201, groups: [bio],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4wiXTt7vO6ZcLwRAPBxHcvZpXHzMlYZsbEQ7dzvXxq ines@desk"],
       administrator: true}
    - {name: jonas, uid: 3202, groups: [nlp],
       ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBHJ0Gv6x5mVqk2oVw2lRDQxK1mU9jZr8xj3nS9WkYdT jonas@desk"]}
    - {name: petra, uid: 3203, groups: [bio, nlp], ssh_keys: []}
tenants:
  - {name: bio, share: 40 %, users: [ines, petra], max_gpus_per_user: 48, longest_job: 4 days}
  - {name: nlp, share: 30 %, users: [jonas, petra], max_gpus: 128}
"""

INSTINCT = """\
name: instinct
description: Train Llama 3.1 70B on twenty-four MI300X servers over Ethernet with Slurm.
workload: {kind: train, model: llama-3.1-70b, tokens: 200e9, sequence_length: 8192, global_batch: 384, precision: bf16}
goals: {finish_within: 150 days}
targets:
  onprem:
    system: mi300x-8gpu
    min_nodes: 24
    max_nodes: 24
    scheduler: slurm
    storage:
      system: lustre
      capacity: 1 PB
      box: {capacity: 300 TB, read: 40 GB/s, write: 20 GB/s, height: 2 U}
      front_box: {height: 2 U}
    spares: {nodes: 4 %, switches: 5 %}
site:
  rack_power: 40 kW
  rack_height: 48 U
  hall: {rows: 2}
cluster: {host_prefix: mi, partition: amd}
"""

ASSIST = """\
name: assist
description: Llama 3.1 70B for two departments on DGX H200 with Kubernetes.
workload: {kind: serve, model: llama-3.1-70b, precision: fp8, framework: sglang}
traffic:
  users: 4000
  think_time: 60 s
  input_tokens: {mean: 1500, p95: 4000}
  output_tokens: {mean: 300, p95: 900}
  peak_over_mean: 1.6
goals: {first_token: 1 s, time_per_token: 50 ms, percentile: 95}
replicas: {spare: 1}
targets:
  onprem: {system: dgx-h200, scheduler: kubernetes, storage: {system: minio, box: {height: 2 U}}}
site:
  rack_power: 30 kW
  rack_height: 42 U
  network: {range: 10.112.0.0/14, first_vlan: 40}
cluster: {host_prefix: srv}
tenants:
  - {name: sales, share: 30 %, max_gpus: 48}
  - {name: legal, share: 20 %, when_free: keep}
"""

TUNE = """\
name: tune
description: All weights of Llama 3.1 70B on DGX B300 with Kubernetes, GPUs of one node shared.
workload:
  kind: finetune
  model: llama-3.1-70b
  method: full
  optimizer: adamw
  sequence_length: 8192
  global_batch: 112
  framework: torchtune
  data: {tokens: 400e6, mean_tokens: 1500, epochs: 2}
goals: {finish_within: 2 days}
reliability: {spare_nodes: 1}
targets:
  onprem:
    system: dgx-b300
    min_nodes: 8
    max_nodes: 9
    scheduler: kubernetes
software:
  sharing: {way: time-slicing, parts: 4, nodes: 1}
site:
  rack_power: 46 kW
  rack_height: 48 U
cluster: {host_prefix: bx}
tenants:
  - {name: agents, share: 50 %}
  - {name: vision, share: 25 %, max_gpus: 32}
"""

SITES: dict[str, str] = {"slices": SLICES, "instinct": INSTINCT, "assist": ASSIST, "tune": TUNE}

SL, MI, AS, TU = "slices", "instinct", "assist", "tune"
BILL, CABLES, LABELS, ADDRESSES, DHCP = (
    "bill_of_materials.csv",
    "cables.csv",
    "labels.csv",
    "ip-plan.csv",
    "dhcp-hosts.csv",
)
NETWORKS, RACKS, UPLINKS = "ip-networks.csv", "racks.csv", "uplinks.csv"
FEEDS, POWER_PORTS, POWER_CABLES = "netbox/5-power-feeds.csv", "netbox/6-power-ports.csv", "netbox/7-power-cables.csv"
FEED_CABLES, DEVICES, TYPES = "netbox/7-power-feed-cables.csv", "netbox/5-devices.csv", "netbox/1-device-types/"
INTERFACES, NB_CABLES, NB_ADDRESSES = "netbox/6-interfaces.csv", "netbox/7-cables.csv", "netbox/9-ip-addresses.csv"
NVUE, FRR, ROCE = "provisioning/switches/nvue/", "provisioning/switches/frr/", "provisioning/switches/roce.md"
MACHINES, HOSTS, WAREWULF = (
    "provisioning/machines.csv",
    "provisioning/services/hosts",
    "provisioning/warewulf/nodes.conf",
)
ALERTS, SCRAPES, CHRONY = (f"provisioning/services/{name}" for name in ("alerts.yml", "prometheus.yml", "chrony.conf"))
USER_DATA, FIRMWARE, KERNEL = "provisioning/cloud-init/", "provisioning/firmware.csv", "provisioning/kernel.csv"
ENLIST, OPENSM = "provisioning/maas/enlist.sh", "provisioning/opensm/"
SERVING, CONTROL, JOBS = "kubernetes/serving/", "kubernetes/control-plane/", "kubernetes/jobs/"
INIT, VIP, QUEUES, TENANTS = (
    f"{CONTROL}kubeadm-init.yaml",
    f"{CONTROL}kube-vip.yaml",
    "kubernetes/queues.yaml",
    "kubernetes/tenants.yaml",
)
REPLICAS, SCALING, RULES = f"{SERVING}replicas.yaml", f"{SERVING}scaling.yaml", f"{SERVING}monitoring/rules.yaml"

FAULTS: tuple[Fault, ...] = (
    # Power: what makes two feeds one, or lets a breaker trip.
    # One feed away, and the whole rack is.
    fault("two feeds of a rack on one panel", SL, cell(FEEDS, "planned,feed-B,A04,A04-2", "power_panel", "feed-A")),
    fault("two feeds of a rack on one panel", MI, cell(FEEDS, "planned,feed-B,A05,A05-2", "power_panel", "feed-A")),
    fault("two feeds of a rack on one panel", TU, cell(FEEDS, "planned,feed-C,A01,A01-3", "power_panel", "feed-B")),
    # The second supply is there for the day on which the first PDU is away; and the outlet has a cord already.
    fault(
        "both supplies in one PDU",
        SL,
        cell(POWER_CABLES, "leaf-01-1,dcim.powerport,PSU2", "side_b_device", "pdu-a04-1"),
    ),
    fault(
        "both supplies in one PDU", MI, cell(POWER_CABLES, "mgmt-001,dcim.powerport,PSU2", "side_b_device", "pdu-a05-1")
    ),
    fault(
        "both supplies in one PDU",
        AS,
        cell(POWER_CABLES, "st-data-01,dcim.powerport,PSU2", "side_b_device", "pdu-a05-1"),
    ),
    fault(
        "both supplies in one PDU", TU, cell(POWER_CABLES, "bx001,dcim.powerport,PSU3", "side_b_device", "pdu-a01-1")
    ),
    # NetBox adds them up to the load of a feed.
    fault("draw of a supply mistyped", SL, cell(POWER_PORTS, "hx001,PSU1", "maximum_draw", "170")),
    fault("draw of a supply mistyped", MI, cell(POWER_PORTS, "leaf-01-1,PSU1", "maximum_draw", "10460")),
    fault("draw of a supply mistyped", TU, cell(POWER_PORTS, "bx001,PSU7", "maximum_draw", "12080")),
    # The electrician wires by this row.
    fault("rating of a feed", SL, cell(FEEDS, "planned,feed-A,A01", "amperage", "32")),
    fault("rating of a feed", MI, cell(FEEDS, "planned,feed-B,A02", "voltage", "240")),
    fault("rating of a feed", AS, cell(FEEDS, "planned,feed-C,A03", "phase", "single-phase")),
    fault("rating of a feed", TU, cell(FEEDS, "planned,feed-A,A02", "max_utilization", "100")),
    # The feed ends at another rack's strip, or comes from another panel than its name says.
    fault("feed to another PDU", SL, cell(FEED_CABLES, "feed-C,dcim.powerfeed,A08-3", "side_b_device", "pdu-a08-2")),
    fault("feed to another PDU", MI, cell(FEED_CABLES, "feed-A,dcim.powerfeed,A10-1", "side_b_device", "pdu-a09-1")),
    fault("feed to another PDU", AS, cell(FEED_CABLES, "feed-B,dcim.powerfeed,A09-2", "side_a_power_panel", "feed-C")),
    # Whoever sums the rack gets another load for the breaker or the floor.
    fault("watts or weight mistyped in the rack list", TU, cell(RACKS, "A01,1,", "power_w", "1450")),
    fault("watts or weight mistyped in the rack list", MI, cell(RACKS, "A01,1,", "weight_kg", "753")),
    fault("watts or weight mistyped in the rack list", SL, cell(RACKS, "A04,1,", "power_w", "6890")),
    fault("watts or weight mistyped in the rack list", AS, cell(RACKS, "A02,9,", "weight_kg", "287.6")),
    # Racks, and the same in NetBox.
    fault("two devices in one unit", SL, cell(RACKS, "A04,4,", "u", "3")),
    fault("two devices in one unit", MI, cell(RACKS, "A06,20,", "u", "19")),
    fault("two devices in one unit", TU, cell(RACKS, "A01,11,", "u", "10")),
    fault("device elsewhere in NetBox", SL, cell(DEVICES, "mgmt-001,", "rack", "A05")),
    fault("device elsewhere in NetBox", MI, cell(DEVICES, "mi013,", "rack", "A08")),
    fault("device elsewhere in NetBox", TU, cell(DEVICES, "bx002,", "position", "12")),
    fault("device elsewhere in NetBox", AS, cell(DEVICES, "srv003,", "face", "rear")),
    # NetBox then takes the units above for free, or refuses the next device.
    fault("height of a device type", TU, text(f"{TYPES}nvidia-dgx-b300.yaml", "u_height: 10", "u_height: 8")),
    fault("height of a device type", MI, text(f"{TYPES}nvidia-sn5600.yaml", "u_height: 2", "u_height: 1")),
    fault("height of a device type", SL, text(f"{TYPES}generic-hgx-h100-8gpu.yaml", "u_height: 8", "u_height: 10")),
    fault("height of a device type", AS, text(f"{TYPES}generic-minio-nvme-server.yaml", "u_height: 2", "u_height: 1")),
    # A transceiver of that rate does not fit, or monitoring takes a fabric port for a management port.
    fault("kind of a port in NetBox", SL, cell(INTERFACES, "hx001,compute-1", "type", "200gbase-x-qsfp56")),
    fault("kind of a port in NetBox", TU, cell(INTERFACES, "leaf-01-1,compute-1/1", "type", "400gbase-x-osfp")),
    fault("kind of a port in NetBox", AS, cell(INTERFACES, "eth-leaf-01a,in-band-1,", "type", "1000base-t")),
    fault("kind of a port in NetBox", MI, cell(INTERFACES, "mi001,compute-1", "mgmt_only", "true")),
    fault("length in another unit", SL, cell(NB_CABLES, "hx001,dcim.interface,compute-1,", "length_unit", "ft")),
    fault("length in another unit", MI, cell(NB_CABLES, "mi001,dcim.interface,compute-2,", "length_unit", "cm")),
    fault("length in another unit", TU, cell(NB_CABLES, "bx001,dcim.interface,in-band-1,", "length", "1000")),
    # Addresses.
    fault("prefix in another VLAN", SL, cell("netbox/8-prefixes.csv", "172.20.1.0/25", "vlan", "220")),
    fault("prefix in another VLAN", MI, cell("netbox/8-prefixes.csv", "10.64.5.0/24", "vlan", "105")),
    fault("prefix in another VLAN", TU, cell("netbox/8-vlans.csv", "planned,101", "vid", "110")),
    fault("mask of an address", SL, cell(NB_ADDRESSES, "172.20.3.16/26", "address", "172.20.3.16/24")),
    fault("mask of an address", TU, cell(NB_ADDRESSES, "10.64.1.208/26", "address", "10.64.1.208/32")),
    fault("mask of an address", MI, cell(ADDRESSES, "mi001,bond0", "prefix_length", "24")),
    # Two machines answer for it, in turn.
    fault("address given twice", SL, cell(ADDRESSES, "hx002,bond0", "address", "172.20.1.16")),
    fault("address given twice", MI, cell(ADDRESSES, "mi002,compute-1", "address", "10.64.5.2")),
    fault("address given twice", TU, cell(DHCP, "bx002,mgmt", "address", "10.64.0.16")),
    fault("address given twice", AS, text(HOSTS, "10.112.1.17\tsrv002", "10.112.1.16\tsrv002")),
    # It cannot be reached from there.
    fault("gateway of another network", MI, cell(ADDRESSES, "mi001,compute-3", "gateway", "10.64.6.1")),
    fault("gateway of another network", SL, cell(DHCP, "hx001,mgmt", "gateway", "172.20.1.1")),
    fault("gateway of another network", TU, cell(NETWORKS, "in-band", "gateway", "10.64.0.1")),
    fault("gateway of another network", AS, text(WAREWULF, "gateway: 10.112.1.1", "gateway: 10.112.0.1")),
    fault("reservation in another VLAN", SL, cell(DHCP, "mgmt-001,bond0", "vlan", "222")),
    fault("reservation in another VLAN", TU, cell(DHCP, "pdu-a01-1,", "vlan", "101")),
    fault("reservation in another VLAN", AS, cell(DHCP, "oob-01,", "network", "in-band")),
    fault("netmask that is not the prefix", SL, cell(NETWORKS, "in-band", "netmask", "255.255.255.0")),
    fault("netmask that is not the prefix", MI, cell(NETWORKS, "out-of-band", "netmask", "255.255.255.0")),
    fault("netmask that is not the prefix", TU, cell(NETWORKS, "compute 4", "netmask", "255.255.255.240")),
    fault("netmask that is not the prefix", AS, text(WAREWULF, "netmask: 255.255.255.128", "netmask: 255.255.255.192")),
    # A power cycle hits the wrong machine.
    fault("BMC of another machine", SL, cell(MACHINES, "hx002,", "bmc_address", "172.20.0.16")),
    fault("BMC of another machine", MI, text(WAREWULF, "ipaddr: 10.64.0.20", "ipaddr: 10.64.0.21", after="  mi005:")),
    fault("BMC of another machine", TU, text(HOSTS, "10.64.0.17\tbx002-bmc", "10.64.0.18\tbx002-bmc")),
    fault("BMC of another machine", AS, cell(MACHINES, "mgmt-001,", "bmc_address", "10.112.0.75")),
    # It is installed as something else.
    fault("role of a machine", SL, cell(MACHINES, "mgmt-002,", "role", "login")),
    fault("role of a machine", TU, cell(MACHINES, "mgmt-004,", "role", "compute")),
    fault("role of a machine", AS, text(WAREWULF, "- control", "- login", after="  mgmt-002:")),
    fault("name that is not resolved", SL, without(HOSTS, "172.20.1.50\t")),
    fault("name that is not resolved", MI, text(HOSTS, "\tmi010\n", "\tmi10\n")),
    fault("name that is not resolved", TU, text(HOSTS, "\tmgmt-003\n", "\tmgmt-03\n")),
    # Cables.
    fault("label of another end", SL, text(LABELS, "leaf-01-3:1/1", "leaf-01-3:1/2", after="C000003,from,")),
    fault("label of another end", MI, text(LABELS, "leaf-01-5:1/1", "leaf-01-6:1/1", after="C000005,from,")),
    fault("label of another end", AS, text(LABELS, "A05 U03", "A06 U03", after="C000009,to,")),
    fault("label of another end", TU, text(LABELS, "bx001:1,", "bx001:2,", after="C000001,to,")),
    # The second crew looks in the wrong rack or unit.
    fault("place of a cable's end", SL, cell(CABLES, "C000001,", "to_u", "4")),
    fault("place of a cable's end", MI, cell(CABLES, "C000719,", "to_rack", "A06")),
    fault("place of a cable's end", AS, cell(CABLES, "C000415,", "from_rack", "A02")),
    # Passive copper ends at 2 m.
    fault("copper longer than there is", SL, cell(CABLES, "C000529,", "length_m", "10")),
    fault("copper longer than there is", MI, cell(CABLES, "C000903,", "length_m", "7")),
    fault("copper longer than there is", AS, cell(CABLES, "C000133,", "length_m", "5")),
    fault("part of another medium", SL, cell(CABLES, "C000487,", "kind", "dac")),
    fault("part of another medium", MI, cell(CABLES, "C000921,", "part", "aoc-100g")),
    fault("part of another medium", TU, cell(CABLES, "C000001,", "part", "mfp7e10")),
    fault("cable of another network", SL, cell(CABLES, "C000537,", "network", "in-band")),
    fault("cable of another network", MI, cell(CABLES, "C000855,", "network", "storage")),
    fault("cable of another network", AS, cell(CABLES, "C000325,", "network", "compute")),
    # The way to the users hangs on one switch, or on a port that has a cable.
    fault("uplink", SL, cell(UPLINKS, "U002", "from_device", "border-01")),
    fault("uplink", TU, cell(UPLINKS, "U003", "from_port", "64")),
    fault("uplink", MI, cell(UPLINKS, "U004", "from_transceiver", "mma4z00-ns")),
    fault("uplink", AS, cell(UPLINKS, "U001", "from_rack", "A06")),
    # `ibnetdiscover` is held against these port by port.
    fault("topology file beside the cables", SL, text("fabric.ibnetdiscover", "[1]\t#", "[3]\t#", after='"hx001 1"\n')),
    fault("topology file beside the cables", AS, text("storage.ibnetdiscover", "st-data-01 1", "st-data-02 1")),
    fault(
        "topology file beside the cables", TU, text("fabric.ibnetdiscover", "[2]\t#", "[12]\t#", after='"bx001 2"\n')
    ),
    # Orders.
    fault("fewer ordered than needed", SL, cell(BILL, "15,mfp7e10", "quantity", "427")),
    fault("fewer ordered than needed", MI, cell(BILL, "36,raritan", "quantity", "16")),
    fault("fewer ordered than needed", TU, cell(BILL, "39,power-cord", "quantity", "106")),
    fault("fewer ordered than needed", AS, cell(BILL, "31,ufm", "quantity", "2")),
    fault("total that was not updated", SL, cell(BILL, "1,hgx", "usd_total", "5460000")),
    fault("total that was not updated", TU, cell(BILL, "1,dgx-b300", "usd_total", "4400000")),
    fault("total that was not updated", MI, text("bill_of_materials.md", "**8,039,740.00", "**8,093,740.00")),
    fault("total that was not updated", AS, text("bill_of_materials.md", "| 432,000.00 |", "| 342,000.00 |")),
    fault("line missing from the order", SL, without(BILL, "13,mcp4y10")),
    fault("line missing from the order", MI, without(BILL, "5,sn5600")),
    fault("line missing from the order", TU, without(BILL, "35,vast-cbox")),
    fault("line missing from the order", AS, without(BILL, "27,qsfp28")),
    fault("spares that are not in the order", SL, text("procurement.md", "| 572 | 14 |", "| 572 | 41 |")),
    fault("spares that are not in the order", MI, text("procurement.md", "| nodes | 24 | 1 |", "| nodes | 24 | 4 |")),
    fault("spares that are not in the order", TU, text("procurement.md", "| cables | 219 |", "| cables | 291 |")),
    fault("ports of the fabric", SL, cell("fabric.csv", "compute,leaf", "switches", "6")),
    fault("ports of the fabric", MI, cell("fabric.csv", "compute,spine", "ports_down", "256")),
    fault("ports of the fabric", TU, cell("fabric.csv", "compute,leaf", "ports_per_switch", "72")),
    # Switches: routing.
    # A leaf takes no route that holds its own number, and no session as external with its own.
    fault("AS number of a neighbour", MI, text(f"{FRR}leaf-01-2.conf", "bgp 4200000002", "bgp 4200000000")),
    fault("AS number of a neighbour", MI, text(f"{FRR}spine-003.conf", "bgp 4200000000", "bgp 4200000005")),
    fault("AS number of a neighbour", MI, text(f"{FRR}st-leaf-01b.conf", "bgp 4200000010", "bgp 4200000009")),
    fault("router's identity twice", MI, text(f"{FRR}leaf-01-3.conf", "router-id 100.64.0.3", "router-id 100.64.0.4")),
    fault(
        "router's identity twice", MI, text(f"{FRR}spine-002.conf", "router-id 100.64.0.12", "router-id 100.64.0.11")
    ),
    fault(
        "router's identity twice", MI, text(f"{NVUE}st-leaf-01b.txt", "router-id 100.64.0.10", "router-id 100.64.0.9")
    ),
    # Other leaves have no route to its nodes.
    fault(
        "network that nobody announces", MI, text(f"{FRR}leaf-01-4.conf", "permit 10.64.8.0/24", "permit 10.64.7.0/24")
    ),
    fault("network that nobody announces", MI, text(f"{FRR}leaf-01-5.conf", "seq 20 permit", "seq 20 deny")),
    fault("network that nobody announces", MI, without(f"{FRR}st-leaf-01a.conf", "ip prefix-list own seq 20")),
    fault("trunk without a session", MI, without(f"{FRR}leaf-01-6.conf", " neighbor swp40s1 ")),
    fault(
        "trunk without a session",
        MI,
        text(f"{FRR}spine-004.conf", "swp12s0 interface peer-group fabric", "swp12s0 interface"),
    ),
    fault(
        "trunk without a session",
        MI,
        without(f"{NVUE}leaf-01-7.txt", "nv set vrf default router bgp neighbor swp60s0 type"),
    ),
    # Sessions without addresses find each other by these.
    fault(
        "no router advertisements",
        MI,
        text(f"{FRR}leaf-01-8.conf", " no ipv6 nd", " ipv6 nd", after="interface swp35s0"),
    ),
    fault(
        "no router advertisements",
        MI,
        text(f"{FRR}spine-001.conf", " no ipv6 nd", " ipv6 nd", after="interface swp7s1"),
    ),
    fault(
        "no router advertisements",
        MI,
        text(f"{FRR}st-spine-01.conf", " no ipv6 nd", " ipv6 nd", after="interface swp3s0"),
    ),
    fault("one path of many", MI, text(f"{FRR}leaf-01-1.conf", "maximum-paths 128", "maximum-paths 1")),
    fault("one path of many", MI, text(f"{NVUE}st-leaf-01a.txt", "multipaths ebgp 128", "multipaths ebgp 1")),
    fault("one path of many", MI, text(f"{FRR}spine-002.conf", "maximum-paths 128", "maximum-paths 8")),
    # Switches: ports.
    fault("MTU of a switch port", MI, text(f"{NVUE}leaf-01-1.txt", "swp5s0 link mtu 9216", "swp5s0 link mtu 1500")),
    fault("MTU of a switch port", MI, text(f"{NVUE}spine-002.txt", "swp10s1 link mtu 9216", "swp10s1 link mtu 921")),
    fault("MTU of a switch port", MI, text(f"{NVUE}st-leaf-01b.txt", "swp40s0 link mtu 9216", "swp40s0 link mtu 1500")),
    fault(
        "port in another VLAN",
        MI,
        text(
            f"{NVUE}leaf-01-2.txt",
            "swp3s0 bridge domain br_default access 110",
            "swp3s0 bridge domain br_default access 105",
        ),
    ),
    fault(
        "port in another VLAN",
        MI,
        text(
            f"{NVUE}st-leaf-01a.txt",
            "swp6s0 bridge domain br_default access 105",
            "swp6s0 bridge domain br_default access 101",
        ),
    ),
    fault(
        "port in another VLAN",
        MI,
        without(f"{NVUE}leaf-01-3.txt", "nv set interface swp8s1 bridge domain br_default access"),
    ),
    # RDMA over a network that drops repeats whole windows.
    fault("Ethernet that drops", MI, text(f"{NVUE}leaf-01-4.txt", "roce mode lossless", "roce mode lossy")),
    fault("Ethernet that drops", MI, text(f"{NVUE}spine-003.txt", "qos roce enable on", "qos roce enable off")),
    fault("Ethernet that drops", MI, text(f"{NVUE}st-spine-01.txt", "roce mode lossless", "roce mode lossy")),
    fault("address of a switch", MI, text(f"{NVUE}leaf-01-6.txt", "address 10.64.10.1/24", "address 10.64.10.1/25")),
    fault("address of a switch", MI, text(f"{NVUE}leaf-01-7.txt", "address 10.64.11.1/24", "address 10.64.10.1/24")),
    fault(
        "address of a switch",
        MI,
        text(f"{NVUE}leaf-01-2.txt", "lo ip address 100.64.0.2/32", "lo ip address 100.64.0.1/32"),
    ),
    # Hosts mark what switches do not look for.
    fault("RoCE of hosts beside that of switches", MI, text(ROCE, "-t 106`", "-t 104`")),
    fault("RoCE of hosts beside that of switches", MI, text(ROCE, "--pfc=0,0,0,1,", "--pfc=0,0,1,0,")),
    fault("RoCE of hosts beside that of switches", MI, text(ROCE, "| DSCP of RoCE | 26 |", "| DSCP of RoCE | 24 |")),
    fault("RoCE of hosts beside that of switches", MI, text(ROCE, "4,200 or more on hosts", "1,500 on hosts")),
    fault("RoCE of hosts beside that of switches", MI, text(ROCE, "`NCCL_IB_TC=106`", "`NCCL_IB_TC=26`")),
    # The subnet manager does not start with these, or does not know the engine.
    fault(
        "subnet manager", SL, text(f"{OPENSM}compute.conf", "routing_engine ftree,updn", "routing_engine fattree,updn")
    ),
    fault("subnet manager", TU, text(f"{OPENSM}compute.conf", "sm_priority 14", "sm_priority 16")),
    fault("subnet manager", AS, text(f"{OPENSM}storage.conf", "lmc 0", "lmc 8")),
    # Limited members do not talk to each other; the default key is 0x7fff; 256 bytes for RDMA.
    fault("partition of the fabric", SL, text(f"{OPENSM}partitions.conf", "defmember=full", "defmember=limited")),
    fault("partition of the fabric", TU, text(f"{OPENSM}partitions.conf", "mtu=5", "mtu=1")),
    fault("partition of the fabric", AS, text(f"{OPENSM}partitions.conf", "Default=0x7fff", "Default=0x7ffe")),
    # Machines.
    fault("MTU of hosts", SL, text(WAREWULF, 'mtu: "9000"', 'mtu: "9600"')),
    fault("MTU of hosts", TU, text(WAREWULF, 'mtu: "9000"', 'mtu: "900"')),
    fault("MTU of hosts", AS, text(WAREWULF, 'mtu: "9000"', 'mtu: "90000"')),
    fault("kernel argument", SL, text(WAREWULF, "- iommu=pt", "- iommu=on")),
    fault("kernel argument", MI, text(WAREWULF, "- processor.max_cstate=1", "- processor.max_cstate=9")),
    fault("kernel argument", TU, text(WAREWULF, "- transparent_hugepage=madvise", "- transparent_hugepages=madvise")),
    # Time: a login machine serves none, and servers answer the wrong network.
    fault("time that nobody serves", SL, text(f"{USER_DATA}compute.yaml", "- 172.20.1.50", "- 172.20.1.49")),
    fault("time that nobody serves", TU, text(f"{USER_DATA}login.yaml", "- 10.64.0.162", "- 10.64.0.135")),
    fault("time that nobody serves", MI, text(CHRONY, "allow 10.64.2.0/25", "allow 10.64.0.0/25")),
    fault("time that nobody serves", AS, text(CHRONY, "allow 10.112.1.0/25", "allow 10.112.1.0/28")),
    fault("weakened login", SL, text(f"{USER_DATA}login.yaml", "ssh_pwauth: false", "ssh_pwauth: true")),
    fault("weakened login", TU, text(f"{USER_DATA}compute.yaml", "disable_root: true", "disable_root: false")),
    fault("weakened login", MI, text("node/users.sh", "PasswordAuthentication no", "PasswordAuthentication yes")),
    # RDMA pins what it registers.
    fault(
        "memory that may not be pinned",
        SL,
        text(f"{USER_DATA}compute.yaml", "* hard memlock unlimited", "* hard memlock 65536"),
    ),
    fault(
        "memory that may not be pinned",
        MI,
        text(f"{USER_DATA}compute.yaml", "* soft memlock unlimited", "* soft memlock 64"),
    ),
    fault("memory that may not be pinned", TU, text(f"{USER_DATA}compute.yaml", "* hard memlock", "* hard memlok")),
    fault(
        "kernel setting", SL, text(f"{USER_DATA}compute.yaml", "kernel.numa_balancing = 0", "kernel.numa_balancing = 1")
    ),
    fault("kernel setting", MI, text(f"{USER_DATA}compute.yaml", "rmem_max = 134217728", "rmem_max = 13421772")),
    fault("kernel setting", TU, text(f"{USER_DATA}compute.yaml", "conf.all.arp_ignore =", "conf.all.arp_ignor =")),
    fault("kernel setting", AS, cell(KERNEL, "compute,vm.swappiness", "value", "100")),
    # It is asked for figures by this one, and the firmware of drives is looked up by that one.
    fault("package that is missing", SL, without(f"{USER_DATA}compute.yaml", "  - prometheus-node-exporter")),
    fault("package that is missing", TU, without(f"{USER_DATA}compute.yaml", "  - nvme-cli")),
    fault(
        "package that is missing",
        MI,
        text(f"{USER_DATA}login.yaml", "  - prometheus-node-exporter", "  - prometheus-node-exporters"),
    ),
    fault("logs that go nowhere", SL, text(f"{USER_DATA}compute.yaml", "@@mgmt-001:514", "@@mgmt-001:541")),
    fault("logs that go nowhere", TU, text(f"{USER_DATA}login.yaml", "@@mgmt-001:514", "@@mgmt-01:514")),
    fault("logs that go nowhere", MI, text(f"{USER_DATA}control.yaml", "*.warning @@", "*.emerg @@")),
    fault(
        "unit that is not started", SL, text(f"{USER_DATA}compute.yaml", "nvidia-persistenced", "nvidia-persistence")
    ),
    fault("unit that is not started", MI, text("node/accounting_backup.sh", "enable --now gpu", "disable --now gpu")),
    fault(
        "unit that is not started",
        TU,
        text(
            f"{CONTROL}etcd_backup.sh", "--now gpu-cluster-etcd-backup.timer", "--now gpu-cluster-etcd-backup.service"
        ),
    ),
    fault(
        "unit that is not started",
        SL,
        text("node/mig.sh", "systemctl enable gpu-cluster-mig", "systemctl start gpu-cluster-mig"),
    ),
    # A driver that changes in the night takes the node with it.
    fault(
        "updates by themselves",
        SL,
        text(f"{USER_DATA}compute.yaml", 'Unattended-Upgrade "0"', 'Unattended-Upgrade "1"'),
    ),
    fault(
        "updates by themselves", MI, text(f"{USER_DATA}compute.yaml", "package_upgrade: false", "package_upgrade: true")
    ),
    fault(
        "updates by themselves",
        AS,
        text(f"{USER_DATA}control.yaml", 'Unattended-Upgrade "0"', 'Unattended-Upgrade "1"'),
    ),
    fault("firmware setting turned round", SL, cell(FIRMWARE, "BIOS,ACS on PCIe switches", "value", "on")),
    fault("firmware setting turned round", MI, cell(FIRMWARE, "BIOS,deep sleep of cores", "value", "on")),
    fault("firmware setting turned round", TU, cell(FIRMWARE, "BIOS,above 4G decoding", "value", "disabled")),
    fault(
        "firmware setting turned round",
        AS,
        cell(FIRMWARE, "HCA,LINK_TYPE", "value", "ETH (1) on Ethernet; IB (2) on InfiniBand"),
    ),
    # MAAS makes machines with the wrong hardware address, or cannot switch them on.
    fault("enlisting of machines", SL, text(ENLIST, '$3 == ""', '$4 == ""')),
    fault("enlisting of machines", TU, text(ENLIST, "read -r name role mac _ bmc", "read -r name role mac bmc _")),
    fault("enlisting of machines", AS, text(ENLIST, "power_type=ipmi", "power_type=manual")),
    fault("enlisting of machines", MI, text(ENLIST, "architecture=amd64/generic", "architecture=arm64/generic")),
    # Figures and alerts.
    fault("machine that nobody asks", SL, without(SCRAPES, "          - hx009:9400")),
    fault("machine that nobody asks", MI, text(SCRAPES, "- mi020:9100", "- mi02:9100")),
    fault("machine that nobody asks", AS, without(SCRAPES, "          - mgmt-002:9100")),
    fault("figures of another exporter", SL, text(SCRAPES, "hx001:9400", "hx001:9100")),
    fault("figures of another exporter", MI, text(SCRAPES, "mi003:5000", "mi003:9400")),
    fault("figures of another exporter", TU, text(SCRAPES, "mgmt-001:9100", "mgmt-001:9090")),
    # Seconds taken for milliseconds, a share for percent, degrees Celsius for Fahrenheit.
    fault("threshold in another unit", AS, text(ALERTS, "> 0.05", "> 50")),
    fault("threshold in another unit", SL, text(ALERTS, '{mountpoint="/"} < 0.1', '{mountpoint="/"} < 10')),
    fault(
        "threshold in another unit",
        MI,
        text(ALERTS, "gpu_junction_temperature > 100", "gpu_junction_temperature > 212"),
    ),
    fault("threshold in another unit", TU, text(ALERTS, "DCGM_FI_DEV_GPU_TEMP > 87", "DCGM_FI_DEV_GPU_TEMP > 188")),
    fault("figure that nobody exports", SL, text(ALERTS, 'up{job="machine"}', 'up{job="machines"}')),
    fault("figure that nobody exports", TU, text(ALERTS, "ROW_REMAP_FAILURE >", "ROW_REMAP_FAILED >")),
    fault("figure that nobody exports", MI, text(ALERTS, "gpu_ecc_uncorrect_total", "gpu_ecc_uncorrected_total")),
    fault("comparison turned round", TU, text(ALERTS, "(DCGM_FI_DEV_GPU_TEMP) < 8", "(DCGM_FI_DEV_GPU_TEMP) > 8")),
    fault("comparison turned round", MI, text(ALERTS, "gpu_health == 0", "gpu_health == 1")),
    fault("comparison turned round", AS, text(ALERTS, '{job="machine"} == 0', '{job="machine"} != 0')),
    fault("alert that waits for days", SL, text(ALERTS, "for: 5m", "for: 5d")),
    fault("alert that waits for days", MI, text(ALERTS, "for: 30m", "for: 30d")),
    fault("alert that waits for days", TU, text(ALERTS, "for: 10m", "for: 10h", after="GpuHot")),
    # Slurm.
    # A node with less than this drains itself; one with more wastes it.
    fault(
        "hardware of nodes in Slurm",
        SL,
        text("slurm.conf", "RealMemory=1811981 Gres=gpu:h100", "RealMemory=2811981 Gres=gpu:h100"),
    ),
    fault("hardware of nodes in Slurm", MI, text("slurm.conf", "CPUs=256 Sockets=2", "CPUs=265 Sockets=2")),
    fault("hardware of nodes in Slurm", MI, text("slurm.conf", "gpu:mi300x:8", "gpu:mi300x:4")),
    fault(
        "hardware of nodes in Slurm",
        SL,
        text("slurm.conf", "CoresPerSocket=56", "CoresPerSocket=112", after="hx[015-016]"),
    ),
    fault("nodes of a partition or switch", SL, text("slurm.conf", "h100 Nodes=hx[001-014]", "h100 Nodes=hx[001-016]")),
    fault("nodes of a partition or switch", MI, text("slurm.conf", "amd Nodes=mi[001-024]", "amd Nodes=mi[001-023]")),
    fault("nodes of a partition or switch", SL, text("slurm.conf", "nlp Nodes=hx[001-014]", "nlp Nodes=hx[001-041]")),
    fault("nodes of a partition or switch", MI, text("topology.conf", "mi[001-024]", "mi[002-024]")),
    # The backup has no queue, and cancels every job; or asks a machine that is no controller.
    fault(
        "controller or accounting elsewhere",
        SL,
        text("slurm.conf", "=/shared/slurm/slurmctld", "=/var/spool/slurmctld"),
    ),
    fault(
        "controller or accounting elsewhere", MI, text("slurm.conf", "SlurmctldHost=mgmt-002", "SlurmctldHost=mgmt-003")
    ),
    fault("controller or accounting elsewhere", SL, text("slurm.conf", "StorageHost=mgmt-002", "StorageHost=mgmt-001")),
    fault("controller or accounting elsewhere", MI, text("slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-001")),
    # A job sees GPUs and memory of others.
    fault("jobs that are not confined", SL, text("cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no")),
    fault("jobs that are not confined", MI, text("cgroup.conf", "ConstrainRAMSpace=yes", "ConstrainRAMSpace=no")),
    fault(
        "jobs that are not confined",
        SL,
        text("slurm.conf", "TaskPlugin=task/cgroup,task/affinity", "TaskPlugin=task/affinity"),
    ),
    fault("jobs that are not confined", MI, text("slurm.conf", "proctrack/cgroup", "proctrack/linuxproc")),
    # slurmctld does not start.
    fault(
        "word of Slurm misspelt",
        SL,
        text("slurm.conf", "PropagateResourceLimitsExcept=", "PropagateResourceLimitExcept="),
    ),
    fault("word of Slurm misspelt", MI, text("slurm.conf", "PrologEpilogTimeout=", "PrologEpilogTimout=")),
    fault("word of Slurm misspelt", SL, text("gres.conf", "AutoDetect=nvml", "AutoDetect=nvlm")),
    fault("word of Slurm misspelt", MI, text("slurm.conf", "=IDLE,CYCLE", "=IDEL,CYCLE")),
    fault("GPUs and cores in gres.conf", SL, text("gres.conf", "Cores=0-55", "Cores=56-111")),
    fault("GPUs and cores in gres.conf", MI, text("gres.conf", "Cores=64-127", "Cores=64-128")),
    fault("GPUs and cores in gres.conf", SL, text("gres.conf", "nvidia[4-7]", "nvidia[3-7]")),
    fault("GPUs and cores in gres.conf", MI, text("gres.conf", "renderD[128,136,144,152]", "renderD[128,129,130,131]")),
    # Days taken for hours, months for days.
    fault("time in another unit", SL, text("slurm.conf", "MaxTime=4-00:00:00", "MaxTime=4:00:00")),
    fault("time in another unit", MI, text("slurmdbd.conf", "PurgeJobAfter=24months", "PurgeJobAfter=24hours")),
    fault("time in another unit", SL, text("node/tenants.sh", "MaxWall=4-00:00:00", "MaxWall=4")),
    fault(
        "time in another unit", SL, text("slurm.conf", "PreemptExemptTime=00:10:00", "PreemptExemptTime=10-00:00:00")
    ),
    fault("share of a tenant", SL, text("node/tenants.sh", "GrpTRES=gres/gpu=57", "GrpTRES=gres/gpu=75")),
    fault("share of a tenant", SL, text("slurm.conf", "AllowAccounts=bio", "AllowAccounts=nlp")),
    fault("share of a tenant", SL, text("node/tenants.sh", "Fairshare=429", "Fairshare=249")),
    fault("share of a tenant", SL, text("node/tenants.sh", "member jonas nlp", "member jonas bio")),
    fault("share of a tenant", AS, text(TENANTS, "gpu: '48'", "gpu: '480'")),
    fault("share of a tenant", TU, text(TENANTS, "gpu: '32'", "gpu: '3'")),
    # Who becomes whom.
    fault("list of users", SL, text("node/users.list", "user jonas 3202", "user jonas 3201")),
    fault("list of users", SL, text("node/users.list", "user petra 3203 no", "user petra 3203 yes")),
    fault("list of users", SL, text("node/users.list", "key jonas", "key ines")),
    fault(
        "list of users",
        SL,
        text("users.md", "install --mode=0644 node/users.list", "install --mode=0666 node/users.list"),
    ),
    # It finds nothing wrong, or takes what belongs to others.
    fault("check that does not check", SL, text("node/node_check.sh", '"$active" -lt', '"$active" -gt')),
    fault("check that does not check", MI, text("node/node_check.sh", "    fi\nfi\nexit 3", "    fi\nfi\nexit 0")),
    fault("check that does not check", SL, text("node/epilog.sh", '"$others" -eq 0', '"$others" -ge 0')),
    fault(
        "check that does not check",
        MI,
        text("node/health_check.sh", 'node_check.sh" --drain quick', 'node_check.sh" quick'),
    ),
    fault(
        "check that does not check",
        SL,
        text("node/software_check.sh", '"$driver" != "$fabric"', '"$driver" = "$fabric"'),
    ),
    fault("what the node check expects", SL, text("node/node.env", "GPUS_PER_NODE=8", "GPUS_PER_NODE=4")),
    fault("what the node check expects", MI, text("node/node.env", "ACCELERATOR_STEP=8", "ACCELERATOR_STEP=1")),
    fault("what the node check expects", MI, text("node/node.env", "LINK_LAYER=Ethernet", "LINK_LAYER=InfiniBand")),
    fault("what the node check expects", SL, text("node/node.env", "FABRIC_GBIT_PER_S=400", "FABRIC_GBIT_PER_S=40")),
    # Slices: made after slurmd has looked, in places that do not exist, billed tenfold, or fewer than there are.
    fault("slices of GPUs", SL, text("node/mig.sh", "Before=slurmd.service", "After=slurmd.service")),
    fault("slices of GPUs", SL, text("software.md", "--at-boot 3g.40gb:0,3g.40gb:4", "--at-boot 3g.40gb:0,3g.40gb:3")),
    fault("slices of GPUs", SL, text("slurm.conf", "gpu:3g.40gb=0.5", "gpu:3g.40gb=5")),
    fault("slices of GPUs", SL, text("slurm.conf", "Gres=gpu:3g.40gb:16", "Gres=gpu:3g.40gb:14")),
    # Copies: three nights instead of thirty, readable by all, or refused by etcd.
    fault("copies", MI, text("node/accounting_backup.sh", "tail -n +31", "tail -n +3")),
    fault("copies", SL, text("node/accounting_backup.sh", "umask 077", "umask 022")),
    fault("copies", TU, text(f"{CONTROL}etcd_backup.sh", "OnCalendar=hourly", "OnCalendar=monthly")),
    fault("copies", AS, text(f"{CONTROL}etcd_backup.sh", "$certificates/server.key", "$certificates/peer.key")),
    fault(
        "versions that are apart", SL, text("node/versions.csv", "fabricmanager,595.91.07", "fabricmanager,595.71.05")
    ),
    fault(
        "versions that are apart",
        TU,
        text("software.md", "| Fabric Manager | 595.91.07", "| Fabric Manager | 590.91.07"),
    ),
    fault("versions that are apart", MI, text("runbook.md", "Slurm, now 23.11.4", "Slurm, now 24.05.4")),
    fault("versions that are apart", AS, text("kubernetes/README.md", "--version v26.7.0", "--version v25.1.0")),
    fault(
        "versions that are apart",
        TU,
        text(
            "kubernetes/network/nic-cluster-policy.yaml",
            "network-operator-v26.4.1",
            "network-operator-v25.4.0",
            after="nvIpam",
        ),
    ),
    # The job does not start, or on other hardware than the plan.
    fault("layout of the job", SL, text("launch/train.sbatch", "--nproc-per-node=8", "--nproc-per-node=4")),
    fault(
        "layout of the job",
        SL,
        text("launch/train.sbatch", "--tensor-model-parallel-size 2", "--tensor-model-parallel-size 3"),
    ),
    fault("layout of the job", SL, text("launch/train.sbatch", "--global-batch-size 448", "--global-batch-size 484")),
    fault("layout of the job", SL, text("launch/job.env", "JOB_PARTITION=h100", "JOB_PARTITION=gpu")),
    fault("layout of the job", TU, text(f"{JOBS}finetune.yaml", "--nproc_per_node 8", "--nproc_per_node 6")),
    fault("layout of the job", TU, text(f"{JOBS}finetune.yaml", "completions: 7", "completions: 9")),
    # Sockets in the place of verbs: a tenth of the speed.
    fault("transport of collectives", SL, text("launch/train.sbatch", "NCCL_NET=IB", "NCCL_NET=Socket")),
    fault("transport of collectives", TU, text(f"{JOBS}finetune.yaml", "value: IB", "value: Socket")),
    fault("transport of collectives", AS, text(f"{JOBS}all_reduce.yaml", "name: NCCL_NET", "name: NCCL_NETWORK")),
    # Work lost at the next failure, or a full file system.
    fault("checkpoints of the job", SL, text("launch/train.sbatch", "--save-interval 165", "--save-interval 16500")),
    fault(
        "checkpoints of the job", SL, text("launch/train.sbatch", '"$CHECKPOINT_PATH" 5 0', '"$CHECKPOINT_PATH" 50 0')
    ),
    fault(
        "checkpoints of the job", SL, text("launch/train.sbatch", '--load "$CHECKPOINT_PATH"', '--load "$LAUNCH_PATH"')
    ),
    fault(
        "checkpoints of the job",
        TU,
        text(f"{JOBS}finetune.yaml", "again=(resume_from_checkpoint=true)", "again=(resume_from_checkpoint=false)"),
    ),
    # Kubernetes: control plane.
    # Nodes that know one server are away with it; a port with two digits swapped answers nobody.
    fault(
        "way to the API server", TU, text(f"{CONTROL}kubeadm-join-node.yaml", "10.64.0.143:6443", "10.64.0.153:6443")
    ),
    fault("way to the API server", AS, text(INIT, "Endpoint: 10.112.1.15:6443", "Endpoint: 10.112.1.15:6433")),
    fault("way to the API server", TU, text(VIP, "value: 10.64.0.143", "value: 10.64.0.134")),
    fault("way to the API server", AS, text(f"{CONTROL}kubeadm-join-control.yaml", "10.112.1.15", "10.112.1.51")),
    # Pods shadow the site's own addresses, or there are none for the third node.
    fault("network of pods", TU, text(INIT, "podSubnet: 10.32.0.0/11", "podSubnet: 10.64.0.0/11")),
    fault("network of pods", AS, text(INIT, "serviceSubnet: 10.24.0.0/16", "serviceSubnet: 10.112.0.0/16")),
    fault("network of pods", TU, text(INIT, "value: '24'", "value: '12'")),
    # In clear text: in etcd, in the audit log, or by the file's mode.
    fault(
        "secrets in the open",
        TU,
        text(f"{CONTROL}encryption.yaml", "  - secretbox:", "  - identity: {}\n  - secretbox:"),
    ),
    fault("secrets in the open", AS, text(f"{CONTROL}audit.yaml", "level: Metadata", "level: RequestResponse")),
    fault("secrets in the open", AS, text(f"{CONTROL}prepare.sh", "(umask 077 && sed", "(umask 022 && sed")),
    fault("secrets in the open", SL, text("jobs.md", "--mode=0600 slurmdbd.conf", "--mode=0644 slurmdbd.conf")),
    fault("secrets in the open", SL, text("jobs.md", "(umask 077 && printf", "(umask 022 && printf")),
    # What it forbids is written down, and let in.
    fault("policy that lets in", TU, text("kubernetes/namespace.yaml", "  - Deny", "  - Audit")),
    fault("policy that lets in", AS, text("kubernetes/namespace.yaml", "failurePolicy: Fail", "failurePolicy: Ignore")),
    fault("policy that lets in", TU, without("kubernetes/namespace.yaml", "        - vision")),
    fault("policy that lets in", AS, text("kubernetes/namespace.yaml", "has(v.hostPath)", "has(v.emptyDir)")),
    fault("policy that lets in", AS, text(INIT, "value: NodeRestriction", "value: AlwaysAdmit")),
    fault("rights of a tenant", TU, text(TENANTS, "name: edit", "name: cluster-admin")),
    fault("rights of a tenant", AS, text(TENANTS, "name: tenant-legal", "name: tenant-sales")),
    fault("rights of a tenant", AS, text(TENANTS, "    - podSelector: {}", "    - namespaceSelector: {}")),
    fault("rights of a tenant", TU, text(TENANTS, "  - Ingress\n", "  - Egress\n")),
    # No server takes the shared address over.
    fault("shared address of the control plane", TU, text(VIP, "value: bond0", "value: eth0")),
    fault("shared address of the control plane", AS, text(VIP, "value: '5'", "value: '2'")),
    fault("shared address of the control plane", AS, text(VIP, "value: 'true'", "value: 'false'", after="cp_enable")),
    fault("shared address of the control plane", TU, text(VIP, "value: 'true'", "value: 'false'", after="vip_arp")),
    # kubelet does not start, or gives pods what the system needs.
    fault("kubelet", TU, text(INIT, "cgroupDriver: systemd", "cgroupDriver: cgroupfs")),
    fault("kubelet", AS, text(INIT, "memory: 8Gi", "memory: 8Mi")),
    fault("kubelet", TU, text(INIT, "imageGCLowThresholdPercent: 80", "imageGCLowThresholdPercent: 95")),
    fault("kubelet", AS, text(INIT, "maxPods: 110", "maxPods: 11")),
    fault("kubelet", TU, text(INIT, "CriticalPods: 30s", "CriticalPods: 300s")),
    # Kubernetes: what is shared.
    fault("shared volume", TU, text("kubernetes/storage.yaml", "  - ReadWriteMany", "  - ReadWriteOnce")),
    fault(
        "shared volume",
        TU,
        text("kubernetes/storage.yaml", "volumeName: workload-shared", "volumeName: shared-workload"),
    ),
    fault("shared volume", TU, text("kubernetes/storage.yaml", "path: /shared/workload", "path: /share/workload")),
    fault("shared volume", TU, text("kubernetes/storage.yaml", "    namespace: workload", "    namespace: agents")),
    # More than there is, or in mebibytes.
    fault("quota of a queue", AS, text(QUEUES, "nominalQuota: '26'", "nominalQuota: '62'")),
    fault("quota of a queue", AS, text(QUEUES, "nominalQuota: 13408Gi", "nominalQuota: 13408Mi")),
    fault("quota of a queue", TU, text(QUEUES, "nominalQuota: '36'", "nominalQuota: '6'")),
    fault("quota of a queue", TU, text(QUEUES, "nominalQuota: '32'", "nominalQuota: '64'")),
    fault("queue that reaches nobody", TU, text(QUEUES, "cohort: cluster", "cohort: clusters", after="  name: vision")),
    fault("queue that reaches nobody", AS, text(TENANTS, "clusterQueue: legal", "clusterQueue: lega")),
    fault("queue that reaches nobody", TU, text(QUEUES, "gpu-cluster/name: agents", "gpu-cluster/name: agent")),
    fault(
        "queue that reaches nobody", AS, text(QUEUES, "- name: gpu-nodes", "- name: gpu-node", after="  name: sales")
    ),
    fault("queue that reaches nobody", TU, without("kubernetes/kustomization.yaml", "- queues.yaml")),
    fault("labels of a node", AS, text("kubernetes/node-labels.yaml", '"a01"', '"a10"')),
    fault("labels of a node", TU, text("kubernetes/node-labels.yaml", '"su1"', '"su2"', after='"bx004"')),
    fault(
        "labels of a node",
        AS,
        text("kubernetes/node-labels.yaml", "NoSchedule}", "PreferNoSchedule}", after='"srv005"'),
    ),
    fault(
        "labels of a node",
        AS,
        text("kubernetes/node-labels.yaml", "node-kind: gpu", "node-kind: gpus", after='"srv012"'),
    ),
    # No GPUs in parts where they were promised, or in parts where they are not.
    fault("shared GPUs", TU, text("kubernetes/sharing/device-plugin.yaml", "replicas: 4", "replicas: 14")),
    fault("shared GPUs", TU, text("kubernetes/node-labels.yaml", '.config: "shared"', '.config: "share"')),
    fault("shared GPUs", TU, text("kubernetes/values/gpu-operator.yaml", "default: whole", "default: shared")),
    fault("shared GPUs", TU, text("kubernetes/values/gpu-operator.yaml", "name: gpu-sharing", "name: gpu-share")),
    # Two drivers or two labellers at once; or pods of the operator that no node takes.
    fault(
        "operators",
        TU,
        text("kubernetes/values/gpu-operator.yaml", "driver:\n  enabled: false", "driver:\n  enabled: true"),
    ),
    fault(
        "operators",
        AS,
        text("kubernetes/values/network-operator.yaml", "nfd:\n  enabled: false", "nfd:\n  enabled: true"),
    ),
    fault(
        "operators", AS, text("kubernetes/values/gpu-operator.yaml", "nfd:\n  enabled: true", "nfd:\n  enabled: false")
    ),
    fault(
        "operators", TU, text("kubernetes/values/gpu-operator.yaml", "- key: nvidia.com/gpu", "- key: nvidia.com/gpus")
    ),
    fault("fabric ports in pods", TU, text("kubernetes/network/nic-cluster-policy.yaml", '"15b3"', '"15d3"')),
    fault(
        "fabric ports in pods", AS, text("kubernetes/network/nic-cluster-policy.yaml", '["infiniband"]', '["ether"]')
    ),
    fault(
        "fabric ports in pods", TU, text("kubernetes/network/rails.yaml", "resourceName: rail", "resourceName: rails")
    ),
    fault(
        "fabric ports in pods",
        AS,
        text("kubernetes/network/rails.yaml", "networkNamespace: workload", "networkNamespace: default"),
    ),
    fault(
        "fabric ports in pods", TU, text("kubernetes/network/rails.yaml", "perNodeBlockSize: 16", "perNodeBlockSize: 4")
    ),
    # Pods that wait for ever, or for each other.
    fault("pods of a job", TU, text(f"{JOBS}finetune.yaml", "nvidia.com/rail: '8'", "nvidia.com/rail: '4'")),
    fault("pods of a job", TU, text(f"{JOBS}finetune.yaml", "job-name: tune", "job-name: finetune")),
    fault("pods of a job", AS, text(f"{JOBS}all_reduce.yaml", "networks: rails,rails,", "networks: rails,")),
    fault("pods of a job", AS, text(f"{JOBS}all_reduce.yaml", "            - IPC_LOCK", "            - IPC_OWNER")),
    fault("pods of a job", TU, text(f"{JOBS}all_reduce.yaml", "queue-name: gpu", "queue-name: gpus")),
    fault(
        "memory in another unit", TU, text(f"{JOBS}finetune.yaml", "memory: 1676Gi", "memory: 1676Mi", after="limits:")
    ),
    fault("memory in another unit", TU, text(f"{JOBS}all_reduce.yaml", "sizeLimit: 64Gi", "sizeLimit: 64Mi")),
    fault("memory in another unit", AS, text(REPLICAS, "sizeLimit: 32Gi", "sizeLimit: 32Mi", after="medium: Memory")),
    # Smaller than the weights.
    fault("memory in another unit", AS, text(REPLICAS, "sizeLimit: 75Gi", "sizeLimit: 57Gi")),
    # The service.
    fault(
        "selector or port of the service",
        AS,
        text(f"{SERVING}service.yaml", "component: engine\n  ports", "component: server\n  ports"),
    ),
    fault("selector or port of the service", AS, text(f"{SERVING}monitoring/pods.yaml", "port: http", "port: metrics")),
    fault("selector or port of the service", AS, text(f"{SERVING}gateway.yaml", "number: 8000", "number: 8080")),
    fault("selector or port of the service", AS, text(f"{SERVING}service.yaml", "port: 8000", "port: 80")),
    fault("selector or port of the service", AS, text(f"{SERVING}gateway.yaml", "number: 9002", "number: 9003")),
    fault("scaling of the service", AS, text(SCALING, "minReplicaCount: 12", "minReplicaCount: 120")),
    fault("scaling of the service", AS, text(SCALING, "threshold: '0.8'", "threshold: '80'")),
    fault("scaling of the service", AS, text(SCALING, "    name: assist\n  min", "    name: assistant\n  min")),
    fault("scaling of the service", AS, text(SCALING, "    replicas: 31", "    replicas: 3")),
    fault("scaling of the service", AS, text(f"{SERVING}deploy.env", "MOST=31", "MOST=13")),
    # The engine refuses to start, or answers under a name that nobody asks for.
    fault("flags of the engine", AS, text(REPLICAS, "- '4'", "- '8'", after="--tensor-parallel-size")),
    fault("flags of the engine", AS, text(REPLICAS, "- '0.88'", "- '88'")),
    fault("flags of the engine", AS, text(REPLICAS, "- '26624'", "- '2662'")),
    fault("flags of the engine", AS, text(REPLICAS, "- llama-3.1-70b", "- llama-3-70b")),
    fault("flags of the engine", AS, without(REPLICAS, "        - --enable-metrics")),
    # A pod that reads its weights is killed, or one that ends takes its requests along.
    fault("probes and ends of pods", AS, text(REPLICAS, "failureThreshold: 180", "failureThreshold: 18")),
    fault("probes and ends of pods", AS, text(REPLICAS, "path: /health", "path: /healthy", after="readinessProbe")),
    fault("probes and ends of pods", AS, text(REPLICAS, "- '15'", "- '150'")),
    fault(
        "probes and ends of pods", AS, text(REPLICAS, "progressDeadlineSeconds: 2400", "progressDeadlineSeconds: 240")
    ),
    fault("rights of the service's pods", AS, text(REPLICAS, "runAsUser: 10001", "runAsUser: 0")),
    fault(
        "rights of the service's pods", AS, text(REPLICAS, "ServiceAccountToken: false", "ServiceAccountToken: true")
    ),
    fault("rights of the service's pods", AS, text(f"{SERVING}fetch.yaml", "169.254.0.0/16", "169.254.0.0/32")),
    fault(
        "rights of the service's pods",
        AS,
        text(
            f"{SERVING}service.yaml",
            "    - namespaceSelector:\n        matchLabels:\n          serving-client: 'true'",
            "    - namespaceSelector: {}",
        ),
    ),
    # An alert on the wrong share of requests, or on ten times the load.
    fault("rules of the service", AS, text(RULES, 'le="1.0"', 'le="10.0"')),
    fault("rules of the service", AS, text(RULES, "[6h]", "[6m]")),
    fault("rules of the service", AS, text(RULES, "> 0.72", "> 7.2")),
    fault("rules of the service", AS, text(RULES, "> 410.9", "> 4109")),
    fault(
        "rules of the service",
        AS,
        text(
            f"{SERVING}monitoring/dashboard.json",
            "time_to_first_token_seconds_bucket",
            "time_to_first_token_seconds_sum",
        ),
    ),
    # It holds the service against another load or another goal.
    fault("load test", AS, text(f"{SERVING}loadtest/vllm_bench.sh", "ttft:1000", "ttft:1")),
    fault("load test", AS, text(f"{SERVING}loadtest/aiperf.sh", "tokens-mean 1500", "tokens-mean 150")),
    fault("load test", AS, text(f"{SERVING}loadtest/plan.json", '"replicas": 30', '"replicas": 3')),
    # Pages that people go by.
    fault("number of the acceptance test", SL, text("acceptance.md", "623 links", "632 links")),
    fault("number of the acceptance test", MI, text("acceptance.md", "10 racks, 28 PDUs", "10 racks, 20 PDUs")),
    fault(
        "number of the acceptance test", TU, text("acceptance.md", "at most 43.5 kW a rack", "at most 34.5 kW a rack")
    ),
    fault("number of the acceptance test", AS, text("acceptance.md", "31 replicas ready", "13 replicas ready")),
    fault("number of the acceptance test", MI, text("acceptance.md", "15.3 GB/s in all", "15.3 GB in all")),
    fault("step of the runbook", SL, text("runbook.md", "`state=resume`", "`state=down`")),
    fault("step of the runbook", TU, text("runbook.md", "`kubectl uncordon`", "`kubectl cordon`")),
    fault("step of the runbook", MI, text("runbook.md", "switches, cooling last", "cooling, switches last")),
    fault("step of the runbook", MI, text("runbook.md", "drain its 24 hosts", "drain its 4 hosts")),
    fault("step of the runbook", AS, text("runbook.md", "above 80 % full", "above 98 % full")),
    fault("step of the runbook", SL, text("runbook.md", "more than 50 ms off", "more than 50 s off")),
    # Passed, although the number is over the limit beside it.
    fault("verdict of the check-list", MI, text("checklist.md", "36.0 kW (A01) | 40.0 kW", "46.0 kW (A01) | 40.0 kW")),
    fault("verdict of the check-list", AS, text("checklist.md", "1 fail", "0 fail")),
    fault(
        "verdict of the check-list", TU, text("checklist.md", "22.9 kVA (A01) | 34.5 kVA", "39.2 kVA (A01) | 34.5 kVA")
    ),
    fault("load of the hall", SL, text("power_and_cooling.md", "| Compute | 163.2 kW", "| Compute | 136.2 kW")),
    fault(
        "load of the hall",
        MI,
        text("power_and_cooling.md", "A full compute rack needs 37.9 kVA", "A full compute rack needs 73.9 kVA"),
    ),
    fault("load of the hall", TU, text("power_and_cooling.md", "13 PDUs in all", "31 PDUs in all")),
    fault("load of the hall", AS, text("power_and_cooling.md", "21,057 CFM", "2,105 CFM")),
    fault("page of storage", SL, text("storage.md", "must hold 600 TB", "must hold 600 GB")),
    fault("page of storage", MI, text("storage.md", "lfs setstripe -c 10 ", "lfs setstripe -c 100 ")),
    fault("page of storage", TU, text("storage.md", "5.88 GB/s read", "58.8 GB/s read")),
    fault("page of storage", MI, text("storage.md", "- Data: 10 OST", "- Data: 12 OST")),
    # Whoever follows them word by word.
    fault(
        "command of a page", SL, text("jobs.md", "install --directory --mode=1777", "install --directory --mode=0777")
    ),
    fault(
        "command of a page",
        MI,
        text("jobs.md", "install_missing mariadb-server slurmdbd", "install_missing mariadb-server slurmd"),
    ),
    fault(
        "command of a page",
        TU,
        text(f"{CONTROL}README.md", "bash prepare.sh control && kubeadm join", "bash prepare.sh node && kubeadm join"),
    ),
    fault("command of a page", AS, text("kubernetes/README.md", "--namespace kueue-system", "--namespace workload")),
    fault("command of a page", TU, text("kubernetes/README.md", "mkdir /shared/workload", "mkdir /shared/workloads")),
    fault("command of a page", SL, text("tenants.md", "--qos=bio-spare --requeue", "--qos=nlp-spare --requeue")),
    fault(
        "what the README says of machines",
        SL,
        text("README.md", "login on mgmt-003 to mgmt-004", "login on mgmt-002 to mgmt-004"),
    ),
    fault("what the README says of machines", TU, text("README.md", "9 × NVIDIA DGX B300", "8 × NVIDIA DGX B300")),
    fault(
        "what the README says of machines", MI, text("README.md", "8 leaf, 4 spine sn5600", "4 leaf, 8 spine sn5600")
    ),
    fault(
        "what the README says of machines",
        AS,
        text(f"{CONTROL}README.md", "| mgmt-002 | 10.112.1.50 |", "| mgmt-002 | 10.112.1.51 |"),
    ),
)
