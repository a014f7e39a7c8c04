"""Marketplace images with fixed versions, and the processors that they are built for."""

import re
from dataclasses import dataclass

from gpu_cluster.config_values import Values

SIZE = r"Standard_[A-Za-z0-9_]{2,60}"
SIZE_MEANING = "a size such as Standard_ND96isr_H100_v5"

# Sizes with Arm processors (Microsoft, ND GB200 v6), and the images of ubuntu-hpc for them (Azure/azhpc-images issue
# 603, 2026-08-27).
ARM_SIZES = r"Standard_ND\w*_GB[23]00_v6"
ARM_IMAGE_SUFFIX = "-gb"
# AMD's GPUs need ROCm instead of CUDA (same repository; the size's page names the image).
ROCM_SIZES = r"Standard_ND\w*_MI300X_v5"
ROCM_IMAGE_SUFFIX = "-rocm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A marketplace image with a fixed version."""

    publisher: str
    offer: str
    sku: str
    version: str


#: Where nobody chooses one.
NO_IMAGE = Image(publisher="", offer="", sku="", version="")


def size(values: Values, key: str, default: str | None = None) -> str:
    """Read the size of a virtual machine."""
    return values.text(key, SIZE, SIZE_MEANING, default)


def image(values: Values, key: str) -> Image:
    """Read an image; a version that moves is refused."""
    text = values.text(
        key,
        r"[A-Za-z0-9._-]+(:[A-Za-z0-9._-]+){3}",
        "publisher:offer:sku:version, such as microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
    )
    publisher, offer, sku, version = text.split(":") if text else ("", "", "", "")
    if version.lower() == "latest":
        values.fail(
            key,
            "the version `latest` is refused: nodes added later could get another driver than the first; list "
            f"the versions with `az vm image list --publisher {publisher} --offer {offer} --sku {sku} --all`",
        )
    return Image(publisher=publisher, offer=offer, sku=sku, version=version)


def is_arm(instance_type: str) -> bool:
    """Tell whether machines of a size have Arm processors."""
    return re.fullmatch(ARM_SIZES, instance_type) is not None


def check_image(values: Values, key: str, chosen: Image, instance_type: str) -> None:
    """Refuse an image that is built for other processors or other GPUs than the size has."""
    # Nothing is known about what other offers are built for.
    if chosen.offer != "ubuntu-hpc":
        return
    arm = is_arm(instance_type)
    if chosen.sku.endswith(ARM_IMAGE_SUFFIX) != arm:
        values.fail(
            key,
            f"{chosen.sku} is an image for {'x86' if arm else 'Arm'} processors, which {instance_type} does not "
            f"have; take one {'that ends' if arm else 'that does not end'} in {ARM_IMAGE_SUFFIX}",
        )
    rocm = re.fullmatch(ROCM_SIZES, instance_type) is not None
    if rocm != chosen.sku.endswith(ROCM_IMAGE_SUFFIX) and "_ND" in instance_type and not arm:
        values.fail(
            key,
            f"{chosen.sku} has the driver of {'NVIDIA' if rocm else 'AMD'}, which the GPUs of {instance_type} do not "
            f"take; use one {'that ends' if rocm else 'that does not end'} in {ROCM_IMAGE_SUFFIX}",
        )
