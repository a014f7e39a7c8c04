"""The price book: which price was in force on a day, and where it comes from."""

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clusterwright.assets import root
from clusterwright.errors import MissingFactError
from clusterwright.pricing.gpu_products import GpuProduct
from clusterwright.pricing.lake import Reach, StoreError, damaged, last_line
from clusterwright.pricing.records import PriceInForce, PricePoint, PriceRequest
from clusterwright.pricing.statements import files, in_memory, parsed, script, statement, with_values
from clusterwright.pricing.store import attach, default_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_POINT_FIELDS = tuple(field.name for field in fields(PricePoint))
#: Up to this many products are picked out while prices are read; of more, prices are joined afterwards.
FEW_PRODUCTS = 40
_ONE_THREAD = "set threads = 1"
_PRODUCTS = "create or replace temp table gpu_product as {}"
_NO_PRODUCT = GpuProduct(
    sku="",
    provider="",
    accelerator="",
    gpus=1,
    terms=("on_demand",),
    dense_bf16_flop_per_s_per_gpu=None,
    dense_fp8_flop_per_s_per_gpu=None,
    hbm_bytes_per_gpu=None,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding:
    """A row that an audit objects to: which audit, which price point, what is wrong."""

    audit: str
    sku: str
    region: str
    term: str
    effective_from: dt.date | None
    finding: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExchangeRate:
    """USD for one unit of a currency on a day, and who says so."""

    currency: str
    day: dt.date
    usd: float
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A product with a price: how many points its history has, from which day to which."""

    sku: str
    region: str
    term: str
    points: int
    first_day: dt.date
    last_day: dt.date

    def is_called(self, name: str) -> bool:
        """Return whether a name is its price key, whole or without the provider."""
        return name in (self.sku, self.sku.rpartition("/")[2])


class PriceBook:
    """Price points in DuckDB. Open it with `PriceBook.open`."""

    def __init__(self, connection: "DuckDBPyConnection", made: Sequence[str] = ()) -> None:
        """Take an open connection, and the statements that made what lies in it."""
        self._connection = connection
        self._made = tuple(made)
        self._known: dict[tuple[PriceRequest, dt.date], PriceInForce | None] = {}

    @classmethod
    def open(cls, folder: Path | None = None, *, store: Path | str | None = None, reach: Reach | None = None) -> Self:
        """Load the price points of a folder, by default the shipped ones, and of the price store, if there is one.

        Args:
            folder: holds `sources.csv` and other CSV files of price points; no store is read beside it.
            store: another price store, or lake, than `store.default_path`.
            reach: lists object storage; without it a lake there cannot be read.

        Raises:
            MissingFactError: the folder holds no price points, or they cannot be read.
            StoreError: the store is held by another process, or is none.
        """
        import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

        place = root() / "pricing" if folder is None else folder
        tables = sorted(str(path) for path in place.glob("*.csv") if path.name != "sources.csv")
        if not tables:
            raise MissingFactError(f"there are no price points in {place}", help="install Clusterwright again")
        connection = in_memory()
        try:
            made = _shipped(tables, place / "sources.csv")
            for text in made:
                connection.execute(text)
            attached = attach(connection, store, reach) if folder is None else ()
            rules = _rules(with_store=bool(attached))
            for text in rules:
                connection.execute(text)
        except duckdb.Error as error:
            if type(error) is duckdb.Error:
                raise damaged(store or default_path(), error) from error
            raise MissingFactError(
                f"the price points in {place} cannot be read: {str(error).splitlines()[0]}",
                help="correct the line that is named, or install Clusterwright again",
            ) from error
        return cls(connection, (*made, *attached, *rules))

    def close(self) -> None:
        """Let go of the price store, so that it can be written to."""
        self._connection.close()

    @property
    def newest_day(self) -> dt.date:
        """The newest day on which a chosen price was seen: the default as-of day."""
        day = self._rows("pricing/sql/newest_day.sql", {})[0]["newest_day"]
        if not isinstance(day, dt.date):
            raise MissingFactError("the price book holds no chosen price", help="install Clusterwright again")
        return day

    def in_force(self, requests: Sequence[PriceRequest], as_of: dt.date) -> tuple[PriceInForce | None, ...]:
        """Return the price in force on a day for each request, in order; None where there is no documented price.

        A price for the region wins over one that holds everywhere. No term stands in for another.
        """
        new = [request for request in dict.fromkeys(requests) if (request, as_of) not in self._known]
        if new:
            # Every count of the same money asks for the same prices.
            found = zip(new, self._found(new, as_of), strict=True)
            self._known |= {(request, as_of): price for request, price in found}
        return tuple(self._known[request, as_of] for request in requests)

    def _found(self, requests: Sequence[PriceRequest], as_of: dt.date) -> Sequence[PriceInForce | None]:
        asked = [
            {"position": position, "sku": request.sku, "region": request.region, "term": request.term}
            for position, request in enumerate(requests)
        ]
        found: list[PriceInForce | None] = [None] * len(requests)
        parameters = {
            "requests": asked,
            "as_of": as_of,
            "skus": sorted({request.sku for request in requests}),
            "regions": sorted({"", *(request.region for request in requests)}),
            "terms": sorted({request.term for request in requests}),
        }
        for row in self._rows("pricing/sql/price_in_force.sql", parameters):
            found[row["position"]] = PriceInForce(
                as_of=row["as_of"],
                source_title=row["source_title"],
                age_days=row["age_days"],
                point=_point(row),
            )
        return found

    def price(self, sku: str, *, region: str = "", term: str = "on_demand", as_of: dt.date) -> PriceInForce | None:
        """Return the price of one product in force on a day, None if there is no documented one."""
        return self.in_force((PriceRequest(sku=sku, region=region, term=term),), as_of)[0]

    def exchange_rate(self, currency: str, as_of: dt.date) -> ExchangeRate | None:
        """Return the newest rate of a currency that the price store knows on or before a day, None without one."""
        rows = self._rows("pricing/sql/rate_in_force.sql", {"currency": currency, "as_of": as_of})
        return (
            ExchangeRate(
                currency=currency, day=rows[0]["day"], usd=rows[0]["usd_per_currency"], source=rows[0]["source"]
            )
            if rows
            else None
        )

    def history(
        self, sku: str, *, region: str = "", term: str = "", as_of: dt.date | None = None, with_rejected: bool = False
    ) -> tuple[PricePoint, ...]:
        """Return the price points of a product, oldest first within region and term.

        Empty strings mean all of them; nothing after the day `as_of` counts, if there is one.
        """
        asked = {"sku": sku, "region": region, "term": term, "as_of": as_of, "with_rejected": with_rejected}
        return tuple(_point(row) for row in self._rows("pricing/sql/price_history.sql", asked))

    def products(self) -> tuple[Product, ...]:
        """Return every product, region and term with a chosen price."""
        return tuple(Product(**row) for row in self._rows("pricing/sql/product.sql", {}))

    def query(
        self,
        path: str,
        parameters: dict[str, Any],
        *,
        products: Sequence[GpuProduct] = (),
        in_parallel: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the rows of a statement over the price points, for example `pricing/sql/gpu_price_in_force.sql`.

        Args:
            path: of the statement; its head says what one row is, and which parameters it takes.
            parameters: by name; those that the statement does not name are left out.
            products: with accelerators that the question is about: rows of `gpu_product`; `$skus` are their price keys,
                empty if they are so many that reading all prices is faster.
            in_parallel: the answer does not depend on the order of rows, not even in its last digit.
        """
        self._connection.execute(_PRODUCTS.format(statement("pricing/sql/gpu_product.sql")), _rows_of(products))
        text = statement(path)
        asked = _with_skus(products, parameters)
        if in_parallel:
            self._connection.execute(f"set threads = {os.cpu_count() or 1}")
        try:
            return self._rows(path, {name: value for name, value in asked.items() if f"${name}" in text})
        finally:
            self._connection.execute(_ONE_THREAD)

    def script(self, path: str, parameters: dict[str, Any], *, products: Sequence[GpuProduct] = ()) -> str:
        """Return what `query` asks as a script that DuckDB runs by itself: what it starts from, then the statement."""
        filled = with_values(_PRODUCTS.format(statement("pricing/sql/gpu_product.sql")), _rows_of(products))
        asked = with_values(statement(path), _with_skus(products, parameters))
        return script((_ONE_THREAD, *self._made, filled, asked))

    def audit(self) -> tuple[AuditFinding, ...]:
        """Run every audit of `pricing/audits`; an empty result means that the price points are fit for use."""
        return tuple(
            AuditFinding(audit=path.stem, **row)
            for path in files("pricing/audits")
            for row in self._rows(f"pricing/audits/{path.name}", {})
        )

    def _rows(self, path: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        import duckdb  # noqa: PLC0415

        try:
            cursor = self._connection.execute(parsed(statement(path)), parameters)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            # A file system that fails raises the base class.
            if type(error) is duckdb.Error or isinstance(error, duckdb.IOException):
                raise StoreError(
                    f"the price store cannot be read to the end: {last_line(error)}",
                    help="look at the place it lies in",
                ) from None
            raise


def _point(row: dict[str, Any]) -> PricePoint:
    return PricePoint(**{name: row[name] for name in _POINT_FIELDS})


def _rows_of(products: Sequence[GpuProduct]) -> dict[str, Any]:
    # An empty list has no columns: without products a row that the statement leaves out stands for them.
    return {"products": [asdict(entry) | {"terms": list(entry.terms)} for entry in products or (_NO_PRODUCT,)]}


def _with_skus(products: Sequence[GpuProduct], parameters: dict[str, Any]) -> dict[str, Any]:
    return {"skus": [entry.sku for entry in products] if len(products) <= FEW_PRODUCTS else []} | parameters


def _shipped(tables: Sequence[str], sources: Path) -> tuple[str, ...]:
    """Return the statements that read the shipped price points and their documents."""
    points = with_values(statement("pricing/sql/stg_price_point.sql"), {"files": tables})
    documents = with_values(statement("pricing/sql/stg_price_source.sql"), {"file": str(sources)})
    return f"create table shipped_price as {points}", f"create table price_source as {documents}"


def _rules(*, with_store: bool) -> tuple[str, ...]:
    """Return the statements that every question starts from: points of files and store, the chosen ones, of a day."""
    places = ("files", "store") if with_store else ("files",)
    made = []
    if with_store:
        # Few rows, found once: every question about the store's prices asks for them.
        made.append(f"create temp table reserved_instance as {statement('pricing/sql/reserved_instance.sql')}")
        made.append(f"create temp view stored_price as {statement('pricing/sql/stored_price.sql')}")
    for rule, part in (("every_point", "price"), ("seen_price", "seen"), ("known_rate", "rate")):
        joined = " union all by name ".join(f"({statement(f'pricing/sql/{part}_of_{place}.sql')})" for place in places)
        made.append(f"create temp view {rule} as {joined}")
    chain = ("known_point", "price_point", "chosen_price")
    made += [f"create temp view {rule} as {statement(f'pricing/sql/{rule}.sql')}" for rule in chain]
    made.append(f"create temp macro price_on(as_of, skus) as table {statement('pricing/sql/price_on.sql')}")
    return tuple(made)
