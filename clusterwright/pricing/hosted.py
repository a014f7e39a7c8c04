"""Models that others host: what a million tokens cost on a day, and which requests their limits let through.

Tables are `pricing/hosted/prices.csv` (price points with first and last day seen, a series for each provider, model,
kind of token and term), `limits.csv` and `sources.csv`. Limits of rates are of accounts: few are published, and those
of an own account win.
"""

import csv
import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import ClusterwrightError

#: Tokens that are priced, and terms: batches are answered within a day, most often.
INPUT, OUTPUT, CACHED_INPUT = "input", "output", "cached input"
ON_DEMAND, BATCH = "on_demand", "batch"
CONTEXT, MOST_INPUT, MOST_OUTPUT = "context", "input", "output"
REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE = "requests per minute", "tokens per minute"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPrice:
    """USD per million tokens of a kind, from the day on which a source first showed it.

    Attributes:
        product: the provider's name of the model; model: id of the catalogue, or the maker's name where its dimensions
            are not public; what: `INPUT`, `OUTPUT` or `CACHED_INPUT`; term: `ON_DEMAND` or `BATCH`.
    """

    provider: str
    product: str
    model: str
    what: str
    term: str
    usd_per_million: float
    first_seen: dt.date
    last_seen: dt.date
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedModel:
    """A model at a provider on a day: prices in USD per million tokens and limits, None where they are not known.

    Attributes:
        input_usd … batch_output_usd: in force on the day; first_seen: the newest of the days from which they were, of
            input and output; last_seen: the oldest day on which a source still showed one of the two.
        sources: their titles.
        context_tokens: of input and output together; input_tokens, output_tokens: the most of a request.
        requests_per_minute, tokens_per_minute: of an account.
    """

    provider: str
    product: str
    model: str
    input_usd: float
    output_usd: float
    cached_input_usd: float | None
    batch_input_usd: float | None
    batch_output_usd: float | None
    first_seen: dt.date
    last_seen: dt.date
    sources: tuple[str, ...]
    context_tokens: float | None
    input_tokens: float | None
    output_tokens: float | None
    requests_per_minute: float | None
    tokens_per_minute: float | None


def hosted_models(model: str, as_of: dt.date, providers: Collection[str] | None = None) -> tuple[HostedModel, ...]:
    """Return who hosts a model on a day, in the order of the providers' names.

    Args:
        model: as in `TokenPrice`.
        as_of: prices first seen after it do not count.
        providers: names, in any case of letters; None for all.

    Raises:
        ClusterwrightError: a table is missing or broken.
    """
    wanted = None if providers is None else {name.lower() for name in providers}
    series: dict[tuple[str, str], dict[tuple[str, str], TokenPrice]] = {}
    for price in token_prices():
        if price.model == model and price.first_seen <= as_of and (wanted is None or price.provider.lower() in wanted):
            known = series.setdefault((price.provider, price.product), {})
            before = known.get((price.what, price.term))
            if before is None or (before.first_seen, before.last_seen) <= (price.first_seen, price.last_seen):
                known[price.what, price.term] = price
    return tuple(
        _hosted(prices, provider=provider, product=product, model=model)
        for (provider, product), prices in sorted(series.items())
        if (INPUT, ON_DEMAND) in prices and (OUTPUT, ON_DEMAND) in prices
    )


def _hosted(prices: dict[tuple[str, str], TokenPrice], *, provider: str, product: str, model: str) -> HostedModel:
    main = (prices[INPUT, ON_DEMAND], prices[OUTPUT, ON_DEMAND])
    limits = _limits().get((provider, product), {})
    titles = hosted_titles()

    def usd(what: str, term: str) -> float | None:
        found = prices.get((what, term))
        return None if found is None else found.usd_per_million

    return HostedModel(
        provider=provider,
        product=product,
        model=model,
        input_usd=main[0].usd_per_million,
        output_usd=main[1].usd_per_million,
        cached_input_usd=usd(CACHED_INPUT, ON_DEMAND),
        batch_input_usd=usd(INPUT, BATCH),
        batch_output_usd=usd(OUTPUT, BATCH),
        first_seen=max(price.first_seen for price in main),
        last_seen=min(price.last_seen for price in main),
        sources=tuple(dict.fromkeys(titles[price.source] for price in main)),
        context_tokens=limits.get(CONTEXT),
        input_tokens=limits.get(MOST_INPUT),
        output_tokens=limits.get(MOST_OUTPUT),
        requests_per_minute=limits.get(REQUESTS_PER_MINUTE),
        tokens_per_minute=limits.get(TOKENS_PER_MINUTE),
    )


def hosted_names() -> tuple[str, ...]:
    """Return the models that somebody hosts, as `TokenPrice.model`."""
    return tuple(dict.fromkeys(price.model for price in token_prices()))


def hosting_providers() -> tuple[str, ...]:
    """Return the names of providers."""
    return tuple(sorted({price.provider for price in token_prices()}))


@cache
def token_prices() -> tuple[TokenPrice, ...]:
    """Return every price point; errors as `hosted_models`."""
    return tuple(
        TokenPrice(
            **{name: row[name] for name in ("provider", "product", "model", "what", "term", "source")},
            usd_per_million=float(row["usd_per_million"]),
            first_seen=dt.date.fromisoformat(row["first_seen"]),
            last_seen=dt.date.fromisoformat(row["last_seen"]),
        )
        for row in hosted_rows("prices")
    )


@cache
def _limits() -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in hosted_rows("limits"):
        found.setdefault((row["provider"], row["product"]), {})[row["what"]] = float(row["value"])
    return found


@cache
def hosted_titles() -> dict[str, str]:
    """Return the titles of the sources of `pricing/hosted`, by their ids."""
    return {row["id"]: row["title"] for row in hosted_rows("sources")}


def hosted_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of `pricing/hosted`.

    Raises:
        ClusterwrightError: it is missing or cannot be read.
    """
    path: Path = assets.root() / "pricing" / "hosted" / f"{name}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except (OSError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
