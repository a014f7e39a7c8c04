"""Plan against actual: the bill of a running cluster, line by line, and why it differs: more used, or dearer.

Each line's difference is split exactly: (actual − planned quantity) × planned price, and (actual − planned price) ×
actual quantity. Definitions: `docs/howto/focus.md`.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.actual.lines import Service, billed_line, measured, planned_line, target_of
from clusterwright.actual.records import Actual, Comparison, Variance
from clusterwright.errors import InputError
from clusterwright.finance.charges import Charge
from clusterwright.plan.record import Option, Plan
from clusterwright.tco.focus.export import ChargeGroup, FocusExport, Span
from clusterwright.units import percent

_HOUR_S = 3600.0
#: Kinds of charges that are compared with the plan's lines; the others stand beside them.
_COMPARED = ("Usage", "Purchase")


@dataclass(slots=True)
class _Sum:
    """A line as it is added up: cost, and quantity while every row has one in the same measure."""

    usd: float = 0.0
    quantity: float | None = None
    unknown: list[str] = field(default_factory=list)

    def count(self, quantity: float) -> None:
        """Add a quantity in the line's unit."""
        self.quantity = quantity + (self.quantity or 0.0)


def compare(
    plan: Plan, planned: Sequence[Charge], export: FocusExport, *, cost: str, rates: Mapping[str, float]
) -> Comparison:
    """Return a bill against its plan.

    Args:
        plan: of the cluster.
        planned: its charges.
        export: of the charges with its tag.
        cost: `effective` or `billed`, as the export was read.
        rates: USD of one unit of each currency other than USD.

    Raises:
        InputError: a currency has no rate, or the plan has no option of a provider.
    """
    _check_currencies(export, rates)
    by_target: dict[str, list[ChargeGroup]] = defaultdict(list)
    for group in export.groups:
        target = target_of(group.provider)
        if plan.option(target) is None:
            raise InputError(
                f"the export has charges of {group.provider or 'no provider'}, and the plan no option there",
                help=f"this plan is for {', '.join(option.target for option in plan.options)}: give the cluster's",
            )
        by_target[target].append(group)
    shares = _shares(export, rates)
    return Comparison(
        cost=cost,
        options=tuple(
            _of_option(plan, option, planned, by_target[option.target], export.spans, cost=cost, rates=rates)
            for option in plan.options
            if option.target in by_target
        ),
        untagged_share=shares.get("none"),
        other_share=shares.get("other"),
        repeated=export.repeated,
        billing_periods=export.billing_periods,
    )


def _check_currencies(export: FocusExport, rates: Mapping[str, float]) -> None:
    used = {group.currency for group in export.groups} | {entry.currency for entry in export.tagged}
    missing = sorted(name or "(none)" for name in used if name != "USD" and name not in rates)
    if missing:
        raise InputError(
            f"the export is billed in {', '.join(missing)}, and the plan counts USD",
            help=f"give a rate: --rate {missing[0].strip('()')}=1.08@2026-11-20",
        )


def _usd(amount: float, currency: str, rates: Mapping[str, float]) -> float:
    return amount if currency == "USD" else amount * rates[currency]


def _shares(export: FocusExport, rates: Mapping[str, float]) -> dict[str, float]:
    usd = {entry.tagging: 0.0 for entry in export.tagged}
    for entry in export.tagged:
        usd[entry.tagging] += _usd(entry.amount, entry.currency, rates)
    total = sum(usd.values())
    return {name: usd.get(name, 0.0) / total for name in ("none", "other")} if total else {}


def _of_option(
    plan: Plan,
    option: Option,
    planned: Iterable[Charge],
    groups: Sequence[ChargeGroup],
    spans: Iterable[Span],
    *,
    cost: str,
    rates: Mapping[str, float],
) -> Actual:
    mine = [span for span in spans if target_of(span.provider) == option.target]
    if not mine:
        raise InputError(
            f"the export has no usage of {option.target} with the tag",
            help="purchases, credits and taxes alone do not say which time is billed",
        )
    hours = sum((span.end - span.start).total_seconds() for span in mine) / _HOUR_S
    months = sum(_calendar_months(span) for span in mine)
    planned_months = hours / plan.economics.hours_per_month
    own = [charge for charge in planned if charge.target == option.target]
    keys = {charge.key for charge in own} | {line.line.sku for line in option.money.lines}
    expected, units = _expected(
        own,
        horizon=plan.economics.horizon_months,
        months=(planned_months, months),
        cost=cost,
    )
    found = _found(option, groups, keys, units=units, rates=rates)
    lines = [_variance(name, expected.get(name), found.get(name), units) for name in dict.fromkeys((*expected, *found))]
    beside = {
        category: sum(_usd(g.amount, g.currency, rates) for g in groups if g.charge_category == category)
        for category in ("Credit", "Adjustment", "Tax")
    }
    return Actual(
        target=option.target,
        start=min(span.start for span in mine),
        end=max(span.end for span in mine),
        hours=hours,
        months=months,
        planned_months=planned_months,
        lines=tuple(
            sorted(lines, key=lambda line: (-round(abs(line.difference_usd), 2), -line.planned_usd, line.line))
        ),
        planned_usd=sum(line.planned_usd for line in lines),
        actual_usd=sum(line.actual_usd for line in lines),
        credits_usd=beside["Credit"],
        adjustments_usd=beside["Adjustment"],
        tax_usd=beside["Tax"],
        corrections_usd=sum(
            _usd(g.amount, g.currency, rates)
            for g in groups
            if g.charge_class.lower() == "correction" and g.charge_category in _COMPARED
        ),
    )


