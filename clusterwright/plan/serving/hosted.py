"""A service's traffic on models that others host: what a month costs, what their limits break, and when owning wins.

A hosted model is no cluster: it is compared, not ranked, and needs no stack. Its speed is not known here.
"""

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clusterwright.blueprint.workloads.serving import ApiTarget
from clusterwright.catalog.records import Model
from clusterwright.errors import Finding, InputError
from clusterwright.plan.serving.record import HostedOffer, ServingOption
from clusterwright.pricing.hosted import HostedModel, hosted_models, hosted_names, hosting_providers
from clusterwright.sizing.serving.service import Service
from clusterwright.sizing.serving.sizes import nodes_of_all
from clusterwright.units import SECONDS_PER_DAY, percent

_MILLION, _MINUTE_S = 1e6, 60.0
#: Requests of this share are looked at where a limit is of single ones.
_LONG = 0.99
#: Replicas up to which a point at which owning wins is sought.
_MOST_REPLICAS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class _Traffic:
    """Of a month at the mean traffic, and of its busiest minute: tokens and requests."""

    inputs: float
    cached: float
    outputs: float
    requests_per_minute: float
    tokens_per_minute: float
    in_flight: float


def hosted_offers(
    asked: ApiTarget, model: Model, service: Service, options: Sequence[ServingOption], as_of: dt.date
) -> tuple[HostedOffer, ...]:
    """Return the traffic of a service on every provider that hosts the model, the cheapest month first.

    Args:
        asked: of the blueprint.
        model: of the workload.
        service: at the peak that is sized for.
        options: of the plan; tokens are those of the cheapest that meets the goals, owning is compared with it.
        as_of: day whose prices hold.

    Raises:
        InputError: nobody is known who hosts the model, or no provider is called so; with its place.
    """
    own = _own(options)
    name = asked.model or model.id
    wanted = {provider.lower() for provider in asked.providers or ()}
    unknown = sorted(wanted - {provider.lower() for provider in hosting_providers()})
    if unknown:
        raise InputError(
            f"no prices of {', '.join(unknown)} are known",
            help=f"providers are {', '.join(hosting_providers())}",
            path=("targets", "api", "providers"),
        )
    found = hosted_models(name, as_of, asked.providers)
    if not found:
        raise InputError(
            f"nobody is known who hosts {name}" + (" among them" if asked.providers else "") + f" on {as_of}",
            help=f"targets.api.model names another; known are {', '.join(hosted_names())}",
            path=("targets", "api", "providers" if asked.providers else "model"),
        )
    traffic = _traffic(service, own)
    offers = [_offer(asked, one, service, own, traffic) for one in found]
    return tuple(sorted(offers, key=lambda offer: (offer.usd_per_month, offer.provider)))


def _own(options: Sequence[ServingOption]) -> ServingOption:
    """Return the option that costs least of those that meet the goals; of all where none does."""
    meeting = [option for option in options if option.performance.meets_goal] or list(options)
    return min(meeting, key=lambda option: math.inf if option.money.run_cost_usd is None else option.money.run_cost_usd)


def _traffic(service: Service, own: ServingOption) -> _Traffic:
    performance = own.performance
    minute = performance.peak_requests_per_s * _MINUTE_S
    answer = performance.mean_first_token_s + service.outputs.mean * performance.mean_time_per_token_s
    return _Traffic(
        inputs=performance.input_tokens_per_month * (1.0 - service.prefix_share),
        cached=performance.input_tokens_per_month * service.prefix_share,
        outputs=performance.output_tokens_per_month,
        requests_per_minute=minute,
        tokens_per_minute=minute * (service.inputs.mean + service.outputs.mean),
        in_flight=performance.peak_requests_per_s * answer,
    )


def _offer(
    asked: ApiTarget, hosted: HostedModel, service: Service, own: ServingOption, traffic: _Traffic
) -> HostedOffer:
    cached = hosted.input_usd if hosted.cached_input_usd is None else hosted.cached_input_usd
    now = (traffic.inputs * hosted.input_usd + traffic.cached * cached + traffic.outputs * hosted.output_usd) / _MILLION
    batch_known = hosted.batch_input_usd is not None and hosted.batch_output_usd is not None
    later = (
        ((traffic.inputs + traffic.cached) * (hosted.batch_input_usd or 0.0))
        + traffic.outputs * (hosted.batch_output_usd or 0.0)
    ) / _MILLION
    share = asked.batch_share if batch_known else 0.0
    usd = now * (1.0 - share) + later * share
    tokens = traffic.inputs + traffic.cached + traffic.outputs
    blended = usd / tokens * _MILLION
    limited = replace(
        hosted,
        requests_per_minute=asked.requests_per_minute or hosted.requests_per_minute,
        tokens_per_minute=asked.tokens_per_minute or hosted.tokens_per_minute,
    )
    return HostedOffer(
        provider=hosted.provider,
        product=hosted.product,
        model=hosted.model,
        input_usd_per_million=hosted.input_usd,
        output_usd_per_million=hosted.output_usd,
        cached_input_usd_per_million=hosted.cached_input_usd,
        batch_input_usd_per_million=hosted.batch_input_usd,
        batch_output_usd_per_million=hosted.batch_output_usd,
        blended_usd_per_million=blended,
        usd_per_month=usd,
        tokens_per_day=tokens / own.performance.calendar_days,
        own_target=own.target,
        own_usd_per_month=own.money.run_cost_usd,
        own_wins_from_tokens_per_day=_own_wins_from(service, own, blended),
        context_tokens=hosted.context_tokens,
        most_input_tokens=hosted.input_tokens,
        most_output_tokens=hosted.output_tokens,
        requests_per_minute=limited.requests_per_minute,
        tokens_per_minute=limited.tokens_per_minute,
        price_first_seen=hosted.first_seen.isoformat(),
        price_last_seen=hosted.last_seen.isoformat(),
        sources=hosted.sources,
        broken=tuple(_broken(limited, service, traffic, asked.concurrent_requests)),
    )


