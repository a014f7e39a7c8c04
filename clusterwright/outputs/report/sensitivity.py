"""How far the cost of one run on owned hardware moves with each assumption, counted again by the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger, cost
from clusterwright.tco.terms.records import Candidate, Economics, Parameter
from clusterwright.units import percent

_LARGEST = 10
_UTILISATION_STEP = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """Cost of one run, USD, with one input at its low and at its high end; all others stay at their base.

    Attributes:
        name: the input; low_text, high_text: its cheap and its high end.
    """

    name: str
    low_usd: float
    high_usd: float
    low_text: str
    high_text: str


def sensitivities(money_of: Ledger, book: PriceBook, key: str, money: MoneyFormat) -> tuple[Sensitivity, ...]:
    """Return the inputs that move the cost of one run most, at most ten, the widest first; empty if it is unknown.

    Args:
        money_of: the cash flow with every input at its base.
        book: the price book.
        key: the candidate, an owned one.
        money: how amounts are written.
    """
    candidate = next(entry for entry in money_of.candidates if entry.key == key)
    economics = money_of.economics
    base = replace(economics, reference_days=economics.reference_days or candidate.calendar_days)
    moved: list[tuple[str, str, str]] = []
    ways: list[Candidate] = []
    for parameter in money_of.parameters:
        if parameter.low != parameter.high:
            moved.append(
                (
                    _name(parameter, money),
                    _words(parameter, parameter.low, money),
                    _words(parameter, parameter.high, money),
                )
            )
            ways += [
                replace(candidate, overrides=(*candidate.overrides, (parameter.key, value)))
                for value in (parameter.low, parameter.high)
            ]
    assumed = [line for line in money_of.lines[key] if line.basis == "assumed"]
    cheap = tuple((line.line.sku, line.unit_usd_low) for line in assumed if line.unit_usd_low is not None)
    dear = tuple((line.line.sku, line.unit_usd_high) for line in assumed if line.unit_usd_high is not None)
    if cheap and dear:
        moved.append(("assumed unit prices together", "all cheap", "all dear"))
        ways += [replace(candidate, rates=(*candidate.rates, *prices)) for prices in (cheap, dear)]
    more, less = min(base.utilisation + _UTILISATION_STEP, 1.0), base.utilisation - _UTILISATION_STEP
    if less > 0:
        moved.append(("utilisation", percent(more), percent(less)))
        ways += [replace(candidate, utilisation=share) for share in (more, less)]
    costs = _run_usd(ways, base, book)
    known = [
        Sensitivity(name=name, low_usd=low, high_usd=high, low_text=low_text, high_text=high_text)
        for (name, low_text, high_text), low, high in zip(moved, costs[::2], costs[1::2], strict=True)
        if low is not None and high is not None
    ]
    return tuple(sorted(known, key=lambda entry: (-abs(entry.high_usd - entry.low_usd), entry.name))[:_LARGEST])


def _run_usd(ways: Sequence[Candidate], economics: Economics, book: PriceBook) -> list[float | None]:
    """Return what a run costs on each of several candidates, which are counted in one cash flow."""
    named = [replace(way, key=f"{way.key}/{place}") for place, way in enumerate(ways)]
    return [found.run_usd for found in cost(named, economics, book, scenarios=("base",))] if named else []


def _name(parameter: Parameter, money: MoneyFormat) -> str:
    """Return an input in words, with the unit of its ends where they have one."""
    words = input_words(parameter.key)
    return words if _is_share(parameter) or parameter.unit == "ratio" else f"{words}, {money.unit(parameter.unit)}"


def _is_share(parameter: Parameter) -> bool:
    return parameter.unit.startswith("share")


def _words(parameter: Parameter, value: float, money: MoneyFormat) -> str:
    if _is_share(parameter):
        return percent(value)
    amount = money.value(value, parameter.unit)
    return f"{amount:,.4g}" if amount < 1e4 else f"{amount:,.0f}"  # noqa: PLR2004
