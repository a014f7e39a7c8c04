-- One row is one candidate with the work it does: how many runs fit the horizon (the same for all candidates), which
-- share of the horizon they take on it, and which share of the horizon's costs falls on one run.
-- Where the work grows, `busy_fraction` is that of the first year, and runs are those of the whole horizon.
-- Runs as given, in proportion where a candidate works another share of the horizon; else from the utilisation.
-- Reference days: as given, else the longest run among the owned candidates, else the longest of all.
with
reference as (
    select
        coalesce(
            cast($reference_days as double),
            max(calendar_days) filter (where owned),
            max(calendar_days)
        ) as reference_days
    from candidate
),

paced as (
    select
        candidate.key,
        candidate.owned,
        candidate.priced,
        candidate.competes,
        candidate.listed,
        candidate.nodes,
        candidate.gpus,
        candidate.it_power_w,
        coalesce(candidate.utilisation, $utilisation) as utilisation,
        candidate.calendar_days * 24.0 as run_hours,
        $horizon_months * $hours_per_month as horizon_hours,
        coalesce(
            cast($runs as double) / $mean_work * (coalesce(candidate.utilisation, $utilisation) / $utilisation),
            coalesce(candidate.utilisation, $utilisation)
            * $horizon_months
            * $hours_per_month
            / (reference.reference_days * 24.0)
        ) as runs_without_growth
    from candidate
    cross join reference
)

select
    key,
    owned,
    priced,
    competes,
    listed,
    nodes,
    gpus,
    it_power_w,
    run_hours,
    runs_without_growth * $mean_work as runs,
    runs_without_growth * run_hours / horizon_hours as busy_fraction,
    run_hours / horizon_hours as share_while_running,
    run_hours / (horizon_hours * utilisation * $mean_work) as share_while_held
from paced
