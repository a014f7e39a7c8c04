"""What the answer rests on: counted once when a plan is made, and the sentences that every output says it in."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from clusterwright.plan.basis import DOCUMENTED, Basis
from clusterwright.plan.money import money
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.words import NAME_OF_TARGET, on_target, runs_text
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.tco.engine import Ledger, cost
from clusterwright.tco.records import CandidateCost, CashFlowRow
from clusterwright.units import SECONDS_PER_DAY, percent

#: What buyers ask for beside the cluster, by the parameters of the cash flow that count it for what is owned.
_OWNED = (
    ("freight", ("freight_fraction",)),
    ("licences", ("software_usd_per_gpu_year", "software_usd_per_gpu")),
    ("support", ("support_fraction_per_year",)),
    ("border network", ("transit_usd_per_month", "cross_connect_usd_per_month")),
)
#: The same for what is rented, of which a plan counts none; `compare` has options with those that the blueprint gives.
_RENTED = ("licences", "support plan", "egress and border network")
#: Least share that whole percents show.
_SHOWN = 0.005
_ENDED = "out of date since"


def with_basis(options: Sequence[Option], ledger: Ledger, *, max_age_s: float) -> tuple[Option, ...]:
    """Return options with what their dollars rest on.

    Args:
        options: costed by the ledger, whose keys are the targets.
        ledger: their cash flow.
        max_age_s: age up to which a price is valid.
    """
    economics = ledger.economics
    half = replace(
        economics,
        utilisation=economics.utilisation / 2,
        runs=None if economics.runs is None else economics.runs / 2,
    )
    halves = {entry.key: entry for entry in cost(ledger.candidates, half, ledger.book, scenarios=("base",))}
    rows: dict[str, list[CashFlowRow]] = defaultdict(list)
    for row in ledger.cash_flow_rows():
        rows[row.key].append(row)
    return tuple(
        replace(
            option,
            basis=_basis(option, rows[option.target], halves[option.target], ledger, max_age_s / SECONDS_PER_DAY),
        )
        for option in options
    )


def _basis(
    option: Option, rows: Sequence[CashFlowRow], half: CandidateCost, ledger: Ledger, max_age_days: float
) -> Basis:
    shares = _shares(rows, ledger.economics.quotes)
    quoted, listed, estimated = shares
    documented = None if quoted is None or listed is None else quoted + listed
    oldest, sku = _oldest(option)
    counted, left_out = _extras(option, ledger)
    return Basis(
        quoted_share=quoted,
        list_share=listed,
        estimated_share=estimated,
        indicative=documented is None or documented < DOCUMENTED,
        oldest_price="" if oldest is None else oldest.isoformat(),
        oldest_sku=sku,
        valid_until="" if oldest is None else (oldest + dt.timedelta(days=int(max_age_days))).isoformat(),
        tax="before",
        counted=counted,
        not_counted=left_out,
        half_runs=half.runs_in_horizon,
        half_horizon_usd=half.horizon_usd,
        half_run_usd=half.run_usd,
    )


def _shares(
    rows: Sequence[CashFlowRow], quotes: Sequence[QuotedPrice]
) -> tuple[float | None, float | None, float | None]:
    """Return the shares of the absolute USD that are quoted or given, listed, and estimated."""
    total = sum(abs(row.usd) for row in rows)
    if not total:
        return None, None, None
    of_vendors = {quote.source for quote in quotes}
    quoted = sum(abs(row.usd) for row in rows if row.basis == "given" or row.source in of_vendors)
    listed = sum(abs(row.usd) for row in rows if row.basis == "documented" and row.source not in of_vendors)
    return quoted / total, listed / total, (total - quoted - listed) / total


def _oldest(option: Option) -> tuple[dt.date | None, str]:
    """Return the day on which the price seen longest ago was last seen, and its sku."""
    seen = [(line.last_seen, line.line.sku) for line in option.lines if line.last_seen is not None]
    return min(seen) if seen else (None, "")


def _extras(option: Option, ledger: Ledger) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what buyers ask for beside the cluster that is counted, and that is not."""
    if option.it_power_w is None:
        return (), _RENTED
    given = {parameter.key for parameter in ledger.parameters if parameter.value}
    counted = tuple(name for name, keys in _OWNED if not given.isdisjoint(keys))
    return counted, tuple(name for name, _ in _OWNED if name not in counted)


def basis_lines(plan: Plan) -> tuple[str, ...]:
    """Return what the answer rests on, a sentence for each recommended option; none for plans that do not say it."""
    targets = dict.fromkeys(target for target in (plan.recommended, plan.recommended_horizon) if target)
    options = [option for target in targets if (option := plan.option(target)) is not None]
    lines = [_line(plan, option, option.basis) for option in options if option.basis is not None]
    return (*lines, *_at_half(plan)) if lines else ()


def _line(plan: Plan, option: Option, basis: Basis) -> str:
    kinds = (
        ("quoted or given", basis.quoted_share),
        ("list price", basis.list_share),
        ("estimated", basis.estimated_share),
    )
    shares = ", ".join(f"{percent(share)} {name}" for name, share in kinds if share and share >= _SHOWN)
    parts = [f"dollars {on_target(option.target)}: {shares or 'unknown'}"]
    if basis.indicative and shares:
        parts[0] += f" (indicative: less than {percent(DOCUMENTED)} documented)"
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


def _at_half(plan: Plan) -> tuple[str, ...]:
    """Return what the work of the horizon costs at half the utilisation, the cheapest first."""
    known = sorted(
        (option.basis.half_horizon_usd, option.basis.half_run_usd or 0.0, option.target, option.basis.half_runs)
        for option in plan.options
        if option.basis is not None and option.basis.half_horizon_usd is not None and option.meets_goal
    )
    if not known:
        return ()
    costs = ", ".join(f"{NAME_OF_TARGET[target]} {money(usd)}" for usd, _, target, _ in known)
    _, run_usd, first, runs = known[0]
    return (f"at half the utilisation, {runs_text(runs)}: {costs}; {money(run_usd)} a run {on_target(first)}",)
