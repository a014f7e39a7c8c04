"""FOCUS exports of a running cluster: CSV or Parquet of any size, which DuckDB streams rather than loads."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import InputError
from clusterwright.pricing.statements import in_memory, statement
from clusterwright.tco.focus.files import name_columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COSTS = {"effective": "EffectiveCost", "billed": "BilledCost"}
#: Columns to read, by our name: names in FOCUS and of providers, of which the first one in the export is used.
_COLUMNS = {
    "provider": ("ProviderName", "ServiceProviderName", "PublisherName", "InvoiceIssuerName"),
    "service": ("ServiceName",),
    "sku": ("SkuId",),
    "bill_line": ("x_BillLine",),
    "meter": ("SkuMeter", "x_SkuMeterName", "x_SkuDescription"),
    "usage_type": ("x_UsageType", "x_SkuMeterSubcategory"),
    "resource_type": ("ResourceType",),
    "description": ("ChargeDescription",),
    "charge_category": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "pricing_category": ("PricingCategory",),
    "commitment_status": ("CommitmentDiscountStatus",),
    "sub_account": ("SubAccountId",),
    "currency": ("BillingCurrency",),
    "unit": ("PricingUnit", "ConsumedUnit"),
    "quantity": ("PricingQuantity", "ConsumedQuantity"),
    "period_start": ("ChargePeriodStart",),
    "period_end": ("ChargePeriodEnd",),
    "billing_start": ("BillingPeriodStart",),
    "tags": ("Tags",),
}
_NEEDED = ("ChargeCategory", "BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "Tags")
#: Prefix that providers put before the user's tag keys.
_PREFIX = "(?:(?:resourcetags/)?user[:_])?"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChargeGroup:
    """Sum of the cluster's charges that agree in all descriptive columns, in the billing currency.

    Attributes:
        provider, service, sku, meter, description, charge_category, charge_class, pricing_category, commitment_status,
            currency, unit: as in FOCUS.
        bill_line: our own column, empty in exports without it.
        amount: effective or billed cost, as requested.
        quantity: sum of the quantities; None if no row states one.
        every_quantity_known: whether every row states a quantity.
        charges: number of rows.
    """

    provider: str
    service: str
    sku: str
    bill_line: str
    meter: str
    description: str
    charge_category: str
    charge_class: str
    pricing_category: str
    commitment_status: str
    currency: str
    unit: str
    amount: float
    quantity: float | None
    every_quantity_known: bool
    charges: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Uninterrupted period of billed usage with a provider, in UTC."""

    provider: str
    start: dt.datetime
    end: dt.datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """Cost in the cluster's accounts by `tagging`: `mine` (the cluster's tag), `other` (another value) or `none`."""

    tagging: str
    currency: str
    amount: float
    charges: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FocusExport:
    """Content of an export about one cluster.

    Attributes:
        groups: groups of charges, largest cost first.
        spans: billed periods, by provider.
        tagged: cost by tag in the accounts that contain the cluster.
        repeated: number of rows identical to another one in every column, which were counted once.
        billing_periods: starts of the billing periods, as text.
    """

    groups: tuple[ChargeGroup, ...]
    spans: tuple[Span, ...]
    tagged: tuple[Tagged, ...]
    repeated: int
    billing_periods: tuple[str, ...]


