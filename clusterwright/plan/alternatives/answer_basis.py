"""What the answer rests on: counted once when a plan is made, and the sentences that every output says it in."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from clusterwright.plan.basis import DOCUMENTED, OLD_DAYS, Basis
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import amount_text, term_text
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.metered import SERVICES
from clusterwright.tco.terms.records import BasisAmount, Candidate, CandidateCost, PricedLine
from clusterwright.units import SECONDS_PER_DAY, percent

#: What buyers ask for beside the cluster, by the parameters of the cash flow that count it for what is owned.
_OWNED = (
    ("freight", ("freight_fraction",)),
    ("licences", ("software_usd_per_gpu_year", "software_usd_per_gpu")),
    ("support", ("support_fraction_per_year",)),
    ("border network", ("transit_usd_per_month", "cross_connect_usd_per_month")),
)
#: Least share that whole percents show.
_SHOWN = 0.005
_ENDED = "out of date since"


def bases(ledger: Ledger, *, max_age_s: float) -> dict[str, Basis]:
    """Return what the dollars of every candidate and mix rest on, by key.

    Args:
        ledger: their cash flow.
        max_age_s: age up to which a price is valid.
    """
    economics = ledger.economics
    half = replace(
        economics,
        utilisation=economics.utilisation / 2,
        runs=None if economics.runs is None else economics.runs / 2,
    )
    halves = {
        entry.key: entry
        for entry in Ledger(ledger.candidates, half, ledger.book, ledger.mixes, scenarios=("base",)).costs()
    }
    amounts: dict[str, list[BasisAmount]] = defaultdict(list)
    for amount in ledger.basis_amounts():
        amounts[amount.key].append(amount)
    age = dt.timedelta(days=int(max_age_s / SECONDS_PER_DAY))
    by_key = {candidate.key: candidate for candidate in ledger.candidates}
    found = {}
    for key, at_half in halves.items():
        parts = [by_key[part] for part in ledger.work_shares.get(key, (key,))]
        # How much of the work a share that is bought takes at another utilisation is the blueprint's to say.
        cost = replace(at_half, horizon_usd=None, npv_usd=None, run_usd=None) if at_half.target == "hybrid" else at_half
        found[key] = _basis(parts, amounts[key], cost, ledger, age)
    return found


def _basis(
    parts: Sequence[Candidate],
    amounts: Sequence[BasisAmount],
    half: CandidateCost,
    ledger: Ledger,
    max_age: dt.timedelta,
) -> Basis:
    quoted, listed, estimated = _shares(amounts, ledger.economics.quotes)
    documented = None if quoted is None or listed is None else quoted + listed
    lines = {part.key: ledger.lines[part.key] for part in parts}
    oldest, sku = _oldest([line for found in lines.values() for line in found])
    counted, left_out = _extras(parts, ledger)
    return Basis(
        quoted_share=quoted,
        list_share=listed,
        estimated_share=estimated,
        indicative=documented is None or documented < DOCUMENTED,
        oldest_price="" if oldest is None else oldest.isoformat(),
        oldest_sku=sku,
        valid_until="" if oldest is None else (oldest + max_age).isoformat(),
        tax="before",
        counted=counted,
        not_counted=left_out,
        half_runs=half.runs_in_horizon,
        half_horizon_usd=half.horizon_usd,
        half_npv_usd=half.npv_usd,
        half_run_usd=half.run_cash_usd,
        half_run_share_usd=half.run_share_usd,
        old_share=None if quoted is None else _old_share(amounts, lines, ledger.as_of - dt.timedelta(days=OLD_DAYS)),
    )


def _shares(
    amounts: Sequence[BasisAmount], quotes: Sequence[QuotedPrice]
) -> tuple[float | None, float | None, float | None]:
    """Return the shares of the absolute USD that are quoted or given, listed, and estimated."""
    total = sum(entry.usd for entry in amounts)
    if not total:
        return None, None, None
    of_vendors = {quote.source for quote in quotes}
    quoted = sum(entry.usd for entry in amounts if entry.basis == "given" or entry.source in of_vendors)
    listed = sum(entry.usd for entry in amounts if entry.basis == "documented" and entry.source not in of_vendors)
    return quoted / total, listed / total, (total - quoted - listed) / total


def _old_share(
    amounts: Sequence[BasisAmount], lines: Mapping[str, Sequence[PricedLine]], seen_before: dt.date
) -> float | None:
    """Return the share of the absolute USD whose documents were last seen before a day.

    Args:
        amounts: of a way, by the origin of their prices.
        lines: priced bill by key of each part; an amount names the part, the day and the source of its price, and after
            the source the contract that lowers it.
        seen_before: the day.
    """
    old = {
        (key, line.price_date, line.source)
        for key, priced in lines.items()
        for line in priced
        if line.last_seen is not None and line.last_seen < seen_before
    }
    total = sum(entry.usd for entry in amounts)
    dated = [entry for entry in amounts if entry.basis == "documented" and _is_of(entry, old)]
    return sum(entry.usd for entry in dated) / total if total else None


def _is_of(amount: BasisAmount, old: Collection[tuple[str, str, str]]) -> bool:
    return any(
        (amount.part_key, amount.price_date) == (key, day)
        and (amount.source == source or amount.source.startswith(f"{source}; "))
        for key, day, source in old
    )


def _oldest(lines: Sequence[PricedLine]) -> tuple[dt.date | None, str]:
    """Return the day on which the price seen longest ago was last seen, and its sku."""
    seen = [(line.last_seen, line.line.sku) for line in lines if line.last_seen is not None]
    return min(seen) if seen else (None, "")


def _extras(parts: Sequence[Candidate], ledger: Ledger) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what buyers ask for beside the cluster that is counted, and that is not, for every part of a way."""
    given = {parameter.key for parameter in ledger.parameters if parameter.value}
    counted: dict[str, None] = {}
    left_out: dict[str, None] = {}
    for part in parts:
        items = (
            {name: not given.isdisjoint(keys) for name, keys in _OWNED}
            if part.owned
            else {
                "licences": False,
                "support plan": part.support is not None,
                "egress": any(charge.item == SERVICES["egress"] for charge in part.charges),
                "border network": False,
            }
        )
        for name, is_counted in items.items():
            (counted if is_counted else left_out)[name] = None
    return tuple(name for name in counted if name not in left_out), tuple(left_out)


