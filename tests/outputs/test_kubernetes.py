"""Kubernetes files of a cluster on premises: read by kustomize, and true to the plan."""

import csv
import io
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.checks.preflight.programs.admission import OPENING, ORDINARY, Rule, refusal
from clusterwright.errors import InputError, MissingFactError
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.kubernetes.cluster import charts
from clusterwright.outputs.kubernetes.network import addresses
from clusterwright.outputs.onprem.kubernetes import kubernetes_files
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from tests.engines.api_server import program
from tests.outputs.pod_templates import pod_templates


@cache
def _planned(
    system: str = "dgx-h100", model: str = "llama-2-7b", storage: str = ""
) -> tuple[TrainingPlan, TrainingOption]:
    catalogue = load()
    racks = system.endswith("nvl72")
    nodes = {"min_nodes": 4, "max_nodes": 4} if racks else {"min_nodes": 33, "max_nodes": 40}
    onprem: dict[str, Any] = {"system": system, "scheduler": "kubernetes", **nodes}
    if storage:
        figures = {"read": "40 GB/s", "write": "20 GB/s", "capacity": "100 TB", "height": "1 U"}
        onprem["storage"] = {"system": storage, "box": figures}
    text: dict[str, Any] = {
        "name": "small",
        "workload": {
            "kind": "train",
            "model": model,
            "tokens": 100e9,
            "sequence_length": 2048,
            "global_batch": 1536 if racks else 1024,
        },
        "targets": {"onprem": onprem},
        "site": {"rack_power": "160 kW"} if racks else {},
    }
    blueprint = Blueprint.model_validate(text)
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved), resolved
    plan = decide(blueprint, resolved, Facts.open())
    return plan, plan.options[0]


def _texts(**choice: str) -> dict[str, str]:
    plan, option = _planned(**choice)
    return {name: file.content.decode() for name, file in kubernetes_files(plan, option, load()).items()}


