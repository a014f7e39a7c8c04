-- One row is one row of `drawn_option`, the cheapest median first.
select
    key,
    regret_usd,
    probability_cheapest,
    regret_after_tax_usd,
    probability_cheapest_after_tax,
    probability_too_slow,
    npv_usd_p10,
    npv_usd_p50,
    npv_usd_p90,
    npv_usd_dearest_tenth,
    npv_after_tax_usd_p10,
    npv_after_tax_usd_p50,
    npv_after_tax_usd_p90,
    npv_after_tax_usd_dearest_tenth
from drawn_option
order by npv_usd_p50, key
