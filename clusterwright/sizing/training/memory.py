"""Memory of the fullest GPU, term by term, under tensor, sequence, pipeline, context and data parallelism.

Sources: Korthikanti et al. 2022, arXiv 2205.05198 (activations, equations 2 to 6); Megatron-LM
`theoretical_memory_usage.py` (18 bytes per parameter, or 6 + 12/dp with a sharded optimizer, interleaving); Rajbhandari
et al. 2020, arXiv 1910.02054 (ZeRO stages).
"""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import Array, Layouts, Shape, Values, anywhere
from clusterwright.sizing.model import experts
from clusterwright.sizing.model.layer_memory import LayerBytes
from clusterwright.sizing.records.job import MemoryPerGpu
from clusterwright.sizing.training.practice import (
    ALONE_BYTES,
    FRAGMENTATION,
    FUSED_LOGIT_BYTES,
    GRADIENT_BYTES,
    LOGIT_BYTES,
    STANDARD,
    WEIGHT_BYTES,
    Practice,
)
from clusterwright.sizing.training.stages import Split, Stage, fullest_candidates, model_copies, split_of, stage_at


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryColumns:
    """Bytes on the fullest GPU by term, as columns; the fields of `MemoryPerGpu`."""

    weights: Values
    gradients: Values
    optimizer: Values
    activations: Values
    logits: Values
    communication: Values
    reserve: Values

    def total(self) -> Values:
        """Return the sum of all terms in bytes."""
        states = self.weights + self.gradients + self.optimizer
        return states + self.activations + self.logits + self.communication + self.reserve

    def row(self, index: int) -> MemoryPerGpu:
        """Return one layout's terms; a term that is the same for all is one value."""
        terms = {name: np.atleast_1d(getattr(self, name)) for name in self.__slots__}
        return MemoryPerGpu(**{name: float(term[index if term.size > 1 else 0]) for name, term in terms.items()})


def reserved_bytes(memory: MemoryPerGpu) -> float:
    """Return the bytes that the allocator holds: what tensors take, and what it loses of what it hands out.

    What remains of the total are the contexts of driver and collective library, which are not the allocator's.
    """
    return (1 + FRAGMENTATION) * memory.allocated


def logit_bytes(shape: Shape, *, rows: Values, tp: Values, each: Values = FUSED_LOGIT_BYTES) -> Values:
    """Return the last stage's extra bytes: `s b (4 h + each V)/t`, head input and logits (Korthikanti 4.3).

    Once for every token predicted; `each` is 4 for fp32 logits with a loss that works in place.
    """
    return shape.predictions * rows * (4 * shape.hidden + each * shape.vocab) / tp


def shards(layouts: Layouts) -> Values:
    """Return over how many ranks the states are sharded: `dp cp` over the number of sharding groups.

    The two copies of a stage under DualPipe share its states too.
    """
    return layouts.dp * layouts.cp * model_copies(layouts) / layouts.replicas


def expert_shards(layouts: Layouts) -> Values:
    """Return over how many ranks the states of the same experts are sharded: `tp cp dp / (ep etp)`, over the groups.

    Sharding groups are replicated as a whole (Megatron: `num_distributed_optimizer_instances`), experts in them too.
    """
    holders = layouts.tp * layouts.cp * layouts.dp * model_copies(layouts) / (layouts.ep * layouts.etp)
    return np.maximum(1.0, holders / layouts.replicas)


def context_bytes(layouts: Layouts, practice: Practice) -> Values:
    """Return what the contexts of driver and collective library take; a GPU alone has none of the second."""
    alone = np.asarray(layouts.tp * layouts.cp * layouts.pp * layouts.dp) == 1
    return np.where(alone, np.minimum(practice.context_bytes, ALONE_BYTES), practice.context_bytes)


def state_bytes_per_parameter(
    *, shards: Values, zero_stage: Values, practice: Practice = STANDARD
) -> tuple[Values, Values, Values]:
    """Return bytes of weights, gradients and optimizer per parameter held: 2 + 4 + 12 = 18 without sharding.

    Stage 1 divides the optimizer by the shards (6 + 12/dp), stage 2 the gradients too, stage 3 the weights too (18/dp).
    """
    weight, gradient, state = practice.weight_bytes, practice.gradient_bytes, practice.optimizer_bytes
    weights = np.where(np.asarray(zero_stage) >= 3, weight / shards, weight)  # noqa: PLR2004 - ZeRO stages
    sharded_gradient = 0.0 if practice.streams_gradients else gradient / shards
    gradients = np.where(np.asarray(zero_stage) >= 2, sharded_gradient, gradient)  # noqa: PLR2004
    optimizer = np.where(np.asarray(zero_stage) >= 1, state / shards, state)
    return weights, gradients, optimizer


