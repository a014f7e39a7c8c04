"""The pools of a planned service: how many of each are kept, and what the workers that prefill have each."""

import math
from dataclasses import replace

from clusterwright.plan.serving.record import ServingOption
from clusterwright.sizing.serving.sizes import PrefillPool


def fewest_replicas(option: ServingOption) -> int:
    """Return the replicas that are always kept, with the spare ones; one at least, which counts the requests."""
    return max(min(option.performance.day.least_replicas + option.performance.spare_replicas, most_replicas(option)), 1)


def most_replicas(option: ServingOption) -> int:
    """Return the replicas of the peak, or those that an autoscaler may have, with the spare ones."""
    return min(option.performance.replicas, option.performance.day.most_replicas) + option.performance.spare_replicas


def prefilling(option: ServingOption, own: PrefillPool) -> ServingOption:
    """Return a target as its workers that prefill have it: their layout, memory and counts, and the load of one.

    They follow the day in the proportion of the two pools. What is in one at the peak, waiting inputs too, is its rate
    times the mean first token without the handing over (Little's law).
    """
    performance = option.performance
    share = own.workers / performance.replicas
    day = replace(
        performance.day,
        least_replicas=math.ceil(performance.day.least_replicas * share - 1e-9),
        most_replicas=math.ceil(performance.day.most_replicas * share - 1e-9),
    )
    rate = performance.peak_requests_per_s / own.workers
    fitting = own.memory.cache_pool * own.layout.gpus / max(own.memory.cache_per_request, 1.0)
    return replace(
        option,
        performance=replace(
            performance,
            layout=own.layout,
            replica_memory=own.memory,
            replicas=own.workers,
            spare_replicas=own.spare,
            day=day,
            in_flight=rate * max(performance.mean_first_token_s - own.handing_s, 0.0),
            most_in_flight=max(int(fitting), 1),
            prefill_pool=None,
        ),
    )
