"""Faults of people who build and run clusters, in folders of three kinds, by somebody who had read no rule."""

from tests.checks.prove.changes import Change, Fault, cell, text, without

SITES = {
    "b300": """\
name: mixtral-owned
workload:
  {kind: train, model: mixtral-8x22b, tokens: 5e11, sequence_length: 8192, global_batch: 768, framework: megatron-core}
goals: {finish_within: 90 days}
targets:
  onprem:
    system: dgx-b300
    min_nodes: 24
    max_nodes: 24
    storage: {system: ddn, capacity: 3 PB, box: {capacity: 500 TB, height: 2 U}}
    spares: {nodes: 5 %, switches: 4 %}
cluster:
  users: [{name: ada, uid: 2001, ssh_keys: []}, {name: grace, uid: 2002, ssh_keys: []}]
tenants:
  - {name: research, share: 60 %, users: [ada], max_gpus_per_user: 64, longest_job: 14 days}
  - {name: product, share: 30 %, users: [grace], when_free: keep}
site:
  power_price: 0.09 USD/kWh
  pue: 1.25
  rack_power: 66 kW
  rack_height: 52 U
  network: {range: 10.96.0.0/12, first_vlan: 300, uplinks: 6}
""",
    "mi300x": """\
name: llama-mi
workload: {kind: train, model: llama-3-8b, tokens: 3e11, sequence_length: 8192, global_batch: 768}
goals: {finish_within: 60 days}
targets:
  onprem:
    system: mi300x-8gpu
    min_nodes: 12
    max_nodes: 12
    scheduler: kubernetes
    storage: {system: minio, capacity: 1 PB, box: {height: 2 U}}
tenants:
  - {name: vision, share: 50 %, max_gpus: 64}
  - {name: speech, share: 50 %, when_free: keep}
site: {power_price: 0.11 USD/kWh, pue: 1.4, rack_power: 30 kW, rack_height: 42 U}
""",
    "chat": """\
name: chat-own
workload: {kind: serve, model: llama-3.1-70b, precision: fp8, framework: vllm}
traffic:
  users: 1500
  think_time: 60 s
  input_tokens: {mean: 1500, p95: 4000}
  output_tokens: {mean: 300, p95: 900}
  peak_over_mean: 1.6
goals: {first_token: 1 s, time_per_token: 50 ms, percentile: 95}
replicas: {spare: 1}
targets:
  onprem: {system: dgx-h100, min_nodes: 3, max_nodes: 6, scheduler: kubernetes}
site: {power_price: 0.08 USD/kWh, pue: 1.3, rack_power: 22 kW, rack_height: 42 U}
""",
}


def _of(kind: str, site: str, *faults: Change | tuple[Change, ...]) -> tuple[Fault, ...]:
    return tuple(Fault(kind, site, one if isinstance(one, tuple) else (one,)) for one in faults)


INIT = "kubernetes/control-plane/kubeadm-init.yaml"
VIP = "kubernetes/control-plane/kube-vip.yaml"
REPLICAS = "kubernetes/serving/replicas.yaml"
SCALING = "kubernetes/serving/scaling.yaml"
ALERTS = "provisioning/services/alerts.yml"
NODES = "provisioning/warewulf/nodes.conf"
COMPUTE = "provisioning/cloud-init/compute.yaml"
POWER = "power_and_cooling.md"

