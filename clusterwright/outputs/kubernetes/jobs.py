"""Jobs of torchrun for Kubernetes on premises: their form, and an all-reduce over two nodes."""

import io
from collections.abc import Sequence
from typing import Any

from clusterwright.outputs.kubernetes.cluster import NAMESPACE, QUEUE, UNIT_LABEL, KubernetesCluster
from clusterwright.outputs.kubernetes.network import rail_annotation
from clusterwright.outputs.kubernetes.queues import SHARED, tolerated
from clusterwright.outputs.launch.fabric import settings_for
from clusterwright.outputs.templates import render

IMAGE = "YOUR-REGISTRY/pytorch:TAG"
_PORT = 29400
_CHECKED_NODES = 2
#: Shared memory of a pod, for loaders and the collective library, in GiB.
_SHARED_MEMORY_GIB = 64


def all_reduce(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the job that measures how fast two nodes reduce together, with its script."""
    script = render("kubernetes", "all_reduce.py.j2")
    name = "all-reduce"
    whole = len(cluster.nodes) - cluster.divided_nodes - cluster.shared_nodes
    nodes = min(_CHECKED_NODES, whole or len(cluster.nodes))
    job = torch_job(cluster, name, nodes=nodes, arguments=["/scripts/all_reduce.py"], debug="INFO", restarts=0)
    spec = job["spec"]["template"]["spec"]
    spec["volumes"].append({"name": "scripts", "configMap": {"name": name}})
    spec["containers"][0]["volumeMounts"].append({"name": "scripts", "mountPath": "/scripts"})
    text = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"all_reduce.py": script},
    }
    return [text, job_service(name), job]


def job_service(name: str) -> dict[str, Any]:
    """Return the names of a job's pods; they are needed before any pod is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": name}},
    }


def _transport(cluster: KubernetesCluster) -> dict[str, str]:
    """Return NCCL's settings for the ports that pods get; none where they get none."""
    if not cluster.hands_out_rails:
        return {}
    rows = settings_for(fabric="infiniband" if cluster.infiniband else "roce", target="onprem", instance="any")
    return {row.name: row.value for row in rows if row.fabric != "any" and row.kind == "export"}


def torch_job(
    cluster: KubernetesCluster,
    name: str,
    *,
    nodes: int,
    arguments: list[str],
    debug: str,
    restarts: int,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return a job whose pods start torchrun together, each on a whole node.

    Args:
        cluster: for requests.
        name: of the job, and of the service by which its pods find each other.
        nodes: pods at a time.
        arguments: of torchrun, after those by which the processes meet.
        debug: how much NCCL says.
        restarts: that torchrun makes.
        environment: further variables.
    """
    variables = {"NCCL_DEBUG": debug} | _transport(cluster) | (environment or {})
    limits: dict[str, str] = {cluster.gpu_resource: str(cluster.gpus_per_node), "memory": f"{cluster.memory_gib}Gi"}
    limits |= {name: str(count) for name, count in cluster.rail_resources.items()}
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


def documents_text(documents: Sequence[dict[str, Any]]) -> str:
    """Return records as one stream of YAML documents; every text is quoted where YAML would read something else."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where it is written

    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    return stream.getvalue()
