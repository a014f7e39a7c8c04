"""What scenarios are compared by: each measure from prices in force and the catalogue's dense peaks."""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from clusterwright.catalog.records import Accelerator, Catalogue
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import gpu_products
from clusterwright.workload.transformer import parameters

#: The model whose tokens are counted, with a byte for each weight.
MODEL = "llama-3-70b"
_PETA, _GIGA, _MILLION, _SECONDS_PER_HOUR = 1e15, 1e9, 1e6, 3600.0
#: End of the price keys of single modules.
_MODULE = "-module"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """The measure of one accelerator: its value, where the price is from, and what else to know.

    Attributes:
        accelerator: catalogue id; value: in the measure's unit.
        where: product and region, or system; usd_per_gpu_hour: its price, None where nothing is rented.
        last_seen, source: of the price, empty without one.
        most: of a value that is a lower bound, the upper one; None where the value is exact.
        detail: more in words.
    """

    accelerator: str
    value: float
    where: str
    usd_per_gpu_hour: float | None = None
    last_seen: str = ""
    source: str = ""
    most: float | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Market:
    """Prices of a day and the facts of what they are for.

    Attributes:
        catalogue: accelerators and systems.
        rented: rows of `pricing/sql/gpu_price_in_force.sql`.
        modules: documented purchase price of one module in USD by accelerator, with last day and source.
        weights: parameters of the model, a byte each.
    """

    catalogue: Catalogue
    rented: tuple[dict[str, Any], ...]
    modules: dict[str, tuple[float, str, str]]
    weights: float

    @classmethod
    def on(cls, day: dt.date, catalogue: Catalogue, book: PriceBook) -> "Market":
        """Return the prices in force on a day."""
        asked = {"as_of": day, "term": "", "region": ""}
        rows = book.query("pricing/sql/gpu_price_in_force.sql", asked, products=gpu_products(catalogue))
        modules = {}
        for accelerator in catalogue.accelerators:
            price = book.price(accelerator + _MODULE, term="purchase", as_of=day)
            if price is not None:
                modules[accelerator] = (price.point.usd, price.point.last_seen.isoformat(), price.point.source)
        return cls(
            catalogue=catalogue,
            rented=tuple(rows),
            modules=modules,
            weights=float(parameters(catalogue.models[MODEL])),
        )

    def rents(self, term: str) -> Iterator[tuple[Accelerator, dict[str, Any]]]:
        """Return what can be rented under a term, with its accelerator."""
        for row in self.rented:
            if row["term"] == term:
                yield self.catalogue.accelerators[row["accelerator"]], row


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """How accelerators are compared: the formula in words, its unit, and which end is better."""

    text: str
    unit: str
    lower_is_better: bool
    calculate: Callable[[Market, str], Iterator[Entry]]


def _entry(row: dict[str, Any], value: float, detail: str = "", most: float | None = None) -> Entry:
    return Entry(
        accelerator=row["accelerator"],
        value=value,
        where=f"{row['sku']} {row['region']}".rstrip(),
        usd_per_gpu_hour=row["usd_per_gpu_hour"],
        last_seen=str(row["last_seen"]),
        source=row["source"],
        most=most,
        detail=detail,
    )


def usd_per_mtoken(usd_per_gpu_hour: float, *, weights: float, chip: Accelerator) -> tuple[float, float] | None:
    """Return the most and the least that a million tokens of a model can cost, in USD; None if a fact is unknown.

    At batch 1 every token reads all weights: tokens/s = HBM bandwidth / bytes of weights. With the largest batch the
    matrix units are the bound: tokens/s = dense 8-bit peak / (2 x parameters). USD per million tokens =
    USD per hour x 1e6 / (tokens/s x 3,600); GPUs that share the weights share the bandwidth, so their number cancels.

    >>> from clusterwright.catalog.load import load
    >>> most, least = usd_per_mtoken(3.6, weights=70e9, chip=load().accelerators["h100-sxm-80gb"])
    >>> round(most, 2), round(least, 4)
    (20.9, 0.0707)
    """
    peak = max(chip.dense_fp8_flop_per_s or 0.0, chip.dense_int8_op_per_s or 0.0)
    if not peak or not chip.hbm_bytes_per_s:
        return None
    usd_per_second = usd_per_gpu_hour / _SECONDS_PER_HOUR
    return (
        usd_per_second * _MILLION * weights / chip.hbm_bytes_per_s,
        usd_per_second * _MILLION * 2.0 * weights / peak,
    )


