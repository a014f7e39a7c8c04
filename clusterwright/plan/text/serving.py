"""The numbers of a service as words, the same wherever they are shown: latencies, goals, replicas."""

from clusterwright.plan.serving.record import ServingOption, ServingPerformance, ServingPlan, probability_text
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET
from clusterwright.sizing.serving.sizes import Predicted, ReplicaLayout
from clusterwright.units import counted, latency_text, percent

#: Requests in flight below which none would be written.
_ROUNDS_TO_NONE = 0.5


def banded_text(figure: Predicted) -> str:
    """Return a latency with its band."""
    return f"{latency_text(figure.value)} ({latency_text(figure.low)} to {latency_text(figure.high)})"


def replica_text(layout: ReplicaLayout) -> str:
    """Return a replica's layout in the field's shorthand.

    >>> replica_text(ReplicaLayout(gpus=16, tensor=8, pipeline=2, expert=8, spread_attention=False))
    'TP 8 × PP 2, EP 8'
    """
    if layout.slice:
        return f"slice {layout.slice}, {layout.per_gpu} of one"
    parts = f"TP {layout.tensor}"
    if layout.spread_attention:
        parts = f"attention DP {layout.gpus}"
    if layout.pipeline > 1:
        parts += f" × PP {layout.pipeline}"
    return parts + (f", EP {layout.expert}" if layout.expert > 1 else "")


def goal_text(plan: ServingPlan) -> str:
    """Return what the service must meet, and how surely; empty without a goal."""
    goals = plan.goals
    parts = [
        *(["first token " + latency_text(goals.first_token_s)] if goals.first_token_s is not None else []),
        *(["per token " + latency_text(goals.time_per_token_s)] if goals.time_per_token_s is not None else []),
    ]
    if not parts:
        return ""
    return f"{', '.join(parts)} at P{goals.percentile:g}, {_confidence_text(plan)}"


def _confidence_text(plan: ServingPlan) -> str:
    """Return with which confidence targets are sized, by name where they differ."""
    sure = f"{percent(plan.goals.confidence)} confidence"
    unsure = [
        NAME_OF_TARGET[option.target]
        for option in plan.options
        if option.performance.meets_goal and option.performance.confidence < plan.goals.confidence
    ]
    if plan.goals.confidence_is_set or not unsure:
        return sure
    if len(unsure) == len(plan.options):
        return f"even odds: the prediction is too uncertain for {sure}"
    return f"{sure} (even odds: {', '.join(unsure)})"


def in_flight_text(performance: ServingPerformance) -> str:
    """Return the requests that each replica works on at the peak, and how many it has memory for."""
    held = performance.in_flight
    few = "under one request" if held < _ROUNDS_TO_NONE else counted(max(round(held), 1), "request")
    return f"{few} in flight on each at the peak, {performance.most_in_flight:,} fit"


def replicas_text(option: ServingOption) -> str:
    """Return the replicas of a cluster with accelerators and layout of each, and workers that prefill for them."""
    performance = option.performance
    name = option.cluster.accelerator_name
    spare = f" and {performance.spare_replicas} spare" if performance.spare_replicas else ""
    count = "1 replica" if performance.replicas == 1 else f"{performance.replicas:,} replicas"
    idle = f", {performance.idle_gpus} idle" if performance.idle_gpus else ""
    each = f"each {performance.layout.gpus} × {name} ({replica_text(performance.layout)})"
    if performance.layout.slice:
        each = f"each a part of {name} ({replica_text(performance.layout)})"
    before = performance.prefill_pool
    if before is not None:
        count = (
            "1 worker that decodes" if performance.replicas == 1 else f"{performance.replicas:,} workers that decode"
        )
        apart = f"{before.workers:,} that prefill" + (f" and {before.spare} spare" if before.spare else "")
        each += f"; {apart}, each {before.layout.gpus} × {name} ({replica_text(before.layout)})"
    return f"{count}{spare}, {each}{idle}"


def latencies_text(plan: ServingPlan, option: ServingOption) -> str:
    """Return the latencies at the percentile of the goals with their bands; of one pass, the time to its answer."""
    performance = option.performance
    at = f"P{plan.goals.percentile:g}"
    if not plan.workload.generates:
        return f"answer {at} {banded_text(performance.first_token_s)}"
    return (
        f"first token {at} {banded_text(performance.first_token_s)}, "
        f"per token {at} {banded_text(performance.time_per_token_s)}, "
        f"{performance.output_tokens_per_s_per_user:,.0f} tokens/s a user"
    )


