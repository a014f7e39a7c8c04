"""The example job of each type that the stacks serve fits its fabric and its vendor's software."""

import ast
import io
import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.outputs.launch.example_job import for_fabric, pod_of
from clusterwright.outputs.project.stack import for_node

#: Type, variables that its worker has to have, variables that would be wrong there, interfaces beside the primary one.
TYPES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], int], ...] = (
    ("a3-highgpu-8g", ("NCCL_GPUDIRECTTCPX_CTRL_DEV",), ("NCCL_FASTRAK_CTRL_DEV",), 4),
    ("a3-megagpu-8g", ("NCCL_FASTRAK_CTRL_DEV",), ("NCCL_GPUDIRECTTCPX_CTRL_DEV",), 8),
    ("a3-ultragpu-8g", ("LD_LIBRARY_PATH",), ("NCCL_FASTRAK_CTRL_DEV",), 9),
    ("a4-highgpu-8g", ("LD_LIBRARY_PATH",), ("NCCL_FASTRAK_CTRL_DEV",), 9),
    ("a2-highgpu-8g", ("NCCL_SOCKET_IFNAME",), ("NCCL_FASTRAK_CTRL_DEV",), 0),
    ("g2-standard-96", ("NCCL_SOCKET_IFNAME",), ("NCCL_FASTRAK_CTRL_DEV",), 0),
    ("ct5p-hightpu-4t", ("JAX_PLATFORMS",), ("NCCL_DEBUG", "LD_LIBRARY_PATH"), 0),
    ("p5.48xlarge", ("FI_PROVIDER", "NCCL_DEBUG"), ("FI_EFA_FORK_SAFE",), 0),
    ("p5.4xlarge", ("FI_PROVIDER", "NCCL_DEBUG"), ("NCCL_SOCKET_IFNAME",), 0),
    ("g6e.xlarge", ("NCCL_SOCKET_IFNAME",), ("FI_PROVIDER",), 0),
    ("g2-standard-4", ("NCCL_SOCKET_IFNAME",), ("NCCL_FASTRAK_CTRL_DEV",), 0),
    ("Standard_NC40ads_H100_v5", ("NCCL_SOCKET_IFNAME",), ("NCCL_IB_PCI_RELAXED_ORDERING",), 0),
    ("trn2.48xlarge", ("FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA"), ("NCCL_DEBUG",), 0),
    ("Standard_ND96isr_H100_v5", ("NCCL_IB_PCI_RELAXED_ORDERING",), (), 0),
    ("Standard_ND96isr_MI300X_v5", ("NCCL_NET",), ("NCCL_TOPO_FILE",), 0),
)


def job_of(name: str, nodes: int = 8) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the Job and the ConfigMap of a type's manifest at a number of nodes."""
    instance = load().instances[name]
    path = assets.root() / "stacks" / instance.cloud / "kubernetes" / "examples" / "all_reduce.yaml"
    manifest = for_fabric(for_node(path.read_text(), instance), instance, nodes)
    found = {one["kind"]: one for one in YAML(typ="safe").load_all(io.StringIO(manifest)) if one}
    return found["Job"], found["ConfigMap"]


@pytest.mark.parametrize(("name", "has", "has_not", "interfaces"), TYPES, ids=[one[0] for one in TYPES])
def test_the_job_fits_its_fabric(name: str, has: tuple[str, ...], has_not: tuple[str, ...], interfaces: int) -> None:
    """Variables, interfaces, mounts that exist, a script that is Python, and all of a node's accelerators."""
    job, scripts = job_of(name)
    template = job["spec"]["template"]
    spec = template["spec"]
    worker = spec["containers"][0]
    variables = {one["name"] for one in worker["env"]}
    assert set(has) <= variables
    assert not set(has_not) & variables
    text = template.get("metadata", {}).get("annotations", {}).get("networking.gke.io/interfaces", "[]")
    assert len(ast.literal_eval(text)) == (interfaces + 1 if interfaces else 0)
    volumes = {one["name"] for one in spec["volumes"]}
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        assert {one["name"] for one in container["volumeMounts"]} <= volumes
    assert ("gib" in volumes) == (name in ("a3-ultragpu-8g", "a4-highgpu-8g"))
    script = scripts["data"]["all_reduce.py"]
    ast.parse(script)
    software = load().instances[name].vendor_software
    assert {"neuron": "xla", "tpu": "jax"}.get(software or "", "nccl") in script
    assert load().instances[name].gpus in worker["resources"]["limits"].values()


@pytest.mark.parametrize("name", [one.id for one in load().instances.values() if one.vendor_software in ("", "nvidia")])
def test_pods_ask_for_what_their_nodes_have(name: str) -> None:
    """A process for each GPU; EFA devices and huge pages, or InfiniBand, only where the type has them."""
    instance = load().instances[name]
    worker = job_of(name)[0]["spec"]["template"]["spec"]["containers"][0]
    limits, called = worker["resources"]["limits"], " ".join([*worker.get("command", ()), *worker["args"]])
    assert f"--nproc-per-node={instance.gpus} " in called + " "
    assert ("vpc.amazonaws.com/efa" in limits) == (instance.fabric_kind == "efa")
    assert ("hugepages-2Mi" in limits) == (instance.fabric_kind == "efa")
    assert ("rdma/shared_ib" in limits) == (instance.fabric_kind == "infiniband")


def test_daemons_stand_beside_the_worker() -> None:
    """GPUDirect over TCP needs one on the node, which starts before the worker and ends with it."""
    for name, daemon in (("a3-highgpu-8g", "tcpx-daemon"), ("a3-megagpu-8g", "tcpxo-daemon")):
        (found,) = job_of(name)[0]["spec"]["template"]["spec"]["initContainers"]
        assert (found["name"], found["restartPolicy"]) == (daemon, "Always")
        assert "privileged" not in found["securityContext"]


def test_a_job_on_a_slice_takes_all_of_its_hosts() -> None:
    """A TPU slice is one machine of many hosts: fewer of them wait for the others for ever."""
    assert job_of("ct5p-hightpu-4t")[0]["spec"]["completions"] == 8
    assert job_of("a2-highgpu-8g")[0]["spec"]["completions"] == 2


@pytest.mark.parametrize(
    "name", ["p5.48xlarge", "Standard_ND96isr_H100_v5", "a4-highgpu-8g", "g2-standard-4", "trn2.48xlarge"]
)
def test_a_job_on_one_node_waits_for_no_second_one(name: str) -> None:
    """One pod and one node rank, for jobs taken from the stack as they are and for adapted ones."""
    job = job_of(name, nodes=1)[0]["spec"]
    worker = job["template"]["spec"]["containers"][0]
    called = " ".join([*worker["command"], *worker["args"]])
    assert (job["completions"], job["parallelism"]) == (1, 1)
    assert re.findall(r"--nnodes=(\d+)", called) == ["1"]


def test_what_is_right_in_the_stack_is_left_alone() -> None:
    """NVIDIA's GPUs with EFA, InfiniBand or gIB: the comments of the manifest stand."""
    for name in ("p5.48xlarge", "Standard_ND96isr_H100_v5", "a4-highgpu-8g"):
        instance = load().instances[name]
        assert pod_of(instance) is None
        assert for_fabric("as it is", instance, 2) == "as it is"
