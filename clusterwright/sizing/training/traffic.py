"""What travels between the accelerators of a layout: which group, at which level, how many bytes, which way, how long.

These are the terms of `step` before anything hides them, one record each, for explanations.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Device, Layouts, Shape, Tuning, Values
from clusterwright.sizing.hardware import groups, topology
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE, stacks_of
from clusterwright.sizing.model import experts
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import Layout, TrainingJob
from clusterwright.sizing.training import memory, stages
from clusterwright.sizing.training.stage_table import columns_of
from clusterwright.sizing.training.step import GATHER_BYTES, SCATTER_BYTES, TENSOR_ALL_REDUCES

#: Levels that a group may span.
DOMAIN, LEAF, SPINE, CORE, NETWORK = "scale-up domain", "leaf", "spine", "core", "network"
PAIRS, EXCHANGE = "from one to the next", "each to all"

_Ways = Callable[..., dict[str, Values]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """One kind of traffic of a layout, per accelerator and before computation hides any of it.

    Attributes:
        name: `tensor`, `context`, `experts`, `pipeline`, `gradients`, `weights`, `gradients between copies` of
            sharding groups; the last three again for `expert` parameters.
        ranks: of each group; stride: accelerators from one rank to the next.
        level: the highest that the group reaches: `scale-up domain`, `leaf`, `spine`, `core`, or `network` where its
            tiers are not given.
        way: the fastest algorithm that it may use.
        size_bytes: of the buffer; bytes_per_s: that one accelerator gets at that level, one direction.
        seconds: once; times: in a step.
    """

    name: str
    ranks: int
    stride: int
    level: str
    way: str
    size_bytes: float
    bytes_per_s: float
    seconds: float
    times: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Links:
    device: Device
    tuning: Tuning

    def level(self, span: float) -> str:
        device = self.device
        if span <= device.scale_up_gpus:
            return DOMAIN
        if topology.flat_network(device):
            return NETWORK
        return LEAF if span <= device.leaf_gpus else SPINE if span <= device.spine_gpus else CORE

    def bytes_per_s(self, ranks: float, stride: float) -> float:
        if ranks * stride <= self.device.scale_up_gpus:
            return float(topology.scale_up_bytes_per_s(self.device, self.tuning, ranks=ranks, stride=stride))
        return float(topology.network_bytes_per_s(self.device, self.tuning, span=ranks * stride))

    def collective(
        self, name: str, ways: _Ways, *, size: float, ranks: float, stride: float, times: float, halves: float = 1.0
    ) -> Traffic:
        found = ways(self.device, self.tuning, size_bytes=size, ranks=ranks, stride=stride)
        way = min(found, key=lambda key: float(found[key]))
        return Traffic(
            name=name,
            ranks=int(ranks),
            stride=int(stride),
            level=self.level(ranks * stride),
            way=way,
            size_bytes=size,
            bytes_per_s=self.bytes_per_s(ranks, stride),
            seconds=halves * float(found[way]),
            times=times,
        )

    def pair(self, name: str, *, size: float, ranks: float, stride: float, span: float, times: float) -> Traffic:
        bandwidth, latency = groups.pair_links(self.device, self.tuning, span=span)
        return Traffic(
            name=name,
            ranks=int(ranks),
            stride=int(stride),
            level=self.level(span),
            way=PAIRS,
            size_bytes=size,
            bytes_per_s=float(bandwidth),
            seconds=size / float(bandwidth) + float(latency),
            times=times,
        )


def traffic_of(job: TrainingJob, node: NodeType, layout: Layout, calibration: Calibration) -> tuple[Traffic, ...]:
    """Return every kind of traffic that a layout has, innermost group first.

    Args:
        job: the training run.
        node: its node type, with its network.
        layout: of the run.
        calibration: shares of bandwidth and latencies.
    """
    shape = shape_of(job.model, sequence_length=job.sequence_length)
    stack = stacks_of(calibration, node, job)[1 if layout.zero_stage >= FSDP_FROM_STAGE else 0]
    links = _Links(device=device_of(node, precision=job.precision), tuning=stack.tuning)
    columns = columns_of(layout)
    return (*_inside_layers(shape, links, layout, columns), *_between_replicas(shape, links, layout, columns))


def _inside_layers(shape: Shape, links: _Links, layout: Layout, columns: Layouts) -> list[Traffic]:
    rows = float(shape.sequence) * layout.micro_batch / layout.cp
    split = stages.split_of(shape, pp=columns.pp, vpp=columns.vpp)
    passed = layout.micro_batches * float(split.middle)
    again = 0.0
    if layout.recompute == "full":
        again = layout.micro_batches * float(stages.recomputed_layers(columns, split=split))
    share = float(shape.expert_share)
    found = []
    if layout.tp > 1:
        ways, halves = (groups.half_ways, 2.0) if layout.sp else (groups.all_reduce_ways, 1.0)
        size, times = 2 * rows * float(shape.hidden), (TENSOR_ALL_REDUCES * passed + 2 * again) * (1 - share / 2)
        found.append(links.collective("tensor", ways, size=size, ranks=layout.tp, stride=1, times=times, halves=halves))
    if layout.cp > 1:
        size, times = 2 * 2 * float(shape.key_value) * rows / layout.tp, 3 * (layout.cp - 1) * passed
        span = layout.tp * layout.cp
        found.append(links.pair("context", size=size, ranks=layout.cp, stride=layout.tp, span=span, times=times))
    if layout.ep > 1:
        size = experts.COPY_BYTES * float(shape.hidden) * float(experts.copies(shape, rows=rows, tp=layout.tp))
        times = share * (experts.ALL_TO_ALLS * passed + 2 * again)
        found.append(links.collective("experts", _exchange, size=size, ranks=layout.ep, stride=layout.etp, times=times))
    if layout.pp > 1:
        stage = layout.tp * layout.cp * layout.dp
        size, times = 2 * rows * float(shape.hidden) / layout.tp, 2.0 * layout.vpp * layout.micro_batches
        span = stage * layout.pp
        found.append(links.pair("pipeline", size=size, ranks=layout.pp, stride=stage, span=span, times=times))
    return found


def _exchange(device: Device, tuning: Tuning, **group: Values) -> dict[str, Values]:
    return {EXCHANGE: groups.all_to_all_s(device, tuning, **group)}


def _between_replicas(shape: Shape, links: _Links, layout: Layout, columns: Layouts) -> list[Traffic]:
    scatters = layout.micro_batches if layout.zero_stage >= FSDP_FROM_STAGE else 1
    gathers = {0: 0, 1: 1, 2: 1}.get(layout.zero_stage, 2 * layout.micro_batches)
    ways = groups.half_ways if layout.zero_stage else groups.all_reduce_ways
    copies, replicas = float(stages.model_copies(columns)), float(columns.replicas)
    plain = copies * float(stages.stage_parameters(shape, tp=columns.tp, pp=columns.pp, vpp=columns.vpp))
    held = [("", plain, float(memory.shards(columns)), float(layout.tp))]
    if np.any(shape.expert_parameters):
        routed = copies * float(stages.stage_expert_parameters(shape, layouts=columns))
        held.append(("expert ", routed, float(memory.expert_shards(columns)), float(layout.ep * layout.etp)))
    wanted: list[tuple[str, _Ways, float, float, float, float]] = []
    for of, parameters, ranks, stride in held:
        scattered, gathered = SCATTER_BYTES * parameters, GATHER_BYTES * parameters
        wanted += [
            (f"{of}gradients", ways, scattered, ranks, stride, float(scatters)),
            (f"{of}weights", groups.half_ways, gathered, ranks, stride, float(gathers)),
            (f"{of}gradients between copies", groups.all_reduce_ways, scattered / ranks, replicas, stride * ranks, 1.0),
        ]
    return [
        links.collective(name, go, size=size, ranks=ranks, stride=stride, times=times)
        for name, go, size, ranks, stride, times in wanted
        if ranks > 1 and times
    ]
