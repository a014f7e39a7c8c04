-- One row is one dated amount of one candidate before tax, or one effect of tax on income: running costs and what is
-- written off lower it, a sale above the book value raises it (below, lowers it). Received is negative.
with
written_off_lot as (
    select
        key,
        category,
        bought_month,
        sum(usd) as usd
    from written_off
    group by key, category, bought_month
),

gone as (
    select
        asset_lot.key,
        asset_lot.gone_month as month_end,
        sum(asset_lot.usd - coalesce(written_off_lot.usd, 0.0)) as book_usd
    from asset_lot
    left join written_off_lot
        on
            asset_lot.key = written_off_lot.key
            and asset_lot.category = written_off_lot.category
            and asset_lot.bought_month = written_off_lot.bought_month
    group by asset_lot.key, asset_lot.gone_month
),

sold as (
    select
        key,
        month_end,
        -sum(usd) as sale_usd
    from financed_flow
    where capex_or_opex = 'capex' and category = 'resale'
    group by key, month_end
),

disposed as (
    select
        coalesce(sold.key, gone.key) as key,
        coalesce(sold.month_end, gone.month_end) as month_end,
        coalesce(sold.sale_usd, 0.0) as sale_usd,
        coalesce(gone.book_usd, 0.0) as book_usd
    from gone
    full outer join sold on gone.key = sold.key and gone.month_end = sold.month_end
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
    month_end,
    'tax_of_disposal' as kind,
    $tax_rate * (sale_usd - book_usd) as usd
from disposed
