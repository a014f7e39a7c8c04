"""Hourly cost of owning one server, to find the number of months after which buying is cheaper than renting.

Deliberately a rule of thumb: purchase, power, floor space and a yearly share of the price for maintenance and capital.
Staff, tax, resale and the network between servers are in `plan` and `report`.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.catalog.records import Catalogue, System
from clusterwright.errors import InputError, MissingFactError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceRequest
from clusterwright.tco.terms.assumptions import assumptions
from clusterwright.units import HOURS_PER_MONTH

_KILO = 1e3
_MONTHS_PER_YEAR = 12.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OwningTerms:
    """Inputs of the running cost of an owned server.

    Attributes:
        usd_per_kwh: price of energy.
        pue: facility power over server power.
        load_fraction: mean power of a server as a share of its nameplate power, whether it is used or not.
        usd_per_kw_month: price of space for one kW of nameplate power, without energy.
        yearly_share: share of the purchase price paid each year for support, spares and capital.
        hours_per_month: 730, or 720 to compare with calculations that use it.
        purchase_usd: purchase price of one server; None takes the documented price.
    """

    usd_per_kwh: float
    pue: float
    load_fraction: float
    usd_per_kw_month: float
    yearly_share: float
    hours_per_month: float = HOURS_PER_MONTH
    purchase_usd: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedServer:
    """A server on sale: its purchase price, its running cost per hour, and the source of the price."""

    system: str
    accelerator: str
    gpus: int
    purchase_usd: float
    running_usd_per_hour: float
    source: str

    @property
    def purchase_usd_per_gpu(self) -> float:
        """Purchase price per accelerator, its share of the server included."""
        return self.purchase_usd / self.gpus

    @property
    def running_usd_per_gpu_hour(self) -> float:
        """Running cost per accelerator and hour, whether it is used or not."""
        return self.running_usd_per_hour / self.gpus


def running_usd_per_hour(*, power_max_w: float, purchase_usd: float, terms: OwningTerms) -> float:
    """Return the running cost of one server in USD per hour.

    kW x (load x PUE x USD/kWh + USD per kW and month / hours per month) + yearly share x purchase / hours per year.
    Energy is paid whether the server is used or not; space is paid by nameplate power.

    >>> terms = OwningTerms(usd_per_kwh=0.1, pue=1.3, load_fraction=1, usd_per_kw_month=150, yearly_share=0.12)
    >>> round(running_usd_per_hour(power_max_w=10_200, purchase_usd=475_000, terms=terms), 3)
    9.929
    """
    power_kw = power_max_w / _KILO
    energy = terms.load_fraction * terms.pue * terms.usd_per_kwh
    space = terms.usd_per_kw_month / terms.hours_per_month
    maintenance = terms.yearly_share * purchase_usd / (_MONTHS_PER_YEAR * terms.hours_per_month)
    return power_kw * (energy + space) + maintenance


def default_terms() -> OwningTerms:
    """Return the base values of `tco/assumptions.csv`; the yearly share is the price of a support contract."""
    base = {key: entry.base for key, entry in assumptions().items()}
    return OwningTerms(
        usd_per_kwh=base["power_price_usd_per_kwh"],
        pue=base["pue"],
        load_fraction=base["load_power_fraction"],
        usd_per_kw_month=base["colocation_usd_per_kw_month"],
        yearly_share=base["support_fraction_per_year"],
    )


def owned_servers(
    book: PriceBook,
    catalogue: Catalogue,
    *,
    accelerators: Sequence[str],
    system: str,
    terms: OwningTerms,
    as_of: dt.date,
) -> tuple[OwnedServer, ...]:
    """Return the server to buy for each accelerator: the named one, else the cheapest per accelerator with a price.

    Accelerators without a server that has a known power and a documented purchase price are omitted.

    Args:
        book: source of the purchase prices.
        catalogue: source of the servers.
        accelerators: catalogue ids.
        system: catalogue id of a server, empty for any.
        terms: inputs of the running cost.
        as_of: day of the purchase price.

    Raises:
        InputError: a purchase price is given, but the server is ambiguous.
        MissingFactError: the power of the named server is unknown.
    """
    entries = [
        entry for entry in catalogue.systems.values() if entry.accelerator in accelerators and system in ("", entry.id)
    ]
    if system and entries and entries[0].power_max_w is None:
        raise MissingFactError(f"the power of {system} is unknown", help="name another server with --server")
    entries = [entry for entry in entries if entry.power_max_w]
    if terms.purchase_usd is not None:
        if len(entries) != 1:
            raise InputError(
                f"a purchase price applies to one server, but {len(entries)} servers match",
                help=f"name it with --server, for example {entries[0].id}" if entries else "name a GPU that is sold",
            )
        return (_owned(entries[0], terms.purchase_usd, "as given", terms),)
    requests = [PriceRequest(sku=entry.id, region="", term="purchase") for entry in entries]
    cheapest: dict[str, OwnedServer] = {}
    for entry, price in zip(entries, book.in_force(requests, as_of), strict=True):
        if price is None:
            continue
        source = f"{price.point.source}, {price.point.effective_from}"
        owned = _owned(entry, price.point.usd, source, terms)
        best = cheapest.get(entry.accelerator)
        if best is None or owned.purchase_usd_per_gpu < best.purchase_usd_per_gpu:
            cheapest[entry.accelerator] = owned
    return tuple(cheapest.values())


def _owned(entry: System, purchase_usd: float, source: str, terms: OwningTerms) -> OwnedServer:
    assert entry.power_max_w is not None  # noqa: S101 - the caller drops servers of unknown power
    return OwnedServer(
        system=entry.id,
        accelerator=entry.accelerator,
        gpus=entry.gpus,
        purchase_usd=purchase_usd,
        running_usd_per_hour=running_usd_per_hour(
            power_max_w=entry.power_max_w, purchase_usd=purchase_usd, terms=terms
        ),
        source=source,
    )
