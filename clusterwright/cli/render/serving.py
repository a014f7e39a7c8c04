"""What a service's plan says for a terminal beside what every plan says: goals, replicas, latencies, tokens, memory."""

from collections.abc import Sequence

from clusterwright.cli.render.text_table import Column, prose, table
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import (
    ManagedOffer,
    ServingOption,
    ServingPlan,
    probability_text,
    serving_option,
    serving_plan,
)
from clusterwright.plan.serving.simulated import SHARES, SimulatedOption
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.serving import (
    banded_text,
    certainty_text,
    day_text,
    per_million_text,
    replicas_text,
    time_text,
    tokens_text,
)
from clusterwright.plan.text.words import NAME_OF_TARGET, on_target, term_text

_BAR = 24
_BLOCKS = "█▓▒·"
#: Hosted offers that a terminal shows.
_MOST_HOSTED = 10


def service_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return replicas, latencies and costs of tokens: of the answer in full, of the plan's other options in brief."""
    plan = serving_plan(plan)
    answer = plan.planned(plan.recommended_key)
    shown = plan.options[0] if answer is None else serving_option(answer)
    name = term_text(plan.recommended_key) if answer is not None else NAME_OF_TARGET[shown.target]
    return (
        (
            f"{name}: {replicas_text(shown)}, {shown.in_flight:,.0f} requests in flight on each at the peak, "
            f"{shown.most_in_flight:,} fit"
        ),
        _latencies(plan, shown),
        certainty_text(shown),
        _tokens(shown, money),
        day_text(shown, money),
        shown.level_text,
        *(
            f"{NAME_OF_TARGET[option.target]}: {replicas_text(option)}; {_latencies(plan, option)}; "
            f"{certainty_text(option)}"
            for option in plan.options
            if option is not shown
        ),
    )


def hosted_lines(asked: Plan, money: MoneyFormat) -> list[str]:
    """Return own clusters, managed endpoints and hosted models in one table, with what it leaves open below it."""
    plan = serving_plan(asked)
    if not plan.hosted:
        return []
    rows = [
        [
            term_text(option.target),
            "own",
            per_million_text(option.usd_per_million_tokens.blended, money),
            *[""] * 3,
            money.text(option.run_cost_usd),
            "",
            f"{probability_text(option.probability)} probable" if option.meets_goal else "misses the goals",
            "",
        ]
        for option in plan.options
    ]
    rows += [_managed_row(offer, money) for offer in plan.managed]
    rows += [
        [
            offer.provider,
            "hosted",
            per_million_text(offer.blended_usd_per_million, money),
            per_million_text(offer.input_usd_per_million, money),
            per_million_text(offer.cached_input_usd_per_million, money),
            per_million_text(offer.output_usd_per_million, money),
            money.text(offer.usd_per_month),
            "never" if offer.own_wins_from_tokens_per_day is None else tokens_text(offer.own_wins_from_tokens_per_day),
            ", ".join(identity for identity, _ in offer.broken) or "none known broken",
            offer.price_last_seen,
        ]
        for offer in plan.hosted[:_MOST_HOSTED]
    ]
    code = money.code
    first = plan.hosted[0]
    shown = table(
        [
            Column("Own or hosted", "left"),
            Column("", "left", drop=0.5),
            Column(f"{code}/M", drop=0),
            Column("in", drop=3),
            Column("cached", drop=5),
            Column("out", drop=3),
            Column("a month", drop=0),
            Column("own wins from", drop=0.3),
            Column("goals or limits", "left", drop=0.4),
            Column("seen", drop=6),
        ],
        rows,
    )
    more = len(plan.hosted) - _MOST_HOSTED
    return [
        shown,
        *prose(_managed_text(plan.managed), indent=2),
        *prose(
            f"{first.model} hosted by others, {tokens_text(first.tokens_per_day)} tokens a day at the mean, in and out "
            f"together; own wins from: tokens a day from which replicas {on_target(first.own_target)} cost less. "
            "Hosted models are compared, not ranked: they need no stack, nothing is built for them, and their latency "
            "is not predicted" + (f"; {more} dearer ones are in the plan's JSON" if more > 0 else ""),
            indent=2,
        ),
        "",
    ]


