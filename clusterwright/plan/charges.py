"""What a plan will be billed, month by month and line by line: as cash, and amortised over the time it serves.

The dollars are those of the cash flow (`tco/sql/cash_flow.sql`): over the horizon, both views add up to the plan's.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.plan.record import Option, Plan
from clusterwright.plan.recount import ledger
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import COMMITTED_TERMS, PriceRequest
from clusterwright.tco.engine import Ledger
from clusterwright.tco.records import CashFlowRow, PricedLine

#: What a bill line counts, as FOCUS writes units: singular and plural.
_UNITS = {"node": ("Node", "Nodes"), "each": ("Unit", "Units"), "IP": ("IP", "IPs"), "GB": ("GB", "GB"),
          "GiB": ("GiB", "GiB")}  # fmt: skip
_HOURS = {"hourly": "Hours", "monthly": "Months"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """One amount that an option is billed, or that is spread to a month from a purchase.

    Attributes:
        target: of the option.
        month_start, month_end: of the horizon, in months from its begin; the last may be a part of one.
        number: of the line within the option, from 1.
        line: of the bill with its price, None for what follows from assumptions (staff, energy, resale).
        key: names the line within the option: its price key, else its category and item.
        category, item, capex_or_opex, fixed_or_variable, basis, source, price_date: as in the cash flow.
        kind: `usage`, `purchase` (of what serves the months to come), `credit`.
        status: `used` or `unused` hours of a commitment, else empty.
        billed_usd: cash of the month; effective_usd: amortised.
        quantity, unit: that the unit prices are for.
        unit_usd: agreed price of one unit before commitments; list_unit_usd: by a documented list, None without one.
    """

    target: str
    month_start: float
    month_end: float
    number: int
    line: PricedLine | None
    key: str
    category: str
    item: str
    capex_or_opex: str
    fixed_or_variable: str
    basis: str
    source: str
    price_date: str
    kind: str
    status: str
    billed_usd: float
    effective_usd: float
    quantity: float
    unit: str
    unit_usd: float
    list_unit_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stream:
    """The amounts of one line over the horizon, with what its units cost."""

    number: int
    rows: tuple[CashFlowRow, ...]
    line: PricedLine | None
    agreed_usd: float | None
    list_usd: float | None


def charges(plan: Plan, book: PriceBook) -> tuple[Charge, ...]:
    """Return what every option with known prices is billed, by option, line and month.

    - What is rented by use is effective when it is billed.
    - What is bought, and a commitment, is a purchase with no effective cost, spread evenly over the months of the
      horizon; the hours that a commitment pays and nobody uses are told apart.
    - Resale is a credit of the month in which it is received.

    Args:
        plan: priced on its `as_of` day.
        book: of the same prices; it gives the list prices beside agreed ones.
    """
    return tuple(_charges(plan, ledger(plan, book), book))


def _charges(plan: Plan, money: Ledger, book: PriceBook) -> Iterator[Charge]:
    months = plan.economics.horizon_months
    for option in plan.options:
        for stream in _streams(money.cash_flow_rows(option.target), money, option, book):
            yield from _of_stream(stream, option, months)


def _streams(rows: Sequence[CashFlowRow], money: Ledger, option: Option, book: PriceBook) -> Iterator[_Stream]:
    """Give the rows of each line apart: those of a month with one name are told apart by their amounts."""
    named: dict[tuple[str, str], list[PricedLine]] = defaultdict(list)
    for line in money.lines[option.target]:
        named[line.line.category, line.line.item].append(line)
    by_name: dict[tuple[str, str, str], dict[float, list[CashFlowRow]]] = {}
    for row in rows:
        by_name.setdefault((row.category, row.item, row.capex_or_opex), {}).setdefault(row.month, []).append(row)
    lists = _list_prices(money.lines[option.target], money, book)
    number = 0
    for (category, item, _), by_month in by_name.items():
        lines = sorted(named.get((category, item), []), key=lambda line: (line.usd_per_period or 0.0, line.line.sku))
        ranked = [sorted(entries, key=lambda row: row.usd) for entries in by_month.values()]
        for place in range(max(len(entries) for entries in ranked)):
            own: PricedLine | None = lines[place] if len(lines) > place else None
            number += 1
            yield _Stream(
                number=number,
                rows=tuple(entries[place] for entries in ranked if len(entries) > place),
                line=own,
                agreed_usd=None if own is None else lists.get((own.line.sku, own.line.region)),
                list_usd=None if own is None else _listed(own, lists),
            )


def _list_prices(lines: Sequence[PricedLine], money: Ledger, book: PriceBook) -> dict[tuple[str, str], float]:
    """Return the documented list price of each line's unit and period, by price key and region."""
    asked = tuple(
        dict.fromkeys(
            PriceRequest(
                sku=line.line.sku,
                region=line.line.region,
                term="purchase" if line.line.charge == "once" else "on_demand",
            )
            for line in lines
        )
    )
    found = zip(asked, book.in_force(asked, money.as_of), strict=True)
    charged = {(line.line.sku, line.line.region): (line.line.charge, line.line.unit) for line in lines}
    return {
        (request.sku, request.region): price.point.usd
        for request, price in found
        if price is not None and (price.point.charge, price.point.unit) == charged[request.sku, request.region]
    }


