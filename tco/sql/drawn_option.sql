-- One row is one candidate over all draws: quantiles of the present value of its cost, and in which share of the draws
-- it costs least, and what it costs more than the cheapest of each draw on average.
with
ranked as (
    select
        key,
        npv_usd,
        npv_usd - min(npv_usd) over (partition by number) as regret_usd,
        row_number() over (partition by number order by npv_usd, key) as place
    from drawn_cost
)

select
    key,
    quantile_cont(npv_usd, 0.1) as npv_usd_p10,
    quantile_cont(npv_usd, 0.5) as npv_usd_p50,
    quantile_cont(npv_usd, 0.9) as npv_usd_p90,
    avg(regret_usd) as regret_usd,
    count(*) filter (where place = 1) / cast(count(*) as double) as probability_cheapest
from ranked
group by key
order by npv_usd_p50, key
