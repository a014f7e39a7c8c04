-- One row is one purchase that is not paid at the start, or one running cost that is,
-- though it is neither paid in advance by contract nor charged once.
select
    scenario,
    key,
    month_end,
    category,
    item,
    'paid in the wrong month' as finding
from cash_flow
where
    (capex_or_opex = 'capex' and category <> 'resale' and month_end <> 0)
    or (
        capex_or_opex = 'opex'
        and month_end <= 0
        and part_key not in (
            select contract.key from contract
            where contract.upfront_fraction > 0
        )
        and part_key not in (
            select charge.key from charge
            where charge.once
        )
    )
