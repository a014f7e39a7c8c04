"""What a search of replicas finds: layouts, predicted figures with their bands, and whole sizes of a service."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.serving.confidence import at_confidence


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaLayout:
    """How one replica lies on accelerators.

    Attributes:
        gpus: accelerators of the replica, at least the one that it has a slice of; tensor: that split attention;
            pipeline: stages; expert: that hold whole experts; spread_attention: accelerators take different sequences
            in attention.
        slice: profile of the slice, empty for whole accelerators; per_gpu: such slices of one.
    """

    gpus: int
    tensor: int
    pipeline: int
    expert: int
    spread_attention: bool
    slice: str = ""
    per_gpu: int = 1

    def accelerators(self, replicas: int) -> int:
        """Return the accelerators that replicas take; slices of several lie on one."""
        return -(-replicas // self.per_gpu) * self.gpus

    def replicas_on(self, accelerators: int) -> int:
        """Return the replicas that accelerators hold."""
        return accelerators // self.gpus * self.per_gpu


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """One predicted figure: P50, and the band that measurements say."""

    value: float
    low: float
    high: float

    def at(self, confidence: float) -> float:
        """Return what the figure does not exceed with a confidence."""
        band = np.log([[self.low / self.value, self.high / self.value]])
        return self.value * math.exp(float(at_confidence(band, confidence, high=True)[0]))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaMemory:
    """Bytes of one accelerator or slice: weights, pool of keys and values, what the framework keeps, what is left."""

    weights: float
    cache_pool: float
    reserved: float
    unused: float
    cache_per_token: float
    cache_per_request: float

    @property
    def whole(self) -> float:
        """Bytes that the framework sees as its device."""
        return self.weights + self.cache_pool + self.reserved + self.unused


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaStep:
    """Seconds of one decode step by what takes them, as in `step.StepTime`."""

    compute: float
    weights: float
    products: float
    cache: float
    network: float
    overhead: float
    factor: float
    total: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RatePoint:
    """One layout at one load: output tokens per second, by accelerator and as a user sees them on average.

    Attributes:
        in_flight: requests of a replica; replica_gpus: its accelerators.
    """

    tokens_per_s_per_gpu: float
    tokens_per_s_per_user: float
    in_flight: float
    replica_gpus: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingSize:
    """One layout on one kind of node, sized for the load.

    Attributes:
        replicas: that the peak needs; nodes: for them and the spare ones.
        requests_per_s: at the peak, of all replicas; capacity_per_s: of one replica, that meets the goals with the
            confidence; limit_per_s: asked of all where answers take as long as they do then.
        in_flight: requests of one replica at the peak; most_in_flight: what memory holds.
        first_token_s, time_per_token_s: at the percentile of the goals; mean_first_token_s, mean_time_per_token_s: of
            all requests. At the peak without the spare replicas.
        first_token_bound_s, time_per_token_bound_s: what nothing can be faster than: computing the input at the dense
            peak, reading the weights of one token at the nominal bandwidth.
        prefill_s: of one request of mean length; busy_share: of the replica's time that prefills.
        shortfall: ln of the goal that is missed most over what is reached, at most 0 where all are met.
        confidence: with which goals and throughput were tested.
        probability: that these replicas meet the goals at the peak, by the bands; best_probability: that as many
            replicas of the layout as one likes do.
        level: how much of model and accelerator the calibration has seen.
        cached_share, host_share: of the input, found in the accelerators' memory and in the host's.
        prefill: the pool that computes inputs where decoding has its own; None where replicas do both.
    """

    node: NodeType
    layout: ReplicaLayout
    replicas: int
    nodes: int
    requests_per_s: float
    capacity_per_s: float
    limit_per_s: float
    in_flight: float
    most_in_flight: int
    first_token_s: Predicted
    time_per_token_s: Predicted
    mean_first_token_s: float
    mean_time_per_token_s: float
    replica_requests_per_s: Predicted
    first_token_bound_s: float
    time_per_token_bound_s: float
    prefill_s: float
    busy_share: float
    power_w: float
    memory: ReplicaMemory
    step: ReplicaStep
    shortfall: float
    confidence: float
    probability: float
    best_probability: float
    level: str
    cached_share: float = 0.0
    host_share: float = 0.0
    prefill: "PrefillPool | None" = None

    @property
    def gpus(self) -> float:
        """Accelerators of the replicas that the peak needs, prefill included."""
        decoding = self.replicas * self.layout.gpus / self.layout.per_gpu
        return decoding + (self.prefill.workers * self.prefill.layout.gpus if self.prefill else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefillPool:
    """Workers that compute inputs alone, and hand keys and values to those that decode.

    Attributes:
        workers: that the peak needs; spare: beside them; busy_share: of their time; requests_per_s: of one, that meets
            the goals.
        handing_s: in which keys and values of a mean input are sent over the network.
        memory: of one accelerator.
    """

    layout: ReplicaLayout
    workers: int
    spare: int
    busy_share: float
    requests_per_s: float
    handing_s: float
    memory: ReplicaMemory

    @property
    def gpus(self) -> int:
        """Accelerators of all workers, the spare ones too."""
        return self.layout.accelerators(self.workers + self.spare)


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """What a search found.

    Attributes:
        sizes: by confidence and id of the node type, the best first; fronts: by node type, as `front_of_rates`.
    """

    sizes: dict[float, dict[str, tuple[ServingSize, ...]]]
    fronts: dict[str, tuple[RatePoint, ...]]


def nodes_of(layout: ReplicaLayout, replicas: int, gpus: int) -> int:
    """Return the nodes that a given number of replicas take; none lies on parts of two nodes unless it fills both."""
    return nodes_of_all(((layout, replicas),), gpus)


def nodes_of_all(pools: Sequence[tuple[ReplicaLayout, int]], gpus: int) -> int:
    """Return the nodes that replicas of several layouts take together; each divides a node or is made of whole ones."""
    whole = sum(count * (layout.gpus // gpus) for layout, count in pools if layout.gpus >= gpus)
    parts = sum(layout.accelerators(count) for layout, count in pools if layout.gpus < gpus)
    return whole + -(-parts // gpus)
