"""GPUs that pods share, without slices: settings of NVIDIA's device plugin, of HAMi and of virtual GPUs."""

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.outputs.kubernetes.cluster import KubernetesCluster

#: The label by which a node says how its GPUs are offered, and the names of the ways.
LABEL, SHARED, WHOLE = "nvidia.com/device-plugin.config", "shared", "whole"
CONFIG_MAP, NAMESPACE = "gpu-sharing", "gpu-operator"
#: How the device plugin calls its two ways.
_PLUGIN = {"mps": "mps", "time-slicing": "timeSlicing"}


def shared_labels(way: str) -> dict[str, str]:
    """Return the labels of nodes whose GPUs are shared."""
    if way in _PLUGIN:
        return {LABEL: SHARED}
    if way == "hami":
        # HAMi offers the GPUs of these nodes in the place of the operator's plugin.
        return {"gpu": "on", "nvidia.com/gpu.deploy.device-plugin": "false"}
    return {"nvidia.com/gpu.workload.config": "vm-vgpu"}


def sharing_values(way: str) -> dict[str, Any]:
    """Return the part of the GPU operator's values."""
    if way in _PLUGIN:
        return {"devicePlugin": {"config": {"name": CONFIG_MAP, "default": WHOLE}}}
    if way == "vgpu":
        # The manager's image is built from NVIDIA's licensed driver, and is in a registry of yours.
        image = {"repository": "YOUR-REGISTRY", "image": "vgpu-manager", "version": "RELEASE"}
        return {
            "sandboxWorkloads": {"enabled": True, "defaultWorkload": "container"},
            "vgpuManager": {"enabled": True, **image},
            "vgpuDeviceManager": {"enabled": True},
        }
    return {}


def hami_values(parts: int) -> dict[str, Any]:
    """Return HAMi's values: parts of a GPU, whose memory is not promised twice."""
    return {
        "devicePlugin": {"deviceSplitCount": parts, "deviceMemoryScaling": 1, "nvidiaNodeSelector": {"gpu": "on"}},
        "scheduler": {"defaultSchedulerPolicy": {"nodeSchedulerPolicy": "binpack", "gpuSchedulerPolicy": "binpack"}},
    }


def sharing_config(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the config map of the device plugin; none for ways that have another."""
    assert cluster.software is not None  # noqa: S101 - its GPUs are shared
    way = _PLUGIN.get(cluster.software.sharing)
    if way is None:
        return []
    resources = [{"name": cluster.gpu_resource, "replicas": cluster.software.shared_parts}]
    # Shared GPUs have a name of their own, so that a job for whole ones never gets a part.
    ways: dict[str, Any] = {"renameByDefault": True, "failRequestsGreaterThanOne": True, "resources": resources}
    if way == "mps":
        ways = {"renameByDefault": True, "resources": resources}
    files = {
        SHARED: {"version": "v1", "sharing": {way: ways}},
        WHOLE: {"version": "v1", "sharing": {}},
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
            "data": {name: LiteralScalarString(_yaml(document)) for name, document in files.items()},
        },
    ]


def _yaml(document: dict[str, Any]) -> str:
    stream = io.StringIO()
    YAML().dump(document, stream)
    return stream.getvalue()
