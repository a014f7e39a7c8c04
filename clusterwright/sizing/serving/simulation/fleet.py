"""A fleet behind a router, and pools that prefill and decode apart; `simulate` and `simulate_apart` run them."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.arrivals.requests import Requests
from clusterwright.sizing.serving.simulation.step_table import StepTable
from clusterwright.sizing.serving.simulation.worker import Journey, Worker


class Router(StrEnum):
    """How requests are spread: in turn, or to the worker with the fewest requests inside (the first of equals)."""

    ROUND_ROBIN = "round-robin"
    LEAST_LOADED = "least-loaded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What requests saw, in the order of their arrival.

    Attributes:
        arrival_s, admitted_s, first_s, finished_s: from the start of the run; `first_s` and `finished_s` as the engine
            gives them, without what a request spends beside it.
        first_token_s: time to first token; total_s: end to end; time_per_token_s: mean between its tokens, nan of
            requests with one.
        preempted: how often its memory was taken; worker: that served it.
    """

    arrival_s: Array
    admitted_s: Array
    first_s: Array
    finished_s: Array
    first_token_s: Array
    total_s: Array
    time_per_token_s: Array
    output_tokens: Array
    preempted: Array
    worker: Array

    @property
    def requests_per_s(self) -> float:
        """Requests over the time from the first arrival to the last token."""
        return len(self.arrival_s) / float(self.finished_s.max() - self.arrival_s[0])

    @property
    def tokens_per_s(self) -> float:
        """Output tokens over the same time."""
        return float(self.output_tokens.sum()) / float(self.finished_s.max() - self.arrival_s[0])

    def steady(self, share: float = 0.1) -> "Outcome":
        """Return the requests without the first and last ones, which an empty system serves at start and end."""
        count = len(self.arrival_s)
        kept = slice(int(count * share), count - int(count * share / 2))
        return Outcome(**{name: getattr(self, name)[kept] for name in self.__slots__})


def simulate(table: StepTable, requests: Requests, *, workers: int = 1, router: Router = Router.ROUND_ROBIN) -> Outcome:
    """Return what requests see of a fleet of alike workers.

    Args:
        table: step times of one worker.
        requests: in the order of their arrival.
        workers: of the fleet.
        router: that spreads the requests.

    Raises:
        InputError: a request does not fit into the memory of a worker.
    """
    journey = Journey(requests)
    chosen = _run(table, journey, workers=workers, router=router, prefilled=False)
    return _outcome(table, requests, journey, chosen)


def simulate_apart(
    prefill: StepTable,
    decode: StepTable,
    requests: Requests,
    *,
    prefill_workers: int,
    decode_workers: int,
    transfer_s_per_token: float,
    router: Router = Router.LEAST_LOADED,
) -> Outcome:
    """Return what requests see where one pool computes inputs and another one decodes.

    Keys and values of the input travel in between, cached ones too; the first token is reported once they are there.

    Args:
        prefill: step times of a worker that prefills.
        decode: step times of a worker that decodes.
        requests: in the order of their arrival.
        prefill_workers: of the first pool.
        decode_workers: of the second pool.
        transfer_s_per_token: of keys and values between them (`transfer_s`).
        router: of both pools.

    Raises:
        InputError: a request does not fit into the memory of a worker.
    """
    ones = np.ones(len(requests))
    first = Journey(replace(requests, output_tokens=ones))
    _run(prefill, first, workers=prefill_workers, router=router, prefilled=False)
    handed = np.array(first.finished_s) + transfer_s_per_token * requests.input_tokens
    order = np.argsort(handed, kind="stable")
    moved = Requests(
        arrival_s=handed[order],
        input_tokens=requests.input_tokens[order],
        output_tokens=requests.output_tokens[order],
        cached_tokens=0.0 * ones,
    )
    second = Journey(moved)
    chosen_moved = _run(decode, second, workers=decode_workers, router=router, prefilled=True)
    finished, chosen = np.empty(len(requests)), np.empty(len(requests))
    finished[order], chosen[order] = second.finished_s, chosen_moved
    preempted = np.empty(len(requests))
    preempted[order] = second.preempted
    both = Journey(requests)
    both.admitted_s, both.first_s = first.admitted_s, handed.tolist()
    both.finished_s = np.maximum(finished, handed).tolist()
    both.preempted = (preempted + np.array(first.preempted)).astype(int).tolist()
    return _outcome(decode, requests, both, chosen)


def transfer_s(*, cache_bytes: float, gpus: float, network_bytes_per_s: float) -> float:
    """Return the seconds in which keys and values go to another worker: `bytes / (gpus bytes/s)`.

    Each accelerator of the worker sends its part over its own link of the network, one direction.
    """
    return cache_bytes / (gpus * network_bytes_per_s)


def _run(table: StepTable, journey: Journey, *, workers: int, router: Router, prefilled: bool) -> Array:
    """Run the fleet and return the worker of each request."""
    fleet = [Worker(table, journey, prefilled=prefilled) for _ in range(workers)]
    count = len(journey.arrival_s)
    if router is Router.ROUND_ROBIN or workers == 1:
        chosen = [index % workers for index in range(count)]
        for index, at in enumerate(chosen):
            fleet[at].push(index)
    else:
        chosen = []
        for index, arrival in enumerate(journey.arrival_s):
            for worker in fleet:
                if worker.next_s < arrival:
                    worker.advance(arrival)
            at = min(range(workers), key=lambda one: fleet[one].inside)
            fleet[at].push(index)
            chosen.append(at)
    for worker in fleet:
        worker.advance(np.inf)
    return np.array(chosen, dtype=float)


def _outcome(table: StepTable, requests: Requests, journey: Journey, chosen: Array) -> Outcome:
    first, finished = np.array(journey.first_s), np.array(journey.finished_s)
    between = np.maximum(requests.output_tokens - 1.0, 1.0)
    per_token = np.where(requests.output_tokens > 1, (finished - first) / between, np.nan)
    return Outcome(
        arrival_s=requests.arrival_s,
        admitted_s=np.array(journey.admitted_s),
        first_s=first,
        finished_s=finished,
        first_token_s=first - requests.arrival_s + table.first_token_s,
        total_s=finished - requests.arrival_s + table.first_token_s,
        time_per_token_s=per_token,
        output_tokens=requests.output_tokens,
        preempted=np.array(journey.preempted),
        worker=chosen,
    )
