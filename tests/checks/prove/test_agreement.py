"""Facts of several documents have to agree: pages, settings, Kubernetes objects, a service's files, the plan."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.catalog.rules import rules
from tests.checks.prove.planting import Sites, findings, written_once
from tests.checks.prove.test_pools import FAULTS as POOLS

SLURM, KUBERNETES, SHARES, SHARED, DIVIDED, SERVICE, SCALED = (
    "train with Slurm",
    "train with Kubernetes",
    "tenants with Slurm",
    "tenants with Kubernetes",
    "slices with Kubernetes",
    "a service with Slurm",
    "a service with Kubernetes",
)
_TRAIN = """\
name: small
workload: {kind: train, model: llama-2-7b, tokens: 100e9, sequence_length: 2048, global_batch: 512}
cluster:
  groups: [{name: research, gid: 3000}]
  users:
    - {name: ada, uid: 2001, groups: [research], ssh_keys: []}
    - {name: grace, uid: 2002, administrator: true, ssh_keys: []}
targets:
  onprem: {system: dgx-h200, min_nodes: 4, max_nodes: 4, scheduler: SCHEDULER}
economics: {as_of: 2026-10-16}
site: {power_price: 0.1 USD/kWh, pue: 1.25}
"""
#: A run on three of the four nodes, with a batch that their GPUs divide.
_BESIDE = _TRAIN.replace("global_batch: 512", "global_batch: 480")
_DIRECTORY = "  directory: {uris: [ldaps://ldap1], base: dc=site, bind_dn: cn=c, allowed_groups: [hpc-users]}\n"
_TENANTS = """\
tenants:
  - {name: research, share: 60 %, users: [ada]}
  - {name: product, share: 20 %, users: [grace, ada], when_free: keep}
  - {name: students, share: 0 %, users: [grace], max_gpus: 8}
software: {sharing: {way: time-slicing, parts: 4, nodes: 1}}
"""
_SERVE = """\
name: chat
workload: {kind: serve, model: llama-3.1-70b, precision: fp8, framework: vllm}
traffic:
  users: 1000
  think_time: 60 s
  input_tokens: {mean: 1500, p95: 4000}
  output_tokens: {mean: 300, p95: 900}
goals: {first_token: 1 s, time_per_token: 50 ms, percentile: 95}
replicas: {spare: 1}
targets:
  onprem: {system: dgx-h200, scheduler: SCHEDULER}
