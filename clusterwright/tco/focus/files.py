"""Files of FOCUS exports as one DuckDB view with our column names, and the hourly prices in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.errors import InputError
from clusterwright.pricing.statements import exactly, in_memory, statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PARQUET = (".parquet", ".pq")


def name_columns(
    connection: "DuckDBPyConnection",
    paths: Sequence[Path],
    columns: Mapping[str, Sequence[str]],
    needed: Mapping[str, Sequence[str]],
) -> None:
    """Create the view `named` over files, with a `row_hash` of each whole row; tags of any type become JSON text.

    Args:
        connection: database of the view.
        paths: CSV files (also compressed) or Parquet files, not both.
        columns: our column names, each with the possible names in the files. The first one in the files is used; null
            if there is none.
        needed: names for messages, each with the possible names in the files, one of which is required.

    Raises:
        InputError: a file is missing, the kinds are mixed, or a required column is missing.
        duckdb.Error: a file cannot be read.
    """
    for path in paths:
        if not path.is_file():
            raise InputError(f"there is no file {path}", help="give FOCUS exports as CSV or Parquet files")
    parquet = [path.suffix.lower() in _PARQUET for path in paths]
    if any(parquet) != all(parquet):
        raise InputError("CSV and Parquet are mixed", help="give files of one kind")
    listed = ", ".join("'" + exactly(path).replace("'", "''") + "'" for path in paths)
    reader = (
        f"read_parquet([{listed}], union_by_name = true)"
        if all(parquet)
        else f"read_csv([{listed}], header = true, all_varchar = true, union_by_name = true)"
    )
    described = connection.execute(f"describe select * from {reader}").fetchall()  # noqa: S608 - quoted above
    known = {_normalised(str(name)): (str(name), str(kind)) for name, kind, *_ in reversed(described)}
    missing = [name for name, names in needed.items() if _column(known, names) is None]
    if missing:
        raise InputError(
            f"{paths[0].name} is not a usable FOCUS export: it has no column {', '.join(missing)}",
            help="export with FOCUS 1.0 or later, with tags; a report with the provider's own columns does not work",
        )
    parts = []
    for ours, theirs in columns.items():
        column = _column(known, theirs)
        if column is None:
            parts.append(f"cast(null as varchar) as {ours}")
            continue
        quoted = '"' + column[0].replace('"', '""') + '"'
        as_text = ours == "tags" and column[1].upper() not in ("VARCHAR", "JSON")
        parts.append(f"{f'cast(to_json({quoted}) as varchar)' if as_text else quoted} as {ours}")
    connection.execute(
        f"create view named as select {', '.join(parts)}, hash(export) as row_hash from {reader} as export"  # noqa: S608 - quoted
    )


def _normalised(name: str) -> str:
    return name.strip().lower().replace("_", "").replace(" ", "")


def _column(known: Mapping[str, tuple[str, str]], names: Sequence[str]) -> tuple[str, str] | None:
    return next((known[_normalised(name)] for name in names if _normalised(name) in known), None)


_COLUMNS = {
    "provider": ("ProviderName", "ServiceProviderName", "PublisherName", "InvoiceIssuerName"),
    "region": ("RegionId",),
    "meter": ("SkuMeter", "x_SkuMeterName", "x_SkuDescription"),
    "usage_type": ("x_UsageType", "x_SkuMeterSubcategory"),
    "description": ("ChargeDescription",),
    "charge_category": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "pricing_category": ("PricingCategory",),
    "pricing_currency": ("PricingCurrency",),
    "billing_currency": ("BillingCurrency",),
    "unit": ("PricingUnit",),
    "contracted_unit_price": ("ContractedUnitPrice",),
    "period_start": ("ChargePeriodStart",),
}
_NEEDED = (
    "ChargeCategory",
    "PricingCategory",
    "BillingCurrency",
    "PricingUnit",
    "ContractedUnitPrice",
    "ChargePeriodStart",
    "RegionId",
)


def write_own_prices(paths: Sequence[Path], table: Path) -> None:
    """Write the distinct contracted hourly prices of exports as CSV: provider, region, words, currency, amount, day.

    Args:
        paths: FOCUS exports, CSV or Parquet.
        table: CSV file to write.

    Raises:
        InputError: a file cannot be read, or lacks a column.
    """
    import duckdb  # noqa: PLC0415 - takes 0.2 s, and only commands with tables need it

    connection = in_memory()
    connection.execute("set timezone = 'UTC'")
    try:
        name_columns(
            connection, paths, _COLUMNS, {name: (name,) for name in _NEEDED} | {"ProviderName": _COLUMNS["provider"]}
        )
        connection.execute(f"create table own_price as {statement('tco/actual/own_price.sql')}")
        connection.table("own_price").write_csv(str(table), header=True)
    except duckdb.Error as error:
        raise InputError(
            f"{paths[0].name} cannot be read as a FOCUS export: {str(error).splitlines()[0]}",
            help="give CSV or Parquet files as the provider wrote them, all of one export",
        ) from None
