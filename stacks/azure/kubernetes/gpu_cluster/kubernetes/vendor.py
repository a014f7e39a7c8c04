"""What follows from who made the GPUs of a size: driver, device plugin, name of the resource."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_azure_native import containerservice

from gpu_cluster.config_values import Values
from gpu_cluster.images import ROCM_SIZES
from gpu_cluster.node_type import NodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A maker of GPUs.

    Attributes:
        driver: whether AKS puts it onto the node; where it does not, an operator in the cluster does, never both.
        resource: the name under which the device plugin offers GPUs; also the taint's key.
        labels: that its charts look for.
    """

    driver: containerservice.GPUDriver
    resource: str
    labels: Mapping[str, str]


NVIDIA = Vendor(
    driver=containerservice.GPUDriver.INSTALL, resource="nvidia.com/gpu", labels={"nvidia.com/gpu.present": "true"}
)
# AKS installs no driver for AMD's GPUs; AMD's operator does (ROCm/gpu-operator).
AMD = Vendor(driver=containerservice.GPUDriver.NONE, resource="amd.com/gpu", labels={})


def vendor_of(instance_type: str) -> Vendor:
    """Return the maker of a size's GPUs."""
    return AMD if re.fullmatch(ROCM_SIZES, instance_type) else NVIDIA


def check_reports(values: Values, stop_when_idle_minutes: int | None, node_type: NodeType) -> None:
    """Refuse to wait for reports that nothing on these nodes makes: AMD's exporter is its owner's to set up."""
    if stop_when_idle_minutes and vendor_of(node_type.instance_type) is not NVIDIA:
        values.fail("stopWhenIdleMinutes", "only NVIDIA's exporter reports busy GPUs here; use timeToLiveHours")
