"""The sheet Contracts: how each option is paid under a contract, and what clouds charge beside the bill, as inputs."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.outputs.workbook.writing.formula import Figure, Span, figure, span, stepped
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, label_of
from clusterwright.tco.renting.metered import SERVICES, UNIT_BYTES, metered_tiers
from clusterwright.tco.terms.contracts import Charge, Contract
from clusterwright.tco.terms.records import Candidate

_FIRST = 4
_CONTRACTS = (
    "where and how",
    "discount",
    "paid in advance",
    "term, months",
    "what the end cuts off",
    "committed, USD a year",
    "source",
)
_TIERS = ("provider", "what", "unit", "from", "USD per unit, or share", "more than the tier before", "least, USD")
_CHARGES = ("provider", "what", "unit", "amount a month", "USD a month")
REST = ("credited", "paid")
_GB = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """A plan of support: shares of a month's spend above each start, by how much they differ, and the least fee."""

    starts: Span
    steps: Span
    least: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """How one option is paid, as cells.

    Attributes:
        discount: off what is rented, of some categories (empty: all); None without a contract.
        ahead: share of a term that is paid at its start; months: length of a term, None where nothing binds.
        rest: `credited` or `paid`: what the end of the horizon cuts off the last term.
        committed: USD a year.
        charges: USD a month beside the bill; once: USD at the start.
        lost: share of the price of GPU nodes that is paid for lost work.
    """

    discount: Figure | None = None
    categories: tuple[str, ...] = ()
    ahead: Figure | None = None
    months: Figure | None = None
    rest: Figure | None = None
    committed: Figure | None = None
    charges: tuple[Figure, ...] = ()
    once: tuple[Figure, ...] = ()
    lost: Figure | None = None
    support: Support | None = None

    def discount_on(self, category: str) -> Figure | None:
        """Return the share off a rented line, None where its category has none."""
        return self.discount if not self.categories or category in self.categories else None


def contracted(work: Workbook) -> dict[str, Candidate]:
    """Return the rented options with a contract, or with charges beside their bill, by key."""
    candidates = {key: way.candidate for key, way in work.found.ways.items() if way.candidate is not None}
    found = [candidates[cost.key] for cost in work.found.costs if cost.key in candidates and not cost.owned]
    return {
        entry.key: entry
        for entry in found
        if entry.contract is not None or entry.charges or entry.support is not None or entry.surcharges
    }


def write_contracts(work: Workbook, options: dict[str, Candidate]) -> dict[str, Terms]:
    """Write the sheet; return how each option is paid, by key."""
    page = work.page("Contracts")
    page.title(
        "Contracts, and what clouds charge beside the bill",
        "Change the yellow cells; volumes and shares that are the same everywhere are on the sheet Inputs.",
    )
    page.widths(40, 30, 16, 16, 22, 22, 22)
    row = _FIRST - 1
    contracts = {key: entry.contract for key, entry in options.items() if entry.contract is not None}
    paid: dict[str, Terms] = {}
    if contracts:
        page.head(row, _CONTRACTS)
        for place, (key, contract) in enumerate(contracts.items(), start=row + 1):
            paid[key] = _contract(page, place, key, contract)
        row += len(contracts) + 2
    charges, row = _charges(work, page, row, options)
    support, row = _support(work, page, row, options)
    found = {}
    for key, entry in options.items():
        terms = paid.get(key, Terms())
        found[key] = Terms(
            discount=terms.discount,
            categories=terms.categories,
            ahead=terms.ahead,
            months=terms.months,
            rest=terms.rest,
            committed=terms.committed,
            charges=tuple(charges[entry.target, charge.item] for charge in entry.charges if not charge.once),
            once=tuple(charges[entry.target, charge.item] for charge in entry.charges if charge.once),
            lost=work.names["goodput_loss"] if entry.surcharges else None,
            support=support.get(entry.target) if entry.support is not None else None,
        )
    return found


