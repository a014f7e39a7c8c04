-- One row is one dated amount (base scenario) of one candidate; and, where what is bought comes later than it is paid,
-- of one more: `$owned_key/bridged` rents `$bridge_key` until delivery and runs its own cluster from then on; what is
-- bought is paid by the deposit at the order, and the rest at delivery.
select
    key,
    month_end,
    category,
    capex_or_opex,
    usd
from cash_flow
where scenario = 'base'
union all
select
    $owned_key || '/bridged' as key,
    month_end,
    if(key = $owned_key, category, 'bridge') as category,
    capex_or_opex,
    usd * if(capex_or_opex = 'capex' and month_end = 0, $deposit, 1.0) as usd
from cash_flow
where
    scenario = 'base'
    and $delivery_months > 0
    and (
        (key = $owned_key and (capex_or_opex = 'capex' or month_end > $delivery_months))
        or (key = $bridge_key and month_end <= $delivery_months)
    )
union all
select
    $owned_key || '/bridged' as key,
    $delivery_months as month_end,
    category,
    capex_or_opex,
    usd * (1.0 - $deposit) as usd
from cash_flow
where
    scenario = 'base'
    and $delivery_months > 0
    and $deposit < 1
    and key = $owned_key
    and capex_or_opex = 'capex'
    and month_end = 0
