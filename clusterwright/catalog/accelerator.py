"""One accelerator: what it computes, holds and moves."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Accelerator:
    """One accelerator as the software sees it. FLOP/s are dense; None is unknown or not supported.

    Attributes:
        generation: calibration key, for example `hopper`, `ampere`, `blackwell`, `cdna3`, `tpu`.
        form: `sxm`, `pcie`, `oam`, `superchip`, `chip`.
        scale_up_kind: `nvlink`, `xgmi`, `ethernet`, `ici`, `neuronlink`, `pcie`.
        scale_up_bytes_per_s_per_gpu_one_way: bandwidth of one accelerator into its scale-up domain, one direction.
        scale_up_domain_gpus: accelerators that reach each other at that bandwidth.
        scale_up_topology: `switch`, `mesh` (a link of its own to every peer), `torus`, or `host` (PCIe).
        scale_up_axes: of a torus; scale_up_wrap_gpus: accelerators along an axis from which it closes to a ring.
        host_link_bytes_per_s_one_way: nominal, between host memory and one accelerator.
        gres_type: the type name used in Slurm's gres and in node labels.
    """

    id: str
    name: str
    vendor: str
    generation: str
    form: str
    gres_type: str
    hbm_bytes: float | None = None
    hbm_bytes_per_s: float | None = None
    dense_fp64_flop_per_s: float | None = None
    dense_tf32_flop_per_s: float | None = None
    dense_bf16_flop_per_s: float | None = None
    dense_fp16_flop_per_s: float | None = None
    dense_fp8_flop_per_s: float | None = None
    dense_fp4_flop_per_s: float | None = None
    dense_int8_op_per_s: float | None = None
    sparse_bf16_flop_per_s: float | None = None
    sparse_fp8_flop_per_s: float | None = None
    scale_up_kind: str | None = None
    scale_up_bytes_per_s_per_gpu_one_way: float | None = None
    scale_up_domain_gpus: int | None = None
    scale_up_topology: str | None = None
    scale_up_axes: int | None = None
    scale_up_wrap_gpus: int | None = None
    host_link_bytes_per_s_one_way: float | None = None
    power_w: float | None = None
