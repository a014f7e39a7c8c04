"""A plan as FOCUS rows, for finance tools: what each option will be billed, CSV or Parquet (`docs/howto/focus.md`)."""

import csv
import datetime as dt
import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from clusterwright.assets import root
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.finance.charges import Charge, charges
from clusterwright.finance.finances import Finances, finances
from clusterwright.outputs.exports.focus_columns import VERSION, columns, problems
from clusterwright.outputs.tables import safe
from clusterwright.plan.alternatives.hybrids import has_contracts_or_mixes
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_PROVIDER
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.parquet import write_typed_rows

#: Who bills, by target, as the providers name themselves in their own exports.
PROVIDERS = {"aws": "AWS", "azure": "Microsoft", "gcp": "Google Cloud", "onprem": "On premises"}
#: Columns of our own, after those of the specification.
OWN_COLUMNS = (
    "x_BillCategory",
    "x_BillLine",
    "x_BillLineNumber",
    "x_CapexOrOpex",
    "x_ExchangeRate",
    "x_FixedOrVariable",
    "x_Plan",
    "x_PlanAsOf",
    "x_PriceBasis",
    "x_PriceDate",
    "x_PriceSource",
    "x_Term",
)
#: The layer of a stack that makes what a line stands for; its tag is on the resources.
_LAYERS = {"compute": "nodes"}
_KINDS = {"usage": "Usage", "purchase": "Purchase", "credit": "Credit"}
_DECIMALS = 10
_DECEMBER = 12

Row = dict[str, str]


@cache
def header() -> tuple[str, ...]:
    """Return the names of all columns, in order."""
    return (*(column.name for column in columns()), *OWN_COLUMNS)


def focus_rows(
    plan: Plan, counted: Ledger, *, money: MoneyFormat, begin: dt.date | None = None, found: Finances | None = None
) -> tuple[Row, ...]:
    """Return the charges of a plan, of its contracts and mixes as FOCUS rows; an option with an unknown price has none.

    They are billed in the currency of `money` and priced in USD.

    Args:
        plan: the decision.
        begin: first day of the horizon; the first of the month after the as-of day if it is left out.
        counted: the plan's cash flow, if it is at hand.
        found: the plan in the terms of finance, if it is at hand.
        money: how amounts are written.

    Raises:
        InputError: the begin is not the first of a month.
        ClusterwrightError: a row does not conform, which is a mistake of ours.
    """
    first = begin or next_month(dt.date.fromisoformat(plan.as_of))
    if first.day != 1:
        raise InputError(
            f"the horizon cannot begin on {first}: charge periods are whole months",
            help=f"give the first of a month, for example {first.replace(day=1)}",
        )
    if found is None and has_contracts_or_mixes(plan):
        found = finances(plan, counted.book, draws=1, seed=SEED)
    rows = tuple(_row(plan, charge, first, money) for charge in charges(plan, counted, found))
    wrong = problems(header(), rows)
    if wrong:
        raise ClusterwrightError(
            f"{len(wrong)} faults in the rows of FOCUS {VERSION}, the first: {wrong[0]}",
            help="this is a mistake in Clusterwright; please report it",
        )
    return rows


def focus_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV."""
    lines = [",".join(header())]
    lines += [",".join(_cell(row[name]) for name in header()) for row in rows]
    return "\n".join(lines) + "\n"


def write_focus_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as Parquet: decimals of ten places, moments in UTC, empty texts as nulls.

    Raises:
        InputError: the file cannot be written.
    """
    types = {"decimal": "decimal(38, 10)", "datetime": "timestamptz"}
    known = {column.name: types.get(column.type, "varchar") for column in columns()}
    write_typed_rows(rows, {name: known.get(name, "varchar") for name in header()}, path)


def next_month(day: dt.date) -> dt.date:
    """Return the first day of the month after a day's.

    >>> next_month(dt.date(2026, 12, 31))
    datetime.date(2027, 1, 1)
    """
    return _months_after(day.replace(day=1), 1)


@lru_cache(maxsize=65_536)
def _cell(text: str) -> str:
    shown = text if re.fullmatch(r"-?[\d.]+", text) else safe(text)
    return '"' + shown.replace('"', '""') + '"' if any(mark in shown for mark in ',"\n\r') else shown


def _months_after(first: dt.date, months: int) -> dt.date:
    years, month = divmod(first.month - 1 + months, _DECEMBER)
    return first.replace(year=first.year + years, month=month + 1)


def _moment(first: dt.date, months: float) -> str:
    """Return the moment a given number of months after the begin; a part of a month is that part of its days."""
    whole = int(months)
    day = dt.datetime.combine(_months_after(first, whole), dt.time())
    if months > whole:
        length = dt.datetime.combine(_months_after(first, whole + 1), dt.time()) - day
        day += dt.timedelta(seconds=round(length.total_seconds() * (months - whole)))
    return day.strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".") or "0"


def _billed(usd: float | None, money: MoneyFormat) -> str:
    """Return an amount in the currency that is billed."""
    return "" if usd is None else _number(money.amount(usd))