def _managed_row(offer: ManagedOffer, money: MoneyFormat) -> list[str]:
    name = offer.service or NAME_OF_TARGET[offer.target]
    if offer.usd_per_month is None:
        return [f"{name} endpoint", "managed", "unknown", *[""] * 3, "unknown", "", "no dated price", ""]
    return [
        f"{name} endpoint",
        "managed",
        per_million_text(offer.blended_usd_per_million, money),
        *[""] * 3,
        money.text(offer.usd_per_month),
        "",
        "as planned, untried",
        offer.price_last_seen,
    ]


def _managed_text(offers: Sequence[ManagedOffer]) -> str:
    """Return how the months behind managed endpoints are estimated; empty where none is."""
    known = [offer for offer in offers if offer.over_instance is not None]
    if not known:
        return ""
    each = "; ".join(
        f"of {offer.service} {offer.over_instance:.2f} × the price of {offer.instance} on demand, the ratio "
        + ("seen on it" if offer.seen_on == (offer.instance,) else f"seen on {', '.join(offer.seen_on)}")
        + f" (last on {offer.price_last_seen})"
        for offer in known
    )
    return (
        f"Managed endpoints run your image on the plan's nodes, day and night; their months are estimated: {each}. "
        "Storage and traffic are not in them"
    )


def simulated_lines(options: Sequence[SimulatedOption]) -> tuple[str, ...]:
    """Return what a simulation of each option's replicas saw, in a line each."""
    at = " / ".join(f"P{share * 100:g}" for share in SHARES)

    def times(values: Sequence[float]) -> str:
        return " / ".join(time_text(value) for value in values)

    return tuple(
        f"{NAME_OF_TARGET[option.target]}, simulated at the peak, each request to the replica with the least in flight "
        f"({option.requests:,} requests at "
        f"{option.requests_per_s:,.4g}/s on {option.replicas:,} replicas, {at}): "
        f"first token {times(option.first_token_s)}, per token {times(option.time_per_token_s)}, "
        f"whole answer {times(option.total_s)}"
        + (f"; {option.preempted:,} lost their memory and began again" if option.preempted else "")
        for option in options
    )


def _latencies(plan: ServingPlan, option: ServingOption) -> str:
    at = f"P{plan.goals.percentile:g}"
    return (
        f"first token {at} {banded_text(option.first_token_s)}, per token {at} {banded_text(option.time_per_token_s)}, "
        f"{option.output_tokens_per_s_per_user:,.0f} tokens/s a user"
    )


def _tokens(option: ServingOption, money: MoneyFormat) -> str:
    price = option.usd_per_million_tokens
    made = option.output_tokens_per_s
    text = f"{made.value:,.0f} output tokens/s at the peak"
    if price.output is None or price.blended is None or price.output_at_capacity is None:
        return f"{text}; what a million costs is unknown"
    return (
        f"{text}; {money.text(price.output)} per million output tokens at the mean traffic "
        f"({money.text(price.blended)} of input and output together), "
        f"{money.text(price.output_at_capacity)} were all replicas of the peak always full"
    )


def service_details(option: Option) -> Sequence[tuple[str, Sequence[str]]]:
    """Return memory and limits of a cluster that serves, each with its title."""
    shown = serving_option(option)
    return (("Memory", memory_bar(shown)), ("Limited by", limit_lines(shown)))


def memory_bar(option: ServingOption) -> tuple[str, str]:
    """Return one accelerator's memory as a bar, with its parts in GB."""
    memory = option.replica_memory
    parts = (
        ("weights", memory.weights),
        ("keys and values", memory.cache_pool),
        ("reserve", memory.reserved),
        ("left to others", memory.unused),
    )
    total = sum(size for _, size in parts)
    bar = "".join(block * round(_BAR * size / total) for (_, size), block in zip(parts, _BLOCKS, strict=True))
    listed = " · ".join(f"{block} {name} {size / 1e9:.1f}" for (name, size), block in zip(parts, _BLOCKS, strict=True))
    return (f"{total / 1e9:.1f} GB per accelerator  [{bar[:_BAR].ljust(_BAR)}]", listed)


def limit_lines(option: ServingOption) -> tuple[str, str]:
    """Return what the time per token goes to, and how far it is from its bound."""
    return (
        ", then ".join(option.limited_by),
        (
            f"per token {time_text(option.mean_time_per_token_s)} on average; reading the weights alone takes "
            f"{time_text(option.time_per_token_bound_s)}"
        ),
    )
