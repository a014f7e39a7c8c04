"""What a plan will be billed, month by month and line by line: as cash, and amortised over the time it serves.

The dollars are those of the cash flow (`tco/sql/cash_flow.sql`): over the horizon, both views add up to the plan's.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clusterwright.errors import ClusterwrightError
from clusterwright.finance.accounts import Account, accounts, asked_accounts
from clusterwright.finance.charge_streams import Stream, streams
from clusterwright.finance.finances import Finances
from clusterwright.plan.record import Plan
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CashFlowRow, PricedLine

#: What a bill line counts, as FOCUS writes units: singular and plural.
_UNITS = {
    "node": ("Node", "Nodes"),
    "each": ("Unit", "Units"),
    "IP": ("IP", "IPs"),
    "GB": ("GB", "GB"),
    "GiB": ("GiB", "GiB"),
}
#: Sums agree up to this, in USD.
_CENT = 0.005
_HOURS = {"hourly": "Hours", "monthly": "Months"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """One amount that an option is billed, or that is spread to a month from a purchase.

    Attributes:
        option: key of the option; target: who bills it; region: empty if it has none.
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

    option: str
    target: str
    region: str
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


def charges(plan: Plan, money: Ledger, found: Finances | None = None) -> tuple[Charge, ...]:
    """Return what every option with known prices is billed, by option, line and month.

    - What is rented by use is effective when it is billed.
    - What is bought is a purchase with no effective cost, spread evenly from then to the end of the horizon; so is a
      commitment, over all of it, with the hours that nobody uses distinguished.
    - What is received (resale) is a credit of its month.

    Args:
        plan: priced on its `as_of` day.
        money: the plan's cash flow (`recount.ledger`), whose price book gives the list prices beside agreed ones.
        found: the plan in the terms of finance: its contracts and mixes are options too.
    """
    listed = charges_of(accounts(plan, money), money)
    return listed if found is None else (*listed, *charges_of(asked_accounts(plan, found), found.ledger))


def charges_of(of: Sequence[Account], money: Ledger) -> tuple[Charge, ...]:
    """Return what is billed for accounts whose cash flow is of one ledger, for `charges`.

    Raises:
        ClusterwrightError: charges are not the horizon's dollars, which is a mistake of ours.
    """
    found = tuple(
        charge
        for account, stream in _numbered(of, money)
        for charge in _of_stream(stream, account, money.economics.horizon_months)
    )
    totals = {cost.key: cost.horizon_usd for cost in money.costs()}
    for key in dict.fromkeys(account.key for account in of):
        _audit(key, [charge for charge in found if charge.option == key], totals[key])
    return found


def _numbered(of: Sequence[Account], money: Ledger) -> Iterator[tuple[Account, Stream]]:
    """Yield the lines of accounts, numbered within their option."""
    last: Counter[str] = Counter()
    for account in of:
        for stream in streams(account, money):
            last[account.key] += 1
            yield account, replace(stream, number=last[account.key])


def _audit(key: str, found: Sequence[Charge], total_usd: float | None) -> None:
    """Refuse charges that are not the horizon's dollars, in cash and amortised, to the cent."""
    for view in ("billed_usd", "effective_usd"):
        usd = math.fsum(getattr(charge, view) for charge in found)
        if total_usd is not None and abs(usd - total_usd) > _CENT:
            raise ClusterwrightError(
                f"{key}: the {view} of all charges is {usd:,.2f}, of the horizon {total_usd:,.2f}",
                help="this is a mistake in Clusterwright; please report it",
            )


def _of_stream(stream: Stream, account: Account, months: float) -> Iterator[Charge]:
    rows = (*stream.rows, *stream.ahead)
    # What is received is effective when it is: resale, and what the end of the horizon cuts off a prepaid term.
    yield from (_billed(row, stream, account, "credit", row.usd) for row in rows if row.usd < 0)
    paid = [row for row in rows if row.usd > 0]
    spread = bool(stream.ahead) or _committed(stream)
    for row in paid:
        if spread or (row.capex_or_opex == "capex" and row.month < months):
            yield _billed(row, stream, account, "purchase", 0.0)
        else:
            yield _billed(row, stream, account, "usage", row.usd)
    if spread and paid:
        yield from _spread(stream, paid[0], sum(row.usd for row in paid), 0.0, account, months)
        return
    bought = [row for row in paid if row.capex_or_opex == "capex" and row.month < months]
    yield from _by_month(
        [charge for row in bought for charge in _spread(stream, row, row.usd, row.month, account, months)]
    )


