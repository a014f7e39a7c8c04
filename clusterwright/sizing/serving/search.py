"""Replicas for a service: every layout on every kind of node at every batch, in one pass of the formulas.

A layout's replica takes more requests the more of them it holds at once, and each of them then waits longer. For each
layout the largest load that meets the goals is sought on a grid of loads; the replicas follow from it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import THROUGHPUT, TPOT_MEDIAN, TTFT_MEDIAN, Calibration
from clusterwright.sizing.serving.confidence import probability, score, slowdown
from clusterwright.sizing.serving.goal_tests import bands_of_layouts, goal_scores, shortfall
from clusterwright.sizing.serving.layouts import layouts
from clusterwright.sizing.serving.pools import apart_sizes
from clusterwright.sizing.serving.replica_times import (
    Columns,
    Times,
    columns_of_layouts,
    configuration,
    first_token_bound,
    gathered_at,
    loads_at,
    memory_of,
    time_per_token_bound,
    times_at,
    token_spread,
)
from clusterwright.sizing.serving.replicas import replicas_needed
from clusterwright.sizing.serving.service import Service, requests_of_users
from clusterwright.sizing.serving.sizes import (
    Predicted,
    RatePoint,
    ReplicaLayout,
    ReplicaStep,
    Searched,
    ServingSize,
    nodes_of,
)

#: Requests in flight that are looked at: 1 to 4,096, 12 % apart.
_GRID = np.unique(np.round(np.geomspace(1.0, 4096.0, 74), 3))
#: Shares of the largest rate that are looked at where batches start together.
_SHARES = np.concatenate([np.geomspace(0.02, 0.5, 9), np.linspace(0.55, 0.95, 9)])
#: Requests in flight at which percentiles of the time per token are computed, and interpolated between.
_COARSE = np.array([1.0, 4.0, 16.0, 48.0, 128.0, 384.0, 1024.0, 4096.0])
#: Of tokens per second of an accelerator, between two points of a front.
_STEP_OF_FRONT = 1.25
Flags = npt.NDArray[np.bool_]


def search(service: Service, nodes: Sequence[NodeType], calibration: Calibration) -> dict[str, tuple[ServingSize, ...]]:
    """Return `searches` with the confidence of the service's goals."""
    asked = service.goals.confidence
    return searches(service, nodes, calibration, (asked,)).sizes[asked]


def searches(
    service: Service, nodes: Sequence[NodeType], calibration: Calibration, confidences: Sequence[float]
) -> Searched:
    """Return the sizes of every layout that fits, by confidence and id of the node type, and the fronts of rates.

    Those that meet the goals come first: the one with the fewest nodes, then with the fewest accelerators, then the
    fastest. A node type on which the model does not fit has none.
    """
    rows = [(node, layout) for node in nodes for layout in layouts(service, node)]
    found: dict[float, dict[str, tuple[ServingSize, ...]]] = {
        confidence: {node.id: () for node in nodes} for confidence in confidences
    }
    nothing = Searched(sizes=found, fronts={node.id: () for node in nodes})
    if not rows:
        return nothing
    configurations = [configuration(service, node, layout) for node, layout in rows]
    columns = columns_of_layouts(service, rows, configurations, calibration)
    most = columns.most_in_flight()
    fitting = np.flatnonzero(most >= 1)
    if not len(fitting):
        return nothing
    known = [configurations[row] for row in fitting]
    levels = [calibration.level_of(row) for row in known]
    bands = bands_of_layouts(service, known, levels, calibration)
    held = _Fitting(
        rows=[rows[row] for row in fitting],
        columns=columns,
        index=fitting,
        most=most[fitting],
        bands=bands,
        levels=levels,
    )
    loads = _loads(service, held)
    for confidence in confidences:
        sizes = [*_sized(service, held, loads, confidence)] if service.apart is not True else []
        if service.apart is not False:
            sizes += apart_sizes(service, nodes, calibration, confidence)
        for node in {node.id: node for node in nodes}.values():
            own = [size for size in sizes if size.node.id == node.id]
            found[confidence][node.id] = tuple(sorted(own, key=_order))
    fronts = {node.id: front_of_rates(service, held, loads, node.id) for node in nodes}
    return Searched(sizes=found, fronts=fronts)


