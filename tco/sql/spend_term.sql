-- One row is one part of what one month's use costs a candidate with a committed spend, by the month that it is for,
-- not by the time it is paid: nodes by the hour worked, committed nodes, what stands, monthly charges. Parts of a price
-- that was agreed at another time are apart. Columns as in `part_term`; `year_end` is when the month's year is over.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
),

bound as (
    select key
    from contract
    where committed_usd_per_year > 0
),

worked as (
    select
        stage.key,
        stage.month_end,
        period.months,
        stage.work,
        ceil(stage.month_end) - 1.0 as start_month
    from stage
    inner join bound on stage.key = bound.key
    inner join period on stage.month_end = period.month_end
),

by_use as (
    select
        rented_line.scenario,
        rented_line.key,
        worked.month_end,
        rented_line.by_term,
        rented_line.by_the_hour_worked,
        worked.start_month,
        rented_line.period_months,
        rented_line.usd_per_month * worked.months * if(rented_line.by_the_hour_worked, worked.work, 1.0) as usd,
        unnest([rented_line.upfront_fraction, 1.0 - rented_line.upfront_fraction]) as paid_share,
        unnest([true, false]) as paid_ahead
    from rented_line
    inner join worked on rented_line.key = worked.key
    where not rented_line.committed
),

term as (
    select
        scenario,
        key,
        month_end,
        false as held,
        if(by_the_hour_worked, ['cloud_price', 'run_time', 'utilisation'], []) as inputs,
        if(
            by_term,
            if(paid_ahead, floor(start_month / period_months) * period_months, start_month),
            null
        ) as price_set_month,
        null as scaled_by,
        usd * paid_share as usd_each,
        usd * paid_share as usd
    from by_use
    where paid_share > 0
    union all
    select
        rented_line.scenario,
        rented_line.key,
        worked.month_end,
        rented_line.held,
        [] as inputs,
        if(rented_line.by_term, commitment_lot.start_month, null) as price_set_month,
        'commitment/' || rented_line.key || '/' || cast(commitment_lot.start_month as integer) as scaled_by,
        rented_line.usd_per_month * worked.months as usd_each,
        rented_line.usd_per_month * worked.months * commitment_lot.nodes as usd
    from rented_line
    inner join commitment_lot on rented_line.key = commitment_lot.key
    inner join worked
        on
            rented_line.key = worked.key
            and commitment_lot.start_month <= worked.start_month
            and commitment_lot.start_month + rented_line.period_months > worked.start_month
    where rented_line.committed
    union all
    select
        scenario.scenario_name as scenario,
        charge.key,
        worked.month_end,
        false as held,
        [] as inputs,
        null as price_set_month,
        null as scaled_by,
        charge.usd * worked.months as usd_each,
        charge.usd * worked.months as usd
    from charge
    inner join worked on charge.key = worked.key
    cross join scenario
    where not charge.once
)

select
    *,
    least(12.0 * ceil(month_end / 12.0), $horizon_months) as year_end
from term