def _tokens(market: Market, term: str) -> Iterator[Entry]:
    for chip, row in market.rents(term):
        found = usd_per_mtoken(row["usd_per_gpu_hour"], weights=market.weights, chip=chip)
        if found:
            most, least = found
            yield _entry(row, least, f"{most:.2f} at batch 1", most)


def _replica(market: Market, term: str) -> Iterator[Entry]:
    for chip, row in market.rents(term):
        if chip.hbm_bytes:
            gpus = math.ceil(market.weights / chip.hbm_bytes)
            yield _entry(row, gpus * row["usd_per_gpu_hour"], f"{gpus} GPU{'s' if gpus > 1 else ''}")


def _bought(market: Market, _: str) -> Iterator[Entry]:
    for accelerator, (usd, last_seen, source) in market.modules.items():
        peak = market.catalogue.accelerators[accelerator].dense_bf16_flop_per_s
        if peak:
            yield Entry(
                accelerator=accelerator,
                value=usd / (peak / _PETA),
                where=accelerator + _MODULE,
                last_seen=last_seen,
                source=source,
                detail=f"{usd:,.0f} USD a module",
            )


def _trained(market: Market, term: str) -> Iterator[Entry]:
    for chip, row in market.rents(term):
        if chip.dense_bf16_flop_per_s and chip.scale_up_kind not in (None, "pcie"):
            yield _entry(row, row["usd_per_gpu_hour"] / (chip.dense_bf16_flop_per_s / _PETA))


def _memory(market: Market, term: str) -> Iterator[Entry]:
    for chip, row in market.rents(term):
        if chip.hbm_bytes:
            yield _entry(row, row["usd_per_gpu_hour"] / (chip.hbm_bytes / _GIGA))


def _hours(market: Market, term: str) -> Iterator[Entry]:
    for _, row in market.rents(term):
        yield _entry(row, row["usd_per_gpu_hour"])


def _providers(market: Market, term: str) -> Iterator[Entry]:
    found: dict[str, set[str]] = {}
    for _, row in market.rents(term):
        found.setdefault(row["accelerator"], set()).add(row["provider"])
    for accelerator, names in found.items():
        yield Entry(accelerator=accelerator, value=float(len(names)), where=", ".join(sorted(names)))


def _systems(market: Market, _: str) -> Iterator[Entry]:
    for system in market.catalogue.systems.values():
        peak = market.catalogue.accelerators[system.accelerator].dense_fp8_flop_per_s
        if peak:
            yield Entry(
                accelerator=system.accelerator,
                value=peak * system.gpus / _PETA,
                where=system.name,
                detail=f"{system.gpus} GPUs",
            )


MEASURES = {
    "system_fp8_pflops": Measure(
        text="dense FP8 peak of one system as it is bought: peak of a GPU x GPUs",
        unit="PFLOP/s",
        lower_is_better=False,
        calculate=_systems,
    ),
    "usd_per_mtoken": Measure(
        text="Llama 3 70B in 8 bits at the dense peak (largest batch): USD an hour x 1e6 x 2 x parameters / (peak x"
        " 3,600); batch 1: x bytes of weights / bandwidth",
        unit="USD per million tokens, at least",
        lower_is_better=True,
        calculate=_tokens,
    ),
    "usd_per_replica_hour": Measure(
        text="as many GPUs as hold the 8-bit weights of Llama 3 70B",
        unit="USD an hour",
        lower_is_better=True,
        calculate=_replica,
    ),
    "usd_per_pflop_bought": Measure(
        text="documented price of one module / dense bf16 peak; modules only, never servers against modules",
        unit="USD per PFLOP/s",
        lower_is_better=True,
        calculate=_bought,
    ),
    "usd_per_pflop_hour": Measure(
        text="USD an hour / dense bf16 peak, of accelerators with a fast link to each other",
        unit="USD per PFLOP/s and hour",
        lower_is_better=True,
        calculate=_trained,
    ),
    "usd_per_gb_hour": Measure(
        text="USD an hour / GB of HBM of the same GPU",
        unit="USD per GB and hour",
        lower_is_better=True,
        calculate=_memory,
    ),
    "providers": Measure(
        text="providers with a documented price",
        unit="providers",
        lower_is_better=False,
        calculate=_providers,
    ),
    "usd_per_gpu_hour": Measure(
        text="price of one GPU",
        unit="USD an hour",
        lower_is_better=True,
        calculate=_hours,
    ),
}
