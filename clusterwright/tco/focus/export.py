"""FOCUS exports of a running cluster: CSV or Parquet of any size, read by DuckDB without holding them in memory."""

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
#: What is read, by our name: columns of FOCUS, and of providers, of which the first that is there is taken.
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
#: What providers put before a key of the user's.
_PREFIX = "(?:(?:resourcetags/)?user[:_])?"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChargeGroup:
    """Charges of the cluster that look alike, added up, in the currency that they were billed in.

    Attributes:
        provider, service, sku, meter, description, charge_category, charge_class, pricing_category, commitment_status,
            unit: as in FOCUS; bill_line: our own column, where the rows have it.
        amount: effective or billed cost, as was asked; quantity: None where no row says one.
        every_quantity_known: whether each row says one; charges: how many rows.
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
    """Time that usage of a provider is billed for without a break, in UTC."""

    provider: str
    start: dt.datetime
    end: dt.datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """Cost in the cluster's accounts by `tagging`: `mine`, `other` cluster, `none`."""

    tagging: str
    currency: str
    amount: float
    charges: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FocusExport:
    """What an export says of one cluster.

    Attributes:
        groups: largest cost first; spans: by provider; tagged: of the accounts that hold the cluster.
        repeated: rows that are the same as another in every column, and were counted once.
        billing_periods: begins of the billing periods, as text.
    """

    groups: tuple[ChargeGroup, ...]
    spans: tuple[Span, ...]
    tagged: tuple[Tagged, ...]
    repeated: int
    billing_periods: tuple[str, ...]


def read_focus(paths: Sequence[Path], *, tag: str, value: str, cost: str, count_repeated: bool = False) -> FocusExport:
    """Read what FOCUS exports say of the cluster whose resources carry a tag.

    Args:
        paths: CSV files (also compressed), or Parquet files, of one schema or several.
        tag: key on the resources, as the user wrote it.
        value: of it; upper and lower case are the same.
        cost: `effective` (amortised) or `billed` (cash).
        count_repeated: count rows that are the same in every column each time they come.

    Raises:
        InputError: a file cannot be read, a column is missing, values cannot be read, or no row has the tag.
    """
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with tables pay

    connection = in_memory()
    connection.execute("set timezone = 'UTC'")
    try:
        needed = {name: (name,) for name in (COSTS[cost], *_NEEDED)} | {"ProviderName": _COLUMNS["provider"]}
        name_columns(connection, paths, {**_COLUMNS, "amount": (COSTS[cost],)}, needed)
        asked = _patterns(tag.lower()) | {"wanted": value.lower()}
        _table(connection, "tally", asked)
        _refuse_faults(connection)
        repeated = 0 if count_repeated else _rows(connection, _REPEATED)[0]["repeated"]
        # Telling twins apart takes memory for every row, so that it is done only where there are some.
        own = statement(f"tco/actual/{'single_charge' if repeated else 'own_charge'}.sql")
        _table(connection, "mine", asked, over=f", own_charge as (\n{own}\n)")
        groups = tuple(ChargeGroup(**row) for row in _rows(connection, statement("tco/actual/charge_group.sql")))
        if not groups:
            raise _no_row(connection, tag, value, asked)
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
    """Return the patterns (RE2) that find a tag's value in an object, and its pair in a list."""
    either = "|".join(re.escape(name) for name in dict.fromkeys((key, key.replace("-", "_"))))
    named = f'"{_PREFIX}(?:{either})"'
    return {
        "key": key,
        "in_object": rf'{named}\s*:\s*"([^"]*)"',
        "in_list": rf'\{{[^{{}}]*"key"\s*:\s*{named}[^{{}}]*\}}',
    }


def _table(connection: "DuckDBPyConnection", name: str, asked: dict[str, Any], over: str = "") -> None:
    """Make a table of `tco/actual` from the export in one pass; the export itself is not kept."""
    connection.execute(f"create table {name} as {_over_charges(f'tco/actual/{name}.sql', over)}", asked)


def _over_charges(path: str, over: str = "") -> str:
    charge = f"with charge as (\n{statement('tco/actual/stg_charge.sql')}\n)"
    return f"{charge}{over}\nselect * from (\n{statement(path)}\n)"


def _rows(connection: "DuckDBPyConnection", text: str, asked: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    cursor = connection.execute(text, asked)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _refuse_faults(connection: "DuckDBPyConnection") -> None:
    faults = _rows(connection, statement("tco/actual/fault.sql"))
    if faults:
        said = [
            f"{entry['charges']:,} row{'s have' if entry['charges'] > 1 else ' has'} {entry['fault']}"
            + (f", for example {entry['example']!r}" if entry["example"] else ": it is empty")
            for entry in faults
        ]
        raise InputError("\n".join(said), help="the export is damaged or of another schema; export it again")


def _no_row(connection: "DuckDBPyConnection", tag: str, value: str, asked: dict[str, Any]) -> InputError:
    seen = [row["tag_value"] for row in _rows(connection, _over_charges("tco/actual/tag_value.sql"), asked)]
    told = f"its values there: {', '.join(seen)}" if seen else "no row has the tag at all"
    return InputError(
        f"no row has the tag {tag}={value}; {told}",
        help="name another one with --tag KEY=VALUE; AWS exports a tag only once it is activated for cost allocation",
    )
