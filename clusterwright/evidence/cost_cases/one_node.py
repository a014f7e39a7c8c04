"""The claim that owning breaks even after 6 to 12 months, calculated for one node at documented prices."""

import datetime as dt
from dataclasses import dataclass

from clusterwright import assets
from clusterwright.evidence.cost_cases.candidates import candidates
from clusterwright.evidence.cost_cases.case import TcoCase
from clusterwright.evidence.cost_cases.prices import day_of, documented, hourly_price, with_prices
from clusterwright.evidence.cost_cases.reading import read_case
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger

#: The case that is calculated.
CASE = "tco/one_node.yaml"
#: Shares of the hours that are used, and so paid for when renting.
UTILISATIONS = (1.0, 0.6)
#: The months that guides promise, and the life of a server after which a breakeven comes too late.
CLAIMED_MONTHS = (6.0, 12.0)
LIFE_MONTHS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RentedAt:
    """What one provider asks for the node, and when owning it becomes cheaper.

    Attributes:
        name: of the case's option; sku, region: of the price, empty where the case gives it.
        usd_per_hour: of 8 GPUs, None where no price is known on the day.
        effective_from, last_seen: days of the price, None where the case gives it.
        source: id of `pricing/sources.csv`, empty where the case gives it.
        months: until the owner's cash is below the renter's, by way of owning and utilisation; None is never,
            or unknown with the price.
    """

    name: str
    sku: str
    region: str
    usd_per_hour: float | None
    effective_from: dt.date | None
    last_seen: dt.date | None
    source: str
    months: dict[str, dict[float, float | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class OneNode:
    """The whole table: the day of the prices, the months looked at, the ways of owning, a row per provider."""

    as_of: dt.date
    purchase_usd: float
    horizon_months: float
    ways: tuple[str, ...]
    rows: tuple[RentedAt, ...]

    @property
    def claim_holds(self) -> tuple[tuple[str, str, float], ...]:
        """Provider, way of owning and utilisation of each breakeven between the claimed months, ends included."""
        low, high = CLAIMED_MONTHS
        return tuple(
            (row.name, way, used)
            for row in self.rows
            for way in self.ways
            for used, months in row.months[way].items()
            if months is not None and low <= months <= high
        )


def one_node(book: PriceBook, as_of: dt.date | None = None) -> OneNode:
    """Calculate the breakeven of one node against every provider of the case.

    months = purchase / (rent x utilisation - running cost), by the engine's cash flow.

    Args:
        book: price points.
        as_of: day whose prices hold; the newest day of the price book if None.

    Raises:
        BlueprintError: a product of the case is not in the catalogue.
    """
    case, document = read_case(assets.root() / CASE)
    case = case.model_copy(update={"as_of": as_of}) if as_of else case
    day = day_of(case, book)
    unknown = {
        name
        for name, option in case.options.items()
        if option.rent and option.rent.price_of and documented(option.rent, day, book) is None
    }
    known = case.model_copy(
        update={"options": {name: option for name, option in case.options.items() if name not in unknown}}
    )
    by_use = {
        used: _breakevens(with_prices(known.model_copy(update={"utilisation": used}), document, book), book)
        for used in UTILISATIONS
    }
    ways = tuple(name for name, option in case.options.items() if option.owned)
    rows = []
    for name, option in case.options.items():
        rent = option.rent
        if rent is None:
            continue
        usd_per_hour, point = rent.usd_per_hour, None
        if rent.price_of is not None and name not in unknown:
            usd_per_hour, price = hourly_price(case, name, rent, book, document)
            point = price.point
        rows.append(
            RentedAt(
                name=name,
                sku=rent.price_of or "",
                region=rent.region,
                usd_per_hour=usd_per_hour,
                effective_from=point.effective_from if point else None,
                last_seen=point.last_seen if point else None,
                source=point.source if point else "",
                months={way: {used: found.get((way, name)) for used, found in by_use.items()} for way in ways},
            )
        )
    bought = case.options[ways[0]].purchase
    return OneNode(
        as_of=day,
        purchase_usd=(bought.usd or 0.0) if bought else 0.0,
        horizon_months=case.horizon_months,
        ways=ways,
        rows=tuple(rows),
    )


def _breakevens(case: TcoCase, book: PriceBook) -> dict[tuple[str, str], float | None]:
    """Return the months of every owned option against every rented one."""
    entered = candidates(case, case.horizon_months)
    pairs = Ledger(entered.candidates, entered.economics, book, entered.mixes).breakevens()
    return {(pair.owned_key, pair.rented_key): pair.months for pair in pairs}