def front_of_rates(service: Service, fitting: "_Fitting", loads: "_Loads", node_id: str) -> tuple[RatePoint, ...]:
    """Return what no other layout and load on a node type beats in tokens per second of an accelerator and of a user.

    Goals do not matter here. The fastest for a user comes first; each point makes a quarter more than the one before.
    """
    own = np.array([node.id == node_id for node, _ in fitting.rows])
    gpus = np.array([layout.gpus / layout.per_gpu for _, layout in fitting.rows])
    by_gpu = loads.rate * service.outputs.mean / gpus[:, None]
    by_user = 1.0 / np.maximum(loads.token, 1e-12)
    lines, places = np.nonzero(loads.room & own[:, None])
    order = np.lexsort((-by_gpu[lines, places], -by_user[lines, places]))
    found: list[RatePoint] = []
    for line, place in zip(lines[order], places[order], strict=True):
        value = float(by_gpu[line, place])
        if not found or value > found[-1].tokens_per_s_per_gpu * _STEP_OF_FRONT:
            found.append(
                RatePoint(
                    tokens_per_s_per_gpu=value,
                    tokens_per_s_per_user=float(by_user[line, place]),
                    in_flight=float(loads.in_flight[line, place]),
                    replica_gpus=fitting.rows[line][1].gpus,
                )
            )
    return tuple(found)


def _order(size: ServingSize) -> tuple[bool, float, int, float, float]:
    missed = max(size.shortfall, 0.0)
    return missed > 0, missed, size.nodes, size.gpus, size.time_per_token_s.value


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fitting:
    """Layouts that fit: their rows of the columns, the sequences that memory holds, bands by metric, and levels."""

    rows: Sequence[tuple[NodeType, ReplicaLayout]]
    columns: Columns
    index: npt.NDArray[np.intp]
    most: Array
    bands: dict[str, Array]
    levels: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Loads:
    """Layouts at every load, a row each.

    Attributes:
        points: the loads, as `loads_at` takes them.
        first_at, token_at: times at the percentile of the goals; token: per token, mean.
        rate: requests per second of a replica; asked: of all; in_flight: in the system of a replica.
        room: whether memory holds what varies above the mean.
    """

    points: Array
    first_at: Array
    token_at: Array
    token: Array
    rate: Array
    asked: Array
    in_flight: Array
    room: Flags


def _loads(service: Service, fitting: _Fitting) -> _Loads:
    """Return what every layout does at every load."""
    columns, most = fitting.columns, fitting.most
    points = _SHARES if service.gathered else _GRID
    count = len(fitting.index)
    index, loads = np.repeat(fitting.index, len(points)), np.tile(points, count)
    if service.gathered:
        times = gathered_at(service, columns, index, loads)
        room = np.ones((count, len(points)), dtype=bool)
    else:
        coarse = token_spread(service, columns, np.repeat(fitting.index, len(_COARSE)), np.tile(_COARSE, count))
        coarse = coarse.reshape(count, len(_COARSE))
        spread = np.exp([np.interp(np.log(points), np.log(_COARSE), row) for row in np.log(coarse)])
        times = times_at(service, columns, index, loads, spread.reshape(-1))
        normal = max(NormalDist().inv_cdf(service.goals.percentile), 0.0)
        # What varies above the mean must fit into memory too, else it waits to be admitted; one request always fits.
        room = np.maximum(points + normal * np.sqrt(points), 1.0)[None, :] <= most[:, None]
        room = room | (points <= 1.0)[None, :]

    def shaped(values: Array) -> Array:
        return np.asarray(values).reshape(count, len(points))

    return _Loads(
        points=points,
        first_at=shaped(times.first_at),
        token_at=shaped(times.token_at),
        token=shaped(times.token),
        rate=shaped(times.rate),
        asked=_rates(service, shaped(times.first) + service.outputs.mean * shaped(times.token)),
        in_flight=shaped(times.in_flight),
        room=room,
    )