def _by_month(shares: Sequence[Charge]) -> Iterator[Charge]:
    """Put the shares of one month together where a line is bought more than once, at their mean price."""
    of_month: dict[tuple[float, float], list[Charge]] = defaultdict(list)
    for charge in shares:
        of_month[charge.month_start, charge.month_end].append(charge)
    for several in of_month.values():
        if len(several) == 1:
            yield several[0]
            continue
        usd = math.fsum(charge.effective_usd for charge in several)
        quantity = math.fsum(charge.quantity for charge in several)
        price = usd / quantity if quantity else 0.0
        yield replace(several[0], effective_usd=usd, quantity=quantity, unit_usd=price, list_unit_usd=price)


def _committed(stream: Stream) -> bool:
    return stream.line is not None and stream.line.term in COMMITTED_TERMS


def _period(month: float) -> tuple[float, float]:
    """Return begin and end of the month that a row is paid at the end of; what is paid at once is of the first."""
    end = max(month, 1.0) if month <= 0 else month
    return max(-(-end // 1) - 1.0, 0.0), end


def _billed(row: CashFlowRow, stream: Stream, account: Account, kind: str, effective_usd: float) -> Charge:
    start, end = _period(row.month)
    unit_usd = stream.line.unit_usd if stream.line is not None else None
    quantity, unit = (end - start, "Months") if row.capex_or_opex == "opex" else (1.0, "Units")
    if unit_usd:
        quantity, unit = row.usd / unit_usd, _unit(stream.line)
    price = row.usd / quantity if quantity else 0.0
    listed = stream.list_usd if not _committed(stream) else None
    return _charge(
        row,
        stream,
        account,
        kind=kind,
        billed_usd=row.usd,
        effective_usd=effective_usd,
        quantity=quantity,
        unit=unit,
        unit_usd=price,
        list_unit_usd=listed if unit_usd else price,
        period=(start, end),
    )


def _spread(  # noqa: PLR0917 - what is spread, and over what
    stream: Stream, row: CashFlowRow, total: float, begin: float, account: Account, months: float
) -> Iterator[Charge]:
    """Spread an amount evenly from a month to the end of the horizon, parts of a month by their length."""
    used = account.busy_fraction if _committed(stream) else None
    for number in range(int(begin) + 1, int(-(-months // 1)) + 1):
        start, end = max(begin, number - 1.0), min(float(number), months)
        for status, share in (("used", used), ("unused", 1.0 - used)) if used is not None else (("", 1.0),):
            usd = total * (end - start) / (months - begin) * share
            if usd <= 0:
                continue
            quantity, unit = _served(stream, total, usd, end - start)
            price = usd / quantity if quantity else 0.0
            agreed = stream.agreed_usd if used is not None and stream.agreed_usd is not None else price
            yield _charge(
                row,
                stream,
                account,
                kind="usage",
                billed_usd=0.0,
                effective_usd=usd,
                quantity=quantity,
                unit=unit,
                unit_usd=agreed,
                list_unit_usd=stream.agreed_usd if used is not None else price,
                period=(start, end),
                status=status,
            )


def _served(stream: Stream, total: float, usd: float, length: float) -> tuple[float, str]:
    """Return how much of what was bought serves a month: units in place, or the hours that a commitment pays."""
    line = stream.line
    if line is None or not line.unit_usd:
        return length, "Months"
    if line.line.charge == "once":
        return total / line.unit_usd * length, f"{_UNITS.get(line.line.unit, ('Unit', ''))[0]}-Months"
    return usd / line.unit_usd, _unit(line)


def _unit(line: PricedLine | None) -> str:
    assert line is not None  # noqa: S101 - asked for lines only
    one, several = _UNITS.get(line.line.unit, ("Unit", "Units"))
    return several if line.line.charge == "once" else f"{one}-{_HOURS[line.line.charge]}"


def _charge(
    row: CashFlowRow,
    stream: Stream,
    account: Account,
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
        option=account.key,
        target=account.target,
        region=account.region,
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