def reuse_text(option: ServingOption) -> str:
    """Return how much of the inputs earlier turns have left in memory; empty where chats are not counted."""
    performance = option.performance
    host = f", {percent(performance.host_share)} in the memory of the hosts" if performance.host_share else ""
    return f"of the inputs {percent(performance.cached_share)} are found in the accelerators' memory{host}"


def made_text(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> str:
    """Return what is made at the peak, of an accelerator, a watt and a dollar, and what a million tokens costs."""
    performance = option.performance
    price = option.money.usd_per_million_tokens
    if not plan.workload.generates:
        text = f"{performance.peak_requests_per_s:,.4g} requests/s at the peak"
        return f"{text}; " + (
            "what a million tokens costs is unknown"
            if price.blended is None
            else f"{money.text(price.blended)} per million tokens of input at the mean traffic"
        )
    text = (
        f"{performance.output_tokens_per_s.value:,.0f} output tokens/s at the peak, "
        f"{performance.tokens_per_s_per_gpu:,.0f} of an accelerator, {performance.tokens_per_joule:.2g} of its watt"
    )
    rate = option.tokens_per_s_per_usd_per_hour
    if rate is not None:
        text += f", {rate / money.amount(1.0):,.3g} of 1 {money.code} an hour"
    if price.output is None or price.blended is None or price.output_at_capacity is None:
        return f"{text}; what a million costs is unknown"
    parts = ""
    if price.input_by_time is not None and price.output_by_time is not None:
        parts = (
            f"; by the time that each takes, {money.text(price.input_by_time)} per million of input and "
            f"{money.text(price.output_by_time)} of output"
        )
    return (
        f"{text}; {money.text(price.output)} per million output tokens at the mean traffic "
        f"({money.text(price.blended)} of input and output together), "
        f"{money.text(price.output_at_capacity)} were all replicas of the peak always full{parts}"
    )


def day_text(option: ServingOption, money: MoneyFormat) -> str:
    """Return what a day of today's traffic keeps and needs of replicas, and what an autoscaler would."""
    performance = option.performance
    day, cost = performance.day, option.money.replica_hours
    spare = f" and {performance.spare_replicas} spare" if performance.spare_replicas else ""
    kept, worked, following = (
        "" if usd is None else f" ({money.text(usd)} a month)"
        for usd in (cost.kept_usd, cost.worked_usd, cost.following_usd)
    )
    weights = performance.replica_memory.weights * performance.layout.gpus
    hours = "replica-hours" if performance.prefill_pool is None else "hours of workers that decode"
    replica_hours = (
        f"a day of today's traffic: {day.kept_hours:,.0f} {hours} kept{kept}, {day.worked_hours:,.0f} worked{worked}"
    )
    if day.least_replicas == day.most_replicas:
        return f"{replica_hours}; an autoscaler lets none go: the quietest hour needs as many replicas as the peak"
    return (
        f"{replica_hours}; an autoscaler from {day.least_replicas:,} to {day.most_replicas:,} replicas{spare} would "
        f"keep {day.following_hours:,.0f}{following}, {percent(day.late_share, digits=1)} of the requests come while "
        f"one starts: {weights / 1e9:,.0f} GB of weights in {day.start_lag_s:.3g} s, node and warm-up on top"
        + (f"; {percent(day.cold_share, digits=1)} find none" if day.cold_share else "")
    )


def certainty_text(plan: ServingPlan, option: ServingOption) -> str:
    """Return how probably a cluster meets the goals, or serves the peak where no latency is one."""
    performance = option.performance
    met = "the goals are met at the peak" if goal_text(plan) else "the peak is served (no goal of latency is given)"
    return performance.outlook or f"{probability_text(performance.probability)} probable that {met}"


def per_million_text(usd_per_million: float | None, money: MoneyFormat) -> str:
    """Return a price per million tokens; empty where there is none."""
    return "" if usd_per_million is None else f"{money.amount(usd_per_million):.3g}"


def tokens_text(tokens: float) -> str:
    """Return a number of tokens in words.

    >>> tokens_text(22_649_517_161), tokens_text(331_000), tokens_text(950)
    ('22.6 B', '331 k', '950')
    """
    for size, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g} {name}"
    return f"{tokens:,.0f}"