economics: {as_of: 2026-10-16}
site: {power_price: 0.1 USD/kWh, pue: 1.25}
"""
_BLUEPRINTS = {
    # With leaves and spines; the others have the one switch that joins four nodes.
    SLURM: _TRAIN.replace("SCHEDULER", "slurm, fabric: {purchase: full-units}"),
    KUBERNETES: _TRAIN.replace("SCHEDULER", "kubernetes"),
    # Tenants with users of a directory.
    SHARES: _BESIDE.replace("SCHEDULER", "slurm").replace("cluster:\n", f"cluster:\n{_DIRECTORY}") + _TENANTS,
    SHARED: _BESIDE.replace("SCHEDULER", "kubernetes") + _TENANTS,
    DIVIDED: _BESIDE.replace("SCHEDULER", "kubernetes") + "software: {mig: {geometry: [3g.71gb, 3g.71gb], nodes: 1}}\n",
    SERVICE: _SERVE.replace("SCHEDULER", "slurm"),
    SCALED: _SERVE.replace("SCHEDULER", "kubernetes"),
}


@dataclass(frozen=True)
class Edit:
    """Text of a file that matches a pattern and becomes another, and the rule that it breaks; none if it may."""

    site: str
    file: str
    pattern: str
    new: str
    expected: str = ""

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.expected} {self.site} {self.file} {self.new}".strip()[:100]


_LABELS, _QUEUES, _JOB = "kubernetes/node-labels.yaml", "kubernetes/queues.yaml", "kubernetes/jobs/train.yaml"
_POLICY, _RAILS = "kubernetes/network/nic-cluster-policy.yaml", "kubernetes/network/rails.yaml"
_ENGINE, _SCALING = "serving/serve.sbatch", "kubernetes/serving/scaling.yaml"
_NAMESPACE = "kubernetes/namespace.yaml"
_PLANE, _PLANES, _DIVISION = "kubernetes/control-plane", "K8S011", "kubernetes/slices/mig-config.yaml"
_RULES, _LOAD = "serving/monitoring/rules.yaml", "serving/loadtest/plan.json"

FAULTS = (
    # pages: sentences, tables, drawings
    Edit(SLURM, "README.md", r"with 32 GPUs", "with 36 GPUs", "PAG001"),
    Edit(SLURM, "README.md", r"the longest is [\d.]+ m", "the longest is 3 m", "PAG001"),
    Edit(SLURM, "README.md", r"with its database on mgmt-002", "with its database on mgmt-003", "PAG001"),
    Edit(SLURM, "acceptance.md", r"(\d+) racks, (\d+) PDUs", r"\1 racks, 5 PDUs", "PAG001"),
    Edit(SLURM, "acceptance.md", r"4 nodes idle, 32 GPUs", "4 nodes idle, 30 GPUs", "PAG001"),
    Edit(SLURM, "power_and_cooling.md", r"\| Air \| ", "| Air | 1", "PAG001"),
    Edit(SLURM, "power_and_cooling.md", r"\*\*IT load\*\* \| \*\*", "**IT load** | **1", "PAG001"),
    Edit(SLURM, "procurement.md", r"\| transceivers \| ", "| transceivers | 9", "PAG001"),
    Edit(SLURM, "jobs.md", r"`slurm\.conf` names mgmt-002", "`slurm.conf` names mgmt-003", "PAG001"),
    Edit(KUBERNETES, "kubernetes/README.md", r"8; 32 in all", "8; 24 in all", "PAG001"),
    Edit(SHARED, "kubernetes/README.md", r"8; 24 in all", "8; 32 in all", "PAG001"),
    Edit(SLURM, "floor_plan.svg", r">(\d+) racks? in ", ">9 racks in ", "PAG002"),
    Edit(SLURM, "racks.svg", r"<title>node001: ", "<title>node009: ", "PAG002"),
    Edit(SLURM, "fabric.dot", r'  "spine-001"[^\n]*\n', "", "PAG002"),
    # the check-list: numbers, limits, verdicts
    Edit(SLURM, "checklist.md", r"(\d+) items pass", "99 items pass", "PAG003"),
    Edit(SLURM, "checklist.md", r"\| 4 needed \| pass", "| 6 needed | pass", "PAG003"),
    Edit(SLURM, "checklist.md", r"cords \((\w+)\) \| 24", r"cords (\1) | 12", "PAG003"),
    # storage, parts, plan, software
    Edit(SLURM, "storage.md", r"Together they hold [\d.]+ TB", "Together they hold 27 GB", "PAG001"),
    Edit(SLURM, "storage.md", r"(\d+) ports of (\d+) boxes", r"99 ports of \2 boxes", "PAG001"),
    Edit(SLURM, "plan.json", r'"front_boxes": \d+', '"front_boxes": 9', "PAG004"),
    Edit(SLURM, "bill_of_materials.csv", r"(\d+) of 1 m", "999 of 1 m", "BOM008"),
    Edit(SLURM, "plan.json", r'"it_w": ', '"it_w": 1', "PLN001"),
    Edit(SLURM, "node/versions.csv", r"driver,[\d.]+,", "driver,535.1,", "SFW001"),
    # settings of machines and of the job, users
    Edit(SLURM, "node/node.env", r"CLUSTER_GPU_TYPE=\w+", "CLUSTER_GPU_TYPE=a100", "SET001"),
    Edit(SLURM, "node/node.env", r"CONTROLLER_ADDRESS=mgmt-001", "CONTROLLER_ADDRESS=mgmt-002", "SET001"),
    Edit(SLURM, "launch/job.env", r"JOB_PARTITION=gpu", "JOB_PARTITION=batch", "SET001"),
    Edit(SLURM, "node/users.list", r"user grace 2002", "user grace 2001", "SET002"),
    Edit(SLURM, "node/users.list", r"user ada 2001 no research", "user ada 2001 no reserch", "SET002"),
    Edit(SLURM, "node/users.list", r"user grace [^\n]*\n", "", "SET002"),
    # what no site has of its own
    Edit(SLURM, "node/epilog.sh", r"kill -KILL", "kill -TERM", "SET003"),
    Edit(SLURM, "provisioning/cloud-init/login.yaml", r"ssh_pwauth: false", "ssh_pwauth: true", "SET003"),
    Edit(SLURM, "runbook.md", r"above 80 % full", "above 98 % full", "SET003"),
    # the directory
    Edit(SHARES, "node/directory.conf", r"uri ldaps:", "uri ldap:", "SET004"),
    Edit(SHARES, "node/directory.conf", r"allow hpc-users\n", "", "SET004"),
    Edit(SHARES, "node/directory.conf", r"ids 10000 ", "ids 1100 ", "SET004"),
    Edit(SHARES, "node/users_directory.sh", r"reqcert = demand", "reqcert = never", "SET004"),
    Edit(SHARES, "node/users_directory.sh", r"sssd.conf 0600", "sssd.conf 0644", "SET004"),
    Edit(SHARES, "node/node.env", r"CLUSTER_DIRECTORY_ID=.*", "CLUSTER_DIRECTORY_ID=", "SET001"),
    # the job
    Edit(SLURM, "launch/train.sbatch", r"--save-interval (\d+)", r"--save-interval \g<1>0", "SBT006"),
    Edit(SLURM, "launch/train.sbatch", r"--swiglu", "--squared-relu", "SBT004"),
    Edit(KUBERNETES, _JOB, r"--num-layers=32", "--num-layers=16", "SBT004"),
    # Kubernetes
    Edit(KUBERNETES, "kubernetes/kustomization.yaml", r"- storage\.yaml\n", "", "K8S001"),
    Edit(KUBERNETES, _LABELS, r'unit: "su1"', 'unit: "su2"', "K8S002"),
    Edit(KUBERNETES, _LABELS, r'rack: "a01"', 'rack: "b07"', "K8S002"),
    Edit(KUBERNETES, _LABELS, r"spec:\n  taints:\n    - [^\n]*\n", "", "K8S002"),
    Edit(KUBERNETES, _QUEUES, r"(name: nvidia.com/gpu\n *nominalQuota:) '32'", r"\1 '64'", "K8S003"),
    Edit(KUBERNETES, _QUEUES, r"(name: nvidia.com/gpu\n *nominalQuota:) '32'", r"\1 '0'", "K8S003"),
    Edit(SHARED, _QUEUES, r"(name: nvidia.com/gpu\n *nominalQuota:) '\d+'", r"\1 '24'", "K8S003"),
    Edit(KUBERNETES, _JOB, r"memory: 1\d{3}Gi", "memory: 9999Gi", "K8S004"),
    Edit(KUBERNETES, _JOB, r"completions: \d+", "completions: 3", "K8S004"),
    Edit(KUBERNETES, _JOB, r"nvidia\.com/gpu: '8'", "nvidia.com/gpu: '4'", "K8S004"),
    Edit(KUBERNETES, _QUEUES, r"clusterQueue: gpu", "clusterQueue: gpus", "K8S005"),
    Edit(KUBERNETES, _NAMESPACE, r"policyName: workload-pods", "policyName: pods", "K8S005"),
    Edit(KUBERNETES, _NAMESPACE, r"(values:\n *- )workload", r"\1jobs", "K8S010"),
    Edit(KUBERNETES, _NAMESPACE, r"(validationActions:\n *- )Deny", r"\1Warn", "K8S010"),
    Edit(KUBERNETES, _QUEUES, r"namespace: workload", "namespace: default", "K8S005"),
    Edit(KUBERNETES, _JOB, r"claimName: shared", "claimName: scratch", "K8S005"),
    Edit(SCALED, "kubernetes/serving/service.yaml", r"(selector:\n    app\S+ )chat", r"\1chats", "K8S005"),
    Edit(SCALED, _SCALING, r"(kind: Deployment\n    name: )chat", r"\1chats", "K8S005"),
    Edit(KUBERNETES, "kubernetes/storage.yaml", r"(requests:\n *storage: )", r"\g<1>9", "K8S006"),
    Edit(KUBERNETES, _POLICY, r'"linkTypes": \["infiniband"\]', '"linkTypes": ["ether"]', "K8S007"),
    Edit(KUBERNETES, _RAILS, r"perNodeBlockSize: \d+", "perNodeBlockSize: 4", "K8S007"),
    Edit(KUBERNETES, _RAILS, r"subnet: \S+", "subnet: 10.64.1.0/24", "K8S007"),
    Edit(KUBERNETES, "kubernetes/README.md", r"kueue --version \S+", "kueue --version 0.1.2", "K8S008"),
    Edit(KUBERNETES, _JOB, r"\n *- IPC_LOCK", "\n                - SYS_TIME", "K8S009"),
    Edit(KUBERNETES, _JOB, r"mountPath: /dev/shm", "mountPath: /dev/shn", "K8S009"),
    Edit(
        KUBERNETES,
        f"{_PLANE}/kubeadm-join-control.yaml",
        r"apiServerEndpoint: \S+:",
        "apiServerEndpoint: 10.1.1.1:",
        _PLANES,
    ),
    Edit(KUBERNETES, f"{_PLANE}/kubeadm-init.yaml", r"(advertiseAddress: )\S+", r"\g<1>10.64.9.9", _PLANES),
    Edit(KUBERNETES, f"{_PLANE}/kubeadm-init.yaml", r"(\n *- )mgmt-002(?=\n)", r"\1mgmt-004", _PLANES),
    Edit(KUBERNETES, f"{_PLANE}/kubeadm-init.yaml", r"(serviceSubnet: )\S+", r"\g<1>10.40.0.0/16", _PLANES),
    Edit(KUBERNETES, f"{_PLANE}/kube-vip.yaml", r"(name: port\n *value: )'6443'", r"\1'443'", _PLANES),
    Edit(DIVIDED, _DIVISION, r"3g\.71gb: 2", "3g.71gb: 1", "K8S012"),
    Edit(DIVIDED, _DIVISION, r"(devices:\n)( *)- 0\n", r"\1", "K8S012"),
    Edit(DIVIDED, _DIVISION, r"3g\.71gb: 2", "1g.18gb: 7", "K8S012"),
    # a service
    Edit(SERVICE, _ENGINE, r"--array=0-\d+", "--array=0-99", "SVC001"),
    Edit(SERVICE, _ENGINE, r"--gres=gpu:h200:\d", "--gres=gpu:h200:7", "SVC001"),
    Edit(SCALED, _SCALING, r"maxReplicaCount: ", "maxReplicaCount: 9", "SVC001"),
    Edit(SERVICE, _ENGINE, r"--max-num-seqs (\d+)", r"--max-num-seqs \g<1>0", "SVC002"),
    Edit(SERVICE, _ENGINE, r"--max-model-len \d+", "--max-model-len 2048", "SVC002"),
    Edit(SERVICE, _ENGINE, r"--served-model-name \S+", "--served-model-name llama", "SVC002"),
    Edit(SERVICE, _RULES, r'le="1\.0"', 'le="10.0"', "SVC003"),
    Edit(SERVICE, _LOAD, r'("requests_per_s_per_replica": )', r"\g<1>9", "SVC004"),
)

LEGITIMATE = (
    Edit(SLURM, "README.md", r"\Z", "\n## Our notes\n\n- 12 people, 4 of them ours, on 3 December.\n"),
    Edit(SLURM, "acceptance.md", r"(\d+ racks, \d+ PDUs) \| \|", r"\1 | as many, A. Lovelace 2026-12-01 |"),
    Edit(SLURM, "checklist.md", r"(power of the hall \| [\d.]+ kW \|) not given \| unknown", r"\1 200 kW | pass"),
    Edit(SLURM, "node/users.list", r"\Z", "user mary 2003 no research\n"),
    Edit(SLURM, "launch/job.env", r"CONTAINER_IMAGE=''", "CONTAINER_IMAGE=/shared/images/torch.sqsh"),
    Edit(SLURM, "slurm.conf", r"(\nSlurmctldDebug=\S+|\Z)", "\nSlurmctldDebug=verbose\n"),
    Edit(SLURM, "gres.conf", r"\Z", "# checked by Ada\n"),
    Edit(KUBERNETES, _QUEUES, r"(name: nvidia.com/gpu\n *nominalQuota:) '32'", r"\1 '24'"),
    Edit(KUBERNETES, _JOB, r"image: IMAGE-IS-NOT-SET", "image: registry.example/torch:2.9"),
    Edit(KUBERNETES, _LABELS, r"    node-kind: gpu", "    node-kind: gpu\n    example.org/owner: research"),
    Edit(KUBERNETES, _RAILS, r"subnet: 10\.128\.0\.0", "subnet: 172.31.0.0"),
    Edit(SERVICE, "serving/monitoring/dashboard.json", r'"title": "', '"title": "Ours: '),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once; its workbook of cables has a test of its own."""
    whole = written_once(_BLUEPRINTS, tmp_path_factory)

    def of(name: str) -> Path:
        (whole(name) / "cables.xlsx").unlink(missing_ok=True)
        return whole(name)

    return of


