-- One row is one option over all draws whose work it can do: quantiles of the present value of its cost, the mean of
-- the dearest tenth (CVaR), in which share of all draws it costs least, and its regret: what it costs more on average
-- than the cheapest option that is ranked and can do the work of the draw; before and after tax. An option that is not
-- ranked (`competes`), as where only a part of it is priced, is never the cheapest and has no regret: what is left out
-- of its price would be counted as if it were saved.
with
compared as (
    select
        drawn_cost.*,
        option_work.competes and drawn_cost.fits as eligible
    from drawn_cost
    inner join option_work on drawn_cost.key = option_work.key
),

cheapest as (
    select
        number,
        min(npv_usd) as npv_usd,
        min(npv_after_tax_usd) as npv_after_tax_usd,
        arg_min(key, struct_pack(usd := npv_usd, key := key)) as key,
        arg_min(key, struct_pack(usd := npv_after_tax_usd, key := key)) as key_after_tax
    from compared
    where eligible
    group by number
),

spread as (
    select
        compared.key,
        cast(ceil(count(*) filter (where compared.fits) / 10.0) as bigint) as tenth,
        list_reverse_sort(list(compared.npv_usd) filter (where compared.fits)) as dearest,
        list_reverse_sort(list(compared.npv_after_tax_usd) filter (where compared.fits)) as dearest_after_tax,
        quantile_cont(compared.npv_usd, [0.1, 0.5, 0.9]) filter (where compared.fits) as levels,
        quantile_cont(compared.npv_after_tax_usd, [0.1, 0.5, 0.9]) filter (where compared.fits) as levels_after_tax,
        avg(compared.npv_usd - cheapest.npv_usd) filter (where compared.eligible) as regret_usd,
        avg(compared.npv_after_tax_usd - cheapest.npv_after_tax_usd) filter (where compared.eligible)
            as regret_after_tax_usd,
        count(*) filter (where compared.key = cheapest.key) / cast(count(*) as double) as probability_cheapest,
        count(*) filter (where compared.key = cheapest.key_after_tax) / cast(count(*) as double)
            as probability_cheapest_after_tax,
        count(*) filter (where not compared.fits) / cast(count(*) as double) as probability_too_slow
    from compared
    left join cheapest on compared.number = cheapest.number
    group by compared.key
)

select
    key,
    regret_usd,
    probability_cheapest,
    regret_after_tax_usd,
    probability_cheapest_after_tax,
    probability_too_slow,
    levels[1] as npv_usd_p10,
    levels[2] as npv_usd_p50,
    levels[3] as npv_usd_p90,
    list_avg(dearest[:tenth]) as npv_usd_dearest_tenth,
    levels_after_tax[1] as npv_after_tax_usd_p10,
    levels_after_tax[2] as npv_after_tax_usd_p50,
    levels_after_tax[3] as npv_after_tax_usd_p90,
    list_avg(dearest_after_tax[:tenth]) as npv_after_tax_usd_dearest_tenth
from spread