def _calendar_months(span: Span) -> float:
    """Return how many months of the calendar a span holds, parts by their share of that month's time."""
    total, begin = 0.0, span.start
    while begin < span.end:
        first = begin.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        next_first = (first + dt.timedelta(days=32)).replace(day=1)
        end = min(next_first, span.end)
        total += (end - begin) / (next_first - first)
        begin = end
    return total


def _expected(
    planned: Sequence[Charge], *, horizon: float, months: tuple[float, float], cost: str
) -> tuple[dict[str, _Sum], dict[str, str]]:
    """Return what each line costs in the time that is billed, and its unit: hours by hours, months by the calendar."""
    by_hours, by_calendar = months
    sums: dict[str, _Sum] = defaultdict(_Sum)
    units: dict[str, str] = {}
    for charge in planned:
        if charge.kind == "credit":
            continue
        name = planned_line(charge)
        hourly = charge.unit.endswith("-Hours")
        share = (by_hours if hourly else by_calendar) / horizon
        sums[name].usd += share * (charge.effective_usd if cost == "effective" else charge.billed_usd)
        if charge.kind == "usage":
            sums[name].count(share * charge.quantity)
            if units.setdefault(name, charge.unit) != charge.unit:
                sums[name].unknown.append("lines of several units are planned")
    return dict(sums), units


def _found(
    option: Option,
    groups: Iterable[ChargeGroup],
    keys: set[str],
    *,
    units: Mapping[str, str],
    rates: Mapping[str, float],
) -> dict[str, _Sum]:
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for group in groups:
        if group.charge_category not in _COMPARED:
            continue
        name, service = billed_line(group, option.target, keys)
        entry = sums[name]
        entry.usd += _usd(group.amount, group.currency, rates)
        if group.charge_category == "Usage" and name in units:
            _count(entry, group, service, option, units.get(name, ""))
    return dict(sums)


def _count(entry: _Sum, group: ChargeGroup, service: Service | None, option: Option, unit: str) -> None:
    if (
        service is not None
        and service.counted_as
        and not re.search(service.counted_as, group.meter or group.description)
    ):
        if service.counted_as == "^$":
            entry.unknown.append("its quantity is counted in another way than the plan's")
        return
    if group.quantity is None or not group.every_quantity_known:
        entry.unknown.append("rows without a quantity")
        return
    factor = measured(group.unit, unit)
    if factor is None:
        entry.unknown.append(f"billed in {group.unit or 'no unit'}, planned in {unit}")
        return
    per = option.cluster.gpus_per_node if service is not None and service.per == "gpus" else 1
    entry.count(group.quantity * factor / per)


def _variance(name: str, planned: _Sum | None, actual: _Sum | None, units: Mapping[str, str]) -> Variance:
    before, after = planned or _Sum(), actual or _Sum(quantity=0.0)
    difference = after.usd - before.usd
    kind = "unplanned" if planned is None else "not_billed" if actual is None else "both"
    unknown = [*before.unknown, *after.unknown]
    amounts = (None if before.unknown else before.quantity, None if unknown or planned is None else after.quantity)
    prices = (
        before.usd / amounts[0] if amounts[0] else None,
        after.usd / amounts[1] if amounts[1] else None,
    )
    by_quantity = by_price = None
    if amounts[0] and amounts[1] is not None and prices[0] is not None:
        by_quantity = (amounts[1] - amounts[0]) * prices[0]
        by_price = difference - by_quantity
    return Variance(
        line=name,
        kind=kind,
        planned_usd=before.usd,
        actual_usd=after.usd,
        difference_usd=difference,
        unit=units.get(name, ""),
        planned_quantity=amounts[0],
        actual_quantity=amounts[1],
        planned_unit_usd=prices[0],
        actual_unit_usd=prices[1],
        quantity_usd=by_quantity,
        price_usd=by_price,
        because=_because(kind, unknown, amounts, prices),
    )


def _because(
    kind: str, unknown: list[str], amounts: tuple[float | None, float | None], prices: tuple[float | None, float | None]
) -> str:
    if kind == "unplanned":
        return "not in the plan"
    if kind == "not_billed":
        return "planned, and nothing was billed"
    if unknown:
        return "; ".join(dict.fromkeys(unknown))
    words = [
        f"{name} {percent(ratio - 1, digits=1, signed=True)}"
        for name, ratio in (("quantity", _ratio(*amounts)), ("price", _ratio(*prices)))
        if ratio is not None and abs(ratio - 1) >= 0.0005  # noqa: PLR2004 - what one decimal of a percent shows
    ]
    return ", ".join(words) or "as planned"


def _ratio(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before
