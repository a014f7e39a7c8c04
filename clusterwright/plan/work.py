"""The work of the horizon: how many runs, counted from the utilisation or given, and the equation behind them."""

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.blueprint.schema import Blueprint
from clusterwright.errors import Finding
from clusterwright.plan.owned.cost import growth_of
from clusterwright.plan.record import Option, Plan, WorkUnit
from clusterwright.plan.text.words import amount_text, on_target
from clusterwright.tco.terms.records import Candidate, Economics
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, duration_text, percent

#: Share of the horizon that a cluster works, where the blueprint gives neither runs nor utilisation.
UTILISATION = 0.8
_HOURS_A_DAY = 24.0
#: Slack of hours that suffice but for rounding, as in `tco/sql/option_work.sql`.
_ROUNDING = 1e-9


def reference(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate whose run the work is counted with: the slowest owned, else the slowest."""
    return max([entry for entry in candidates if entry.owned] or candidates, key=lambda entry: entry.calendar_days)


def with_reference(economics: Economics, candidates: Sequence[Candidate]) -> Economics:
    """Return economics with the run that work is counted with; where runs are given, with the utilisation they make."""
    slowest = reference(candidates)
    days = slowest.calendar_days
    counted = replace(economics, reference_days=days, reference_target=slowest.target)
    if economics.runs is None:
        return counted
    first_year = economics.runs / economics.growth_factor
    used = first_year * days * _HOURS_A_DAY / (economics.horizon_months * economics.hours_per_month)
    return replace(counted, utilisation=min(1.0, used))


def owned_hours_suffice(blueprint: Blueprint, calendar_days: float) -> bool:
    """Tell whether an owned cluster has hours enough for the runs of the horizon, if the blueprint gives their number.

    Where the work grows, nodes are added to what the first year takes.
    """
    most = _most_runs(blueprint, calendar_days)
    runs = blueprint.economics.work_runs
    return runs is None or runs <= most * (1 + _ROUNDING)


def _most_runs(blueprint: Blueprint, calendar_days: float) -> float:
    section = blueprint.economics
    months = section.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR)
    growth = growth_of(blueprint.tco).mean_work(months)
    return months * section.hours_per_month / (calendar_days * _HOURS_A_DAY) * growth


def too_many_runs(blueprint: Blueprint, option: Option, unit: WorkUnit) -> tuple[Finding, ...]:
    """Return the finding `TCO003` where the runs of the blueprint take more hours than an owned cluster has."""
    performance = option.performance
    if option.cluster.it_power_w is None or owned_hours_suffice(blueprint, performance.calendar_days):
        return ()
    most = int(_most_runs(blueprint, performance.calendar_days))
    return (
        Finding(
            id="TCO003",
            path=("economics", "runs"),
            message=(
                f"{blueprint.economics.work_runs:,.6g} {unit.plural} of {duration_text(performance.calendar_days)} "
                f"each take {percent(option.money.busy_fraction)} of the horizon {on_target(option.target)}; "
                f"{most:,} fit"
            ),
            help=(
                f"write runs: {most} or less, shorten goals.finish_within so that a larger cluster is planned, "
                "or lengthen economics.horizon"
            ),
        ),
    )


def work_text(plan: Plan) -> str:
    """Return the work of the horizon with the equation that it comes from.

    For example `36.2 runs in 36 months = 80 % utilisation × 36 months × 730 h / 580.7 h of a run on premises`.
    """
    runs = plan.options[0].money.runs_in_horizon
    head = f"{amount_text(runs, plan.workload.unit)} in {plan.economics.horizon_months:g} months"
    if plan.workload.always_on:
        return f"{head}: the service is always on"
    if plan.economics.runs is not None:
        return f"{head}, as the blueprint says: {_hours_taken(plan, runs)}"
    return f"{head} = {equation(plan)}; economics.runs sets another number"


def equation(plan: Plan) -> str:
    """Return what the runs are where the utilisation is given."""
    economics = plan.economics
    growth = f" × {economics.growth_factor:.3f} for growth" if economics.growth_factor != 1.0 else ""
    run = f"{run_hours(plan):,.1f} h of {plan.workload.unit.each} {on_target(plan.economics.reference_target)}"
    return (
        f"{percent(economics.utilisation)} utilisation × {economics.horizon_months:g} months × "
        f"{economics.hours_per_month:g} h{growth} / {run}"
    )


def _hours_taken(plan: Plan, runs: float) -> str:
    economics = plan.economics
    hours = economics.horizon_months * economics.hours_per_month * economics.growth_factor
    share = runs * run_hours(plan) / hours
    more = ", so more than one cluster at a time is rented" if share > 1 + _ROUNDING else ""
    return f"{percent(share)} of the horizon {on_target(plan.economics.reference_target)}{more}"


def run_hours(plan: Plan) -> float:
    """Return the hours of the run that the work is counted with."""
    days = plan.economics.reference_days
    assert days is not None  # noqa: S101 - `with_reference` has set it
    return days * _HOURS_A_DAY
