"""How few layers must be recomputed for a layout to fit into memory."""

from dataclasses import replace

import numpy as np

from clusterwright.sizing.columns import Array, Layouts, Shape, Values
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.practice import FRAGMENTATION, STANDARD, Practice


def fewest_layers(
    shape: Shape,
    layouts: Layouts,
    *,
    layer: layer_memory.LayerBytes,
    limit_bytes: Values,
    practice: Practice = STANDARD,
) -> Array:
    """Return the fewest layers of each chunk whose recomputation lets a layout fit; infinite where all are needed.

    Recomputing more is slower, and memory falls by the same amount with every layer, so that the fewest that fit are
    the best and follow from the room that full recomputation leaves: of a stage with `l` layers, as many are spared as
    that room holds, and the rest is spread over its `v` chunks, `ceil((l - spared)/v)` each (Megatron-LM's
    `--recompute-method block`).

    Args:
        shape: the model.
        layouts: with full recomputation, of all layers fitting into memory.
        layer: `layer_memory.layer_bytes` of each.
        limit_bytes: of one GPU.
        practice: what the layouts do not say.
    """
    every = replace(layouts, recompute_layers=np.inf)
    none = replace(layouts, recompute_layers=0.0)
    shared = memory.shared_of(shape, layouts, practice=practice)
    split = shared.split
    needed: Values = 1.0
    for stage in stages.fullest_candidates(shape, layouts, split=split):
        held = stages.stage_at(shape, none, split=split, stage=stage)
        kept = memory.kept_bytes(held, layer)
        least = memory.kept_bytes(replace(held, recomputed_share=None), layer)
        scale = (1 + FRAGMENTATION) * practice.kept_share * held.in_flight
        of_one = scale * (kept - least) / np.maximum(held.layers, 1.0)
        room = (
            limit_bytes
            - memory.at_stage(shape, every, stage=stage, layer=layer, practice=practice, shared=shared).total()
        )
        spared = np.floor(room / np.maximum(of_one, 1.0))
        needed = np.maximum(needed, np.ceil((held.layers - spared) / layouts.vpp))
    found = np.where(needed >= split.chunk, np.inf, needed)
    total = memory.fullest_bytes(shape, replace(layouts, recompute_layers=found), layer=layer, practice=practice)
    return np.asarray(np.where(total <= limit_bytes, found, np.inf))
