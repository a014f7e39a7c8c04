-- One row is one amount that is received although it is neither the resale nor what later work pays for, or one of
-- these that is paid.
select
    scenario,
    key,
    month_end,
    category,
    item,
    usd || ' USD' as finding
from cash_flow
where
    (usd < 0 and category not in ('resale', 'unused_term') and capex_or_opex <> 'financing')
    or (usd > 0 and category in ('resale', 'unused_term'))