def _own_wins_from(service: Service, own: ServingOption, usd_per_million: float) -> float | None:
    """Return the tokens of a day from which replicas on an option's hardware cost less; None where they never do.

    n replicas carry this many tokens at the peak that the goals leave them; with the spare ones they take whole nodes,
    each at what a node of the option costs. The first n wins whose nodes cost less than the tokens that they can carry.
    """
    performance, cluster = own.performance, own.cluster
    if own.money.run_cost_usd is None:
        return None
    usd_per_node_day = own.money.run_cost_usd / cluster.nodes / performance.calendar_days
    tokens = service.inputs.mean + service.outputs.mean
    over_mean = performance.peak_requests_per_s / performance.mean_requests_per_s
    each = performance.capacity_requests_per_s * tokens * SECONDS_PER_DAY / over_mean
    replicas = 1
    while replicas <= _MOST_REPLICAS:
        nodes = _nodes(service, own, replicas)
        # As many as the same nodes hold: between these counts nodes cost the same and carry less.
        while _nodes(service, own, replicas + 1) == nodes:
            replicas += 1
        needed = nodes * usd_per_node_day / usd_per_million * _MILLION
        if needed <= replicas * each:
            return needed
        replicas = max(replicas + 1, int(replicas * 1.1))
    return None


def _nodes(service: Service, own: ServingOption, replicas: int) -> int:
    """Return the nodes of replicas like an option's, with the spare ones and as many prefill workers as they need."""
    pools = [(own.performance.layout, replicas + service.spare(replicas))]
    if own.performance.prefill_pool is not None:
        workers = math.ceil(replicas * own.performance.prefill_pool.workers / own.performance.replicas)
        pools.append((own.performance.prefill_pool.layout, workers + own.performance.prefill_pool.spare))
    return nodes_of_all(pools, own.cluster.gpus_per_node)


def _broken(
    hosted: HostedModel, service: Service, traffic: _Traffic, concurrent: float | None
) -> Iterator[tuple[str, str]]:
    """Yield id and text of each limit that the traffic breaks."""
    inputs, outputs = service.inputs.quantile(_LONG), service.outputs.quantile(_LONG)
    one = f"{percent(1.0 - _LONG)} of the requests"
    if hosted.context_tokens is not None and inputs + outputs > hosted.context_tokens:
        yield (
            "API001",
            (
                f"{one} have more than {inputs + outputs:,.0f} tokens with their answers; the context is "
                f"{hosted.context_tokens:,.0f}"
            ),
        )
    if hosted.input_tokens is not None and inputs > hosted.input_tokens:
        yield "API002", f"{one} are longer than {inputs:,.0f} tokens; {hosted.input_tokens:,.0f} are taken"
    if hosted.output_tokens is not None and outputs > hosted.output_tokens:
        cut = service.outputs.share_above(hosted.output_tokens)
        yield (
            "API003",
            (
                f"{percent(cut, digits=1)} of the answers are cut at {hosted.output_tokens:,.0f} tokens, the most "
                "that are given"
            ),
        )
    for identity, limit, needed, what in (
        ("API004", hosted.requests_per_minute, traffic.requests_per_minute, "requests a minute"),
        ("API005", hosted.tokens_per_minute, traffic.tokens_per_minute, "tokens a minute"),
        ("API006", concurrent, traffic.in_flight, "requests in flight"),
    ):
        if limit is not None and needed > limit:
            yield identity, f"the peak has {needed:,.0f} {what}; {limit:,.0f} are allowed"


def broken_limits(offers: Sequence[HostedOffer]) -> list[Finding]:
    """Return a warning for each limit that the traffic breaks, with the providers that have it."""
    found: dict[str, list[tuple[HostedOffer, str]]] = {}
    for offer in offers:
        for identity, text in offer.broken:
            found.setdefault(identity, []).append((offer, text))
    return [
        Finding(
            id=identity,
            path=("targets", "api"),
            message="; ".join(f"{offer.provider}: {text}" for offer, text in several),
            help=_ADVICE[identity],
        )
        for identity, several in sorted(found.items())
    ]


_ADVICE = {
    "API001": "leave those providers out, or shorten what is sent",
    "API002": "leave those providers out, or shorten what is sent",
    "API003": "leave those providers out, or ask again where an answer was cut",
    "API004": "ask for a higher limit, spread the traffic over providers, or leave them out",
    "API005": "ask for a higher limit, spread the traffic over providers, or leave them out",
    "API006": "ask for a higher limit, spread the traffic over providers, or leave them out",
}
