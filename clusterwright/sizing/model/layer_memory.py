"""What one layer holds of one micro-batch for its backward pass.

Source: Korthikanti et al. 2022, arXiv 2205.05198, equations 2 to 6.
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.sizing.columns import FULL, NONE, Layouts, Shape, Values, anywhere
from clusterwright.sizing.model import experts


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerBytes:
    """What one layer holds of one micro-batch for its backward pass, as columns.

    Attributes:
        plain: kept by a layer without experts; routed: by one with experts.
        plain_again, routed_again: held while a layer is recomputed as a whole, which is what it keeps where it is not;
            0 without full recomputation.
    """

    plain: Values = 0.0
    routed: Values = 0.0
    plain_again: Values = 0.0
    routed_again: Values = 0.0


def layer_bytes(shape: Shape, layouts: Layouts, *, keeps_scores: Values = 0.0) -> LayerBytes:
    """Return the bytes one layer holds for its backward pass, for one micro-batch.

    Without recomputation `s b h (10 + 24/t + 5 a s/(h t))` (Korthikanti eq. 2), the first term divided by `t` as well
    under sequence parallelism (eq. 4); the `5 a s/h` of the score matrices goes with selective recomputation or a flash
    attention kernel (eq. 6); with full recomputation only the layer's input stays, `2 s b h`. For any width of query
    `q`, key `k` and MLP `f`: the 24 h are `4 q + 4 k + 2 f (matrices)`. Of the 10 h, 2 h are dropout masks, which
    models with gated MLPs are trained without. Latent attention keeps its latents on every rank besides; of layers with
    experts see `experts.activation_bytes`.

    Args:
        shape: the model.
        layouts: micro-batch, tensor, sequence and context parallelism, recomputation.
        keeps_scores: 1 where the attention writes its scores to memory and they are not recomputed by themselves.
    """
    rows, tp = shape.sequence * layouts.micro_batch / layouts.cp, layouts.tp
    shard = np.where(np.asarray(layouts.sp) > 0, tp, 1.0)
    masks = 2 * (3 - shape.mlp_matrices)
    whole = (8 + masks) * shape.hidden / shard
    attention = 2 * (shape.query + 2 * shape.key_value + shape.value_out)
    kept = (np.asarray(layouts.recompute) == NONE) | (np.asarray(keeps_scores) > 0)
    scores = np.where(kept, 5 * shape.heads * shape.sequence / tp, 0.0)
    around = rows * (whole + attention / tp + 2 * shape.latent_in + scores)
    plain = around + rows * 2 * shape.ffn * shape.mlp_matrices / tp
    full = np.asarray(layouts.recompute) == FULL
    kept_input = rows * 2 * shape.hidden / shard
    plain_kept, plain_again = np.where(full, kept_input, plain), np.where(full, plain, 0.0)
    if not anywhere(shape.expert_share):
        return LayerBytes(plain=plain_kept, plain_again=plain_again)
    routed = around + experts.activation_bytes(shape, rows=rows, tp=tp)
    return LayerBytes(
        plain=plain_kept,
        routed=np.where(full, kept_input, routed),
        plain_again=plain_again,
        routed_again=np.where(full, routed, 0.0),
    )
