-- One row is one dated amount that comes with owning what $key buys: purchase, sale, and the tax effects of both and of
-- writing the purchase off.
select
    month_end,
    if(category = 'resale', 'sale', 'purchase') as kind,
    usd
from financed_flow
where key = $key and capex_or_opex = 'capex'
union all
select
    month_end,
    kind,
    usd
from taxed_flow
where key = $key and kind in ('tax_shield_of_depreciation', 'tax_of_disposal')
