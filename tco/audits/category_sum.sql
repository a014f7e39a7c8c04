-- One row is one candidate in one scenario whose categories, or whose months, do not add up to its total, to the cent.
-- A cent, or twelve digits of the amount: sums of more than five billion USD in floats are no closer than that.
with
total as (
    select
        scenario,
        key,
        sum(usd) as usd
    from cash_flow
    group by scenario, key
),

category as (
    select
        scenario,
        key,
        category,
        sum(usd) as usd
    from cash_flow
    group by scenario, key, category
),

category_sum as (
    select
        scenario,
        key,
        sum(usd) as usd
    from category
    group by scenario, key
),

last_cumulative as (
    select
        scenario,
        key,
        max_by(usd, month_end) as usd
    from cumulative
    group by scenario, key
),

resale as (
    select
        scenario,
        key,
        sum(usd) as usd
    from cash_flow
    where (category = 'resale' and month_end = $horizon_months) or category = 'unused_term'
    group by scenario, key
)

select
    total.scenario,
    total.key,
    total.usd || ' USD, categories ' || category_sum.usd || ', months ' || last_cumulative.usd as finding
from total
left join category_sum on total.scenario = category_sum.scenario and total.key = category_sum.key
left join last_cumulative on total.scenario = last_cumulative.scenario and total.key = last_cumulative.key
left join resale on total.scenario = resale.scenario and total.key = resale.key
where
    abs(total.usd - category_sum.usd) > greatest(0.005, 1e-12 * abs(total.usd))
    or abs(total.usd - coalesce(resale.usd, 0.0) - last_cumulative.usd) > greatest(0.005, 1e-12 * abs(total.usd))
    or category_sum.usd is null
    or last_cumulative.usd is null