@cache
def _services() -> tuple[dict[str, str], ...]:
    with (root() / "tco" / "focus_services.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


@cache
def _categories() -> dict[str, dict[str, str]]:
    with (root() / "tco" / "focus_categories.csv").open(encoding="utf-8", newline="") as lines:
        return {row["category"]: row for row in csv.DictReader(lines)}


@cache
def _service(key: str, category: str) -> dict[str, str]:
    other = {
        "service_name": category.replace("_", " "),
        "service_category": "Other",
        "service_subcategory": "Other (Other)",
    }
    known = next((row for row in _services() if re.search(row["sku"], key)), None)
    return known or _categories().get(category) or other


def _row(plan: Plan, charge: Charge, first: dt.date, money: MoneyFormat) -> Row:
    term = charge.line.term if charge.line is not None else ""
    committed = term in COMMITTED_TERMS
    usage = charge.kind == "usage"
    quantity = _number(charge.quantity)
    consumed = usage and charge.status != "unused"
    month = int(-(-charge.month_end // 1)) - 1
    listed = charge.list_unit_usd
    service = _service(charge.key, charge.category)
    provider = PROVIDERS.get(charge.target) or NAME_OF_PROVIDER.get(charge.target, charge.target)
    account = f"{plan.cluster.name}-{charge.option}"
    contracted = charge.unit_usd * charge.quantity
    currency = money.currency
    said = {
        "BilledCost": _billed(charge.billed_usd, money),
        "BillingAccountId": plan.cluster.name,
        "BillingAccountName": plan.cluster.name,
        "BillingAccountType": "Plan",
        "BillingCurrency": money.code,
        "BillingPeriodStart": _moment(first, month),
        "BillingPeriodEnd": _moment(first, month + 1),
        "ChargeCategory": _KINDS[charge.kind],
        "ChargeDescription": _description(charge),
        "ChargeFrequency": _frequency(charge),
        "ChargePeriodStart": _moment(first, charge.month_start),
        "ChargePeriodEnd": _moment(first, charge.month_end),
        "ConsumedQuantity": quantity if consumed else "",
        "ConsumedUnit": charge.unit if consumed else "",
        "ContractedCost": _billed(contracted, money),
        "ContractedUnitPrice": _billed(charge.unit_usd, money),
        "EffectiveCost": _billed(charge.effective_usd, money),
        "InvoiceIssuerName": provider,
        "ListCost": _billed(contracted if listed is None else listed * charge.quantity, money),
        "ListUnitPrice": _billed(listed, money),
        "PricingCategory": _pricing_category(charge, term, committed=committed),
        "PricingCurrency": "USD",
        "PricingCurrencyContractedUnitPrice": _number(charge.unit_usd),
        "PricingCurrencyEffectiveCost": _number(charge.effective_usd),
        "PricingCurrencyListUnitPrice": _number(listed),
        "PricingQuantity": quantity,
        "PricingUnit": charge.unit,
        "ProviderName": provider,
        "PublisherName": provider,
        "RegionId": charge.region,
        "RegionName": charge.region,
        "ServiceCategory": service["service_category"],
        "ServiceName": service["service_name"],
        "ServiceSubcategory": service["service_subcategory"],
        "SkuId": charge.key,
        "SkuMeter": charge.item,
        "SkuPriceId": "/".join(filter(None, (charge.key, charge.region, term))),
        "SubAccountId": account,
        "SubAccountName": account,
        "SubAccountType": "Option",
        "Tags": json.dumps(_tags(plan, charge), ensure_ascii=False),
        "x_BillCategory": charge.category,
        "x_BillLine": charge.key,
        "x_BillLineNumber": str(charge.number),
        "x_CapexOrOpex": charge.capex_or_opex,
        "x_ExchangeRate": "" if currency is None else currency.text,
        "x_FixedOrVariable": charge.fixed_or_variable,
        "x_Plan": plan.name,
        "x_PlanAsOf": plan.as_of,
        "x_PriceBasis": charge.basis,
        "x_PriceDate": charge.price_date,
        "x_PriceSource": " ".join(charge.source.split()),
        "x_Term": term,
    }
    if committed:
        said |= {
            "CommitmentDiscountCategory": "Usage",
            "CommitmentDiscountId": f"{account}-{term}",
            "CommitmentDiscountName": term.replace("_", " "),
            "CommitmentDiscountQuantity": quantity,
            "CommitmentDiscountStatus": charge.status.capitalize(),
            "CommitmentDiscountType": "Reserved",
            "CommitmentDiscountUnit": charge.unit,
        }
    return dict.fromkeys(header(), "") | said


def _pricing_category(charge: Charge, term: str, *, committed: bool) -> str:
    if term == "spot":
        return "Dynamic"
    return "Committed" if committed and charge.kind == "usage" else "Standard"


def _frequency(charge: Charge) -> str:
    if charge.kind == "credit" or (charge.kind == "purchase" and charge.capex_or_opex == "capex"):
        return "One-Time"
    return "Usage-Based" if charge.fixed_or_variable == "variable" else "Recurring"


def _description(charge: Charge) -> str:
    words = " ".join(charge.item.split())
    if charge.kind == "usage" and charge.capex_or_opex == "capex":
        return f"{words}, share of the month"
    if charge.kind == "usage" and charge.status:
        return f"{words}, {charge.status} hours of the commitment"
    return f"{words}, {charge.kind}" if charge.kind != "usage" else words


def _tags(plan: Plan, charge: Charge) -> dict[str, str]:
    """Return the tags that the stacks put on resources: the cluster's name, the user's own, the layer of GPU nodes."""
    tags = {**dict(plan.cluster.tags), "gpu-cluster": plan.cluster.name}
    if charge.line is not None and charge.line.line.scales_with == "nodes" and charge.target != "onprem":
        tags["layer"] = _LAYERS["compute"]
    return tags
