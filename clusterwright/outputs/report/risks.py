"""The first page of the report: what could make its answer wrong, the largest first, and what is still needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from clusterwright.finance.finances import Finances
from clusterwright.outputs.kinds import outputs_of
from clusterwright.plan.findings.price_evidence import OLD_PRICES, assumed_prices
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET, capital, term_text
from clusterwright.units import duration_text, percent

#: Risks on the first page; the section on certainty has everything that they are chosen from.
_MOST = 3
#: Prices to ask a quote for that are named; the bill of the report has all.
_MOST_QUOTES = 5
#: Share of the goal's time that the high end of the band of days takes, from which the goal is a risk.
_CLOSE = 0.9
#: Least share of an answer's dollars that is a risk of its own.
_LEAST = 0.005
#: Terms under which nodes start when the cloud has room, and under which it takes them back.
_WAITING = {"flex_start": "begins once all of its nodes are free", "spot": "may be refused, and taken back at any time"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Risk:
    """A reason for which the answer may be wrong or dearer.

    Attributes:
        title: what it is; text: what happens, in figures.
        weight: dollars over those of the answer that it concerns; of a goal, the share of its time that is taken.
    """

    title: str
    text: str
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """What is missing before the answer can be signed: what kind of thing, and which."""

    title: str
    text: str


def risks(plan: Plan, found: Finances, money: MoneyFormat) -> tuple[Risk, ...]:
    """Return at most three risks of the answers, the largest first."""
    run, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    every: list[Risk] = []
    if run is not None:
        every += [*_late(plan, run), *_waiting(plan, run, money)]
    if kept is not None:
        every += [
            *_estimated(kept, money),
            *_old(plan, kept, money),
            *_close(plan, found, kept, money),
            *_less_work(plan, kept, money),
        ]
    every = [replace(risk, text=capital(risk.text)) for risk in every]
    return tuple(sorted(every, key=lambda risk: (-risk.weight, risk.title))[:_MOST])


def _late(plan: Plan, run: Alternative) -> Iterator[Risk]:
    goal, high = plan.goals.finish_within_days, run.performance.calendar_days_high
    if goal is None or high is None or high < _CLOSE * goal:
        return
    spare = "does not keep it" if high > goal else f"leaves {duration_text(goal - high)}"
    yield Risk(
        title="The goal is close",
        text=(
            f"the median {plan.workload.unit.name} takes {duration_text(run.performance.calendar_days)} of the "
            f"{duration_text(goal)}; the high end of the band, {duration_text(high)}, {spare}."
        ),
        weight=high / goal,
    )


def _waiting(plan: Plan, run: Alternative, money: MoneyFormat) -> Iterator[Risk]:
    words, usd = _WAITING.get(run.money.term), run.money.run_usd
    if words is None or not usd:
        return
    option, goal, high = plan.planned(run.key), plan.goals.finish_within_days, run.performance.calendar_days_high
    others = [
        way
        for way in plan.ranked
        if way.money.term not in _WAITING and way.money.run_usd is not None and way is not run
    ]
    sure = min(others, key=lambda way: (way.money.run_usd or 0.0, way.key), default=None)
    spare = (
        "" if goal is None or high is None else f" It may wait {duration_text(goal - high)} and still meet the goal."
    )
    instead = (
        " No other ranked way is paid by use."
        if sure is None
        else f" The cheapest way without waiting is {term_text(sure.key)}: {money.text(sure.money.run_usd)} "
        f"in place of {money.text(usd)}."
    )
    nodes = run.cluster.nodes if option is None else option.cluster.nodes
    yield Risk(
        title="Waiting for nodes",
        text=(f"{term_text(run.key)} {words}, {nodes:,} at once; the wait is in none of the days.{spare}{instead}"),
        weight=1.0 if sure is None else ((sure.money.run_usd or 0.0) - usd) / usd,
    )


def _estimated(kept: Alternative, money: MoneyFormat) -> Iterator[Risk]:
    basis, usd, high = kept.money.basis, kept.money.npv_usd, kept.money.npv_usd_high
    share = None if basis is None else basis.estimated_share
    if not share or share < _LEAST or not usd or high is None:
        return
    yield Risk(
        title="Estimated prices",
        text=(
            f"{percent(share)} of the dollars of {term_text(kept.key)} are estimates without a document or a quote; at "
            f"the dear end of the band it costs {money.text(high)} in present value, not {money.text(usd)}."
        ),
        weight=(high - usd) / usd,
    )


def _old(plan: Plan, kept: Alternative, money: MoneyFormat) -> Iterator[Risk]:
    basis, usd = kept.money.basis, kept.money.horizon_usd
    if basis is None or not basis.old_share or basis.old_share < _LEAST or not usd:
        return
    yield Risk(
        title="Old prices",
        text=(
            f"documents last seen more than a year before {plan.as_of} give {percent(basis.old_share)} of the dollars "
            f"of {term_text(kept.key)}, about {money.text(basis.old_share * usd)}; the oldest is {basis.oldest_sku}, "
            f"last seen {basis.oldest_price}."
        ),
        weight=basis.old_share,
    )


def _close(plan: Plan, found: Finances, kept: Alternative, money: MoneyFormat) -> Iterator[Risk]:
    drawn = next((entry for entry in found.drawn if entry.key == kept.key), None)
    usd = kept.money.npv_usd
    if drawn is None or not drawn.regret_usd or not usd or drawn.probability_cheapest > 1 - _LEAST:
        return
    rivals = sorted(
        (entry for entry in found.drawn if entry.key != kept.key and entry.probability_cheapest),
        key=lambda entry: (-entry.probability_cheapest, entry.key),
    )
    near = plan.contender
    rival = near.key if near is not None else rivals[0].key if rivals else ""
    who = f"; the nearest is {term_text(rival)}" if rival else ""
    within = "" if near is None else f" at {money.text(near.money.npv_usd)}, within the band of the answer"
    wrong = 1 - drawn.probability_cheapest
    yield Risk(
        title="Another way may cost less",
        text=(
            f"in {percent(wrong)} of the draws another way is the cheapest{who}{within}; the answer then costs "
            f"{money.text(drawn.regret_usd / wrong)} more than that on average."
        ),
        weight=drawn.regret_usd / usd,
    )


def _less_work(plan: Plan, kept: Alternative, money: MoneyFormat) -> Iterator[Risk]:
    mine = None if kept.money.basis is None else kept.money.basis.half_npv_usd
    others = [
        (way.money.basis.half_npv_usd, way.key)
        for way in plan.ranked
        if way.money.basis is not None and way.money.basis.half_npv_usd is not None
    ]
    if mine is None or not others or plan.workload.unit.always_on or not kept.money.npv_usd:
        return
    least, key = min(others)
    if least >= mine:
        return
    yield Risk(
        title="Less work than planned",
        text=(
            f"with half the work {term_text(key)} costs least, {money.text(least)} in present value; "
            f"{term_text(kept.key)} then costs {money.text(mine)}."
        ),
        weight=(mine - least) / kept.money.npv_usd,
    )


def needs(plan: Plan, found: Finances, money: MoneyFormat) -> tuple[Need, ...]:
    """Return which quotes, approvals and inputs the answers still lack; nothing where there is no answer."""
    keys = dict.fromkeys((plan.recommended_key, plan.recommended_horizon_key))
    ways = [way for key in keys if key and (way := plan.alternative(key)) is not None]
    if not ways:
        return ()
    options = [option for way in ways if (option := plan.planned(way.key)) is not None]
    return tuple(
        need
        for need in (
            _quotes(plan, options, money),
            _newer(plan),
            _approvals(ways, options, money),
            _inputs(found, ways),
            Need(title="Software", text=outputs_of(plan).assumed(plan).removeprefix("software ")),
        )
        if need.text
    )


def _quotes(plan: Plan, options: list[Option], money: MoneyFormat) -> Need:
    """Return the estimated prices of the answers by name, those that cost most first, each once."""
    lines = assumed_prices(plan, options)
    by_item = {
        (target, item): sum(entry.horizon_usd for entry in of_item)
        for (target, item), of_item in groupby(
            sorted(lines, key=lambda entry: (entry.option.target, entry.line.line.item)),
            key=lambda entry: (entry.option.target, entry.line.line.item),
        )
    }
    dearest = sorted(by_item.items(), key=lambda entry: (-entry[1], entry[0]))
    named = "; ".join(
        f"{item} ({NAME_OF_TARGET[target]}), {money.text(usd)}" for (target, item), usd in dearest[:_MOST_QUOTES]
    )
    rest = len(dearest) - _MOST_QUOTES
    others = f"; and {rest} smaller ones ({money.text(sum(usd for _, usd in dearest[_MOST_QUOTES:]))})" * (rest > 0)
    return Need(
        title=f"Quotes, with what is counted over {plan.economics.horizon_months:.0f} months", text=f"{named}{others}"
    )


def _newer(plan: Plan) -> Need:
    old = next((warning for warning in plan.warnings if warning.id == OLD_PRICES), None)
    return Need(title="Newer prices", text="" if old is None else f"{old.message} ({old.id} names them)")


def _approvals(ways: list[Alternative], options: list[Option], money: MoneyFormat) -> Need:
    bought = [f"{money.text(way.money.capex_usd)} to be paid at the start" for way in ways if way.money.capex_usd]
    quotas = [
        f"quota of {NAME_OF_TARGET[option.target]} {option.deployment.region} for {option.cluster.nodes:,} × "
        f"{option.cluster.instance}"
        for option in options
        if not option.owned
    ]
    return Need(title="Approvals", text="; ".join((*bought, *quotas)))


def _inputs(found: Finances, ways: list[Alternative]) -> Need:
    """Return what the blueprint does not give and the dollars leave out, with the key that gives it."""
    taxed, owned = found.taxed, any(way.owned for way in ways)
    missing = dict.fromkeys(item for way in ways if way.money.basis is not None for item in way.money.basis.not_counted)
    return Need(
        title="Inputs",
        text="; ".join(
            (
                *([] if taxed.tax_rate else ["the tax rate: all is before tax (tco.tax_rate)"]),
                *(
                    ["the delivery date: work begins with the order (tco.delivery)"]
                    * (owned and not taxed.delivery_months)
                ),
                *([f"amounts for {', '.join(missing)}: not counted"] if missing else []),
            )
        ),
    )
