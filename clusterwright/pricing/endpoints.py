"""Managed endpoints: what a cloud charges for an instance on which its service runs the user's model.

The table is `pricing/hosted/endpoints.csv`: dated prices per instance-hour, beside which the price book has those of
the bare instance. Few are published, so that the ratio of the two is what carries over to other days and instances.
"""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.hosted import hosted_rows, hosted_titles

#: The letters before the first digit of an instance's name: p of p5en.48xlarge, a of a3-highgpu-8g.
_FAMILY = re.compile(r"[A-Za-z_]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointPrice:
    """USD per hour of an instance behind a managed endpoint, as a source showed it between two days."""

    service: str
    cloud: str
    instance: str
    region: str
    usd_per_hour: float
    first_seen: dt.date
    last_seen: dt.date
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointRatio:
    """Price of an instance behind a managed endpoint over that of the bare instance, on demand, on the same day.

    Attributes:
        service: name of the managed service.
        over_instance: the median over `seen_on`.
        seen_on: instances whose two prices are known: the one asked about, or all of its family.
        first_seen, last_seen: the oldest and the newest day of those prices.
        sources: their titles.
    """

    service: str
    over_instance: float
    seen_on: tuple[str, ...]
    first_seen: dt.date
    last_seen: dt.date
    sources: tuple[str, ...]


def endpoint_ratio(cloud: str, instance: str, book: PriceBook, as_of: dt.date) -> EndpointRatio | None:
    """Return what a managed endpoint costs over the bare instance; None where no price of the family is known.

    Args:
        cloud: id of the provider.
        instance: its name there.
        book: has the prices of bare instances.
        as_of: prices that were first seen after it do not count.

    Raises:
        ClusterwrightError: a table is missing or broken.
    """
    known = [price for price in endpoint_prices() if price.cloud == cloud and price.first_seen <= as_of]
    same = [price for price in known if price.instance == instance]
    family = [price for price in known if _letters(price.instance) == _letters(instance)]
    return _ratio(same, book) or _ratio(family, book)


def _ratio(prices: Sequence[EndpointPrice], book: PriceBook) -> EndpointRatio | None:
    ratios: list[tuple[EndpointPrice, float]] = []
    for price in prices:
        bare = book.price(f"{price.cloud}/{price.instance}", region=price.region, as_of=price.last_seen)
        if bare is not None:
            ratios.append((price, price.usd_per_hour / bare.point.usd))
    if not ratios:
        return None
    titles = hosted_titles()
    return EndpointRatio(
        service=ratios[0][0].service,
        over_instance=median(ratio for _, ratio in ratios),
        seen_on=tuple(price.instance for price, _ in ratios),
        first_seen=min(price.first_seen for price, _ in ratios),
        last_seen=max(price.last_seen for price, _ in ratios),
        sources=tuple(dict.fromkeys(titles[price.source] for price, _ in ratios)),
    )


def _letters(instance: str) -> str:
    found = _FAMILY.match(instance)
    return found.group() if found else instance


@cache
def endpoint_prices() -> tuple[EndpointPrice, ...]:
    """Return every price of an instance behind a managed endpoint; errors as `endpoint_ratio`."""
    return tuple(
        EndpointPrice(
            **{name: row[name] for name in ("service", "cloud", "instance", "region", "source")},
            usd_per_hour=float(row["usd_per_hour"]),
            first_seen=dt.date.fromisoformat(row["first_seen"]),
            last_seen=dt.date.fromisoformat(row["last_seen"]),
        )
        for row in hosted_rows("endpoints")
    )
