"""Layouts of a replica on a kind of node, as far as a service does not exclude them."""

from collections.abc import Iterator

from clusterwright.catalog.records import NodeType
from clusterwright.catalog.software.mig import profiles_by_gpu
from clusterwright.sizing.serving.memory import WEIGHT_BYTES
from clusterwright.sizing.serving.service import Service
from clusterwright.sizing.serving.sizes import ReplicaLayout

#: Accelerators of a replica within one scale-up domain, and nodes of one that is larger than a node.
_SIZES = (1, 2, 4, 8, 16)
STAGES = (2, 3, 4, 6, 8, 12, 16)
#: Nodes that the experts of one replica are spread over.
_WIDE = (2, 4, 8)
#: Weights that take more than this share of a node's memory have layouts over several nodes looked at.
_LARGE = 0.5


def layouts(service: Service, node: NodeType) -> Iterator[ReplicaLayout]:
    """Yield the layouts of a replica on a kind of node that the service does not exclude."""
    model = service.model
    domain = max(node.accelerator.scale_up_domain_gpus or 1, 1)
    within = [
        size
        for size in sorted({*_SIZES, node.gpus, *([service.tensor] if service.tensor else [])})
        if _whole(size, node.gpus) and (size <= node.gpus or size <= domain or size == service.tensor)
    ]
    stages: tuple[int, ...] = (1,) if service.pipeline is None else (service.pipeline,)
    weights = float(model.shape.parameters) * WEIGHT_BYTES[service.precision]
    if service.pipeline is None and weights > _LARGE * node.gpus * node.hbm_bytes_per_gpu:
        stages = (1, *STAGES)
    for size in within:
        for pipeline in stages:
            if pipeline > 1 and service.pipeline is None and size != node.gpus:
                continue
            if not _whole(size * pipeline, node.gpus) or (size * pipeline > node.gpus and not node.reaches_others):
                continue
            yield from (layout for layout in _attentions(service, size, pipeline) if _allowed(service, layout))
    yield from (layout for layout in (*_wide(service, node), *_slices(service, node)) if _allowed(service, layout))


def _wide(service: Service, node: NodeType) -> Iterator[ReplicaLayout]:
    """Yield layouts whose experts lie on several nodes, while each accelerator takes other sequences in attention."""
    if service.wide_expert and service.model.routed and node.reaches_others:
        for nodes in _WIDE:
            size = nodes * node.gpus
            yield ReplicaLayout(gpus=size, tensor=1, pipeline=1, expert=size, spread_attention=True)


def _slices(service: Service, node: NodeType) -> Iterator[ReplicaLayout]:
    """Yield one layout for each profile that divides an accelerator; of those with equal slices the first."""
    if not service.slices:
        return
    seen = set()
    for profile in profiles_by_gpu().get(node.accelerator.id, ()):
        taken = (profile.compute_slices, profile.memory_slices)
        if profile.most > 1 and taken not in seen:
            seen.add(taken)
            yield ReplicaLayout(
                gpus=1, tensor=1, pipeline=1, expert=1, spread_attention=False, slice=profile.name, per_gpu=profile.most
            )


def _whole(size: int, gpus: int) -> bool:
    """Tell whether replicas of a size leave no part of a node that belongs to two of them."""
    return gpus % size == 0 or size % gpus == 0


def _attentions(service: Service, size: int, pipeline: int) -> Iterator[ReplicaLayout]:
    """Yield the ways to split attention and experts over the accelerators of a stage."""
    gpus = size * pipeline
    yield ReplicaLayout(gpus=gpus, tensor=size, pipeline=pipeline, expert=1, spread_attention=False)
    if service.model.routed and size > 1:
        yield ReplicaLayout(gpus=gpus, tensor=size, pipeline=pipeline, expert=size, spread_attention=False)
        if pipeline == 1:
            yield ReplicaLayout(gpus=gpus, tensor=1, pipeline=1, expert=size, spread_attention=True)


def _allowed(service: Service, layout: ReplicaLayout) -> bool:
    shape = service.model.shape
    return (
        float(shape.query_heads) % layout.tensor == 0
        and (layout.expert == 1 or float(shape.experts) % layout.expert == 0)
        and service.tensor in (None, layout.tensor)
        and service.expert in (None, layout.expert)
        and service.spread_attention in (None, layout.spread_attention)
    )