def _contract(page: Page, row: int, key: str, contract: Contract) -> Terms:
    page.text(row, 0, label_of(key))
    discount = page.number(row, 1, contract.discount, "share_input")
    ahead = months = rest = None
    if contract.period_months is not None:
        ahead = page.number(row, 2, contract.upfront_fraction, "share_input")
        months = page.number(row, 3, contract.period_months, "input")
        page.text(row, 4, contract.rest, "input_text")
        page.sheet.data_validation(row, 4, row, 4, {"validate": "list", "source": list(REST)})
        rest = page.cell(row, 4, contract.rest)
    committed = page.number(row, 5, contract.committed_usd_per_year, "input")
    page.text(row, 6, contract.source, "text")
    return Terms(
        discount=discount, categories=contract.categories, ahead=ahead, months=months, rest=rest, committed=committed
    )


def _charges(
    work: Workbook, page: Page, row: int, options: dict[str, Candidate]
) -> tuple[dict[tuple[str, str], Figure], int]:
    """Write every charge of every provider with its tiers; return its USD by provider and item, and the next row."""
    wanted: dict[tuple[str, str], Charge] = {}
    for entry in options.values():
        wanted |= {(entry.target, charge.item): charge for charge in entry.charges}
    if not wanted:
        return {}, row
    found: dict[tuple[str, str], Figure] = {}
    services = {item: service for service, item in SERVICES.items()}
    metered = {place: services[place[1]] for place in wanted if place[1] in services}
    top = row + len(wanted) + 3
    if metered:
        page.head(top - 1, _TIERS[:-1], texts=3)
    page.head(row, _CHARGES, texts=3)
    for target, item in wanted:
        row += 1
        page.text(row, 0, label_of(target))
        page.text(row, 1, item)
        if (target, item) not in metered:
            page.text(row, 2, "once")
            found[target, item] = page.put(row, 4, work.names["setup_usd"])
            continue
        service = metered[target, item]
        unit, tiers = metered_tiers(target, service, dt.date.fromisoformat(work.plan.as_of))
        page.text(row, 2, unit)
        volume = work.names[f"{service}_gb_per_month"] * (_GB / UNIT_BYTES[unit])
        amount = page.put(row, 3, volume, "number")
        starts, steps = _tiers(page, top, (label_of(target), item, unit), tiers)
        found[target, item] = page.put(row, 4, stepped(amount, starts, steps))
        top += len(tiers)
    return found, top + 2


def _support(work: Workbook, page: Page, row: int, options: dict[str, Candidate]) -> tuple[dict[str, Support], int]:
    """Write the plans of support by provider; return them, and the next row."""
    plans = {entry.target: entry.support for entry in options.values() if entry.support is not None}
    if not plans:
        return {}, row
    page.head(row, _TIERS, texts=3)
    row += 1
    found = {}
    for target, plan in plans.items():
        tiers = [(tier.from_usd, tier.fraction) for tier in plan.tiers]
        shared = work.names.get("support_share")
        starts, steps = _tiers(page, row, (label_of(target), plan.item, "USD a month"), tiers, shared)
        found[target] = Support(starts=starts, steps=steps, least=page.number(row, 6, plan.minimum_usd, "input"))
        row += len(tiers)
    return found, row + 1


def _tiers(
    page: Page, row: int, texts: Sequence[str], tiers: Sequence[tuple[float, float]], shared: Figure | None = None
) -> tuple[Span, Span]:
    """Write tiers, one a row; return where each starts, and by how much its price differs from the one before.

    Args:
        page: the sheet.
        row: the first one.
        texts: what they are of.
        tiers: (from, price above it).
        shared: the price, where it is on the sheet Inputs.
    """
    starts, steps = [], []
    before = figure(0.0)
    for place, (start, usd) in enumerate(tiers, start=row):
        for column, text in enumerate(texts):
            page.text(place, column, text)
        starts.append(page.number(place, 3, start, "input"))
        price = page.number(place, 4, usd, "input") if shared is None else page.put(place, 4, shared, "number")
        steps.append(page.put(place, 5, price - before if starts[1:] else price, "number"))
        before = price
    return span(starts), span(steps)
