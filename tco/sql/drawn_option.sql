-- One row is one option over all draws whose work it can do: quantiles of the present value of its cost, the mean of
-- the dearest tenth (CVaR), in which share of all draws it costs least, and what it costs more than the cheapest of
-- each draw on average; before and after tax. Options of which only a part is priced are compared with the cheapest of
-- the others, and are never the cheapest themselves.
with
compared as (
    select
        drawn_cost.*,
        option_work.competes and drawn_cost.fits as eligible
    from drawn_cost
    inner join option_work on drawn_cost.key = option_work.key
),

ranked as (
    select
        key,
        fits,
        npv_usd,
        npv_after_tax_usd,
        npv_usd - min(npv_usd) filter (where eligible) over (partition by number) as regret_usd,
        npv_after_tax_usd - min(npv_after_tax_usd) filter (where eligible) over (partition by number)
            as regret_after_tax_usd,
        eligible
        and row_number() over (partition by number order by eligible desc, npv_usd asc, key asc) = 1 as cheapest,
        eligible
        and row_number() over (partition by number order by eligible desc, npv_after_tax_usd asc, key asc) = 1
            as cheapest_after_tax,
        row_number() over (partition by key, fits order by npv_usd desc, number asc) as dearness,
        row_number() over (partition by key, fits order by npv_after_tax_usd desc, number asc) as dearness_after_tax,
        ceil(count(*) over (partition by key, fits) / 10.0) as tenth
    from compared
)

select
    key,
    quantile_cont(npv_usd, 0.1) filter (where fits) as npv_usd_p10,
    quantile_cont(npv_usd, 0.5) filter (where fits) as npv_usd_p50,
    quantile_cont(npv_usd, 0.9) filter (where fits) as npv_usd_p90,
    avg(npv_usd) filter (where fits and dearness <= tenth) as npv_usd_dearest_tenth,
    avg(regret_usd) filter (where fits) as regret_usd,
    count(*) filter (where cheapest) / cast(count(*) as double) as probability_cheapest,
    quantile_cont(npv_after_tax_usd, 0.1) filter (where fits) as npv_after_tax_usd_p10,
    quantile_cont(npv_after_tax_usd, 0.5) filter (where fits) as npv_after_tax_usd_p50,
    quantile_cont(npv_after_tax_usd, 0.9) filter (where fits) as npv_after_tax_usd_p90,
    avg(npv_after_tax_usd) filter (where fits and dearness_after_tax <= tenth) as npv_after_tax_usd_dearest_tenth,
    avg(regret_after_tax_usd) filter (where fits) as regret_after_tax_usd,
    count(*) filter (where cheapest_after_tax) / cast(count(*) as double) as probability_cheapest_after_tax,
    count(*) filter (where not fits) / cast(count(*) as double) as probability_too_slow
from ranked
group by key
order by npv_usd_p50, key
