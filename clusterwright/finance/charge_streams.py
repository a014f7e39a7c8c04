"""The rows of a cash flow by line of the bill: which amounts a line pays, and what its units cost by list."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clusterwright.finance.accounts import Account
from clusterwright.pricing.records import COMMITTED_TERMS, PriceRequest
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CashFlowRow, PricedLine

#: Category, item, capex or opex, fixed or variable: what rows of the cash flow are called.
_Name = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """The amounts of one line over the horizon.

    Attributes:
        number: of the line within the account, from 1.
        rows: by month; ahead: what is paid for later months beside them, or received for months that are cut off.
        line: with its price, None for what follows from assumptions.
        agreed_usd: list price of one unit on demand, None without one; list_usd: of the term that the line has.
    """

    number: int
    rows: tuple[CashFlowRow, ...]
    ahead: tuple[CashFlowRow, ...]
    line: PricedLine | None
    agreed_usd: float | None
    list_usd: float | None


def streams(account: Account, money: Ledger) -> Iterator[Stream]:
    """Give the rows of each line apart: those of a month with one name are distinguished by their amounts.

    Args:
        account: what is billed.
        money: the ledger that its cash flow is of, with the book of the same prices.
    """
    named: dict[_Name, list[PricedLine]] = defaultdict(list)
    for line in account.lines:
        named[_name_of(line, account)].append(line)
    found: dict[_Name, dict[float, list[CashFlowRow]]] = {}
    ahead: dict[_Name, list[CashFlowRow]] = defaultdict(list)
    for row in account.rows:
        own = (row.category, row.item, row.capex_or_opex, row.fixed_or_variable)
        of = None if own in named else _paid_ahead_of(row, named)
        if of is not None:
            ahead[of].append(row)
        found.setdefault(of or own, {})
        if of is None:
            found[own].setdefault(row.month, []).append(row)
    lists = _list_prices(account.lines, money)
    number = 0
    for name, by_month in found.items():
        lines = sorted(named.get(name, []), key=lambda line: (line.usd_per_period or 0.0, line.line.sku))
        ranked = [sorted(entries, key=lambda row: row.usd) for entries in by_month.values()]
        for place in range(max((len(entries) for entries in ranked), default=1)):
            priced: PricedLine | None = lines[place] if len(lines) > place else None
            number += 1
            yield Stream(
                number=number,
                rows=tuple(entries[place] for entries in ranked if len(entries) > place),
                ahead=tuple(ahead.get(name, ())) if place == 0 else (),
                line=priced,
                agreed_usd=None if priced is None else lists.get((priced.line.sku, priced.line.region)),
                list_usd=None if priced is None else _listed(priced, lists),
            )


def _name_of(line: PricedLine, account: Account) -> _Name:
    """Return what a line's rows are called in the cash flow."""
    bought = line.line.charge == "once"
    worked = line.line.scales_with == "nodes" and not bought and line.term not in COMMITTED_TERMS
    return (
        line.line.category,
        line.line.item,
        "capex" if bought else "opex",
        "variable" if worked and not account.owned else "fixed",
    )


def _paid_ahead_of(row: CashFlowRow, named: Iterable[_Name]) -> _Name | None:
    """Return the line that a row of running costs says more of after a comma, such as `…, paid in advance`."""
    if row.capex_or_opex != "opex":
        return None
    fitting = [name for name in named if name[2] == "opex" and row.item.startswith(f"{name[1]}, ")]
    return max(fitting, key=lambda name: len(name[1]), default=None)


def _list_prices(lines: Sequence[PricedLine], money: Ledger) -> dict[tuple[str, str], float]:
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
    found = zip(asked, money.book.in_force(asked, money.as_of), strict=True)
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
