"""The precisions that training multiplies matrices in, and which accelerators have them.

`fp8` is scaled per tensor. `fp8-block` is scaled per tile of 1 x 128 activations and 128 x 128 weights, in software:
the tensor core multiplies as for `fp8` and the scales are applied to its partial sums (DeepSeek-V3, arXiv 2412.19437,
section 3.3.2). `mxfp8` and `nvfp4` carry a scale per 32 or 16 elements that the tensor core itself applies, which came
with four-bit arithmetic (NVIDIA Blackwell, AMD CDNA 4).
"""

from typing import Literal, get_args

from clusterwright.catalog.records import Accelerator

Precision = Literal["bf16", "fp16", "fp8", "fp8-block", "mxfp8", "nvfp4"]
PRECISIONS: tuple[str, ...] = get_args(Precision)

#: Precisions whose multiplications take eight and four bits.
EIGHT_BIT = ("fp8", "fp8-block", "mxfp8")
FOUR_BIT = ("nvfp4",)
#: Calibrated together with another precision, because published runs do not tell the two apart.
CALIBRATED_AS = {"fp8-block": "fp8"}
#: Generations with eight-bit multiplications whose kernels scale whole tensors only: Transformer Engine asks for
#: compute capability 9.0 (Hopper) for blocks, Ada has 8.9.
_WHOLE_TENSORS_ONLY = ("ada",)


def peaks_flop_per_s(accelerator: Accelerator) -> dict[str, float | None]:
    """Return the dense peak of every precision of `PRECISIONS`, None where there is none documented."""
    eight_bit, four_bit = accelerator.dense_fp8_flop_per_s, accelerator.dense_fp4_flop_per_s
    return {
        "bf16": accelerator.dense_bf16_flop_per_s,
        "fp16": accelerator.dense_fp16_flop_per_s,
        "fp8": eight_bit,
        "fp8-block": None if accelerator.generation in _WHOLE_TENSORS_ONLY else eight_bit,
        "mxfp8": eight_bit if four_bit is not None else None,
        "nvfp4": four_bit,
    }


def known_precisions(accelerator: Accelerator) -> tuple[str, ...]:
    """Return the precisions that an accelerator has a documented peak in, in the order of `PRECISIONS`."""
    return tuple(name for name, peak in peaks_flop_per_s(accelerator).items() if peak is not None)