@contextmanager
def edited(folder: Path, edit: Edit) -> Iterator[None]:
    """Change a file for the time of the block; what is changed has to be there."""
    path = folder / edit.file
    text = path.read_text()
    changed, count = re.subn(edit.pattern, edit.new, text, count=1)
    assert count == 1, f"{edit.file} has no {edit.pattern!r}"
    assert changed != text
    path.write_text(changed)
    try:
        yield
    finally:
        path.write_text(text)


@pytest.mark.parametrize("name", _BLUEPRINTS)
def test_a_sound_site_has_no_finding(site: Sites, name: str) -> None:
    """Documents as they are written agree with each other, for every scheduler, tenants, shared GPUs and services."""
    assert [finding.message for finding in findings(site(name))] == []


@pytest.mark.parametrize("edit", FAULTS, ids=lambda edit: edit.name)
def test_a_fact_that_disagrees_is_found(site: Sites, edit: Edit) -> None:
    """The rule that is broken names the value found and the value expected."""
    folder = site(edit.site)
    with edited(folder, edit):
        found = findings(folder)
    assert edit.expected in {finding.id for finding in found}
    assert "expected" in next(finding.message for finding in found if finding.id == edit.expected)


@pytest.mark.parametrize("edit", LEGITIMATE, ids=lambda edit: edit.name)
def test_what_a_user_may_change_is_no_fault(site: Sites, edit: Edit) -> None:
    """Notes, remarks, images, users, names and lower quotas raise no finding."""
    folder = site(edit.site)
    with edited(folder, edit):
        assert [finding.message for finding in findings(folder)] == []


def test_a_bad_value_is_a_finding_and_hides_no_other(site: Sites, tmp_path: Path) -> None:
    """A cell that nobody can count with ends its own rule alone, without a traceback."""
    folder = tmp_path / "site"
    shutil.copytree(site(SLURM), folder)
    path = folder / "racks.csv"
    path.write_text(path.read_text().replace(",10200,", ",ten kW,"))
    env = folder / "node" / "node.env"
    env.write_text(env.read_text().replace("CLUSTER_PARTITION=gpu", "CLUSTER_PARTITION=cpu"))
    found = {finding.id for finding in findings(folder)}
    assert {"TAB001", "SET001"} <= found


def test_every_rule_of_the_pages_and_objects_has_a_planted_fault() -> None:
    """No rule of these kinds is without a fault that it finds."""
    kinds = ("PAG", "PLN", "SFW", "SET", "SVC", "K8S")
    planted = Counter(edit.expected for edit in FAULTS) + Counter(fault.code for fault in POOLS.values())
    assert {rule.id for rule in rules() if rule.about == "proof" and rule.id.startswith(kinds)} <= planted.keys()
