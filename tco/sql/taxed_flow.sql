-- One row is one dated amount of one candidate before tax, or one effect of tax on income: running costs and what is
-- written off lower it, a sale above the book value raises it (below, lowers it). Received is negative.
with
bought as (
    select
        key,
        coalesce(sum(usd) filter (where category <> 'resale'), 0.0) as usd,
        -coalesce(sum(usd) filter (where category = 'resale'), 0.0) as sale_usd
    from financed_flow
    where capex_or_opex = 'capex'
    group by key
),

disposed as (
    select
        bought.key,
        bought.sale_usd,
        bought.usd - coalesce(sum(written_off.usd), 0.0) as book_usd
    from bought
    left join written_off on bought.key = written_off.key
    group by bought.key, bought.sale_usd, bought.usd
)

select
    key,
    month_end,
    'cash' as kind,
    usd
from financed_flow
union all
select
    key,
    month_end,
    'tax_of_running_costs' as kind,
    -$tax_rate * usd as usd
from financed_flow
where capex_or_opex = 'opex'
union all
select
    key,
    month_end,
    'tax_shield_of_depreciation' as kind,
    -$tax_rate * usd as usd
from written_off
union all
select
    key,
    $horizon_months as month_end,
    'tax_of_disposal' as kind,
    $tax_rate * (sale_usd - book_usd) as usd
from disposed