def _sized(service: Service, fitting: _Fitting, loads: _Loads, confidence: float) -> list[ServingSize]:
    """Return every layout with the replicas that the load needs, goals and throughput tested with a confidence."""
    columns, bands, goals = fitting.columns, fitting.bands, service.goals
    count = len(fitting.index)
    slow_first, slow_token, slow_rate = (
        slowdown(bands[metric], confidence, rate=metric == THROUGHPUT)[:, None]
        for metric in (TTFT_MEDIAN, TPOT_MEDIAN, THROUGHPUT)
    )
    missed = shortfall(goals, loads.first_at * slow_first, loads.token_at * slow_token)
    capacity = loads.rate * slow_rate
    needed = loads.asked / capacity
    # Goals first, then the largest load that a replica may have, so that the fewest do.
    least = np.where(loads.room, np.maximum(missed, 0.0), np.inf)
    best = np.min(least, axis=1)
    allowed = loads.room & (least <= best[:, None] + 1e-12)
    chosen = np.argmin(np.where(allowed, needed, np.inf), axis=1)
    lines = np.arange(count)
    asked = loads.asked[lines, chosen]
    replicas = replicas_needed(requests_per_s=asked, replica_requests_per_s=capacity[lines, chosen])
    final = loads_at(service, columns, fitting.index, _load(loads, replicas))
    in_time = goal_scores(goals, bands, loads.first_at, loads.token_at, loads.room)
    carried = score(bands[THROUGHPUT], np.log(needed * slow_rate / replicas[:, None]), high=False)
    return [
        _size(
            service,
            fitting,
            final,
            line,
            _Found(
                replicas=int(replicas[line]),
                capacity=float(capacity[line, chosen[line]]),
                asked=float(asked[line]),
                shortfall=float(missed[line, chosen[line]]),
                confidence=confidence,
                probability=probability(float(np.minimum(in_time, carried)[line].max())),
                best_probability=probability(float(in_time[line].max())),
            ),
        )
        for line in range(count)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What was found for one layout, as in `ServingSize`."""

    replicas: int
    capacity: float
    asked: float
    shortfall: float
    confidence: float
    probability: float
    best_probability: float


def _rates(service: Service, answer_s: Array) -> Array:
    """Return the requests per second that the load brings where answers take so long."""
    load = service.load
    if load.requests_per_s is not None:
        return np.full(answer_s.shape, load.requests_per_s)
    return np.asarray(requests_of_users(users=load.users, think_s=load.think_s, answer_s=answer_s))


def _load(loads: _Loads, replicas: Array) -> Array:
    """Return the load of each of the replicas at the peak: where what they do is what is asked of them."""
    left = np.log(loads.rate * replicas[:, None]) - np.log(loads.asked)
    found = np.empty(len(loads.rate))
    for line, values in enumerate(left):
        rising = np.maximum.accumulate(values)
        found[line] = np.exp(np.interp(0.0, rising, np.log(loads.points)))
        if rising[0] > 0:
            # Less than the least load: in proportion to what is asked.
            found[line] = max(loads.points[0] * float(np.exp(-rising[0])), 1e-3)
    return found


def _size(service: Service, fitting: _Fitting, times: Times, line: int, found: _Found) -> ServingSize:
    node, layout = fitting.rows[line]
    in_flight = float(times.in_flight[line])
    own = fitting.columns.at(fitting.index[line : line + 1], np.array([max(in_flight, 1.0)]))
    served = times.served
    answer = float(times.first[line] + service.outputs.mean * times.token[line])
    asked = float(service.load.rate(answer))

    def banded(value: float, metric: str) -> Predicted:
        low, high = (float(value * math.exp(part)) for part in fitting.bands[metric][line])
        return Predicted(value=value, low=low, high=high)

    return ServingSize(
        node=node,
        layout=layout,
        replicas=found.replicas,
        nodes=nodes_of(layout, found.replicas + service.spare(found.replicas), node.gpus),
        requests_per_s=asked,
        capacity_per_s=found.capacity,
        limit_per_s=found.asked,
        in_flight=in_flight,
        most_in_flight=int(min(fitting.most[line], 1e9)),
        first_token_s=banded(float(times.first_at[line]), TTFT_MEDIAN),
        time_per_token_s=banded(float(times.token_at[line]), TPOT_MEDIAN),
        mean_first_token_s=float(times.first[line]),
        mean_time_per_token_s=float(times.token[line]),
        replica_requests_per_s=banded(float(times.rate[line]), THROUGHPUT),
        first_token_bound_s=first_token_bound(service, own),
        time_per_token_bound_s=time_per_token_bound(own),
        prefill_s=float(served.prefill_s[line]),
        busy_share=float(served.prefill_share[line]),
        power_w=float(np.asarray(served.power_w)[line]),
        memory=memory_of(service, own),
        step=ReplicaStep(
            **{name: float(getattr(served.step, name)[line]) for name in ReplicaStep.__slots__},
        ),
        shortfall=found.shortfall,
        confidence=found.confidence,
        probability=found.probability,
        best_probability=found.best_probability,
        level=fitting.levels[line],
        cached_share=float(times.cached[line]),
        host_share=float(times.host[line]),
    )