def gathered_bytes(
    shape: Shape, *, layouts: Layouts, rows: Values, share: Values = 1.0, streamed: bool = False
) -> Values:
    """Return the communication buffers: a gathered activation each way, and under ZeRO-3 two gathered layers.

    FSDP gathers the next layer while one computes (2 x 2 bytes per parameter), and reduces one layer's fp32 gradients
    while the next layer's are computed (2 x 4 bytes). Under ZeRO-2, gradients that are `streamed` to the host pass
    through two layers' of bf16 (2 x 2 bytes). With experts, the copies that one layer sends and
    receives.
    """
    activation = 2 * 2 * rows * shape.hidden
    layer = shape.layer_parameters / layouts.tp
    if anywhere(shape.expert_parameters):
        layer = layer + shape.expert_parameters / (layouts.ep * layouts.etp)
        activation = activation + experts.buffer_bytes(shape, rows=rows, tp=layouts.tp)
    gathered = share * 2 * (WEIGHT_BYTES + GRADIENT_BYTES) * layer
    if streamed:
        activation = activation + 2 * WEIGHT_BYTES * layer * (np.asarray(layouts.zero_stage) == 2)  # noqa: PLR2004
    return activation + np.where(np.asarray(layouts.zero_stage) >= 3, gathered, 0.0)  # noqa: PLR2004 - ZeRO stage


