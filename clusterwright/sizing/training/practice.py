"""How sparing with memory a run is, in bytes per parameter and logit, and what is lost."""

from dataclasses import dataclass, replace

from clusterwright.sizing.columns import Values
from clusterwright.sizing.hardware.training_software import EAGER, PARTLY_FUSED, REMATERIALISED, Software, software_of

WEIGHT_BYTES = 2.0
GRADIENT_BYTES = 4.0
#: fp32 copy of the weights (4) and Adam's two moments (8).
OPTIMIZER_BYTES = 12.0
#: Contexts of the driver and the collective library: 2 to 6 GiB are reported, this is the middle; the allocator loses
#: 5 to 10 % of what it hands out, states too: blocks are rounded, and buckets of gradients and of gathered weights are
#: padded. A B200 run reserved 70.9 GiB where 66.6 were allocated.
CONTEXT_BYTES = 4.0 * 2**30
#: The same of a GPU that trains alone, without a collective library: what the driver shows beyond what the allocator
#: holds, at each of 38 layouts on an H100 and an H200 (`catalog/measurements/one_gpu_training.csv`).
ALONE_BYTES = 0.75 * 2**30
FRAGMENTATION = 0.05
#: Bytes of each logit where the loss is computed in place, and where PyTorch keeps logits, their softmax and its
#: gradient: torchtitan's Llama 3 8B at 32,768 tokens holds 84 GiB, of which 46 are these.
FUSED_LOGIT_BYTES = 4.0
LOGIT_BYTES = 12.0
#: Activations that eager execution keeps over those of fused kernels, at most layouts of nanotron and torchtune between
#: 1.5 and 1.8: inputs of norms and activation functions, and their casts.
KEPT_EAGERLY = 1.7
#: Activations that modules keep of which some kernels are fused, as in DeepSpeed's forks of Megatron: inputs of dropout
#: and of activation functions are kept beside their results (176 B models on A100, 175 B on MI250X).
KEPT_PARTLY_FUSED = 1.3
#: Activations that XLA keeps on the accelerator of those that fused kernels keep: the inputs of layers, and what a
#: policy names.
KEPT_REMATERIALISED = 0.3
KEPT_BY_EXECUTION = {EAGER: KEPT_EAGERLY, PARTLY_FUSED: KEPT_PARTLY_FUSED, REMATERIALISED: KEPT_REMATERIALISED}
#: Share of a layer that XLA gathers at a time, one matrix of bf16 rather than two layers with their gradients.
GATHERED_REMATERIALISED = 1 / 9


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


#: Of Megatron-LM, which plans assume where no software is named.
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


def practice_for(framework: str, precision: str) -> Practice:
    """Return what a plan counts under a software's name; a job that names none is launched as Megatron-LM.

    Where published runs keep less than fused kernels, a policy of theirs recomputes or moves the rest. A plan has only
    the recomputation of its layout, whose time it counts, and keeps everything else.
    """
    found = practice_under(software_of(framework, precision) if framework else None)
    return replace(found, kept_share=max(1.0, float(found.kept_share)))


def practice_under(software: Software | None) -> Practice:
    """Return what a software keeps, as far as it is known; of the rest, and of unknown software, the standard.

    Args:
        software: as `catalog/calibration_software.csv` knows it.
    """
    if software is None:
        return STANDARD
    executed = KEPT_BY_EXECUTION.get(software.execution, 1.0)
    return Practice(
        weight_bytes=_stated(software.weight_bytes, WEIGHT_BYTES),
        gradient_bytes=_stated(software.gradient_bytes, GRADIENT_BYTES),
        optimizer_bytes=_stated(software.optimizer_bytes, OPTIMIZER_BYTES),
        logit_bytes=software.logit_bytes,
        persistent_gradients=float(software.persistent_gradients),
        kept_share=executed,
        working_share=executed,
        gathered_share=GATHERED_REMATERIALISED if software.execution == REMATERIALISED else 1.0,
    )


def _stated(value: float | None, usual: float) -> float:
    return usual if value is None else value
