-- One row is one purchase in a month without a purchase (the start; later ones to grow and to replace), or one running
-- cost that is paid at the start, though it is neither paid in advance by contract nor charged once.
select
    cash_flow.scenario,
    cash_flow.key,
    cash_flow.month_end,
    cash_flow.category,
    cash_flow.item,
    'paid in the wrong month' as finding
from cash_flow
left join mix on cash_flow.key = mix.key and mix.deposit < 1
left join event
    on
        cash_flow.part_key = event.key
        and event.bought > 0
        and (
            cash_flow.month_end = event.month_end or (event.month_end = 0 and cash_flow.month_end = mix.delivery_months)
        )
where
    (
        cash_flow.capex_or_opex = 'capex'
        and cash_flow.category <> 'resale'
        -- Capacity that only draws buy has rows of 0 USD.
        and cash_flow.usd <> 0
        and event.key is null
    )
    or (
        cash_flow.capex_or_opex = 'opex'
        and cash_flow.month_end <= 0
        and cash_flow.part_key not in (
            select contract.key from contract
            where contract.upfront_fraction > 0
        )
        and cash_flow.part_key not in (
            select charge.key from charge
            where charge.once
        )
    )
