"""What each maker of accelerators calls the tools that an acceptance test runs on a node."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class VendorTools:
    """Commands, as remembered from the makers' documentation.

    Attributes:
        listing: the accelerators of a node; memory: errors of their memory; diagnosis: a load test.
        power: their power limit; all_reduce: a collective inside a node.
    """

    listing: str
    memory: str
    diagnosis: str
    power: str
    all_reduce: str


_NVIDIA = VendorTools(
    listing="nvidia-smi -L",
    memory="nvidia-smi -q -d ECC,ROW_REMAPPER",
    diagnosis="dcgmi diag -r 3",
    power="nvidia-smi --query-gpu=power.limit --format=csv",
    all_reduce="all_reduce_perf -b 16G -e 16G -g",
)
#: By the letters that catalogue ids of accelerators begin with.
_OTHERS = {
    "mi": VendorTools(
        listing="amd-smi list",
        memory="amd-smi metric --ecc",
        diagnosis="rvs -c gst_single.conf",
        power="amd-smi metric --power",
        all_reduce="all_reduce_perf -b 16G -e 16G -g",
    ),
    "gaudi": VendorTools(
        listing="hl-smi -L",
        memory="hl-smi -q -d ECC",
        diagnosis="hl_qual -c all -rmod parallel -f2 -l extreme",
        power="hl-smi -q -d POWER",
        all_reduce="hccl_demo --test all_reduce --size 16G, ranks",
    ),
}


def tools_of(accelerator: str) -> VendorTools:
    """Return the tools for an accelerator's catalogue id; NVIDIA's unless it is known to be another's."""
    return next((tools for prefix, tools in _OTHERS.items() if accelerator.startswith(prefix)), _NVIDIA)