def basis_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return what the answer rests on, a sentence for each recommended way; none for plans that do not say it."""
    keys = dict.fromkeys(key for key in (plan.recommended_key, plan.recommended_horizon_key) if key)
    ways = [way for key in keys if (way := plan.alternative(key)) is not None]
    lines = [_line(plan, way, way.money.basis) for way in ways if way.money.basis is not None]
    return (*lines, *_at_half(plan, money)) if lines else ()


def _line(plan: Plan, way: Alternative, basis: Basis) -> str:
    kinds = (
        ("quoted or given", basis.quoted_share),
        ("list price", basis.list_share),
        ("estimated", basis.estimated_share),
    )
    shares = ", ".join(f"{percent(share)} {name}" for name, share in kinds if share and share >= _SHOWN)
    parts = [f"dollars of {term_text(way.key)}: {shares or 'unknown'}"]
    if basis.indicative and shares:
        parts[0] += f" (indicative: less than {percent(DOCUMENTED)} documented)"
    if basis.old_share is not None:
        parts.append(f"{_share_text(basis.old_share)} by documents last seen more than a year before {plan.as_of}")
    if basis.oldest_price:
        until = f"valid until {basis.valid_until}"
        if basis.valid_until < plan.as_of:
            until = f"{_ENDED} {basis.valid_until}"
        parts.append(f"oldest price last seen {basis.oldest_price} ({basis.oldest_sku}), {until}")
    parts.append(f"{basis.tax} tax")
    if basis.counted:
        parts.append(f"with {', '.join(basis.counted)}")
    if basis.not_counted:
        parts.append(f"without {', '.join(basis.not_counted)}")
    return "; ".join(parts)


def _share_text(share: float) -> str:
    return "none" if share == 0 else "less than 1 %" if share < _SHOWN else percent(share)


def _at_half(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return the present value of half the work, the least first, with what a run takes of what is bought for it."""
    known = sorted(
        (way.money.basis.half_npv_usd, way.key, way.money.basis)
        for way in main_ways(plan)
        if way.money.basis is not None and way.money.basis.half_npv_usd is not None
    )
    unit = plan.workload.unit
    if not known or unit.always_on:
        return ()
    costs = "; ".join(
        f"{term_text(key)} {money.text(usd)}"
        + ("" if basis.half_run_share_usd is None else f", {money.text(basis.half_run_share_usd)} {unit.each}")
        for usd, key, basis in known
    )
    return (f"at half the utilisation, {amount_text(known[0][2].half_runs, unit)}, in present value: {costs}",)
