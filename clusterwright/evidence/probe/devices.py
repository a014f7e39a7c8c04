"""Which accelerator of the catalogue a driver means by the name of a device."""

#: Names as NVIDIA's and AMD's drivers give them. A name that several products share is not here, nor is one of a part
#: of a package (a die of MI250X): `--accelerator` says what is meant.
DRIVER_NAMES = {
    "NVIDIA H100 80GB HBM3": "h100-sxm-80gb",
    "NVIDIA H100 PCIe": "h100-pcie-80gb",
    "NVIDIA H100 NVL": "h100-nvl-94gb",
    "NVIDIA H200": "h200-sxm-141gb",
    "NVIDIA H20": "h20-sxm-96gb",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb",
    "NVIDIA A100-SXM4-40GB": "a100-sxm-40gb",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "NVIDIA A10G": "a10g-24gb",
    "NVIDIA B200": "b200-sxm-180gb",
    "NVIDIA L40S": "l40s-48gb",
    "NVIDIA L40": "l40-48gb",
    "NVIDIA L4": "l4-24gb",
    "NVIDIA GeForce RTX 4090": "rtx-4090-24gb",
    "Tesla T4": "t4-16gb",
    "Tesla V100-SXM2-16GB": "v100-sxm-16gb",
    "Tesla V100-SXM2-32GB": "v100-sxm-32gb",
    "AMD Instinct MI300X": "mi300x-192gb",
    "AMD Instinct MI355X": "mi355x-288gb",
}