def _objects(texts: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, text in texts.items():
        if name.endswith(".yaml") and not name.startswith(("values/", "kustomization")):
            found += YAML(typ="safe").load_all(text)
    return found


def _one(texts: dict[str, str], kind: str, name: str | None = None) -> dict[str, Any]:
    (found,) = [
        entry
        for entry in _objects(texts)
        if entry["kind"] == kind and (name is None or entry["metadata"]["name"] == name)
    ]
    return found


def test_the_network_operator_selects_the_compute_ports() -> None:
    """On an InfiniBand fabric, adapters that speak it."""
    config = json.loads(_one(_texts(), "NicClusterPolicy")["spec"]["sriovDevicePlugin"]["config"])
    assert config["resourceList"][0]["selectors"]["linkTypes"] == ["infiniband"]


def test_kustomize_builds_the_folder(tmp_path: Path, require_engine: Callable[..., None]) -> None:
    """`kubectl kustomize` reads the folder; it gives namespace with its rules, storage and queue, and no job."""
    require_engine(working=program("kubectl") is not None, reason="kubectl is not installed: make engine builds it")
    for name, text in _texts().items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    done = subprocess.run(
        [str(program("kubectl")), "kustomize", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kinds = Counter(entry["kind"] for entry in YAML(typ="safe").load_all(done.stdout))
    assert kinds == Counter(
        [
            "Namespace",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "NetworkPolicy",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Topology",
            "ResourceFlavor",
            "ClusterQueue",
            "LocalQueue",
        ]
    )


@pytest.mark.parametrize(
    ("system", "model"), [("dgx-h100", "llama-2-7b"), ("gb200-nvl72", "gpt3-175b"), ("mi300x-8gpu", "llama-2-7b")]
)
def test_pods_that_open_their_node_are_refused(system: str, model: str) -> None:
    """In the namespace of jobs, as an API server evaluates its rules; ordinary pods and the folder's own are let in."""
    pytest.importorskip("celpy", reason="cel-python is not installed: make environments")
    texts = _texts(system=system, model=model)
    policy, binding = _one(texts, "ValidatingAdmissionPolicy"), _one(texts, "ValidatingAdmissionPolicyBinding")
    assert (policy["spec"]["failurePolicy"], binding["spec"]["validationActions"]) == ("Fail", ["Deny"])
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    (selected,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert selected == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["workload"]}
    rules = [Rule(**rule) for rule in policy["spec"]["validations"]]
    # Accounts of the namespace have the rights that their owner gives them.
    opening = [(what, spec) for what, spec in OPENING if "serviceAccountName" not in spec]
    assert [what for what, spec in opening if refusal(rules, {"spec": spec}) is None] == []
    assert [what for what, spec in ORDINARY if refusal(rules, {"spec": spec}) is not None] == []
    own = [template for entry in _objects(texts) for template in pod_templates(entry)]
    assert own
    assert [one for one in own if refusal(rules, {"spec": one["spec"]}) is not None] == []


def test_jobs_are_reached_by_their_own_namespace_alone() -> None:
    """Pods of jobs take nothing from elsewhere; parts of a service have policies of their own."""
    texts = _texts()
    spec = _one(texts, "NetworkPolicy")["spec"]
    assert (spec["policyTypes"], spec["ingress"]) == (["Ingress"], [{"from": [{"podSelector": {}}]}])
    (selected,) = spec["podSelector"]["matchExpressions"]
    own = [template for entry in _objects(texts) for template in pod_templates(entry)]
    assert selected["operator"] == "DoesNotExist"
    assert [one for one in own if selected["key"] in one.get("metadata", {}).get("labels", {})] == []


def test_labels_are_the_places_of_racks_and_fabric() -> None:
    """Every host once, with the rack of racks.csv, and the unit whose leaves it hangs on."""
    plan, option = _planned()
    assert option.design.facility is not None
    files = onprem_files(plan, option, load())
    racks = {row["device"]: row["rack"] for row in csv.DictReader(io.StringIO(files["racks.csv"].content.decode()))}
    labelled = [entry for entry in _objects(_texts()) if entry["kind"] == "Node"]
    names = [entry["metadata"]["name"] for entry in labelled]
    assert names == option.design.facility.inventory.hosts()
    per_unit = Counter(entry["metadata"]["labels"]["topology.gpu-cluster/unit"] for entry in labelled)
    assert per_unit == {"su1": 32, "su2": option.cluster.nodes - 32}
    for entry in labelled:
        assert entry["metadata"]["labels"]["topology.gpu-cluster/rack"] == racks[entry["metadata"]["name"]].lower()
    levels = [level["nodeLabel"] for level in _one(_texts(), "Topology")["spec"]["levels"]]
    assert levels == ["topology.gpu-cluster/unit", "kubernetes.io/hostname"]
    assert "slurm.conf" not in files
    assert "launch/train.sbatch" not in files
    assert "slurm.conf" not in files["README.md"].content.decode()
    assert "kubectl" in files["acceptance.md"].content.decode()


def test_the_quota_is_the_cluster_and_the_job_fits_it() -> None:
    """GPUs and ports of all nodes; a node's pod asks for what one node has, and all pods for no more than the quota."""
    _, option = _planned()
    (group,) = _one(_texts(), "ClusterQueue")["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    quota = {entry["name"]: entry["nominalQuota"] for entry in flavor["resources"]}
    assert list(quota) == group["coveredResources"]
    assert (quota["nvidia.com/gpu"], quota["nvidia.com/rail"]) == (
        str(option.cluster.gpus),
        str(8 * option.cluster.nodes),
    )
    job = _one(_texts(), "Job", "small")["spec"]
    pod = job["template"]
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpu"] == "8"
    networks = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
    assert len(networks) == int(resources["limits"]["nvidia.com/rail"]) == 8
    assert {_one(_texts(), "HostDeviceNetwork")["metadata"]["name"]} == set(networks)
    assert job["completions"] == job["parallelism"] == option.training_nodes
    for name in ("cpu", "memory"):
        each, whole = (int(re.sub(r"\D", "", text)) for text in (resources["requests"][name], quota[name]))
        assert each * option.cluster.nodes <= whole
    # 2 x 56 cores with two threads and 2 TB, less a tenth.
    assert resources["requests"] == {"cpu": str(int(224 * 0.9)), "memory": resources["limits"]["memory"]}


def test_the_job_has_the_arguments_of_the_slurm_script() -> None:
    """Every argument that the plan decides is in both, with the same value, and so is the number of restarts."""
    plan, option = _planned()
    script = onprem_files(plan, replace(option, deployment=replace(option.deployment, scheduler="slurm")), load())[
        "launch/train.sbatch"
    ].content.decode()
    arguments = _one(_texts(), "Job", "small")["spec"]["template"]["spec"]["containers"][0]["args"]
    ours = {argument.partition("=")[0]: argument.partition("=")[2] for argument in arguments}
    theirs = dict(re.findall(r"^    (--[a-z0-9-]+)(?: ([^\n\\\"]+?))?$", script.partition("container=()")[0], re.M))
    assert len(theirs) > 25
    for name, value in theirs.items():
        assert ours[name] == value.strip("'"), name
    restarts = re.search(r"--max-restarts=(\d+)", script)
    assert restarts is not None
    assert ours["--max-restarts"] == restarts[1]
    assert _one(_texts(), "Job", "small")["spec"]["backoffLimit"] == int(restarts[1]) * option.training_nodes


@pytest.mark.parametrize(
    ("site", "aside", "most"),
    [("10.64.0.0/12", "10.128.0.0/9", 60_000), ("10.128.0.0/12", "172.16.0.0/12", 16_000)],
    ids=["usual", "clear"],
)
@given(count=st.integers(1, 60_000), bits=st.integers(4, 6))
def test_every_node_has_its_addresses(site: str, aside: str, most: int, count: int, bits: int) -> None:
    """The range has a block for every node, lies aside from the site's networks, and half of it would be too small."""
    nodes = min(count, most)
    block = 1 << bits
    found = addresses(nodes, block, site=IPv4Network(site))
    assert isinstance(found, IPv4Network)
    assert found.subnet_of(IPv4Network(aside))
    assert nodes * block <= found.num_addresses < max(2 * nodes * block, 2)


def test_too_many_addresses() -> None:
    """Half of 10.0.0.0/8 holds 524,288 nodes of 16 addresses."""
    with pytest.raises(InputError, match="more addresses"):
        addresses(600_000, 16, site=IPv4Network("10.64.0.0/12"))


def test_object_storage_has_no_claim() -> None:
    """S3 has no files to mount: no volume, no claim, no training script on it, and the README says so."""
    texts = _texts(storage="minio")
    assert "storage.yaml" not in texts
    assert "jobs/train.yaml" not in texts
    assert not [entry for entry in _objects(texts) if entry["kind"].startswith("PersistentVolume")]
    assert "persistentVolumeClaim" not in texts["jobs/all_reduce.yaml"]
    assert "S3 client" in texts["README.md"]


def test_racks_that_are_one_system() -> None:
    """The hosts of GB200 NVL72 racks are 18 trays of 4 GPUs and 4 ports each; the rack is a level of its own."""
    texts = _texts(system="gb200-nvl72", model="gpt3-175b")
    _, option = _planned(system="gb200-nvl72", model="gpt3-175b")
    nodes = [entry for entry in _objects(texts) if entry["kind"] == "Node"]
    per_rack = Counter(entry["metadata"]["labels"]["topology.gpu-cluster/rack"] for entry in nodes)
    assert set(per_rack.values()) == {18}
    assert len(per_rack) == option.cluster.nodes
    levels = [level["nodeLabel"] for level in _one(texts, "Topology")["spec"]["levels"]]
    assert levels[1] == "topology.gpu-cluster/rack"
    job = _one(texts, "Job", "small")["spec"]
    limits = job["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["nvidia.com/rail"]) == ("4", "4")
    assert job["completions"] == 18 * option.training_nodes


def test_drivers_come_from_one_place() -> None:
    """DGX OS has the driver, so the operator installs none; on another maker's server it does, with RDMA."""
    values = YAML(typ="safe").load(_texts()["values/gpu-operator.yaml"])
    assert (values["driver"]["enabled"], values["toolkit"]["enabled"]) == (False, False)
    plan, option = _planned()
    catalogue = load()
    other = replace(catalogue.systems["dgx-h100"], name="HGX H100 of another maker", vendor="Dell")
    files = kubernetes_files(plan, option, replace(catalogue, systems=catalogue.systems | {"dgx-h100": other}))
    values = YAML(typ="safe").load(files["values/gpu-operator.yaml"].content.decode())
    software = plan.software_of("onprem")
    assert software is not None
    assert values["driver"] == {
        "enabled": True,
        "rdma": {"enabled": True},
        "version": software.version("driver"),
        "kernelModuleType": "open",
    }
    assert values["toolkit"] == {"enabled": True}


def test_charts_are_pinned() -> None:
    """Every chart has a release, a source, and values where its command names them."""
    texts = _texts()
    assert [chart.chart for chart in charts("NVIDIA")] == ["gpu-operator", "network-operator", "kueue"]
    for chart in (*charts("NVIDIA"), *charts("AMD")):
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version)
        assert chart.source
    for chart in charts("NVIDIA"):
        assert chart.command in texts["README.md"]
        assert not chart.values or chart.values in texts


def test_unknown_processors_are_refused() -> None:
    """Quotas need a node's processors and memory."""
    plan, option = _planned()
    catalogue = load()
    system = replace(catalogue.systems["dgx-h100"], memory_bytes=None)
    with pytest.raises(MissingFactError, match="quotas cannot be set"):
        kubernetes_files(plan, option, replace(catalogue, systems=catalogue.systems | {"dgx-h100": system}))


def test_charts_follow_the_software_of_the_plan() -> None:
    """A pinned release of an operator is that of its chart and of its images; the others are the newest offered."""
    plan, option = _planned()
    (chosen,) = plan.software
    pinned = replace(
        chosen,
        parts=tuple(
            replace(part, version="26.1.2", origin="pinned") if part.component == "network-operator" else part
            for part in chosen.parts
        ),
    )
    files = kubernetes_files(replace(plan, software=(pinned,)), option, load())
    assert "network-operator-v26.1.2" in files["network/nic-cluster-policy.yaml"].content.decode()
    assert "--version 26.1.2" in files["README.md"].content.decode()
    before = {chart.chart: chart.version for chart in charts("NVIDIA")}
    after = {chart.chart: chart.version for chart in charts("NVIDIA", pinned)}
    assert {name for name in before if before[name] != after[name]} == {"network-operator"}


def test_a_plan_carries_the_software_of_its_nodes() -> None:
    """Written as JSON and read back, the set is the same; a DGX comes with its own system."""
    plan, _ = _planned()
    read = loads(dumps(plan))
    assert read.software == plan.software
    software = read.software_of("onprem")
    assert software is not None
    assert software.version("os") == "dgx-os-7"
    assert software.version("driver") == software.version("fabricmanager")
    assert read.software_of("aws") is None
