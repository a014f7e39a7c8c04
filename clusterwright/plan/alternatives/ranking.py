"""Every way to do a plan's work, counted in one cash flow and ranked: what can be the answer, and what cannot."""

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.plan.alternatives.answer_basis import bases
from clusterwright.plan.alternatives.hybrids import mixed
from clusterwright.plan.alternatives.offers import Asked
from clusterwright.plan.alternatives.recount import known, ledger_of
from clusterwright.plan.basis import Basis
from clusterwright.plan.record import (
    Alternative,
    Cluster,
    Money,
    Option,
    Performance,
    money_of,
    parts,
    unknown_money,
)
from clusterwright.tco.renting.mixes import Mix
from clusterwright.tco.terms.records import CandidateCost, MissingPrice

#: Why what is owned is no answer where it comes late: the way that rents until then is one.
_LATE = "it is not there before its delivery"
_REST = "the rest of its work is done in a way that is not ranked"


def ranked(
    ways: Sequence[Alternative], options: Sequence[Option], asked: Asked, *, max_age_s: float
) -> tuple[Alternative, ...]:
    """Return every way to do a plan's work with its cost, then the clusters that are only parts of mixes, and mixes.

    Args:
        ways: billed, not yet counted.
        options: of the plan.
        asked: what they are made with.
        max_age_s: age up to which a price is valid.

    Raises:
        InputError: a contract or a mix cannot be counted, with its place in the blueprint.
    """
    ledger = ledger_of(ways, asked.economics, asked.book)
    mixes = mixed(asked.section, asked.economics, ways, known(ledger.costs()))
    every = (*ways, *mixes.bases, *(_of_mix(mix) for mix in mixes.mixes))
    if mixes.mixes:
        ledger = ledger_of(every, asked.economics, asked.book)
    costs = {cost.key: cost for cost in ledger.costs()}
    basis = bases(ledger, max_age_s=max_age_s)
    keys = {way.key for way in every}
    return (
        *(_counted(way, costs.get(way.key), basis.get(way.key), options, asked) for way in every),
        *(_unplaced(option, ways) for option in options if option.key not in keys and option.money.npv_usd is None),
    )


def _of_mix(mix: Mix) -> Alternative:
    """Return a mix as a way of its own, not yet counted."""
    return Alternative(
        key=mix.key,
        target=mix.target,
        cluster=Cluster(instance="", accelerator="", nodes=mix.nodes, gpus=mix.gpus),
        performance=Performance(calendar_days=0.0, calendar_days_low=None, calendar_days_high=None, goodput=None),
        money=unknown_money(""),
        owned=False,
        ranked=False,
        reason="",
        note="",
        set_values=(),
        candidate=None,
        mix=mix,
    )


def _counted(
    way: Alternative, cost: CandidateCost | None, basis: Basis | None, options: Sequence[Option], asked: Asked
) -> Alternative:
    """Return a way with what it costs, and whether it can be the answer; parts of mixes have no cost by themselves."""
    if cost is None:
        return way
    if cost.npv_usd is None:
        reason = way.reason or _why_unknown(cost.missing)
        return replace(way, money=money_of(cost, basis=None), owned=cost.owned, reason=reason)
    late = "" if cost.competes else _LATE if cost.owned and not cost.mixed else _REST
    return replace(
        way,
        performance=replace(way.performance, calendar_days=cost.calendar_days),
        money=money_of(cost, basis=basis),
        owned=cost.owned,
        ranked=cost.competes,
        reason=way.reason or late,
        set_values=_same_work(way.set_values, options, asked),
    )


def _unplaced(option: Option, ways: Sequence[Alternative]) -> Alternative:
    """Return the way that an option of unknown cost is, where only its places are among those that are counted."""
    reasons = (way.reason for way in ways if way.key.startswith(f"{option.key}/"))
    return Alternative(
        key=option.key,
        target=option.target,
        cluster=Cluster(**parts(option.cluster, Cluster)),
        performance=Performance(**parts(option.performance, Performance)),
        money=Money(**parts(option.money, Money) | {"basis": None}),
        owned=option.owned,
        ranked=False,
        reason=next(reasons, "") or _why_unknown(option.money.missing),
        note="",
        set_values=(),
        candidate=None,
        mix=None,
    )


def _why_unknown(missing: Sequence[MissingPrice]) -> str:
    items = ", ".join(dict.fromkeys(price.item for price in missing))
    return f"no price of {items}" if items else "it cannot do the horizon's work"


def _same_work(set_values: tuple[str, ...], options: Sequence[Option], asked: Asked) -> tuple[str, ...]:
    """Return overrides with the number of runs, where another option's days would set another number."""
    economics = asked.economics
    reference = next((option for option in options if option.target == economics.reference_target), None)
    changed = {value.split(".")[1] for value in set_values if value.startswith("targets.")}
    rented = reference is not None and not reference.owned
    if not set_values or economics.runs is not None or not (rented or economics.reference_target in changed):
        return set_values
    runs = options[0].money.runs_in_horizon
    return (*set_values, "economics.utilisation=null", f"economics.runs={runs!r}")
