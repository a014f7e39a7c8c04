"""A plan's replicas, request by request: `sizing.serving.simulation` at the peak that the plan is sized for."""

from dataclasses import dataclass, replace

import numpy as np

from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.serving.job import service_of, trace_of
from clusterwright.plan.serving.record import ServingOption, serving_plan
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.arrivals.requests import Requests, poisson, replayed
from clusterwright.sizing.serving.calibration import load_calibration
from clusterwright.sizing.serving.replica_times import Replica, replica_columns, request_mix, scaled_work
from clusterwright.sizing.serving.service import Service, Task
from clusterwright.sizing.serving.simulation.fleet import Router, simulate, simulate_apart
from clusterwright.sizing.serving.simulation.step_table import StepTable, tabulated
from clusterwright.sizing.serving.sizes import ReplicaLayout

SHARES = (0.5, 0.95, 0.99)
REQUESTS = 10_000
_SEED = 20261123
#: Requests are simulated for this many times as an answer takes on average, up to this many.
_LIFETIMES, _MOST_REQUESTS = 20.0, 100_000
#: That frameworks take at once where nothing is said, of each rank of attention.
_MOST_SEQUENCES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedOption:
    """What requests see of one target's replicas at the peak, without the spare ones.

    Attributes:
        target: of the option; replicas: behind a router that sends to the least loaded.
            prefill_workers: beside them, where prefill has its own.
        requests, requests_per_s: of Poisson arrivals, or those of the trace at the speed that makes this their mean.
        first_token_s, time_per_token_s, total_s: at each of `SHARES`.
        preempted: requests whose memory was taken at least once.
    """

    target: str
    replicas: int
    prefill_workers: int
    traced: bool
    requests: int
    requests_per_s: float
    first_token_s: tuple[float, ...]
    time_per_token_s: tuple[float, ...]
    total_s: tuple[float, ...]
    preempted: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Requested:
    """Requests to simulate: at least how many, and those of the trace, None without one."""

    least: int
    traced: Requests | None


def simulated(
    blueprint: Blueprint, facts: Facts, plan: Plan, *, requests: int = REQUESTS
) -> tuple[SimulatedOption, ...]:
    """Return what requests see on each target of a service's plan.

    Raises:
        InputError: the plan is of another kind of workload, one pass over the input answers, batches start together, or
            a request does not fit into a replica.
    """
    service_plan = serving_plan(plan)
    resolved = resolve(blueprint, facts.catalogue)
    if not isinstance(resolved, Resolved):
        raise InputError("the blueprint names what the catalogue lacks", help="clusterwright validate says what")
    service = service_of(blueprint, resolved)
    if service.task is not Task.GENERATE:
        raise InputError(
            "requests are simulated token by token; here one pass over the input answers", help="leave out --simulate"
        )
    if service.gathered:
        raise InputError(
            "requests are simulated one by one in continuous batches; here batches start together",
            help="leave out --simulate, or set workload.options.batching: continuous",
        )
    asked = _Requested(least=requests, traced=trace_of(blueprint))
    found = []
    for option in service_plan.options:
        for entry in resolved.targets:
            hardware = (entry.instance or entry.system or entry.node).id
            if entry.target == option.target and option.cluster.instance in (hardware, entry.node.id):
                found.append(_option(service, option, entry.node, asked))
                break
    return tuple(found)


def _option(service: Service, option: ServingOption, node: NodeType, requests: _Requested) -> SimulatedOption:
    performance = option.performance
    # Of what earlier turns had, memory still holds a part.
    if service.sessions is not None:
        service = replace(service, prefix_share=performance.cached_share + performance.host_share)
    mix, rate = request_mix(service), performance.peak_requests_per_s
    # Long enough for the last to meet a fleet as full as it gets.
    lasting = performance.mean_first_token_s + service.outputs.mean * performance.mean_time_per_token_s
    count = int(min(max(requests.least, _LIFETIMES * lasting * rate), _MOST_REQUESTS))
    if requests.traced is None:
        arrivals = poisson(mix, count=count, requests_per_s=rate, seed=_SEED)
    else:
        arrivals = replayed(requests.traced, count=count, requests_per_s=rate)
    longest = int((arrivals.input_tokens + arrivals.output_tokens).max()) + 2
    pool = performance.prefill_pool
    own, table = _worker(
        service,
        node,
        performance.layout,
        longest=longest,
        in_flight=performance.in_flight,
        apart=bool(pool),
    )
    if pool is None:
        seen = simulate(table, arrivals, workers=performance.replicas, router=Router.LEAST_LOADED)
        first_of = own
    else:
        first_of, before = _worker(service, node, pool.layout, longest=longest, in_flight=1.0, apart=True)
        seen = simulate_apart(
            before,
            table,
            arrivals,
            prefill_workers=pool.workers,
            decode_workers=performance.replicas,
            transfer_s_per_token=pool.handing_s / service.inputs.mean,
        )
    seen = seen.steady()
    first = seen.first_token_s * first_of.first_scale / first_of.token_scale
    return SimulatedOption(
        target=option.target,
        replicas=performance.replicas,
        prefill_workers=pool.workers if pool else 0,
        traced=requests.traced is not None,
        requests=len(seen.arrival_s),
        requests_per_s=rate,
        first_token_s=_at(first),
        time_per_token_s=_at(seen.time_per_token_s),
        total_s=_at(first + seen.finished_s - seen.first_s),
        preempted=int((seen.preempted > 0).sum()),
    )


def _worker(
    service: Service, node: NodeType, layout: ReplicaLayout, *, longest: int, in_flight: float, apart: bool
) -> tuple[Replica, StepTable]:
    """Return a worker and the times of its steps."""
    own = replica_columns(service, node, layout, load_calibration(), in_flight=in_flight, apart=apart)
    table = tabulated(
        own.model,
        own.device,
        own.place,
        # What measurements say beyond the formulas is of the steps and of the prefills between them.
        scaled_work(own.factors, own.token_scale),
        longest_tokens=longest,
        chunk_tokens=int(service.running.chunk_tokens),
        most_sequences=int(min(service.most_sequences, _MOST_SEQUENCES * own.place.gpus / own.place.attention_tp)),
    )
    return own, table


def _at(values: Array) -> tuple[float, ...]:
    return tuple(float(one) for one in np.nanquantile(values, SHARES))
