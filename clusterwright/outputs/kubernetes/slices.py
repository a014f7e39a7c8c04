"""Slices of GPUs by MIG in Kubernetes: what the GPU operator's MIG manager makes of a node with a label."""

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.outputs.kubernetes.cluster import KubernetesCluster

#: The label by which a node says how it is to be divided, and the names of the two ways.
LABEL, DIVIDED, WHOLE = "nvidia.com/mig.config", "slices", "all-disabled"
CONFIG_MAP, NAMESPACE = "mig-slices", "gpu-operator"


def mig_values() -> dict[str, Any]:
    """Return the part of the operator's values: a profile is a resource, nodes without a label stay whole."""
    return {"mig": {"strategy": "mixed"}, "migManager": {"config": {"name": CONFIG_MAP, "default": WHOLE}}}


def mig_config(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the namespace of the operator and the config map of its MIG manager, in the form of mig-parted.

    The last GPUs of a node are divided; the others stay whole.
    """
    assert cluster.software is not None  # noqa: S101 - there are divided nodes
    software, gpus = cluster.software, cluster.gpus_per_node
    each = {name: count // software.divided_gpus for name, count in software.instances.items()}
    first = gpus - software.divided_gpus
    ways: list[dict[str, Any]] = [
        {"devices": list(range(first, gpus)), "mig-enabled": True, "mig-devices": each},
    ]
    if first:
        ways.insert(0, {"devices": list(range(first)), "mig-enabled": False})
    document = {
        "version": "v1",
        "mig-configs": {WHOLE: [{"devices": "all", "mig-enabled": False}], DIVIDED: ways},
    }
    stream = io.StringIO()
    YAML().dump(document, stream)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
            "data": {"config.yaml": LiteralScalarString(stream.getvalue())},
        },
    ]