def at_stage(
    shape: Shape,
    layouts: Layouts,
    *,
    stage: Values,
    layer: LayerBytes,
    practice: Practice = STANDARD,
    shared: "Shared | None" = None,
) -> MemoryColumns:
    """Return the memory of a GPU of one pipeline stage.

    Args:
        shape: the model.
        layouts: the layouts.
        stage: index of the stage, from 0; one value, or one for each layout.
        layer: `layer_bytes` of each layout.
        practice: what the layout does not say.
        shared: what all stages have in common, computed here if None.
    """
    common = shared or shared_of(shape, layouts, practice=practice)
    held = stage_at(shape, layouts, split=common.split, stage=stage)
    weights, gradients, optimizer = (held.parameters * each for each in common.state_bytes)
    if common.expert_state_bytes is not None:
        weights, gradients, optimizer = (
            term + held.routed_parameters * each
            for term, each in zip((weights, gradients, optimizer), common.expert_state_bytes, strict=True)
        )
    stored = practice.kept_share * held.in_flight * kept_bytes(held, layer)
    if practice.buffered_layers is not None:
        stored = np.minimum(stored, practice.buffered_layers * _largest(held, layer))
    activations = stored + practice.working_share * _working(held, layer)
    logits = common.logits * held.has_head
    if anywhere(1 - np.asarray(practice.persistent_gradients)):
        # The peak is at the start of the backward pass or at its end: between them one shrinks as the other grows.
        made = (np.asarray(practice.persistent_gradients) < 1) & (np.asarray(layouts.micro_batches) <= 1)
        gradients = np.where(made, np.maximum(gradients - activations - logits, 0.0), gradients)
    tensors = weights + gradients + optimizer + activations + logits + common.buffers
    return MemoryColumns(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=activations,
        logits=logits,
        communication=common.buffers,
        reserve=context_bytes(layouts, practice) + FRAGMENTATION * tensors,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What all stages of a layout have in common.

    Attributes:
        split: of the layers.
        state_bytes: of weights, gradients and optimizer per parameter; expert_state_bytes: per parameter of routed
            experts, None without experts.
        logits: on the stage with the head; buffers: of communication.
    """

    split: Split
    state_bytes: tuple[Values, Values, Values]
    expert_state_bytes: tuple[Values, Values, Values] | None
    logits: Values
    buffers: Values


def shared_of(shape: Shape, layouts: Layouts, *, practice: Practice = STANDARD) -> Shared:
    """Return what all stages of a layout have in common."""
    rows = shape.sequence * layouts.micro_batch / layouts.cp
    zero = layouts.zero_stage
    experts_too = anywhere(shape.expert_parameters)
    return Shared(
        split=split_of(shape, pp=layouts.pp, vpp=layouts.vpp),
        state_bytes=state_bytes_per_parameter(shards=shards(layouts), zero_stage=zero, practice=practice),
        expert_state_bytes=state_bytes_per_parameter(shards=expert_shards(layouts), zero_stage=zero, practice=practice)
        if experts_too
        else None,
        logits=logit_bytes(shape, rows=rows, tp=layouts.tp, each=_kept_per_logit(zero, practice)),
        buffers=gathered_bytes(
            shape, layouts=layouts, rows=rows, share=practice.gathered_share, streamed=practice.streams_gradients
        ),
    )


def _kept_per_logit(zero_stage: Values, practice: Practice) -> Values:
    unfused = 0.0 if practice.fused_loss else LOGIT_BYTES - FUSED_LOGIT_BYTES
    usual = FUSED_LOGIT_BYTES + np.where(np.asarray(zero_stage) >= 2, unfused, 0.0)  # noqa: PLR2004 - ZeRO stage
    if practice.logit_bytes is None:
        return usual
    return np.where(np.isnan(practice.logit_bytes), usual, practice.logit_bytes)


def per_gpu(shape: Shape, layouts: Layouts, *, layer: LayerBytes, practice: Practice = STANDARD) -> MemoryColumns:
    """Return the memory of the fullest GPU, over all pipeline stages; the arguments are those of `at_stage`."""
    shared = shared_of(shape, layouts, practice=practice)
    first, *others = fullest_candidates(shape, layouts, split=shared.split)
    fullest = at_stage(shape, layouts, stage=first, layer=layer, practice=practice, shared=shared)
    for stage in others:
        found = at_stage(shape, layouts, stage=stage, layer=layer, practice=practice, shared=shared)
        chosen = np.asarray(found.total()) > fullest.total()
        terms = {name: np.where(chosen, getattr(found, name), getattr(fullest, name)) for name in fullest.__slots__}
        fullest = MemoryColumns(**terms)
    return fullest


def fullest_bytes(shape: Shape, layouts: Layouts, *, layer: LayerBytes, practice: Practice = STANDARD) -> Array:
    """Return the sum over the terms of `per_gpu`, in fewer steps: only activations depend on recomputation."""
    if practice.buffered_layers is not None or anywhere(1 - np.asarray(practice.persistent_gradients)):
        return np.asarray(per_gpu(shape, layouts, layer=layer, practice=practice).total())
    shared = shared_of(shape, layouts, practice=practice)
    states = sum(shared.state_bytes)
    routed = sum(shared.expert_state_bytes) if shared.expert_state_bytes is not None else 0.0
    grown = 1 + FRAGMENTATION
    working, context = grown * practice.working_share, context_bytes(layouts, practice)
    most: Array = np.asarray(0.0)
    for stage in fullest_candidates(shape, layouts, split=shared.split):
        held = stage_at(shape, layouts, split=shared.split, stage=stage)
        fixed = context + grown * (held.parameters * states + shared.buffers + shared.logits * held.has_head)
        if shared.expert_state_bytes is not None:
            fixed = fixed + grown * held.routed_parameters * routed
        live = grown * practice.kept_share * held.in_flight
        scaled = replace(held, layers=live * held.layers, routed_layers=live * held.routed_layers)
        most = np.asarray(np.maximum(most, fixed + kept_bytes(scaled, layer) + working * _working(held, layer)))
    return most


def kept_bytes(held: Stage, layer: LayerBytes) -> Values:
    """Return the bytes that the layers of a stage keep of one micro-batch."""
    kept = held.layers * layer.plain
    mixed = anywhere(held.routed_layers)
    if mixed:
        kept = kept + held.routed_layers * (layer.routed - layer.plain)
    if held.recomputed_share is None:
        return kept
    # Where only some layers are recomputed, the others keep what they would hold while they were.
    others = held.layers * layer.plain_again
    if mixed:
        others = others + held.routed_layers * (layer.routed_again - layer.plain_again)
    return np.where(np.asarray(layer.plain_again) > 0, kept + (1 - held.recomputed_share) * (others - kept), kept)


def _largest(held: Stage, layer: LayerBytes) -> Values:
    """Return what the layer of a stage that keeps most keeps of one micro-batch."""
    # Where only some layers are recomputed, the largest is one that is not.
    partly = held.recomputed_share is not None
    largest = np.maximum(layer.plain, layer.plain_again) if partly else layer.plain
    if not np.any(held.routed_layers):
        return largest
    routed = np.maximum(layer.routed, layer.routed_again) if partly else layer.routed
    return np.where(np.asarray(held.routed_layers) > 0, np.maximum(largest, routed), largest)


def _working(held: Stage, layer: LayerBytes) -> Values:
    """Return what the largest layer of a stage holds while it is recomputed; one is, at a time."""
    working = layer.plain_again
    if anywhere(held.routed_layers):
        working = np.where(held.routed_layers > 0, np.maximum(working, layer.routed_again), working)
    return working if held.recomputed_share is None else np.where(np.asarray(held.recomputed_share) > 0, working, 0.0)