def _listed(line: PricedLine, lists: dict[tuple[str, str], float]) -> float | None:
    """Return what the list says: for spot, whose price is the market's, the price itself."""
    if line.term in ("on_demand", *COMMITTED_TERMS) or line.line.charge == "once":
        documented = line.unit_usd if line.basis == "documented" and line.term not in COMMITTED_TERMS else None
        return lists.get((line.line.sku, line.line.region), None if line.line.charge == "once" else documented)
    return line.unit_usd


def _of_stream(stream: _Stream, option: Option, months: float) -> Iterator[Charge]:
    first = stream.rows[0]
    if first.category == "resale":
        yield from (_billed(row, stream, option, "credit", row.usd) for row in stream.rows if row.usd)
    elif first.capex_or_opex == "capex" or _committed(stream):
        for row in stream.rows:
            yield _billed(row, stream, option, "purchase", 0.0)
        yield from _spread(stream, option, months)
    else:
        yield from (_billed(row, stream, option, "usage", row.usd) for row in stream.rows)


def _committed(stream: _Stream) -> bool:
    return stream.line is not None and stream.line.term in COMMITTED_TERMS


def _period(month: float) -> tuple[float, float]:
    """Return begin and end of the month that a row is paid at the end of; what is paid at once is of the first."""
    end = max(month, 1.0) if month <= 0 else month
    return max(-(-end // 1) - 1.0, 0.0), end


def _billed(row: CashFlowRow, stream: _Stream, option: Option, kind: str, effective_usd: float) -> Charge:
    start, end = _period(row.month)
    unit_usd = stream.line.unit_usd if stream.line is not None else None
    quantity, unit = (end - start, "Months") if row.capex_or_opex == "opex" else (1.0, "Units")
    if unit_usd:
        quantity, unit = row.usd / unit_usd, _unit(stream.line)
    price = row.usd / quantity if quantity else 0.0
    listed = stream.list_usd if not _committed(stream) else None
    return _charge(
        row, stream, option, kind=kind, billed_usd=row.usd, effective_usd=effective_usd, quantity=quantity, unit=unit,
        unit_usd=price, list_unit_usd=listed if unit_usd else price, period=(start, end),
    )  # fmt: skip


def _spread(stream: _Stream, option: Option, months: float) -> Iterator[Charge]:
    """Spread what is paid evenly over the horizon, a last part of a month by its length."""
    total = sum(row.usd for row in stream.rows)
    whole = int(-(-months // 1))
    used = option.busy_fraction if _committed(stream) else None
    for number in range(1, whole + 1):
        end = min(float(number), months)
        length = end - (number - 1)
        for status, share in (("used", used), ("unused", 1.0 - used)) if used is not None else (("", 1.0),):
            usd = total * length / months * share
            if not usd:
                continue
            quantity, unit = _served(stream, usd, length)
            price = usd / quantity if quantity else 0.0
            agreed = stream.agreed_usd if used is not None and stream.agreed_usd is not None else price
            yield _charge(
                stream.rows[0], stream, option, kind="usage", billed_usd=0.0, effective_usd=usd, quantity=quantity,
                unit=unit, unit_usd=agreed, list_unit_usd=stream.agreed_usd if used is not None else price,
                period=(number - 1.0, end), status=status,
            )  # fmt: skip


def _served(stream: _Stream, usd: float, length: float) -> tuple[float, str]:
    """Return how much of what was bought serves a month: units in place, or the hours that a commitment pays."""
    line = stream.line
    if line is None or not line.unit_usd:
        return length, "Months"
    if line.line.charge == "once":
        return line.line.quantity * length, f"{_UNITS.get(line.line.unit, ('Unit', ''))[0]}-Months"
    return usd / line.unit_usd, _unit(line)


def _unit(line: PricedLine | None) -> str:
    assert line is not None  # noqa: S101 - asked for lines only
    one, several = _UNITS.get(line.line.unit, ("Unit", "Units"))
    return several if line.line.charge == "once" else f"{one}-{_HOURS[line.line.charge]}"


def _charge(
    row: CashFlowRow,
    stream: _Stream,
    option: Option,
    *,
    kind: str,
    billed_usd: float,
    effective_usd: float,
    quantity: float,
    unit: str,
    unit_usd: float,
    list_unit_usd: float | None,
    period: tuple[float, float],
    status: str = "",
) -> Charge:
    return Charge(
        target=option.target,
        month_start=period[0],
        month_end=period[1],
        number=stream.number,
        line=stream.line,
        key=stream.line.line.sku if stream.line is not None else f"{row.category}/{row.item}",
        category=row.category,
        item=row.item,
        capex_or_opex=row.capex_or_opex,
        fixed_or_variable=row.fixed_or_variable,
        basis=row.basis,
        source=row.source,
        price_date=row.price_date,
        kind=kind,
        status=status,
        billed_usd=billed_usd,
        effective_usd=effective_usd,
        quantity=quantity,
        unit=unit,
        unit_usd=unit_usd,
        list_unit_usd=list_unit_usd,
    )
