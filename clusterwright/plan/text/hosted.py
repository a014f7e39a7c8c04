"""A service on own clusters beside managed endpoints and hosted models: the rows of a table, and what is said of it."""

from collections.abc import Sequence

from clusterwright.plan.serving.record import HostedOffer, ManagedOffer, ServingOption, ServingPlan, probability_text
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.serving import per_million_text, tokens_text
from clusterwright.plan.text.words import NAME_OF_TARGET, on_target, term_text

#: Hosted offers that are shown, the cheapest first; the plan's JSON has all.
_MOST_HOSTED = 10


def hosted_columns(money: MoneyFormat) -> tuple[str, ...]:
    """Return the titles of the columns of `hosted_rows`."""
    by_tokens = f"{money.code}/M"
    return (
        "Own or hosted",
        "",
        by_tokens,
        "in",
        "cached",
        "out",
        "a month",
        "own wins from",
        "goals or limits",
        "seen",
    )


def hosted_rows(plan: ServingPlan, money: MoneyFormat) -> list[tuple[str, ...]]:
    """Return own clusters, managed endpoints and hosted models, a row each; nothing where none was asked for.

    The columns are those of `hosted_columns`: who runs it and how, per million tokens of all kinds, of input, cached
    input and output, a month, tokens a day from which own replicas cost less, goals or limits, the price's last day.
    """
    if not plan.hosted:
        return []
    return [
        *(_own(option, money) for option in plan.options),
        *(_managed(offer, money) for offer in plan.managed),
        *(_hosted(offer, money) for offer in plan.hosted[:_MOST_HOSTED]),
    ]


def hosted_notes(plan: ServingPlan) -> tuple[str, ...]:
    """Return what the rows leave open, in sentences without their full stop."""
    if not plan.hosted:
        return ()
    first, more = plan.hosted[0], len(plan.hosted) - _MOST_HOSTED
    managed = _managed_text(plan.managed)
    return (
        *([managed] if managed else []),
        f"{first.model} hosted by others, {tokens_text(first.tokens_per_day)} tokens a day at the mean, in and out "
        f"together; own wins from: tokens a day from which replicas {on_target(first.own_target)} cost less. "
        "Hosted models are compared, not ranked: they need no stack, nothing is built for them, and their latency "
        "is not predicted" + (f"; {more} dearer ones are in the plan's JSON" if more > 0 else ""),
    )


def _own(option: ServingOption, money: MoneyFormat) -> tuple[str, ...]:
    met = (
        f"{probability_text(option.performance.probability)} probable"
        if option.performance.meets_goal
        else "misses the goals"
    )
    per_million = per_million_text(option.money.usd_per_million_tokens.blended, money)
    return (
        term_text(option.target),
        "own",
        per_million,
        "",
        "",
        "",
        money.text(option.money.run_cost_usd),
        "",
        met,
        "",
    )


def _managed(offer: ManagedOffer, money: MoneyFormat) -> tuple[str, ...]:
    name = f"{offer.service or NAME_OF_TARGET[offer.target]} endpoint"
    known = offer.usd_per_month is not None
    return (
        name,
        "managed",
        per_million_text(offer.blended_usd_per_million, money) if known else "unknown",
        "",
        "",
        "",
        money.text(offer.usd_per_month),
        "",
        "as planned, untried" if known else "no dated price",
        offer.price_last_seen if known else "",
    )


def _hosted(offer: HostedOffer, money: MoneyFormat) -> tuple[str, ...]:
    wins_from = offer.own_wins_from_tokens_per_day
    return (
        offer.provider,
        "hosted",
        per_million_text(offer.blended_usd_per_million, money),
        per_million_text(offer.input_usd_per_million, money),
        per_million_text(offer.cached_input_usd_per_million, money),
        per_million_text(offer.output_usd_per_million, money),
        money.text(offer.usd_per_month),
        "never" if wins_from is None else tokens_text(wins_from),
        ", ".join(identity for identity, _ in offer.broken) or "none known broken",
        offer.price_last_seen,
    )


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
