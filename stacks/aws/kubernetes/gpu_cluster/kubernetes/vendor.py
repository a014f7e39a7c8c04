"""What a maker of accelerators brings along: image, name of the resource, labels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NODE_TYPE_KEYS, NodeType, read_node_type


@dataclass(frozen=True, kw_only=True, slots=True)
class Vendor:
    """What follows from who made the accelerators.

    Attributes:
        name: as in the paths of EKS images.
        ami_type: the EKS image that holds the driver, so that nothing in the cluster installs one.
        resource: the name under which the device plugin offers accelerators; also the taint's key.
        labels: that the charts look for.
    """

    name: str
    ami_type: str
    resource: str
    labels: Mapping[str, str]


# Amazon EKS User Guide, "Manage EFA devices": the AL2023 images for accelerators hold the driver and the EFA software,
# but no device plugin.
NVIDIA = Vendor(
    name="nvidia",
    ami_type="AL2023_x86_64_NVIDIA",
    resource="nvidia.com/gpu",
    labels={"nvidia.com/gpu.present": "true"},
)
NEURON = Vendor(name="neuron", ami_type="AL2023_x86_64_NEURON", resource="aws.amazon.com/neuron", labels={})
# Amazon EKS User Guide, "Retrieve recommended Amazon Linux AMI IDs": the newest image, or one release of it.
IMAGE = r"/aws/service/eks/optimized-ami/1\.[0-9]{2}/amazon-linux-2023/x86_64/(nvidia|neuron)/([a-z0-9._-]+)/image_id"
NEWEST = "recommended"


def vendor_of(instance_type: str) -> Vendor:
    """Return the maker of an instance type's accelerators."""
    return NEURON if instance_type.startswith(("trn", "inf")) else NVIDIA


def read_kubernetes_node_type(values: Values) -> NodeType:
    """Read the section `nodeType`, which the cluster and the nodes layer have alike."""
    section = values.section("nodeType")
    node_type = read_node_type(section)
    section.refuse_unknown(NODE_TYPE_KEYS)
    vendor = vendor_of(node_type.instance_type).name
    found = re.fullmatch(IMAGE, node_type.image)
    if found is None:
        section.fail("image", "needs the SSM parameter of an EKS image (/aws/service/eks/optimized-ami/.../image_id)")
    elif found.group(1) != vendor:
        section.fail("image", f"is an image for {found.group(1)}, but {node_type.instance_type} needs one for {vendor}")
    return node_type


def check_reports(values: Values, stop_when_idle_minutes: int | None, node_type: NodeType) -> None:
    """Refuse to wait for reports of busy accelerators that nothing on these nodes makes."""
    if stop_when_idle_minutes and vendor_of(node_type.instance_type) is not NVIDIA:
        values.fail("stopWhenIdleMinutes", "only NVIDIA's exporter reports busy GPUs here; use timeToLiveHours")


def is_pinned(image: str) -> bool:
    """Tell one release of an image from the newest, which is another one every few weeks."""
    return f"/{NEWEST}/" not in image


def release_version(image: str, provider: aws.Provider) -> pulumi.Output[str]:
    """Look up the release that an image path stands for, such as 1.34.2-20261105."""
    found = aws.ssm.get_parameter_output(
        name=f"{image.removesuffix('image_id')}release_version", opts=pulumi.InvokeOptions(provider=provider)
    )
    # The whole answer counts as secret, because the value of a parameter may be; a release is not.
    return pulumi.Output.unsecret(found.insecure_value)
