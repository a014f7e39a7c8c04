-- One row is one candidate over all draws: quantiles of the present value of its cost, and in which share of the draws
-- it costs least, and what it costs more than the cheapest of each draw on average. Options of which only a part is
-- priced are compared with the cheapest of the others, and are never the cheapest themselves.
with
ranked as (
    select
        drawn_cost.key,
        drawn_cost.npv_usd,
        drawn_cost.npv_usd
        - min(drawn_cost.npv_usd) filter (where option_work.competes) over (partition by drawn_cost.number)
            as regret_usd,
        option_work.competes
        and row_number() over (
            partition by drawn_cost.number order by not option_work.competes, drawn_cost.npv_usd, drawn_cost.key
        ) = 1 as cheapest
    from drawn_cost
    inner join option_work on drawn_cost.key = option_work.key
)

select
    key,
    quantile_cont(npv_usd, 0.1) as npv_usd_p10,
    quantile_cont(npv_usd, 0.5) as npv_usd_p50,
    quantile_cont(npv_usd, 0.9) as npv_usd_p90,
    avg(regret_usd) as regret_usd,
    count(*) filter (where cheapest) / cast(count(*) as double) as probability_cheapest
from ranked
group by key
order by npv_usd_p50, key
