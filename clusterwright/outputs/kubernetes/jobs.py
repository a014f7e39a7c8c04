"""Jobs for Kubernetes: an all-reduce over two nodes, and the plan's training with Megatron-LM's arguments."""

from typing import Any

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.outputs.kubernetes.cluster import NAMESPACE, QUEUE, RAIL_RESOURCE, UNIT_LABEL, KubernetesCluster
from clusterwright.outputs.kubernetes.network import rail_annotation
from clusterwright.outputs.kubernetes.queues import SHARED, tolerated
from clusterwright.outputs.kubernetes.worker import UNSET_IMAGE, failure_policy, settings_of, worker_command
from clusterwright.outputs.launch.files import nodes_of_job
from clusterwright.outputs.launch.megatron import argument_groups
from clusterwright.outputs.templates import render
from clusterwright.plan.record import TrainingOption, TrainingPlan

IMAGE = "YOUR-REGISTRY/megatron-lm:TAG"
_PORT = 29400
_CHECKED_NODES = 2
#: Shared memory of a pod, for loaders and the collective library, in GiB.
_SHARED_MEMORY_GIB = 64


def all_reduce(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the job that measures how fast two nodes reduce together, with its script."""
    script = render("kubernetes", "all_reduce.py.j2")
    name = "all-reduce"
    nodes = min(_CHECKED_NODES, len(cluster.nodes))
    job = _job(cluster, name, nodes=nodes, arguments=["/scripts/all_reduce.py"], debug="INFO", restarts=0)
    spec = job["spec"]["template"]["spec"]
    spec["volumes"].append({"name": "scripts", "configMap": {"name": name}})
    spec["containers"][0]["volumeMounts"].append({"name": "scripts", "mountPath": "/scripts"})
    text = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"all_reduce.py": script},
    }
    return [text, _service(name), job]


def train(
    plan: TrainingPlan, option: TrainingOption, cluster: KubernetesCluster, *, restarts: int
) -> list[dict[str, Any]]:
    """Return the plan's job: the arguments of `launch/train.sbatch`, on as many nodes; `submit.sh` adds image and data.

    Args:
        plan: for the model and the run.
        option: on premises: its layout.
        cluster: for requests.
        restarts: that torchrun makes.
    """
    words = [
        word
        for group in argument_groups(plan, option, plan.workload.architecture)
        for line in group.lines
        for word in (["=".join(line)] if len(line) == 2 else line)  # noqa: PLR2004 - a name and its value
    ]
    checkpoints = plan.cluster.jobs.checkpoints
    arguments = [
        f"{plan.cluster.jobs.megatron}/pretrain_gpt.py",
        *words,
        *(f"--save={checkpoints}", f"--load={checkpoints}", "--split=99,1,0", "--eval-iters=0"),
    ]
    name = plan.name
    job = _job(
        cluster, name, nodes=nodes_of_job(option)[1], arguments=arguments, debug="WARN", restarts=restarts,
        environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    )  # fmt: skip
    job["spec"]["podFailurePolicy"] = failure_policy()
    worker = job["spec"]["template"]["spec"]["containers"][0]
    worker |= {
        "image": UNSET_IMAGE,
        "command": [LiteralScalarString(word) if "\n" in word else word for word in worker_command(plan, option)],
        "envFrom": settings_of(plan),
    }
    return [_service(name), job]


def _service(name: str) -> dict[str, Any]:
    """Return the names of a job's pods; they are needed before any pod is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": name}},
    }


def _job(
    cluster: KubernetesCluster,
    name: str,
    *,
    nodes: int,
    arguments: list[str],
    debug: str,
    restarts: int,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    variables = {"NCCL_DEBUG": debug} | ({"NCCL_NET": "IB"} if cluster.hands_out_rails else {}) | (environment or {})
    limits: dict[str, str] = {cluster.gpu_resource: str(cluster.gpus_per_node), "memory": f"{cluster.memory_gib}Gi"}
    if cluster.hands_out_rails:
        limits[RAIL_RESOURCE] = str(cluster.rails)
    mounts = [{"name": "memory", "mountPath": "/dev/shm"}]  # noqa: S108 - of the pod
    volumes: list[dict[str, Any]] = [
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{_SHARED_MEMORY_GIB}Gi"}}
    ]
    if cluster.posix:
        mounts.append({"name": "shared", "mountPath": SHARED})
        volumes.append({"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}})
    start = [
        f"--nnodes={nodes}",
        f"--nproc-per-node={cluster.gpus_per_node}",
        f"--max-restarts={restarts}",
        f"--rdzv-id={name}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={name}-0.{name}:{_PORT}",
    ]
    # Preferred, not required: a job that is larger than a unit spreads over as few units as it can.
    annotations = {"kueue.x-k8s.io/podset-preferred-topology": UNIT_LABEL} | rail_annotation(cluster)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kueue.x-k8s.io/queue-name": QUEUE},
        },
        "spec": {
            "suspend": True,
            "completionMode": "Indexed",
            "completions": nodes,
            "parallelism": nodes,
            # Where the pod that the others meet at fails, all of them do, and each counts.
            "backoffLimit": restarts * nodes,
            # Not before the old pod has ended: it holds the accelerators of its node.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "subdomain": name,
                    "restartPolicy": "Never",
                    "nodeSelector": {"node-kind": "gpu"},
                    "tolerations": [tolerated(cluster)],
                    "containers": [
                        {
                            "name": "worker",
                            "image": IMAGE,
                            "command": ["torchrun"],
                            "args": [*start, *arguments],
                            "env": [{"name": key, "value": value} for key, value in variables.items()],
                            "resources": {
                                "requests": {"cpu": str(cluster.cpus), "memory": limits["memory"]},
                                "limits": limits,
                            },
                            "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
                            "volumeMounts": mounts,
                        }
                    ],
                    "volumes": volumes,
                },
            },
        },
    }