FAULTS = (
    *_of(
        "what a node has",
        "b300",
        text("slurm.conf", "RealMemory=1811981", "RealMemory=2199023"),
        text("slurm.conf", "CoresPerSocket=64", "CoresPerSocket=56"),
        text("slurm.conf", "ThreadsPerCore=2", "ThreadsPerCore=1"),
    ),
    *_of(
        "partitions",
        "b300",
        text("slurm.conf", "AllowAccounts=research", "AllowAccounts=product"),
        text("slurm.conf", "node[001-024]", "node[001-023]", "PartitionName=product"),
        text("slurm.conf", "Default=YES", "Default=NO"),
        text("slurm.conf", "MaxTime=14-00:00:00", "MaxTime=14:00:00"),
    ),
    *_of(
        "gres",
        "b300",
        text("gres.conf", "nvidia[4-7]", "nvidia[5-8]"),
        text("gres.conf", "Type=b300", "Type=b200", "nvidia[0-3]"),
        (
            text("gres.conf", "Cores=0-63", "Cores=64-127x"),
            text("gres.conf", "Cores=64-127\n", "Cores=0-63\n"),
            text("gres.conf", "64-127x", "64-127"),
        ),
    ),
    *_of(
        "topology",
        "b300",
        text("topology.conf", "node[001-024]", "node[001-020]"),
        text("topology.conf", "node[001-024]", "node[001-032]"),
        text("slurm.conf", "topology/tree", "topology/default"),
    ),
    *_of(
        "control groups",
        "b300",
        text("cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no"),
        text("cgroup.conf", "ConstrainRAMSpace=yes", "ConstrainRAMSpace=no"),
        text("slurm.conf", "proctrack/cgroup", "proctrack/linuxproc"),
    ),
    *_of(
        "prolog and health",
        "b300",
        text("slurm.conf", "Prolog=/opt/gpu-cluster/prolog.sh", "Prolog=/opt/gpu-cluster/prologue.sh"),
        text("node/prolog.sh", "--drain quick\n", "--drain quick || true\n"),
        text("slurm.conf", "HealthCheckInterval=300", "HealthCheckInterval=0"),
        text("node/epilog.sh", "--drain quick", "quick"),
    ),
    *_of(
        "accounting",
        "b300",
        text("slurmdbd.conf", "DbdHost=mgmt-002", "DbdHost=mgmt-003"),
        text("slurm.conf", "AccountingStorageHost=mgmt-002", "AccountingStorageHost=mgmt-001"),
        text("slurm.conf", "associations,limits,qos,safe", "associations,limits,safe"),
    ),
    *_of(
        "controllers",
        "b300",
        text("slurm.conf", "SlurmctldHost=mgmt-002", "SlurmctldHost=mgmt-003"),
        text("slurm.conf", "StateSaveLocation=/shared/slurm/slurmctld", "StateSaveLocation=/var/spool/slurmctld"),
        text("slurm.conf", "SelectTypeParameters=CR_Core_Memory", "SelectTypeParameters=CR_Core"),
    ),
    *_of(
        "tenants",
        "b300",
        text("node/tenants.sh", "gres/gpu=57", "gres/gpu=75"),
        text("node/tenants.sh", "member grace product", "member grace research"),
        text("node/tenants.sh", "Fairshare=667", "Fairshare=333"),
        text("tenants.md", "| 115 |", "| 151 |"),
    ),
    *_of(
        "job script",
        "b300",
        text("launch/train.sbatch", "--gres=gpu:b300:8", "--gres=gpu:b300:4"),
        text("launch/train.sbatch", "--nodes=24", "--nodes=23"),
        text("launch/train.sbatch", "--ntasks-per-node=1", "--ntasks-per-node=8"),
        text("launch/job.env", "JOB_PARTITION=gpu", "JOB_PARTITION=gpus"),
    ),
    *_of(
        "settings of nodes",
        "b300",
        text("node/node.env", "GBIT_PER_S=800", "GBIT_PER_S=400"),
        text("node/node.env", "CONTROLLER_ADDRESS=mgmt-001", "CONTROLLER_ADDRESS=mgmt-003"),
        text("node/node.env", "GPU_TYPE=b300", "GPU_TYPE=b200"),
    ),
    *_of(
        "addresses",
        "b300",
        cell("ip-plan.csv", "node007,bond0", "address", "10.96.2.23"),
        text("provisioning/services/hosts", "10.96.2.25\tnode010", "10.96.2.52\tnode010"),
        cell("provisioning/machines.csv", "mgmt-002", "bmc_address", "10.96.0.193"),
        cell("netbox/9-ip-addresses.csv", "10.96.6.16/25", "address", "10.96.6.16/24"),
    ),
    *_of(
        "DHCP",
        "b300",
        (
            cell("dhcp-hosts.csv", "node012,bond0", "address", "10.96.2.28"),
            cell("dhcp-hosts.csv", "node013,bond0", "address", "10.96.2.27"),
        ),
        cell("dhcp-hosts.csv", "node001,bond0", "gateway", "10.96.2.254"),
        cell("dhcp-hosts.csv", "node002,bond0", "vlan", "302"),
    ),
    *_of(
        "VLANs and prefixes",
        "mi300x",
        cell("netbox/8-vlans.csv", "planned,101", "vid", "110"),
        cell("ip-networks.csv", "compute leaf-01-1", "prefix", "10.64.4.0/25"),
        cell("ip-networks.csv", "storage st-leaf-01b", "vlan", "106"),
    ),
    *_of(
        "Warewulf",
        "b300",
        text(NODES, "10.96.2.35", "10.96.2.34", "node020:"),
        text(NODES, "netmask: 255.255.255.0", "netmask: 255.255.254.0"),
        text(NODES, "gateway: 10.96.0.1", "gateway: 10.96.2.1"),
    ),
    *_of(
        "cloud-init",
        "b300",
        text(COMPUTE, "10.96.2.90", "10.96.2.91"),
        text(COMPUTE, "hard memlock unlimited", "hard memlock 65536"),
        text(COMPUTE, "@@mgmt-001", "@@mgmt-004"),
    ),
    *_of(
        "monitoring",
        "mi300x",
        without("provisioning/services/prometheus.yml", "          - node012:5000"),
        text(ALERTS, "< 8", "< 4"),
        text("provisioning/services/prometheus.yml", "node003:9100", "node003:5000"),
    ),
    *_of(
        "time",
        "mi300x",
        text("provisioning/services/chrony.conf", "10.64.0.128/25", "10.64.0.128/28"),
        text("provisioning/services/chrony.conf", "allow 10.64.0.128/25", "allow 10.64.0.0/25"),
        text("provisioning/services/chrony.conf", "allow", "#allow"),
    ),
    *_of(
        "subnet manager",
        "b300",
        text("provisioning/opensm/compute.conf", "routing_engine ftree,updn", "routing_engine dor"),
        text("provisioning/opensm/partitions.conf", "mtu=5", "mtu=1"),
        text("provisioning/opensm/storage.conf", "/opensm/partitions.conf", "/opensm/partition.conf"),
    ),
    *_of(
        "cables",
        "chat",
        cell("cables.csv", "C000003,", "to_port", "5/2"),
        cell("cables.csv", "C000001,", "part", "mfp7e30"),
        cell("cables.csv", "C000002,", "length_m", "1"),
        without("cables.csv", "C000011,"),
    ),
    *_of(
        "labels",
        "chat",
        text("labels.csv", "C000002 ", "C000020 "),
        text("labels.csv", "A01 U01", "A01 U02"),
        without("labels.csv", "C000014,to"),
    ),
    *_of(
        "NetBox",
        "b300",
        cell("netbox/5-devices.csv", "node003,", "position", "20"),
        cell("netbox/4-racks.csv", "planned,A03", "u_height", "42"),
        cell("netbox/7-cables.csv", "node001,dcim.interface,compute-1", "length", "7"),
        cell("netbox/6-interfaces.csv", "node001,compute-2", "type", "400gbase-x-osfp"),
    ),
    *_of(
        "power in NetBox",
        "b300",
        cell("netbox/6-power-ports.csv", "node001,PSU1", "maximum_draw", "1450"),
        cell("netbox/5-power-feeds.csv", "planned,feed-B,A01", "voltage", "400"),
        cell("netbox/7-power-cables.csv", "node001,dcim.powerport,PSU2", "side_b_device", "pdu-a01-1"),
    ),
    *_of(
        "positions and loads",
        "b300",
        cell("racks.csv", "A01,31,", "u", "30"),
        cell("racks.csv", "A03,1,", "weight_kg", "186"),
        cell("racks.csv", "A02,11,", "power_w", "15400"),
    ),
    *_of(
        "quantities of the bill",
        "b300",
        (
            cell("bill_of_materials.csv", "1,dgx-b300", "quantity", "23"),
            cell("bill_of_materials.csv", "1,dgx-b300", "usd_total", "12650000"),
        ),
        cell("bill_of_materials.csv", "3,q3400-ra", "usd_total", "1020000"),
        text("bill_of_materials.md", "| 14 | each |", "| 4 | each |"),
    ),
    *_of(
        "licences and part numbers",
        "b300",
        text("bill_of_materials.md", "| 192 | GPU |", "| 24 | GPU |"),
        cell("bill_of_materials.csv", "25,mma4z00-ns", "maker_part_number", "MMA4Z00-NS400"),
        text("bill_of_materials.md", "| PX3-5878 |", "| PX3-5787 |"),
    ),
    *_of(
        "spares",
        "b300",
        text("procurement.md", "| nodes | 24 | 2 |", "| nodes | 24 | 1 |"),
        text("procurement.md", "| 5 | 4 % |", "| 5 | 5 % |"),
        text("procurement.md", "| 1,108 |", "| 1,180 |"),
    ),
    *_of(
        "acceptance",
        "b300",
        text("acceptance.md", "772 compute", "722 compute"),
        text("acceptance.md", "driver 595.91.07", "driver 580.65.06"),
        text("acceptance.md", "4x XDR", "4x NDR"),
        text("acceptance.md", "srun -N 24", "srun -N 23"),
        text("acceptance.md", "at least 30.5 GB/s", "at least 3.05 GB/s"),
    ),
    *_of(
        "power page",
        "b300",
        text(POWER, "348.0 kW", "384.0 kW"),
        text(POWER, "| 47.8 A |", "| 43.8 A |"),
        text(POWER, "558.9 kW", "547.1 kW"),
        text(POWER, "48,578 CFM", "45,878 CFM"),
    ),
    *_of(
        "runbook",
        "b300",
        text("runbook.md", "mgmt-002 (backup", "mgmt-003 (backup"),
        text("runbook.md", "now 595.91.07", "now 590.48.01"),
        text("runbook.md", "now 23.11.4", "now 24.11.5"),
        text("runbook.md", "1 of 72 now", "1 of 24 now"),
    ),
    *_of(
        "versions",
        "b300",
        cell("node/versions.csv", "fabricmanager,", "version", "590.48.01"),
        text("software.md", "| 13.2 |", "| 12.6 |"),
        cell("node/versions.csv", "driver,", "needed", "no"),
    ),
    *_of(
        "Ethernet switches",
        "mi300x",
        text("provisioning/switches/nvue/st-leaf-01a.txt", "mtu 9216", "mtu 1500", "swp24s1"),
        text("provisioning/switches/nvue/leaf-01-1.txt", "access 110", "access 101", "br_default access"),
        text("provisioning/switches/nvue/leaf-01-1.txt", "mode lossless", "mode lossy"),
        text("provisioning/switches/frr/st-leaf-01a.conf", "interface swp38s0\n", "interface swp38s2\n"),
        text("provisioning/switches/roce.md", "| 26 |", "| 24 |"),
    ),
    *_of(
        "kubeadm",
        "mi300x",
        text(INIT, "10.32.0.0/11", "10.64.0.0/11"),
        text(INIT, "- 10.64.0.143", "- 10.64.0.134"),
        text("kubernetes/control-plane/kubeadm-join-node.yaml", "6443", "8443"),
        text(INIT, "cgroupDriver: systemd", "cgroupDriver: cgroupfs"),
        text(INIT, "advertiseAddress: 10.64.0.160", "advertiseAddress: 10.64.0.162"),
    ),
    *_of(
        "shared address",
        "mi300x",
        text(VIP, "10.64.0.143", "10.64.0.144"),
        text(VIP, "value: bond0", "value: eth0"),
        text(VIP, "value: '3'", "value: '6'"),
    ),
    *_of(
        "tenants of Kubernetes",
        "mi300x",
        text("kubernetes/tenants.yaml", "gpu: '64'", "gpu: '46'"),
        text("kubernetes/queues.yaml", "nominalQuota: '48'", "nominalQuota: '84'", "name: speech"),
        without("kubernetes/namespace.yaml", "        - speech"),
        text("kubernetes/tenants.yaml", "name: tenant-speech", "name: tenant-vision"),
        without("kubernetes/kustomization.yaml", "- tenants.yaml"),
    ),
    *_of(
        "the first job",
        "mi300x",
        text("kubernetes/jobs/all_reduce.yaml", "--nproc-per-node=8", "--nproc-per-node=4"),
        text("kubernetes/jobs/all_reduce.yaml", "amd.com/gpu: '8'", "amd.com/gpu: '4'"),
        text("kubernetes/jobs/all_reduce.yaml", "job-name: all-reduce", "job-name: allreduce"),
        text("kubernetes/jobs/all_reduce.yaml", "key: amd.com/gpu", "key: nvidia.com/gpu"),
        text("kubernetes/jobs/all_reduce.yaml", "- IPC_LOCK", "- SYS_ADMIN"),
    ),
    *_of(
        "labels of nodes",
        "chat",
        text("kubernetes/node-labels.yaml", '"a04"', '"a01"', '"node003"'),
        text("kubernetes/node-labels.yaml", '"su1"', '"su2"', '"node002"'),
        text("kubernetes/node-labels.yaml", "key: nvidia.com/gpu", "key: nvidia.com/gpus", '"node004"'),
        text("kubernetes/node-labels.yaml", "node-kind: gpu", "node-kind: cpu", '"node001"'),
    ),
    *_of(
        "replicas",
        "chat",
        text(REPLICAS, "replicas: 8", "replicas: 6"),
        text(SCALING, "maxReplicaCount: 8", "maxReplicaCount: 12"),
        text(SCALING, "threshold: '39'", "threshold: '93'"),
        text(REPLICAS, "key: nvidia.com/gpu", "key: nvidia/gpu"),
        text("kubernetes/serving/deploy.env", "MOST=8", "MOST=4"),
    ),
    *_of(
        "figures of a service",
        "chat",
        text("kubernetes/serving/monitoring/rules.yaml", 'le="1.0"', 'le="2.5"'),
        text("kubernetes/serving/monitoring/rules.yaml", "> 0.72", "> 0.072"),
        text("kubernetes/serving/monitoring/pods.yaml", "component: engine", "component: server"),
        text("kubernetes/serving/loadtest/vllm_bench.sh", "ttft:1000 tpot:50", "ttft:1000 tpot:500"),
        text("kubernetes/serving/loadtest/aiperf.sh", "tokens-mean 1500", "tokens-mean 15000"),
    ),
    *_of(
        "ways in and out of a service",
        "chat",
        text("kubernetes/serving/service.yaml", "port: 8000", "port: 8080"),
        text("kubernetes/serving/gateway.yaml", "number: 8000", "number: 8080"),
        text(
            "kubernetes/serving/service.yaml", "component: engine", "component: engines", "unhealthyPodEvictionPolicy"
        ),
        text("kubernetes/serving/service.yaml", "maxUnavailable: 1", "maxUnavailable: 0"),
    ),
    *_of(
        "ports of the fabric in pods",
        "chat",
        text("kubernetes/network/rails.yaml", "perNodeBlockSize: 16", "perNodeBlockSize: 4"),
        text("kubernetes/network/rails.yaml", "resourceName: rail", "resourceName: rails"),
        text("kubernetes/network/nic-cluster-policy.yaml", '["infiniband"]', '["ether"]'),
        text("kubernetes/network/nic-cluster-policy.yaml", "- gpu", "- gpus"),
    ),
    *_of(
        "claims",
        "chat",
        text("kubernetes/storage.yaml", "251829Gi", "281529Gi"),
        text("kubernetes/storage.yaml", "path: /shared/workload", "path: /share/workload"),
        text("kubernetes/storage.yaml", "ReadWriteMany", "ReadWriteOnce", "PersistentVolumeClaim"),
        text("kubernetes/storage.yaml", "volumeName: workload-shared", "volumeName: shared-workload"),
    ),
    *_of(
        "storage page",
        "b300",
        text("storage.md", "| 400 TB | 8 |", "| 400 TB | 7 |"),
        text("storage.md", "640 GB/s read", "460 GB/s read"),
        text("storage.md", "232 cables", "223 cables"),
        text("storage.md", "8 × 200 Gb/s", "8 × 400 Gb/s"),
    ),
    *_of(
        "read-me",
        "b300",
        text("README.md", "in 10 racks", "in 11 racks"),
        text("README.md", "4 leaf, 2 spine qm9700", "6 leaf, 2 spine qm9700"),
        text("README.md", "58.0 of 66.0 kW (A01)", "58.0 of 66.0 kW (A04)"),
    ),
    *_of(
        "tables of the fabric",
        "b300",
        cell("fabric.csv", "compute,leaf", "ports_up", "567"),
        text("fabric.ibnetdiscover", '[1]\t# "leaf-01-2"', '[2]\t# "leaf-01-2"'),
        cell("fabric.csv", "storage,spine", "switch", "q3400-ra"),
    ),
    *_of(
        "users",
        "b300",
        text("node/users.list", "grace 2002", "grace 2001"),
        without("node/users.list", "user grace"),
        text("users.md", "2 users", "3 users"),
    ),
    *_of(
        "ways to the users' network",
        "b300",
        cell("uplinks.csv", "U003", "from_port", "64"),
        cell("uplinks.csv", "U001", "from_device", "border-02"),
        cell("uplinks.csv", "U002", "from_transceiver", "qsfp28-sr4"),
    ),
    *_of(
        "check-list",
        "mi300x",
        text("checklist.md", "16 in 2 nodes", "18 in 2 nodes"),
        text("checklist.md", "| 48 U; 52 U recommended | **fail** |", "| 48 U; 52 U recommended | pass |"),
        text("checklist.md", "26.4 A on the fullest", "24.6 A on the fullest"),
    ),
)
