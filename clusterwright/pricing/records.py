"""What pricing hands to others: price points, questions for a price, and the price in force on a day."""

import datetime as dt
from dataclasses import dataclass

#: How a price is obtained. `reserved_*` covers savings plans (AWS), reservations (Azure) and committed use (GCP);
#: `contracted` is what one customer pays on demand by an own bill, and no list price.
TERMS = (
    "on_demand",
    "spot",
    "reserved_1y",
    "reserved_3y",
    "capacity_block",
    "calendar",
    "flex_start",
    "subscription_1y",
    "contracted",
    "purchase",
)
#: Terms whose hours are paid whether they are used or not.
COMMITTED_TERMS = ("reserved_1y", "reserved_3y")


@dataclass(frozen=True, kw_only=True, slots=True)
class PricePoint:
    """One documented price: what a source said a product costs from a day on.

    Attributes:
        sku: what is priced, the key of a bill line.
        region: cloud region, empty where the price holds everywhere.
        term: one of `TERMS`.
        charge: `hourly` and `monthly` are rented per unit, `once` is bought, `metered` is paid by consumption.
        unit: `node`, `each`, `GB` (1e9 bytes), `GiB`, `GPU`, `IP`, `kW`, `kWh`, `Mtoken`, `PFLOP/s`, `run`.
        usd: price of one unit for one charge period, in USD.
        effective_from: first day on which the price was in force, or was first seen.
        last_seen: last day on which the source showed it.
        source: id of a row of `pricing/sources.csv`; locator: commit, table or page in it.
        confidence: `high`, `medium` or `low`.
        status: `chosen` prices are used; `rejected` ones are kept with the reason in `note`.
    """

    sku: str
    region: str
    term: str
    charge: str
    unit: str
    usd: float
    effective_from: dt.date
    last_seen: dt.date
    source: str
    locator: str
    confidence: str
    status: str
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRequest:
    """A question for the price book: the price of a product in a region (empty on premises) under a term."""

    sku: str
    region: str
    term: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceInForce:
    """The price in force on a day, and where it comes from.

    Attributes:
        as_of: the day that was asked about.
        source_title: the source's title, for people.
        age_days: days from the last time the price was seen, up to `as_of`, to `as_of`.
        point: the price point.
    """

    as_of: dt.date
    source_title: str
    age_days: int
    point: PricePoint
