"""How sparing with memory a run is, in bytes per parameter and logit, and what is lost."""

from dataclasses import dataclass

from clusterwright.sizing.columns import Values

WEIGHT_BYTES = 2.0
GRADIENT_BYTES = 4.0
#: fp32 copy of the weights (4) and Adam's two moments (8).
OPTIMIZER_BYTES = 12.0
#: Contexts of the driver and the collective library: 2 to 6 GiB are reported, this is the middle; the allocator loses
#: 5 to 10 % of what it hands out, states too: blocks are rounded, and buckets of gradients and of gathered weights are
#: padded. A B200 run reserved 70.9 GiB where 66.6 were allocated.
CONTEXT_BYTES = 4.0 * 2**30
FRAGMENTATION = 0.05
#: Bytes of each logit where the loss is computed in place, and where PyTorch keeps logits, their softmax and its
#: gradient: torchtitan's Llama 3 8B at 32,768 tokens holds 84 GiB, of which 46 are these.
FUSED_LOGIT_BYTES = 4.0
LOGIT_BYTES = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Practice:
    """How sparing a run is with memory, in what its layout does not say.

    Attributes:
        gradient_bytes, optimizer_bytes: per parameter.
        kept_share: of activations that stay on the accelerator in 16 bits; the rest is kept in eight bits, recomputed
            operation by operation, or moved to the host.
        working_share: of the activations of a layer while it is recomputed, over those of fused kernels.
        gathered_share: of the buffers into which ZeRO-3 gathers layers.
        fused_loss: the loss is computed in place, whatever the stack; logit_bytes: kept per logit where the software is
            known, NaN where it is not.
        context_bytes: of driver and collective library.
        weight_bytes: per parameter; 0 where the host holds what ZeRO-3 shards.
        persistent_gradients: 0 where the backward pass of a step's only micro-batch makes the gradients while it frees
            activations, so that both are never whole at the same time.
        streams_gradients: with ZeRO-2 and 3 gradients leave for the host as they are computed; two layers' stay.
        buffered_layers: layers whose activations stay where the host holds the others', None where all stay.
    """

    gradient_bytes: Values = GRADIENT_BYTES
    optimizer_bytes: Values = OPTIMIZER_BYTES
    weight_bytes: Values = WEIGHT_BYTES
    persistent_gradients: Values = 1.0
    streams_gradients: bool = False
    buffered_layers: float | None = None
    kept_share: Values = 1.0
    working_share: Values = 1.0
    gathered_share: Values = 1.0
    fused_loss: bool = False
    logit_bytes: Values | None = None
    context_bytes: float = CONTEXT_BYTES


#: What plans assume.
STANDARD = Practice()
#: What published runs come down to: gradients in bf16, moments in bf16, and part of the activations elsewhere.
LEAN = Practice(
    gradient_bytes=2.0,
    optimizer_bytes=8.0,
    kept_share=0.45,
    gathered_share=1 / 3,
    fused_loss=True,
    context_bytes=2.0 * 2**30,
)
