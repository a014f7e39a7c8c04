"""What software pays for scales per block: operands quantised once more than with a scale per tensor.

The weight gradient multiplies along tokens, where the forward pass multiplied along the width. An operand with one
scale is transposed as it is; one whose scales cover 128 elements of a row must be quantised again by columns
(DeepSeek-V3, arXiv 2412.19437, section 3.3.3: tiles of 1 x 128 become 128 x 1 in the backward pass). The multiplication
itself takes as long: DeepGEMM reaches 1,550 of 1,979 TFLOP/s on H800 with block scales (its README, 2025), 78 %, more
than the share that training calibrates for `fp8`.
"""

from clusterwright.sizing.columns import Device, Shape, Values
from clusterwright.sizing.model.arithmetic import streaming_s

#: Read in 16 bits, written in 8, with an fp32 scale per 128 elements.
BYTES_PER_ELEMENT = 2.0 + 1.0 + 4.0 / 128
#: As `compute.PASSES`: forward, gradient of inputs, gradient of weights.
_PASSES = 3.0


def block_scaling_s(shape: Shape, device: Device, *, rows: Values, tp: Values) -> Values:
    """Return seconds of one average layer's second quantisation, for one of the three passes; 0 without block scales.

    Over forward and backward every input and every output gradient of a multiplication is quantised once more: the
    inputs are `2 h + out + f`, the gradients `q + 2 k + 2 h + (matrices - 1) f` wide, over `t` ranks. A layer with
    experts does so for every copy of a token.

    Args:
        shape: the model.
        device: the accelerator; `block_scaled` says whether there is anything to do.
        rows: tokens of one micro-batch on one GPU.
        tp: tensor-parallel size.
    """
    gated = shape.mlp_matrices - 1
    attention = 2 * shape.hidden + shape.value_out + shape.query + 2 * shape.key_value
    dense = (1 - shape.expert_share) * (2 * shape.hidden + (1 + gated) * shape.ffn)
    each = 2 * shape.hidden + (1 + gated) * shape.expert_ffn
    shared = (1 + gated) * shape.shared_ffn
    routed = shape.expert_share * (shape.experts_per_token * each + shared)
    elements = rows / tp * (attention + dense + routed) / _PASSES
    return device.block_scaled * streaming_s(device, byte_count=BYTES_PER_ELEMENT * elements)