def read_focus(paths: Sequence[Path], *, tag: str, value: str, cost: str, count_repeated: bool = False) -> FocusExport:
    """Read the charges of a cluster, whose resources carry a tag, from FOCUS exports.

    Args:
        paths: CSV files (also compressed) or Parquet files, of one schema or several.
        tag: key of the tag, as the user wrote it.
        value: value of the tag, compared without regard to case.
        cost: `effective` (amortised) or `billed` (cash).
        count_repeated: whether to count every one of several identical rows.

    Raises:
        InputError: a file cannot be read, a column is missing, a value cannot be read, or no row has the tag.
    """
    import duckdb  # noqa: PLC0415 - takes 0.2 s, and only commands with tables need it

    connection = in_memory()
    connection.execute("set timezone = 'UTC'")
    try:
        needed = {name: (name,) for name in (COSTS[cost], *_NEEDED)} | {"ProviderName": _COLUMNS["provider"]}
        name_columns(connection, paths, {**_COLUMNS, "amount": (COSTS[cost],)}, needed)
        parameters = _patterns(tag.lower()) | {"wanted": value.lower()}
        _table(connection, "tally", parameters)
        _refuse_faults(connection)
        repeated = 0 if count_repeated else _rows(connection, _REPEATED)[0]["repeated"]
        # Removing duplicate rows takes memory for every row, so it is done only if there are some.
        own = statement(f"tco/actual/{'single_charge' if repeated else 'own_charge'}.sql")
        _table(connection, "mine", parameters, over=f", own_charge as (\n{own}\n)")
        groups = tuple(ChargeGroup(**row) for row in _rows(connection, statement("tco/actual/charge_group.sql")))
        if not groups:
            raise _no_row(connection, tag, value, parameters)
        return FocusExport(
            groups=groups,
            spans=tuple(
                Span(provider=row["provider"], start=row["span_start"], end=row["span_end"])
                for row in _rows(connection, statement("tco/actual/covered_span.sql"))
            ),
            tagged=tuple(Tagged(**row) for row in _rows(connection, statement("tco/actual/tagging.sql"))),
            repeated=repeated,
            billing_periods=tuple(row["billing_start"] for row in _rows(connection, _BILLING_PERIODS)),
        )
    except duckdb.Error as error:
        raise InputError(
            f"{paths[0].name} cannot be read as a FOCUS export: {str(error).splitlines()[0]}",
            help="give CSV or Parquet files as the provider wrote them, all of one export",
        ) from None


_REPEATED = "select coalesce(sum(charges - distinct_charges), 0)::bigint as repeated from tally where tagging = 'mine'"
_BILLING_PERIODS = "select distinct billing_start from mine where billing_start is not null order by billing_start"


def _patterns(key: str) -> dict[str, Any]:
    """Return RE2 patterns that find a tag's value in a JSON object, and its key-value pair in a JSON list."""
    names = "|".join(re.escape(name) for name in dict.fromkeys((key, key.replace("-", "_"))))
    quoted_key = f'"{_PREFIX}(?:{names})"'
    return {
        "key": key,
        "in_object": rf'{quoted_key}\s*:\s*"([^"]*)"',
        "in_list": rf'\{{[^{{}}]*"key"\s*:\s*{quoted_key}[^{{}}]*\}}',
    }


def _table(connection: "DuckDBPyConnection", name: str, parameters: dict[str, Any], over: str = "") -> None:
    """Create a table of `tco/actual` from the export in one pass, without storing the export itself."""
    connection.execute(f"create table {name} as {_over_charges(f'tco/actual/{name}.sql', over)}", parameters)


def _over_charges(path: str, over: str = "") -> str:
    charge = f"with charge as (\n{statement('tco/actual/stg_charge.sql')}\n)"
    return f"{charge}{over}\nselect * from (\n{statement(path)}\n)"


def _rows(
    connection: "DuckDBPyConnection", text: str, parameters: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    cursor = connection.execute(text, parameters)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _refuse_faults(connection: "DuckDBPyConnection") -> None:
    faults = _rows(connection, statement("tco/actual/fault.sql"))
    if faults:
        messages = [
            f"{entry['charges']:,} row{'s have' if entry['charges'] > 1 else ' has'} {entry['fault']}"
            + (f", for example {entry['example']!r}" if entry["example"] else ": it is empty")
            for entry in faults
        ]
        raise InputError("\n".join(messages), help="the export is damaged or has another schema; export it again")


def _no_row(connection: "DuckDBPyConnection", tag: str, value: str, parameters: dict[str, Any]) -> InputError:
    seen = [row["tag_value"] for row in _rows(connection, _over_charges("tco/actual/tag_value.sql"), parameters)]
    reason = f"its values are {', '.join(seen)}" if seen else "no row has this tag"
    return InputError(
        f"no row has the tag {tag}={value}; {reason}",
        help="choose another tag with --tag KEY=VALUE; AWS exports a tag only after its activation for cost allocation",
    )
