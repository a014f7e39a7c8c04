"""What an own bill says of prices: the contracted price per hour of every machine in FOCUS exports."""

from collections.abc import Sequence
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.pricing.connection import in_memory
from clusterwright.pricing.statements import statement
from clusterwright.tco.focus_files import name_columns

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
    "ChargeCategory", "PricingCategory", "BillingCurrency", "PricingUnit", "ContractedUnitPrice", "ChargePeriodStart",
    "RegionId",
)  # fmt: skip


def write_own_prices(paths: Sequence[Path], table: Path) -> None:
    """Write the distinct contracted prices per hour of exports as CSV: provider, region, words, currency, amount, day.

    Args:
        paths: FOCUS exports, CSV or Parquet.
        table: file to write.

    Raises:
        InputError: a file cannot be read, or lacks a column.
    """
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with tables pay

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
