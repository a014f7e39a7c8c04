"""A plan's replicas, request by request: `sizing.serving.simulation` at the peak that the plan is sized for."""

from dataclasses import dataclass

import numpy as np

from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.serving.job import service_of
from clusterwright.plan.serving.record import ServingOption, serving_plan
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.calibration import load_calibration
from clusterwright.sizing.serving.requests import poisson
from clusterwright.sizing.serving.search import replica_columns, request_mix, scaled_work
from clusterwright.sizing.serving.service import Service
from clusterwright.sizing.serving.simulation.fleet import Router, simulate
from clusterwright.sizing.serving.step_table import tabulated

SHARES = (0.5, 0.95, 0.99)
REQUESTS = 10_000
_SEED = 20261123
#: Requests are simulated for this many times as an answer takes on average, up to this many.
_LIFETIMES, _MOST_REQUESTS = 20.0, 100_000
#: That frameworks take at once where nothing is said.
_MOST_SEQUENCES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedOption:
    """What requests see of one target's replicas at the peak, without the spare ones.

    Attributes:
        target: of the option; replicas: behind a router that sends to the least loaded.
        requests, requests_per_s: Poisson arrivals.
        first_token_s, time_per_token_s, total_s: at each of `SHARES`.
        preempted: requests whose memory was taken at least once.
    """

    target: str
    replicas: int
    requests: int
    requests_per_s: float
    first_token_s: tuple[float, ...]
    time_per_token_s: tuple[float, ...]
    total_s: tuple[float, ...]
    preempted: int


def simulated(
    blueprint: Blueprint, facts: Facts, plan: Plan, *, requests: int = REQUESTS
) -> tuple[SimulatedOption, ...]:
    """Return what requests see on each target of a service's plan.

    Raises:
        InputError: the plan is of another kind of workload, or a request does not fit into a replica.
    """
    service_plan = serving_plan(plan)
    resolved = resolve(blueprint, facts.catalogue)
    if not isinstance(resolved, Resolved):
        raise InputError("the blueprint names what the catalogue lacks", help="clusterwright validate says what")
    service = service_of(blueprint, resolved)
    found = []
    for option in service_plan.options:
        for entry in resolved.targets:
            hardware = (entry.instance or entry.system or entry.node).id
            if entry.target == option.target and option.instance in (hardware, entry.node.id):
                found.append(_option(service, option, entry.node, requests))
                break
    return tuple(found)


def _option(service: Service, option: ServingOption, node: NodeType, requests: int) -> SimulatedOption:
    own = replica_columns(service, node, option.layout, load_calibration(), in_flight=option.in_flight)
    mix = request_mix(service)
    table = tabulated(
        own.model,
        own.device,
        own.place,
        # What measurements say beyond the formulas is of the steps and of the prefills between them.
        scaled_work(own.factors, own.token_scale),
        longest_tokens=int(mix.inputs.longest + mix.outputs.longest) + 2,
        most_sequences=int(min(service.most_sequences, _MOST_SEQUENCES)),
    )
    # Long enough for the last to meet a fleet as full as it gets.
    lasting = option.mean_first_token_s + service.outputs.mean * option.mean_time_per_token_s
    count = int(min(max(requests, _LIFETIMES * lasting * option.peak_requests_per_s), _MOST_REQUESTS))
    arrivals = poisson(mix, count=count, requests_per_s=option.peak_requests_per_s, seed=_SEED)
    seen = simulate(table, arrivals, workers=option.replicas, router=Router.LEAST_LOADED).steady()
    first = seen.first_token_s * own.first_scale / own.token_scale
    return SimulatedOption(
        target=option.target,
        replicas=option.replicas,
        requests=len(seen.arrival_s),
        requests_per_s=option.peak_requests_per_s,
        first_token_s=_at(first),
        time_per_token_s=_at(seen.time_per_token_s),
        total_s=_at(first + seen.finished_s - seen.first_s),
        preempted=int((seen.preempted > 0).sum()),
    )


def _at(values: Array) -> tuple[float, ...]:
    return tuple(float(one) for one in np.nanquantile(values, SHARES))
