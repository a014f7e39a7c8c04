"""A service's replicas behind the managed endpoints of the clouds that the plan sized for: what a month costs.

The nodes are those of the plan, paid on demand: an endpoint runs the user's image on the same instances, so that
replicas and latencies carry over as far as the service sets the same options.
"""

import datetime as dt
from collections.abc import Sequence

from clusterwright.plan.serving.record import ManagedOffer, ServingOption
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.endpoints import endpoint_ratio
from clusterwright.tco.formulas.unit_cost import usd_per_million_tokens


def managed_offers(
    options: Sequence[ServingOption], book: PriceBook, as_of: dt.date, *, hours_per_month: float
) -> tuple[ManagedOffer, ...]:
    """Return a month of each rented option's nodes behind its cloud's managed endpoints, in the order of the options.

    `usd_per_month = nodes × hours × price of the bare instance on demand × ratio of the two prices when both were seen`

    Args:
        options: of the plan; those that are owned have no endpoint.
        book: has the prices of bare instances.
        as_of: day whose prices hold.
        hours_per_month: an endpoint is paid day and night.

    Returns:
        offers; one whose ratio or whose instance's price is not known has no dollars.
    """
    return tuple(_offer(option, book, as_of, hours_per_month) for option in options if option.target != "onprem")


def _offer(option: ServingOption, book: PriceBook, as_of: dt.date, hours_per_month: float) -> ManagedOffer:
    cluster = option.cluster
    ratio = endpoint_ratio(option.target, cluster.instance, book, as_of)
    bare = book.price(f"{option.target}/{cluster.instance}", region=option.deployment.region, as_of=as_of)
    hourly = None if ratio is None or bare is None else bare.point.usd * ratio.over_instance
    month = None if hourly is None else hourly * cluster.work_nodes * hours_per_month
    tokens = option.performance.input_tokens_per_month + option.performance.output_tokens_per_month
    blended = None if month is None else usd_per_million_tokens(usd=month, tokens=tokens)
    return ManagedOffer(
        target=option.target,
        service="" if ratio is None else ratio.service,
        instance=cluster.instance,
        nodes=cluster.work_nodes,
        usd_per_node_hour=hourly,
        over_instance=None if ratio is None else ratio.over_instance,
        usd_per_month=month,
        blended_usd_per_million=blended,
        seen_on=() if ratio is None else ratio.seen_on,
        price_first_seen="" if ratio is None else ratio.first_seen.isoformat(),
        price_last_seen="" if ratio is None else ratio.last_seen.isoformat(),
        sources=() if ratio is None else ratio.sources,
    )
