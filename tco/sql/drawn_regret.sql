-- One row is one option that was chosen where another one was right: in which share of the draws that other one was the
-- cheapest, and what the chosen one then cost more on average over the draws whose work it can do (`fitting_draws`).
-- Empty where the chosen one could never do that work.
with
eligible as (
    select
        drawn_cost.number,
        drawn_cost.key,
        drawn_cost.npv_usd
    from drawn_cost
    inner join option_work on drawn_cost.key = option_work.key
    where drawn_cost.fits and option_work.competes
),

cheapest as (
    select
        number,
        key,
        npv_usd
    from eligible
    qualify row_number() over (partition by number order by npv_usd, key) = 1
),

drawn_count as (
    select count(distinct number) as draws
    from drawn_cost
)

select
    drawn_cost.key,
    cheapest.key as right_key,
    count(*) / cast(any_value(drawn_count.draws) as double) as probability,
    count(*) filter (where drawn_cost.fits) as fitting_draws,
    avg(drawn_cost.npv_usd - cheapest.npv_usd) filter (where drawn_cost.fits) as regret_usd
from drawn_cost
inner join cheapest on drawn_cost.number = cheapest.number
inner join option_work on drawn_cost.key = option_work.key
cross join drawn_count
where option_work.competes
group by drawn_cost.key, cheapest.key
