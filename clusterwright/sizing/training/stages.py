"""What lies on each stage of a pipeline: layers, parameters, tables, and how many micro-batches' activations.

Stages count from 0. Where the layers do not divide into `pp v` chunks, the embedding and the head count as a layer
each. Sources: Narayanan et al. 2021, arXiv 2104.04473, section 2.2 (1F1B and its interleaved form); Qi et al. 2024,
arXiv 2401.10241, table 2 (ZB-H1); DeepSeek-V3, arXiv 2412.19437, table 2 (DualPipe).
"""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.sizing.columns import DUALPIPE, ONE_F_ONE_B, Array, Layouts, Shape, Values, anywhere

#: Leading dense layers fill the first stage, so that other stages have experts in every layer; below this share of
#: layers with experts, both kinds alternate.
ALTERNATING_BELOW = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What one GPU of a stage holds.

    Attributes:
        layers: of the stage; routed_layers: of them with experts.
        recomputed_share: of the layers, those that full recomputation recomputes; None for all.
        parameters: without routed experts; routed_parameters: routed experts.
        in_flight: micro-batches whose activations are held at once.
        has_head: 1 where the stage computes the output matrix and the loss, else 0.
    """

    layers: Values
    routed_layers: Values
    recomputed_share: Values | None
    parameters: Values
    routed_parameters: Values
    in_flight: Values
    has_head: Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """How the layers are split over stages.

    Attributes:
        middle: layers of a middle stage; chunk: of each of its chunks.
        missing: layers that the first and the last stage have less, 0 or 1.
    """

    middle: Values
    chunk: Values
    missing: Values


def split_of(shape: Shape, *, pp: Values, vpp: Values) -> Split:
    """Return how the layers are split; see `stage_layers`."""
    middle, last = stage_layers(shape, pp=pp, vpp=vpp)
    missing = middle - last
    return Split(middle=middle, chunk=middle / vpp, missing=missing if anywhere(missing) else 0.0)


def stage_layers(shape: Shape, *, pp: Values, vpp: Values) -> tuple[Values, Values]:
    """Return the layers of a middle stage and of the last stage.

    Where the layers do not divide into `pp v` chunks, the embedding and the head count as a layer each, as Llama 3 was
    laid out (126 layers in 16 stages of 8; arXiv 2407.21783, section 3.3.2).
    """
    chunk = np.asarray(shape.layers / (pp * vpp))
    uneven = np.where(chunk > np.floor(chunk), 1.0, 0.0)
    middle = (shape.layers + 2 * uneven) / pp
    return middle, middle - uneven


def stage_parameters(shape: Shape, *, tp: Values, pp: Values, vpp: Values) -> Values:
    """Return the parameters on one GPU of the fullest stage: its layers and the larger of the two tables, over `tp`.

    Routed experts are counted by `stage_expert_parameters`.
    """
    middle, last = stage_layers(shape, pp=pp, vpp=vpp)
    single = shape.table_parameters + shape.untied * shape.head_parameters
    edge = last * shape.layer_parameters + np.maximum(shape.table_parameters, shape.head_parameters)
    staged = np.maximum(middle * shape.layer_parameters, edge)
    return np.where(np.asarray(pp) > 1, staged, shape.layers * shape.layer_parameters + single) / tp


def stage_expert_parameters(shape: Shape, *, layouts: Layouts) -> Values:
    """Return the parameters of routed experts on one GPU of the fullest stage: those of its layers, over `ep etp`.

    `expert_parameters` averages over all layers; a stage without the leading dense ones has experts in each of its own.
    """
    middle, _ = stage_layers(shape, pp=layouts.pp, vpp=layouts.vpp)
    share = np.maximum(shape.expert_share, 1e-9)
    leading = np.asarray(share) >= ALTERNATING_BELOW
    filled = np.where(leading, np.minimum(middle, share * shape.layers), middle * share)
    return filled * (shape.expert_parameters / share) / (layouts.ep * layouts.etp)


def model_copies(layouts: Layouts) -> Values:
    """Return how many stages a GPU holds: two in opposite directions under DualPipe, else one."""
    return np.where(np.asarray(layouts.schedule) == DUALPIPE, 2.0, 1.0)


def recomputed_layers(layouts: Layouts, *, split: Split, missing: Values = 0.0) -> Values:
    """Return the layers of a stage that full recomputation recomputes: `recompute_layers` of each chunk, at most all.

    Args:
        layouts: the layouts.
        split: of their layers.
        missing: layers that one of the stage's chunks has less than the others, 0 or 1.
    """
    of_chunk = np.minimum(layouts.recompute_layers, split.chunk)
    shorter = np.maximum(0.0, of_chunk - (split.chunk - missing))
    return of_chunk * layouts.vpp - shorter


def in_flight(layouts: Layouts, *, stage: Values) -> Values:
    """Return how many micro-batches' activations a stage holds at most.

    1F1B: `pp - stage`. Interleaved: `(2 (pp-1-stage) + (v-1) pp + 1)/v`, which is `pp (1 + (pp-1)/(pp v))` on the first
    (Korthikanti et al. 2022, section 4.2.3). ZB-H1 defers weight gradients until every stage holds `pp`; the inputs
    and gradients that these wait for are counted as whole activations (32 of 34 bytes per element, Qi et al., table
    1). DualPipe: `pp + 1` chunks on every GPU, both directions together. Never more than all micro-batches.
    """
    pp, vpp = layouts.pp, layouts.vpp
    # With one chunk, 2 (pp-1-s) + 1 would count twice what a stage runs ahead.
    ahead = np.where(np.asarray(vpp) > 1, 2.0, 1.0)
    held = (ahead * (pp - 1 - stage) + (vpp - 1) * pp + 1) / vpp
    if anywhere(layouts.schedule):
        schedule = np.asarray(layouts.schedule)
        held = np.where(schedule == ONE_F_ONE_B, held, pp + np.where(schedule == DUALPIPE, 1.0, 0.0))
    return np.minimum(layouts.micro_batches, held)


def dense_layers(shape: Shape, *, pp: Values, split: Split, stage: Values) -> Values:
    """Return how many of the leading dense layers a stage holds.

    Chunk `j` of `pp v` starts at layer `j c`, one less where the embedding counts as a layer; stage `s` holds chunks
    `s, s + pp, ...`.
    """
    leading = shape.layers * (1 - np.asarray(shape.expert_share))
    reach = leading + split.missing - stage * split.chunk
    rounds = np.floor(np.maximum(reach, 0.0) / (pp * split.chunk))
    held = rounds * split.chunk + np.clip(reach - rounds * pp * split.chunk, 0.0, split.chunk)
    return np.asarray(held - np.where(np.asarray(stage) == 0, split.missing, 0.0))


def stage_at(shape: Shape, layouts: Layouts, *, split: Split, stage: Values) -> Stage:
    """Return what one GPU of a stage holds; under DualPipe that is the stage and its mirror image, `pp - 1 - stage`.

    Args:
        shape: the model.
        layouts: the layouts.
        split: of their layers.
        stage: index of the stage, from 0; one value, or one for each layout.
    """
    one = _alone(shape, layouts, split=split, stage=stage)
    both = np.asarray(layouts.schedule) == DUALPIPE
    if not anywhere(both):
        return one
    other = _alone(shape, layouts, split=split, stage=layouts.pp - 1 - stage)
    # Each of the chunks in flight is of either stage: the average of both.
    added = {
        name: np.where(both, (getattr(one, name) + getattr(other, name)) / 2, getattr(one, name))
        for name in ("layers", "routed_layers")
    }
    summed = {
        name: getattr(one, name) + np.where(both, getattr(other, name), 0.0)
        for name in ("parameters", "routed_parameters")
    }
    head = np.maximum(one.has_head, np.where(both, other.has_head, 0.0))
    return replace(one, **added, **summed, has_head=head)


def _alone(shape: Shape, layouts: Layouts, *, split: Split, stage: Values) -> Stage:
    pp = layouts.pp
    first, last = np.asarray(stage) == 0, np.asarray(stage) == pp - 1
    missing = split.missing * (first | last) if anywhere(split.missing) else 0.0
    layers = split.middle - missing
    plain = layers * shape.layer_parameters
    routed: Values = 0.0
    held: Values = 0.0
    if anywhere(shape.expert_share):
        share = np.asarray(shape.expert_share)
        dense = dense_layers(shape, pp=pp, split=split, stage=stage)
        routed = np.where(share >= ALTERNATING_BELOW, layers - dense, layers * share)
        # `layer_parameters` averages over both kinds of layer, which differ by MLP, shared experts and router.
        mlp = shape.mlp_matrices * shape.hidden * shape.ffn
        shared = shape.hidden * (shape.mlp_matrices * shape.shared_ffn + shape.experts)
        plain = plain + (routed - layers * share) * np.where(share > 0, shared - mlp, 0.0)
        held = routed * (shape.expert_parameters / np.maximum(share, 1e-9)) / (layouts.ep * layouts.etp)
    # On a single stage, tied embeddings are the head as well.
    tied = (1 - shape.untied) * (np.asarray(pp) == 1)
    tables = first * shape.table_parameters + (last * (1 - tied)) * shape.head_parameters
    return Stage(
        layers=layers,
        routed_layers=routed,
        recomputed_share=_recomputed_share(layouts, split=split, missing=missing),
        parameters=(plain + tables) / layouts.tp,
        routed_parameters=held,
        in_flight=in_flight(layouts, stage=stage),
        has_head=np.where(last, 1.0, 0.0),
    )


def _recomputed_share(layouts: Layouts, *, split: Split, missing: Values) -> Values | None:
    if np.all(np.isinf(layouts.recompute_layers)):
        return None
    return recomputed_layers(layouts, split=split, missing=missing) / np.maximum(split.middle - missing, 1.0)


def fullest_candidates(shape: Shape, layouts: Layouts, *, split: Split) -> tuple[Values, ...]:
    """Return the stages of which one is the fullest, as columns.

    What a stage holds changes only after the first, where the leading dense layers end, and on the last; between
    these, activations in flight fall from stage to stage, so that the earliest of equal stages is the fullest.
    """
    last: Array = np.asarray(layouts.pp - 1.0)
    candidates: list[Values] = [0.0]
    if anywhere(last):
        candidates.append(last)
    if anywhere(split.missing):
        candidates.append(np.minimum(1.0, last))
    share = np.asarray(shape.expert_share)
    if anywhere((share >= ALTERNATING_BELOW) & (share < 1)):
        reach = (shape.layers * (1 - share) + split.missing) / split.chunk
        mixed = np.minimum(np.mod(np.floor(reach), layouts.pp), last)
        candidates += [np.minimum(1.0, last), mixed, np.minimum(mixed + 1, last)]
    return tuple(candidates)
