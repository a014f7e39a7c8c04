"""Who is billed for what: the options of a plan, and those that its blueprint asks for beside them, as accounts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusterwright.finance.finances import Finances
from clusterwright.plan.record import Plan
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.contracts import Contract
from clusterwright.tco.terms.records import CashFlowRow, PricedLine


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """An option, or one side of a mix, with the cash flow that is billed for it.

    Attributes:
        key: of the option; the sides of a mix share it.
        target: who bills it; region: where, empty if it has none; owned: whether it is bought.
        busy_fraction: share of the horizon that it works.
        lines: its bill at the prices that are paid; rows: its cash flow.
    """

    key: str
    target: str
    region: str
    owned: bool
    busy_fraction: float
    lines: tuple[PricedLine, ...]
    rows: tuple[CashFlowRow, ...]


def accounts(plan: Plan, money: Ledger) -> tuple[Account, ...]:
    """Return the plan's own options; keys are the targets' names.

    Args:
        plan: priced on its `as_of` day.
        money: its cash flow (`recount.ledger`).
    """
    return tuple(
        Account(
            key=option.target,
            target=option.target,
            region=option.deployment.region,
            owned=option.design.facility is not None,
            busy_fraction=option.money.busy_fraction,
            lines=money.lines[option.target],
            rows=money.cash_flow_rows(option.target),
        )
        for option in plan.options
    )


def asked_accounts(plan: Plan, found: Finances) -> tuple[Account, ...]:
    """Return the contracts, mixes and places that the blueprint asks for, as far as their prices are known."""
    return tuple(account for key in asked_keys(found) for account in _sides(plan, found, key))


def asked_keys(found: Finances) -> tuple[str, ...]:
    """Return the keys of the contracts, mixes and places that the blueprint asks for, cheapest first."""
    agreed = {
        candidate.key
        for candidate in found.ledger.candidates
        if candidate.contract is not None or (candidate.owned and candidate.key != candidate.target)
    }
    return tuple(cost.key for cost in found.costs if cost.mixed or cost.key in agreed)


def _sides(plan: Plan, found: Finances, key: str) -> Iterator[Account]:
    candidates = {candidate.key: candidate for candidate in found.ledger.candidates}
    busy = {cost.key: cost.busy_fraction for cost in found.costs}
    for part in dict.fromkeys(row.part_key for row in found.rows[key]):
        candidate, option = candidates[part], plan.option(candidates[part].target)
        yield Account(
            key=key,
            target=candidate.target,
            region=option.deployment.region if option is not None else "",
            owned=candidate.owned,
            busy_fraction=busy.get(part, 1.0),
            lines=tuple(_agreed(line, candidate.contract) for line in found.ledger.lines[part]),
            rows=tuple(row for row in found.rows[key] if row.part_key == part),
        )


def _agreed(line: PricedLine, contract: Contract | None) -> PricedLine:
    """Return a line at the price that a contract's discount leaves."""
    if (
        contract is None
        or line.unit_usd is None
        or (contract.categories and line.line.category not in contract.categories)
    ):
        return line
    return replace(line, unit_usd=line.unit_usd * (1.0 - contract.discount))
