"""Example jobs of a Kubernetes project, asking for one whole node of the type that the plan chose."""

import re

from clusterwright.catalog.records import Instance

#: What the device plugin of each vendor calls an accelerator.
_ACCELERATORS = {
    "nvidia": "nvidia.com/gpu",
    "rocm": "amd.com/gpu",
    "neuron": "aws.amazon.com/neuron",
    "tpu": "google.com/tpu",
}
_GIB = 2**30
#: Shares of a node that its own services leave to a job.
_PROCESSORS, _MEMORY = 15 / 16, 7 / 8


def for_node(manifest: str, instance: Instance) -> str:
    """Return a manifest with the requests of one whole node: accelerators, EFA devices, processors, memory.

    Args:
        manifest: as it stands in `stacks/`, for eight NVIDIA GPUs.
        instance: the type of the nodes.
    """
    accelerator = _ACCELERATORS.get(instance.vendor_software or "nvidia", "nvidia.com/gpu")
    changed = re.sub(r"nvidia\.com/gpu: \d+", f"{accelerator}: {instance.gpus}", manifest)
    changed = changed.replace("{key: nvidia.com/gpu,", f"{{key: {accelerator},")
    efa = instance.fabric_interfaces if instance.fabric_kind == "efa" else None
    wanted = f"\\g<1>vpc.amazonaws.com/efa: {efa}\n" if efa else ""
    changed = re.sub(r"(?m)^( *)vpc\.amazonaws\.com/efa: \d+\n", wanted, changed)
    if instance.vcpus:
        changed = re.sub(r'cpu: "\d+"', f'cpu: "{int(instance.vcpus * _PROCESSORS)}"', changed)
    if instance.memory_bytes:
        changed = re.sub(r"memory: \d+Gi\b", f"memory: {int(instance.memory_bytes / _GIB * _MEMORY)}Gi", changed)
    return changed
