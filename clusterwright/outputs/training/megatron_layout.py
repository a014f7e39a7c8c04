"""Arguments of Megatron-LM for a layout: how the model is split, what is sharded, what is recomputed."""

import re

from clusterwright.catalog.records import Model
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE
from clusterwright.sizing.model.shapes import trained_layers
from clusterwright.sizing.records.job import Layout

#: ZeRO stage to the sharding strategy of Megatron-FSDP.
_SHARDING = {2: "optim_grads", 3: "optim_grads_params"}


def uses_fsdp(layout: Layout) -> bool:
    """Tell whether the layout shards gradients or weights, which Megatron does with its own FSDP."""
    return layout.zero_stage >= FSDP_FROM_STAGE


def layout_arguments(layout: Layout, model: Model, *, optimizer: str) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of a layout, one line of words each; Muon shares its state out by itself."""
    lines: list[tuple[str, ...]] = [
        ("--tensor-model-parallel-size", str(layout.tp)),
        ("--pipeline-model-parallel-size", str(layout.pp)),
        ("--context-parallel-size", str(layout.cp)),
    ]
    lines += _expert_parallel(layout, model)
    if layout.sp:
        lines.append(("--sequence-parallel",))
    lines += _pipeline(layout, model)
    if layout.zero_stage > 0:
        # Muon's own distributed optimizer gives ranks whole matrices instead of equal parts of all of them.
        if optimizer != "muon":
            lines.append(("--use-distributed-optimizer",))
        lines += [("--overlap-grad-reduce",), ("--overlap-param-gather",)]
    if uses_fsdp(layout):
        lines += [
            ("--use-megatron-fsdp",),
            ("--data-parallel-sharding-strategy", _SHARDING[layout.zero_stage]),
            ("--no-gradient-accumulation-fusion",),
        ]
    if layout.sharding_groups > 1:
        lines.append(("--num-distributed-optimizer-instances", str(layout.sharding_groups)))
        if uses_fsdp(layout):
            lines.append(("--outer-dp-sharding-strategy", "no_shard"))
    if layout.recompute == "selective":
        lines.append(("--recompute-granularity", "selective"))
    if layout.recompute == "full":
        lines.append(("--recompute-granularity", "full"))
        # Some layers of each chunk (block), or every layer on its own (uniform).
        method, count = ("uniform", 1) if layout.recompute_layers is None else ("block", layout.recompute_layers)
        lines += [("--recompute-method", method), ("--recompute-num-layers", str(count))]
    return tuple(lines)


def _expert_parallel(layout: Layout, model: Model) -> list[tuple[str, ...]]:
    if not model.experts:
        return []
    lines = [("--expert-model-parallel-size", str(layout.ep))] if layout.ep > 1 else []
    # Left out, experts would be split over the tensor-parallel ranks, as the rest of the layer is.
    return [*lines, ("--expert-tensor-parallel-size", str(layout.etp))]


def _pipeline(layout: Layout, model: Model) -> list[tuple[str, ...]]:
    """Return how layers go to stages: with the embedding and the head counted as a layer each where that divides."""
    if layout.pp == 1:
        return []
    if trained_layers(model) > model.layers:
        return [("--pipeline-model-parallel-layout", _chunks(layout, model))]
    lines: list[tuple[str, ...]] = []
    parts = model.layers
    if parts % (layout.pp * layout.vpp):
        parts += 2
        lines += [("--account-for-embedding-in-pipeline-split",), ("--account-for-loss-in-pipeline-split",)]
    if layout.vpp > 1:
        lines.append(("--num-layers-per-virtual-pipeline-stage", str(parts // (layout.pp * layout.vpp))))
    return lines


def _chunks(layout: Layout, model: Model) -> str:
    """Return the layers of every chunk: `E` embedding, `t` layer, `m` one that predicts further tokens, `L` loss."""
    layers = "t" * model.layers + "m" * (trained_layers(model) - model.layers)
    count = layout.pp * layout.vpp
    counted = len(layers) % count > 0
    parts = f"E{layers}L" if counted else layers
    size = len(parts) // count
    chunks = [parts[start : start + size] for start in range(0, count * size, size)]
    if not counted:
        chunks = [f"E{chunks[0]}", *chunks[1:-1], f"{chunks[-1]}L"]
    return "|".join(re.sub("tt+", lambda run: f"t*{len(run[0])}", chunk) for chunk in chunks)
