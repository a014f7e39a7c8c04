-- One row is one candidate in one scenario at the end of one month (0 is the purchase): USD paid until then, resale
-- at the end and what was paid in advance for later work left out, because they are no cash before the end.
with
period as (
    select least(counted.number, $horizon_months) as month_end
    from (select unnest(range(0, cast(ceil($horizon_months) as bigint) + 1)) as number) as counted
),

paid as (
    select
        scenario,
        key,
        month_end,
        sum(usd) as usd
    from cash_flow
    where category not in ('resale', 'unused_term') or (category = 'resale' and month_end < $horizon_months)
    group by scenario, key, month_end
),

option as (
    select distinct
        scenario,
        key
    from cash_flow
),

grid as (
    select
        option.scenario,
        option.key,
        period.month_end
    from option
    cross join period
)

select
    grid.scenario,
    grid.key,
    grid.month_end,
    sum(coalesce(paid.usd, 0.0)) over (
        partition by grid.scenario, grid.key
        order by grid.month_end
        rows between unbounded preceding and current row
    ) as usd
from grid
left join paid
    on grid.scenario = paid.scenario and grid.key = paid.key and grid.month_end = paid.month_end
order by grid.scenario, grid.key, grid.month_end
