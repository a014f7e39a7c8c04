-- One row is one purchase that is not paid at the start, or one running cost that is.
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
    or (capex_or_opex = 'opex' and month_end <= 0)
