-- One row is one dated amount (base scenario) of one candidate; and, where what is bought comes later than it is paid,
-- of one more: `$owned_key/bridged` rents `$bridge_key` until delivery and runs its own cluster from then on.
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
    usd
from cash_flow
where
    scenario = 'base'
    and $delivery_months > 0
    and (
        (key = $owned_key and (capex_or_opex = 'capex' or month_end > $delivery_months))
        or (key = $bridge_key and month_end <= $delivery_months)
    )
